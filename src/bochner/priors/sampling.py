"""Independent, orthogonal and quasi-Monte-Carlo draws for all priors."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

# Quantile functions are infinite at 0 and 1.
_EDGE = 1e-12


def uniforms(n_draws: int, n_columns: int, rng: np.random.Generator, sampling: str) -> np.ndarray:
    """Draw points of the open unit cube, independent or, for ``"qmc"``, scrambled Sobol points."""
    if sampling == "qmc":
        if n_columns > qmc.Sobol.MAXDIM:
            raise ValueError(
                f"sampling='qmc' needs {n_columns} Sobol dimensions, but there are only "
                f"{qmc.Sobol.MAXDIM}. Write sampling='orthogonal' or sampling='iid'."
            )
        # A power of two keeps the net balanced; the surplus is dropped.
        exponent = int(np.ceil(np.log2(max(n_draws, 1))))
        points = qmc.Sobol(n_columns, rng=rng).random_base2(exponent)[:n_draws]
    else:
        points = rng.random((n_draws, n_columns))
    return np.clip(points, _EDGE, 1 - _EDGE)


def standard_normals(
    n_draws: int, n_features: int, rng: np.random.Generator, sampling: str, n_extra: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows from N(0, I), and ``n_extra`` uniforms a row, e.g. for a mixing variable.

    ``"orthogonal"`` draws blocks of up to n_features rows that are exactly orthogonal, with
    independent chi radii. For ``"qmc"``, one Sobol net covers the normals and the extra columns.
    """
    if sampling == "qmc":
        points = uniforms(n_draws, n_features + n_extra, rng, sampling)
        return ndtri(points[:, :n_features]), points[:, n_features:]
    extra = uniforms(n_draws, n_extra, rng, "iid") if n_extra else np.empty((n_draws, 0))
    if sampling == "iid":
        return rng.standard_normal((n_draws, n_features)), extra
    blocks = [
        _haar_rows(min(n_features, n_draws - start), n_features, rng)
        for start in range(0, n_draws, n_features)
    ]
    radii = np.sqrt(rng.chisquare(n_features, n_draws))
    return np.concatenate(blocks) * radii[:, None], extra


def _haar_rows(n_rows: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the first rows of a Haar-distributed orthogonal matrix, without the other rows."""
    columns, triangle = np.linalg.qr(rng.standard_normal((n_features, n_rows)))
    # The signs of QR depend on the algorithm; those of the triangle make the distribution invariant
    # under rotation.
    return (columns * np.where(np.diag(triangle) < 0, -1.0, 1.0)).T
