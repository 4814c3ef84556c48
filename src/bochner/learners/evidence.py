"""Evidence: learn rates and weights of a prior by the marginal likelihood of a Gaussian process."""

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from .._checks import Seed, as_generator, check_count, check_flag, check_positive, refuse_class
from .._loops.arrays import as_dense
from .._loops.matrices import add_outer_products, invert, symmetric_product
from .._loops.threads import threads_for_rows_only
from ..data import as_rows
from ..data.checks import check_weights
from ..data.repetitions import equal_rows
from ..data.targets import Labels, TargetSimilarity, Values, as_target
from ..priors import SpectralPrior
from ..priors.base import ParameterGroup
from .base import drawn_rows

# Bounds of the parameters, for columns of standard deviation one.
_RATES = (1e-3, 20.0)
_LOG_WEIGHTS = (-7.0, 5.0)
_LOG_FACTORS = (-9.0, 9.0)  # of summands
_START_LINEAR, _LOG_LINEAR = 0.1, (-9.0, 4.0)
# Start and lower bound of the noise. Labels are never free of noise: with a lower bound near zero,
# short lengths would fit it.
_LABEL_NOISE, _VALUE_NOISE, _MOST_NOISE = (1.0, 0.1), (0.1, 1e-4), 30.0
# Above this noise K + λ is well conditioned enough for float32, which halves the time. With few
# rows float64 is fast enough.
_NOISE_FOR_FLOAT32, _ROWS_FOR_FLOAT32 = 0.09, 200
# Logarithms of common factors of the rates that are tried when learning starts from another family,
# and halvings of the range of rates.
_COMMON_FACTORS, _HALVINGS = (0.0, -1.5, -0.75, 0.75), 30
# Logarithms of factors of the rates of each part that are tried for sums and products. Parts of one
# family start a little apart: equal ones would stay equal.
_PART_FACTORS, _APART = (0.0, -1.5, 1.5, 3.0), 0.1
# ``learn_prior`` warns if the linear part, which it drops, explains this share of the variance.
_MUCH = 0.5
# With fewer rows, factorizations are faster on one thread of BLAS.
_FEW_ROWS = 800


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """Result of ``Evidence``: a prior with numbers per column, noise and linear part.

    The model is y = b + f(x) + ε. f is a Gaussian process of covariance s² (k(x, z) + Σ_j linear_j
    x_j z_j / d). ε has the variance s² ``noise``, divided by a row's weight. Its posterior mean is
    ``KernelMachine(prior, alpha=noise, linear=linear)``.

    Parameters
    ----------
    prior : SpectralPrior
        The learned prior, its kernel k.
    noise : float
        Variance of the noise in units of s².
    linear : array (n_features,)
        Weights of the linear part.
    objective : float
        Negative logarithm of the posterior density of the parameters, per row and output, up to a
        constant.
    n_iterations : int
        Steps of L-BFGS.
    theta : array, default None
        The logarithms of rates, weights, linear part and noise, from which learning can go on.
    linear_shares : array (n_outputs,), default None
        Variance of the linear part of the posterior mean on the rows that were used, as a share of
        that of each output; labels have one output for each class but the first of two.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Evidence, Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> learned = Evidence(n_rows=100).learn(Gaussian(), X, np.sin(X[:, 0]), rng)
    >>> bool(learned.prior.gamma[0] > learned.prior.gamma[1])
    True
    """

    prior: SpectralPrior
    noise: float
    linear: np.ndarray
    objective: float
    n_iterations: int
    theta: Any = None
    linear_shares: Any = None


class Evidence(BaseEstimator):
    """Learn a rate (and for ``Anova`` a weight) per column by maximum a posteriori evidence.

    With K the kernel plus a linear part c x·z / d, λ the noise and Y the targets (n x k, centered),
    it minimizes over θ = (log r, log w, log c, log λ)

        ½ log(tr Yᵀ(K + λ)⁻¹Y / (nk)) + log det(K + λ) / (2n) + (1/n) Σ_j log(1 + ((log r_j − mean)
        / rate_spread)²) + (1/n) Σ_j log(1 + ((log w_j − mean) / weight_spread)²)

    by L-BFGS with slopes in closed form. The best scale of the outputs is already inserted. The
    last two terms are a Cauchy prior around a common value, which is learned, too. With few rows
    the columns stay close to it, but single columns may be far from it. Labels are one-hot (one
    column for two classes), values are standardized. If the noise is large, as for labels, float32
    is used.

    Bounds need a prior that does not depend on their rows. So bounds with a learned prior, or a
    clone of it, have ``valid=False``. If the rows of the bound are others, write a new prior with
    the learned numbers, e.g. ``Gaussian(gamma=learned.gamma)``.

    For sums and products of priors, each part has a rate per column, and each summand but the first
    has a factor. Several starts are tried for the rates of each part. The result is a local
    optimum.

    A prior of your own needs ``with_rates`` and ``gram_slopes``. A ``RadialPrior`` with ``_slopes``
    has both.

    Parameters
    ----------
    n_rows : int, default 1000
        Rows that are used, drawn at random; time grows with their cube.
    n_iterations : int, default 25
        Steps of L-BFGS at most.
    n_refining_rows : int, default 0
        If X has more than ``n_rows`` rows, take a few more steps on this many rows, from the
        result of the first ones.
    n_refinements : int, default 5
        Steps on the ``n_refining_rows`` rows.
    tol : float, default 1e-5
        Stop when a step improves the objective by less than this, relatively.
    rate_spread : float, default 0.3
        Width of the Cauchy prior on log r.
    weight_spread : float, default 0.6
        Width of the Cauchy prior on log w.
    standardize : bool, default True
        Divide columns by their standard deviation, so that their scales do not matter. Write False
        for columns that have a common scale already.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Anova
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=300)
    >>> prior = Evidence().learn_prior(Anova(), X, y, rng)
    >>> int(np.argmax(prior.weight))
    1
    """

    def __init__(
        self,
        n_rows: int = 1000,
        n_iterations: int = 25,
        *,
        n_refining_rows: int = 0,
        n_refinements: int = 5,
        tol: float = 1e-5,
        rate_spread: float = 0.3,
        weight_spread: float = 0.6,
        standardize: bool = True,
    ):
        self.n_rows = n_rows
        self.n_iterations = n_iterations
        self.n_refining_rows = n_refining_rows
        self.n_refinements = n_refinements
        self.tol = tol
        self.rate_spread = rate_spread
        self.weight_spread = weight_spread
        self.standardize = standardize

    def learn_prior(
        self,
        prior: SpectralPrior,
        X: Any,
        y: Any,
        rng: Seed,
        sample_weight: Any = None,
        *,
        linear: bool = True,
    ) -> SpectralPrior:
        """Return the learned prior alone; see ``learn``.

        The linear part is dropped. If it explains at least half of the variance of an output on the
        rows that were used, a warning is given. Then write ``linear=False``.
        """
        learned = self.learn(prior, X, y, rng, sample_weight, linear=linear)
        if learned.linear_shares is not None and learned.linear_shares.max() >= _MUCH:
            output = int(np.argmax(learned.linear_shares))
            share = min(1.0, learned.linear_shares[output])
            warnings.warn(
                f"The learned model has a linear part, which explains {share:.0%} of the variance "
                f"of output {output}, and learn_prior drops it. The prior alone may not fit this "
                "output. Write learn_prior(..., linear=False), or use learn(...), whose result has "
                "the linear part.",
                UserWarning,
                stacklevel=2,
            )
        return learned.prior

    def learn(
        self,
        prior: SpectralPrior,
        X: Any,
        y: Any,
        rng: Seed,
        sample_weight: Any = None,
        *,
        start: LearnedPrior | None = None,
        linear: bool = True,
    ) -> LearnedPrior:
        """Learn a prior of the family of ``prior``, with its noise and linear part.

        With ``linear=False`` the model has no linear part, for uses of the prior that have none.

        Learning ignores the values of ``prior`` (except ν), and starts from a common rate. With
        ``start``, a prior that was learned on the same columns, a few iterations are enough. If
        ``start`` is of another family, its kernel decides the first rates: both kernels fall as
        much over a distance of one along each column. These rates are multiplied by the best of
        four common factors.

        y is interpreted by the usual rule; write ``Labels.of(y)`` or ``Values.of(y)`` to decide it.
        Weights are relative: the noise of a row of weight h is λ / h, with weights scaled to mean
        one. Copies of a row are merged. Equal rows are counted separately if they are independent
        observations, because the same inputs occur with different outcomes. Rows of weight zero are
        never drawn. ``rng`` is a Generator or a seed.
        """
        rng = as_generator(rng, "rng")
        self._check_parameters()
        check_flag(linear, "linear")
        check_learnable(prior)
        if start is not None and (not isinstance(start, LearnedPrior) or start.theta is None):
            raise TypeError(
                f"start must be a result of Evidence.learn, got {start!r}. Write e.g. "
                "start=Evidence().learn(Anova(), X, y, rng)."
            )
        data = as_rows(X)
        if start is not None and len(start.linear) != data.n_features:
            raise ValueError(
                f"start was learned on {len(start.linear)} columns, and X has {data.n_features}. "
                "Give a start that was learned on the same columns."
            )
        target = as_target(y, len(data))
        weights = check_weights(sample_weight, len(data))
        rows = drawn_rows(len(data), max(self.n_rows, self.n_refining_rows), weights, rng)
        points = as_dense(data.take(rows))
        weights = None if weights is None else weights[rows]
        target = target.take(rows)
        return self.learn_checked(prior, points, target, rng, weights, start, linear)

    def learn_checked(
        self,
        prior: SpectralPrior,
        X: np.ndarray,
        target: Any,
        rng: Seed,
        sample_weight: Any = None,
        start: LearnedPrior | None = None,
        linear: bool = True,
    ) -> LearnedPrior:
        """Learn from all rows of an array: ``learn`` without its checks and its choice of rows.

        The tabular models call this method. Override it to change the way in which priors are
        learned.
        """
        rng = as_generator(rng, "rng")
        rows, weights = _merged(X, target, sample_weight)
        points = X.astype(np.float64)[rows]
        codes = list(prior.categories)
        centered = points - np.average(points, axis=0, weights=weights)
        centered[:, codes] = points[:, codes]
        scales = _column_scales(centered, weights) if self.standardize else np.ones(X.shape[1])
        scales[codes] = 1.0

        def problem_of(some):
            own = None if weights is None else weights[some]
            return _NegativeEvidence(
                prior.rescaled(scales),
                (centered / scales)[some],
                _target_columns(target, rows[some], own),
                np.ones(len(some)) if own is None else 1 / own,
                (self.rate_spread, self.weight_spread),
                linear,
            )

        problem = problem_of(np.arange(len(rows)))
        theta, bounds = problem.start(isinstance(target, Labels))
        n_steps, n_left, first = 0, self.n_iterations, problem
        if len(rows) > self.n_rows:
            some = np.sort(rng.choice(len(rows), self.n_rows, replace=False))
            if _varies(target, rows[some]):
                first = problem_of(some)
        if start is not None:
            theta = first.start_like(start, scales, bounds)
        if first is not problem:
            theta, _, n_steps = self._descend(first, theta, bounds, n_left)
            n_left = self.n_refinements
        theta, objective, n_more = self._descend(problem, theta, bounds, n_left)
        numbers, of_linear, noise = problem.split(theta)
        learned = prior.with_groups(
            [
                own / scales[group.columns] if group.kind == "rate" else own
                for group, own in zip(problem.groups, numbers)
            ]
        )
        for part in (learned, *learned.get_params().values()):
            if isinstance(part, SpectralPrior):
                part._learned = True
        slopes = of_linear / scales**2
        slopes[codes] = 0.0
        shares = problem.linear_shares(theta) if linear else None
        return LearnedPrior(learned, noise, slopes, objective, n_steps + n_more, theta, shares)

    def _check_parameters(self):
        check_count(self.n_rows, "n_rows", minimum=2)
        for name in ("n_iterations", "n_refining_rows", "n_refinements"):
            check_count(getattr(self, name), name, minimum=0)
        for name in ("rate_spread", "weight_spread"):
            check_positive(getattr(self, name), name)
        check_positive(self.tol, "tol", allow_zero=True)

    def _descend(self, problem, start, bounds, n_iterations):
        """Return θ, its objective, and the number of steps."""
        if not n_iterations:  # L-BFGS-B makes one step in any case
            return start, problem(start)[0], 0
        options = {"maxiter": n_iterations, "maxcor": 20, "ftol": self.tol, "gtol": 0.0}
        with threads_for_rows_only() if len(problem.X) < _FEW_ROWS else nullcontext():
            result = minimize(
                problem, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
            )
        return result.x, float(result.fun), int(result.nit)


def check_learnable(prior: Any) -> None:
    """Raise a TypeError, naming the missing method, unless ``Evidence`` can learn this prior."""
    refuse_class(prior, "prior")
    if not isinstance(prior, SpectralPrior):
        raise TypeError(f"Evidence learns priors such as Anova() or Laplace(), got {prior!r}.")
    n_columns = max(prior.categories, default=0) + 1
    of_groups = (one.columns for one in prior.groups(n_columns) if one.columns is not None)
    n_columns = max([n_columns, *(1 + int(max(columns)) for columns in of_groups)])
    learned = prior.with_groups([np.ones(one.size) for one in prior.groups(n_columns)])
    if learned.compiled(n_columns) is None:
        learned.group_slopes(np.zeros((1, n_columns)), *np.ones((2, 1, 1)))


# --- rows and targets -----------------------------------------------------------------------------


def _merged(X, target, weights):
    """Return the numbers of the different rows, and their weights; None if all weigh the same."""
    equal = equal_rows(X, target, weights)
    if equal is None:
        return np.arange(len(X)), None
    first = np.sort(equal.first)
    totals = equal.totals[equal.groups[first]]
    return first, totals / (equal.unit if equal.are_ties else totals.mean())


def _varies(target, rows):
    """Return True if the target of these rows is not constant."""
    seen = target.codes[rows] if isinstance(target, Labels) else target.rows[rows]
    return bool(np.any(np.ptp(seen, axis=0) > 0))


def _column_scales(centered, weights):
    """Return the standard deviations of the columns, 1 for a constant column."""
    deviations = np.sqrt(np.average(centered**2, axis=0, weights=weights))
    return np.where(deviations > 0, deviations, 1.0)


def _target_columns(target, rows, weights):
    """Return centered one-hot labels (one column for two classes), or standardized values."""
    if isinstance(target, TargetSimilarity):
        raise TypeError(
            "Evidence needs labels or values, one for each row; got a TargetSimilarity. Give y."
        )
    if isinstance(target, Labels):
        columns = target.one_hot(np.float64)[rows]
        columns = columns[:, 1:] if columns.shape[1] == 2 else columns
    else:
        columns = target.rows[rows]
    columns = columns - np.average(columns, axis=0, weights=weights)
    deviations = np.sqrt(np.average(columns**2, axis=0, weights=weights))
    if not np.any(deviations > 0):
        raise ValueError(
            f"The target is constant over the {len(rows)} rows that were used, so a prior cannot "
            "be learned from it."
        )
    if isinstance(target, Values):
        columns = columns / np.where(deviations > 0, deviations, 1.0)
    return columns


# --- the objective --------------------------------------------------------------------------------


def shrinkage(logarithms: np.ndarray, spread: float) -> tuple[float, np.ndarray]:
    """Return Σ_j log(1 + ((l_j − mean l) / spread)²) and its gradient."""
    distances = (logarithms - logarithms.mean()) / spread
    pull = 2 * distances / (1 + distances**2) / spread
    return float(np.log1p(distances**2).sum()), pull - pull.mean()


@dataclass(frozen=True)
class _NegativeEvidence:
    """Objective of ``Evidence`` and its gradient in θ; rows and targets are centered and scaled."""

    prior: SpectralPrior
    X: np.ndarray
    Y: np.ndarray
    noise_shares: np.ndarray
    spreads: tuple[float, float]
    has_linear: bool = True
    _kept: dict = field(default_factory=dict)

    @cached_property
    def groups(self) -> list[ParameterGroup]:
        """The groups of numbers of the prior, in the order of θ."""
        return self.prior.groups(self.X.shape[1])

    def start(self, labels: bool) -> tuple[np.ndarray, list[tuple[float, float]]]:
        """Return the first θ and the bounds of each of its numbers."""
        first, lowest = _LABEL_NOISE if labels else _VALUE_NOISE
        log_rates = tuple(np.log(_RATES))
        of_kind = {
            "rate": log_rates,
            "shape": log_rates,
            "weight": _LOG_WEIGHTS,
            "factor": _LOG_FACTORS,
        }
        start = [np.full(group.size, np.log(group.start)) for group in self.groups]
        bounds = [of_kind[group.kind] for group in self.groups for _ in range(group.size)]
        start.append(np.log([_START_LINEAR, first]))
        bounds += [_LOG_LINEAR, (np.log(lowest), np.log(_MOST_NOISE))]
        return self._start_of_parts(np.concatenate(start), np.array(bounds)), bounds

    def _start_of_parts(self, theta, bounds):
        """Return θ with the best of a few factors of the rates of each part of a composite."""
        parts = [part for part in self._masks("rate", "shape") if part.any()]
        if len(parts) < 2:
            return theta
        for k, part in enumerate(parts):
            theta = theta + k * _APART * part
        for part in parts:
            trials = [np.clip(theta + t * part, *bounds.T) for t in _PART_FACTORS]
            theta = min(trials, key=lambda trial: self(trial)[0])
        return theta

    def _masks(self, *kinds):
        """Return a mask of θ for each group of these kinds."""
        owner = np.repeat(np.arange(len(self.groups)), [group.size for group in self.groups])
        owner = np.append(owner, [-1, -1])  # linear part and noise
        return [owner == k for k, group in enumerate(self.groups) if group.kind in kinds]

    def start_like(self, other: LearnedPrior, scales: np.ndarray, bounds: list) -> np.ndarray:
        """Return the first θ for a prior that was learned before, with these scales of columns."""
        low, high = np.array(bounds).T
        is_like = issubclass(other.prior.family, self.prior.family)
        if is_like and len(other.theta) == len(bounds):
            return np.clip(other.theta, low, high)
        d, zero = self.X.shape[1], np.zeros((1, self.X.shape[1]))
        theta = self.start(labels=False)[0]
        theta[-2:] = other.theta[-2:]
        wanted = other.prior.kernel(np.diag(scales), zero)[:, 0] / other.prior._mass()
        numbers = zip(self.groups, self.split(theta)[0])
        weights = next(
            (np.full(d, own[0]) for group, own in numbers if group.kind == "weight"), None
        )
        slowest, fastest = np.log(_RATES[0]) * np.ones(d), np.log(_RATES[1]) * np.ones(d)
        for _ in range(_HALVINGS):
            middle = (slowest + fastest) / 2
            prior = self.prior.with_rates(np.exp(middle), weights)
            falls_less = prior.kernel(np.eye(d), zero)[:, 0] / prior._mass() > wanted
            slowest, fastest = (
                np.where(falls_less, middle, slowest),
                np.where(falls_less, fastest, middle),
            )
        is_rate = np.zeros(len(theta), dtype=bool)
        for group, mask in zip((g for g in self.groups if g.kind == "rate"), self._masks("rate")):
            theta[mask] = ((slowest + fastest) / 2)[group.columns]
            is_rate |= mask
        trials = [np.clip(theta + t * is_rate, low, high) for t in _COMMON_FACTORS]
        return min(trials, key=lambda trial: self(trial)[0])

    def split(self, theta: np.ndarray) -> tuple[list[np.ndarray], float, float]:
        """Return the numbers of each group, the linear part and the noise."""
        numbers = np.exp(theta)
        linear = float(numbers[-2]) if self.has_linear else 0.0
        return self._each(numbers), linear, float(numbers[-1])

    def _each(self, numbers):
        """Return the part of an array like θ that belongs to each group."""
        ends = np.cumsum([group.size for group in self.groups])
        return np.split(numbers[:-2], ends[:-1])

    def linear_shares(self, theta: np.ndarray) -> np.ndarray:
        """Return the variance of the linear part of the posterior mean, as a share of each y."""
        numbers, linear, noise = self.split(theta)
        gram = self.prior.with_groups(numbers).lower_gram(self.X)
        covariance = self._covariance(gram, linear, noise)
        factor = cho_factor(covariance, lower=True, check_finite=False)
        products = self._products(np.float64)
        dual = linear / self.X.shape[1] * cho_solve(factor, self.Y)
        values = products @ dual + np.tril(products, -1).T @ dual
        squares = [np.sum(own**2 / self.noise_shares[:, None], axis=0) for own in (values, self.Y)]
        return squares[0] / np.where(squares[1] > 0, squares[1], 1.0)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        if np.exp(theta[-1]) > _NOISE_FOR_FLOAT32 and len(self.X) > _ROWS_FOR_FLOAT32:
            result = self._in_precision(theta, np.float32)
            if result is not None:
                return result
        result = self._in_precision(theta, np.float64)
        if result is None:
            raise np.linalg.LinAlgError(
                "The kernel matrix is not positive definite, perhaps because of columns of very "
                "different scale. Write Evidence(standardize=True), or scale the columns."
            )
        return result

    def _in_precision(self, theta, dtype):
        """Return value and gradient, or None if the Cholesky factor does not exist."""
        # A row of weight h stands for h equal rows, which have λ^(h − 1) h times the determinant.
        n_samples, n_outputs = np.sum(1 / self.noise_shares), self.Y.shape[1]
        n_repeated = n_samples - len(self.X)
        X, Y = self.X.astype(dtype, copy=False), self.Y.astype(dtype, copy=False)
        numbers, linear, noise = self.split(theta)
        prior = self.prior.with_groups(numbers)
        gram = prior.lower_gram(X)
        inverse = self._covariance(gram, linear, noise)
        half_log_determinant = invert(inverse)
        if half_log_determinant is None:
            return None
        dual = symmetric_product(inverse, Y)
        fit = float(np.sum(self.Y * dual, dtype=np.float64))
        half_log_determinant += 0.5 * (n_repeated * theta[-1] - np.sum(np.log(self.noise_shares)))
        value = 0.5 * np.log(fit / (n_samples * n_outputs)) + half_log_determinant / n_samples
        # ∂value/∂K, lower half: (K + λ)⁻¹ / (2n) − aaᵀ / (2 fit), a = (K + λ)⁻¹ Y.
        pull = inverse
        add_outer_products(pull, dual, -0.5 / fit, 0.5 / n_samples)
        products = self._products(dtype)
        inner_products = 2 * np.einsum("ij,ij->i", pull, products) - np.diag(pull) * np.diag(
            products
        )
        linear_slope = linear / X.shape[1] * np.sum(inner_products, dtype=np.float64)
        noise_slope = noise * np.sum(
            np.diag(pull) * self.noise_shares, dtype=np.float64
        ) + n_repeated / (2 * n_samples)
        slopes = prior.group_slopes(X, gram, pull)
        spreads = {"rate": self.spreads[0], "shape": self.spreads[0], "weight": self.spreads[1]}
        for k, (group, logarithms) in enumerate(zip(self.groups, self._each(theta))):
            if group.kind in spreads:
                penalty, penalty_slope = shrinkage(logarithms, spreads[group.kind])
                value += penalty / n_samples
                slopes[k] = slopes[k] + penalty_slope / n_samples
        return float(value), np.concatenate([*slopes, [linear_slope, noise_slope]])

    def _covariance(self, gram, linear, noise):
        """Return the lower half of K + c XXᵀ/d + diag(λ / weight), in a new matrix."""
        covariance = linear / self.X.shape[1] * self._products(gram.dtype)
        covariance += gram
        diagonal = np.diag(covariance) + noise * self.noise_shares
        if gram.dtype == np.float64:  # rounding of large entries may exceed a small noise
            diagonal = diagonal + 4 * len(gram) * np.finfo(np.float64).eps * diagonal.max()
        covariance[np.diag_indices_from(covariance)] = diagonal
        return covariance

    def _products(self, dtype):
        """Return the lower half of XXᵀ, which is the same in each step, and zeros above.

        Columns of codes are left out.
        """
        dtype = np.dtype(dtype)
        if dtype not in self._kept:
            X = np.delete(self.X, list(self.prior.categories), axis=1)
            self._kept[dtype] = np.tril(X @ X.T).astype(dtype)
        return self._kept[dtype]
