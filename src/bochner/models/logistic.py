"""SpectralLogistic: logistic and softmax regression on the features of a measure, by sums over
rows.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_flag, check_positive, check_transformer
from .._estimator import (
    CallbackSupportMixin,
    ClassifierScore,
    NestedDefaults,
    reporting,
    restore_on_failure,
)
from .._loops.arrays import as_dense
from ..data import Block
from ..data.checks import check_rows
from ..data.targets import Labels
from ..expansions.waves import Expansion, ExpansionModel
from ..features.spectral import FeatureMap, SpectralFeatures, fitted_transformer
from ..losses import Logistic, Loss, Multinomial, class_probabilities, predicted_codes
from ..measures.fourier import FourierMeasure
from ..solvers.base import feature_block
from ..solvers.newton import SoftmaxProblem, class_code, minimized, with_constant, without_constant


@dataclass(eq=False, repr=False)
class SpectralLogistic(CallbackSupportMixin, ExpansionModel, ClassifierScore, NestedDefaults):
    r"""Logistic regression on spectral features, softmax regression for more than two classes.

    .. math:: \min_{w, b}\; C \sum_i h_i\, \ell(y_i, w^T \varphi(x_i) + b) + \tfrac12 \|w\|^2

    as in scikit-learn's ``LogisticRegression``, h the weights. The n x 2D feature matrix is never
    held: Newton's method sums gradient and Hessian over blocks of rows, about five times; for many
    classes or columns conjugate gradients take passes of their own. Rows on a cluster, and their
    labels, stay there; predictions are computed there when they are asked for.

    Parameters
    ----------
    features : SpectralFeatures or any transformer, default ``SpectralFeatures()``
        With a learner inside, the regression runs on the learned measure. ``FunctionTransformer()``
        of scikit-learn takes the columns of X themselves, e.g. behind other features in a pipeline.
    C : float, default 1.0
        Inverse penalty of the coefficients; the intercept is free.
    fit_intercept : bool, default True
        Whether there is a free constant b.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes, by label; "balanced" gives each class the same total weight.
    tol : float, default 1e-06
        The fit ends where a step of Newton's method is smaller than this, relative to the root of
        the objective. That step is taken, and leaves an error of about its square.
    max_iter : int, default 100
        Passes over the rows at most, without those of conjugate gradients.
    random_state : None, int, RandomState or Generator, default None
        When given, it replaces that of ``features``.

    Attributes
    ----------
    classes_ : labels
    coef_ : (1, n_columns) for two classes, else (n_classes, n_columns)
    intercept_ : (1,) or (n_classes,)
    features_ : the fitted transformer; ``measure_`` is its measure
    expansion_ : the decision function as a sum of waves, for features on a FourierMeasure
    n_iter_ : passes over the rows

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SpectralLogistic(C=100.0, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97), model.predict_proba(X[:2]).shape
    (True, (2, 3))
    """

    _defaults: ClassVar = {"features": SpectralFeatures()}

    features: Any = None
    _: KW_ONLY
    C: float = 1.0
    fit_intercept: bool = True
    class_weight: Any = None
    tol: float = 1e-6
    max_iter: int = 100
    random_state: Any = None

    @restore_on_failure
    @reporting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features, then the regression; a row of weight 2 counts as two rows."""
        self._check_parameters()
        rows = self._rows(X, reset=True)
        labels, weights = Labels.weighted(
            y, len(rows), sample_weight, self.class_weight, owner=type(self).__name__
        )
        self.classes_ = labels.classes
        self.features_ = self._fitted_features(rows, labels, weights)
        design = Block(
            with_constant if self.fit_intercept else without_constant, feature_block(self._source)
        )
        code = class_code(len(labels.classes))
        n_columns = design(rows.take(np.array([0]))).shape[1]
        penalties, start = np.ones(n_columns), np.zeros((n_columns, len(code)))
        if self.fit_intercept:
            penalties[-1] = 0.0
            shares = np.log(labels.totals(weights) / labels.totals(weights).sum())
            start[-1] = shares[1] - shares[0] if len(shares) == 2 else code @ shares
        problem = SoftmaxProblem(
            rows, labels.codes, weights, design, code, penalties, float(self.C)
        )
        found = minimized(problem, start, self.tol, self.max_iter)
        self.n_iter_ = found.n_iter
        if not found.converged and found.n_iter == self.max_iter:
            warnings.warn(
                f"SpectralLogistic did not converge in max_iter={self.max_iter} passes. Raise "
                f"max_iter, or lower C={self.C!r}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        scores = found.coefficients @ (code[:, 1:] if len(code) == 1 else code)
        constant = scores[-1] if self.fit_intercept else np.zeros(scores.shape[1])
        self.coef_, self.intercept_ = (
            scores[: n_columns - self.fit_intercept].T.copy(),
            constant.copy(),
        )
        return self

    def decision_function(self, X: Any) -> Any:
        """Scores: (n_samples,) for two classes, that of the second, (n_samples, n_classes) for
        more.
        """
        scores = self._rows(X).map(self._block(), len(self.coef_))
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row."""
        block = Block(_labels_block, self._block(), self.classes_)
        return self._rows(X).map(block, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, (n_samples, n_classes)."""
        block = Block(_chances_block, self._block(), self.loss_)
        return self._rows(X).map(block, len(self.classes_))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities."""
        return np.log(self.predict_proba(X))

    def jacobian(self, X: Any) -> Any:
        """∂(score)/∂x at each row, (n_samples, n_classes, n_features), or (n_samples, n_features)
        for two classes; exact.
        """
        rows = self._rows(X)
        slopes = self.expansion_.jacobian(rows)
        return slopes[:, 0] if len(self.coef_) == 1 else slopes

    @property
    def expansion_(self) -> Expansion:  # type: ignore[override]
        """The decision function as a sum of waves."""
        check_is_fitted(self)
        if not isinstance(self._source, FourierMeasure):
            raise AttributeError(
                "Only features on a FourierMeasure make a sum of waves, which has derivatives; "
                f"got {self.features_!r}."
            )
        return Expansion.of(self._source, self.coef_.T, self.intercept_)

    @property
    def loss_(self) -> Loss:
        """What scores predict, and how they are judged."""
        return Logistic() if len(self.classes_) == 2 else Multinomial()

    @property
    def measure_(self) -> Any:
        """The measure of the features."""
        check_is_fitted(self)
        return self.features_.measure_

    @property
    def _source(self):
        """Of the features: a FourierMeasure, whose block needs no second check of its rows, or the
        fitted transformer.
        """
        measure = self.features_.measure_ if isinstance(self.features_, SpectralFeatures) else None
        return measure if isinstance(measure, FourierMeasure) else self.features_

    def _block(self):
        check_is_fitted(self)
        if isinstance(self._source, FourierMeasure):
            return self.expansion_.block()
        row_bytes = 16 * self.coef_.shape[1]
        return Block(
            _linear_block,
            self._source.transform,
            self.coef_.T,
            self.intercept_,
            row_bytes=row_bytes,
        )

    def _fitted_features(self, rows, labels, weights):
        features = clone(self._component("features"))
        if self.random_state is not None:
            features.set_params(random_state=self.random_state)
        if isinstance(features, SpectralFeatures) and features.learner is None:
            return features.fit(rows, None, weights)
        if isinstance(features, FeatureMap):
            return features.fit(rows, labels, weights)
        return fitted_transformer(features, rows.source, labels.decode(labels.codes), weights)

    def _rows(self, X, *, reset=False):
        if not reset:
            check_is_fitted(self)
        features = self._component("features")
        known = isinstance(features, FeatureMap)
        return check_rows(self, X, reset=reset, block_size=features.block_size if known else "auto")

    def _check_parameters(self):
        check_transformer(self._component("features"), "features")
        check_positive(self.C, "C")
        check_flag(self.fit_intercept, "fit_intercept")
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self)


def _linear_block(features, coefficients, intercept, X, out=None):
    scores = as_dense(features(X)) @ coefficients + intercept
    if out is None:
        return scores
    out[...] = scores
    return out


def _labels_block(scores, classes, X, out):
    out[...] = classes[predicted_codes(scores(X))]


def _chances_block(scores, loss, X, out):
    out[...] = class_probabilities(loss, np.asarray(scores(X), dtype=np.float64))
