"""OperatorRidgeClassifier: classes as corners of a simplex, learned as one vector-valued function."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from ..._estimator import CallbackSupportMixin, ClassifierScore, reporting, restore_on_failure
from ...data import Block, as_rows, of_predictions
from ...data.checks import check_rows, check_weights
from ...data.targets import Labels, Values, simplex_code
from ...expansions.waves import Expansion, ExpansionModel
from ...losses import predicted_codes
from .operator import OperatorParameters, OperatorRidge

# Temperatures are looked for between these.
_SMALLEST_LOG_TEMPERATURE, _LARGEST_LOG_TEMPERATURE = -7.0, 3.0
_TEMPERATURE_STEPS = 100
# The mean leverage of a row and its copies may come close to one.
_SMALLEST_REMAINDER = 1e-3


@dataclass(eq=False, repr=False)
class OperatorRidgeClassifier(
    CallbackSupportMixin, ExpansionModel, ClassifierScore, OperatorParameters
):
    """Vector-valued ridge on simplex codes (Mroueh et al. 2012; Brault et al. 2016): one fit for
    all classes.

    A class is a corner of the regular simplex in n_classes − 1 dimensions; the predicted class is
    the corner nearest in angle. A learner of the features learns from the labels.

    ``predict_proba`` is a softmax of the inner products with the corners; its one temperature
    minimizes the log-loss of leave-one-out predictions, approximated with the mean leverage (for
    solvers without a factorization the leverage counts as zero, which is a little too sure).

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        With n_classes − 1 outputs; ``Decomposable`` without an output matrix fits itself.
    features : SpectralFeatures, default None
        How frequencies are drawn and learned, as for ``OperatorRidge``.
    n_components : int, default 500
        Number of frequencies D, where ``features`` is None.
    alpha : "auto", float or list of floats, default "auto"
        The ridge. From a list the one with the smallest exact leave-one-out error is taken, of the
        codes; "auto" as for ``OperatorRidge``.
    solver : Eigen, Cholesky, ConjugateGradient, LBFGS or StochasticGradient, default None
        How the linear system is solved, as for ``OperatorRidge``.
    fit_intercept : bool, default False
        Add an unpenalized constant.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes, by label; "balanced" gives each class the same total weight.
    random_state : None, int, RandomState or Generator, default None
        When given, it replaces that of ``features``.

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

    _: KW_ONLY
    class_weight: Any = None

    @restore_on_failure
    @reporting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OperatorRidgeClassifier:
        """Encode the labels and fit the ridge."""
        ridge = self._unfitted_ridge()
        rows = check_rows(self, X, reset=True, block_size=self._component("features").block_size)
        labels, weights = Labels.weighted(
            y, len(rows), sample_weight, self.class_weight, owner=type(self).__name__
        )
        self.classes_, self.code_ = labels.classes, simplex_code(len(labels.classes))
        ridge.n_features_in_ = rows.n_features
        counts = check_weights(sample_weight, len(rows))
        self.ridge_ = ridge._fit_rows(rows, Values(labels.corners()), labels, weights, counts)
        self.temperature_ = self._temperature(rows, labels, weights)
        return self

    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; after any sequence of calls the scores are those of all rows together, up to
        rounding.

        The first call, or a ``fit`` before it, settles the classes (``classes`` lists all that may
        occur; without it, those of y), the features and the temperature of the probabilities.
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all rows at once. Give a dictionary of label and "
                "weight."
            )
        first = not self.__sklearn_is_fitted__()
        if (
            not first
            and classes is not None
            and not np.array_equal(np.unique(classes), self.classes_)
        ):
            raise ValueError(
                f"classes={list(classes)} differ from those of the first call, "
                f"{self.classes_.tolist()}."
            )
        ridge = self._unfitted_ridge() if first else copy(self.ridge_)
        rows = check_rows(self, X, reset=first, block_size=self._component("features").block_size)
        declared = classes if first else self.classes_
        labels = Labels.of(y, len(rows), classes=declared, owner=type(self).__name__)
        if len(labels.classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but y has only 1 class: "
                f"{labels.classes.tolist()[0]!r}. List all that may "
                "occur by classes=[...]."
            )
        weights, costs = check_weights(sample_weight, len(rows)), labels.costs(self.class_weight)
        if costs is not None:
            weights = check_weights(costs if weights is None else weights * costs, len(rows))
        if first:
            self.classes_, self.code_ = labels.classes, simplex_code(len(labels.classes))
            ridge.n_features_in_ = rows.n_features
            self.ridge_ = ridge._fit_rows(rows, Values(labels.corners()), labels, weights)
            self.temperature_ = self._temperature(rows, labels, weights)
        else:
            self.ridge_ = ridge.partial_fit(rows, labels.corners(), weights)
        return self

    @restore_on_failure
    def merge(self, other: Self) -> Self:
        """Take in what another fit has seen, see ``OperatorRidge.merge``: both need the same
        classes and features.
        """
        check_is_fitted(self)
        if not isinstance(other, OperatorRidgeClassifier):
            raise TypeError(f"{type(self).__name__} merges with another one, got {other!r}.")
        check_is_fitted(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"The two fits know different classes, {self.classes_.tolist()} and "
                f"{other.classes_.tolist()}. Name all of them by "
                "partial_fit(..., classes=[...])."
            )
        self.ridge_ = copy(self.ridge_).merge(other.ridge_)
        return self

    def _unfitted_ridge(self):
        parameters = self.get_params(deep=False)
        del parameters["class_weight"]
        ridge = OperatorRidge(**parameters)
        ridge._check_parameters()
        return ridge

    def _temperature(self, rows, labels, weights):
        """Return the temperature of least log-loss of the rows, each left out with its copies.

        Leverages are approximated by their mean.
        """
        scores = as_rows(self.expansion_.evaluate(rows), persist=True)
        leverage = self.ridge_.mean_leverage() * self.ridge_._mean_left_out
        settings = self.code_.T @ self.code_, max(1 - leverage, _SMALLEST_REMAINDER)
        signals = [labels.codes] if weights is None else [labels.codes, weights]

        def slope_and_curvature(inverse):
            return scores.sum(
                Block(_log_loss_block, *settings, inverse, row_bytes=64 * len(self.classes_)),
                *signals,
            )

        # The log-loss is convex in the inverse temperature: its slope is zero once, or the minimum
        # is at an end.
        ends = low, high = (
            float(np.exp(-_LARGEST_LOG_TEMPERATURE)),
            float(np.exp(-_SMALLEST_LOG_TEMPERATURE)),
        )
        inverse = 1.0
        for _ in range(_TEMPERATURE_STEPS):
            slope, curvature = slope_and_curvature(inverse)
            if (inverse, slope < 0) in ((ends[0], False), (ends[1], True)):
                break
            low, high = (inverse, high) if slope < 0 else (low, inverse)
            newton = float(np.clip(inverse - slope / curvature if curvature > 0 else np.inf, *ends))
            before, inverse = (
                inverse,
                newton if low <= newton <= high else float(np.sqrt(low * high)),
            )
            if abs(inverse - before) <= 1e-13 * inverse:
                break
        return 1 / inverse

    @property
    def expansion_(self) -> Expansion:  # type: ignore[override]
        """The scores of all classes, (n_samples, n_classes), as one function: inner products with
        the corners.
        """
        check_is_fitted(self)
        return self.ridge_.expansion_.mixed(self.code_)

    def decision_function(self, X: Any) -> Any:
        """Inner products with the corners, (n_samples, n_classes); for two classes the score of the
        second, (n_samples,).
        """
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class whose corner is nearest."""
        block = Block(_labels_block, self.expansion_.block(), self.classes_)
        return self._rows(X).map(block, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, (n_samples, n_classes)."""
        scores = self._scores(X)
        chances = partial(_chances, self.temperature_)
        return of_predictions(chances, scores, scores.dtype, scores.shape[1])

    def _scores(self, X):
        return self.expansion_.evaluate(self._rows(X))

    def _rows(self, X):
        check_is_fitted(self)
        return check_rows(self, X, reset=False, block_size=self._component("features").block_size)

    def __sklearn_is_fitted__(self) -> bool:
        return "ridge_" in vars(self)

    @property
    def n_iter_(self) -> int:
        """Steps of the solver."""
        return self.ridge_.n_iter_

    @property
    def measure_(self) -> Any:
        """The operator-valued measure of the fit."""
        return self.ridge_.measure_


def _chances(temperature, scores):
    return softmax(scores / temperature, axis=1)


def _log_loss_block(corner_products, left, inverse, scores, codes, weights=None):
    """Slope and curvature of the log-loss in the inverse temperature, for the scores that rows
    would have if they were left out.
    """
    targets = corner_products[codes]
    scores = targets - (targets - scores.astype(np.float64)) / left
    # Around the score of the row's own class: rows that are sure keep the digits of what little
    # they add.
    gaps = scores - np.take_along_axis(scores, codes[:, None].astype(np.intp), axis=1)
    chances = softmax(gaps * inverse, axis=1)
    slopes = np.sum(chances * gaps, axis=1)
    curvatures = np.sum(chances * gaps**2, axis=1) - slopes**2
    counts = np.ones(len(codes)) if weights is None else weights
    return np.array([counts @ slopes, counts @ curvatures])


def _labels_block(scores, classes, X, out):
    out[...] = classes[predicted_codes(scores(X))]
