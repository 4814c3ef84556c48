"""OperatorRidge: ridge regression with an operator-valued kernel, on random features with matrix factors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._compute import is_dask, row_block_size
from .._validation import check_choice, check_count, check_positive, check_rows
from ..features import SpectralFeatures, as_generator
from ..measures import FourierMeasure
from ..operators import Decomposable, OperatorKernel
from ..operators.output_matrix import check_output_matrix, covariance_output_matrix, learned_output_matrix
from .block_leverage import NormalSystem
from .checks import check_alphas, check_targets, check_weights, resolved_for_weights
from .eigen import (
    OutputBasis,
    RowWork,
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
from .statistics import RidgeStatistics, block_features, target_shift

# Up to this many unknowns (or scalar features) a matrix of all pairs of them is formed: 128 MB.
DENSE_LIMIT = 4096
_SOLVERS = ("auto", "eigen", "cholesky", "cg", "lbfgs", "sgd")


class OperatorRidge(FieldModel, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Vector-valued ridge regression with an operator-valued kernel, by random Fourier features (Brault et al. 2016).

    Minimizes Σ_i ‖Ψ(x_i) θ − y_i‖² + α ‖θ‖² where Ψ(x) Ψ(z)ᵀ approximates K(x, z).  The paper divides the sum by n:
    its λ is α / n.

    Parameters
    ----------
    kernel : Decomposable, CurlFree, DivergenceFree or Helmholtz; None is ``Decomposable()``, independent outputs
    n_components : int, default 100
        Number of frequencies D.
    alpha : float or list of floats, default 1.0
        From a list the ridge with the smallest exact leave-one-out error is taken.
    solver : "auto", "eigen", "cholesky", "cg", "lbfgs" or "sgd"
        "eigen" (decomposable kernels) solves for all ridges in two eigenbases, "cholesky" forms the normal matrix, "cg" and
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
        X = check_rows(self, X, reset=True)
        y = check_targets(self, X, y, need_columns=True)
        weights = check_weights(sample_weight, X)
        with row_block_size(self.block_size):
            self._start(X, y, weights)
            if self.solver == "sgd":
                self._fit_sgd(alphas, several, X, y, weights)
                return self
            small = self._is_small(X)
            self._statistics = RidgeStatistics.of(
                block_features(self._scalar), X, y, weights, self._shift, whole_gram=self._whole_gram()
            )
            self._solve(alphas, several, X, y, weights, small)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> OperatorRidge:
        """Add rows; after any sequence of calls the fit is that of all rows together, up to rounding.

        Frequencies and a bandwidth taken from the data come from the first call.  The system is solved when a
        prediction or a coefficient is next asked for.
        """
        if self._check_parameters()[1]:
            raise ValueError(
                "partial_fit cannot choose between several alphas: rows are gone after each call. Give one."
            )
        first = not hasattr(self, "_statistics")
        X = check_rows(self, X, reset=first)
        y = check_targets(self, X, y, need_columns=True)
        weights = check_weights(sample_weight, X)
        with row_block_size(self.block_size):
            if first:
                self._start(X, y, weights)
            elif y.shape[1] != len(self._shift):
                raise ValueError(f"y has {y.shape[1]} outputs, but earlier calls had {len(self._shift)}.")
            if not first and self._statistics.gram.ndim == 1:
                raise ValueError(
                    "fit left no sums that more rows could be added to. Begin with partial_fit instead of fit."
                )
            if not self._whole_gram() or self.solver == "sgd":
                raise ValueError(
                    f"partial_fit keeps the Gram matrix of the features, up to {DENSE_LIMIT} of them, and "
                    f"{2 * len(self._scalar)} with solver={self.solver!r} cannot. Lower n_components, or call fit."
                )
            added = RidgeStatistics.of(block_features(self._scalar), X, y, weights, self._shift)
        self._statistics = added if first else self._statistics + added
        self._stale = True
        self.__dict__.pop("loo_errors_", None)
        return self

    def _start(self, X, y, weights):
        """Sample and learn the scalar measure; the kernel with numbers for its bandwidth."""
        kernel = Decomposable() if self.kernel is None else self.kernel
        prior = kernel._checked_prior()
        n_outputs = y.shape[1]
        if not isinstance(kernel, Decomposable):
            self._check_outputs(kernel.n_outputs(X.shape[1]), n_outputs, kernel)
        elif not isinstance(kernel.output_matrix, str | None):
            self._check_outputs(len(kernel.matrix()), n_outputs, kernel)
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
        for name in ("loo_errors_", "_work", "_system"):
            self.__dict__.pop(name, None)

    def _solve(self, alphas, several, X=None, y=None, weights=None, small=False):
        """From the sums to coefficients; the rows are needed for a choice of ridges and for the largest systems only."""
        used = self._statistics.centered() if self.fit_intercept else self._statistics
        mapped = block_features(self._scalar)
        self.alpha_ = float(alphas[0])
        self.solver_ = "eigen" if small else self._chosen_solver()
        self.n_iter_ = 1  # direct solvers take one step
        if several and self.solver_ in ("cg", "lbfgs"):
            raise ValueError(
                f"solver={self.solver_!r} takes one alpha, got {len(alphas)}: choosing between them needs a factorization, which is "
                f"made up to {DENSE_LIMIT} unknowns. Give one alpha, or lower n_components."
            )
        system = None
        if isinstance(self.kernel_, Decomposable) and (small or used.gram.ndim == 2) and self._needs_system():
            system = (
                small_system(mapped, self._statistics, self.fit_intercept, X, y, weights)
                if small
                else whole_system(self._statistics, self.fit_intercept)
            )
        if isinstance(self.kernel_, Decomposable):
            self.kernel_ = clone(self.kernel_).set_params(output_matrix=self._output_matrix(used, system))
        self.measure_ = self.kernel_.lift(self._scalar)
        if self.solver_ == "eigen":
            basis = OutputBasis.of(self.kernel_.matrix())
            self._work = RowWork.of(mapped, self._statistics, self.fit_intercept, system, basis)
            if several:
                self.loo_errors_ = leave_one_out_errors(self._work, alphas, X, y, weights)
                self.alpha_ = float(alphas[np.argmin(self.loo_errors_)])
            coefficients = eigen_ridge(system, basis, self.alpha_)
            total = explained(system, basis, self.alpha_).sum()
        else:
            parameters, total = self._solve_normal(used, alphas, several, X, y, weights)
            coefficients = self.measure_.expand(parameters)
        rest = max(np.trace(used.target_gram) - total, 0.0)
        self._store(coefficients, rest / (self._statistics.weight * y_count(used)))

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
        if several or is_dask(X):
            raise ValueError("solver='sgd' takes one alpha and rows in memory. Write solver='auto'.")
        if isinstance(self.kernel_, Decomposable):
            matrix = self._output_matrix(None, None, y)
            self.kernel_ = clone(self.kernel_).set_params(output_matrix=matrix)
        self.measure_ = self.kernel_.lift(self._scalar)
        mapped = block_features(self._scalar)
        self._statistics = RidgeStatistics.of(mapped, X, y, weights, self._shift, whole_gram=False)
        used = self._statistics.centered() if self.fit_intercept else self._statistics
        targets = y - self._statistics.target_mean if self.fit_intercept else y
        rng = as_generator(self.random_state)
        self.alpha_, self.solver_, self.n_iter_ = float(alphas[0]), "sgd", self.max_iter
        theta = stochastic_ridge(
            self.measure_, self._centered_features(), X, targets, weights, self.alpha_, self.max_iter, rng
        )
        rest = max(np.trace(used.target_gram) - self.measure_.contract(used.cross) @ theta, 0.0)
        self._store(self.measure_.expand(theta), rest / (used.weight * y_count(used)))

    def _store(self, coefficients, noise):
        self.noise_variance_ = float(noise)
        self._coefficients = coefficients
        self._constant = np.zeros(coefficients.shape[1])
        if self.fit_intercept:
            self._constant = self._statistics.target_mean - self._statistics.feature_mean @ coefficients
        self._stale = False

    def _output_matrix(self, used, system, y=None):
        """The output matrix as numbers: given, identity, covariance of the outputs, or learned."""
        word = self._asked_matrix
        if word is None:
            return np.eye(len(self._shift))
        if not isinstance(word, str):
            return check_output_matrix(word)
        check_choice(word, "output_matrix", ("covariance", "learned"))
        if word == "covariance":
            return covariance_output_matrix(np.atleast_2d(np.cov(y.T)) if used is None else self._covariance())
        if system is None:
            raise ValueError(
                f"output_matrix='learned' needs the Gram matrix of the features, up to {DENSE_LIMIT} of them, and no "
                "solver='sgd'. Lower n_components, or write output_matrix='covariance'."
            )
        return learned_output_matrix(system.values, system.projections, used.target_gram, used.weight)[0]

    def _covariance(self):
        return self._statistics.centered().target_gram / self._statistics.weight

    # --- choices ----------------------------------------------------------------------------------------------------

    def _check_parameters(self):
        alphas, several = check_alphas(self.alpha)
        check_count(self.n_components, "n_components")
        check_choice(self.solver, "solver", _SOLVERS)
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

    def _check_outputs(self, expected, n_outputs, kernel):
        if expected != n_outputs:
            raise ValueError(
                f"{type(kernel).__name__} has {expected} outputs on these points, but y has {n_outputs} columns. "
                + (
                    "Its output matrix must have one row per column of y."
                    if isinstance(kernel, Decomposable)
                    else "A vector field has one output per direction: give coordinates=[...] with one column of X for each "
                    "column of y, or write Decomposable."
                )
            )

    def _is_small(self, X):
        """Fewer rows than features: the eigensystem then comes from the rows' own Gram matrix."""
        decomposable = isinstance(self.kernel_, Decomposable) and self.solver in ("auto", "eigen")
        return decomposable and not is_dask(X) and X.shape[0] < min(2 * len(self._scalar), DENSE_LIMIT)

    def _whole_gram(self):
        return 2 * len(self._scalar) <= DENSE_LIMIT

    def _needs_system(self):
        return self.solver_ == "eigen" or (isinstance(self._asked_matrix, str) and self._asked_matrix == "learned")

    def _chosen_solver(self):
        n_unknowns = self._n_unknowns()
        decomposable = isinstance(self.kernel_, Decomposable)
        if self.solver == "auto":
            if not self._whole_gram():
                return "cg"
            if decomposable:
                return "eigen"
            return "cholesky" if n_unknowns <= DENSE_LIMIT else "cg"
        if self.solver in ("eigen", "cholesky") and not self._whole_gram():
            raise ValueError(
                f"solver={self.solver!r} forms a matrix of all pairs of {2 * len(self._scalar)} features, more than {DENSE_LIMIT}. "
                "Write solver='cg', or lower n_components."
            )
        if self.solver == "cholesky" and n_unknowns > 4 * DENSE_LIMIT:
            raise ValueError(
                f"solver='cholesky' with {n_unknowns} unknowns needs {8e-9 * n_unknowns**2:.0f} GB. Write 'cg'."
            )
        return self.solver

    def _n_unknowns(self):
        if isinstance(self.kernel_, Decomposable):
            return 2 * len(self._scalar) * len(self._shift)
        return self.kernel_.lift(self._scalar).n_columns

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
                return mean, np.sqrt(predictive_variance(self._work, self.alpha_, noise, X))
            return mean, np.sqrt(self._leverage_system().variance(self.alpha_, self.noise_variance_, X))

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The prediction of each training row by the fit without it, exactly; X and y must be rows of the training data."""
        X = self._checked(X)
        y = check_targets(self, X, y, need_columns=True)
        weights = check_weights(sample_weight, X)
        if self.solver_ == "eigen":
            return leave_one_out_predictions(self._work, self.alpha_, X, y, weights)
        return self._leverage_system().leave_one_out_predictions(self.alpha_, X, y, weights)

    def _checked(self, X):
        check_is_fitted(self, "_scalar")
        self._ensure_solved()
        return check_rows(self, X, reset=False)

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
            used = self._statistics.centered() if self.fit_intercept else self._statistics
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


def y_count(statistics: RidgeStatistics) -> int:
    """Number of outputs."""
    return len(statistics.target_sum)
