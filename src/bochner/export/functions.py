"""Fitted functions as graphs: waves, harmonics, kernels between rows and points, and what scores
predict.
"""

from __future__ import annotations

from functools import singledispatch
from math import lgamma

import numpy as np

from .._loops.grams import GAUSSIAN, ProductKernel, RadialKernel
from ..expansions.kernels import KernelExpansion
from ..expansions.waves import Expansion, ExpansionStack
from ..losses import Loss
from ..measures.fourier import AtomicMeasure, FourierMeasure
from ..measures.harmonic import HarmonicMeasure, sphere_area
from ..priors import (
    Anova,
    Cauchy,
    Gaussian,
    Laplace,
    Matern,
    RationalQuadratic,
    Sinc,
    SpectralMixture,
    SpectralPrior,
)
from .graph import NotExportable, Tensor

# --- waves and harmonics --------------------------------------------------------------------------


@singledispatch
def features(measure: AtomicMeasure, X: Tensor, n_features: int) -> Tensor:
    """The features of a measure at rows of ``n_features`` columns."""
    raise NotExportable(
        f"Features on a {type(measure).__name__} cannot be exported to ONNX: no graph is known for "
        "it."
    )


@features.register
def _fourier_features(measure: FourierMeasure, X: Tensor, n_features: int) -> Tensor:
    angles = X @ measure.frequencies.T
    waves = X.graph.beside([X.graph.node("Cos", angles), X.graph.node("Sin", angles)])
    return waves * np.sqrt(np.tile(measure.weights, 2))


@features.register
def _harmonic_features(measure: HarmonicMeasure, X: Tensor, n_features: int) -> Tensor:
    """As ``harmonics_by_degree``, on tensors; rows that are no unit vectors are not refused."""
    max_degree = int(measure.indices[:, 0].max())
    x = [X.columns([k]) for k in range(n_features)]
    one = 0.0 * x[0] + 1.0
    levels = [[one / np.sqrt(2 * np.pi)]]
    real, imaginary = one, 0.0 * x[0]
    for _ in range(max_degree):
        real, imaginary = real * x[0] - imaginary * x[1], real * x[1] + imaginary * x[0]
        levels.append([real / np.sqrt(np.pi), imaginary / np.sqrt(np.pi)])
    squared_radius = x[0] * x[0] + x[1] * x[1]
    for k in range(3, n_features + 1):
        squared_radius = squared_radius + x[k - 1] * x[k - 1]
        levels = _lifted(levels, x[k - 1], squared_radius, k, max_degree)
    chosen = X.graph.beside([levels[degree][position] for degree, position in measure.indices])
    return chosen * np.sqrt(measure.weights * sphere_area(n_features))


def _lifted(levels, t, squared_radius, k, max_degree):
    """Harmonics on the sphere in R^k from those in R^{k−1}, column by column, in the order of
    ``harmonics._lifted``.
    """
    lifted: list[list[Tensor]] = [[] for _ in range(max_degree + 1)]
    for j, lower in enumerate(levels):
        mu = j + (k - 2) / 2
        previous = None
        current = 0.0 * t + np.exp((lgamma(mu + 1) - lgamma(mu + 0.5)) / 2) / np.pi**0.25
        below = 0.0
        for m in range(max_degree - j + 1):
            lifted[j + m].extend(current * column for column in lower)
            above = 0.5 * np.sqrt((m + 1) * (m + 2 * mu) / ((m + 1 + mu) * (m + mu)))
            following = (
                t * current if previous is None else t * current - below * squared_radius * previous
            )
            previous, current, below = current, following / above, above
    return lifted


@singledispatch
def expansion(f: object, X: Tensor) -> Tensor:
    """f(x) of a fitted function, (n_samples, n_outputs)."""
    raise NotExportable(
        f"A {type(f).__name__} cannot be exported to ONNX: no graph is known for it."
    )


@expansion.register
def _waves(f: Expansion, X: Tensor) -> Tensor:
    slopes = np.zeros((f.n_features, f.n_outputs)) if f.slopes is None else f.slopes
    # Without waves the linear part, even of slopes zero, gives the shape.
    parts = [] if f.slopes is None and len(f) else [X @ slopes]
    if len(f):
        angles = X @ f.frequencies.T
        parts += [X.graph.node("Cos", angles) @ f.cosine, X.graph.node("Sin", angles) @ f.sine]
    return sum(parts[1:], parts[0]) + f.intercept


@expansion.register
def _stack(f: ExpansionStack, X: Tensor) -> Tensor:
    n_expansions, n_atoms, n_features = f.frequencies.shape
    angles = X @ f.frequencies.reshape(-1, n_features).T - f.phases.ravel()
    shape = np.array([0, n_expansions, n_atoms], dtype=np.int64)  # 0: as many rows as there are
    waves = X.graph.node("Reshape", X.graph.node("Cos", angles), shape)
    flat = np.array([0, n_expansions], dtype=np.int64)
    sums = [
        X.graph.node("Reshape", (waves * amplitudes).row_sums(), flat)
        for amplitudes in f.amplitudes
    ]
    return X.graph.beside(sums)


@expansion.register
def _kernels(f: KernelExpansion, X: Tensor) -> Tensor:
    return kernel(f.prior, X, f.points) @ f.coefficients + X @ f.slopes + f.intercept


# --- kernels between rows and points --------------------------------------------------------------
# Column after column, so that the largest tensors are (n_samples, n_points), whatever the number of columns.


@singledispatch
def kernel(prior: SpectralPrior, X: Tensor, points: np.ndarray) -> Tensor:
    """The closed-form kernel of a prior, (n_samples, n_points)."""
    raise NotExportable(
        f"The kernel of {prior!r} cannot be exported to ONNX: no graph is known for it."
    )


@kernel.register(Gaussian)
@kernel.register(Matern)
def _radial_kernel(prior, X, points):
    compiled = prior.compiled(points.shape[1])
    if not isinstance(compiled, RadialKernel):
        raise NotExportable(
            f"The kernel of {prior!r} is a Bessel function, which ONNX does not have. Use nu = "
            "0.5, 1.5 or 2.5, or features of it."
        )
    squares = squared_distances(X, points, compiled.rates)
    if compiled.order == GAUSSIAN:
        return X.graph.exp(-0.5 * squares)
    return matern_profile(X.graph.sqrt(squares), compiled.order)


@kernel.register
def _rational_quadratic_kernel(prior: RationalQuadratic, X: Tensor, points: np.ndarray) -> Tensor:
    squares = squared_distances(X, points, 1 / prior._lengths(points.shape[1]))
    return X.graph.node("Pow", 1.0 + squares / (2 * prior.alpha), float(-prior.alpha))


@kernel.register(Laplace)
@kernel.register(Anova)
def _product_kernel(prior, X, points):
    compiled: ProductKernel = prior.compiled(points.shape[1])
    distances = [X.graph.absolute(u) for u in _scaled_differences(X, points, compiled.rates)]
    if compiled.weights is None:
        return X.graph.exp(-sum(distances[1:], distances[0]))
    shares = compiled.weights / (1 + compiled.weights)
    factors = [
        share * matern_profile(t, compiled.order) + (1 - share)
        for share, t in zip(shares, distances)
    ]
    return _product(factors)


@kernel.register
def _cauchy_kernel(prior: Cauchy, X: Tensor, points: np.ndarray) -> Tensor:
    return 1.0 / _product(
        [1.0 + u * u for u in _scaled_differences(X, points, prior._rates(points.shape[1]))]
    )


@kernel.register
def _sinc_kernel(prior: Sinc, X: Tensor, points: np.ndarray) -> Tensor:
    graph = X.graph

    def sinc(u):
        near = graph.absolute(u) < 1e-9
        safe = graph.where(near, 1.0, u)
        return graph.where(near, 1.0, graph.node("Sin", safe) / safe)

    return _product(
        [sinc(u) for u in _scaled_differences(X, points, prior._rates(points.shape[1]))]
    )


@kernel.register
def _mixture_kernel(prior: SpectralMixture, X: Tensor, points: np.ndarray) -> Tensor:
    parts = []
    for weight, mean, scale in zip(*prior._parts(points.shape[1]), strict=True):
        turns = X @ mean[:, None] - points @ mean
        parts.append(
            weight
            * X.graph.exp(-0.5 * squared_distances(X, points, scale))
            * X.graph.node("Cos", turns)
        )
    return sum(parts[1:], parts[0])


def squared_distances(X: Tensor, points: np.ndarray, rates: np.ndarray) -> Tensor:
    """Σ_j (r_j (x_j − z_j))²; by differences, because those of products cancel where a row is one
    of the points.
    """
    squares = [u * u for u in _scaled_differences(X, points, rates)]
    return sum(squares[1:], squares[0])


def matern_profile(t: Tensor, order: int) -> Tensor:
    """e⁻ᵗ, e⁻ᵗ (1 + t) or e⁻ᵗ (1 + t + t²/3)."""
    decay = t.graph.exp(-t)
    if order == 0:
        return decay
    return decay * (1.0 + t) if order == 1 else decay * (1.0 + t + t * t / 3.0)


def _scaled_differences(X, points, rates):
    """r_j (x_j − z_j) for each column j, both sides taken from the middle of the points: offsets
    cost no digits.
    """
    center = points.mean(axis=0, dtype=np.float64)
    scaled, others = (X - center) * rates, (points - center) * rates
    return [scaled.columns([j]) - others[:, j][None] for j in range(points.shape[1])]


def _product(factors):
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


# --- what scores predict --------------------------------------------------------------------------


def link(loss: Loss, scores: Tensor, n_outputs: int) -> Tensor:
    """Return ``loss.link(scores)`` for scores of ``n_outputs`` columns."""
    try:
        return loss.onnx(scores, n_outputs)
    except NotImplementedError as error:
        raise NotExportable(str(error)) from None


def softmax(scores: Tensor) -> Tensor:
    """Shares of each row."""
    return scores.graph.node("Softmax", scores, axis=1)


def both_classes(second: Tensor) -> Tensor:
    """(1 − p, p) from the probability of the second class."""
    return second.graph.beside([1.0 - second, second])


def first_largest(columns: Tensor) -> Tensor:
    """The number of the largest column of each row, of equal ones the first."""
    return columns.graph.node("ArgMax", columns, axis=1, keepdims=0)


def labels(codes: Tensor, classes: np.ndarray) -> Tensor:
    """The class of each code."""
    return codes.graph.node("Gather", class_labels(classes), codes)


def class_labels(classes: np.ndarray) -> np.ndarray:
    """Classes in a type that ONNX has for labels: texts or int64."""
    if classes.dtype.kind in "biu" or (
        classes.dtype.kind == "f" and np.all(classes == np.round(classes))
    ):
        return classes.astype(np.int64)
    if all(isinstance(label, str) for label in classes):
        return classes.astype(object)
    raise NotExportable(
        f"Labels of an ONNX graph are texts or whole numbers, got {list(classes[:3])}. Encode them."
    )
