"""Steps of a fit of the tabular models: ranks, priors, exact members, waves, trees, reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._checks import refuse_class
from .._estimator import FitTasks
from .._loops.threads import at_most_threads, ordered_map, thread_count
from ..data import LocalRows
from ..data.repetitions import held_out_size
from ..data.targets import Labels, Values
from ..data.training import TrainingData
from ..expansions.leaves import LeafExpansion, LeafTree, column_scales
from ..learners.evidence import Evidence, LearnedPrior, check_learnable
from ..priors import Anova, Gaussian, Laplace, SpectralPrior, WithCategories
from .members import Member
from .preparation import Preparation, PreparedData, with_codes
from .solving import Solved, solve_holding_out, solve_leaving_out
from .trees import cross_fitted_trees
from .waves import solve_descending

# Up to this number of rows the inverse of the kernel matrix takes seconds, and gives exact
# leave-one-out scores.
LEAVE_ONE_OUT_ROWS = 3500
# Kernel matrices of several families are computed at once if one is not larger than this.
_TOGETHER_BYTES = 2**29
# Leaves that are solved at once.
_MOST_MATRICES = 8
# Rows from which each leaf learns its own rates, and steps.
_LEAF_LEARNING_ROWS, _LEAF_STEPS = 1000, 5
# Between these numbers of rows, each family starts from the first one with so few steps of the
# evidence. With fewer rows a family of its own takes a fraction of a second, and the members differ
# more. With more rows each family has a sample of its own.
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
class Candidate:
    """A solved member, before the weights of the blend are known."""

    name: str
    learned: LearnedPrior | None
    solved: Solved
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


# --- learned priors -------------------------------------------------------------------------------


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
    """Learn a prior from all rows."""
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


# --- members --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """Rows in the order of their solution; the last ``n_held`` of them evaluate the members."""

    data: PreparedData
    n_held: int

    @property
    def leaves_one_out(self) -> bool:
        """True if all rows evaluate, each by the fit without it."""
        return self.n_held == len(self.data)

    @property
    def inner(self) -> PreparedData:
        """The rows that do not evaluate."""
        return self.data.take(np.arange(len(self.data) - self.n_held))

    def solve(self, learned: LearnedPrior, ridge_steps: int, rng: np.random.Generator) -> Solved:
        """Solve an exact kernel machine."""
        if self.leaves_one_out:
            return solve_leaving_out(self.data, learned, ridge_steps)
        return solve_holding_out(self.data, learned, ridge_steps, self.n_held, rng)


@dataclass(frozen=True, eq=False)
class Leaves:
    """All rows, and a split of each leaf; ``held`` are the numbers of the rows that evaluate.

    There is no ``tree`` if all rows are in one leaf.
    """

    data: PreparedData
    tree: LeafTree | None
    splits: tuple[Split, ...]
    held: np.ndarray

    @classmethod
    def of(
        cls, data: PreparedData, prior: SpectralPrior, max_leaf_rows: int, rng: np.random.Generator
    ) -> Self:
        """Split rows by a tree in the metric of a prior, and each leaf into two parts."""
        if len(data) <= max_leaf_rows:
            n_rows, n_held = len(data), len(data)
            data = replace(data, Z=data.Z.astype(np.float64, copy=False))
            if n_rows > LEAVE_ONE_OUT_ROWS:
                data, n_held = data.take(rng.permutation(n_rows)), held_out_size(n_rows, 4)
            held = np.arange(n_rows - n_held, n_rows)
            return cls(data, None, (Split(data, n_held),), held)
        scales = column_scales(prior, data.Z.shape[1])
        tree, leaves = LeafTree.grown(data.Z, scales, max_leaf_rows)
        splits, all_held = [], []
        for numbers in leaves:
            # If a leaf is larger, almost all of its rows are equal, and a sample is enough.
            numbers = rng.permutation(numbers)[:max_leaf_rows]
            n_held = held_out_size(len(numbers), 4)
            splits.append(Split(data.take(numbers), n_held))
            all_held.append(numbers[len(numbers) - n_held :])
        return cls(data, tree, tuple(splits), np.concatenate(all_held))

    @property
    def leaves_one_out(self) -> bool:
        """True if all rows evaluate, each by the fit without it."""
        return self.tree is None and self.splits[0].leaves_one_out

    @cached_property
    def evaluation(self) -> PreparedData:
        """The rows that evaluate the members."""
        return self.data.take(self.held)

    def sentence(self, max_leaf_rows: int) -> str:
        """Return a sentence on how the rows are solved, and why."""
        n_rows, n_held = len(self.data), len(self.held)
        if self.leaves_one_out:
            return (
                f"exact: {n_rows} different rows, at most {LEAVE_ONE_OUT_ROWS}, so every score is "
                "leave-one-out"
            )
        held_out = f"{n_held} were held out to choose and to blend, then all fitted"
        if self.tree is None:
            return f"exact by conjugate gradients: {n_rows} different rows; {held_out}"
        sizes = [len(split.data) for split in self.splits]
        return (
            f"many rows: {n_rows} different rows are more than max_leaf_rows={max_leaf_rows}, so a "
            f"tree splits them into {len(sizes)} leaves of {min(sizes)} to {max(sizes)} rows, with "
            f"exact kernels in each; {held_out}"
        )


def solve_families(
    families: list[Family],
    leaves: Leaves,
    evidence: Evidence,
    ridge_steps: int,
    rng: np.random.Generator,
    tasks: FitTasks,
) -> list[Candidate]:
    """Solve one exact member for each family, with rates of its own in each of several leaves."""
    generators, n_leaves = rng.spawn(len(families)), len(leaves.splits)
    names = [family.name for family in families]
    if leaves.tree is None:
        items = list(zip(families, leaves.splits * len(families), generators))
        # Several kernel matrices at once, unless there are more threads than families, or too
        # little memory.
        n_bytes = 4 * len(leaves.data) ** 2
        together = thread_count() <= len(families) and n_bytes <= _TOGETHER_BYTES
    else:
        items = [
            (family, split, own)
            for family, generator in zip(families, generators)
            for split, own in zip(leaves.splits, generator.spawn(n_leaves))
        ]
        names = [f"{name}, leaf {k + 1} of {n_leaves}" for name in names for k in range(n_leaves)]
        together = True

    def solve(item):
        family, split, generator = item
        learned = family.learned
        if leaves.tree is not None:
            learned = learn_again(evidence, learned, split.inner, generator)
        return split.solve(learned, ridge_steps, generator)

    with at_most_threads(min(thread_count(), _MOST_MATRICES) if leaves.tree else None):
        results = timed_results(solve, items, tasks.each("solving", names), together, n_leaves)
    members = []
    for k in range(len(results) // n_leaves):  # a callback may have stopped the others
        family, own = families[k], results[k * n_leaves : (k + 1) * n_leaves]
        solved = leaves_together(leaves.tree, [one.result for one in own])
        seconds = family.seconds + sum(one.seconds for one in own)
        members.append(Candidate(family.name, family.learned, solved, seconds))
    return members


def leaves_together(tree: LeafTree | None, solved: list[Solved]) -> Solved:
    """Return the functions of all leaves as one, with the mean logarithmic ridge."""
    if tree is None:
        return solved[0]
    return Solved(
        LeafExpansion(tree, tuple(one.expansion for one in solved)),
        np.concatenate([one.held_out for one in solved]),
        float(np.exp(np.mean(np.log([one.ridge for one in solved])))),
    )


def fit_waves(
    family: Family, leaves: Leaves, rng: np.random.Generator, tasks: FitTasks
) -> list[Candidate]:
    """Fit waves of a learned prior to all rows that do not evaluate."""
    data = leaves.data
    weights = data.row_weights.copy()
    weights[leaves.held] = 0.0
    rows = TrainingData(LocalRows(data.Z.astype(np.float32, copy=False)), data.target, weights)
    work = partial(timed, solve_descending, rows, family.learned, leaves.evaluation, rng)
    results = [work() for _ in tasks.each("descending", ["waves"])]
    return [Candidate("waves", family.learned, one.result, one.seconds) for one in results]


def grow_trees(leaves: Leaves, rng: np.random.Generator, tasks: FitTasks) -> list[Candidate]:
    """Fit trees to all rows."""
    held = None if leaves.leaves_one_out else leaves.held
    work = partial(timed, cross_fitted_trees, leaves.data, held, rng)
    results = [work() for _ in tasks.each("growing", ["trees"])]
    return [Candidate("trees", None, one.result, one.seconds) for one in results]


# --- blend ----------------------------------------------------------------------------------------


def heaviest_prior(members: list[Candidate], weights: np.ndarray) -> SpectralPrior:
    """Return the learned prior of the member with the largest weight."""
    kernels = [(float(w), one.learned.prior) for one, w in zip(members, weights) if one.learned]
    return max(kernels, key=lambda pair: pair[0])[1]


def member_reports(
    members: list[Candidate], weights: np.ndarray, evaluation: PreparedData
) -> list[Member]:
    """Return a report on each member."""
    Y, row_weights = evaluation.outputs, evaluation.row_weights

    def mean_squares(residuals):
        return np.average(np.sum(residuals**2, axis=1), weights=row_weights)

    total = mean_squares(Y - np.average(Y, axis=0, weights=row_weights))
    return [
        Member(
            name=one.name,
            prior=None if one.learned is None else one.learned.prior,
            weight=float(weight),
            held_out_error=float(
                mean_squares(Y - one.solved.held_out) / (total if total > 0 else 1.0)
            ),
            ridge=float(one.solved.ridge),
            noise=np.nan if one.learned is None else one.learned.noise,
            n_points=len(one.solved.expansion),
            seconds=float(one.seconds),
        )
        for one, weight in zip(members, weights, strict=True)
    ]
