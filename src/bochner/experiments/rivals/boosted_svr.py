"""BMKR: boosting that picks the best of eleven support vector regressions each round (Wu et al. 2017)."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

RBF_GAMMAS = [2.0**k for k in range(-4, 6)]


class BoostedKernelRegression(ClassifierMixin, BaseEstimator):
    """Each round fits ten RBF machines and a linear one to the residual of ±1 labels and adds the best, step one."""

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
            machines += [SVR(gamma=gamma, C=self.C, epsilon=0.1, max_iter=10_000) for gamma in RBF_GAMMAS]
            # The iteration limit is part of the protocol.
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                left = [residual - machine.fit(X, residual).predict(X) for machine in machines]
            best = int(np.argmin([r @ r for r in left]))
            self.machines_.append(machines[best])
            residual = left[best]
            # Within the insensitive tube every further machine is the zero function: the remaining rounds add nothing.
            if np.abs(residual).max() <= 0.1:
                break
        return self

    def predict(self, X):
        """The sign of the sum of all machines."""
        return np.where(sum(machine.predict(X) for machine in self.machines_) >= 0, 1, -1)
