"""OperatorRidgeClassifier: classes as corners of a simplex, one vector-valued function."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from ..._estimator import Classifier, Estimator, restore_on_failure
from ...data import Block, as_rows
from ...data.checks import check_weights
from ...data.simplex import simplex_code
from ...data.targets import Labels, Values
from ...data.training import TrainingData
from ...expansions.waves import Expansion, ExpansionModel
from ...features.spectral import SpectralFeatures
from ...operators import OperatorKernel
from ...solvers import Solver
from .model import feature_block_size
from .operator import OperatorRidge, operator_defaults

# Limits of the search for the temperature, and its largest number of steps.
_SMALLEST_LOG_TEMPERATURE, _LARGEST_LOG_TEMPERATURE = -7.0, 3.0
_TEMPERATURE_STEPS = 100
# The mean leverage of a row and its copies may be close to one.
_SMALLEST_REMAINDER = 1e-3


@ExpansionModel.register
@dataclass(eq=False, repr=False)
class OperatorRidgeClassifier(Classifier, Estimator):
    """Vector-valued ridge on simplex codes (Mroueh et al. 2012; Brault et al. 2016).

    One ridge is fitted for all classes. Each class is a corner of the regular simplex in
    n_classes − 1 dimensions, and the predicted class is the corner nearest in angle. A learner of
    the features learns from the labels.

    ``predict_proba`` is a softmax of the inner products with the corners. Its temperature
    minimizes the log-loss of leave-one-out predictions, which are approximated with the mean
    leverage. Solvers without a factorization use zero for the leverage, which makes probabilities a
    little too extreme.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        With n_classes − 1 outputs; ``Decomposable`` without an output matrix fits itself.
    features : SpectralFeatures, default None
        Number, learner, sampling and block size of the frequencies, as for ``OperatorRidge``.
    n_components : int, default 500
        Number of frequencies D if ``features`` is None.
    alpha : "auto", float or list of floats, default "auto"
        The ridge. From a list, the value with the smallest exact leave-one-out error of the codes
        is chosen; "auto" as for ``OperatorRidge``.
    solver : Eigen, Cholesky, ConjugateGradient, LBFGS or StochasticGradient, default None
        Solver of the linear system, as for ``OperatorRidge``.
    fit_intercept : bool, default False
        Add an unpenalized constant.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes, by label; "balanced" gives each class the same total weight.
    random_state : None, int, RandomState or Generator, default None
        If given, it replaces that of ``features``.

    Attributes
    ----------
    classes_ : labels
    code_ : (n_classes − 1, n_classes), the corner of each class
    ridge_ : the fitted OperatorRidge
    expansion_ : the scores of all classes, as one function
    temperature_ : of ``predict_proba``

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OperatorRidgeClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    kernel: OperatorKernel | None = None
    _: KW_ONLY
    features: SpectralFeatures | None = None
    n_components: int = 500
    alpha: Any = "auto"
    solver: Solver | None = None
    fit_intercept: bool = False
    random_state: Any = None
    class_weight: Any = None

    _defaults = property(operator_defaults)
    _row_block_size = feature_block_size

    def _check_parameters(self):
        self._unfitted_ridge()._check_parameters()

    def _fit(self, data: TrainingData) -> None:
        labels, ridge = data.target, self._unfitted_ridge()
        self.classes_, self.code_ = labels.classes, simplex_code(len(labels.classes))
        ridge.n_features_in_ = data.rows.n_features
        data = data.with_copies()
        corners = replace(data, target=Values(labels.corners()))
        ridge._fit_features_and_ridge(corners, labels)
        self.ridge_ = ridge
        self.temperature_ = self._temperature(data)

    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows: the scores are then those of all rows together, up to rounding.

        The first call, or a ``fit`` before it, fixes the classes, the features and the temperature
        of the probabilities. ``classes`` lists all classes that may occur; without it, they are
        those of y.
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all rows at once. Give a dictionary of label and "
                "weight."
            )
        first = not self.__sklearn_is_fitted__()
        if first:
            self._check_parameters()
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={list(classes)} differ from those of the first call, "
                f"{self.classes_.tolist()}."
            )
        rows = self._read_rows(X, reset=first)
        declared = classes if first else self.classes_
        labels = Labels.of(y, len(rows), classes=declared, owner=type(self).__name__)
        if len(labels.classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but y has only 1 class: "
                f"{labels.classes.tolist()[0]!r}. List all that may occur by classes=[...]."
            )
        weights, costs = check_weights(sample_weight, len(rows)), labels.costs(self.class_weight)
        if costs is not None:
            weights = check_weights(costs if weights is None else weights * costs, len(rows))
        if first:
            self._fit(TrainingData(rows, labels, weights))
        else:
            self.ridge_ = copy(self.ridge_).partial_fit(rows, labels.corners(), weights)
        return self

    @restore_on_failure
    def merge(self, other: Self) -> Self:
        """Add the rows of another fit with the same classes and features.

        See ``OperatorRidge.merge``.
        """
        check_is_fitted(self)
        if not isinstance(other, OperatorRidgeClassifier):
            raise TypeError(f"{type(self).__name__} merges with another one, got {other!r}.")
        check_is_fitted(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"The two fits have different classes, {self.classes_.tolist()} and "
                f"{other.classes_.tolist()}. List all of them by partial_fit(..., classes=[...])."
            )
        self.ridge_ = copy(self.ridge_).merge(other.ridge_)
        return self

    def _unfitted_ridge(self):
        parameters = self.get_params(deep=False)
        del parameters["class_weight"]
        return OperatorRidge(**parameters)

    def _temperature(self, data):
        """Return the temperature with the smallest leave-one-out log-loss.

        A row is left out with its copies; leverages are approximated by their mean.
        """
        scores = as_rows(self.expansion_.evaluate(data.rows), persist=True)
        leverage = self.ridge_.mean_leverage() * data.mean_left_out_weight()
        settings = self.code_.T @ self.code_, max(1 - leverage, _SMALLEST_REMAINDER)
        codes = data.target.codes
        signals = [codes] if data.weights is None else [codes, data.weights]
        row_bytes = 64 * len(self.classes_)

        # The log-loss is convex in the inverse temperature. So its slope is zero at one place, or
        # the minimum is at an end.
        low = float(np.exp(-_LARGEST_LOG_TEMPERATURE))
        high = float(np.exp(-_SMALLEST_LOG_TEMPERATURE))
        ends, inverse = (low, high), 1.0
        for _ in range(_TEMPERATURE_STEPS):
            block = Block(_log_loss_block, *settings, inverse, row_bytes=row_bytes)
            slope, curvature = scores.sum(block, *signals)
            if (inverse, slope < 0) in ((ends[0], False), (ends[1], True)):
                break
            low, high = (inverse, high) if slope < 0 else (low, inverse)
            newton = float(np.clip(inverse - slope / curvature if curvature > 0 else np.inf, *ends))
            before = inverse
            inverse = newton if low <= newton <= high else float(np.sqrt(low * high))
            if abs(inverse - before) <= 1e-13 * inverse:
                break
        return 1 / inverse

    @property
    def expansion_(self) -> Expansion:
        """Scores of all classes, (n_samples, n_classes): inner products with the corners."""
        check_is_fitted(self)
        return self.ridge_.expansion_.mixed(self.code_)

    def _score_block(self):
        return self.expansion_.block()

    @staticmethod
    def _decision(scores):
        """Return the score of the second of two classes."""
        return scores[:, 1]

    @property
    def _probabilities(self):
        return partial(_class_probabilities, self.temperature_)

    def __sklearn_is_fitted__(self) -> bool:
        return "ridge_" in vars(self)

    @property
    def n_iter_(self) -> int:
        """Steps of the solver."""
        return self.ridge_.n_iter_

    @property
    def measure_(self) -> Any:
        """Operator-valued measure of the fit."""
        return self.ridge_.measure_


def _class_probabilities(temperature, scores):
    return softmax(scores / temperature, axis=1)


def _log_loss_block(corner_products, remainder, inverse, scores, codes, weights=None):
    """Return slope and curvature of the log-loss in the inverse temperature.

    The scores are those of rows that are left out.
    """
    targets = corner_products[codes]
    scores = targets - (targets - scores.astype(np.float64)) / remainder
    # Relative to the score of the row's own class: rows with certain predictions keep the digits
    # of their small contributions.
    gaps = scores - np.take_along_axis(scores, codes[:, None].astype(np.intp), axis=1)
    chances = softmax(gaps * inverse, axis=1)
    slopes = np.sum(chances * gaps, axis=1)
    curvatures = np.sum(chances * gaps**2, axis=1) - slopes**2
    counts = np.ones(len(codes)) if weights is None else weights
    return np.array([counts @ slopes, counts @ curvatures])
