"""The linear SVM that two of the methods end with."""

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC


class LinearMachine(ClassifierMixin, BaseEstimator):
    """A map of the rows, then libsvm's linear machine on labels −1 and +1, stopped after 10000 iterations without complaint."""

    C: float

    @abstractmethod
    def represent(self, X: Any, y: Any) -> Self:
        """Only the map: it does not depend on C."""

    @abstractmethod
    def map(self, X: Any) -> np.ndarray:
        """The rows' images, on which the machine works."""

    def fit(self, X: Any, y: Any) -> Self:
        """Map and SVM."""
        return self.represent(X, y).fit_machine(X, y)

    def fit_machine(self, X: Any, y: Any) -> Self:
        """Only the linear SVM, on the map of ``represent``."""
        self.classes_ = np.array([-1, 1])
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            self.machine_ = SVC(kernel="linear", C=self.C, max_iter=10_000).fit(self.map(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The side of the SVM's plane."""
        return self.machine_.predict(self.map(X))
