"""What the ridges on features share: from rows to sums, from sums to a solution, and what can be
asked of it.
"""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..._checks import as_generator, check_flag
from ..._estimator import (
    CallbackSupportMixin,
    NestedDefaults,
    RegressorScore,
    reporting,
    restore_on_failure,
)
from ..._loops.arrays import as_dense
from ...data import Block, Rows
from ...data.checks import check_rows, check_weights
from ...data.targets import Labels, Target, Values
from ...expansions.waves import Expansion, ExpansionModel
from ...features.landmarks import LandmarkFeatures
from ...features.spectral import SpectralFeatures, fitted_transformer
from ...measures.fourier import FourierMeasure
from ...operators import OperatorKernel
from ...solvers import Eigen, Solver
from ...solvers.base import CenteredRows, RidgeProblem, feature_block
from ...solvers.choice import check_solver, chosen_solver, matrix_fits, rows_are_few
from ...solvers.direct import EigenFactorization
from ...solvers.outputs import CoupledOutputs, DecoupledOutputs, Outputs
from ...solvers.precision import LARGEST_CONDITION, hardest_condition, tiles_seem_enough
from ...solvers.statistics import RidgeStatistics, TrainingRows
from ...solvers.systems import Eigensystem
from .alphas import chosen_ridge, mean_kernel, ridges


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """The solution of a ridge: f(x) = features(x) @ coefficients + intercept."""

    coefficients: np.ndarray
    intercept: np.ndarray
    unexplained: np.ndarray  # Σ_i h_i y_i (y_i − f(x_i)) for each output
    alpha: float
    solver: Solver
    n_iter: int
    kernel: OperatorKernel
    outputs: Outputs


class _Posed(NamedTuple):
    """The systems that are to be solved: their sums, the kernel with its output matrix, and the
    ridges to choose from.
    """

    problem: RidgeProblem
    kernel: OperatorKernel
    alphas: np.ndarray

    def is_too_coarse(self) -> bool:
        """Whether the sums were made in float32 tiles, and a system is too ill-conditioned for
        these.
        """
        problem = self.problem
        if not problem.sums.tiled or not matrix_fits(len(problem.right_side)):
            return problem.sums.tiled
        return hardest_condition(problem.matrix, problem.outputs, self.alphas) > LARGEST_CONDITION


class RidgeModel(
    CallbackSupportMixin, ExpansionModel, MultiOutputMixin, RegressorScore, NestedDefaults
):
    """A ridge on features of rows. What ``partial_fit`` has summed is solved when something of it
    is next asked for.

    ``_start`` of a subclass fits the features and sets ``_kernel``, which says how outputs go
    together, and ``_source``.
    """

    alpha: Any
    solver: Solver | None
    fit_intercept: bool
    random_state: Any
    alphas_: np.ndarray
    loo_errors_: np.ndarray
    gcv_errors_: np.ndarray
    _statistics: RidgeStatistics  # over all rows so far
    _kernel: OperatorKernel
    _source: Any  # of the features: a FourierMeasure, or a fitted transformer
    _one_dimensional: bool
    _bounded = False  # whether matrices of all unknowns are only formed up to a limit

    @abstractmethod
    def _start(self, rows: Rows, target: Values, taught: Target, weights: np.ndarray | None) -> int:
        """The number of columns of the features, 0 where it is not known yet; their learner learns
        from ``taught``.
        """

    # --- fitting ----------------------------------------------------------------------------------

    @restore_on_failure
    @reporting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the features, then the ridge."""
        self._check_parameters()
        self._forget("_statistics", "features_")
        rows, target, weights = self._read(X, y, sample_weight, reset=True)
        return self._fit_rows(rows, target, target, weights)

    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows; after any sequence of calls the ridge is that of all rows together, up to
        rounding.

        The features come from the first call, also what a learner learns and a bandwidth taken from
        the data. The system is solved when a prediction or a coefficient is next asked for. Rows
        are gone by then, so the choice between several ridges, also that of "auto", is by
        generalized cross-validation, which needs the sums alone: that of the mean leverage for each
        row's own.
        """
        several = len(self._check_parameters()) > 1
        first = not self.__sklearn_is_fitted__()
        rows, target, weights = self._read(X, y, sample_weight, reset=first)
        if first:
            n_columns = self._start(rows, target, target, weights)
            self._one_dimensional, shift = target.one_dimensional, self._shift(target, weights)
        else:
            self._check_continuation(y, target)
            n_columns, shift = len(self._statistics.feature_sum), self._statistics.shift
        if (self._bounded and not matrix_fits(n_columns)) or (
            self.solver is not None and self.solver.needs_rows
        ):
            raise ValueError(
                f"partial_fit keeps the Gram matrix of the features, and {n_columns} features with "
                f"solver={self.solver!r} have none. "
                "Lower n_components, or call fit."
            )
        if several and self._bounded and not matrix_fits(self._n_unknowns(n_columns)):
            raise ValueError(
                "partial_fit chooses a ridge with a matrix of all pairs of "
                f"{self._n_unknowns(n_columns)} unknowns, which is too large. Give "
                "one number, e.g. alpha=1.0, or lower n_components."
            )
        added = RidgeStatistics.of(
            feature_block(self._source), TrainingRows(rows, target.rows, weights), shift
        )
        self._statistics = added if first else self._statistics + added
        self._forget()
        return self

    @restore_on_failure
    def merge(self, other: Self) -> Self:
        """Take in what another fit has seen: afterwards the ridge is that of the rows of both, up
        to rounding.

        Both need the same frequencies: the same prior with a number for its bandwidth, no learner,
        and the same integer seed. The other's rows are not needed, only its sums, so that data
        which must not meet can be learned from together.
        """
        check_is_fitted(self)
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__} merges with another one, got {other!r}.")
        check_is_fitted(other)
        if not (
            _same_measure(self._source, other._source) and _same_kernel(self._kernel, other._kernel)
        ):
            raise ValueError(
                "The two fits have different features. Give both the same kernel or prior with a "
                "number for its bandwidth (not 'scale' or "
                "'median', which depend on the rows) and the same integer random_state."
            )
        added = other._statistics
        shapes = [(len(one._statistics.shift), one._one_dimensional) for one in (self, other)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"The two fits have targets of different shapes: {shapes[0][0]} and {shapes[1][0]} "
                "columns."
            )
        if self._statistics.gram.ndim == 1 or added.gram.ndim == 1:
            raise ValueError(
                f"The Gram matrix of {len(added.gram)} features was too large to be kept by fit, "
                "so the fits cannot be merged. Lower "
                "n_components."
            )
        self._statistics = self._statistics + added.around(self._statistics.shift)
        self._forget()
        return self

    def _fit_rows(
        self,
        rows: Rows,
        target: Values,
        taught: Target,
        weights: np.ndarray | None,
        counts: Any = None,
    ) -> Self:
        """Fit rows that have been read.

        A learner of the features learns from ``taught``; ``counts`` are the weights without those
        of classes.
        """
        n_columns = self._start(rows, target, taught, weights)
        self._one_dimensional = target.one_dimensional
        data = TrainingRows(rows, target.rows, weights)
        if len(ridges(self.alpha)) > 1 or isinstance(taught, Labels):
            data = TrainingRows.with_copies(rows, target.rows, weights, taught, counts)
            self._mean_left_out = data.mean_left_out_weight()
        few = (
            self._kernel.decomposable
            and rows.is_local
            and rows_are_few(self.solver, len(rows), n_columns)
        )
        solver = self._chosen_solver(n_columns, few)
        # Few rows do not need the large matrix; where it is not too large it is kept for
        # partial_fit.
        whole = not solver.needs_rows and (matrix_fits(n_columns) or not (few or self._bounded))
        block, shift = feature_block(self._source), self._shift(target, weights)
        dense = whole and solver.needs_matrix and matrix_fits(self._n_unknowns(n_columns))
        tiled = dense and tiles_seem_enough(block, data, n_columns, self._hardest_guess)
        statistics = RidgeStatistics.of(block, data, shift, whole_gram=whole, tiled=tiled)
        posed = self._posed(statistics, data, few)
        if posed.is_too_coarse():
            statistics = RidgeStatistics.of(block, data, shift, whole_gram=whole)
            posed = self._posed(statistics, data, few)
        self._solution = self._solve(posed, solver, data)
        self._statistics = statistics
        return self

    @cached_property
    def _solution(self) -> RidgeFit:
        check_is_fitted(self)
        posed = self._posed(self._statistics)
        if posed.is_too_coarse():
            warnings.warn(
                "fit summed float32 rows in float32 tiles, which are too coarse for "
                f"alpha={posed.alphas.min():.3g} and the rows that were "
                "added since: digits of the solution are lost. Raise alpha, or give all rows to "
                "partial_fit, which sums in float64.",
                stacklevel=2,
            )
        return self._solve(posed, self._chosen_solver(len(self._statistics.feature_sum)))

    def _chosen_solver(self, n_columns, few=False):
        n_alphas, n_unknowns = len(ridges(self.alpha)), self._n_unknowns(n_columns)
        return chosen_solver(
            self.solver, n_alphas, n_columns, n_unknowns, few_rows=few, bounded=self._bounded
        )

    def _n_unknowns(self, n_columns):
        return n_columns if self._kernel.decomposable else self._kernel.lift(self._source).n_columns

    def _posed(self, statistics, data=None, few=False):
        """From the sums to the systems that are to be solved."""
        sums, centered = self._centered(statistics)
        spectrum = None
        if few:
            spectrum = _spectrum_of_rows(centered, data)
        elif self._kernel.learns_outputs and sums.gram.ndim == 2:
            spectrum = Eigensystem.of(sums.gram, sums.cross)
        known = (
            None
            if spectrum is None
            else (spectrum.values, spectrum.projections, sums.target_gram, sums.weight)
        )
        # The words "covariance" and "learned" are resolved again after more rows: what was asked
        # for is kept.
        kernel = self._kernel.resolved_outputs(statistics.target_covariance, known)
        outputs = (
            DecoupledOutputs.of(kernel.matrix())
            if kernel.decomposable
            else CoupledOutputs(kernel.lift(self._source))
        )
        alphas = ridges(self.alpha, mean_kernel(statistics, sums, outputs))
        return _Posed(RidgeProblem(sums, centered, outputs, spectrum), kernel, alphas)

    def _hardest_guess(self, statistics):
        """The condition of what is to be solved by sums of some rows, without targets and what
        follows from these.
        """
        kernel = self._kernel
        outputs = (
            DecoupledOutputs.of(np.eye(1))
            if kernel.decomposable
            else CoupledOutputs(kernel.lift(self._source))
        )
        sums, _ = self._centered(statistics)
        alphas = ridges(self.alpha, mean_kernel(statistics, sums, outputs))
        return hardest_condition(outputs.matrix(sums.gram), outputs, alphas)

    def _solve(self, posed, solver, data=None):
        """The coefficients; rows are needed for a choice of ridges and for the largest systems."""
        problem, kernel, alphas = posed
        sums, centered = problem.sums, problem.rows
        rng = as_generator(self.random_state) if solver.needs_rows else None
        factorization = solver.init(problem, data, rng)
        if isinstance(factorization, EigenFactorization):
            self._factorization = factorization
        alpha = float(
            alphas[0] if len(alphas) == 1 else self._chosen(alphas, problem, factorization, data)
        )
        coefficients, n_iter = factorization.solve(alpha)
        intercept = centered.target_mean - centered.feature_mean @ coefficients
        unexplained = np.diag(sums.target_gram) - np.sum(sums.cross * coefficients, axis=0)
        return RidgeFit(
            coefficients, intercept, unexplained, alpha, solver, n_iter, kernel, problem.outputs
        )

    def _chosen(self, alphas, problem, factorization, data):
        """The ridge with the smallest error: of left-out rows, or of the sums where the rows are
        gone.
        """
        self.alphas_ = alphas
        known = isinstance(factorization, EigenFactorization)
        if data is None:
            eigen = factorization if known else Eigen().init(problem)
            errors = self.gcv_errors_ = eigen.generalized_errors(alphas, problem.sums)
        else:
            eigen, data = (
                (factorization, data) if known else EigenFactorization.of_some_rows(problem, data)
            )
            errors = self.loo_errors_ = eigen.leave_one_out_errors(alphas, data)
        return chosen_ridge(alphas, errors)

    def _read(self, X, y, sample_weight, *, reset):
        rows = self._rows(X, reset=reset)
        owner = type(self).__name__
        target = Values.of(y, len(rows), owner=owner)
        return rows, target, check_weights(sample_weight, len(rows))

    def _rows(self, X, *, reset=False):
        if not reset:
            check_is_fitted(self)
        features = self._component("features")
        known = isinstance(features, SpectralFeatures | LandmarkFeatures)
        block_size = features.block_size if known else "auto"
        return check_rows(self, X, reset=reset, block_size=block_size, tensors=True)

    def _shift(self, target, weights):
        """Around what outputs are summed: their mean, or zero without an intercept, which could not
        take it back.
        """
        return (
            np.average(target.rows, axis=0, weights=weights)
            if self.fit_intercept
            else np.zeros(target.rows.shape[1])
        )

    def _fitted_features(self, features, rows, taught, weights):
        features = clone(features)
        if self.random_state is not None:
            features.set_params(random_state=self.random_state)
        if not isinstance(features, SpectralFeatures):
            return fitted_transformer(features, rows.source, taught.as_given(taught.rows), weights)
        return features.fit(rows, taught, weights)

    def _check_parameters(self):
        check_solver(self.solver)
        check_flag(self.fit_intercept, "fit_intercept")
        return ridges(self.alpha)

    def _check_continuation(self, y, target):
        n_outputs = len(self._statistics.shift)
        if target.one_dimensional != self._one_dimensional or target.rows.shape[1] != n_outputs:
            before = "one dimension" if self._one_dimensional else f"{n_outputs} columns"
            raise ValueError(f"y has shape {np.shape(y)}, but in earlier calls it had {before}.")
        if self._statistics.gram.ndim == 1:
            raise ValueError(
                f"The Gram matrix of {len(self._statistics.gram)} features was too large to be "
                "kept by fit, so no rows can be added. "
                "Lower n_components, or give those rows to partial_fit of a new model first."
            )

    def _forget(self, *more):
        """What an earlier solution left behind."""
        for name in ("_solution", "_factorization", "alphas_", "loo_errors_", "gcv_errors_", *more):
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return "_statistics" in vars(self)

    # --- after the fit ----------------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scalar features, (n_outputs, n_columns), or (n_columns,) for
        one-dimensional y.
        """
        coefficients = self._solution.coefficients
        return coefficients[:, 0] if self._one_dimensional else coefficients.T

    @property
    def intercept_(self) -> Any:
        """The constant part, (n_outputs,), or a number for one-dimensional y."""
        return (
            float(self._solution.intercept[0])
            if self._one_dimensional
            else self._solution.intercept
        )

    @property
    def alpha_(self) -> float:
        """The ridge in use."""
        return self._solution.alpha

    @property
    def solver_(self) -> Solver:
        """The solver in use."""
        return self._solution.solver

    @property
    def n_iter_(self) -> int:
        """Steps of the solver."""
        return self._solution.n_iter

    @property
    def expansion_(self) -> Expansion:  # type: ignore[override]
        """The fitted function as a sum of waves."""
        solution = self._solution
        if not isinstance(self._source, FourierMeasure):
            raise TypeError(
                "Only features on a FourierMeasure make a sum of waves, which has derivatives; "
                f"got {self.features_!r}."
            )
        return Expansion.of(self._source, solution.coefficients, solution.intercept)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions, and with ``return_std`` the standard deviation of an observation around
        them.

        The deviation is that of the Bayesian linear model which the ridge is the mean of, with the
        most likely noise.
        """
        rows = self._rows(X)
        mean = self._as_given(self._evaluate(rows))
        if not return_std:
            return mean
        noise = np.asarray(self.noise_variance_)
        return mean, self._as_given(np.sqrt(self._eigen().variance(self.alpha_, noise, rows)))

    def _evaluate(self, rows):
        if isinstance(self._source, FourierMeasure):
            return self.expansion_.evaluate(rows)
        coefficients, intercept = self._solution.coefficients, self._solution.intercept
        block = Block(
            _linear_block,
            self._source.transform,
            coefficients,
            intercept,
            row_bytes=16 * len(coefficients),
        )
        return rows.map(block, coefficients.shape[1])

    def jacobian(self, X: Any) -> Any:
        """∂f_a/∂x_b, (n_samples, n_outputs, n_features), or (n_samples, n_features) for
        one-dimensional y; exact.
        """
        return self._as_given(self.expansion_.jacobian(self._rows(X)))

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return the exact prediction of each training row by the fit without it and without its
        copies.

        X and y must be all rows of the training data.
        """
        rows, target, weights = self._read(X, y, sample_weight, reset=False)
        data = TrainingRows.with_copies(rows, target.rows, weights, target)
        return self._as_given(self._eigen().leave_one_out(self.alpha_, data))

    def mean_leverage(self) -> float:
        """Share of the outputs' degrees of freedom that the fit spends, below 1; zero where no
        matrix was factorized.
        """
        solution = self._solution
        return (
            vars(self).get("_factorization") or solution.solver.init(self._problem())
        ).mean_leverage(solution.alpha)

    @property
    @abstractmethod
    def noise_variance_(self) -> Any:
        """The most likely variance of the noise around the outputs."""

    def _as_given(self, values):
        return values[:, 0] if self._one_dimensional else values

    def _centered(self, statistics):
        sums = statistics.centered() if self.fit_intercept else statistics
        return sums, CenteredRows.of(self._source, statistics, self.fit_intercept)

    def _problem(self):
        sums, centered = self._centered(self._statistics)
        return RidgeProblem(sums, centered, self._solution.outputs)

    def _eigen(self) -> EigenFactorization:
        """The factorization that answers for single rows; made when first asked for."""
        solution = self._solution
        if "_factorization" not in vars(self):
            problem = self._problem()
            n_unknowns = len(problem.right_side)
            if problem.sums.gram.ndim == 1 or (self._bounded and not matrix_fits(n_unknowns)):
                raise ValueError(
                    "Standard deviations and leave-one-out need a matrix of all pairs of "
                    f"{n_unknowns} unknowns, which was too large for "
                    f"{solution.solver!r}. Lower n_components."
                )
            self._factorization = Eigen().init(problem)
        return self._factorization


def _same_measure(left, right):
    """Whether two fits have the same waves; of anyone's transformers nobody can tell."""
    if not (isinstance(left, FourierMeasure) and isinstance(right, FourierMeasure)):
        return left is right
    return np.array_equal(left.frequencies, right.frequencies) and np.array_equal(
        left.weights, right.weights
    )


def _same_kernel(left, right):
    """Whether two kernels have the same parameters; their priors have given the same waves."""
    mine, theirs = left.get_params(), right.get_params()
    if type(left) is not type(right) or mine.keys() != theirs.keys():
        return False
    plain = [name for name in mine if not isinstance(mine[name], BaseEstimator | FourierMeasure)]
    return all(np.array_equal(mine[name], theirs[name]) for name in plain)


def _linear_block(features, coefficients, intercept, X, out):
    out[...] = as_dense(features(X)) @ coefficients.astype(out.dtype, copy=False) + intercept


def _spectrum_of_rows(centered, data):
    """The eigensystem of fewer rows than columns."""
    features, targets = (
        centered(data.rows.take(np.arange(len(data.rows)))),
        centered.targets(data.targets),
    )
    if data.weights is None:
        return Eigensystem.of_rows(features, targets)
    root = np.sqrt(data.weights)[:, None]
    return Eigensystem.of_rows(root * features, root * targets)
