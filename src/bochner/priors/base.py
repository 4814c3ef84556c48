"""A prior is a Bochner pair: a way to sample a measure, and the closed-form kernel that it must
reproduce.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, clone

from .._checks import Seed, as_generator, check_choice, check_count, check_positive_vector
from .._loops.arrays import as_dense
from .._loops.grams import ProductKernel, RadialKernel
from ..data import Block, as_rows
from ..data.checks import check_gram_inputs
from ..data.columns import counted, quantile
from ..measures.fourier import FourierMeasure
from .sampling import standard_normals, uniforms

_MEDIAN_ROWS = 1000
# Rows that tell the offset and the unit of the data.
_SCALE_ROWS = 100
# The ν whose Matérn kernels are an exponential times a polynomial, and its degree.
MATERN_ORDERS = {0.5: 0, 1.5: 1, 2.5: 2}


class SpectralPrior(BaseEstimator, ABC):
    """A distribution over frequencies and its kernel; a parameter object, never fitted.

    ``RadialPrior`` and ``ProductPrior`` ask less of a new prior. Here a subclass writes
    ``_frequencies(n_atoms, n_features, rng, sampling)``, one frequency a row, and ``_gram(X, Z)``,
    the closed-form kernel of arrays; ``_bandwidth`` names the parameter that also takes "scale" and
    "median", and ``_from_length(length)`` is its value for a length read off the data.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> isinstance(Gaussian(), SpectralPrior)
    True
    """

    _samplings: ClassVar[tuple[str, ...]] = ("iid", "orthogonal", "qmc")
    _bandwidth: ClassVar[str]  # name of the parameter that also takes "scale" and "median"
    _metric: ClassVar[str] = "euclidean"  # of the distances that these are read off
    # True if ``Evidence`` has fitted the parameters to rows and targets: a bound on the same rows
    # does not hold.
    _learned: bool = False
    # True if ``Evidence`` also learns a weight for each column.
    weighs_columns: ClassVar[bool] = False

    def __sklearn_clone__(self):
        copy = super().__sklearn_clone__()
        if self._learned:
            copy._learned = True
        return copy

    def sample(
        self, n_atoms: int, n_features: int, rng: Seed, sampling: str = "iid"
    ) -> FourierMeasure:
        """Draw ``n_atoms`` frequencies of equal weight; the mean of their kernel over draws is
        ``kernel``.

        ``rng`` is a Generator or a seed.
        """
        n_atoms, n_features = check_count(n_atoms, "n_atoms"), check_count(n_features, "n_features")
        check_choice(sampling, "sampling", SpectralPrior._samplings)
        if sampling not in self._samplings:
            raise ValueError(
                f"{type(self).__name__} cannot be sampled with sampling={sampling!r}: its spectrum "
                "is not a radial law, so "
                "rotated blocks would change it. Write "
                f"sampling={' or sampling='.join(map(repr, self._samplings))}."
            )
        frequencies = self._frequencies(n_atoms, n_features, as_generator(rng, "rng"), sampling)
        return FourierMeasure(frequencies, np.full(n_atoms, self._mass() / n_atoms))

    def kernel(self, X: Any, Z: Any = None) -> np.ndarray:
        """The closed-form Gram matrix k(x, z) as (n_samples, n_other_samples)."""
        X, Z = check_gram_inputs(X, Z)
        return self._gram(X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False))

    def resolved(self, X: Any, weights: np.ndarray | None = None) -> Self:
        """Return this prior with ``"scale"`` or ``"median"`` replaced by its number for the
        (weighted) rows X.
        """
        name = self._bandwidth_name()
        value = None if name is None else getattr(self, name)
        if name is None or not isinstance(value, str):
            return self
        check_choice(value, name, ("scale", "median"))
        rows = as_rows(X)  # once: typical_length takes them as they are
        length = typical_length(rows, value, self._metric, weights)
        if not length > 0:
            raise ValueError(
                f"{name}={value!r} needs points that differ, but X with {len(rows)} sample(s) has "
                "none "
                f"(n_samples = {len(rows)}, all columns constant or most rows equal). Write a "
                f"number, e.g. {name}=1.0."
            )
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            bandwidth = float(self._from_length(np.float64(length)))
        if not 0 < bandwidth < np.inf:
            raise ValueError(
                f"{name}={value!r} would be {bandwidth} for X, whose entries lie {length:.1e} "
                "apart. "
                "Scale the columns, e.g. by StandardScaler."
            )
        return clone(self).set_params(**{name: bandwidth})

    def compiled(self, n_features: int) -> ProductKernel | RadialKernel | None:
        """The kernel as one that ``_compute`` has fast loops and slopes for, with rates per column;
        None where it has none.
        """
        return None

    def start_rate(self, n_features: int) -> float:
        """Return the rate of all columns, in standard deviations, from which Evidence starts."""
        return n_features**-0.5

    def lower_gram(self, X: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of X in its dtype; only the lower half needs to be filled."""
        kernel = self.compiled(X.shape[1])
        if kernel is None:
            return self._gram(X, X).astype(X.dtype, copy=False)
        return kernel.gram(X, lower=True)

    def gram_slopes(
        self, X: np.ndarray, gram: np.ndarray, pull: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return Σ_ik pull_ik ∂k(x_i, x_k)/∂ log rate_j, and the same for weights or None.

        ``Evidence`` needs it, and ``with_rates(rates, weights)``: the prior of this family in which
        column j varies with ``rates[j]``, an inverse length. ``gram`` and ``pull`` are symmetric,
        only their lower halves are filled, and ``pull`` may be overwritten.
        """
        kernel = self.compiled(X.shape[1])
        if kernel is None:
            raise TypeError(f"{self!r} has no method gram_slopes, which Evidence needs.")
        return kernel.slopes(X, gram, pull)

    def _bandwidth_name(self) -> str | None:
        """Return the name of the parameter that holds the bandwidth, None for a prior without one."""
        return getattr(self, "_bandwidth", None)

    def _bandwidths(self, n_features: int) -> np.ndarray:
        """Return the bandwidth as one positive number per feature."""
        name: Any = self._bandwidth_name()
        return check_positive_vector(getattr(self, name), name, n_features)

    def _mass(self) -> float:
        return 1.0

    def _from_length(self, length: float) -> float:
        """The bandwidth whose kernel bends at zero like exp(−r² / (2 length²))."""
        raise NotImplementedError(f"{type(self).__name__} takes no bandwidth from the data")

    @abstractmethod
    def _frequencies(self, n_atoms, n_features, rng, sampling): ...

    @abstractmethod
    def _gram(self, X, Z): ...


class RadialPrior(SpectralPrior):
    """ω = spread · z / lengths with z ~ N(0, I): a Gaussian spectrum, or a scale mixture of
    Gaussians.

    A subclass has a parameter ``length_scale`` (or names another by ``_bandwidth`` and writes
    ``_lengths``) and writes two methods: ``_profile(squared_distances)``, the kernel as a function
    of ‖(x − z) / lengths‖², and, unless the spectrum is Gaussian, ``_spread(uniform)``, the
    quantile function of the mixing variable.

    Examples
    --------
    >>> import numpy as np
    >>> class TwoLengths(RadialPrior):
    ...     def __init__(self, length_scale=1.0):
    ...         self.length_scale = length_scale
    ...
    ...     def _spread(self, uniform):
    ...         return np.where(uniform < 0.5, 1.0, 3.0)
    ...
    ...     def _profile(self, squared_distances):
    ...         return (np.exp(-squared_distances / 2) + np.exp(-9 * squared_distances / 2)) / 2
    >>> TwoLengths().kernel([[0.0]], [[1.0]]).round(3)
    array([[0.309]])
    """

    _bandwidth = "length_scale"

    def _lengths(self, n_features: int) -> np.ndarray:
        """One length per feature."""
        return self._bandwidths(n_features)

    def _from_length(self, length):
        return length

    @abstractmethod
    def _profile(self, squared_distances: np.ndarray) -> np.ndarray:
        """The kernel as a function of ‖(x − z) / lengths‖²."""

    def _spread(self, uniform: np.ndarray) -> np.ndarray | float:
        """Quantile function of the mixing variable; 1 for the Gaussian itself."""
        return 1.0

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        lengths = self._lengths(n_features)
        mixed = type(self)._spread is not RadialPrior._spread
        frequencies, extra = standard_normals(
            n_atoms, n_features, rng, sampling, n_extra=int(mixed)
        )
        if mixed:
            frequencies *= np.asarray(self._spread(extra[:, 0]))[:, None]
        frequencies /= lengths
        return frequencies

    def _gram(self, X, Z):
        lengths = self._lengths(X.shape[1])
        return self._profile(cdist(X / lengths, Z / lengths, "sqeuclidean"))


class ProductPrior(SpectralPrior):
    """Independent coordinates: ω_j = rate_j · quantile(u_j), and a kernel that is a product over
    coordinates.

    A subclass names its parameter by ``_bandwidth`` (and writes ``_rates``, where that is not a
    rate) and writes two methods: ``_quantile(uniform)``, the quantile function of one coordinate at
    rate 1, and ``_factor(differences)``, its kernel.

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
    ...         return np.where(uniform < 0.5, np.sqrt(2 * uniform) - 1, 1 - np.sqrt(2 - 2 * uniform))
    ...
    ...     def _factor(self, differences):
    ...         return np.sinc(differences / (2 * np.pi)) ** 2
    >>> Triangle().kernel([[0.0]], [[np.pi]]).round(3)
    array([[0.405]])
    """

    _samplings = ("iid", "qmc")

    def _rates(self, n_features: int) -> np.ndarray:
        """One rate per feature."""
        return self._bandwidths(n_features)

    @abstractmethod
    def _quantile(self, uniform: np.ndarray) -> np.ndarray:
        """Quantile function of one coordinate at rate 1."""

    @abstractmethod
    def _factor(self, differences: np.ndarray) -> np.ndarray:
        """The kernel of one coordinate at rate 1."""

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        rates = self._rates(n_features)
        return rates * self._quantile(uniforms(n_atoms, n_features, rng, sampling))

    def _gram(self, X, Z):
        gram = np.ones((len(X), len(Z)))
        for j, rate in enumerate(self._rates(X.shape[1])):
            gram *= self._factor(rate * (X[:, j, None] - Z[:, j]))
        return gram


def typical_length(
    X: Any, rule: str, metric: str = "euclidean", weights: np.ndarray | None = None
) -> float:
    """Return a length of the data: ``"scale"`` from the variance of all entries, ``"median"`` from
    distances.

    ``"scale"`` is √(d · var / 2), so that γ = 1 / (2 length²) is scikit-learn's ``gamma="scale"``;
    for the ℓ1 metric it is d · std. A row of weight 2 counts as two rows. ``"median"`` looks at
    1000 rows at most, evenly spread over those that have a weight.
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
        # h equal rows are h (h − 1) / 2 pairs that lie nowhere apart.
        pairs = np.outer(counts, counts)[np.triu_indices(len(counts), 1)]
        pairs = np.append(pairs, np.maximum(counts * (counts - 1), 0).sum() / 2)
        lengths, counts = counted(np.append(distances, 0.0), pairs)
        return quantile(lengths, counts, 0.5) if pairs.sum() > 0 else 0.0
    some = as_dense(rows.sample(_SCALE_ROWS))
    center = float(some.mean())  # sums around it do not cancel, whatever the offset of the data
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
    """Return the power of two next to the largest difference, 1 if there is none.

    Division by it is exact, and squares of the result neither overflow nor underflow.
    """
    largest = np.abs(differences).max(initial=0.0)
    return float(np.ldexp(0.5, np.frexp(largest)[1])) if largest > 0 else 1.0


def _central_sums(center, unit, X, weights=None):
    centered = (as_dense(X).astype(np.float64) - center) / unit
    first, second = centered.sum(axis=1), np.einsum("ij,ij->i", centered, centered)
    return np.array(
        [first.sum(), second.sum()] if weights is None else [weights @ first, weights @ second]
    )
