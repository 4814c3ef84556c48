"""KernelMachine: ridge regression with the closed-form kernel of a prior, exactly."""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._checks import as_generator, check_choice, check_count, check_flag, check_positive
from .._estimator import Estimator
from .._loops.arrays import as_dense
from ..data import Block
from ..data.repetitions import draw_held_out, equal_rows, held_out_size
from ..data.training import TrainingData
from ..expansions.kernels import Effects, closed_form_gram
from ..priors import Laplace, SpectralPrior
from ..solvers.choice import check_alphas, with_further_ridges
from ..solvers.dual import CholeskySystem, EigenPath, dual_expansion, kernel_matrix
from ..solvers.dual_iterative import GramProducts, NystromPreconditioner, iterated_solutions
from ..solvers.posterior import draws, log_marginal_likelihood

# Up to this many rows a direct solution needs seconds, and it gives leave-one-out errors.
_EXACT_ROWS = 4000
# Columns of the preconditioner: a quarter of the rows, between these numbers.
_NYSTROM = (100, 1000)
# From this tolerance on, float32 is precise enough for the kernel matrix of conjugate gradients.
_TOL_OF_FLOAT32 = 1e-4


@dataclass(eq=False, repr=False)
class KernelMachine(MultiOutputMixin, RegressorMixin, Estimator):
    """Kernel ridge regression with the closed-form kernel of a prior.

    Minimizes Σ_i h_i ‖f(x_i) + b − y_i‖² + α ‖f‖². The functions f are those of the kernel
    k(x, z) + Σ_j linear_j x_j z_j / d. The h_i are the weights of the rows, and the intercept b is
    not penalized. The kernel is exact: the model is the limit of ``SpectralRidge`` for many
    features.

    Parameters
    ----------
    prior : a prior of ``bochner.priors``, or a FourierMeasure, default None
        Its kernel is k; None is ``Laplace(gamma="scale")``. ``Evidence().learn_prior(Anova(), X, y,
        rng)`` returns a prior with a rate and a weight for each column.
    alpha : float or several, default (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
        The ridge α. Of several, a direct solution chooses the one with the smallest exact
        leave-one-out error (a row of weight h counts as h rows, one of which is left out).
        Conjugate gradients choose the one with the smallest error on held-out rows. If the best one
        is the smallest or the largest, up to six further decades are tried, as long as each lowers
        the error by more than 0.1 %. No ridge is below 1e-10 of the largest eigenvalue of the
        kernel matrix. Conjugate gradients only try larger ones, which need fewer steps.
    linear : float or one per column, default 0.0
        Weight of the linear part.
    fit_intercept : bool, default True
        Add an unpenalized constant b.
    solver : "auto", "cholesky" or "cg", default "auto"
        Direct, or conjugate gradients with a Nyström preconditioner; "auto" is direct up to 4000
        rows if ``max_bytes`` allows it.
    max_bytes : int, default 2147483648
        Memory for kernel matrices, 2 GiB. A direct solution that needs more raises an error before
        it starts. Conjugate gradients then compute the kernel again for each product. Rows on Dask
        are moved to this machine if their kernel matrix is not larger.
    tol : float, default 1e-3
        Conjugate gradients stop at this residual of the linear system, relative to its right-hand
        side.
    max_iterations : int, default 200
        Largest number of steps of conjugate gradients. If they do not reach ``tol``, a
        ``ConvergenceWarning`` is given.
    random_state : None, int, RandomState or Generator, default None
        For the columns of the preconditioner and the held-out rows of conjugate gradients.

    Attributes
    ----------
    expansion_ : KernelExpansion, the fitted function: values, derivatives, effects
    prior_ : the prior with numbers
    alpha_ : the ridge in use
    alphas_ : the ridges that were compared, if several: those given, and further ones
    loo_errors_ : mean squared leave-one-out error of each of ``alphas_`` (direct solutions)
    held_out_errors_ : mean squared error of each of ``alphas_`` on held-out rows (conjugate
        gradients); infinite for ridges that were not tried
    noise_variance_ : the most likely variance of the noise, for each output
    log_marginal_likelihood_ : logarithm of the density of all targets, summed over outputs, in the
        Gaussian process of ``predict`` (direct solutions). Its amplitude, ``noise_variance_ /
        alpha_``, and its intercept have their most likely values. A row of weight h counts as h
        rows.
    solver_ : "cholesky" or "cg"

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> model = KernelMachine().fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    _defaults: ClassVar = {"prior": Laplace(gamma="scale")}

    prior: SpectralPrior | None = None
    _: KW_ONLY
    # Several by default: data sets need different ridges, and a choice among six costs no more than
    # one eigendecomposition.
    alpha: Any = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
    linear: Any = 0.0
    fit_intercept: bool = True
    solver: str = "auto"
    max_bytes: int = 2**31
    tol: float = 1e-3
    max_iterations: int = 200
    random_state: Any = None

    def _check_parameters(self):
        check_choice(self.solver, "solver", ("auto", "cholesky", "cg"))
        check_flag(self.fit_intercept, "fit_intercept")
        check_count(self.max_bytes, "max_bytes")
        check_count(self.max_iterations, "max_iterations")
        check_positive(self.tol, "tol")
        self._component("prior", SpectralPrior)
        check_alphas(self.alpha)

    def _fit(self, data: TrainingData) -> None:
        """Solve for the coefficients of the training rows; sparse rows are made dense."""
        alphas, n_bytes = check_alphas(self.alpha), 8 * len(data) ** 2
        local = data.rows.local(
            math.isqrt(self.max_bytes // 8),
            f"KernelMachine keeps all rows on this machine, but X has {len(data)} of them in a "
            f"Dask collection, whose kernel matrix has {n_bytes / 1e9:.1f} GB, more than "
            f"max_bytes={self.max_bytes}. Use SpectralRidge, or raise max_bytes.",
        )
        self._one_dimensional = data.target.one_dimensional
        self.prior_ = self._component("prior").resolved(local, data.weights)
        self._linear = self._column_weights(local.n_features)
        X = self._dense(local.source)
        kept = data.row_weights > 0
        rows = X if kept.all() else X[kept]
        self._targets = np.ascontiguousarray(data.target.rows[kept])
        self._weights = data.row_weights[kept]
        equal = equal_rows(rows, data.target.take(kept), self._weights)
        # Copies of a row are left out with it.
        self._left_out_share = 1.0 if equal is None else equal.left_out_weights() / self._weights
        self.solver_ = self._chosen_solver(len(rows))
        for name in ("alphas_", "loo_errors_", "held_out_errors_", "log_marginal_likelihood_"):
            self.__dict__.pop(name, None)
        # Both are computed at their first use.
        self._system: CholeskySystem | None = None
        self._left_out: np.ndarray | None = None
        single = self.solver_ == "cg" and self.tol >= _TOL_OF_FLOAT32
        dtype = np.float32 if single else np.float64
        points = np.ascontiguousarray(rows, dtype=dtype)
        if self.solver_ == "cholesky":
            solution = self._solve_directly(points, alphas)
        else:
            solution = self._solve_iteratively(points, alphas, equal)
        self.expansion_ = dual_expansion(self.prior_, self._linear, rows, solution, dtype)
        # The most likely noise of the Gaussian process is α (y − b)ᵀ(K + α / h)⁻¹(y − b) / Σ h.
        explained = np.sum((self._targets - solution.intercept) * solution.dual, axis=0)
        noise = np.maximum(self.alpha_ * explained, 0.0) / self._weights.sum()
        self.noise_variance_ = float(noise[0]) if self._one_dimensional else noise
        if solution.log_determinant is not None:
            self.log_marginal_likelihood_ = log_marginal_likelihood(
                noise / self.alpha_, self.alpha_, self._weights, solution.log_determinant
            )
        # Rows of weight zero are predicted by a fit without them.
        self._absent = None
        if data.weights is not None:
            self._absent = ~kept, self.expansion_.evaluate(X[~kept])

    def __getstate__(self):
        # The factor of the kernel matrix is large, and is computed again when it is needed.
        state = super().__getstate__()
        return state | {"_system": None} if "_system" in state else state

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return predictions and, on request, their standard deviations or covariances.

        They are those of new observations of weight one, noise included, in the Gaussian process
        whose mean is the ridge. ``return_std`` adds standard deviations in the shape of the
        predictions. ``return_cov`` adds covariances, (n_samples, n_samples), with a last axis of
        n_outputs for two-dimensional y. Both need a direct solution.
        """
        if return_std and return_cov:
            raise ValueError(
                "Got return_std=True and return_cov=True. Write return_cov=True: the roots of its "
                "diagonal are the standard deviations."
            )
        if return_cov:
            mean, covariance = self._posterior(X)
            variance = self.noise_variance_ / self.alpha_
            return self._shaped(mean), np.multiply.outer(covariance, variance)
        rows = self._read_rows(X)
        mean = self._shaped(self.expansion_.evaluate(rows))
        if not return_std:
            return mean
        system = self._direct_system("Standard deviations need")
        row_bytes = 16 * len(self.expansion_)
        block = Block(self._variance_block, system, self._points(), row_bytes=row_bytes)
        variance = rows.map(block, dtype=np.float64)
        noise = np.atleast_1d(self.noise_variance_)
        return mean, self._shaped(np.sqrt(noise * (1 + variance[:, None] / self.alpha_)))

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool = True
    ) -> np.ndarray:
        """Return draws of observations at X, whose covariances are those of ``predict``.

        The shape is (n_rows, n_samples), or (n_rows, n_outputs, n_samples) for two-dimensional y.
        With ``noise=False`` the draws are functions b + f, without the noise of observations. A
        direct solution is needed.
        """
        check_count(n_samples, "n_samples")
        check_flag(noise, "noise")
        mean, covariance = self._posterior(X, noise)
        variances = np.atleast_1d(self.noise_variance_) / self.alpha_
        rng = as_generator(random_state)
        return self._shaped(draws(mean, covariance, variances, n_samples, rng))

    def _posterior(self, X, noise=True):
        """Return means at X, and covariances in units of the amplitude, with or without noise."""
        rows = self._read_rows(X)
        system = self._direct_system("Covariances need")
        n_bytes = 8 * len(rows) ** 2 * (2 + self.expansion_.n_outputs)
        refusal = (
            f"The covariances of {len(rows)} rows need {n_bytes / 1e9:.1f} GB, more than "
            f"max_bytes={self.max_bytes}. Give fewer rows, or raise max_bytes."
        )
        if n_bytes > self.max_bytes:
            raise ValueError(refusal)
        rows = rows.local(len(rows), refusal)
        points = np.ascontiguousarray(self._dense(rows.source), dtype=np.float64)
        covariance = system.covariance(self._gram(points, self._points()), self._gram(points))
        covariance[np.diag_indices_from(covariance)] += self.alpha_ if noise else 0.0
        return self.expansion_.evaluate(rows), covariance

    def _variance_block(self, system, points, X, out):
        X = as_dense(X).astype(np.float64)
        at_zero = closed_form_gram(self.prior_, np.zeros((1, X.shape[1])))[0, 0]
        out[...] = system.variance(self._gram(X, points), at_zero + X**2 @ self._linear)

    def leave_one_out(self) -> np.ndarray:
        """Return the exact prediction of each training row by the fit without it and its copies.

        Prior and ridge stay the same.
        """
        check_is_fitted(self)
        if self._left_out is None:
            system = self._direct_system("Exact leave-one-out predictions need")
            coefficients = np.asarray(self.expansion_.coefficients)
            self._left_out = system.left_out(coefficients, self._left_out_share)
        present = self._targets - self._left_out
        if self._absent is None:
            return self._shaped(present)
        absent, predicted = self._absent
        predictions = np.empty((len(absent), present.shape[1]))
        predictions[~absent], predictions[absent] = present, predicted
        return self._shaped(predictions)

    def jacobian(self, X: Any) -> np.ndarray:
        """Return ∂f/∂x, see ``KernelExpansion``.

        (n_samples, n_outputs, n_features), or (n_samples, n_features) for one-dimensional y.
        """
        rows = self._read_rows(X)
        return self._shaped(self.expansion_.jacobian(rows))

    def effects(self, X: Any, max_order: int = 2) -> Effects:
        """Return the prediction as a sum of main effects, pairs and the rest.

        For product kernels; see ``KernelExpansion``.
        """
        rows = self._read_rows(X)
        return self.expansion_.effects(rows, max_order)

    @property
    def intercept_(self) -> Any:
        """Intercept, one number for each output."""
        intercept = self.expansion_.intercept
        return float(intercept[0]) if self._one_dimensional else intercept

    # --- choices ----------------------------------------------------------------------------------

    def _column_weights(self, n_features):
        """Return the weights of the linear part, one for each column."""
        linear = np.asarray(self.linear, dtype=np.float64)
        is_valid = np.all(np.isfinite(linear)) and not np.any(linear < 0)
        if linear.shape not in ((), (n_features,)) or not is_valid:
            raise ValueError(
                f"linear must be one non-negative number, or one for each of {n_features} columns, "
                f"got {self.linear!r}."
            )
        return np.broadcast_to(linear / n_features, (n_features,))

    def _dense(self, X):
        if not sp.issparse(X):
            return X
        n_bytes = X.dtype.itemsize * X.shape[0] * X.shape[1]
        if n_bytes > self.max_bytes:
            raise ValueError(
                f"Sparse rows are made dense, and {X.shape[0]} x {X.shape[1]} numbers are "
                f"{n_bytes / 1e9:.1f} GB, more than max_bytes={self.max_bytes}. Use SpectralRidge, "
                "whose features keep rows sparse, or raise max_bytes."
            )
        return X.toarray()

    def _chosen_solver(self, n_rows):
        needed = 3 * 8 * n_rows**2  # the matrix, and the memory of LAPACK for its eigenvectors
        if self.solver == "auto":
            return "cg" if n_rows > _EXACT_ROWS or needed > self.max_bytes else "cholesky"
        if self.solver == "cholesky" and needed > self.max_bytes:
            raise ValueError(
                f"A direct solution for {n_rows} rows needs three matrices of {n_rows} x {n_rows}, "
                f"{needed / 1e9:.1f} GB, more than max_bytes={self.max_bytes}. Write solver='cg', "
                "or raise max_bytes."
            )
        return self.solver

    # --- solutions --------------------------------------------------------------------------------

    def _gram(self, X, Z=None):
        """Return kernel plus linear part in float64."""
        return kernel_matrix(self.prior_, self._linear, X, Z)

    def _solve_directly(self, X, alphas):
        self.alpha_ = float(alphas[0])
        if len(alphas) == 1:
            self._system = self._factorized(X)
            return self._system.solve(self._targets)
        if len(X) < 2:
            raise ValueError(
                f"A choice between {len(alphas)} ridges needs rows to leave out, got n_samples = "
                f"{len(X)}. Write one, e.g. alpha=1.0."
            )
        path = EigenPath(self._gram(X), self._targets, self._weights, self.fit_intercept)

        def error_of(alpha):
            residuals = path.solve(alpha, self._left_out_share).left_out
            return self._mean_squares(residuals, self._weights)

        errors = np.array([error_of(alpha) for alpha in alphas])
        alphas, errors = with_further_ridges(alphas, errors, error_of, path.smallest_ridge)
        self.alphas_, self.loo_errors_ = alphas, errors
        self.alpha_ = float(alphas[np.argmin(errors)])
        best = path.solve(self.alpha_, self._left_out_share)
        self._left_out = best.left_out
        return best

    def _factorized(self, X):
        return CholeskySystem(self._gram(X), self._weights, self.alpha_, self.fit_intercept)

    def _solve_iteratively(self, X, alphas, equal):
        rng = as_generator(self.random_state)
        self.alpha_ = float(alphas[0])
        if len(alphas) > 1:
            self.alphas_, self.held_out_errors_ = self._held_out_errors(X, alphas, equal, rng)
            self.alpha_ = float(self.alphas_[np.argmin(self.held_out_errors_)])
        products, preconditioner = self._iteration_parts(X, self._weights, rng)
        return self._iterate(products, preconditioner, self.alpha_, self._targets)[0]

    def _iteration_parts(self, X, weights, rng):
        products = GramProducts(self.prior_, X, self._linear, self.max_bytes)
        affordable = max(1, self.max_bytes // (4 * X.itemsize * len(X)))
        n_columns = min(max(len(X) // 4, _NYSTROM[0]), _NYSTROM[1], affordable, len(X))
        rows = np.sort(rng.choice(len(X), n_columns, replace=False))
        return products, NystromPreconditioner.of(products, rows, weights)

    def _iterate(self, products, preconditioner, alpha, targets, start=None):
        """Solve by conjugate gradients for the targets and, with an intercept, a column of ones."""
        (iterated,) = iterated_solutions(
            products,
            preconditioner,
            [alpha],
            targets,
            self.tol,
            self.max_iterations,
            start,
            fit_intercept=self.fit_intercept,
        )
        right, solved = iterated.right_sides, iterated.solved
        residuals = right - products.times(solved) - alpha / preconditioner.weights * solved
        sizes = np.maximum(np.linalg.norm(right, axis=1), np.finfo(float).tiny)
        residual = float(np.max(np.linalg.norm(residuals, axis=1) / sizes))
        # A residual that is computed again is a little larger than the one of the iteration.
        if residual > 2 * self.tol:
            warnings.warn(
                f"Conjugate gradients reached a relative residual of {residual:.1e} instead of "
                f"tol={self.tol:.1e} for alpha={alpha:.1e}. Write a larger alpha, a larger tol, or "
                "more max_iterations.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return iterated.solution, solved

    def _held_out_errors(self, X, alphas, equal, rng):
        """Return the ridges and the mean squared error of each on held-out rows.

        Each solution starts from that of the next stronger ridge. Weak ridges need the most steps,
        so the search stops at the first ridge that is worse than the one before. The errors of the
        others are infinite. For the same reason only stronger ridges are added.
        """
        n_held = held_out_size(len(X), 2)
        if n_held == 0:
            raise ValueError(
                f"A choice between {len(alphas)} ridges needs rows to hold out, got n_samples = "
                f"{len(X)}."
            )
        held = draw_held_out(equal, len(X), n_held, rng)
        inner = np.setdiff1d(np.arange(len(X)), held)
        targets, weights = self._targets[inner], self._weights[inner]
        products, preconditioner = self._iteration_parts(X[inner], weights, rng)
        errors, start, last = np.full(len(alphas), np.inf), None, np.inf

        def error_of(alpha):
            nonlocal start
            solution, start = self._iterate(products, preconditioner, alpha, targets, start)
            fitted = dual_expansion(self.prior_, self._linear, X[inner], solution, X.dtype)
            residuals = self._targets[held] - fitted.evaluate(X[held])
            return self._mean_squares(residuals, self._weights[held])

        for index in np.argsort(-alphas):
            errors[index] = error_of(float(alphas[index]))
            if errors[index] > last:
                break
            last = errors[index]
        return with_further_ridges(alphas, errors, error_of, smallest=np.inf)

    def _mean_squares(self, residuals, weights):
        return float(np.sum(weights[:, None] * residuals**2) / (weights.sum() * residuals.shape[1]))

    def _points(self):
        return np.asarray(self.expansion_.points, dtype=np.float64)

    def _direct_system(self, what):
        """Return the factor of K + α / h, computed at the first use."""
        if self.solver_ != "cholesky":
            raise ValueError(
                f"{what} a direct solution; this one is by conjugate gradients. Fit with "
                "solver='cholesky'."
            )
        if self._system is None:
            self._system = self._factorized(self._points())
        return self._system

    def _shaped(self, values):
        return values[:, 0] if self._one_dimensional else values
