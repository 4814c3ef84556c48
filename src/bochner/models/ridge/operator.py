"""OperatorRidge: ridge regression with an operator-valued kernel, on random features."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import clone

from ...data.targets import Target
from ...data.training import TrainingData
from ...features.spectral import SpectralFeatures
from ...measures.fourier import FourierMeasure
from ...operators import Decomposable, OperatorKernel, OperatorMeasure
from ...operators.sums import same_prior
from ...solvers import Solver
from ...solvers.choice import DENSE_LIMIT, ridges
from ...solvers.partial import PartialOutputs, PartialStatistics
from ...solvers.problem import RidgeProblem, feature_block, mean_kernel
from . import fields
from .model import RidgeModel, RidgeSystems

# Entries of the Gram matrices of all outputs, if these are partly observed: 2 GiB.
MOST_ENTRIES = 16 * DENSE_LIMIT**2
_DEFAULT_KERNEL = Decomposable()


def operator_defaults(model: Any) -> dict[str, Any]:
    """Return the objects that None stands for in models with an operator-valued kernel."""
    features = SpectralFeatures(n_components=model.n_components)
    return {"kernel": _DEFAULT_KERNEL, "features": features}


def check_partial(model: Any, kernel: OperatorKernel) -> None:
    """Raise an error for an output matrix that is not learned from missing outputs."""
    if kernel.learns_outputs:
        raise ValueError(
            f"output_matrix='learned' of {type(model).__name__} needs every output of every row, "
            "but y contains NaN. Write output_matrix='covariance', or a matrix."
        )


def check_operator_parameters(model: Any) -> None:
    """Check the parameters of ``operator_source``."""
    model._component("kernel", OperatorKernel)
    model._component("features", SpectralFeatures)._check_parameters()


def operator_source(
    model: Any, data: TrainingData, n_outputs: int, learning_target: Target
) -> tuple[Any, FourierMeasure, SpectralFeatures | None]:
    """Return the kernel with a resolved prior, its frequencies, and the features that drew them.

    The features are None if the kernel is a measure. A learner of the features learns from
    ``learning_target``.
    """
    kernel, features = model._component("kernel"), model._component("features")
    if data.target.is_partial:
        check_partial(model, kernel)
        if features.learner is not None:
            raise ValueError(
                f"{features.learner!r} needs every output of every row, but y contains NaN. "
                "Write learner=None."
            )
    kernel.check_outputs(model.n_features_in_, n_outputs)
    if isinstance(kernel, OperatorMeasure):
        if features.prior is not None or features.learner is not None:
            raise ValueError(
                f"The atoms of an OperatorMeasure are used as they are, but features={features!r} "
                "has a prior or a learner. Give a kernel such as CurlFree() instead."
            )
        kernel.resolved(data.rows)
        return kernel, kernel.scalar, None
    prior = kernel.checked_prior()
    given = features.prior is not None and kernel.prior is not None
    if given and not same_prior(features.prior, kernel.prior):
        raise ValueError(
            f"Got two priors, {kernel.prior!r} of the kernel and {features.prior!r} of the "
            "features. Give it to the kernel."
        )
    prior = prior if features.prior is None else features.prior
    fitted = clone(features).set_params(prior=prior)
    if model.features is None and isinstance(prior, FourierMeasure):
        fitted.set_params(n_components=len(prior))
    if model.random_state is not None:
        fitted.set_params(random_state=model.random_state)
    source = fitted.fit(data.rows, learning_target, data.weights).measure_
    kernel = kernel.with_prior(fitted.prior_)
    if not isinstance(source, FourierMeasure):
        raise TypeError(
            f"Operator-valued kernels need frequencies, but {features.learner!r} gives a "
            f"{type(source).__name__}."
        )
    return kernel, source, fitted


@dataclass(eq=False, repr=False)
class OperatorRidge(RidgeModel):
    """Vector-valued ridge regression with an operator-valued kernel (Brault et al. 2016).

    Minimizes Σ_i ‖Ψ(x_i) θ − y_i‖² + α ‖θ‖², and Ψ(x) Ψ(z)ᵀ approximates K(x, z) by random
    Fourier features. The paper divides the sum by n: its λ is α / n.

    NaN in a two-dimensional y is a missing output: the sum is then over the observed outputs. So
    are the intercept and leave-one-out errors, where a row is left out with all its outputs. Each
    output has a Gram matrix of its own, because the outputs no longer decouple. For
    ``output_matrix="covariance"``, missing values are replaced by the mean, and the covariance is
    rescaled to the observed variances. ``score``, ``partial_fit`` and ``merge`` raise an error for
    NaN.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        ``Decomposable`` (independent outputs, unless it has an output matrix), ``CurlFree``,
        ``DivergenceFree``, ``Helmholtz``, ``CustomKernel``, or an ``OperatorMeasure``, which is
        used as it is.
    features : SpectralFeatures, default None
        Number, learner, sampling and block size of the frequencies. The prior is that of the
        kernel. None is ``SpectralFeatures(n_components=n_components)``.
    n_components : int, default 500
        Number of frequencies D if ``features`` is None; a ``FourierMeasure`` in place of the
        kernel's prior keeps its own.
    alpha : "auto", float or list of floats, default "auto"
        The ridge. From a list, the value with the smallest exact leave-one-out error is chosen;
        "auto" is a list of 25, from 1e-6 to 100 times the mean of K(x, x). After ``partial_fit``
        the ridge is chosen by generalized cross-validation.
    solver : Eigen, Cholesky, ConjugateGradient, LBFGS or StochasticGradient, default None
        None uses Cholesky factors for one ridge, eigenvectors for several ridges or few rows, and
        conjugate gradients if a matrix of all unknowns would be too large. All solvers but
        ``Eigen`` choose between several ridges on some evenly spread rows: 1000, or with coupled
        outputs 1000 divided by their number.
    fit_intercept : bool, default False
        Add an unpenalized constant (a constant field has neither curl nor divergence).
    random_state : None, int, RandomState or Generator, default None
        If given, it replaces that of ``features``.

    Attributes
    ----------
    measure_ : OperatorMeasure
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    coef_ : (n_outputs, 2 n_components), coefficients of the *scalar* features
    intercept_ : (n_outputs,)
    expansion_ : the fitted function
    alpha_, solver_, n_iter_ : the ridge and solver in use, and the steps of the solver
    alphas_ : the ridges that were compared; if ``alpha_`` is the first or the last of them, a
        better one may lie outside
    loo_errors_, gcv_errors_ : mean squared leave-one-out error of each ridge; after ``partial_fit``
        the error of generalized cross-validation
    noise_variance_ : the most likely variance of the noise around the outputs

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> gradient = np.stack([np.cos(X[:, 0]) * X[:, 1], np.sin(X[:, 0])], axis=1)  # of sin(x) y
    >>> kernel = CurlFree(Gaussian(gamma=1.0))
    >>> model = OperatorRidge(kernel, alpha=1e-3, random_state=0).fit(X, gradient)
    >>> bool(model.score(X, gradient) > 0.999), bool(np.abs(model.curl(X)).max() < 1e-10)
    (True, True)
    """

    kernel: OperatorKernel | None = None
    _: KW_ONLY
    features: SpectralFeatures | None = None
    n_components: int = 500
    alpha: Any = "auto"
    solver: Solver | None = None
    fit_intercept: bool = False
    random_state: Any = None

    _bounded = True
    _accepts_missing_outputs = True
    _defaults = property(operator_defaults)

    divergence = fields.divergence
    curl = fields.curl
    scalar_potential = fields.scalar_potential
    curl_free_part = fields.curl_free_part
    divergence_free_part = fields.divergence_free_part

    def _check_features(self):
        check_operator_parameters(self)

    def _start(self, data, learning_target):
        y = data.target.rows
        kernel, self._source, features = operator_source(self, data, y.shape[1], learning_target)
        if not kernel.decomposable:
            kernel = kernel.resolved_outputs(data.target.covariance(data.weights))
        self._kernel = kernel
        if features is not None:
            self.features_ = features

    def _fit_features_and_ridge(self, data, learning_target):
        if not data.target.is_partial:
            super()._fit_features_and_ridge(data, learning_target)
            return
        self._start(data, learning_target)
        self._one_dimensional = data.target.one_dimensional
        measure, n_columns = self._partial_measure(data), self._source.n_columns
        solver = self._chosen_solver(n_columns, measure.n_columns)
        if solver.needs_rows:
            raise ValueError(
                f"{solver!r} needs every output of every row, but y contains NaN. Write "
                "solver=None, or OperatorRegressor."
            )
        block, shift = feature_block(self._source), self._shift(data)
        self._statistics = PartialStatistics.of_observed(block, data, shift)
        sums, centered = self._centered(self._statistics)
        outputs = PartialOutputs(measure)
        alphas = ridges(self.alpha, mean_kernel(self._statistics, sums, outputs))
        systems = RidgeSystems(RidgeProblem(sums, centered, outputs), self._kernel, alphas)
        self._solution = self._solve(systems, solver, data)

    def _partial_measure(self, data):
        """Return the measure of the outputs, after a check that its Gram matrices fit."""
        self._kernel = self._kernel.resolved_outputs(data.target.covariance(data.weights))
        measure = self._kernel.lift(self._source)
        n_columns, n_outputs = self._source.n_columns, measure.n_outputs
        if n_outputs * n_columns**2 > MOST_ENTRIES:
            raise ValueError(
                f"y contains NaN, so each of the {n_outputs} outputs has a Gram matrix of "
                f"{n_columns} features: {8e-9 * n_outputs * n_columns**2:.1f} GB. Lower "
                "n_components, or write OperatorRegressor."
            )
        return measure

    @property
    def kernel_(self) -> OperatorKernel:
        """Kernel with its bandwidth and output matrix as numbers."""
        return self._solution.kernel

    @property
    def measure_(self) -> OperatorMeasure:
        """Operator-valued measure of the fit."""
        return self.kernel_.lift(self._source)

    @property
    def noise_variance_(self) -> float:
        """Most likely variance of the noise around the outputs."""
        unexplained = self._solution.unexplained
        return float(max(unexplained.sum(), 0.0) / (self._statistics.weight * len(unexplained)))
