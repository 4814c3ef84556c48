"""Gaussian process whose posterior mean is a kernel ridge: marginal likelihood and draws.

The model is y_i = b + f(x_i) + ε_i, with f of covariance s² k and ε_i of variance s² α / h_i.
"""

import numpy as np
from scipy.linalg import eigh


def log_marginal_likelihood(
    variances: np.ndarray, alpha: float, weights: np.ndarray, log_determinant: float
) -> float:
    r"""Return the logarithm of the density of the targets at the most likely s² and b.

    .. math:: -\tfrac12 \sum_k \big(n \log(2 \pi s_k^2) + n
        + \log\det(K + \alpha / h) + \sum_i ((h_i - 1) \log\alpha + \log h_i)\big)

    s_k² ``variances``, one for each output, and n = Σ h_i. A row of weight h counts as h rows. This
    multiplies the determinant of the covariance matrix by α^(h − 1) h. ``log_determinant`` is that
    of K + α / h. The result is infinite if the residuals are zero.
    """
    n_samples = weights.sum()
    determinant = log_determinant + np.sum((weights - 1) * np.log(alpha) + np.log(weights))
    with np.errstate(divide="ignore"):
        fits = n_samples * (np.log(2 * np.pi * variances) + 1)
    return -0.5 * float(np.sum(fits + determinant))


def draws(
    mean: np.ndarray,
    covariance: np.ndarray,
    variances: np.ndarray,
    n_draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return draws of N(mean_k, variances_k · covariance), (n_rows, n_outputs, n_draws).

    Outputs k are independent of each other; the covariance may be singular.
    """
    values, vectors = eigh(covariance, check_finite=False)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normals = rng.standard_normal((*mean.shape, n_draws))
    return mean[:, :, None] + np.sqrt(variances)[:, None] * np.tensordot(root, normals, axes=1)
