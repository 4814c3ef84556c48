"""Baselines of the experiments, for labels −1 and +1; not part of the public interface."""

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR


class LinearMachine(ClassifierMixin, BaseEstimator):
    """Feature map, then libsvm's linear SVM, stopped after 10000 iterations without a warning."""

    C: float

    @abstractmethod
    def represent(self, X: Any, y: Any) -> Self:
        """Fit only the map, which does not depend on C."""

    @abstractmethod
    def map(self, X: Any) -> np.ndarray:
        """Return the features of rows."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit map and SVM."""
        return self.represent(X, y).fit_machine(X, y)

    def fit_machine(self, X: Any, y: Any) -> Self:
        """Fit only the linear SVM, on the map of ``represent``."""
        self.classes_ = np.array([-1, 1])
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            self.machine_ = SVC(kernel="linear", C=self.C, max_iter=10_000).fit(self.map(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels predicted by the SVM."""
        return self.machine_.predict(self.map(X))


class RandomLandmarks(LinearMachine):
    """PBRFF as run in the boosting paper, with a linear SVM.

    Landmarks are drawn with replacement, and each has ten frequencies of its own.

    ψ_l(x) = Σ_m Q^l_m cos ω^l_m·(x_l − x), Q^l the pseudo-posterior of landmark l (Letarte et al.
    2019, Eq. 13).
    """

    def __init__(
        self, n_landmarks=100, n_frequencies=10, gamma=1.0, beta=1.0, C=1.0, random_state=None
    ):
        self.n_landmarks = n_landmarks
        self.n_frequencies = n_frequencies
        self.gamma = gamma
        self.beta = beta
        self.C = C
        self.random_state = random_state

    def represent(self, X, y):
        rng = np.random.default_rng(self.random_state)
        n, d = X.shape
        chosen = rng.integers(n, size=self.n_landmarks)
        shape = (self.n_landmarks, self.n_frequencies, d)
        self.frequencies_ = rng.normal(size=shape) * np.sqrt(2 * self.gamma)
        self.phases_ = np.einsum("lmd,ld->lm", self.frequencies_, X[chosen])
        angle = X @ self.frequencies_.reshape(-1, d).T
        cosine, sine = y @ np.cos(angle), y @ np.sin(angle)
        phases = self.phases_.ravel()
        alignment = y[chosen][:, None] * (np.cos(phases) * cosine + np.sin(phases) * sine).reshape(
            shape[:2]
        )
        losses = 0.5 - (alignment - 1) / (
            2 * (n - 1)
        )  # the pair of a landmark with itself is left out
        self.weights_ = softmax(-self.beta * np.sqrt(n) * losses, axis=1)
        return self

    def map(self, X):
        """Return ψ(X) as (n_samples, n_landmarks)."""
        angle = X @ self.frequencies_.reshape(-1, X.shape[1]).T
        similarity = np.cos(angle - self.phases_.ravel()) * self.weights_.ravel()
        return similarity.reshape(len(X), self.n_landmarks, self.n_frequencies).sum(axis=2)


def ridge_mse_and_gradient(parameters, X, fitted, y):
    """Return the training MSE of the ridge fit on [fitted, sin ω·x, cos ω·x], and its gradient.

    The ridge is g² + 1e-10; the gradient goes through the solution of the 3 x 3 system.
    """
    n, root = len(y), parameters[-1]
    columns, normal, amplitudes = _ridge_fit(parameters, X, fitted, y)
    _, sine, cosine = columns.T
    error = columns @ amplitudes - y
    back = np.linalg.solve(normal, columns.T @ error / n)
    inner = (error - columns @ back) * (amplitudes[1] * cosine - amplitudes[2] * sine)
    inner -= error * (back[1] * cosine - back[2] * sine)
    gradient = np.append(2 / n * (inner @ X), -4 * root * back @ amplitudes)
    return float(error @ error / n), gradient


def _ridge_fit(parameters, X, fitted, y):
    """Return the three columns, their regularized normal matrix, and the solution."""
    angle = X @ parameters[:-1]
    columns = np.stack([fitted, np.sin(angle), np.cos(angle)], axis=1)
    normal = columns.T @ columns / len(y) + (parameters[-1] ** 2 + 1e-10) * np.eye(3)
    return columns, normal, np.linalg.solve(normal, columns.T @ y / len(y))


class GreedyFourierFeatures(LinearMachine):
    """GFC (Oglic and Gärtner 2016, as run by Gautheron et al.): greedy cosines by least squares.

    T greedy frequencies, then a linear SVM on their sines and cosines; the greedy amplitudes are
    thrown away.
    """

    def __init__(self, n_rounds=100, C=1.0, random_state=None):
        self.n_rounds = n_rounds
        self.C = C
        self.random_state = random_state

    def represent(self, X, y):
        rng = np.random.default_rng(self.random_state)
        y = y.astype(np.float64)
        fitted = np.full(len(y), y.mean())
        self.frequencies_ = np.empty((self.n_rounds, X.shape[1]))
        for t in range(self.n_rounds):
            start = np.append(rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1]), 1e-2)
            best, _, _ = fmin_l_bfgs_b(
                ridge_mse_and_gradient, start, args=(X, fitted, y), maxiter=200
            )
            self.frequencies_[t] = best[:-1]
            columns, _, amplitudes = _ridge_fit(best, X, fitted, y)
            fitted = columns @ amplitudes
        return self

    def map(self, X):
        """Return sines and cosines."""
        angle = X @ self.frequencies_.T
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


RBF_GAMMAS = [2.0**k for k in range(-4, 6)]


class BoostedKernelRegression(ClassifierMixin, BaseEstimator):
    """BMKR: boosting with the best of eleven support vector regressions (Wu et al. 2017).

    Each round fits ten RBF machines and a linear one to the residual of ±1 labels and adds the
    best, step one.
    """

    def __init__(self, n_rounds=100, C=1.0):
        self.n_rounds = n_rounds
        self.C = C

    def fit(self, X, y):
        """Boost on labels −1 and +1."""
        self.classes_ = np.array([-1, 1])
        self.machines_ = []
        residual = y.astype(np.float64)
        for _ in range(self.n_rounds):
            machines = [SVR(kernel="linear", C=self.C, epsilon=0.1, max_iter=10_000)]
            machines += [
                SVR(gamma=gamma, C=self.C, epsilon=0.1, max_iter=10_000) for gamma in RBF_GAMMAS
            ]
            # The iteration limit is part of the protocol.
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                left = [residual - machine.fit(X, residual).predict(X) for machine in machines]
            best = int(np.argmin([r @ r for r in left]))
            self.machines_.append(machines[best])
            residual = left[best]
            # Within the insensitive tube every further machine is the zero function: the remaining
            # rounds add nothing.
            if np.abs(residual).max() <= 0.1:
                break
        return self

    def predict(self, X):
        """Return the sign of the sum of all machines."""
        return np.where(sum(machine.predict(X) for machine in self.machines_) >= 0, 1, -1)
