"""Output matrices of decomposable kernels: checks, factors, graphs, covariances, likelihood."""

from typing import Any

import numpy as np

from .._checks import check_positive


def check_output_matrix(matrix: Any) -> np.ndarray:
    """Validate a symmetric positive semi-definite matrix, and return it in float64."""
    try:
        array = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"output_matrix must be a matrix, None, 'covariance' or 'learned', got {matrix!r}."
        ) from None
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ValueError(
            f"output_matrix must be square, (n_outputs, n_outputs), got shape {array.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError("output_matrix must be finite, got NaN or infinity.")
    size = np.abs(array).max()
    if np.abs(array - array.T).max() > 1e-8 * size:
        raise ValueError("output_matrix must be symmetric. Write e.g. (A + A.T) / 2.")
    smallest = np.linalg.eigvalsh(array)[0]
    if smallest < -1e-8 * size:
        raise ValueError(
            "output_matrix must be positive semi-definite, but its smallest eigenvalue is "
            f"{smallest:.3g}. Write a covariance or B @ B.T."
        )
    if size == 0:
        raise ValueError(
            "output_matrix is zero: every prediction would be zero. Write None for independent "
            "outputs."
        )
    return (array + array.T) / 2


def matrix_factor(matrix: np.ndarray) -> np.ndarray:
    """Return B with B Bᵀ = A, (n_outputs, rank); tiny eigenvalues are dropped."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def graph_output_matrix(adjacency: Any, ridge: float = 0.0) -> np.ndarray:
    """Return the output matrix whose penalty is Σ_{s<t} a_st ‖f_s − f_t‖².

    The result is the pseudo-inverse of the graph's Laplacian L (Evgeniou, Micchelli, Pontil 2005).
    With it, outputs of a connected part can only differ from each other: their sum is zero.

    Parameters
    ----------
    adjacency : array (n_outputs, n_outputs)
        The weights a of the graph, not negative.
    ridge : float, default 0.0
        With ε > 0 the result is (L + ε I)⁻¹, and the sum of the outputs may be any function.

    Examples
    --------
    >>> graph_output_matrix([[0, 1], [1, 0]])
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    ridge = check_positive(ridge, "ridge", allow_zero=True)
    graph = np.asarray(adjacency, dtype=np.float64)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(
            f"adjacency must be square, (n_outputs, n_outputs), got shape {graph.shape}."
        )
    if not np.all(np.isfinite(graph)) or np.any(graph < 0):
        raise ValueError(
            f"adjacency must contain finite non-negative weights, got {graph.min():.3g}. Write 0 "
            "for outputs that are not related."
        )
    if not np.allclose(graph, graph.T):
        raise ValueError("adjacency must be symmetric. Write e.g. (G + G.T) / 2.")
    laplacian = np.diag(graph.sum(axis=1)) - graph  # the diagonal of the adjacency cancels
    if ridge > 0:
        return np.linalg.inv(laplacian + ridge * np.eye(len(graph)))
    if not np.any(laplacian):
        raise ValueError(
            "The graph has no edge, so every output would be zero. Add edges, or write ridge=1.0."
        )
    return np.linalg.pinv(laplacian, hermitian=True)


def covariance_output_matrix(target_covariance: np.ndarray) -> np.ndarray:
    """Return the covariance of the outputs, regularized and scaled to mean variance 1."""
    n_outputs, share = len(target_covariance), 1e-3  # of the identity
    scale = np.trace(target_covariance) / n_outputs
    if not scale > 0:
        return np.eye(n_outputs)
    return ((1 - share) * target_covariance + share * scale * np.eye(n_outputs)) / scale


def learned_output_matrix(
    values: np.ndarray,
    projections: np.ndarray,
    target_gram: np.ndarray,
    n_samples: float,
    *,
    n_rounds: int = 100,
    tolerance: float = 1e-4,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the output matrix A with the largest likelihood, and the log-likelihood per round.

    The model is Y = Φ W + noise. Rows of W come from N(0, A), and the noise has a variance σ² that
    is learned too. Both are found by expectation maximization, in the eigenbases of ΦᵀΦ = U diag(s)
    Uᵀ and of A. Only sums over the rows are needed. A is scaled to mean variance 1, because only
    its shape matters if a ridge is chosen, too.

    Parameters
    ----------
    values : array (n_columns,)
        The eigenvalues s of ΦᵀΦ.
    projections : array (n_columns, n_outputs)
        The products UᵀΦᵀY.
    target_gram : array (n_outputs, n_outputs)
        The products YᵀY.
    n_samples : float
        Number of rows, or their total weight.
    n_rounds : int, default 100
        Rounds at most.
    tolerance : float, default 1e-4
        Stop when a round raises the log-likelihood per entry of Y by less.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Phi, w = rng.normal(size=(200, 5)), rng.normal(size=5)
    >>> Y = np.column_stack([Phi @ w, Phi @ w]) + 0.1 * rng.normal(size=(200, 2))
    >>> s, U = np.linalg.eigh(Phi.T @ Phi)
    >>> A, _ = learned_output_matrix(s, U.T @ Phi.T @ Y, Y.T @ Y, 200)
    >>> A.round(1)  # the two outputs are alike
    array([[1., 1.],
           [1., 1.]])
    """
    n_outputs = len(target_gram)
    kept = values > 1e-12 * values.max()
    values, projections = values[kept], projections[kept]
    total = np.trace(target_gram)
    if not total > 0:
        return np.eye(n_outputs), np.zeros(0)
    mean_square = total / (n_samples * n_outputs)
    matrix = (
        (target_gram / n_samples + 0.1 * mean_square * np.eye(n_outputs)) * n_samples / values.sum()
    )
    noise = 0.1 * mean_square
    history: list[float] = []
    for _ in range(n_rounds):
        scales, basis = np.linalg.eigh(matrix)
        scales = np.maximum(scales, 0.0)
        rotated = projections @ basis
        totals = values[:, None] * scales + noise  # eigenvalues of the covariance of the outputs
        history.append(_log_likelihood(values, rotated, totals, noise, target_gram, n_samples))
        if len(history) > 1 and history[-1] - history[-2] < tolerance * n_samples * n_outputs:
            break
        means = scales * rotated / totals
        variances = scales * noise / totals
        second_moment = means.T @ means + np.diag(variances.sum(axis=0))
        residual = (
            total - 2 * np.sum(means * rotated) + np.sum(values[:, None] * (means**2 + variances))
        )
        matrix = basis @ second_moment @ basis.T / len(values)
        noise = max(residual / (n_samples * n_outputs), 1e-10 * mean_square)
    matrix = (matrix + matrix.T) / 2
    return matrix * n_outputs / np.trace(matrix), np.array(history)


def _log_likelihood(values, rotated, totals, noise, target_gram, n_samples):
    """Return log N(Y; 0, ΦΦᵀ ⊗ A + σ² I); outside the range of Φ the variance is σ²."""
    n_outputs = len(target_gram)
    reached = rotated**2 / values[:, None]  # squared outputs along the left singular vectors of Φ
    rest = max(np.trace(target_gram) - reached.sum(), 0.0)
    n_rest = (n_samples - len(values)) * n_outputs
    return -0.5 * float(
        np.sum(np.log(totals))
        + n_rest * np.log(noise)
        + np.sum(reached / totals)
        + rest / noise
        + n_samples * n_outputs * np.log(2 * np.pi)
    )
