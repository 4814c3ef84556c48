"""A prior is a Bochner pair: a sampler of frequencies and the closed-form kernel they reproduce."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from math import prod
from numbers import Real
from operator import mul
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, clone

from .._checks import (
    Seed,
    as_generator,
    check_choice,
    check_count,
    check_positive,
    check_positive_vector,
    missing_method,
)
from .._loops.arrays import as_dense
from .._loops.grams import ProductKernel, RadialKernel
from ..data import Block, as_rows
from ..data.checks import check_gram_inputs
from ..data.columns import counted, quantile
from ..measures.fourier import FourierMeasure
from ..measures.scikit_kernel import ScikitKernel
from .derivatives import product_hessian, radial_gradient, squared_distances
from .sampling import standard_normals, uniforms

_MEDIAN_ROWS = 1000
# Rows from which the offset and the unit of the data are computed.
_SCALE_ROWS = 100
# Advice for kernels whose derivatives are not known.
USE_FEATURES = (
    "Use a prior such as Gaussian or Matern with nu > 1, or random features of this one, e.g. "
    "OperatorRidge with the kernel CurlFree, or SpectralRidge."
)
LEARNABLE = "Use a prior that Evidence can learn, such as Anova, Laplace, Gaussian or Matern."


@dataclass(frozen=True, eq=False)
class ParameterGroup:
    """Positive numbers of a prior that ``Evidence`` learns.

    There is one number for each of the ``columns``, or just one if that is None. All start at
    ``start``. ``kind`` is "rate" for inverse lengths, "weight" for weights of columns, or "factor"
    for the factor of a summand. "shape" is a number like a rate, but without a unit.
    """

    kind: str
    start: float
    columns: np.ndarray | None

    @property
    def size(self) -> int:
        """Number of the numbers of the group."""
        return 1 if self.columns is None else len(self.columns)


class SpectralPrior(BaseEstimator, ABC):
    """Base class of priors: a distribution over frequencies and its kernel k.

    A prior is a parameter object and never fitted. Subclasses of ``RadialPrior`` and
    ``ProductPrior`` need less code. A direct subclass defines two methods:
    ``_frequencies(n_atoms, n_features, rng, sampling)`` returns one frequency in each row, and
    ``_gram(X, Z)`` is the closed form for arrays. ``_samplings`` lists the supported samplings.
    ``_bandwidth`` names the parameter that also accepts "scale" and "median". For a typical length
    of the data, ``_from_length(length)`` returns its value.

    ``p + q``, ``c * p`` and ``p * q`` are priors, too: kernels add and multiply.

    All other methods are optional. If a model needs a method that is not defined, the error names
    it. ``bochner.testing.check_prior`` compares all methods of a prior with each other.

    ================================ ===========================================================
    ``log_density``                  ln p(ω) and its gradient: PacBayesLangevin, CustomKernel
    ``hessian``                      exact kernels of vector fields, approximation bounds
    ``gradient``                     derivatives of kernel machines
    ``column_factor``                effects of kernel machines, for product kernels
    ``onnx``, ``onnx_slopes``        export of kernels, and of vector fields of radial kernels
    ``gaussian_variances``           exact variances and bounds of vector fields
    ``compiled``                     compiled loops in float32 and float64
    ================================ ===========================================================

    Examples
    --------
    >>> from bochner import Gaussian
    >>> isinstance(Gaussian(), SpectralPrior)
    True
    """

    _samplings: ClassVar[tuple[str, ...]] = ("iid", "orthogonal", "qmc")
    _bandwidth: ClassVar[str | None] = None
    _metric: ClassVar[str] = "euclidean"  # of the distances behind "scale" and "median"
    # True if ``Evidence`` has fitted the parameters: bounds on the same rows do not hold.
    _learned: bool = False
    categories: Any = ()  # columns that hold codes of categories
    weighs_columns: Any = False  # True if ``Evidence`` also learns column weights
    # True if ``compiled`` is a product over columns, so that ``WithCategories`` accepts the prior.
    has_column_factors: ClassVar[bool] = False

    def __sklearn_clone__(self):
        copy = super().__sklearn_clone__()
        if self._learned:
            copy._learned = True
        return copy

    # Operators of NumPy's scalars then leave the work to the methods below.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> "SpectralPrior":
        from .algebra import PriorSum

        return PriorSum(self, other) if isinstance(other, SpectralPrior) else NotImplemented

    def __radd__(self, other: Any) -> "SpectralPrior":  # of a measure, which has no such sums
        return self + other

    def __mul__(self, other: Any) -> "SpectralPrior":
        from .algebra import PriorProduct, ScaledPrior

        if isinstance(other, SpectralPrior):
            return PriorProduct(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        factor = check_positive(other, "The factor of a prior")
        if isinstance(self, ScaledPrior):
            return ScaledPrior(self.prior, factor * self.factor)
        return ScaledPrior(self, factor)

    __rmul__ = __mul__

    def sample(
        self, n_atoms: int, n_features: int, rng: Seed, sampling: str = "iid"
    ) -> FourierMeasure:
        """Draw ``n_atoms`` frequencies of equal weight; their mean kernel is ``kernel``."""
        n_atoms, n_features = check_count(n_atoms, "n_atoms"), check_count(n_features, "n_features")
        check_choice(sampling, "sampling", SpectralPrior._samplings)
        if sampling not in self._samplings:
            raise ValueError(
                f"{type(self).__name__} cannot be sampled with sampling={sampling!r}: its spectrum "
                "is not a radial law, so rotated blocks would change it. Write "
                f"sampling={' or sampling='.join(map(repr, self._samplings))}."
            )
        frequencies = self._frequencies(n_atoms, n_features, as_generator(rng, "rng"), sampling)
        weights = np.full(n_atoms, self._mass() / n_atoms)
        parts = (self, *self.get_params().values())
        learned = any(part._learned for part in parts if isinstance(part, SpectralPrior))
        return FourierMeasure(frequencies, weights, learned=learned)

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return the closed-form Gram matrix k(x, z), (n_samples, n_other_samples)."""
        X, Z = check_gram_inputs(X, Z)
        return self._gram(X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False))

    def as_kernel(self) -> ScikitKernel:
        """Return the kernel as an object for scikit-learn.

        It works as ``SVC(kernel=...)``, ``KernelRidge``, ``Nystroem``,
        ``pairwise_kernels(metric=...)`` and ``GaussianProcessRegressor``, where it has no
        hyperparameters.

        >>> from bochner import Gaussian
        >>> Gaussian(gamma=0.5).as_kernel()([[0.0]], [[0.0], [1.0]]).round(3)
        array([[1.   , 0.607]])
        """
        return ScikitKernel(self)

    def resolved(self, X: Any, weights: np.ndarray | None = None) -> Self:
        """Return this prior with ``"scale"`` or ``"median"`` replaced by its value for rows X."""
        name = self._bandwidth_name()
        if name is None or not isinstance(value := getattr(self, name), str):
            return self
        check_choice(value, name, ("scale", "median"))
        rows = as_rows(X)
        length = typical_length(rows, value, self._metric, weights)
        if not length > 0:
            raise ValueError(
                f"{name}={value!r} needs points that differ, but X with {len(rows)} sample(s) has "
                f"none (n_samples = {len(rows)}, all columns constant or most rows equal). Write a "
                f"number, e.g. {name}=1.0."
            )
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            bandwidth = float(self._from_length(np.float64(length)))
        if not 0 < bandwidth < np.inf:
            raise ValueError(
                f"{name}={value!r} would be {bandwidth} for X, whose entries lie {length:.1e} "
                "apart. Scale the columns, e.g. by StandardScaler."
            )
        return clone(self).set_params(**{name: bandwidth})

    def start_rate(self, n_features: int) -> float:
        """Return the rate of all columns, in standard deviations, from which Evidence starts."""
        return n_features**-0.5

    def lower_gram(self, X: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of X in its dtype; only the lower half needs to be filled."""
        kernel = self.compiled(X.shape[1])
        if kernel is None:
            return self._gram(X, X).astype(X.dtype, copy=False)
        return kernel.gram(X, lower=True)

    def with_rates(self, rates: np.ndarray, weights: Any) -> Self:
        """Return the prior of this family that varies with ``rates[j]`` along column j.

        ``Evidence`` needs it. A rate is an inverse length; most families have no ``weights``.
        """
        raise missing_method(self, "with_rates", "Evidence", LEARNABLE)

    def gram_slopes(
        self, X: np.ndarray, gram: np.ndarray, pull: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return Σ_ik pull_ik ∂k(x_i, x_k)/∂ log rate_j, and the same for weights or None.

        ``Evidence`` needs it. ``gram`` and ``pull`` are symmetric, only their lower halves are
        filled, and ``pull`` may be overwritten.
        """
        kernel = self.compiled(X.shape[1])
        if kernel is None:
            raise missing_method(self, "gram_slopes", "Evidence", LEARNABLE)
        return kernel.slopes(X, gram, pull)

    def groups(self, n_features: int) -> list[ParameterGroup]:
        """Return the groups of numbers that ``Evidence`` learns: rates, and weights if any.

        A prior with other numbers defines it together with ``with_groups`` and ``group_slopes``.
        """
        columns = np.arange(n_features)
        groups = [ParameterGroup("rate", self.start_rate(n_features), columns)]
        if self.weighs_columns:
            groups.append(ParameterGroup("weight", min(1.0, 3 / n_features), columns))
        return groups

    def with_groups(self, numbers: list[np.ndarray]) -> "SpectralPrior":
        """Return the prior of this family with these numbers, one array for each group."""
        return self.with_rates(numbers[0], numbers[1] if self.weighs_columns else None)

    def group_slopes(self, X: np.ndarray, gram: np.ndarray, pull: np.ndarray) -> list[np.ndarray]:
        """Return Σ_ik pull_ik ∂k(x_i, x_k)/∂ log of each number; see ``gram_slopes``."""
        return [part for part in self.gram_slopes(X, gram, pull) if part is not None]

    def rescaled(self, scales: np.ndarray) -> "SpectralPrior":
        """Return this prior for columns divided by ``scales``; lengths that are learned stay."""
        return self

    def _bandwidth_name(self) -> str | None:
        """Return the name of the bandwidth parameter, None for a prior without one."""
        return self._bandwidth

    def _bandwidths(self, n_features: int) -> np.ndarray:
        """Return the bandwidth as one positive number per feature."""
        name: Any = self._bandwidth_name()
        return check_positive_vector(getattr(self, name), name, n_features)

    def _mass(self) -> float:
        return 1.0

    def _from_length(self, length: float) -> float:
        """Return the bandwidth whose kernel has the curvature of exp(−r² / (2 length²)) at zero."""
        raise missing_method(self, "_from_length", "A bandwidth from the data")

    @abstractmethod
    def _frequencies(self, n_atoms, n_features, rng, sampling): ...

    @abstractmethod
    def _gram(self, X, Z): ...

    @property
    def family(self) -> type:
        """Class of the prior whose rates ``Evidence`` learns."""
        return type(self)

    @property
    def has_finite_variance(self) -> bool:
        """True if the frequencies have a finite variance, so that k has second derivatives."""
        return True

    def compiled(self, n_features: int) -> ProductKernel | RadialKernel | None:
        """Return the kernel as one that ``_loops.grams`` has compiled loops for, or None."""
        return None

    def log_density(self, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ln p(ω), (n_atoms,), and its gradient, (n_atoms, n_features)."""
        raise missing_method(self, "log_density", "The density")

    def hessian(self, X: np.ndarray, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return ∂²k(x, z)/∂x_a∂z_b, (n_samples, n_other_samples, n_columns, n_columns)."""
        raise missing_method(self, "hessian", "The exact kernel of vector fields")

    def gradient(
        self, X: np.ndarray, points: np.ndarray, coefficients: np.ndarray, side: int = 0
    ) -> np.ndarray:
        """Return ∂/∂x Σ_i coefficients_i k(x, points_i), (n_samples, n_outputs, n_features).

        At a kink, ``side`` selects the derivative from below (-1), above (1) or their mean (0).
        """
        raise missing_method(self, "gradient", "The derivative of kernels")

    def column_factor(
        self, j: int, x: np.ndarray, z: np.ndarray, n_features: int, whole: bool = False
    ) -> tuple[float, np.ndarray]:
        """Return the factor of column j of a product kernel as a constant and the rest.

        The rest is (n_samples, n_other_samples). With ``whole``, or if the factor has no constant
        part, the constant is 0.
        """
        advice = "Use an Anova or a Laplace prior."
        raise missing_method(self, "column_factor", "The split into effects", advice)

    def onnx(self, X: Any, points: np.ndarray) -> Any:
        """Return k(x, points) as a tensor of the ONNX graph of the tensor X."""
        raise missing_method(self, "onnx", "Export to ONNX")

    def onnx_slopes(self, q: Any) -> tuple[Any, Any]:
        """Return ``RadialPrior._slopes`` as tensors of the ONNX graph of the tensor q."""
        raise missing_method(self, "onnx_slopes", "Export of vector fields to ONNX")

    def gaussian_variances(self, n_features: int) -> np.ndarray:
        """Return the variances of the frequencies' coordinates if these are independent normals."""
        raise missing_method(self, "gaussian_variances", "The exact variance of vector fields")


# A measure has the methods of priors, so it is accepted wherever a prior is.
SpectralPrior.register(FourierMeasure)


class RadialPrior(SpectralPrior):
    """Frequencies ω = spread · z / lengths with z ~ N(0, I): scale mixtures of Gaussians.

    A subclass defines ``_profile(squared_distances)``, the kernel as a function of ‖(x − z) /
    lengths‖². Unless the spectrum is Gaussian, it also defines ``_spread(uniform)``, the quantile
    function of the mixing variable. With ``_slopes``, the first two derivatives of ``_profile``,
    the prior has ``gradient``, ``hessian``, ``gram_slopes`` and ``onnx_slopes``. A subclass with a
    parameter other than ``length_scale`` names it by ``_bandwidth`` and defines ``_lengths``, and
    ``with_rates`` for ``Evidence``.

    ``_profile`` and ``_slopes`` are also called with tensors of ONNX graphs, which support
    arithmetic and ``np.exp``, ``log``, ``sqrt``, ``cos``, ``sin``, ``abs``. If they use other
    functions, define ``onnx`` and ``onnx_slopes``.

    Parameters
    ----------
    length_scale : float, array (n_features,), "scale" or "median", default 1.0
        Distance over which the kernel falls; "scale" and "median" compute it from the data.

    Examples
    --------
    >>> import numpy as np
    >>> class TwoLengths(RadialPrior):
    ...     def _spread(self, uniform):
    ...         return np.where(uniform < 0.5, 1.0, 3.0)
    ...
    ...     def _profile(self, squared_distances):
    ...         return (np.exp(-squared_distances / 2) + np.exp(-9 * squared_distances / 2)) / 2
    >>> TwoLengths().kernel([[0.0]], [[1.0]]).round(3)
    array([[0.309]])
    """

    _bandwidth = "length_scale"

    def __init__(self, length_scale: Any = 1.0):
        self.length_scale = length_scale

    def _lengths(self, n_features: int) -> np.ndarray:
        return self._bandwidths(n_features)

    def _from_length(self, length):
        return length

    @abstractmethod
    def _profile(self, squared_distances: Any) -> Any:
        """Return the kernel as a function of ‖(x − z) / lengths‖²."""

    def _spread(self, uniform: np.ndarray) -> np.ndarray | float:
        """Return the quantile function of the mixing variable; 1 for the Gaussian itself."""
        return 1.0

    def _slopes(self, squared_distances: Any) -> tuple[Any, Any]:
        """Return the first and second derivative of ``_profile``."""
        raise missing_method(self, "_slopes", "The derivative of the kernel", USE_FEATURES)

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        lengths = self._lengths(n_features)
        mixed = type(self)._spread is not RadialPrior._spread
        frequencies, extra = standard_normals(n_atoms, n_features, rng, sampling, int(mixed))
        if mixed:
            frequencies *= np.asarray(self._spread(extra[:, 0]))[:, None]
        frequencies /= lengths
        return frequencies

    def _gram(self, X, Z):
        lengths = self._lengths(X.shape[1])
        return self._profile(cdist(X / lengths, Z / lengths, "sqeuclidean"))

    def with_rates(self, rates, weights):
        if type(self)._lengths is not RadialPrior._lengths:
            return super().with_rates(rates, weights)
        return clone(self).set_params(**{self._bandwidth: 1 / rates})

    def gram_slopes(self, X, gram, pull):
        if self.compiled(X.shape[1]) is not None:
            return super().gram_slopes(X, gram, pull)
        scaled = (X - X.mean(axis=0)) / self._lengths(X.shape[1])
        pull = np.tril(pull) + np.tril(pull, -1).T
        pull *= self._slopes(squared_distances(scaled, scaled))[0]
        # Σ_ik p_ik 2 (s_ij − s_kj)² by products of matrices.
        return 4 * (pull.sum(axis=1) @ scaled**2 - np.sum(scaled * (pull @ scaled), axis=0)), None

    def _scaled_frequencies(self, frequencies):
        """Return q = ‖ω ℓ‖², its gradient in ω, and ln Π ℓ, the change of volume."""
        lengths = self._lengths(frequencies.shape[1])
        scaled = frequencies * lengths
        return np.sum(scaled**2, axis=1), 2 * scaled * lengths, float(np.sum(np.log(lengths)))

    def hessian(self, X, Z, columns):
        lengths = self._lengths(X.shape[1])
        q = np.zeros((len(X), len(Z)))
        for j, length in enumerate(lengths):
            q += ((X[:, j, None] - Z[:, j]) / length) ** 2
        slope, bend = self._slopes(q)
        differences = (X[:, None, columns] - Z[None, :, columns]) / lengths[columns] ** 2
        rows, others = differences[:, :, :, None], differences[:, :, None, :]
        hessian = -4 * bend[:, :, None, None] * rows * others
        diagonal = np.arange(len(columns))
        hessian[:, :, diagonal, diagonal] -= 2 * slope[:, :, None] / lengths[columns] ** 2
        return hessian

    def gradient(self, X, points, coefficients, side=0):
        rates = 1 / self._lengths(X.shape[1])
        left, right = X * rates, points * rates
        slope = self._slopes(squared_distances(left, right))[0]
        return radial_gradient(left, right, slope, coefficients, rates)

    def onnx(self, X, points):
        return self._profile(X.squared_distances(points, 1 / self._lengths(points.shape[1])))

    def onnx_slopes(self, q):
        return self._slopes(q)


class ProductPrior(SpectralPrior):
    """Independent coordinates ω_j = rate_j · quantile(u_j), and a kernel that is a product.

    A subclass defines ``_quantile(uniform)``, the quantile function of one coordinate at rate 1,
    and ``_factor(differences)``, its kernel. ``_bandwidth`` names the parameter; if this is not a
    rate, the subclass also defines ``_rates``. With ``_factor_derivatives`` the prior has
    ``gradient`` and ``hessian``. ``_factor`` is also called with tensors of ONNX graphs, see
    ``RadialPrior``.

    Examples
    --------
    >>> import numpy as np
    >>> class Triangle(ProductPrior):
    ...     _bandwidth = "bandwidth"
    ...
    ...     def __init__(self, bandwidth=1.0):
    ...         self.bandwidth = bandwidth
    ...
    ...     def _quantile(self, uniform):
    ...         low, high = np.sqrt(2 * uniform) - 1, 1 - np.sqrt(2 - 2 * uniform)
    ...         return np.where(uniform < 0.5, low, high)
    ...
    ...     def _factor(self, differences):
    ...         return np.sinc(differences / (2 * np.pi)) ** 2
    >>> Triangle().kernel([[0.0]], [[np.pi]]).round(3)
    array([[0.405]])
    """

    _samplings = ("iid", "qmc")

    def _rates(self, n_features: int) -> np.ndarray:
        return self._bandwidths(n_features)

    def _of_column(self, j: int, n_features: int) -> Self:
        """Return the prior whose ``_factor`` is that of column j.

        Only priors with parameters of columns besides a rate define it.
        """
        return self

    @abstractmethod
    def _quantile(self, uniform: np.ndarray) -> np.ndarray:
        """Return the quantile function of one coordinate at rate 1."""

    @abstractmethod
    def _factor(self, differences: Any) -> Any:
        """Return the kernel of one coordinate at rate 1."""

    def _factor_derivatives(self, differences: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return ``_factor`` and its first and second derivative."""
        raise missing_method(
            self, "_factor_derivatives", "The derivative of the kernel", USE_FEATURES
        )

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        rates = self._rates(n_features)
        return rates * self._quantile(uniforms(n_atoms, n_features, rng, sampling))

    def _gram(self, X, Z):
        gram = np.ones((len(X), len(Z)))
        for j, rate in enumerate(self._rates(X.shape[1])):
            own = self._of_column(j, X.shape[1])
            gram *= own._factor(rate * (X[:, j, None] - Z[:, j]))
        return gram

    def _column_derivatives(self, X, Z, rates):
        return [
            self._of_column(j, len(rates))._factor_derivatives(rate * (X[:, j, None] - Z[:, j]))
            for j, rate in enumerate(rates)
        ]

    def hessian(self, X, Z, columns):
        rates = self._rates(X.shape[1])
        return product_hessian(self._column_derivatives(X, Z, rates), rates, columns)

    def gradient(self, X, points, coefficients, side=0):
        rates = self._rates(X.shape[1])
        derivatives = self._column_derivatives(X, points, rates)
        slopes = [
            rate * prod(factors[j == k] for k, factors in enumerate(derivatives)) @ coefficients
            for j, rate in enumerate(rates)
        ]
        return np.stack(slopes, axis=2)

    def column_factor(self, j, x, z, n_features, whole=False):
        own, rate = self._of_column(j, n_features), self._rates(n_features)[j]
        return 0.0, own._factor(rate * (x[:, None] - z))

    def onnx(self, X, points):
        d = points.shape[1]
        differences = X.scaled_differences(points, self._rates(d))
        return reduce(mul, (self._of_column(j, d)._factor(u) for j, u in enumerate(differences)))


def typical_length(
    X: Any, rule: str, metric: str = "euclidean", weights: np.ndarray | None = None
) -> float:
    """Return a typical length of the rows X by the rule ``"scale"`` or ``"median"``.

    ``"scale"`` is √(d · var / 2) with the variance of all entries: then γ = 1 / (2 length²) is
    scikit-learn's ``gamma="scale"``. For the ℓ1 metric, ``"scale"`` is d · std. ``"median"`` is the
    median distance of at most 1000 rows of positive weight. A row of weight 2 counts as two rows.
    """
    rows = as_rows(X)
    n_features = rows.n_features
    if rule == "median":
        some = rows.spread(_MEDIAN_ROWS, weights)
        points = as_dense(rows.take(some)).astype(np.float64)
        unit = _power_of_two(points - points[:1])
        distances = pdist(points / unit, metric) * unit
        if weights is None:
            return float(np.median(distances)) if len(distances) else 0.0
        counts = weights[some]
        # h equal rows are h (h − 1) / 2 pairs at distance zero.
        pairs = np.outer(counts, counts)[np.triu_indices(len(counts), 1)]
        pairs = np.append(pairs, np.maximum(counts * (counts - 1), 0).sum() / 2)
        lengths, counts = counted(np.append(distances, 0.0), pairs)
        return quantile(lengths, counts, 0.5) if pairs.sum() > 0 else 0.0
    some = as_dense(rows.sample(_SCALE_ROWS))
    # Sums around the center do not cancel if the data have an offset.
    center = float(some.mean())
    unit = _power_of_two(some - center)
    signals = [] if weights is None else [weights]
    total = len(rows) if weights is None else float(weights.sum())
    block = Block(_central_sums, center, unit, row_bytes=8 * n_features)
    first, second = rows.sum(block, *signals) / (total * n_features)
    variance = max(second - first**2, 0.0)
    if metric == "cityblock":
        return float(unit * n_features * np.sqrt(variance))
    return float(unit * np.sqrt(n_features * variance / 2))


def _power_of_two(differences):
    """Return a unit for differences: dividing by it is exact, and squares do not overflow."""
    largest = np.abs(differences).max(initial=0.0)
    return float(np.ldexp(0.5, np.frexp(largest)[1])) if largest > 0 else 1.0


def _central_sums(center, unit, X, weights=None):
    centered = (as_dense(X).astype(np.float64) - center) / unit
    first, second = centered.sum(axis=1), np.einsum("ij,ij->i", centered, centered)
    return np.array(
        [first.sum(), second.sum()] if weights is None else [weights @ first, weights @ second]
    )
