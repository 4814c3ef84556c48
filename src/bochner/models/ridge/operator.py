"""OperatorRidge: ridge regression with an operator-valued kernel, on random features with matrix
factors.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import clone

from ..._checks import as_generator, check_count
from ..._estimator import NestedDefaults
from ...data import Rows
from ...data.targets import Target
from ...features.spectral import SpectralFeatures
from ...measures.fourier import FourierMeasure
from ...operators import Decomposable, OperatorKernel, OperatorMeasure
from ...solvers import Solver
from .fields import FieldMethods
from .model import RidgeModel


@dataclass(eq=False, repr=False)
class OperatorParameters(NestedDefaults):
    """The parameters of ``OperatorRidge`` and ``OperatorRidgeClassifier``."""

    kernel: OperatorKernel | None = None
    _: KW_ONLY
    features: SpectralFeatures | None = None
    n_components: int = 500
    alpha: Any = "auto"
    solver: Solver | None = None
    fit_intercept: bool = False
    random_state: Any = None

    @property
    def _defaults(self):
        return {
            "kernel": Decomposable(),
            "features": SpectralFeatures(n_components=self.n_components),
        }


def operator_source(
    kernel: OperatorKernel,
    features: SpectralFeatures,
    random_state: Any,
    rows: Rows,
    taught: Target,
    weights: Any,
) -> tuple[OperatorKernel, FourierMeasure, SpectralFeatures | None]:
    """The kernel with its prior as numbers, the frequencies that it stands on, and the features
    that drew them, if any did.

    A learner of the features learns from ``taught``.
    """
    prior = kernel.checked_prior()
    fitted = None
    if isinstance(prior, FourierMeasure):
        source: Any = prior
        if features.learner is not None:
            source = features.learner.learn(
                prior, rows, taught, as_generator(random_state), weights
            ).measure
    else:
        if features.prior is not None and kernel.prior is not None:
            raise ValueError(
                f"Got two priors, {kernel.prior!r} of the kernel and {features.prior!r} of the "
                "features. Give it to the kernel."
            )
        fitted = clone(features).set_params(
            prior=prior if features.prior is None else features.prior
        )
        if random_state is not None:
            fitted.set_params(random_state=random_state)
        source = fitted.fit(rows, taught, weights).measure_
        kernel = clone(kernel).set_params(prior=fitted.prior_)
    if not isinstance(source, FourierMeasure):
        raise TypeError(
            f"Operator-valued kernels stand on frequencies, but {features.learner!r} gives a "
            f"{type(source).__name__}."
        )
    return kernel, source, fitted


class OperatorRidge(FieldMethods, RidgeModel, OperatorParameters):
    """Vector-valued ridge regression with an operator-valued kernel, by random Fourier features
    (Brault et al. 2016).

    Minimizes Σ_i ‖Ψ(x_i) θ − y_i‖² + α ‖θ‖² where Ψ(x) Ψ(z)ᵀ approximates K(x, z). The paper
    divides the sum by n: its λ is α / n.

    Parameters
    ----------
    kernel : an operator-valued kernel, default ``Decomposable()``
        ``Decomposable`` (independent outputs, unless it has an output matrix), ``CurlFree``,
        ``DivergenceFree``, ``Helmholtz`` or ``CustomKernel``.
    features : SpectralFeatures, default None
        How frequencies are drawn and learned: its number, learner, sampling, block size. Its prior
        is the kernel's. None is ``SpectralFeatures(n_components=n_components)``.
    n_components : int, default 500
        Number of frequencies D, where ``features`` is None; a ``FourierMeasure`` in place of the
        kernel's prior keeps its own.
    alpha : "auto", float or list of floats, default "auto"
        The ridge. From a list the one with the smallest exact leave-one-out error is taken; "auto"
        is a list of 25, from 1e-6 to 100 times the mean of K(x, x). After ``partial_fit`` the
        choice is by generalized cross-validation.
    solver : Eigen, Cholesky, ConjugateGradient, LBFGS or StochasticGradient, default None
        None takes Cholesky factors for one ridge, eigenvectors for several or for few rows, and
        conjugate gradients where no matrix of all unknowns can be formed. All but ``Eigen`` leave
        the choice between several ridges to some rows, evenly spread over all: 1000, or with
        coupled outputs 1000 divided by their number.
    fit_intercept : bool, default False
        Add an unpenalized constant (a constant field has neither curl nor divergence).
    random_state : None, int, RandomState or Generator, default None
        When given, it replaces that of ``features``.

    Attributes
    ----------
    measure_ : OperatorMeasure
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    coef_ : (n_outputs, 2 n_components), coefficients of the *scalar* features
    intercept_ : (n_outputs,)
    expansion_ : the fitted function
    alpha_, solver_, n_iter_ : the ridge and solver in use, and the solver's steps
    alphas_ : several ridges that were tried; where ``alpha_`` is the first or the last, a better
        one may lie beyond
    loo_errors_, gcv_errors_ : mean squared leave-one-out error of each; after ``partial_fit`` that
        of generalized cross-validation
    noise_variance_ : the most likely variance of the noise around the outputs

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> gradient = np.stack([np.cos(X[:, 0]) * X[:, 1], np.sin(X[:, 0])], axis=1)  # of sin(x) y
    >>> model = OperatorRidge(CurlFree(Gaussian(gamma=1.0)), alpha=1e-3, random_state=0).fit(X, gradient)
    >>> bool(model.score(X, gradient) > 0.999), bool(np.abs(model.curl(X)).max() < 1e-10)
    (True, True)
    """

    _bounded = True

    def _check_parameters(self):
        check_count(self.n_components, "n_components")
        self._component("kernel", OperatorKernel)
        self._component("features", SpectralFeatures)
        return super()._check_parameters()

    def _start(self, rows, target, taught, weights):
        kernel = self._component("kernel")
        kernel.check_outputs(rows.n_features, target.rows.shape[1])
        found = operator_source(
            kernel, self._component("features"), self.random_state, rows, taught, weights
        )
        self._kernel, self._source, fitted = found
        if fitted is not None:
            self.features_ = fitted
        return self._source.n_columns

    @property
    def kernel_(self) -> OperatorKernel:
        """The kernel with its bandwidth and output matrix as numbers."""
        return self._solution.kernel

    @property
    def measure_(self) -> OperatorMeasure:
        """The operator-valued measure of the fit."""
        return self.kernel_.lift(self._source)

    @property
    def noise_variance_(self) -> float:
        """The most likely variance of the noise around the outputs."""
        unexplained = self._solution.unexplained
        return float(max(unexplained.sum(), 0.0) / (self._statistics.weight * len(unexplained)))
