"""OperatorClassifier and OperatorRegressor: operator-valued kernels with any convex loss (Brault et
al. 2016, Eq. 11).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_flag, check_positive, refuse_class
from .._estimator import (
    CallbackSupportMixin,
    ClassifierScore,
    NestedDefaults,
    RegressorScore,
    reporting,
    restore_on_failure,
)
from ..data import Block, Rows
from ..data.checks import check_rows, check_weights
from ..data.targets import Labels, Target, Values
from ..expansions.waves import Expansion, ExpansionModel
from ..features.spectral import SpectralFeatures
from ..losses import (
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
    class_probabilities,
    predicted_codes,
)
from ..operators import Decomposable, OperatorKernel, OperatorMeasure
from ..solvers.convex import ConvexProblem, minimize_convex
from .ridge.fields import FieldMethods
from .ridge.operator import operator_source


@dataclass(eq=False, repr=False)
class OperatorModel(CallbackSupportMixin, ExpansionModel, NestedDefaults):
    """What both models share: from a kernel, a loss and targets to a sum of waves."""

    kernel: OperatorKernel | None = None
    loss: Loss | None = None
    _: KW_ONLY
    features: SpectralFeatures | None = None
    n_components: int = 500
    alpha: float = 1.0
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 100
    random_state: Any = None

    @property
    def _defaults(self):
        return {
            "kernel": Decomposable(),
            "features": SpectralFeatures(n_components=self.n_components),
        }

    _losses: ClassVar[tuple[type, ...]]

    @abstractmethod
    def _read(self, rows: Rows, y: Any, sample_weight: Any) -> tuple[Target, Any, Any, Loss, float]:
        """y for a learner of the features and as targets (n_samples, n_outputs), weights, the loss
        and its unit.
        """

    @restore_on_failure
    @reporting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features, then the parameters; a row of weight 2 counts as two rows."""
        self._check_parameters()
        rows = self._rows(X, reset=True)
        taught, targets, weights, loss, unit = self._read(rows, y, sample_weight)
        kernel = self._component("kernel")
        kernel.check_outputs(rows.n_features, targets.shape[1])
        kernel, self._source, self.features_ = operator_source(
            kernel, self._component("features"), self.random_state, rows, taught, weights
        )
        products = _centered_products(targets, weights)
        self._kernel = kernel.resolved_outputs(
            products / (len(rows) if weights is None else np.sum(weights))
        )
        problem = ConvexProblem(
            rows, targets, weights, self.measure_, loss, float(self.alpha), bool(self.fit_intercept)
        )
        start = np.zeros(problem.n_unknowns)
        if self.fit_intercept:
            counts = np.ones(len(rows)) if weights is None else weights
            start[self.measure_.n_columns :] = loss.start(targets, counts)
        found = minimize_convex(problem, start, self.tol, self.max_iter, unit)
        self.n_iter_ = found.n_iter
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} passes. Raise "
                f"max_iter or alpha={self.alpha!r}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        coefficients, constants = problem.coefficients(found.coefficients)
        if isinstance(
            loss, Multinomial
        ):  # it does not see what all scores have in common, and where that ends is chance
            constants = constants - constants.mean()
        self._coefficients, self._constants, self.loss_ = coefficients, constants, loss
        return self

    @property
    def kernel_(self) -> OperatorKernel:
        """The kernel with its bandwidth and output matrix as numbers."""
        return self._kernel

    @property
    def measure_(self) -> OperatorMeasure:
        """The operator-valued measure of the fit."""
        return self.kernel_.lift(self._source)

    @property
    def expansion_(self) -> Expansion:  # type: ignore[override]
        """The scores as a sum of waves."""
        check_is_fitted(self)
        return Expansion.of(self._source, self._coefficients, self._constants)

    def _rows(self, X, *, reset=False):
        if not reset:
            check_is_fitted(self)
        return check_rows(self, X, reset=reset, block_size=self._component("features").block_size)

    def _check_parameters(self) -> None:
        refuse_class(self.loss, "loss")
        if self.loss is not None and not isinstance(self.loss, self._losses):
            names = ", ".join(
                f"{kind.__name__}(...)" if kind in (Huber, Quantile) else f"{kind.__name__}()"
                for kind in self._losses
            )
            raise TypeError(
                f"loss of {type(self).__name__} must be None or one of {names}, got {self.loss!r}."
            )
        check_count(self.n_components, "n_components")
        self._component("kernel", OperatorKernel)
        self._component("features", SpectralFeatures)
        check_positive(self.alpha, "alpha")
        check_flag(self.fit_intercept, "fit_intercept")
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")

    def __sklearn_is_fitted__(self) -> bool:
        return "_coefficients" in vars(self)


class OperatorRegressor(MultiOutputMixin, RegressorScore, OperatorModel, FieldMethods):  # type: ignore[override]
    r"""Vector-valued regression with an operator-valued kernel and any convex loss (Brault et al.
    2016, Eq. 11).

    .. math:: \min_{\theta, b}\; \sum_i h_i\, \ell(y_i, \Psi(x_i) \theta + b) + \tfrac{\alpha}{2} \|\theta\|^2

    Ψ(x) Ψ(z)ᵀ approximates K(x, z), h are weights. The paper divides the sum by n: its λ is α /
    (2n). With the squared loss it is ``OperatorRidge``, which is faster and chooses α. Gradient and
    Hessian are sums over blocks of rows and the feature matrix is never held: Newton's method, with
    conjugate gradients where there are too many unknowns for a matrix. The corner of the quantile
    loss is rounded in stages, in the end over 1e-4 of the spread of y.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        ``Decomposable`` (independent outputs, unless it has an output matrix), ``CurlFree``,
        ``DivergenceFree``, ``Helmholtz`` or ``CustomKernel``.
    loss : Squared, Huber, Quantile or Poisson, default None
        An object of ``bochner.losses``, for all outputs; None is ``Squared()``.
    features : SpectralFeatures, default None
        How frequencies are drawn and learned, as for ``OperatorRidge``.
    n_components : int, default 500
        Number of frequencies D, where ``features`` is None.
    alpha : float, default 1.0
        The ridge α.
    fit_intercept : bool, default True
        Whether there is a free constant b.
    tol : float, default 1e-06
        The fit ends where a step of Newton's method is smaller than this, relative to the root of
        the objective.
    max_iter : int, default 100
        Passes over the rows at most, for each rounding of a corner, without those of conjugate
        gradients.
    random_state : None, int, RandomState or Generator, default None
        When given, it replaces that of ``features``.

    Attributes
    ----------
    measure_ : OperatorMeasure
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    coef_ : (n_outputs, 2 n_components), coefficients of the *scalar* features; (2 n_components,)
        for one-dimensional y
    intercept_ : (n_outputs,), or a number
    expansion_ : the scores, which the loss links to predictions
    loss_, n_iter_ : the loss in use, and the passes over the rows

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> from bochner.losses import Huber
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(200, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> y[::10] += 20.0  # one in ten is far off
    >>> model = OperatorRegressor(loss=Huber(np.array([0.1])), alpha=0.01, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(2 * X[:, 0])).max() < 0.2)
    True
    """

    _losses: ClassVar = (Squared, Huber, Quantile, Poisson)

    def _read(self, rows, y, sample_weight):
        target = Values.of(y, len(rows), owner=type(self).__name__)
        weights = check_weights(sample_weight, len(rows))
        loss, values = self.loss or Squared(), target.rows
        if isinstance(loss, Poisson) and (smallest := values.min()) < 0:
            raise ValueError(
                f"Poisson() needs counts or rates of at least 0, but y reaches {smallest:.3g}."
            )
        self._one_dimensional = target.one_dimensional
        mean = np.average(values, axis=0, weights=weights)
        unit = float(np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights).mean()))
        return target, values, weights, loss, unit or 1.0

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scalar features."""
        return self._coefficients[:, 0] if self._one_dimensional else self._coefficients.T

    @property
    def intercept_(self) -> Any:
        """The constant part of the scores."""
        return float(self._constants[0]) if self._one_dimensional else self._constants

    def predict(self, X: Any) -> Any:
        """What the scores predict: the mean or the quantile, in the shape of y."""
        rows, f = self._rows(X), self.expansion_
        predicted = rows.map(Block(_linked_block, f.block(), self.loss_), f.n_outputs)
        return predicted[:, 0] if self._one_dimensional else predicted

    def jacobian(self, X: Any) -> Any:
        """∂(score)/∂x, (n_samples, n_outputs, n_features), or (n_samples, n_features) for
        one-dimensional y; exact.
        """
        slopes = self.expansion_.jacobian(self._rows(X))
        return slopes[:, 0] if self._one_dimensional else slopes


def _has_probabilities(model):
    return not isinstance(model.loss, Hinge)


@dataclass(eq=False, repr=False)
class OperatorClassifier(ClassifierScore, OperatorModel):
    r"""Classification with an operator-valued kernel and any convex loss (Brault et al. 2016, Eq.
    11): logistic, hinge, exponential.

    .. math:: \min_{\theta, b}\; \sum_i h_i\, \ell(y_i, \Psi(x_i) \theta + b) + \tfrac{\alpha}{2} \|\theta\|^2

    The outputs are one score for two classes, or one for each of more; an output matrix of
    ``Decomposable`` says which classes are alike. Solved as ``OperatorRegressor`` is, the hinge
    rounded in stages, in the end over 1e-4.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        With one output for two classes, else one for each; ``Decomposable`` without an output
        matrix fits itself.
    loss : Logistic, Multinomial, Hinge or Exponential, default None
        An object of ``bochner.losses``; None and ``Logistic()`` are the logistic loss for two
        classes and softmax for more, ``Hinge()`` is a support vector machine, one class against the
        rest. ``Exponential()`` is for two classes.
    features : SpectralFeatures, default None
        How frequencies are drawn and learned, as for ``OperatorRidge``.
    n_components : int, default 500
        Number of frequencies D, where ``features`` is None.
    alpha : float, default 1.0
        The ridge α; 1 / C of a support vector machine.
    fit_intercept : bool, default True
        Whether there is a free constant b.
    tol : float, default 1e-06
        The fit ends where a step of Newton's method is smaller than this, relative to the root of
        the objective.
    max_iter : int, default 100
        Passes over the rows at most, for each rounding of a corner, without those of conjugate
        gradients.
    random_state : None, int, RandomState or Generator, default None
        When given, it replaces that of ``features``.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes, by label; "balanced" gives each class the same total weight.

    Attributes
    ----------
    classes_ : labels
    measure_ : OperatorMeasure
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    coef_ : (n_outputs, 2 n_components), coefficients of the *scalar* features
    intercept_ : (n_outputs,)
    expansion_ : the decision function
    loss_, n_iter_ : the loss in use, and the passes over the rows

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner.losses import Hinge
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OperatorClassifier(loss=Hinge(), n_components=50, alpha=0.1, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _: KW_ONLY
    class_weight: Any = None

    _losses: ClassVar = (Logistic, Multinomial, Hinge, Exponential)

    def _read(self, rows, y, sample_weight):
        labels, weights = Labels.weighted(
            y, len(rows), sample_weight, self.class_weight, owner=type(self).__name__
        )
        self.classes_ = labels.classes
        loss: Loss = self.loss or Logistic()
        if isinstance(loss, Logistic | Multinomial):
            loss = Logistic() if len(labels.classes) == 2 else Multinomial()
        if isinstance(loss, Exponential) and len(labels.classes) > 2:
            raise ValueError(
                f"Exponential() is a loss for two classes, y has {len(labels.classes)}. Write "
                "loss=Logistic() or Hinge()."
            )
        targets = (
            labels.one_hot(np.float64)
            if isinstance(loss, Multinomial)
            else labels.signs(np.float64)
        )
        return labels, targets, weights, loss, 1.0

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scalar features."""
        return self._coefficients.T

    @property
    def intercept_(self) -> np.ndarray:
        """The constant part of the scores."""
        return self._constants

    def decision_function(self, X: Any) -> Any:
        """Scores: (n_samples,) for two classes, that of the second, (n_samples, n_classes) for
        more.
        """
        scores = self.expansion_.evaluate(self._rows(X))
        return scores[:, 0] if len(self._constants) == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class of the largest score; of two classes the second where its score is positive."""
        rows = self._rows(X)
        return rows.map(
            Block(_labels_block, self.expansion_.block(), self.classes_), dtype=self.classes_.dtype
        )

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, (n_samples, n_classes); the hinge has none."""
        block = Block(_chances_block, self.expansion_.block(), self.loss_)
        return self._rows(X).map(block, len(self.classes_))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities."""
        return np.log(self.predict_proba(X))


def _centered_products(targets, weights):
    """Σ_i h_i (y_i − mean) (y_i − mean)ᵀ."""
    centered = targets - np.average(targets, axis=0, weights=weights)
    counted = centered if weights is None else weights[:, None] * centered
    return counted.T @ centered


def _linked_block(scores, loss, X, out):
    out[...] = loss.link(scores(X))


def _labels_block(scores, classes, X, out):
    out[...] = classes[predicted_codes(scores(X))]


def _chances_block(scores, loss, X, out):
    out[...] = class_probabilities(loss, np.asarray(scores(X), dtype=np.float64))
