"""PBRFF landmarks as run in the boosting paper: drawn with replacement, ten frequencies of their own each, a linear SVM."""

import numpy as np
from scipy.special import softmax

from .linear_machine import LinearMachine


class RandomLandmarks(LinearMachine):
    """ψ_l(x) = Σ_m Q^l_m cos ω^l_m·(x_l − x), Q^l the pseudo-posterior of landmark l (Letarte et al. 2019, Eq. 13)."""

    def __init__(self, n_landmarks=100, n_frequencies=10, gamma=1.0, beta=1.0, C=1.0, random_state=None):
        self.n_landmarks = n_landmarks
        self.n_frequencies = n_frequencies
        self.gamma = gamma
        self.beta = beta
        self.C = C
        self.random_state = random_state

    def represent(self, X, y):
        """Only the landmark map: it does not depend on C."""
        rng = np.random.default_rng(self.random_state)
        n, d = X.shape
        chosen = rng.integers(n, size=self.n_landmarks)
        shape = (self.n_landmarks, self.n_frequencies, d)
        self.frequencies_ = rng.normal(size=shape) * np.sqrt(2 * self.gamma)
        self.phases_ = np.einsum("lmd,ld->lm", self.frequencies_, X[chosen])
        angle = X @ self.frequencies_.reshape(-1, d).T
        cosine, sine = y @ np.cos(angle), y @ np.sin(angle)
        phases = self.phases_.ravel()
        alignment = y[chosen][:, None] * (np.cos(phases) * cosine + np.sin(phases) * sine).reshape(shape[:2])
        losses = 0.5 - (alignment - 1) / (2 * (n - 1))  # the pair of a landmark with itself is left out
        self.weights_ = softmax(-self.beta * np.sqrt(n) * losses, axis=1)
        return self

    def map(self, X):
        """ψ(X) as (n_samples, n_landmarks)."""
        angle = X @ self.frequencies_.reshape(-1, X.shape[1]).T
        similarity = np.cos(angle - self.phases_.ravel()) * self.weights_.ravel()
        return similarity.reshape(len(X), self.n_landmarks, self.n_frequencies).sum(axis=2)
