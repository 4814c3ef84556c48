"""What holds for every listed object of every kind: parameter objects are cloned and stored, values
are frozen and stored.
"""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from cases import (
    EXPANSIONS,
    LEARNERS,
    LOSSES,
    MEASURES,
    OPERATOR_KERNELS,
    PRIORS,
    SEARCHING,
    SOLVERS,
)
from registry import ESTIMATORS
from sklearn.base import BaseEstimator, clone

from bochner import EarlyStopping, Evidence, Gaussian, HarmonicChain, JointEpochs, WaveSearch
from bochner.tables.model_schema import RefusedModel, decode

PARAMETER_OBJECTS = [
    *(one for prior in PRIORS.values() if isinstance(one := prior(3), BaseEstimator)),
    *(kernel(Gaussian(gamma=0.5), 3) for kernel in OPERATOR_KERNELS.values()),
    *LEARNERS.values(),
    *SEARCHING.values(),
    *SOLVERS,
    *(
        WaveSearch(n_candidates=3),
        JointEpochs(2),
        EarlyStopping(fraction=0.2),
        Evidence(n_rows=50),
        HarmonicChain(max_degree=5, n_walkers=3, draw=True),
    ),
    *ESTIMATORS,
]
VALUES = [*MEASURES.values(), *EXPANSIONS.values(), *LOSSES]


def numbers(value):
    """The arrays of a value, or of the values that it is made of."""
    for field in fields(value):
        part = getattr(value, field.name)
        yield from numbers(part) if hasattr(part, "__dataclass_fields__") else [part]


def decoded(path):
    """The object in a skops file."""
    with path.open("rb") as file:
        return decode(file)


@pytest.mark.parametrize("parts", PARAMETER_OBJECTS, ids=lambda o: repr(o).replace("\n", "")[:80])
def test_parameter_objects_are_cloned_and_stored(parts, tmp_path):
    skops = pytest.importorskip("skops.io")
    assert isinstance(parts, BaseEstimator)
    assert repr(clone(parts)) == repr(parts)
    assert repr(pickle.loads(pickle.dumps(parts))) == repr(parts)
    skops.dump(parts, tmp_path / "file")
    assert repr(decoded(tmp_path / "file")) == repr(parts)
    changed = clone(parts)
    for name, value in parts.get_params(deep=False).items():
        changed.set_params(**{name: value})
    assert repr(changed) == repr(parts)


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_values_are_frozen_and_stored(value, tmp_path):
    skops = pytest.importorskip("skops.io")
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, 0)
    skops.dump(value, tmp_path / "file")
    for again in (pickle.loads(pickle.dumps(value)), decoded(tmp_path / "file")):
        for mine, theirs in zip(numbers(again), numbers(value), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_files_may_not_bring_anything_else(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump({"run": np.random.default_rng, "model": Gaussian()}, tmp_path / "file")
    with pytest.raises(RefusedModel, match="function_or_method"):
        decoded(tmp_path / "file")
