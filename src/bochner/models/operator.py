"""OperatorClassifier and OperatorRegressor: operator-valued kernels with any convex loss.

See Brault et al. 2016, Eq. 11.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_flag, check_positive, refuse_class
from .._estimator import Classifier, Estimator, score_in_memory
from ..data import Block
from ..data.targets import Values
from ..data.training import TrainingData
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
)
from ..operators import OperatorKernel, OperatorMeasure
from ..solvers.convex import ConvexProblem, ObservedLoss, minimize_convex
from .ridge import fields
from .ridge.model import feature_block_size
from .ridge.operator import check_operator_parameters, operator_defaults, operator_source


@ExpansionModel.register
@dataclass(eq=False, repr=False)
class OperatorModel(Estimator):
    """Base of both models: from a kernel, a loss and targets to a sum of waves."""

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

    _defaults = property(operator_defaults)
    _row_block_size = feature_block_size
    _losses: ClassVar[tuple[type, ...]]

    @abstractmethod
    def _loss_and_targets(self, data: TrainingData) -> tuple[Loss, np.ndarray, float]:
        """Return the loss, targets (n_samples, n_outputs), and the unit of the loss."""

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
        check_operator_parameters(self)
        check_positive(self.alpha, "alpha")
        check_flag(self.fit_intercept, "fit_intercept")
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")

    def _fit(self, data: TrainingData) -> None:
        self.loss_, targets, unit = self._loss_and_targets(data)
        n_outputs, values = targets.shape[1], Values(targets)
        loss = ObservedLoss(self.loss_) if values.is_partial else self.loss_
        kernel, self._source, self.features_ = operator_source(self, data, n_outputs, data.target)
        self._kernel = kernel.resolved_outputs(values.covariance(data.weights))
        measure = self.measure_
        penalty = float(self.alpha), bool(self.fit_intercept)
        problem = ConvexProblem(data.rows, targets, data.weights, measure, loss, *penalty)
        start = np.zeros(problem.n_unknowns)
        if self.fit_intercept:
            start[measure.n_columns :] = loss.start(targets, data.row_weights)
        solution = minimize_convex(problem, start, self.tol, self.max_iter, unit)
        self.n_iter_ = solution.n_iter
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} passes. Raise "
                f"max_iter or alpha={self.alpha!r}.",
                ConvergenceWarning,
                stacklevel=5,
            )
        coefficients, constants = problem.coefficients(solution.coefficients)
        if isinstance(loss, Multinomial):
            # The loss does not depend on the mean of the constants.
            constants = constants - constants.mean()
        self._coefficients, self._constants = coefficients, constants

    @property
    def kernel_(self) -> OperatorKernel:
        """Kernel with its bandwidth and output matrix as numbers."""
        return self._kernel

    @property
    def measure_(self) -> OperatorMeasure:
        """Operator-valued measure of the fit."""
        return self.kernel_.lift(self._source)

    @property
    def expansion_(self) -> Expansion:
        """Scores as a sum of waves."""
        check_is_fitted(self)
        return Expansion.of(self._source, self._coefficients, self._constants)

    def __sklearn_is_fitted__(self) -> bool:
        return "_coefficients" in vars(self)


class OperatorRegressor(MultiOutputMixin, RegressorMixin, OperatorModel):
    r"""Vector-valued regression with an operator-valued kernel and any convex loss.

    The objective is Eq. 11 of Brault et al. 2016:

    .. math::
        \min_{\theta, b}\; \sum_i h_i\, \ell(y_i, \Psi(x_i) \theta + b)
        + \tfrac{\alpha}{2} \|\theta\|^2

    Ψ(x) Ψ(z)ᵀ approximates K(x, z), and h are weights. The paper divides the sum by n, so its λ is
    α / (2n). With the squared loss, write ``OperatorRidge``, which is faster and chooses α.

    The feature matrix is never stored. Newton's method sums gradient and Hessian over blocks of
    rows, or uses conjugate gradients if the Hessian is too large. The corner of the quantile loss
    is smoothed in stages, in the last one over 1e-4 of the spread of y.

    NaN in a two-dimensional y is a missing output: the loss is then that of the observed outputs,
    see ``OperatorRidge``.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        ``Decomposable`` (independent outputs, unless it has an output matrix), ``CurlFree``,
        ``DivergenceFree``, ``Helmholtz``, ``CustomKernel``, or an ``OperatorMeasure``, which is
        used as it is.
    loss : Squared, Huber, Quantile or Poisson, default None
        An object of ``bochner.losses``, for all outputs; None is ``Squared()``.
    features : SpectralFeatures, default None
        Number, learner, sampling and block size of the frequencies, as for ``OperatorRidge``.
    n_components : int, default 500
        Number of frequencies D if ``features`` is None.
    alpha : float, default 1.0
        The ridge α.
    fit_intercept : bool, default True
        Add an unpenalized constant b.
    tol : float, default 1e-06
        The fit stops when a step of Newton's method is smaller than this, relative to the root of
        the objective.
    max_iter : int, default 100
        Largest number of passes over the rows, for each smoothing of a corner, without those of
        conjugate gradients.
    random_state : None, int, RandomState or Generator, default None
        If given, it replaces that of ``features``.

    Attributes
    ----------
    measure_ : OperatorMeasure
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    coef_ : (n_outputs, 2 n_components), coefficients of the *scalar* features; (2 n_components,)
        for one-dimensional y
    intercept_ : (n_outputs,), or a number
    expansion_ : the scores, which the link of the loss turns into predictions
    loss_, n_iter_ : the loss in use, and the passes over the rows

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> from bochner.losses import Huber
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(200, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> y[::10] += 20.0  # one in ten is an outlier
    >>> model = OperatorRegressor(loss=Huber(np.array([0.1])), alpha=0.01, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(2 * X[:, 0])).max() < 0.2)
    True
    """

    _losses: ClassVar = (Squared, Huber, Quantile, Poisson)
    _accepts_missing_outputs: ClassVar[bool] = True

    divergence = fields.divergence
    curl = fields.curl
    scalar_potential = fields.scalar_potential
    curl_free_part = fields.curl_free_part
    divergence_free_part = fields.divergence_free_part

    def _loss_and_targets(self, data):
        loss, values, weights = self.loss or Squared(), data.target.rows, data.weights
        loss.check_targets(values[~np.isnan(values)][:, None])
        self._one_dimensional = data.target.one_dimensional
        squares = Values((values - data.target.mean(weights)) ** 2)
        unit = float(np.sqrt(squares.mean(weights).mean()))
        return loss, values, unit or 1.0

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scalar features."""
        return self._coefficients[:, 0] if self._one_dimensional else self._coefficients.T

    @property
    def intercept_(self) -> Any:
        """Constant part of the scores."""
        return float(self._constants[0]) if self._one_dimensional else self._constants

    def predict(self, X: Any) -> Any:
        """Return the predicted mean or quantile, in the shape of y."""
        rows, f = self._read_rows(X), self.expansion_
        predicted = rows.map(Block(_linked_block, f.block(), self.loss_), f.n_outputs)
        return predicted[:, 0] if self._one_dimensional else predicted

    def jacobian(self, X: Any) -> Any:
        """Return ∂(score)/∂x, exactly.

        (n_samples, n_outputs, n_features), or (n_samples, n_features) for one-dimensional y.
        """
        slopes = self.expansion_.jacobian(self._read_rows(X))
        return slopes[:, 0] if self._one_dimensional else slopes

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² on X and y, which may also be Dask collections."""
        return score_in_memory(super().score, X, y, sample_weight)


@dataclass(eq=False, repr=False)
class OperatorClassifier(Classifier, OperatorModel):
    r"""Classification with an operator-valued kernel and a logistic, hinge or exponential loss.

    The objective is Eq. 11 of Brault et al. 2016:

    .. math::
        \min_{\theta, b}\; \sum_i h_i\, \ell(y_i, \Psi(x_i) \theta + b)
        + \tfrac{\alpha}{2} \|\theta\|^2

    There is one score for two classes, else one score for each class. An output matrix of
    ``Decomposable`` defines which classes are similar. The solver is that of ``OperatorRegressor``.
    The hinge is smoothed in stages, in the last one over 1e-4.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        With one output for two classes, else one per class; ``Decomposable`` without an output
        matrix fits itself.
    loss : Logistic, Multinomial, Hinge or Exponential, default None
        An object of ``bochner.losses``; None and ``Logistic()`` are the logistic loss for two
        classes and softmax for more, ``Hinge()`` is a support vector machine, one class against the
        rest. ``Exponential()`` is for two classes.
    features : SpectralFeatures, default None
        Number, learner, sampling and block size of the frequencies, as for ``OperatorRidge``.
    n_components : int, default 500
        Number of frequencies D if ``features`` is None.
    alpha : float, default 1.0
        The ridge α; 1 / C of a support vector machine.
    fit_intercept : bool, default True
        Add an unpenalized constant b.
    tol : float, default 1e-06
        The fit stops when a step of Newton's method is smaller than this, relative to the root of
        the objective.
    max_iter : int, default 100
        Largest number of passes over the rows, for each smoothing of a corner, without those of
        conjugate gradients.
    random_state : None, int, RandomState or Generator, default None
        If given, it replaces that of ``features``.
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
    >>> model = OperatorClassifier(loss=Hinge(), n_components=50, alpha=0.1, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    _: KW_ONLY
    class_weight: Any = None

    _losses: ClassVar = (Logistic, Multinomial, Hinge, Exponential)

    def _loss_and_targets(self, data):
        labels = data.target
        self.classes_ = labels.classes
        loss: Loss = self.loss or Logistic()
        if isinstance(loss, Logistic | Multinomial):
            loss = Logistic() if len(labels.classes) == 2 else Multinomial()
        if isinstance(loss, Exponential) and len(labels.classes) > 2:
            raise ValueError(
                f"Exponential() is a loss for two classes, y has {len(labels.classes)}. Write "
                "loss=Logistic() or Hinge()."
            )
        targets = labels.one_hot if isinstance(loss, Multinomial) else labels.signs
        return loss, targets(np.float64), 1.0

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scalar features."""
        return self._coefficients.T

    @property
    def intercept_(self) -> np.ndarray:
        """Constant part of the scores."""
        return self._constants

    def _score_block(self):
        return self.expansion_.block()

    @property
    def _probabilities(self):
        return partial(probabilities_of_scores, self.loss_)

    def _has_probabilities(self) -> bool:
        return not isinstance(self.loss, Hinge)


def probabilities_of_scores(loss: Loss, scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes, computed in float64."""
    return class_probabilities(loss, np.asarray(scores, dtype=np.float64))


def _linked_block(scores, loss, X, out):
    out[...] = loss.link(scores(X))
