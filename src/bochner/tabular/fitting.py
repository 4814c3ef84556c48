"""Members of the blend: the split of the rows, exact kernel machines, waves, trees, reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np

from .._estimator import FitTasks
from .._loops.threads import at_most_threads, thread_count
from ..data import LocalRows
from ..data.repetitions import held_out_size
from ..data.training import TrainingData
from ..expansions.leaves import LeafExpansion, LeafTree, column_scales
from ..learners.evidence import Evidence, LearnedPrior
from ..priors import SpectralPrior
from .learning import Family, learn_again, timed, timed_results
from .members import Member
from .preparation import PreparedData
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


@dataclass(frozen=True)
class Candidate:
    """A solved member, before the weights of the blend are known."""

    name: str
    learned: LearnedPrior | None
    solved: Solved
    seconds: float


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


# --- reports --------------------------------------------------------------------------------------


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
