"""GBRFF1 and GBRFF2 as published (Gautheron et al. 2020), with the corrections named in their docstrings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._compute import is_dask, row_map, row_sum
from .._compute.boosting_kernels import exponential_block, half_turns_block, phase_losses_block
from .._progress import track
from .._validation import check_count, check_positive, check_rows
from ..features import as_generator
from ..measures import FourierMeasure
from ..priors import Gaussian
from .expansion import constant_expansion
from .predicting import ExpansionClassifier

# A weight is at most e^30: by then its row has decided the round anyway.
LARGEST_LOG_WEIGHT = 30.0
# Rows of the coarse phase grid; the final search looks at all of them.
_GRID_ROWS = 2**14
_GRID = np.linspace(-np.pi, np.pi, 64, endpoint=False)
# GBRFF1 keeps a round's cosines between evaluations up to this size, and computes them again beyond it.
_KEPT_BYTES = 2**28
# Below this many numbers one block is faster than several: the work of a block is less than the cost of a thread.
_SMALL = 2**17


def _row_total(block, rows, *signals, row_bytes=0):
    """``row_sum``, without its way through threads where all rows together are less work than that."""
    if isinstance(rows, np.ndarray) and rows.size <= _SMALL:
        return block(rows, *signals)
    return row_sum(block, rows, *signals, row_bytes=row_bytes)


def log_odds(signs: np.ndarray) -> float:
    """H⁰ = ½ ln((1 + ȳ)/(1 − ȳ)), the best constant for the exponential loss (Eq. 6); finite for one class too."""
    mean = np.clip(signs.mean(), -(1 - 1 / len(signs)), 1 - 1 / len(signs))
    return 0.5 * np.log1p(2 * mean / (1 - mean)) if len(signs) > 1 else float(signs[0])


def bound_minimizer(agreement: np.ndarray, weights: np.ndarray) -> float:
    """α = ½ ln(S₊/S₋), S± = Σ (1 ± y h) w with ``agreement`` = y h in [−1, 1]; minimises the bound √(S₊S₋) on the loss.

    As in Algorithms 2 and 3; the text above them has numerator and denominator exchanged, which raises the loss.
    A perfect weak learner has S₋ = 0: 10⁻¹⁰ of the total weight is added to both, so |α| stays below 12.
    """
    total = weights.sum()
    edge = weights @ agreement
    guard = 1e-10 * total
    return 0.5 * float(np.log((total + edge + guard) / (total - edge + guard)))


def best_phase(turns: np.ndarray, signal: np.ndarray) -> float:
    """argmin over b of Σ_i exp(−ỹ_i cos(π turns_i − b)): a periodic grid, two finer ones, one safeguarded Newton step.

    The function often has two minima or more; a bounded scalar search, as in the authors' scripts, ends in the wrong one in
    a third of the rounds.
    """
    stride = max(1, len(turns) // _GRID_ROWS)
    coarse = phase_losses_block(_GRID, np.ascontiguousarray(turns[::stride]), signal[::stride])
    center = _GRID[np.argmin(coarse[0])]
    radius = 2 * np.pi / len(_GRID)
    for _ in range(2):
        phases = center + radius * np.linspace(-1, 1, 8)
        values, slopes, curvatures = _row_total(partial(phase_losses_block, phases), turns, signal)
        best = int(np.argmin(values))
        center, radius = phases[best], 2 * radius / 7
    if curvatures[best] > 0:
        center -= np.clip(slopes[best] / curvatures[best], -radius, radius)
    return float((center + np.pi) % (2 * np.pi) - np.pi)


class PublishedBooster(ExpansionClassifier, BaseEstimator):
    """What both algorithms share: the exponential loss, its weights, the step, one-vs-rest for several classes."""

    def fit(self, X: Any, y: Any) -> Any:
        """Run T rounds on X and y; with ``warm_start`` only those that are missing."""
        self._check_parameters()
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} passes over the rows many times a round and works on arrays in memory or memory "
                "maps, not on Dask arrays. Use FourierBoostingClassifier, which samples and streams."
            )
        continued = self.warm_start and hasattr(self, "expansion_")
        X = check_rows(self, X, reset=not continued)
        y = column_or_1d(y, warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} samples but y has {len(y)}; give one label per row.")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"{type(self).__name__} needs at least two classes, got one class: {classes[0]!r}.")
        if not continued:
            self.classes_ = classes
            self.prior_ = Gaussian(gamma=self.gamma).resolved(X)
            self._seed = int(as_generator(self.random_state).integers(2**63))
        elif not np.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start goes on with classes {self.classes_}, but y holds {classes}.")
        self._boost(X, codes, continued)
        return self

    def _boost(self, X, codes, continued):
        n_outputs = len(self.classes_) if len(self.classes_) > 2 else 1
        targets = range(n_outputs) if n_outputs > 1 else [1]
        signs = np.stack([np.where(codes == k, 1.0, -1.0) for k in targets], axis=1)
        if not continued:
            self.expansion_ = constant_expansion([log_odds(column) for column in signs.T], X.shape[1])
            self.train_loss_ = np.zeros((0, n_outputs))
        done = len(self.expansion_) // (n_outputs * self._atoms_per_learner())
        if done > self.T:
            raise ValueError(f"warm_start goes on from {done} rounds, but T={self.T}. Write T={done + 1} or more.")
        scores = self.expansion_.evaluate(X).astype(np.float64)
        atoms: list[list[Any]] = [[], [], []]
        losses = []
        for t in track(range(done, self.T), type(self).__name__):
            weak_learners = [
                self._round(X, signs[:, k], scores[:, k], np.random.default_rng([self._seed, t, k]))
                for k in range(n_outputs)
            ]
            for k, (frequencies, phases, coefficients) in enumerate(weak_learners):
                one_hot = np.zeros((1, n_outputs))
                one_hot[0, k] = 1.0
                atoms[0].append(frequencies)
                atoms[1].append(phases[:, None] * one_hot)
                atoms[2].append(coefficients[:, None] * one_hot)
            losses.append(np.exp(np.minimum(-signs * scores, LARGEST_LOG_WEIGHT)).mean(axis=0))
        if losses:
            self.expansion_ = self.expansion_.extended(*(np.concatenate(part) for part in atoms))
            self.train_loss_ = np.concatenate([self.train_loss_, losses])
        self.n_rounds_ = self.T

    def _round(self, X, signs, scores, rng):
        """One weak learner; adds it to ``scores`` and returns its frequencies, phases and signed amplitudes."""
        weights = np.exp(np.minimum(-signs * scores, LARGEST_LOG_WEIGHT))
        # The weights are not normalised: they stand inside an exponential, so their scale is part of the objective.
        frequencies, phases, shares, prediction = self._weak_learner(X, signs * weights, rng)
        step = self.learning_rate * bound_minimizer(signs * prediction, weights)
        scores += step * prediction
        return frequencies, phases, step * shares

    @abstractmethod
    def _weak_learner(self, X, signal, rng):
        """(frequencies (K, d), phases (K,), shares (K,), h(X)) that fit the signed weights ỹ."""

    @abstractmethod
    def _atoms_per_learner(self) -> int: ...

    @property
    def _atoms_per_round(self) -> int:
        return self._atoms_per_learner() * self.expansion_.n_outputs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: 1/(1 + exp(−2H)) is what the exponential loss estimates; one-vs-rest by softmax of 2H."""
        scores = self._scores(X)
        return self._probabilities(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities after each round."""
        for scores in self._staged_scores(X):
            yield self._probabilities(scores)

    @staticmethod
    def _probabilities(scores):
        if scores.shape[1] > 1:
            return softmax(2 * scores, axis=1)
        positive = expit(2 * scores)
        return np.concatenate([1 - positive, positive], axis=1)

    def _check_parameters(self):
        check_count(self.T, "T", minimum=0)
        check_positive(self.learning_rate, "learning_rate")
        if self.learning_rate > 1:
            raise ValueError(
                f"learning_rate must be at most 1, got {self.learning_rate}: larger steps may raise the loss."
            )
        if not isinstance(self.gamma, str):
            check_positive(self.gamma, "gamma")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GBRFF1Classifier(PublishedBooster):
    r"""Gradient boosting where each weak learner is a small learned kernel around a learned landmark (Algorithm 2).

    .. math:: h^t(x) = \sum_{j \le K} q_j \cos(\omega_j \cdot (x^t - x)), \qquad H = H^0 + \sum_t \alpha^t h^t

    Each round draws ω_1..K, fits the landmark x^t by L-BFGS (Eq. 9), weighs the frequencies by the pseudo-posterior
    q_j ∝ exp(−β √n · loss_j) (Eq. 10) and steps by α^t.  The printed gradient of Eq. 9 takes the frequencies out of the
    sum; here each ω_j carries its own sine.  Several classes: one against the rest.

    Parameters
    ----------
    T : int, default 100
        Number of rounds; 0 predicts the majority.
    K : int, default 10
        Frequencies of a weak learner.
    gamma : float, "scale" or "median"
        Frequencies come from N(0, 2γ I); the paper tries 2^{-2..2}/d on standardised data, where "scale" is 1/d.
    beta : float, default 1.0
        Strength of the weights q; 0 keeps them equal.
    learning_rate : float in (0, 1], default 1.0
    max_landmark_iterations : int, default 10
    warm_start : bool
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    expansion_ : FourierExpansion; round by round, class by class, K atoms each
    train_loss_ : (T, n_outputs), mean exp(−yH) after each round
    classes_, n_rounds_, n_features_in_, prior_

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> GBRFF1Classifier(T=30, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        T: int = 100,
        K: int = 10,
        gamma: Any = "scale",
        beta: float = 1.0,
        *,
        learning_rate: float = 1.0,
        max_landmark_iterations: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.T = T
        self.K = K
        self.gamma = gamma
        self.beta = beta
        self.learning_rate = learning_rate
        self.max_landmark_iterations = max_landmark_iterations
        self.warm_start = warm_start
        self.random_state = random_state

    def landmarks(self) -> np.ndarray:
        """The landmarks x^t as (T · n_outputs, n_features), one per weak learner, recovered from the phases ω·x^t."""
        check_is_fitted(self)
        return self.landmarks_

    def _atoms_per_learner(self) -> int:
        return self.K

    def _boost(self, X, codes, continued):
        if not continued:
            self.landmarks_ = np.zeros((0, X.shape[1]))
        self._fresh_landmarks = []
        super()._boost(X, codes, continued)
        if self._fresh_landmarks:
            self.landmarks_ = np.concatenate([self.landmarks_, self._fresh_landmarks])
        del self._fresh_landmarks

    def _weak_learner(self, X, signal, rng):
        measure = self.prior_.sample(self.K, X.shape[1], rng)
        kernel = FourierMeasure(measure.frequencies, np.ones(self.K))
        kept = X.shape[0] * 2 * self.K * X.dtype.itemsize <= _KEPT_BYTES
        rows = kernel.features(X) if kept else X
        features = None if kept else kernel

        def objective(landmark):
            phases = kernel.frequencies @ landmark
            value, by_phase = _row_total(partial(landmark_block, features, phases), rows, signal, row_bytes=32 * self.K)
            return float(value) / X.shape[0], kernel.frequencies.T @ by_phase / X.shape[0]

        landmark = np.zeros(X.shape[1])
        if self.max_landmark_iterations:
            landmark, _, _ = fmin_l_bfgs_b(objective, landmark, maxiter=self.max_landmark_iterations)
        self._fresh_landmarks.append(landmark)
        phases = kernel.frequencies @ landmark
        losses = _row_total(partial(frequency_losses_block, features, phases), rows, signal, row_bytes=32 * self.K)
        exponents = -self.beta * np.sqrt(X.shape[0]) * (losses / X.shape[0])
        shares = softmax(exponents)
        coefficients = np.concatenate([shares * np.cos(phases), shares * np.sin(phases)])
        if kept:
            prediction = rows @ coefficients
        else:
            prediction = row_map(
                partial(_weighted_features, kernel, coefficients), X, np.empty(X.shape[0]), row_bytes=32 * self.K
            )
        return kernel.frequencies, phases, shares, prediction

    def _check_parameters(self):
        super()._check_parameters()
        check_count(self.K, "K")
        check_positive(self.beta, "beta", allow_zero=True)
        check_count(self.max_landmark_iterations, "max_landmark_iterations", minimum=0)


def landmark_block(kernel: FourierMeasure | None, phases: np.ndarray, rows: Any, signal: np.ndarray) -> Any:
    r"""Summed loss of a landmark and its gradient in the phases φ_j = ω_j·x (Eq. 9, corrected gradient).

    .. math:: \sum_i \exp(-\tilde y_i m_i), \quad m_i = \tfrac1K \sum_j \cos(\phi_j - \omega_j \cdot x_i)

    ``rows`` holds the cosines and sines of ω_j·x_i, or the points themselves when a kernel is given.
    """
    pairs = rows if kernel is None else kernel.features(rows)
    n_frequencies = len(phases)
    cosine, sine = np.cos(phases) / n_frequencies, np.sin(phases) / n_frequencies
    similarity = pairs @ np.concatenate([cosine, sine])
    exponents = -signal * similarity
    losses = np.exp(np.minimum(exponents, 60.0))
    back = (-signal * losses) @ pairs
    # Beyond e^60 the loss goes on as its tangent, so that one heavy row cannot overflow it.
    value = np.sum(losses * (1 + np.maximum(exponents - 60.0, 0.0)))
    gradient = cosine * back[n_frequencies:] - sine * back[:n_frequencies]
    return np.float64(value), gradient


def frequency_losses_block(kernel: FourierMeasure | None, phases: np.ndarray, rows: Any, signal: np.ndarray) -> Any:
    """Σ_i exp(−ỹ_i cos(φ_j − ω_j·x_i)) for each frequency (the sum inside Eq. 10)."""
    pairs = rows if kernel is None else kernel.features(rows)
    n_frequencies = len(phases)
    similarity = pairs[:, :n_frequencies] * np.cos(phases) + pairs[:, n_frequencies:] * np.sin(phases)
    return np.exp(np.minimum(-signal[:, None] * similarity, 60.0)).sum(axis=0)


def _weighted_features(kernel, coefficients, rows, out):
    out[...] = kernel.features(rows) @ coefficients


class GBRFF2Classifier(PublishedBooster):
    r"""Gradient boosting where each weak learner is one cosine whose frequency is learned (Algorithm 3).

    .. math:: H(x) = H^0 + \sum_t \alpha^t \cos(\omega^t \cdot x - b^t)

    Each round draws ω, finds the best phase b on a circle, moves ω by L-BFGS on λ‖ω‖² + mean exp(−ỹ cos(ω·x − b)), and
    steps by α computed at the moved ω.  The paper leaves b where it was before ω moved; ``rephase`` looks for it again,
    which can only lower the round's objective.  Several classes: one against the rest.

    Parameters
    ----------
    T : int, default 100
        Number of rounds; 0 predicts the majority.
    gamma : float, "scale" or "median"
        Frequencies start from N(0, 2γ I); the paper tries 2^{-2..2}/d on standardised data, where "scale" is 1/d.
    lam : float, default 0.0
        λ, the penalty on ‖ω‖²; the paper tries 0 and 2^{-5..-2}.
    rephase : bool, default False
    learning_rate : float in (0, 1], default 1.0
    max_frequency_iterations : int, default 10
        L-BFGS iterations a round; 0 keeps the drawn frequency.
    warm_start : bool
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    expansion_ : FourierExpansion; one atom per round (and class)
    train_loss_ : (T, n_outputs), mean exp(−yH) after each round
    classes_, n_rounds_, n_features_in_, prior_

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> GBRFF2Classifier(T=30, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        T: int = 100,
        gamma: Any = "scale",
        lam: float = 0.0,
        *,
        rephase: bool = False,
        learning_rate: float = 1.0,
        max_frequency_iterations: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.T = T
        self.gamma = gamma
        self.lam = lam
        self.rephase = rephase
        self.learning_rate = learning_rate
        self.max_frequency_iterations = max_frequency_iterations
        self.warm_start = warm_start
        self.random_state = random_state

    def _atoms_per_learner(self) -> int:
        return 1

    def _weak_learner(self, X, signal, rng):
        frequency = self.prior_.sample(1, X.shape[1], rng).frequencies[0]
        turns = _half_turns(frequency, X)
        phase = best_phase(turns, signal)
        if self.max_frequency_iterations:
            objective = partial(frequency_objective, X, signal, phase, self.lam)
            frequency, _, _ = fmin_l_bfgs_b(objective, frequency, maxiter=self.max_frequency_iterations)
            turns = _half_turns(frequency, X)
            if self.rephase:
                phase = best_phase(turns, signal)
        prediction = np.cos(np.pi * turns.astype(np.float64) - phase)
        return frequency[None], np.array([phase]), np.ones(1), prediction

    def _check_parameters(self):
        super()._check_parameters()
        check_positive(self.lam, "lam", allow_zero=True)
        check_count(self.max_frequency_iterations, "max_frequency_iterations", minimum=0)


def frequency_objective(X: Any, signal: np.ndarray, phase: float, lam: float, frequency: np.ndarray) -> Any:
    """λ‖ω‖² + mean_i exp(−ỹ_i cos(ω·x_i − b)) and its gradient in ω (line 7 of Algorithm 3), in one pass over the rows."""
    value, gradient = _row_total(partial(exponential_block, frequency, phase), X, signal)
    n_samples = X.shape[0]
    return value / n_samples + lam * frequency @ frequency, gradient / n_samples + 2 * lam * frequency


def _half_turns(frequency, X):
    if isinstance(X, np.ndarray) and X.size <= _SMALL:
        return half_turns_block(frequency, X)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return row_map(partial(half_turns_block, frequency), X, np.empty(X.shape[0], dtype))
