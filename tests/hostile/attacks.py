"""Runs attacks on rows, targets, weights and parameters of small estimators."""

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bochner import Gaussian, JointDescent, MarginGame, PacBayes
from tests.conformance.registry import SMALL

from .inputs import ATTACKS, REFUSED, SAME, Example
from .verdicts import CLEAR, RIGHT, UNCLEAR, WRONG, Outcome, answers, attacked

# Values of parameters that have no meaning for most of them.
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
# A large number of rounds, candidates or rows is a request for much work, not an attack.
_MAY_BE_LARGE = ("n_", "max_", "block_size", "batch_size")


def data_for(estimator, seed=0):
    """Return rows and a target for the estimator.

    Rows lie on a grid of quarters, which every precision represents exactly.
    """
    rng = np.random.default_rng(seed)
    X = np.round(4 * rng.normal(size=(60, 3))) / 4
    signal = np.sin(X[:, 0]) + X[:, 1] / 2
    return X, signal if is_regressor(estimator) else np.where(signal > 0, "above", "below")


@dataclass(frozen=True)
class Report:
    name: str  # of the estimator, or the kind of table
    attack: str
    outcome: Outcome


def input_reports(
    name: str, rng: np.random.Generator | None = None, share: float = 1.0
) -> Iterator[Report]:
    """Attack rows, targets and weights of one estimator, or a random ``share`` of them."""
    estimator = SMALL[name]
    X, y = data_for(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = answers(clone(estimator).fit(X, y), X)
    # Local searches and batches depend on rounding, so they differ in another precision.
    searching = any(
        isinstance(part, (JointDescent, MarginGame)) for part in estimator.get_params().values()
    )
    for attack in ATTACKS:
        if rng is not None and rng.random() > share:
            continue
        if attack.only == "labels" and not is_classifier(estimator):
            continue
        if attack.only == "values" and not is_regressor(estimator):
            continue
        if (
            attack.only in ("target", "labels", "values")
            and not get_tags(estimator).target_tags.required
        ):
            continue  # the estimator does not use y
        if attack.only == "weights" and not has_fit_parameter(estimator, "sample_weight"):
            continue
        try:
            example = attack.change(Example(X, y, X))
        except ImportError:
            continue

        def fitted(example=example):
            return answers(
                clone(estimator).fit(example.X, example.y, **example.keywords), example.asked
            )

        expected = plain if attack.must == SAME else None
        yield Report(
            name, attack.name, attacked(fitted, expected, searching, attack.must == REFUSED)
        )


def parameter_reports(
    name: str, rng: np.random.Generator | None = None, share: float = 1.0
) -> Iterator[Report]:
    """Attack each parameter of one estimator, or a share of them.

    Right are finite answers or a clear refusal.
    """
    estimator = SMALL[name]
    X, y = data_for(estimator)
    for parameter in estimator.get_params(deep=False):
        for shown, value in VALUES.items():
            if shown == "1e9" and parameter.startswith(_MAY_BE_LARGE):
                continue
            if rng is not None and rng.random() > share:
                continue

            def fitted(parameter=parameter, value=value):
                changed = clone(estimator).set_params(**{parameter: value})
                return answers(changed.fit(X, y), X)

            yield Report(name, f"{parameter} = {shown}", attacked(fitted))


def table(reports: list[Report]) -> str:
    """Return one line per estimator: the number of attacks, and of each outcome."""
    kinds = (RIGHT, CLEAR, UNCLEAR, WRONG)
    lines = [f"{'':36}{'tried':>8}" + "".join(f"{kind:>20}" for kind in kinds)]
    for name in [*dict.fromkeys(report.name for report in reports), "all"]:
        own = [report for report in reports if name in (report.name, "all")]
        counts = Counter(report.outcome.kind for report in own)
        lines.append(f"{name:36}{len(own):8}" + "".join(f"{counts[kind]:20}" for kind in kinds))
    return "\n".join(lines)


def failures(reports: list[Report]) -> list[Report]:
    return [report for report in reports if report.outcome.kind in (UNCLEAR, WRONG)]
