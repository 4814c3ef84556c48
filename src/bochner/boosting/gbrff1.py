"""GBRFF1: each weak learner is a small learned kernel around a learned landmark (Gautheron et al. 2020, Algorithm 2)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from scipy.special import softmax

from .._compute import row_map, row_sum
from .._validation import check_count, check_positive
from ..measures import FourierMeasure
from .published import PublishedBooster, row_total

# A round's cosines are kept between evaluations up to this size, and computed again beyond it.
_KEPT_BYTES = 2**28


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
    landmarks_ : (T · n_outputs, n_features), one per weak learner
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
        total = row_total if kept else partial(row_sum, row_bytes=32 * self.K)

        def objective(landmark):
            phases = kernel.frequencies @ landmark
            value, by_phase = total(partial(landmark_block, features, phases), rows, signal)
            return float(value) / X.shape[0], kernel.frequencies.T @ by_phase / X.shape[0]

        landmark = np.zeros(X.shape[1])
        if self.max_landmark_iterations:
            landmark, _, _ = fmin_l_bfgs_b(objective, landmark, maxiter=self.max_landmark_iterations)
        self._fresh_landmarks.append(landmark)
        phases = kernel.frequencies @ landmark
        losses = total(partial(frequency_losses_block, features, phases), rows, signal)
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
