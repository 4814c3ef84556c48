"""Scores of predictions on rows of any kind."""

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ._compute import gathered, with_the_scheduler


class _InMemory:
    """Bring y and weights that are on a cluster into memory, where scikit-learn compares them with predictions."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier or R² of a regressor, as scikit-learn does."""
        with with_the_scheduler():
            return super().score(X, gathered(y), gathered(sample_weight))  # type: ignore[misc]


class ClassifierScore(_InMemory, ClassifierMixin):
    """scikit-learn's mixin for classifiers, with ``score`` also for collections of Dask."""


class RegressorScore(_InMemory, RegressorMixin):
    """scikit-learn's mixin for regressors, with ``score`` also for collections of Dask."""
