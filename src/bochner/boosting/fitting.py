"""Second-order boosting on a standardized sample: start, rounds, pilots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._loops.arrays import as_dense, working_dtype
from ..data.training import TrainingData
from ..expansions.waves import Expansion
from ..learners.descent.gradients import Standardization
from ..losses import Loss, weighted_quantile
from ..priors.base import SpectralPrior
from .rounds import QuadraticModel, Wave, WaveSearch, exact_step

# Rounds of a pilot, and most of its rows.
PILOT_ROUNDS, PILOT_ROWS = 25, 5000
# Share of the squared factor of a column that does not depend on its relevance in a pilot.
RELEVANCE_FLOOR = 0.01
# Rounds whose candidates are drawn at once.
_DRAWN_ROUNDS = 32
# Rows for means of squared derivatives, and for matrices that need not be exact.
_RELEVANCE_ROWS, _MATRIX_ROWS = 2000, 1024
# Most columns of a linear part, whose time grows with the cube of their number.
_LARGEST_LINEAR = 512
# Memory for the sample.
_LARGEST_SAMPLE_BYTES = 2**31
# Columns with a value beyond the first number of deviations are checked for outliers, and values
# are clipped at the second.
_WILD, _FARTHEST = 10.0, 100.0
# A column is constant if its values differ by less than this share: that is rounding.
_CONSTANT = 16 * np.finfo(np.float64).eps
# Largest frequency in standardized columns; in the columns of X it must still be finite.
_LARGEST_FREQUENCY = 1e4


@dataclass(frozen=True, eq=False)
class StandardizedSample:
    """Standardized columns (n_features, n_rows) of a sample, with targets and weights.

    Targets are (n_rows, n_outputs), weights (n_rows,).
    """

    columns: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @cached_property
    def thinned_columns(self) -> np.ndarray:
        """About ``_MATRIX_ROWS`` evenly spread rows, for matrices that need not be exact."""
        return np.ascontiguousarray(self.columns[:, :: max(1, len(self.targets) // _MATRIX_ROWS)])

    def take(self, rows: np.ndarray) -> StandardizedSample:
        """Return some of the rows."""
        columns = np.ascontiguousarray(self.columns[:, rows])
        return StandardizedSample(columns, self.targets[rows], self.weights[rows])

    def some(self, n_rows: int, rng: np.random.Generator) -> StandardizedSample:
        """Return at most ``n_rows`` of the rows, drawn without replacement."""
        n_all = len(self.targets)
        if n_rows >= n_all:
            return self
        return self.take(np.sort(rng.choice(np.arange(n_all), n_rows, replace=False)))

    def scaled(self, factors: np.ndarray) -> StandardizedSample:
        """Return the same rows with each column multiplied by a factor."""
        return replace(self, columns=self.columns * factors.astype(self.columns.dtype)[:, None])

    def scores(self, expansion: Expansion) -> np.ndarray:
        """Return the expansion on these rows, (n_rows, n_outputs)."""
        return expansion.evaluate(self.columns.T)

    def relevance(self, expansion: Expansion, rng: np.random.Generator) -> np.ndarray:
        """Return the mean squared derivative in each column, on some of the rows."""
        some = self.some(_RELEVANCE_ROWS, rng)
        return expansion.relevance(some.columns.T, some.weights if some.weights.any() else None)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rounds of boosting on standardized rows: candidates, search for a wave, length of the step.

    ``whole_loss`` is the mean loss of a constant. If given, the penalty on frequencies is
    multiplied by the remaining loss as a share of it. A fixed penalty would end the search for fine
    structure as soon as little loss, and so little noise, is left.
    """

    loss: Loss
    prior: SpectralPrior
    search: WaveSearch
    learning_rate: float
    linear: bool
    whole_loss: float | None = None

    def start(self, sample: StandardizedSample) -> Expansion:
        """Return the best constant and a ridge-penalized linear part by damped Newton steps."""
        best = self.loss.start(sample.targets, sample.weights.astype(np.float64))
        constant = Expansion.constant(best, len(sample.columns))
        few = len(sample.columns) <= _LARGEST_LINEAR
        return self._with_slopes(constant, sample) if self.linear and few else constant

    def _with_slopes(self, constant, sample):
        columns, weights = sample.columns, sample.weights[:, None]
        intercept = constant.intercept.copy()
        slopes = np.zeros((len(columns), len(intercept)))
        # The ridge of a wave for each column: the linear part is one more weak learner.
        ridge = self.search.amplitude_penalty * np.eye(len(columns))
        scores = np.tile(intercept.astype(columns.dtype), (columns.shape[1], 1))
        for _ in range(3):
            gradient, curvature = self.loss.derivatives(sample.targets, scores)
            step = np.empty_like(slopes)
            for k in range(len(intercept)):
                matrix = (columns * (sample.weights * curvature[:, k])) @ columns.T
                right = columns @ (sample.weights * gradient[:, k]) + ridge @ slopes[:, k]
                factor = cho_factor(matrix.astype(np.float64) + ridge)
                step[:, k] = -cho_solve(factor, right.astype(np.float64))
            direction = columns.T @ step.astype(columns.dtype)
            length = exact_step(self.loss, sample.targets, scores, sample.weights, direction)
            length = min(length, 1.0)
            slopes += length * step
            scores = scores + scores.dtype.type(length) * direction
            shift = self._intercept_step(sample.targets, scores, weights)
            intercept += shift
            scores += shift.astype(scores.dtype)
        return replace(constant, intercept=intercept, slopes=slopes)

    def _intercept_step(self, targets, scores, weights):
        gradient, curvature = self.loss.derivatives(targets, scores)
        slope, total = np.sum(weights * gradient, axis=0), np.sum(weights * curvature, axis=0)
        step = (-slope / np.maximum(total, 1e-12)).astype(np.float64)
        direction = np.broadcast_to(step.astype(scores.dtype), scores.shape)
        return step * min(exact_step(self.loss, targets, scores, weights[:, 0], direction), 1.0)

    def waves(
        self, sample: StandardizedSample, scores: np.ndarray, seed: int, first: int = 0
    ) -> Iterator[tuple[Wave, np.ndarray]]:
        """Yield a wave and the new scores for each round from ``first`` on, without end.

        Candidates of many rounds are drawn at once, which is faster. The candidates of a round do
        not depend on ``first``.
        """
        n_candidates, share = self.search.n_candidates, self.search.subsample
        for t in count(first):
            turn = t % _DRAWN_ROUNDS
            if t == first or turn == 0:
                rng = np.random.default_rng([seed, 1, t // _DRAWN_ROUNDS])
                n_drawn = _DRAWN_ROUNDS * n_candidates
                drawn = self.prior.sample(n_drawn, len(sample.columns), rng).frequencies
            chosen = None
            if share < 1:
                size = max(2, int(np.ceil(share * len(scores))))
                rng = np.random.default_rng([seed, 3, t])
                chosen = np.sort(rng.choice(len(scores), size, replace=False))
            candidates = drawn[n_candidates * turn : n_candidates * (turn + 1)]
            wave, scores = self._round(sample, scores, candidates, chosen)
            yield wave, scores

    def _round(self, sample, scores, candidates, chosen):
        """Add a wave; the loss of the chosen rows (all if None) never rises."""
        rows, own = (sample, scores) if chosen is None else (sample.take(chosen), scores[chosen])
        weights = rows.weights[:, None]
        gradient, curvature = self.loss.derivatives(rows.targets, own)
        ridge = self.search.amplitude_penalty
        model = QuadraticModel(gradient * weights, curvature * weights, ridge)
        search = self._search(rows, own)
        wave, values = search.find(rows.columns, rows.thinned_columns, model, candidates)
        step = self.learning_rate
        if self.search.line_search:
            step *= exact_step(self.loss, rows.targets, own, rows.weights, values)
        cosine, sine = (step * part.astype(np.float64) for part in (wave.cosine, wave.sine))
        wave = Wave(wave.frequency, cosine, sine)
        added = scores.dtype.type(step) * values if chosen is None else wave.values(sample.columns)
        return wave, scores + added

    def _search(self, rows, scores):
        if not self.whole_loss:
            return self.search
        share = self.mean_loss(rows, scores) / self.whole_loss
        return replace(self.search, frequency_penalty=self.search.frequency_penalty * share)

    def mean_loss(self, sample: StandardizedSample, scores: np.ndarray) -> float:
        """Return the weighted mean of the loss."""
        return float(np.average(self.loss.values(sample.targets, scores), weights=sample.weights))

    def mean_loss_of(self, sample: StandardizedSample, expansion: Expansion) -> float:
        """Return the weighted mean of the loss of an expansion."""
        return self.mean_loss(sample, sample.scores(expansion))

    def pilot_factors(
        self, sample: StandardizedSample, n_pilots: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return √((1 − f) q/mean(q) + f) for each column, with f = 0.01.

        q is the relevance of the column in a pilot, a short boost on some of the rows. There are
        ``n_pilots`` of them in turn. Frequencies drawn afterwards are larger in relevant columns:
        automatic relevance determination by gradients.
        """
        factors = np.ones(len(sample.columns))
        for _ in range(n_pilots):
            pilot = sample.some(PILOT_ROWS, rng).scaled(factors)
            start = self.start(pilot)
            rounds = self.waves(pilot, pilot.scores(start), int(rng.integers(2**63)))
            waves = [wave for wave, _ in islice(rounds, PILOT_ROUNDS)]
            relevance = pilot.relevance(with_waves(start, waves), rng) * factors**2
            if not np.mean(relevance) > 0:
                return factors
            factors = np.sqrt(
                (1 - RELEVANCE_FLOOR) * relevance / np.mean(relevance) + RELEVANCE_FLOOR
            )
        return factors


def others_at_most(
    n_rows: int, n_all: int, excluded: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return at most ``n_rows`` random sorted numbers below ``n_all``, without the excluded ones.

    ``excluded`` is sorted; numbers are drawn without replacement.
    """
    n_others = n_all - len(excluded)
    places = np.arange(n_others)
    if n_others > n_rows:
        places = np.sort(rng.choice(n_others, n_rows, replace=False))
    # Skip the excluded numbers before each place.
    return places + np.searchsorted(excluded - np.arange(len(excluded)), places, side="right")


def with_waves(expansion: Expansion, waves: Sequence[Wave]) -> Expansion:
    """Return the expansion with these waves appended."""
    if not waves:
        return expansion
    frequencies, cosine, sine = map(np.stack, zip(*waves))
    return expansion.extended(Expansion(frequencies, cosine, sine, expansion.intercept))


def draw_sample(
    data: TrainingData,
    targets: np.ndarray,
    numbers: np.ndarray,
    standardization: Standardization | None,
    dtype: Any,
) -> tuple[StandardizedSample, Standardization]:
    """Return the rows of these numbers, standardized; by their own statistics if none are given."""
    n_features = data.rows.n_features
    size = len(numbers) * n_features * np.dtype(dtype).itemsize
    if size > _LARGEST_SAMPLE_BYTES:
        raise ValueError(
            f"Boosting needs {len(numbers)} rows of {n_features} columns as a dense array of "
            f"{size / 2**30:.1f} GiB. "
            f"Write max_rows={max(1, _LARGEST_SAMPLE_BYTES * len(numbers) // size)} or less, or "
            "reduce the columns first."
        )
    points = as_dense(data.rows.take(numbers))
    weights = np.ones(len(numbers)) if data.weights is None else data.weights[numbers]
    if standardization is None:
        standardization = standardization_of(points, weights)
    columns = np.ascontiguousarray(standardization.apply(points, dtype).T)
    np.clip(columns, -_FARTHEST, _FARTHEST, out=columns)
    targets = np.ascontiguousarray(targets[numbers], dtype=dtype)
    return StandardizedSample(columns, targets, weights.astype(dtype)), standardization


def standardization_of(points: np.ndarray, weights: np.ndarray) -> Standardization:
    """Return the weighted mean and inverse deviation of each column, 0 if it is constant.

    Columns are measured from their value in one row, in units of the largest distance from it. So
    no digit is lost to an offset, and no square overflows or underflows.
    """
    present = weights > 0
    points, weights = (points, weights) if present.all() else (points[present], weights[present])
    if not len(points):
        raise ValueError("There are no rows with a positive weight to learn from.")
    reference = points[0].astype(np.float64)
    with np.errstate(over="ignore"):
        distances = points - reference
    unit = np.abs(distances).max(axis=0)
    if not np.isfinite(unit).all():
        raise ValueError(
            f"The values of column {int(np.argmax(unit))} differ by more than the largest float64. "
            "Divide the column by a constant, e.g. by 1e10."
        )
    constant = unit <= _CONSTANT * np.abs(reference)
    distances /= np.where(constant, 1.0, unit)
    center = np.average(distances, axis=0, weights=weights)
    deviation = np.sqrt(np.average(np.square(distances - center), axis=0, weights=weights))
    wild = np.flatnonzero((np.abs(distances - center) > _WILD * deviation).any(axis=0) & ~constant)
    for j in wild:
        column = distances[:, [j]]
        center[j], deviation[j] = _without_outliers(column, weights, center[j], deviation[j])
    deviation = np.where(constant, np.inf, unit * deviation)
    smallest, dtype = int(np.argmin(deviation)), working_dtype(points)
    if deviation[smallest] <= _LARGEST_FREQUENCY / np.finfo(dtype).max:
        raise ValueError(
            f"The values of column {smallest} differ by at most {unit[smallest]:.1e}, and its "
            f"frequencies would be larger than any {np.dtype(dtype).name}. Scale the columns, "
            "e.g. by StandardScaler."
        )
    return Standardization(np.where(constant, reference, reference + unit * center), 1 / deviation)


def _without_outliers(column, weights, center, deviation):
    """Return center and deviation, by quartiles if a few values cause the deviation."""
    quartiles = (weighted_quantile(column, weights, share)[0] for share in (0.25, 0.5, 0.75))
    low, median, high = map(float, quartiles)
    robust = (high - low) / 1.349  # the standard deviation of a normal distribution
    return (median, robust) if 0 < robust < deviation / 10 else (center, deviation)
