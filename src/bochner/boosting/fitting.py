"""The second-order booster behind FourierBoostingClassifier and FourierBoostingRegressor: sample, boost, joint epochs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from .._compute import take_rows
from .expansion import FourierExpansion
from .joint import JointEpochs, Standardization, WaveParameters
from .losses import Loss
from .rounds import QuadraticModel, Wave, WaveSearch, exact_step, thinned

PILOT_ROUNDS, PILOT_ROWS = 25, 5000
RELEVANCE_FLOOR = 0.01
_LARGEST_LINEAR = 512
_LARGEST_SAMPLE_BYTES = 2**31


@dataclass
class Fit:
    """Everything that grows while fitting, in standardised inputs; ``expansion`` is the model in the user's inputs."""

    standardization: Standardization
    intercept: np.ndarray
    slopes: np.ndarray | None = None
    waves: list[Wave] = field(default_factory=list)

    def expansion(self, target_shift: Any = 0.0, target_scale: Any = 1.0) -> FourierExpansion:
        """f(x) = shift + scale · f_standardised((x − μ)σ⁻¹) with phases and signed amplitudes."""
        n_features, n_outputs = len(self.standardization.scale), len(self.intercept)
        frequencies = np.array([wave.frequency for wave in self.waves]).reshape(-1, n_features)
        cosine = np.array([wave.cosine for wave in self.waves], dtype=np.float64).reshape(-1, n_outputs)
        sine = np.array([wave.sine for wave in self.waves], dtype=np.float64).reshape(-1, n_outputs)
        frequencies = frequencies * self.standardization.scale
        phases = np.arctan2(sine, cosine) + (frequencies @ self.standardization.shift)[:, None]
        slopes = None if self.slopes is None else self.slopes * self.standardization.scale[:, None]
        intercept = self.intercept if slopes is None else self.intercept - self.standardization.shift @ slopes
        return FourierExpansion(
            frequencies,
            phases,
            np.hypot(cosine, sine) * target_scale,
            intercept * target_scale + target_shift,
            None if slopes is None else slopes * target_scale,
        )

    def scores(self, columns: np.ndarray) -> np.ndarray:
        """Scores of standardised rows given as (n_features, n_rows)."""
        scores = np.tile(self.intercept.astype(columns.dtype), (columns.shape[1], 1))
        if self.slopes is not None:
            scores += columns.T @ self.slopes.astype(columns.dtype)
        for wave in self.waves:
            angle = wave.frequency.astype(columns.dtype) @ columns
            scores += np.multiply.outer(np.cos(angle), wave.cosine.astype(columns.dtype))
            scores += np.multiply.outer(np.sin(angle), wave.sine.astype(columns.dtype))
        return scores

    def copy(self) -> Fit:
        """A fit that can grow while this one stays, whatever interrupts it."""
        return replace(self, waves=list(self.waves))

    def relevance(self, columns: np.ndarray, output_scale: Any = 1.0) -> np.ndarray:
        """Mean over rows of Σ_k (scale_k ∂f_k/∂z_j)² in standardised inputs, (n_features,)."""
        scales = np.broadcast_to(output_scale, len(self.intercept))
        frequencies = np.array([wave.frequency for wave in self.waves], dtype=columns.dtype).reshape(-1, len(columns))
        angle = columns.T @ frequencies.T
        sines, cosines = np.sin(angle), np.cos(angle)
        total = np.zeros(len(columns))
        for k in range(len(self.intercept)):
            cosine = np.array([wave.cosine[k] for wave in self.waves], dtype=columns.dtype)
            sine = np.array([wave.sine[k] for wave in self.waves], dtype=columns.dtype)
            gradient = (cosines * sine - sines * cosine) @ frequencies
            if self.slopes is not None:
                gradient += self.slopes[:, k].astype(columns.dtype)
            total += scales[k] ** 2 * np.mean(np.square(gradient, dtype=np.float64), axis=0)
        return total


@dataclass(frozen=True)
class Sample:
    """Rows that boosting looks at: standardised (n_features, n_rows), targets (n_rows, n_outputs), weights (n_rows,)."""

    columns: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @cached_property
    def thinned_columns(self) -> np.ndarray:
        """Some of the rows, for matrices that need not be exact."""
        return thinned(self.columns)

    def some(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """At most ``n_rows`` of the rows, drawn without replacement."""
        if n_rows >= self.columns.shape[1]:
            return self
        rows = np.sort(rng.choice(self.columns.shape[1], n_rows, replace=False))
        return Sample(np.ascontiguousarray(self.columns[:, rows]), self.targets[rows], self.weights[rows])

    def scaled(self, factors: np.ndarray) -> Sample:
        """The same rows with each column multiplied."""
        return Sample(self.columns * factors.astype(self.columns.dtype)[:, None], self.targets, self.weights)


@dataclass(frozen=True)
class Booster:
    """The rules of a round: search for a wave, how far to step, on which rows."""

    loss: Loss
    search: WaveSearch
    ridge: float
    learning_rate: float
    line_search: bool
    subsample: float
    linear: bool

    def start(self, sample: Sample, standardization: Standardization) -> Fit:
        """The best constant, then a ridge-penalised linear part by damped Newton steps."""
        fit = Fit(standardization, self.loss.start(sample.targets, sample.weights.astype(np.float64)))
        if self.linear and len(sample.columns) <= _LARGEST_LINEAR:
            self._fit_slopes(fit, sample)
        return fit

    def _fit_slopes(self, fit, sample):
        columns, weights = sample.columns, sample.weights[:, None]
        fit.slopes = np.zeros((len(columns), len(fit.intercept)))
        # As heavy as the ridge of a wave for each column: the linear part is one more weak learner.
        ridge = self.ridge * np.eye(len(columns))
        scores = fit.scores(columns)
        for _ in range(3):
            gradient, curvature = self.loss.derivatives(sample.targets, scores)
            step = np.empty_like(fit.slopes)
            for k in range(len(fit.intercept)):
                matrix = (columns * (sample.weights * curvature[:, k])) @ columns.T
                right = columns @ (sample.weights * gradient[:, k]) + ridge @ fit.slopes[:, k]
                step[:, k] = -cho_solve(cho_factor(matrix.astype(np.float64) + ridge), right.astype(np.float64))
            direction = columns.T @ step.astype(columns.dtype)
            length = min(exact_step(self.loss, sample.targets, scores, sample.weights, direction), 1.0)
            fit.slopes += length * step
            scores = scores + scores.dtype.type(length) * direction
            shift = self._intercept_step(sample.targets, scores, weights)
            fit.intercept = fit.intercept + shift
            scores += shift.astype(scores.dtype)

    def _intercept_step(self, targets, scores, weights):
        gradient, curvature = self.loss.derivatives(targets, scores)
        slope, total = np.sum(weights * gradient, axis=0), np.sum(weights * curvature, axis=0)
        step = (-slope / np.maximum(total, 1e-12)).astype(np.float64)
        direction = np.broadcast_to(step.astype(scores.dtype), scores.shape)
        return step * min(exact_step(self.loss, targets, scores, weights[:, 0], direction), 1.0)

    def round(self, fit: Fit, sample: Sample, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Add one wave to ``fit``; returns the new scores.  Never raises the loss of the rows it looks at."""
        rows = sample if self.subsample == 1 else None
        if rows is None:
            count = max(2, int(np.ceil(self.subsample * len(scores))))
            chosen = np.sort(rng.choice(len(scores), count, replace=False))
            rows = Sample(
                np.ascontiguousarray(sample.columns[:, chosen]), sample.targets[chosen], sample.weights[chosen]
            )
        here = scores if self.subsample == 1 else scores[chosen]
        weights = rows.weights[:, None]
        gradient, curvature = self.loss.derivatives(rows.targets, here)
        model = QuadraticModel(gradient * weights, curvature * weights, self.ridge)
        wave, values = self.search.find(rows.columns, rows.thinned_columns, model, rng)
        step = self.learning_rate
        if self.line_search:
            step *= exact_step(self.loss, rows.targets, here, rows.weights, values)
        wave = Wave(wave.frequency, step * wave.cosine.astype(np.float64), step * wave.sine.astype(np.float64))
        fit.waves.append(wave)
        if self.subsample == 1:
            return scores + scores.dtype.type(step) * values
        angle = wave.frequency.astype(scores.dtype) @ sample.columns
        added = np.multiply.outer(np.cos(angle), wave.cosine) + np.multiply.outer(np.sin(angle), wave.sine)
        return scores + added.astype(scores.dtype)

    def mean_loss(self, sample: Sample, scores: np.ndarray) -> float:
        """Weighted mean of the loss."""
        return float(np.average(self.loss.values(sample.targets, scores), weights=sample.weights))


def draw_sample(X, targets, weights, rows, standardization, dtype) -> tuple[Sample, Standardization]:
    """The chosen rows of X, standardised; without a standardisation their own weighted mean and deviation give it."""
    size = len(rows) * X.shape[1] * np.dtype(dtype).itemsize
    if size > _LARGEST_SAMPLE_BYTES:
        raise ValueError(
            f"Boosting looks at {len(rows)} rows of {X.shape[1]} columns as a dense array of {size / 2**30:.1f} GiB. "
            f"Write max_rows={max(1, _LARGEST_SAMPLE_BYTES * len(rows) // size)} or less, or reduce the columns first."
        )
    points = take_rows(X, rows)
    points = points.toarray() if sp.issparse(points) else np.asarray(points)
    row_weights = np.ones(len(rows)) if weights is None else weights[rows].astype(np.float64)
    if standardization is None:
        center = np.average(points, axis=0, weights=row_weights).astype(np.float64)
        deviation = np.sqrt(np.average(np.square(points - center, dtype=np.float64), axis=0, weights=row_weights))
        # A constant column stays constant: its deviation is rounding, relative to the size of its values.
        constant = deviation <= 1e-12 * np.maximum(np.abs(center), 1e-300) + 1e-150
        standardization = Standardization(center, 1 / np.where(constant, np.inf, deviation))
    columns = np.ascontiguousarray(standardization.apply(points, dtype).T)
    sample = Sample(columns, np.ascontiguousarray(targets[rows], dtype=dtype), row_weights.astype(dtype))
    return sample, standardization


def pilot_factors(booster: Booster, sample: Sample, n_pilots: int, rng: np.random.Generator) -> np.ndarray:
    """√(0.95 q/mean(q) + 0.05) for each column, q its relevance in a short boost on some of the rows, repeated.

    Frequencies drawn afterwards look at the columns that matter: automatic relevance determination by gradients.
    """
    factors = np.ones(len(sample.columns))
    for _ in range(n_pilots):
        pilot = sample.some(PILOT_ROWS, rng).scaled(factors)
        fit = booster.start(pilot, Standardization(np.zeros(len(factors)), np.ones(len(factors))))
        scores = fit.scores(pilot.columns)
        for _ in range(PILOT_ROUNDS):
            scores = booster.round(fit, pilot, scores, rng)
        relevance = fit.relevance(pilot.some(2000, rng).columns) * factors**2
        if not np.mean(relevance) > 0:
            return factors
        factors = np.sqrt((1 - RELEVANCE_FLOOR) * relevance / np.mean(relevance) + RELEVANCE_FLOOR)
    return factors


def run_joint_epochs(epochs: JointEpochs, fit: Fit, X, targets, weights, kept, rng, after_epoch) -> None:
    """Move all waves of ``fit`` together over the rows of X; ``after_epoch`` sees the updated fit and may stop."""
    n_features, n_outputs = len(fit.standardization.scale), len(fit.intercept)
    parameters = WaveParameters(len(fit.waves), n_features, n_outputs)
    parameters.frequencies[...] = [wave.frequency for wave in fit.waves]
    parameters.cosine[...] = [wave.cosine for wave in fit.waves]
    parameters.sine[...] = [wave.sine for wave in fit.waves]
    parameters.intercept[...] = fit.intercept
    use_slopes = fit.slopes is not None
    if use_slopes:
        parameters.slopes[...] = fit.slopes

    def moved(epoch):
        triples = zip(parameters.frequencies, parameters.cosine, parameters.sine)
        fit.waves = [Wave(*(part.astype(np.float64) for part in triple)) for triple in triples]
        fit.intercept = parameters.intercept.astype(np.float64)
        fit.slopes = parameters.slopes.astype(np.float64) if use_slopes else None
        return after_epoch(epoch)

    epochs.run(parameters, fit.standardization, X, targets, weights, kept, use_slopes, rng, moved)
