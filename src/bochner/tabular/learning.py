"""Priors of the members: their rows, the encoding by ranks, and the evidence that learns them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from .._checks import refuse_class
from .._estimator import FitTasks
from .._loops.threads import ordered_map
from ..data.targets import Labels, Values
from ..learners.evidence import Evidence, LearnedPrior, check_learnable
from ..priors import Anova, Gaussian, Laplace, SpectralPrior, WithCategories
from .preparation import Preparation, PreparedData, with_codes

# Rows from which each leaf learns its own rates, and steps.
_LEAF_LEARNING_ROWS, _LEAF_STEPS = 1000, 5
# Between these numbers of rows, families start from the rates of the first one, and need only so
# many steps. With fewer rows a start from nothing takes a fraction of a second, and gives members
# that differ more. With more rows each family has a sample of its own.
_WARM_STEPS, _WARM_ROWS = {"n_iterations": 4, "n_refinements": 3}, (600, 1000)
# The default families.
_PRIORS = (Anova(), Laplace(), Gaussian())
# Evidence that chooses between numbers and ranks, by a few iterations on some rows.
_RANK_EVIDENCE, _RANK_PRIOR = Evidence(n_rows=500, n_iterations=10, standardize=False), Laplace()
# The share of ranks that is tried, and the gain in nats per row that it needs.
_RANKS, _LEAST_GAIN = 0.5, 1e-3


@dataclass(frozen=True)
class Family:
    """A learned prior, its name, and the seconds that it took."""

    name: str
    learned: LearnedPrior
    seconds: float


@dataclass(frozen=True)
class Timed:
    """A result, and the seconds that it took."""

    result: Any
    seconds: float


def timed(work: Callable, *arguments: Any) -> Timed:
    """Return the result of ``work``, and the seconds that it took."""
    begun = time.perf_counter()
    result = work(*arguments)
    return Timed(result, time.perf_counter() - begun)


def check_priors(priors: Any) -> tuple[SpectralPrior, ...]:
    """Validate ``priors``, and return them as a tuple; None is the default three.

    The evidence must be able to learn each of their families.
    """
    if priors is None:
        return _PRIORS
    priors = tuple(priors) if isinstance(priors, (tuple, list)) else (priors,)
    if not len(priors):
        raise ValueError("priors is empty; give at least one, e.g. priors=(Anova(), Laplace()).")
    for prior in priors:
        refuse_class(prior, "priors")
        if not isinstance(prior, SpectralPrior):
            raise TypeError(f"priors must be priors such as Anova() or Laplace(), got {prior!r}.")
        check_learnable(prior)
    return priors


def family_names(priors: tuple[SpectralPrior, ...]) -> list[str]:
    """Return the name of each family, numbered if it occurs more than once."""
    plain = [one.prior if isinstance(one, WithCategories) else one for one in priors]
    names = [type(prior).__name__.lower() for prior in plain]
    return [
        name if names.count(name) == 1 else f"{name} {names[:k].count(name) + 1}"
        for k, name in enumerate(names)
    ]


def timed_results(
    work: Callable[[Any], Any],
    items: Sequence[Any],
    tasks: Iterable[int],
    together: bool = True,
    fewest: int = 1,
) -> list[Timed]:
    """Return ``work(item)`` for each item until ``tasks`` ends, but for at least ``fewest`` items.

    With ``together`` each item has a thread. Otherwise all threads work on one item at a time.
    """
    work = partial(timed, work)
    with closing(ordered_map(work, items) if together else (work(one) for one in items)) as each:
        results = [result for _, result in zip(tasks, each)]
        return results + list(islice(each, max(0, fewest - len(results))))


def choose_rank_encoding(preparation: Preparation, rng: np.random.Generator) -> Preparation:
    """Replace half of each number by its rank if the evidence of some rows is in favor of it."""
    inputs, data = preparation.inputs, preparation.data
    if not any(knots.shape[1] > 2 for knots in inputs.knots_):
        return preparation
    ranked = copy(inputs).set_params(ranks=_RANKS)
    if not _prefers_ranks(preparation, ranked, rng):
        return preparation
    Z = ranked.transform(preparation.table.take(np.arange(len(data))))
    return replace(preparation, inputs=ranked, data=replace(data, Z=Z))


def _prefers_ranks(preparation, ranked, rng):
    """Return True if ``ranked`` gains 0.001 nats per row."""
    data, most = preparation.data, _RANK_EVIDENCE.n_rows
    n_rows = len(data)
    some = np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, replace=False))
    sample = data.take(some)
    target = sample.target
    values = target.codes if isinstance(target, Labels) else target.rows
    spread = np.ptp(values, axis=0)
    if not np.any(spread > 0):
        return False
    if isinstance(target, Values):
        # Rescale first: squares of huge values would overflow.
        target = Values((values - values.min(axis=0)) / np.where(spread > 0, spread, 1.0))

    (prior,) = with_codes((_RANK_PRIOR,), ranked)

    def objective(Z):
        learned = _RANK_EVIDENCE.learn_checked(prior, Z, target, rng, sample.row_counts)
        return learned.objective

    plain, other = ordered_map(
        objective, [sample.Z, ranked.transform(preparation.table.take(some))]
    )
    return other < plain - _LEAST_GAIN


def learning_rows(
    evidence: Evidence, n_rows: int, n_families: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the rows that each family learns from.

    If there are many rows, each family has a sample of its own, and the blend averages over these.
    """
    most = max(evidence.n_rows, evidence.n_refining_rows)
    if n_rows <= most:
        return [np.arange(n_rows)] * n_families
    return [np.sort(rng.choice(n_rows, most, replace=False)) for _ in range(n_families)]


def learn_prior(
    evidence: Evidence,
    prior: SpectralPrior,
    data: PreparedData,
    seed: int = 0,
    start: LearnedPrior | None = None,
) -> LearnedPrior:
    """Learn a prior from all rows of ``data``."""
    n_columns, Y = data.Z.shape[1], data.outputs
    if len(Y) < 2 or not np.any(np.ptp(Y, axis=0) > 0):  # a constant: nothing to learn from
        prior = prior.with_rates(np.ones(n_columns), np.ones(n_columns))
        return LearnedPrior(prior, 1.0, np.zeros(n_columns), 0.0, 0)
    rng = np.random.default_rng(seed)
    return evidence.learn_checked(prior, data.Z, data.target, rng, data.row_counts, start)


def learn_again(
    evidence: Evidence, learned: LearnedPrior, data: PreparedData, rng: np.random.Generator
) -> LearnedPrior:
    """Learn the rates of a leaf, with those of all rows as the start."""
    n_rows = min(len(data), _LEAF_LEARNING_ROWS)
    some = data.take(rng.choice(len(data), n_rows, replace=False))
    if learned.theta is None or not np.any(np.ptp(some.outputs, axis=0) > 0):
        return learned
    own = shortened(evidence, n_iterations=_LEAF_STEPS)
    own.set_params(n_rows=_LEAF_LEARNING_ROWS, n_refining_rows=0)
    return learn_prior(own, learned.prior, some, start=learned)


def shortened(evidence: Evidence, **most: int) -> Evidence:
    """Return a copy with at most these numbers of steps."""
    fewer = {name: min(steps, getattr(evidence, name)) for name, steps in most.items()}
    return clone(evidence).set_params(**fewer)


def learn_families(
    evidence: Evidence,
    priors: tuple[SpectralPrior, ...],
    data: PreparedData,
    rows: list[np.ndarray],
    tasks: FitTasks,
    first: Timed,
) -> list[Family]:
    """Learn each family from its rows.

    The result of ``first`` is the first prior, or None if it is not learned yet.
    """

    def learn(k):
        if k == 0:
            return first.result or learn_prior(evidence, priors[0], data.take(rows[0]))
        start = learned[0].result
        is_warm = (
            start.theta is not None
            and not priors[k].weighs_columns
            and _WARM_ROWS[0] <= len(data) <= _WARM_ROWS[1]
        )
        own = shortened(evidence, **_WARM_STEPS) if is_warm else evidence
        return learn_prior(own, priors[k], data.take(rows[k]), k, start if is_warm else None)

    names = family_names(priors)
    each = tasks.each("learning", names)
    learned = timed_results(learn, range(1), islice(each, 1))
    learned += timed_results(learn, range(1, len(priors)), each, fewest=0)
    families = [Family(name, one.result, one.seconds) for name, one in zip(names, learned)]
    families[0] = replace(families[0], seconds=families[0].seconds + first.seconds)
    return families
