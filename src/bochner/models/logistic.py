"""SpectralLogistic: logistic and softmax regression on features, by sums over rows."""

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_flag, check_positive
from .._estimator import Classifier, Estimator
from ..data import Block
from ..data.training import TrainingData
from ..expansions.waves import Expansion, ExpansionModel
from ..features.spectral import FeatureMap, SpectralFeatures, checked_features, fitted_transformer
from ..losses import Logistic, Loss, Multinomial
from ..measures.fourier import FourierMeasure
from ..solvers.newton import SoftmaxProblem, class_code, minimized, with_constant, without_constant
from ..solvers.problem import feature_block
from .operator import probabilities_of_scores
from .ridge.model import feature_block_size
from .ridge.spectral import feature_source


@ExpansionModel.register
@dataclass(eq=False, repr=False)
class SpectralLogistic(Classifier, Estimator):
    r"""Logistic regression on spectral features, softmax regression for more than two classes.

    .. math:: \min_{w, b}\; C \sum_i h_i\, \ell(y_i, w^T \varphi(x_i) + b) + \tfrac12 \|w\|^2

    The objective is that of scikit-learn's ``LogisticRegression``; h are weights. The feature
    matrix, n x 2D, is never stored: Newton's method sums gradient and Hessian over blocks of rows,
    in about five passes. For many classes or columns, conjugate gradients need further passes. Rows
    on Dask stay on the workers, and predictions for them are lazy.

    Parameters
    ----------
    features : SpectralFeatures, any transformer or FourierMeasure, default ``SpectralFeatures()``
        If it has a learner, the regression is fitted on the learned measure. Scikit-learn's
        ``FunctionTransformer()`` uses the columns of X, e.g. after other features in a pipeline.
    C : float, default 1.0
        Inverse penalty of the coefficients; the intercept is not penalized.
    fit_intercept : bool, default True
        Add an unpenalized constant b.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes, by label; "balanced" gives each class the same total weight.
    tol : float, default 1e-06
        The fit stops after a step of Newton's method that is smaller than this, relative to the
        root of the objective. The remaining error is about the square of that step.
    max_iter : int, default 100
        Largest number of passes over the rows, without those of conjugate gradients.
    random_state : None, int, RandomState or Generator, default None
        If given, it replaces that of ``features``.

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
    _row_block_size = feature_block_size

    features: Any = None
    _: KW_ONLY
    C: float = 1.0
    fit_intercept: bool = True
    class_weight: Any = None
    tol: float = 1e-6
    max_iter: int = 100
    random_state: Any = None

    def _check_parameters(self):
        checked_features(self)
        check_positive(self.C, "C")
        check_flag(self.fit_intercept, "fit_intercept")
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")

    def _fit(self, data: TrainingData) -> None:
        rows, labels, weights = data.rows, data.target, data.weights
        self.classes_ = labels.classes
        self.features_ = self._fitted_features(data)
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
        solution = minimized(problem, start, self.tol, self.max_iter)
        self.n_iter_ = solution.n_iter
        if not solution.converged and solution.n_iter == self.max_iter:
            warnings.warn(
                f"SpectralLogistic did not converge in max_iter={self.max_iter} passes. Raise "
                f"max_iter, or lower C={self.C!r}.",
                ConvergenceWarning,
                stacklevel=5,
            )
        scores = solution.coefficients @ (code[:, 1:] if len(code) == 1 else code)
        constant = scores[-1] if self.fit_intercept else np.zeros(scores.shape[1])
        self.coef_ = scores[: n_columns - self.fit_intercept].T.copy()
        self.intercept_ = constant.copy()

    def _fitted_features(self, data):
        labels, weights = data.target, data.weights
        features = clone(checked_features(self))
        if self.random_state is not None:
            features.set_params(random_state=self.random_state)
        if isinstance(features, SpectralFeatures) and features.learner is None:
            return features.fit(data.rows, None, weights)
        if isinstance(features, FeatureMap):
            return features.fit(data.rows, labels, weights)
        return fitted_transformer(features, data.rows.source, labels.decode(labels.codes), weights)

    def _score_block(self):
        if isinstance(self._source, FourierMeasure):
            return self.expansion_.block()
        linear = self.coef_.T, self.intercept_
        row_bytes = 16 * len(linear[0])
        return Block(_linear_block, feature_block(self._source), *linear, row_bytes=row_bytes)

    @property
    def _probabilities(self):
        return partial(probabilities_of_scores, self.loss_)

    def jacobian(self, X: Any) -> Any:
        """Return ∂(score)/∂x at each row, exactly.

        (n_samples, n_classes, n_features), or (n_samples, n_features) for two classes.
        """
        slopes = self.expansion_.jacobian(self._read_rows(X))
        return slopes[:, 0] if len(self.coef_) == 1 else slopes

    @property
    def expansion_(self) -> Expansion:
        """Decision function as a sum of waves."""
        check_is_fitted(self)
        if not isinstance(self._source, FourierMeasure):
            raise AttributeError(
                "Only features on a FourierMeasure make a sum of waves, which has derivatives; "
                f"got {self.features_!r}."
            )
        return Expansion.of(self._source, self.coef_.T, self.intercept_)

    @property
    def loss_(self) -> Loss:
        """Loss of the scores, whose link gives probabilities."""
        return Logistic() if len(self.classes_) == 2 else Multinomial()

    @property
    def measure_(self) -> Any:
        """Measure of the features."""
        check_is_fitted(self)
        return self.features_.measure_

    @property
    def _source(self):
        return feature_source(self.features_)

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self)


def _linear_block(features, coefficients, intercept, X):
    return features(X) @ coefficients + intercept
