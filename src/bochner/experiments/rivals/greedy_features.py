"""GFC: greedy construction of cosines by least squares, then a linear SVM (Oglic and Gärtner 2016, as run by Gautheron et al.)."""

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from .linear_machine import LinearMachine


def ridge_mse_and_gradient(parameters, X, fitted, y):
    """Training MSE of the ridge fit on [fitted, sin ω·x, cos ω·x] as a function of (ω, g), and its gradient.

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
    """The three columns, their regularized normal matrix, and the solution."""
    angle = X @ parameters[:-1]
    columns = np.stack([fitted, np.sin(angle), np.cos(angle)], axis=1)
    normal = columns.T @ columns / len(y) + (parameters[-1] ** 2 + 1e-10) * np.eye(3)
    return columns, normal, np.linalg.solve(normal, columns.T @ y / len(y))


class GreedyFourierFeatures(LinearMachine):
    """T greedy frequencies, then a linear SVM on their sines and cosines; the greedy amplitudes are thrown away."""

    def __init__(self, n_rounds=100, C=1.0, random_state=None):
        self.n_rounds = n_rounds
        self.C = C
        self.random_state = random_state

    def represent(self, X, y):
        """Only the frequencies: they do not depend on C."""
        rng = np.random.default_rng(self.random_state)
        y = y.astype(np.float64)
        fitted = np.full(len(y), y.mean())
        self.frequencies_ = np.empty((self.n_rounds, X.shape[1]))
        for t in range(self.n_rounds):
            start = np.append(rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1]), 1e-2)
            best, _, _ = fmin_l_bfgs_b(ridge_mse_and_gradient, start, args=(X, fitted, y), maxiter=200)
            self.frequencies_[t] = best[:-1]
            columns, _, amplitudes = _ridge_fit(best, X, fitted, y)
            fitted = columns @ amplitudes
        return self

    def map(self, X):
        """Sines and cosines."""
        angle = X @ self.frequencies_.T
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
