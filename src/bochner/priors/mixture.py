"""The spectral mixture prior."""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from .base import SpectralPrior
from .sampling import standard_normals


class SpectralMixture(SpectralPrior):
    """k(x, z) = Σ_q c_q exp(−½ Σ_j s_qj² δ_j²) cos(μ_q · δ), δ = x − z.

    The spectrum is a mixture of Gaussians. The mass of the measure, k(x, x), is Σ c.

    Parameters
    ----------
    weights : array (n_parts,)
        c, positive.
    means : array (n_parts, n_features)
        μ, the centers of the parts.
    scales : array (n_parts,) or (n_parts, n_features)
        s, the standard deviations of the frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> prior = SpectralMixture(weights=[1.0], means=[[np.pi]], scales=[0.1])
    >>> prior.kernel([[0.0]], [[1.0], [2.0]]).round(2)
    array([[-1.  ,  0.98]])
    """

    _samplings = ("iid", "qmc")

    def __init__(self, weights, means, scales):
        self.weights = weights
        self.means = means
        self.scales = scales

    def _parts(self, n_features):
        weights = np.asarray(self.weights, dtype=np.float64)
        means = np.asarray(self.means, dtype=np.float64)
        scales = np.asarray(self.scales, dtype=np.float64)
        if weights.ndim != 1 or len(weights) == 0 or np.any(weights < 0) or not weights.sum() > 0:
            raise ValueError(
                "weights must be a vector of non-negative numbers, not all zero, got "
                f"{self.weights!r}."
            )
        if means.shape != (len(weights), n_features):
            raise ValueError(
                f"means has shape {means.shape}, but {len(weights)} parts of {n_features} features "
                f"need ({len(weights)}, {n_features})."
            )
        if (
            scales.shape not in ((len(weights),), means.shape)
            or np.any(scales < 0)
            or not np.all(np.isfinite(scales))
        ):
            raise ValueError(
                f"scales must be non-negative, of shape ({len(weights)},) or {means.shape}, got "
                f"shape {scales.shape}."
            )
        return weights, means, np.broadcast_to(scales.reshape(len(weights), -1), means.shape)

    def _mass(self):
        return float(np.sum(self.weights))

    def _frequencies(self, n_atoms, n_features, rng, sampling):
        weights, means, scales = self._parts(n_features)
        normals, extra = standard_normals(n_atoms, n_features, rng, sampling, n_extra=1)
        cumulative = np.cumsum(weights / weights.sum())
        part = np.minimum(np.searchsorted(cumulative, extra[:, 0], side="right"), len(weights) - 1)
        # An atom stands for the pair ±ω, so the mean needs no random sign.
        return means[part] + scales[part] * normals

    def _terms(self, X, Z):
        """Yield c exp(−½ ‖s δ‖²), the phase μ · δ, μ and s of each part."""
        for weight, mean, scale in zip(*self._parts(X.shape[1]), strict=True):
            envelope = weight * np.exp(-0.5 * cdist(X * scale, Z * scale, "sqeuclidean"))
            yield envelope, np.subtract.outer(X @ mean, Z @ mean), mean, scale

    def _gram(self, X, Z):
        return sum(envelope * np.cos(phase) for envelope, phase, *_ in self._terms(X, Z))

    def log_density(self, frequencies):
        weights, means, scales = self._parts(frequencies.shape[1])
        if np.any(scales == 0):
            raise ValueError(
                "A SpectralMixture with a scale of zero has no density. Write a small positive "
                "scale."
            )
        z = (frequencies[:, None] - means) / scales
        with np.errstate(divide="ignore"):
            parts = np.log(weights / weights.sum()) - np.sum(
                np.log(scales) + z**2 / 2 + np.log(2 * np.pi) / 2, axis=2
            )
        total = logsumexp(parts, axis=1)
        shares = np.exp(parts - total[:, None])
        return total, -np.einsum("mq,mqd->md", shares, z / scales)

    def hessian(self, X, Z, columns):
        hessian = np.zeros((len(X), len(Z), len(columns), len(columns)))
        differences = X[:, None, columns] - Z[None, :, columns]
        for envelope, phase, mean, scale in self._terms(X, Z):
            cosine, sine = np.cos(phase)[:, :, None, None], np.sin(phase)[:, :, None, None]
            mean, scale = mean[columns], scale[columns]
            pull = scale**2 * differences
            squares = pull[:, :, :, None] * pull[:, :, None, :]
            crossed = pull[:, :, :, None] * mean + mean[:, None] * pull[:, :, None, :]
            fixed = np.diag(scale**2) + np.outer(mean, mean)
            hessian += envelope[:, :, None, None] * ((fixed - squares) * cosine - crossed * sine)
        return hessian

    def onnx(self, X, points):
        parts = []
        for weight, mean, scale in zip(*self._parts(points.shape[1]), strict=True):
            phases = X @ mean[:, None] - points @ mean
            envelope = np.exp(-0.5 * X.squared_distances(points, scale))
            parts.append(weight * envelope * np.cos(phases))
        return sum(parts[1:], parts[0])
