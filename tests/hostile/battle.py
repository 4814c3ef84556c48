"""Attacks carried out: every attack on every estimator, and what came of each."""

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bochner import JointDescent, MarginGame

from .inputs import ATTACKS, REFUSED, SAME, Example
from .parameters import parameter_attacks, with_parameter
from .verdicts import CLEAR, RIGHT, UNCLEAR, WRONG, Outcome, answers, attacked
from .victims import VICTIMS, data_for


@dataclass(frozen=True)
class Report:
    victim: str
    attack: str
    outcome: Outcome


def input_reports(
    victim: str, rng: np.random.Generator | None = None, share: float = 1.0
) -> Iterator[Report]:
    """All attacks on rows, targets and weights of one estimator, or a random ``share`` of them."""
    estimator = VICTIMS[victim]
    X, y = data_for(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = answers(clone(estimator).fit(X, y), X)
    # Local searches and batches follow rounding, and so go another way in another precision.
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
            continue  # what learns without a target does not look at it
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
            victim, attack.name, attacked(fitted, expected, searching, attack.must == REFUSED)
        )


def parameter_reports(
    victim: str, rng: np.random.Generator | None = None, share: float = 1.0
) -> Iterator[Report]:
    """All attacks on the parameters of one estimator, or a share of them: finite answers or a clear
    refusal.
    """
    estimator = VICTIMS[victim]
    X, y = data_for(estimator)
    for parameter, name, value in parameter_attacks(estimator):
        if rng is not None and rng.random() > share:
            continue

        def fitted(parameter=parameter, value=value):
            return answers(with_parameter(estimator, parameter, value).fit(X, y), X)

        yield Report(victim, f"{parameter} = {name}", attacked(fitted))


def table(reports: list[Report]) -> str:
    """One line an estimator: attacks tried, and how many came to what."""
    kinds = (RIGHT, CLEAR, UNCLEAR, WRONG)
    lines = [f"{'':36}{'tried':>8}" + "".join(f"{kind:>20}" for kind in kinds)]
    for victim in [*dict.fromkeys(report.victim for report in reports), "all"]:
        own = [report for report in reports if victim in (report.victim, "all")]
        counts = Counter(report.outcome.kind for report in own)
        lines.append(f"{victim:36}{len(own):8}" + "".join(f"{counts[kind]:20}" for kind in kinds))
    return "\n".join(lines)


def failures(reports: list[Report]) -> list[Report]:
    return [report for report in reports if report.outcome.kind in (UNCLEAR, WRONG)]
