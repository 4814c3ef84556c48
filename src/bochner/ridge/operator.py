"""OperatorRidge: ridge regression with an operator-valued kernel, on random features with matrix factors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._compute import is_dask, row_block_size
from .._random import as_generator
from .._validation import check_choice, check_count, check_positive, check_rows
from ..features import SpectralFeatures
from ..measures import FourierMeasure
from ..operators import Decomposable, OperatorKernel
from .block_leverage import NormalSystem
from .checks import check_alphas, check_targets, check_weights, refuse_choice, resolved_for_weights
from .eigen import (
    OutputBasis,
    RowWork,
    direct_leverage,
    direct_ridge,
    eigen_ridge,
    explained,
    leave_one_out_errors,
    leave_one_out_predictions,
    predictive_variance,
    small_system,
    whole_system,
)
from .field_model import FieldModel
from .normal import (
    CenteredFeatures,
    cholesky_ridge,
    conjugate_gradient,
    gram_operator,
    lbfgs_ridge,
    normal_diagonal,
    normal_matrix,
    row_operator,
    stochastic_ridge,
)
from .solver_choice import (
    DENSE_LIMIT,
    SOLVERS,
    check_output_count,
    choose_solver,
    gram_fits,
    is_learned,
    numeric_output_matrix,
    refuse_several,
    rows_are_few,
)
from .statistics import RidgeStatistics, block_features, target_shift


class OperatorRidge(FieldModel, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Vector-valued ridge regression with an operator-valued kernel, by random Fourier features (Brault et al. 2016).

    Minimizes Σ_i ‖Ψ(x_i) θ − y_i‖² + α ‖θ‖² where Ψ(x) Ψ(z)ᵀ approximates K(x, z).  The paper divides the sum by n:
    its λ is α / n.

    Parameters
    ----------
    kernel : Decomposable, CurlFree, DivergenceFree or Helmholtz; None is ``Decomposable()``, independent outputs
    n_components : int, default 100
        Number of frequencies D; a ``FourierMeasure`` in place of the kernel's prior keeps its own.
    alpha : float or list of floats, default 1.0
        From a list the ridge with the smallest exact leave-one-out error is taken.
    solver : "auto", "eigen", "cholesky", "cg", "lbfgs" or "sgd"
        "eigen" (decomposable kernels) solves for all ridges in two eigenbases, or for one by Cholesky factors, "cholesky" forms the normal matrix, "cg" and
        "lbfgs" only apply it, "sgd" looks at minibatches; "auto" takes the first that fits.
    learner : None or a learner
        Learns the scalar measure from X and y before the kernel makes operators of its atoms.
    n_candidates : None or int
        With a learner: learn on this many frequencies, then draw ``n_components`` of them.
    sampling : "iid", "orthogonal" or "qmc"
    fit_intercept : bool, default False
        Add an unpenalized constant (a constant field has neither curl nor divergence).
    max_iter, tol : steps and relative accuracy of "cg" and "lbfgs"; ``max_iter`` counts epochs of "sgd"
    block_size : "auto" or int
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    measure_ : OperatorMeasure
    kernel_ : the kernel with its bandwidth and output matrix as numbers
    coef_ : (n_outputs, 2 n_components), coefficients of the *scalar* features
    intercept_ : (n_outputs,)
    alpha_, solver_, n_iter_ : the ridge and solver in use, and the solver's steps
    loo_errors_ : mean squared leave-one-out error of each of several ridges
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

    # --- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OperatorRidge:
        """Sample (and learn) the measure, then solve the ridge."""
        alphas, several = self._check_parameters()
        X = check_rows(self, X, reset=True).source
        y = check_targets(self, X, y, need_columns=True)
        weights = check_weights(sample_weight, X)
        with row_block_size(self.block_size):
            self._start(X, y, weights)
            if self.solver == "sgd":
                self._fit_sgd(alphas, several, X, y, weights)
                return self
            n_columns = 2 * len(self._scalar)
            small = (
                isinstance(self.kernel_, Decomposable)
                and self.solver in ("auto", "eigen")
                and not is_dask(X)
                and rows_are_few(X.shape[0], n_columns)
            )
            self._statistics = RidgeStatistics.of(
                block_features(self._scalar), X, y, weights, self._shift, whole_gram=gram_fits(n_columns)
            )
            self._solve(alphas, several, X, y, weights, small)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> OperatorRidge:
        """Add rows; after any sequence of calls the fit is that of all rows together, up to rounding.

        Frequencies and a bandwidth taken from the data come from the first call.  The system is solved when a
        prediction or a coefficient is next asked for.
        """
        refuse_choice(self._check_parameters()[1])
        first = not hasattr(self, "_statistics")
        X = check_rows(self, X, reset=first).source
        y = check_targets(self, X, y, need_columns=True)
        weights = check_weights(sample_weight, X)
        with row_block_size(self.block_size):
            if first:
                self._start(X, y, weights)
            elif y.shape[1] != len(self._shift):
                raise ValueError(f"y has {y.shape[1]} outputs, but earlier calls had {len(self._shift)}.")
            thin = not first and self._statistics.gram.ndim == 1
            if thin or self.solver == "sgd" or not gram_fits(2 * len(self._scalar)):
                raise ValueError(
                    f"partial_fit keeps the Gram matrix of the features, up to {DENSE_LIMIT} of them, and "
                    f"{2 * len(self._scalar)} with solver={self.solver!r} cannot. Lower n_components, or call fit."
                )
            added = RidgeStatistics.of(block_features(self._scalar), X, y, weights, self._shift)
        self._statistics = added if first else self._statistics + added
        self._stale = True
        return self

    def _start(self, X, y, weights):
        """Sample and learn the scalar measure; the kernel with numbers for its bandwidth."""
        kernel = Decomposable() if self.kernel is None else self.kernel
        prior = kernel._checked_prior()
        check_output_count(kernel, X.shape[1], y.shape[1])
        rng = as_generator(self.random_state)
        if isinstance(prior, FourierMeasure):
            scalar = prior if self.learner is None else self.learner.learn(prior, X, y, rng)
            self.kernel_ = kernel
        else:
            resolved = resolved_for_weights(prior, X, weights)
            features = SpectralFeatures(
                resolved,
                self.learner,
                n_components=self.n_components,
                n_candidates=self.n_candidates,
                sampling=self.sampling,
                block_size=self.block_size,
                random_state=rng,
            ).fit(X, y)
            scalar = features.measure_
            self.kernel_ = clone(kernel).set_params(prior=resolved)
        self._scalar = scalar
        # The words "covariance" and "learned" are resolved again after more rows: keep what was asked for.
        self._asked_matrix = kernel.output_matrix if isinstance(kernel, Decomposable) else None
        self._shift = target_shift(y, weights, self.fit_intercept)
        self._stale = False

    def _solve(self, alphas, several, X=None, y=None, weights=None, small=False):
        """From the sums to coefficients; the rows are needed for a choice of ridges and for the largest systems only."""
        self._forget()
        used = self._used_statistics()
        self.alpha_ = float(alphas[0])
        self.solver_ = "eigen" if small else self._chosen_solver()
        self.n_iter_ = 1  # direct solvers take one step
        if several:
            refuse_several(self.solver_, len(alphas))
        eigen = self.solver_ == "eigen"
        system = None
        if small:
            mapped = block_features(self._scalar)
            system = small_system(mapped, self._statistics, self.fit_intercept, X, y, weights)
        elif (eigen and several) or (is_learned(self._asked_matrix) and used.gram.ndim == 2):
            system = whole_system(self._statistics, self.fit_intercept)
        self._lift(used, system)
        if eigen:
            basis = OutputBasis.of(self.kernel_.matrix())
            direct = None if system is not None else direct_ridge(used, basis, self.alpha_)
            if direct is None:
                work = self._set_work(system, basis)
                if several:
                    self.loo_errors_ = leave_one_out_errors(work, alphas, X, y, weights)
                    self.alpha_ = float(alphas[np.argmin(self.loo_errors_)])
                direct = eigen_ridge(work.system, basis, self.alpha_), explained(work.system, basis, self.alpha_)
            coefficients, total = direct[0], direct[1].sum()
        else:
            parameters, total = self._solve_normal(used, alphas, several, X, y, weights)
            coefficients = self.measure_.expand(parameters)
        self._store(coefficients, used, total)

    def _solve_normal(self, used, alphas, several, X, y, weights):
        """θ of the normal equations and yᵀΨθ, by the chosen solver."""
        right_side = self.measure_.contract(used.cross)
        if self.solver_ == "cholesky":
            matrix = normal_matrix(self.measure_, used.gram)
            if several:
                self._system = self._normal_system(matrix, right_side)
                self.loo_errors_ = self._system.leave_one_out_errors(alphas, X, y, weights)
                self.alpha_ = float(alphas[np.argmin(self.loo_errors_)])
                return self._system.parameters(self.alpha_), self._system.explained(self.alpha_)
            theta = cholesky_ridge(matrix, right_side, self.alpha_)
            return theta, right_side @ theta
        if used.gram.ndim == 2:
            operator = gram_operator(self.measure_, used.gram)
            diagonal = normal_diagonal(self.measure_, np.diag(used.gram))
        else:
            operator = row_operator(self.measure_, self._centered_features(), X, weights)
            diagonal = normal_diagonal(self.measure_, used.gram)
        solve = conjugate_gradient if self.solver_ == "cg" else lbfgs_ridge
        theta, self.n_iter_ = solve(operator, right_side, self.alpha_, diagonal, self.max_iter, self.tol)
        if self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"solver={self.solver_!r} stopped after max_iter={self.max_iter} steps short of tol={self.tol}. Raise max_iter or "
                "alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return theta, right_side @ theta

    def _fit_sgd(self, alphas, several, X, y, weights):
        if several:
            refuse_several("sgd", len(alphas))
        if is_dask(X):
            raise ValueError("solver='sgd' shuffles rows in memory, and X is a Dask array. Write solver='auto'.")
        self._forget()
        self._statistics = RidgeStatistics.of(
            block_features(self._scalar), X, y, weights, self._shift, whole_gram=False
        )
        used = self._used_statistics()
        self._lift(used, None)
        targets = y - used.target_mean if self.fit_intercept else y
        self.alpha_, self.solver_, self.n_iter_ = float(alphas[0]), "sgd", self.max_iter
        rng = as_generator(self.random_state)
        features = self._centered_features()
        theta = stochastic_ridge(self.measure_, features, X, targets, weights, self.alpha_, self.max_iter, rng)
        explained_squares = self.measure_.contract(used.cross) @ theta
        self._store(self.measure_.expand(theta), used, explained_squares)

    def _lift(self, used, system):
        """Operators on the atoms; the output matrix of a decomposable kernel becomes numbers."""
        if isinstance(self.kernel_, Decomposable):
            covariance = self._statistics.centered().target_gram / self._statistics.weight
            matrix = numeric_output_matrix(self._asked_matrix, covariance, used, system)
            self.kernel_ = clone(self.kernel_).set_params(output_matrix=matrix)
        self.measure_ = self.kernel_.lift(self._scalar)

    def _forget(self):
        """What an earlier solution left behind."""
        for name in ("loo_errors_", "_work", "_system"):
            self.__dict__.pop(name, None)

    def _store(self, coefficients, used, explained_squares):
        rest = max(np.trace(used.target_gram) - explained_squares, 0.0)
        self.noise_variance_ = float(rest / (used.weight * coefficients.shape[1]))
        self._coefficients = coefficients
        self._constant = np.zeros(coefficients.shape[1])
        if self.fit_intercept:
            self._constant = self._statistics.target_mean - self._statistics.feature_mean @ coefficients
        self._stale = False

    def _used_statistics(self):
        return self._statistics.centered() if self.fit_intercept else self._statistics

    def _set_work(self, system, basis):
        """Eigenvectors for passes over rows; made when first asked for."""
        system = whole_system(self._statistics, self.fit_intercept) if system is None else system
        self._work = RowWork.of(block_features(self._scalar), self._statistics, self.fit_intercept, system, basis)
        return self._work

    def _eigen_work(self):
        if hasattr(self, "_work"):
            return self._work
        return self._set_work(None, OutputBasis.of(self.kernel_.matrix()))

    # --- choices ----------------------------------------------------------------------------------------------------

    def _check_parameters(self):
        alphas, several = check_alphas(self.alpha)
        check_count(self.n_components, "n_components")
        check_choice(self.solver, "solver", SOLVERS)
        check_choice(self.sampling, "sampling", ("iid", "orthogonal", "qmc"))
        check_count(self.max_iter, "max_iter")
        check_positive(self.tol, "tol")
        if self.block_size != "auto":
            check_count(self.block_size, "block_size")
        if self.kernel is not None and not isinstance(self.kernel, OperatorKernel):
            raise TypeError(
                f"kernel must be an operator-valued kernel such as CurlFree(Gaussian()), got {self.kernel!r}."
            )
        if self.solver == "eigen" and not isinstance(self.kernel, Decomposable | None):
            raise ValueError(
                f"solver='eigen' is for Decomposable kernels, got {type(self.kernel).__name__}. Write solver='auto'."
            )
        return alphas, several

    def _chosen_solver(self):
        rank = len(self._shift) if isinstance(self.kernel_, Decomposable) else self.kernel_.lift(self._scalar).rank
        return choose_solver(self.solver, self.kernel_, 2 * len(self._scalar), 2 * len(self._scalar) * rank)

    # --- after the fit ----------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scalar features, (n_outputs, 2 n_atoms)."""
        self._ensure_solved()
        return self._coefficients.T

    @property
    def intercept_(self) -> np.ndarray:
        """The constant part, (n_outputs,)."""
        self._ensure_solved()
        return self._constant

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(X), (n_samples, n_outputs), and with ``return_std`` the standard deviation of an observation around it."""
        X = self._checked(X)
        mean = self._evaluate(X, self._coefficients, self._constant)
        if not return_std:
            return mean
        with row_block_size(self.block_size):
            if self.solver_ == "eigen":
                noise = np.full(self._coefficients.shape[1], self.noise_variance_)
                return mean, np.sqrt(predictive_variance(self._eigen_work(), self.alpha_, noise, X))
            return mean, np.sqrt(self._leverage_system().variance(self.alpha_, self.noise_variance_, X))

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The prediction of each training row by the fit without it, exactly; X and y must be rows of the training data."""
        X = self._checked(X)
        y = check_targets(self, X, y, need_columns=True)
        weights = check_weights(sample_weight, X)
        if self.solver_ == "eigen":
            return leave_one_out_predictions(self._eigen_work(), self.alpha_, X, y, weights)
        return self._leverage_system().leave_one_out_predictions(self.alpha_, X, y, weights)

    def mean_leverage(self) -> float:
        """Share of the outputs' degrees of freedom that the fit spends, below 1; zero where no factorization was made."""
        self._ensure_solved()
        if self.solver_ != "eigen":
            return 0.0
        basis = OutputBasis.of(self.kernel_.matrix())
        share = 1 / self._statistics.weight if self.fit_intercept else 0.0
        if not hasattr(self, "_work"):
            return direct_leverage(self._used_statistics(), basis, self.alpha_) + share
        values = self._work.system.values[:, None]
        spent = np.sum(values / (values + basis.penalties(self.alpha_)), axis=0)
        return float(np.mean(spent) / self._statistics.weight) + share

    def _checked(self, X):
        check_is_fitted(self, "_scalar")
        self._ensure_solved()
        return check_rows(self, X, reset=False).source

    def _ensure_solved(self):
        if self._stale:
            alphas, _ = check_alphas(self.alpha)
            self._solve(alphas, several=False)

    def _leverage_system(self):
        if self._statistics.gram.ndim == 1 or self.measure_.n_columns > DENSE_LIMIT:
            raise ValueError(
                f"Standard deviations and leave-one-out need the normal matrix of {self.measure_.n_columns} unknowns; it is formed "
                f"up to {DENSE_LIMIT}, and not with solver='sgd'. Lower n_components."
            )
        if not hasattr(self, "_system"):
            used = self._used_statistics()
            right_side = self.measure_.contract(used.cross)
            return self._normal_system(normal_matrix(self.measure_, used.gram), right_side)
        return self._system

    def _normal_system(self, matrix, right_side):
        mean = self._statistics.target_mean if self.fit_intercept else np.zeros(len(self._shift))
        share = 1 / self._statistics.weight if self.fit_intercept else 0.0
        return NormalSystem.of(self.measure_, self._centered_features(), mean, share, matrix, right_side)

    def _centered_features(self):
        mean = self._statistics.feature_mean if self.fit_intercept else np.zeros(2 * len(self._scalar))
        return CenteredFeatures(block_features(self._scalar), mean)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.single_output = False
        return tags
