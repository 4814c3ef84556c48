"""Errors of random approximations of operator-valued kernels: variances, bounds, measurements."""

from dataclasses import dataclass

import numpy as np

from .._checks import Seed, as_generator, check_choice, check_count, check_positive, refuse_class
from ..bounds import ApproximationConstants, promised_components
from .base import OperatorKernel


def estimator_variance(kernel: OperatorKernel, differences: np.ndarray) -> np.ndarray:
    """Return the exact D · V[K̃(δ)] for D independent frequencies, with V[M] = E(M − EM)².

    The value is ½ (E[A²] + E[cos(2ω·δ) A²]) − K(δ)², an array (n_differences, p, p).
    Decomposable kernels may have any prior. Vector fields need a Gaussian prior, other kernels the
    method ``second_moment``.

    Parameters
    ----------
    kernel : OperatorKernel
        A decomposable kernel, or a vector field with a Gaussian prior.
    differences : array (n_differences, n_features)
        The differences δ = x − z.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian
    >>> estimator_variance(CurlFree(Gaussian(gamma=0.5)), np.zeros((1, 2)))
    array([[[3., 0.],
            [0., 3.]]])
    """
    differences = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    n_features = differences.shape[1]
    at_zero = np.zeros((1, n_features))
    mean = kernel.kernel(differences, at_zero)[:, 0]
    if kernel.decomposable:
        prior, matrix = kernel.checked_prior(), kernel.matrix()
        doubled = prior.kernel(2 * differences, at_zero)[:, 0]
        mass = prior.kernel(at_zero)[0, 0]
        second = (mass * (mass + doubled) / 2)[:, None, None] * (matrix @ matrix)
    else:
        second = (kernel.second_moment(at_zero) + kernel.second_moment(2 * differences)) / 2
    return second - mean @ mean


def variance_bound(
    kernel: OperatorKernel, differences: np.ndarray, *, form: str = "safe"
) -> np.ndarray:
    """Return a bound on D ‖V[K̃(δ)]‖ at each δ, an array (n_differences,).

    Parameters
    ----------
    kernel : OperatorKernel
        As for ``estimator_variance``.
    differences : array (n_differences, n_features)
        The differences δ = x − z.
    form : "safe" or "paper", default "safe"
        "safe" is ‖E[A²]‖, the same at every δ. "paper" is Proposition 12 of Brault et al. 2016,
        ½‖(K(2δ) + K(0)) E[A] − 2K(δ)²‖ + ‖V[A]‖. It is sharper and holds for decomposable kernels
        and vector fields with a Gaussian prior. It does not hold for every measure, because A(ω)
        may vary with cos(2ω·δ).

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian
    >>> variance_bound(CurlFree(Gaussian(gamma=0.5)), np.zeros((1, 2)), form="paper")
    array([3.])
    """
    check_choice(form, "form", ("safe", "paper"))
    differences = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    at_zero = np.zeros((1, differences.shape[1]))
    mean = kernel.kernel(at_zero)[0, 0]
    # E[A²], because the cosine is 1 at zero.
    squared = estimator_variance(kernel, at_zero)[0] + mean @ mean
    if form == "safe":
        return np.full(len(differences), np.linalg.norm(squared, 2))
    here = kernel.kernel(differences, at_zero)[:, 0]
    doubled = kernel.kernel(2 * differences, at_zero)[:, 0]
    first = np.linalg.norm((doubled + mean) @ mean - 2 * here @ here, 2, axis=(1, 2)) / 2
    return first + np.linalg.norm(squared - mean @ mean, 2)


def approximation_constants(kernel: OperatorKernel, n_features: int) -> ApproximationConstants:
    """Return the constants of Theorem 10 of Brault et al. 2016 for a kernel.

    Vector fields need the Gaussian prior, for which ‖ω‖² has exponential tails.

    Parameters
    ----------
    kernel : OperatorKernel
        A decomposable kernel, or a vector field with a Gaussian prior.
    n_features : int
        Number of columns of X.

    Examples
    --------
    >>> from bochner import CurlFree, Gaussian
    >>> constants = approximation_constants(CurlFree(Gaussian(gamma=0.5)), 3)
    >>> constants.n_outputs, constants.sup_norm
    (3, 1.0)
    """
    refuse_class(kernel, "kernel")
    n_features = check_count(n_features, "n_features")
    at_zero = np.zeros((1, n_features))
    n_outputs = kernel.n_outputs(n_features)
    sup_norm = float(np.linalg.norm(kernel.kernel(at_zero)[0, 0], 2))
    variance = float(variance_bound(kernel, at_zero)[0])
    slope, orlicz = kernel.spectral_constants(n_features)
    return ApproximationConstants(n_features, n_outputs, variance, slope, orlicz, sup_norm)


@dataclass(frozen=True)
class SuggestedComponents:
    """Number of frequencies for an error: ``promised`` by Theorem 10, ``measured`` by sampling."""

    promised: int
    measured: int
    error: float


def suggest_n_components(
    kernel: OperatorKernel,
    error: float,
    n_features: int,
    *,
    diameter: float,
    confidence: float = 0.95,
    rng: Seed = 0,
) -> SuggestedComponents:
    """Return the number of frequencies for sup ‖K̃ − K‖ <= ``error`` on a set of this diameter.

    The result has two numbers. ``promised`` is that of Theorem 10: a guarantee, but larger than
    needed by orders of magnitude. ``measured`` is an estimate from ten draws of 1000 frequencies.
    It is the ``confidence`` quantile of their largest errors on 1000 random differences, scaled by
    the rate D^(−1/2).

    Parameters
    ----------
    kernel : OperatorKernel
        A decomposable kernel, or a vector field with a Gaussian prior.
    error : float
        The largest error allowed, in the spectral norm.
    n_features : int
        Number of columns of X.
    diameter : float
        The largest distance between two points.
    confidence : float, default 0.95
        Probability that the error is not exceeded.
    rng : Generator or seed, default 0
        Source of the random draws.

    Examples
    --------
    >>> from bochner import CurlFree, Gaussian
    >>> suggested = suggest_n_components(CurlFree(Gaussian(gamma=0.5)), 0.2, 2, diameter=2.0)
    >>> suggested.measured < 5000 < suggested.promised
    True
    """
    check_positive(error, "error")
    check_positive(diameter, "diameter")
    rng = as_generator(rng, "rng")
    promised = promised_components(
        approximation_constants(kernel, n_features), error, diameter, confidence=confidence
    )
    directions = rng.standard_normal((1000, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    differences = diameter * rng.random((1000, 1)) ** (1 / n_features) * directions
    errors = [
        largest_error(kernel, kernel.sample(1000, n_features, child), differences)
        for child in rng.spawn(10)
    ]
    measured = int(np.ceil(1000 * (np.quantile(errors, confidence) / error) ** 2))
    return SuggestedComponents(promised, measured, error)


def largest_error(kernel: OperatorKernel, measure: object, differences: np.ndarray) -> float:
    """Return the largest ‖K̃(δ) − K(δ)‖ over the differences, in the spectral norm.

    Parameters
    ----------
    kernel : OperatorKernel
        The exact kernel K.
    measure : OperatorMeasure
        The approximation K̃, such as ``kernel.sample(1000, n_features, rng)``.
    differences : array (n_differences, n_features)
        The differences δ = x − z.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian
    >>> rng = np.random.default_rng(0)
    >>> kernel = CurlFree(Gaussian(gamma=0.5))
    >>> few, many = (kernel.sample(n, 2, rng) for n in (100, 10_000))
    >>> differences = rng.normal(size=(50, 2))
    >>> largest_error(kernel, many, differences) < largest_error(kernel, few, differences)
    True
    """
    at_zero = np.zeros((1, differences.shape[1]))
    gap = measure.kernel(differences, at_zero)[:, 0] - kernel.kernel(differences, at_zero)[:, 0]  # type: ignore[attr-defined]
    return float(np.linalg.norm(gap, 2, axis=(1, 2)).max())
