"""Attacks on the parameters of estimators: each gets values that it cannot mean, or may."""

import numpy as np
from sklearn.base import clone

from bochner import Gaussian, PacBayes

VALUES = {
    "None": None,
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "NaN": np.nan,
    "infinity": np.inf,
    "a text": "bogus",
    "an empty list": [],
    "a list of texts": ["a", "b"],
    "True": True,
    "a class": Gaussian,
    "another object": PacBayes(),
    "a function": sorted,
    "an array": np.ones(2),
    "1e9": 10**9,
}
# Work that a large number asks for in earnest is no attack.
_EARNEST = ("n_", "max_", "block_size", "batch_size")


def parameter_attacks(estimator):
    """(name of the parameter, name of the value, value) for all own parameters."""
    for parameter in estimator.get_params(deep=False):
        for name, value in VALUES.items():
            if name == "1e9" and parameter.startswith(_EARNEST):
                continue
            yield parameter, name, value


def with_parameter(estimator, parameter, value):
    return clone(estimator).set_params(**{parameter: value})
