"""RidgeModel: ridge regression on features, from sums over rows to a solution."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._checks import as_generator
from ..._estimator import Estimator, restore_on_failure, score_in_memory
from ...data import Block
from ...data.targets import Target
from ...data.training import TrainingData
from ...expansions.waves import Expansion, ExpansionModel
from ...features.spectral import FeatureMap
from ...measures.fourier import FourierMeasure
from ...operators import OperatorKernel
from ...solvers import Eigen, Solver
from ...solvers.choice import (
    check_ridge,
    chosen_ridge,
    chosen_solver,
    hardest_condition,
    matrix_fits,
    ridges,
    rows_are_few,
    tiles_are_too_coarse,
    tiles_seem_enough,
)
from ...solvers.direct import EigenFactorization, Eigensystem
from ...solvers.problem import (
    CenteredRows,
    CoupledOutputs,
    DecoupledOutputs,
    Outputs,
    RidgeProblem,
    RidgeStatistics,
    feature_block,
    feature_count,
    mean_kernel,
)
from .added_rows import check_complete, check_continuation, check_mergeable

# Attributes of a solution, which further rows make invalid.
_SOLVED = ("_solution", "_factorization", "alphas_", "loo_errors_", "gcv_errors_")


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Solution of a ridge: f(x) = features(x) @ coefficients + intercept."""

    coefficients: np.ndarray
    intercept: np.ndarray
    unexplained: np.ndarray  # Σ_i h_i y_i (y_i − f(x_i)) for each output
    alpha: float
    solver: Solver
    n_iter: int
    kernel: OperatorKernel
    outputs: Outputs


class RidgeSystems(NamedTuple):
    """Linear systems of a ridge: sums, kernel with its output matrix, ridges to choose from."""

    problem: RidgeProblem
    kernel: OperatorKernel
    alphas: np.ndarray


def feature_block_size(model: Any) -> int | str:
    """Return the block size of a model's features, "auto" for third-party transformers."""
    return model.features.block_size if isinstance(model.features, FeatureMap) else "auto"


@ExpansionModel.register
class RidgeModel(MultiOutputMixin, RegressorMixin, Estimator):
    """Base of ridges on features of rows.

    ``_start`` of a subclass fits the features and sets ``_source`` and ``_kernel``, which couples
    the outputs. Sums of ``partial_fit`` are solved when the solution is next used.
    """

    alpha: Any
    solver: Solver | None
    fit_intercept: bool
    random_state: Any
    features_: Any
    alphas_: np.ndarray
    loo_errors_: np.ndarray
    gcv_errors_: np.ndarray
    _row_block_size = feature_block_size
    _statistics: RidgeStatistics  # over all rows so far
    _kernel: OperatorKernel
    _source: Any  # of the features: a FourierMeasure, or a fitted transformer
    _one_dimensional: bool
    _bounded = False  # True if matrices of all unknowns are only formed up to a limit

    @abstractmethod
    def _check_features(self) -> None:
        """Check the parameters of the features."""

    @abstractmethod
    def _start(self, data: TrainingData, learning_target: Target) -> None:
        """Fit the features, whose learner uses ``learning_target``."""

    def _check_parameters(self):
        self._check_features()
        check_ridge(self.solver, self.fit_intercept, self.alpha)

    # --- fitting ----------------------------------------------------------------------------------

    def _fit(self, data: TrainingData) -> None:
        self._forget("_statistics", "features_")
        several = len(ridges(self.alpha)) > 1
        self._fit_features_and_ridge(data.with_copies() if several else data, data.target)

    def _fit_features_and_ridge(self, data: TrainingData, learning_target: Target) -> None:
        """Fit to values; a learner of the features learns from ``learning_target``."""
        self._start(data, learning_target)
        n_columns = feature_count(self._source, data.rows)
        self._one_dimensional = data.target.one_dimensional
        rows = None
        if self._kernel.decomposable and rows_are_few(self.solver, len(data), n_columns):
            rows = data.rows.take_local(np.arange(len(data)))
        few = rows is not None
        n_unknowns = self._n_unknowns(n_columns)
        solver = self._chosen_solver(n_columns, n_unknowns, few)
        # Few rows do not need the large matrix; if it is not too large it is kept for partial_fit.
        whole = not solver.needs_rows and (matrix_fits(n_columns) or not (few or self._bounded))
        block, shift = feature_block(self._source), self._shift(data)
        dense = whole and solver.needs_matrix and matrix_fits(n_unknowns)
        tiled = dense and tiles_seem_enough(block, data, n_columns, self._hardest_guess)
        statistics = RidgeStatistics.of(block, data, shift, whole_gram=whole, tiled=tiled)
        systems = self._systems(statistics, data, rows)
        if tiles_are_too_coarse(systems.problem, systems.alphas):
            statistics = RidgeStatistics.of(block, data, shift, whole_gram=whole)
            systems = self._systems(statistics, data, rows)
        self._solution = self._solve(systems, solver, data)
        self._statistics = statistics

    @restore_on_failure
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows: the ridge is then that of all rows together, up to rounding.

        The features come from the first call, with the learned measure and a bandwidth that depends
        on the data. The system is solved when a prediction or a coefficient is next used. Rows are
        not stored, so generalized cross-validation chooses between several ridges, also those of
        "auto": it needs only the sums and uses the mean leverage in place of that of each row.
        """
        self._check_parameters()
        several, first = len(ridges(self.alpha)) > 1, not self.__sklearn_is_fitted__()
        data = self._with_target(self._read_rows(X, reset=first), y, sample_weight)
        check_complete(self, data.target)
        if first:
            self._start(data, data.target)
            n_columns, shift = feature_count(self._source, data.rows), self._shift(data)
            self._one_dimensional = data.target.one_dimensional
        else:
            check_continuation(self, y, data.target)
            n_columns, shift = len(self._statistics.feature_sum), self._statistics.shift
        if (self._bounded and not matrix_fits(n_columns)) or (
            self.solver is not None and self.solver.needs_rows
        ):
            raise ValueError(
                f"partial_fit keeps the Gram matrix of the features, and {n_columns} features with "
                f"solver={self.solver!r} have none. Lower n_components, or call fit."
            )
        n_unknowns = self._n_unknowns(n_columns)
        if several and self._bounded and not matrix_fits(n_unknowns):
            raise ValueError(
                f"partial_fit chooses a ridge with a matrix of all pairs of {n_unknowns} unknowns, "
                "which is too large. Give one number, e.g. alpha=1.0, or lower n_components."
            )
        added = RidgeStatistics.of(feature_block(self._source), data, shift)
        self._statistics = added if first else self._statistics + added
        self._forget()
        return self

    @restore_on_failure
    def merge(self, other: Self) -> Self:
        """Add the rows of another fit: the ridge is then that of the rows of both, up to rounding.

        Both need the same frequencies: the same prior with a number for its bandwidth, no learner,
        and the same integer seed. Only the sums of the other fit are needed, not its rows, so
        models can learn together from data that must stay apart.
        """
        check_is_fitted(self)
        check_mergeable(self, other)
        self._statistics = self._statistics + other._statistics.around(self._statistics.shift)
        self._forget()
        return self

    def _forget(self, *more):
        """Delete the attributes of an earlier solution."""
        for name in (*_SOLVED, *more):
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return "_statistics" in vars(self)

    # --- solution ---------------------------------------------------------------------------------

    @cached_property
    def _solution(self) -> RidgeFit:
        check_is_fitted(self)
        systems = self._systems(self._statistics)
        if tiles_are_too_coarse(systems.problem, systems.alphas):
            warnings.warn(
                "fit summed float32 rows in float32 tiles, which are too coarse for "
                f"alpha={systems.alphas.min():.3g} and the rows that were added since: digits of "
                "the solution are lost. Raise alpha, or give all rows to partial_fit, which sums "
                "in float64.",
                stacklevel=2,
            )
        n_columns = len(self._statistics.feature_sum)
        solver = self._chosen_solver(n_columns, self._n_unknowns(n_columns))
        return self._solve(systems, solver)

    def _shift(self, data):
        """Return the mean of the outputs, or zero without an intercept that could restore it."""
        if self.fit_intercept:
            return data.target.mean(data.weights)
        return np.zeros(data.target.rows.shape[1])

    def _chosen_solver(self, n_columns, n_unknowns, few=False):
        n_alphas = len(ridges(self.alpha))
        return chosen_solver(
            self.solver, n_alphas, n_columns, n_unknowns, few_rows=few, bounded=self._bounded
        )

    def _n_unknowns(self, n_columns):
        return n_columns if self._kernel.decomposable else self._outputs(self._kernel).n_unknowns

    def _systems(self, statistics, data=None, rows=None):
        """Return the systems that the sums define; ``rows`` are all rows if these are few."""
        sums, centered = self._centered(statistics)
        spectrum = None
        if rows is not None:
            spectrum = _spectrum_of_rows(centered, rows, data)
        elif self._kernel.learns_outputs and sums.gram.ndim == 2:
            spectrum = Eigensystem.of(sums.gram, sums.cross)
        learned_from = None
        if spectrum is not None:
            learned_from = spectrum.values, spectrum.projections, sums.target_gram, sums.weight
        # The words "covariance" and "learned" are resolved again after more rows: ``_kernel``
        # keeps them.
        kernel = self._kernel.resolved_outputs(statistics.target_covariance, learned_from)
        outputs = self._outputs(kernel)
        alphas = ridges(self.alpha, mean_kernel(statistics, sums, outputs))
        return RidgeSystems(RidgeProblem(sums, centered, outputs, spectrum), kernel, alphas)

    def _outputs(self, kernel, matrix=None):
        if not kernel.decomposable:
            return CoupledOutputs(kernel.lift(self._source))
        return DecoupledOutputs.of(kernel.matrix() if matrix is None else matrix)

    def _hardest_guess(self, statistics):
        """Return the condition of the hardest system, by sums of some rows without targets."""
        outputs = self._outputs(self._kernel, np.eye(1))
        sums, _ = self._centered(statistics)
        alphas = ridges(self.alpha, mean_kernel(statistics, sums, outputs))
        return hardest_condition(outputs.matrix(sums.gram), outputs, alphas)

    def _solve(self, systems, solver, data=None):
        """Solve for the coefficients; rows choose the ridge and solve the largest systems."""
        problem, kernel, alphas = systems
        sums, centered = problem.sums, problem.rows
        rng = as_generator(self.random_state) if solver.needs_rows else None
        factorization = solver.init(problem, data, rng)
        if isinstance(factorization, EigenFactorization):
            self._factorization = factorization
        alpha = float(
            alphas[0] if len(alphas) == 1 else self._chosen(alphas, problem, factorization, data)
        )
        coefficients, n_iter = factorization.solve(alpha)
        intercept = centered.intercept(coefficients)
        unexplained = np.diag(sums.target_gram) - np.sum(sums.cross * coefficients, axis=0)
        return RidgeFit(
            coefficients, intercept, unexplained, alpha, solver, n_iter, kernel, problem.outputs
        )

    def _chosen(self, alphas, problem, factorization, data):
        """Return the ridge with the smallest error of left-out rows, or of the sums alone."""
        self.alphas_, eigen = alphas, factorization
        has_vectors = isinstance(eigen, EigenFactorization)
        if data is None:
            eigen = eigen if has_vectors else Eigen().init(problem)
            errors = self.gcv_errors_ = eigen.generalized_errors(alphas, problem.sums)
        else:
            if not has_vectors:
                eigen, data = EigenFactorization.of_some_rows(problem, data)
            errors = self.loo_errors_ = eigen.leave_one_out_errors(alphas, data)
        return chosen_ridge(alphas, errors)

    def _centered(self, statistics):
        sums = statistics.centered() if self.fit_intercept else statistics
        return sums, CenteredRows.of(self._source, statistics, self.fit_intercept)

    def _problem(self):
        sums, centered = self._centered(self._statistics)
        return RidgeProblem(sums, centered, self._solution.outputs)

    def _eigen(self) -> EigenFactorization:
        """Return the factorization for leave-one-out and variances, computed at the first use."""
        solution = self._solution
        if "_factorization" not in vars(self):
            problem = self._problem()
            n_unknowns = len(problem.right_side)
            if problem.sums.gram.ndim == 1 or (self._bounded and not matrix_fits(n_unknowns)):
                raise ValueError(
                    "Standard deviations and leave-one-out need a matrix of all pairs of "
                    f"{n_unknowns} unknowns, which was too large for {solution.solver!r}. Lower "
                    "n_components."
                )
            self._factorization = Eigen().init(problem)
        return self._factorization

    # --- after the fit ----------------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the scalar features.

        (n_outputs, n_columns), or (n_columns,) for one-dimensional y.
        """
        coefficients = self._solution.coefficients
        return coefficients[:, 0] if self._one_dimensional else coefficients.T

    @property
    def intercept_(self) -> Any:
        """Constant part, (n_outputs,), or a number for one-dimensional y."""
        intercept = self._solution.intercept
        return float(intercept[0]) if self._one_dimensional else intercept

    @property
    def alpha_(self) -> float:
        """Ridge in use."""
        return self._solution.alpha

    @property
    def solver_(self) -> Solver:
        """Solver in use."""
        return self._solution.solver

    @property
    def n_iter_(self) -> int:
        """Steps of the solver."""
        return self._solution.n_iter

    @property
    @abstractmethod
    def noise_variance_(self) -> Any:
        """Most likely variance of the noise around the outputs."""

    @property
    def expansion_(self) -> Expansion:
        """Fitted function as a sum of waves."""
        solution = self._solution
        if not isinstance(self._source, FourierMeasure):
            # An AttributeError: dir() and notebooks try all attributes.
            raise AttributeError(
                "Only features on a FourierMeasure make a sum of waves, which has derivatives; "
                f"got {self.features_!r}."
            )
        return Expansion.of(self._source, solution.coefficients, solution.intercept)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return predictions, and with ``return_std`` standard deviations of observations.

        The deviation is that of the Bayesian linear model whose mean is the ridge, with the most
        likely noise.
        """
        rows = self._read_rows(X)
        mean = self._as_given(self._evaluate(rows))
        if not return_std:
            return mean
        noise = np.asarray(self.noise_variance_)
        return mean, self._as_given(np.sqrt(self._eigen().variance(self.alpha_, noise, rows)))

    def _evaluate(self, rows):
        if isinstance(self._source, FourierMeasure):
            return self.expansion_.evaluate(rows)
        linear = self._solution.coefficients, self._solution.intercept
        row_bytes = 16 * len(linear[0])
        block = Block(_linear_block, feature_block(self._source), *linear, row_bytes=row_bytes)
        return rows.map(block, linear[0].shape[1])

    def jacobian(self, X: Any) -> Any:
        """Return ∂f_a/∂x_b, exactly.

        (n_samples, n_outputs, n_features), or (n_samples, n_features) for one-dimensional y.
        """
        return self._as_given(self.expansion_.jacobian(self._read_rows(X)))

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return the exact prediction of each training row by the fit without it and its copies.

        X and y must be all rows of the training data. Missing outputs remain NaN.
        """
        data = self._with_target(self._read_rows(X), y, sample_weight).with_copies()
        return self._as_given(self._eigen().leave_one_out(self.alpha_, data))

    def mean_leverage(self) -> float:
        """Return the share of the outputs' degrees of freedom that the fit uses, below 1.

        It is zero if no matrix was factorized.
        """
        solution = self._solution
        factorization = vars(self).get("_factorization") or solution.solver.init(self._problem())
        return factorization.mean_leverage(solution.alpha)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² on X and y, which may also be Dask collections."""
        return score_in_memory(super().score, X, y, sample_weight)

    def _as_given(self, values):
        return values[:, 0] if self._one_dimensional else values


def _linear_block(features, coefficients, intercept, X, out):
    out[...] = features(X) @ coefficients.astype(out.dtype, copy=False) + intercept


def _spectrum_of_rows(centered, rows, data):
    """Return the eigensystem of fewer rows than columns."""
    features, targets = centered(rows), centered.targets(data.target.rows)
    root = np.sqrt(data.row_weights)[:, None]
    return Eigensystem.of_rows(root * features, root * targets)
