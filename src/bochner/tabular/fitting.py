"""Steps of a fit of the tabular models: ranks, priors, exact members, waves, trees, blend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import nnls

from .._checks import refuse_class
from .._estimator import FitTasks
from .._loops.threads import ordered_map, thread_count
from ..data import row_keys
from ..data.repetitions import held_out_size
from ..data.targets import Labels, Values
from ..data.training import TrainingData
from ..learners.evidence import Evidence, LearnedPrior, check_learnable
from ..priors import Anova, Gaussian, Laplace, SpectralPrior
from .members import LEAST_WEIGHT, Blend, Member
from .preparation import Preparation, PreparedData
from .solving import Solved, solve_holding_out, solve_leaving_out
from .trees import TreeMember, cross_fitted_trees
from .waves import solve_descending

# Up to this number of rows the inverse of the kernel matrix takes seconds, and gives exact
# leave-one-out scores.
LEAVE_ONE_OUT_ROWS = 3500
# Kernel matrices of several families are computed at once if one is not larger than this.
_TOGETHER_BYTES = 2**29
# The default families.
_PRIORS = (Anova(), Laplace(), Gaussian())
# Evidence that chooses between numbers and ranks, by a few iterations on some rows.
_RANK_EVIDENCE, _RANK_PRIOR = Evidence(n_rows=500, n_iterations=10, standardize=False), Laplace()
# The share of ranks that is tried, and the gain in nats per row that it needs.
_RANKS, _LEAST_GAIN = 0.5, 1e-3
# Penalty for unequal weights of a blend, as a number of rows with the error of the best member:
# held-out scores of a few hundred rows cannot distinguish members whose errors differ by a percent.
_EQUALITY = 100.0


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
    """Return one prior, several, or the default three, all of families that evidence can learn."""
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
    names = [type(prior).__name__.lower() for prior in priors]
    return [
        name if names.count(name) == 1 else f"{name} {names[:k].count(name) + 1}"
        for k, name in enumerate(names)
    ]


def each_family(
    work: Callable[[int], Any], tasks: Iterable[int], n_families: int, together: bool = True
) -> list[Timed]:
    """Return ``work(k)`` of each family, until ``tasks`` ends.

    Families run on a thread each if ``together``, otherwise one after the other with all threads.
    """

    numbers, timed_work = range(n_families), partial(timed, work)
    each = ordered_map(timed_work, numbers) if together else (timed_work(k) for k in numbers)
    with closing(each) as families:
        return [outcome for _, outcome in zip(tasks, families)]


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

    def objective(Z):
        learned = _RANK_EVIDENCE._learn(_RANK_PRIOR, Z, target, rng, sample.row_counts)
        return learned.objective

    plain, other = ordered_map(
        objective, [sample.Z, ranked.transform(preparation.table.take(some))]
    )
    return other < plain - _LEAST_GAIN


def learning_rows(
    evidence: Evidence, n_rows: int, n_families: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the rows that each family learns from.

    Families have different samples of many rows: the blend averages over their randomness.
    """
    most = max(evidence.n_rows, evidence.n_refining_rows)
    if n_rows <= most:
        return [np.arange(n_rows)] * n_families
    return [np.sort(rng.choice(n_rows, most, replace=False)) for _ in range(n_families)]


def learn_prior(
    evidence: Evidence, prior: SpectralPrior, data: PreparedData, seed: int = 0
) -> LearnedPrior:
    """Learn a prior from all rows."""
    n_columns, Y = data.Z.shape[1], data.outputs
    if len(Y) < 2 or not np.any(np.ptp(Y, axis=0) > 0):  # a constant: nothing to learn from
        prior = prior.with_rates(np.ones(n_columns), np.ones(n_columns))
        return LearnedPrior(prior, 1.0, np.zeros(n_columns), 0.0, 0)
    rng = np.random.default_rng(seed)
    return evidence._learn(prior, data.Z, data.target, rng, data.row_counts)


def learn_families(
    evidence: Evidence,
    priors: tuple[SpectralPrior, ...],
    data: PreparedData,
    rows: list[np.ndarray],
    tasks: FitTasks,
    first: Timed,
) -> list[Family]:
    """Learn each family from its rows; the result of ``first`` is the first prior or None."""

    def learn(k):
        if k == 0 and first.result is not None:
            return first.result
        return learn_prior(evidence, priors[k], data.take(rows[k]), k)

    names = family_names(priors)
    outcomes = each_family(learn, tasks.each("learning", names), len(priors))
    return [
        Family(names[k], outcome.result, outcome.seconds + (first.seconds if k == 0 else 0.0))
        for k, outcome in enumerate(outcomes)
    ]


# --- members --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """Rows in the order in which they are solved; the last ``n_held`` evaluate the members."""

    data: PreparedData
    n_held: int

    @property
    def leaves_one_out(self) -> bool:
        """True if all rows evaluate, each by the fit without it."""
        return self.n_held == len(self.data)

    @cached_property
    def evaluation(self) -> PreparedData:
        """The rows that evaluate the members."""
        return self.data.take(np.arange(len(self.data) - self.n_held, len(self.data)))


def choose_split(
    data: PreparedData, all_rows: TrainingData | None, rng: np.random.Generator
) -> Split:
    """Choose between leave-one-out and held-out rows, which are a random sample."""
    n_rows = len(data)
    if all_rows is None and n_rows <= LEAVE_ONE_OUT_ROWS:
        return Split(data, n_rows)
    n_all = n_rows if all_rows is None else int(np.sum(all_rows.row_weights > 0))
    # A sample with many copies has few different rows.
    n_held = min(held_out_size(n_all, 4), n_rows // 2)
    return Split(data.take(rng.permutation(n_rows)), n_held)


def solve_families(
    families: list[Family],
    split: Split,
    ridge_steps: int,
    rng: np.random.Generator,
    tasks: FitTasks,
    *,
    refit: bool,
) -> list[Candidate]:
    """Solve one exact member for each family."""
    generators = rng.spawn(len(families))

    def solve(k):
        learned = families[k].learned
        if split.leaves_one_out:
            return solve_leaving_out(split.data, learned, ridge_steps)
        return solve_holding_out(
            split.data, learned, ridge_steps, split.n_held, generators[k], refit
        )

    # Several kernel matrices at once, unless there are more threads than families, or too
    # little memory.
    n_bytes = 4 * len(split.data) ** 2
    together = thread_count() <= len(families) and n_bytes <= _TOGETHER_BYTES
    names = [family.name for family in families]
    outcomes = each_family(solve, tasks.each("solving", names), len(families), together)
    return [
        Candidate(family.name, family.learned, outcome.result, family.seconds + outcome.seconds)
        for family, outcome in zip(families, outcomes)
    ]


def exclude_rows(data: TrainingData, numbers: np.ndarray, *, and_equal: bool) -> TrainingData:
    """Set the weights of some rows, and of all rows equal to these (``and_equal``), to zero."""
    weights = data.row_weights.copy()
    if and_equal:
        keys = row_keys(data.rows)
        weights[np.isin(keys, keys[numbers])] = 0.0
    else:
        weights[numbers] = 0.0
    return replace(data, weights=weights)


def solve_all_rows(
    families: list[Family],
    data: TrainingData,
    evaluation: PreparedData,
    rng: np.random.Generator,
    tasks: FitTasks,
) -> list[Candidate]:
    """Fit waves of each learned prior to all rows."""
    members = []
    for k in tasks.each("passing over all rows", [family.name for family in families]):
        name, learned = f"{families[k].name} waves", families[k].learned
        waves = timed(solve_descending, data, learned, evaluation, rng)
        members.append(Candidate(name, learned, waves.result, waves.seconds))
    return members


def grow_trees(
    split: Split, all_rows: TrainingData | None, rng: np.random.Generator, tasks: FitTasks
) -> list[Candidate]:
    """Fit trees to all rows."""

    def grow():
        if all_rows is None:
            n_held = None if split.leaves_one_out else split.n_held
            return cross_fitted_trees(split.data, n_held, rng)
        kept = np.flatnonzero(all_rows.row_weights > 0)
        present = all_rows.take(kept)
        data = PreparedData(present.rows.source, present.target, present.row_weights)
        trees = TreeMember.fitted(data, int(rng.integers(2**31)))
        return Solved(trees, trees.evaluate(split.evaluation.Z))

    outcomes = [timed(grow) for _ in tasks.each("growing", ["trees"])]
    return [Candidate("trees", None, one.result, one.seconds) for one in outcomes]


def path_sentence(split: Split, all_rows: TrainingData | None, max_exact_rows: int) -> str:
    """Return a sentence on how the rows were solved, and why."""
    n_rows, n_held = len(split.data), split.n_held
    if split.leaves_one_out:
        return (
            f"exact: {n_rows} different rows, at most {LEAVE_ONE_OUT_ROWS}, so every score is "
            "leave-one-out"
        )
    if all_rows is None:
        return (
            f"exact by conjugate gradients: {n_rows} different rows; {n_held} were held out to "
            "choose and to blend, then all fitted"
        )
    return (
        f"many rows: {len(all_rows)} are more than max_exact_rows={max_exact_rows}, so "
        f"kernels are exact on a sample of {n_rows - n_held}, and waves of the same priors "
        f"descend over all rows; {n_held} were held out to choose and to blend"
    )


# --- blend ----------------------------------------------------------------------------------------


def blend_weights(
    held_out: np.ndarray, targets: np.ndarray, row_weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Return non-negative weights of the members of a blend, with sum one.

    .. math:: \min_{w \ge 0} \sum_i h_i \|y_i - \bar y - \sum_m w_m (s_{mi} - \bar y)\|^2
        + \rho \|w - 1/M\|^2

    Here s is ``held_out`` (n_members, n_samples, n_outputs), y ``targets`` (n_samples, n_outputs),
    h ``row_weights`` (n_samples,), and ρ is 100 times the smallest mean squared error of a member.
    The solution is divided by its sum.

    >>> import numpy as np
    >>> y = np.arange(50.0)[:, None]
    >>> blend_weights(np.stack([y + 1, y[::-1]]), y).round(2)
    array([1., 0.])
    """
    n_members = len(held_out)
    if n_members == 1:
        return np.ones(1)
    counts = np.ones(len(targets)) if row_weights is None else row_weights
    mean = np.average(targets, axis=0, weights=counts)
    root = np.sqrt(counts)[:, None]
    columns = np.stack([(root * (scores - mean)).ravel() for scores in held_out], axis=1)
    errors = [
        np.average(np.mean((scores - targets) ** 2, axis=1), weights=counts) for scores in held_out
    ]
    pull = np.sqrt(_EQUALITY * max(min(errors), np.finfo(float).tiny))
    matrix = np.vstack([columns, pull * np.eye(n_members)])
    right = np.concatenate(
        [(root * (targets - mean)).ravel(), np.full(n_members, pull / n_members)]
    )
    weights = nnls(matrix, right)[0]
    total = weights.sum()
    return weights / total if total > 0 else np.full(n_members, 1 / n_members)


def blend_members(
    members: list[Candidate], evaluation: PreparedData
) -> tuple[Blend, list[Member], np.ndarray]:
    """Weight the members by their scores of the evaluation rows.

    Returns the blend, reports on all members, and the blend's scores of the evaluation rows.
    """
    Y, row_weights = evaluation.outputs, evaluation.row_weights
    held_out = np.stack([one.solved.held_out for one in members])
    weights = blend_weights(held_out, Y, row_weights)
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()

    def mean_squares(residuals):
        return np.average(np.sum(residuals**2, axis=1), weights=row_weights)

    total = mean_squares(Y - np.average(Y, axis=0, weights=row_weights))
    reports = [
        Member(
            name=one.name,
            prior=None if one.learned is None else one.learned.prior,
            weight=float(weights[k]),
            held_out_error=float(mean_squares(Y - held_out[k]) / (total if total > 0 else 1.0)),
            ridge=float(one.solved.ridge),
            noise=np.nan if one.learned is None else one.learned.noise,
            n_points=len(one.solved.expansion),
            seconds=float(one.seconds),
        )
        for k, one in enumerate(members)
    ]
    used = np.flatnonzero(weights)
    blend = Blend(
        tuple(members[k].solved.expansion for k in used),
        tuple(float(weights[k]) for k in used),
    )
    return blend, reports, np.tensordot(weights, held_out, axes=1)
