"""Functions of operator-valued kernels, Σ_j K(x, x_j) c_j, as graphs."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from .._loops.arrays import as_dense
from ..expansions.waves import Expansion
from ..measures.fourier import FourierMeasure
from ..operators import Decomposable, OperatorKernel
from ..operators.vector_field import VectorFieldKernel
from ..priors import Gaussian, Matern, RationalQuadratic, SpectralPrior
from .functions import expansion, kernel, squared_distances
from .graph import NotExportable, Tensor


def operator_expansion(
    operator: OperatorKernel, X: Tensor, points: Any, coefficients: np.ndarray
) -> Tensor:
    """Σ_j K(x, x_j) c_j, (n_samples, n_outputs); ``coefficients`` c is (n_points, n_outputs)."""
    points, prior = as_dense(points), operator.checked_prior()
    if isinstance(prior, FourierMeasure):
        lifted = operator.lift(prior)
        parameters = np.einsum("npc,np->c", lifted.features(points), coefficients)
        return expansion(Expansion.of(prior, lifted.expand(parameters)), X)
    if isinstance(operator, Decomposable):
        return kernel(prior, X, points) @ (coefficients @ operator.matrix())
    if isinstance(operator, VectorFieldKernel):
        return _field(operator, prior, X, points, coefficients)
    raise NotExportable(
        f"The kernel {operator!r} cannot be exported to ONNX: no graph is known for it."
    )


def _field(operator, prior, X, points, coefficients):
    """Σ_j (2s − 1) M c + (1 − s) tr(M) c at δ = x − x_j, s the curl-free share.

    M = −4 k″(q) u uᵀ − 2 k′(q) diag(1/ℓ²) with u = δ/ℓ² and q = ‖δ/ℓ‖², as in
    ``operators.hessian``.
    """
    lengths, share = profile_lengths(prior, points.shape[1]), operator.share()
    space = operator.space(points.shape[1])
    slope, bend = profile_slopes(prior, squared_distances(X, points, 1 / lengths))
    inverse = 1 / lengths[space] ** 2
    u = [(X.columns([j]) - points[:, j][None]) * rate for j, rate in zip(space, inverse)]
    along = _sum([part * coefficients[:, a][None] for a, part in enumerate(u)])  # u·c
    trace = -4.0 * bend * _sum([part * part for part in u]) - 2.0 * float(inverse.sum()) * slope
    outputs = []
    for a, part in enumerate(u):
        own = coefficients[:, a : a + 1]
        turned = (-4 * (2 * share - 1) * bend * along * part).row_sums()
        outputs.append(
            turned + slope @ (-2 * (2 * share - 1) * inverse[a] * own) + trace @ ((1 - share) * own)
        )
    return X.graph.beside(outputs)


def profile_lengths(prior: SpectralPrior, n_features: int) -> np.ndarray:
    """Lengths of a radial prior that has ``profile_slopes``."""
    if not isinstance(prior, Gaussian | RationalQuadratic | Matern):
        raise NotExportable(
            f"Vector fields of {prior!r} cannot be exported to ONNX: use a Gaussian prior."
        )
    return prior._lengths(n_features)


@singledispatch
def profile_slopes(prior: SpectralPrior, q: Tensor) -> tuple[Tensor, Tensor]:
    """First and second derivative of the kernel as a function of q = ‖(x − z) / lengths‖²."""
    raise NotExportable(
        f"Vector fields of {prior!r} cannot be exported to ONNX: use a Gaussian prior."
    )


@profile_slopes.register
def _gaussian_slopes(prior: Gaussian, q: Tensor) -> tuple[Tensor, Tensor]:
    value = q.graph.exp(-0.5 * q)
    return -0.5 * value, 0.25 * value


@profile_slopes.register
def _rational_quadratic_slopes(prior: RationalQuadratic, q: Tensor) -> tuple[Tensor, Tensor]:
    alpha = float(prior.alpha)
    base = 1.0 + q / (2 * alpha)
    value = q.graph.node("Pow", base, -alpha)
    return -0.5 * value / base, (alpha + 1) / (4 * alpha) * value / (base * base)


@profile_slopes.register
def _matern_slopes(prior: Matern, q: Tensor) -> tuple[Tensor, Tensor]:
    """Of ν = 3/2: z = √(3q), k′ = −(3/2) e⁻ᶻ, k″ = (9/4) e⁻ᶻ / z, zero at zero; of ν = 5/2: z =
    √(5q), −(5/6)(1 + z) e⁻ᶻ, (25/12) e⁻ᶻ.
    """
    if prior.nu not in (1.5, 2.5):
        raise NotExportable(
            f"Vector fields of {prior!r} cannot be exported to ONNX: use nu = 1.5 or 2.5."
        )
    graph = q.graph
    z = graph.sqrt(2 * prior.nu * q)
    decay = graph.exp(-z)
    if prior.nu == 2.5:
        return -5 / 6 * (1.0 + z) * decay, 25 / 12 * decay
    near = z < 1e-12
    return -1.5 * decay, graph.where(near, 0.0, 2.25 * decay / graph.where(near, 1.0, z))


def _sum(parts):
    return sum(parts[1:], parts[0])
