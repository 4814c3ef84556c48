"""OperatorRidgeClassifier: classes as corners of a simplex, learned as one vector-valued function."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._validation import check_rows
from ..operators import OperatorKernel
from ..targets import simplex_code
from .checks import check_alphas, check_weights
from .operator import OperatorRidge


class OperatorRidgeClassifier(ClassifierMixin, BaseEstimator):
    """Vector-valued ridge on simplex codes (Mroueh et al. 2012; Brault et al. 2016): one fit for all classes.

    A class is a corner of the regular simplex in n_classes − 1 dimensions; the predicted class is the corner nearest in
    angle.  Parameters are those of ``OperatorRidge``; the kernel needs n_classes − 1 outputs (``Decomposable`` without an
    output matrix fits itself).

    ``predict_proba`` is a softmax of the inner products with the corners; its one temperature minimizes the log-loss of
    leave-one-out predictions, approximated with the mean leverage (for solvers without a factorization the leverage
    counts as zero, which is a little too sure).

    Attributes
    ----------
    classes_ : labels
    code_ : (n_classes − 1, n_classes), the corner of each class
    ridge_ : the fitted OperatorRidge
    temperature_ : of ``predict_proba``

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OperatorRidgeClassifier(alpha=[1e-2, 1e-1, 1.0], random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: OperatorKernel | None = None,
        *,
        n_components: int = 100,
        alpha: Any = 1.0,
        solver: str = "auto",
        learner: Any = None,
        n_candidates: int | None = None,
        sampling: str = "iid",
        fit_intercept: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-8,
        block_size: int | str = "auto",
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.solver = solver
        self.learner = learner
        self.n_candidates = n_candidates
        self.sampling = sampling
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.block_size = block_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OperatorRidgeClassifier:
        """Encode the labels and fit the ridge."""
        check_alphas(self.alpha)
        X = check_rows(self, X, reset=True).source
        if y is None:
            raise ValueError("OperatorRidgeClassifier requires y to be passed, but the target y is None.")
        weights = check_weights(sample_weight, X)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"A classifier needs at least 2 classes, got the one class {self.classes_.tolist()[0]!r}.")
        self.code_ = simplex_code(len(self.classes_))
        self.ridge_ = OperatorRidge(**self.get_params(deep=False))
        self.ridge_.fit(X, self.code_.T[numbers], weights)
        self.temperature_ = self._temperature(X, numbers, weights)
        return self

    def _temperature(self, X, numbers, sample_weight):
        """By the mean leverage instead of each row's own, so that a row of weight 2 still counts as two rows."""
        targets = self.code_.T[numbers]
        fitted = np.asarray(self.ridge_.predict(X), dtype=np.float64)
        left_out = targets - (targets - fitted) / (1 - self.ridge_.mean_leverage())
        scores = left_out @ self.code_

        def log_loss(log_temperature):
            log_chances = log_softmax(scores * np.exp(-log_temperature), axis=1)
            return -np.average(log_chances[np.arange(len(numbers)), numbers], weights=sample_weight)

        return float(np.exp(minimize_scalar(log_loss, bounds=(-7, 3), method="bounded", options={"xatol": 1e-8}).x))

    def decision_function(self, X: Any) -> np.ndarray:
        """Inner products with the corners, (n_samples, n_classes); for two classes the score of the second, (n_samples,)."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).source
        field = self.ridge_.predict(X)
        return -field[:, 0] if len(self.classes_) == 2 else field @ self.code_.astype(field.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """The class whose corner is nearest."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1)
        return softmax(scores / self.temperature_, axis=1)

    @property
    def n_iter_(self) -> int:
        """Steps of the solver."""
        return self.ridge_.n_iter_

    @property
    def measure_(self) -> Any:
        """The operator-valued measure of the fit."""
        return self.ridge_.measure_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
