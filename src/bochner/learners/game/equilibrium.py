"""Equilibrium of the margin game on a finite set of atoms."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._checks import check_choice, check_count, check_positive, check_share
from ..._terminal.progress import track
from ..base import Learned, as_data
from .duals import LOSSES, make_dual
from .value import GameCertificate, fit_machine, lower_value

_LARGEST_FEATURES = 2**26


def game_equilibrium(
    measure: Any,
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    loss: str = "auto",
    n_iterations: int = 50,
    ratio: float = 0.99,
    weights: Any = None,
) -> Learned:
    """Find the weights of the atoms that maximize the margin; the report is a certificate.

    Repeats α = dual solution for the weights λ, then λ_j ∝ λ_j √v_j(α). At a fixed point every atom
    in use has the largest potential, which is the equilibrium. Stops when margin / best margin is
    at least ``ratio``. If ``n_iterations`` do not reach it, a ``ConvergenceWarning`` reports the
    ratio reached, which is ``report.competitive_ratio``. Ratios above 0.999 are often out of reach,
    because the machines are fitted to a hinge with a rounded corner.

    All rows and their features are kept in memory; ``weights`` of the rows count like repetitions.
    The equilibrium need not be the best classifier: a game that is stopped early is regularized.

    Parameters
    ----------
    measure : FourierMeasure or HarmonicMeasure
        The atoms that are weighed.
    X : array, CSR or Dask (n_samples, n_features)
        The rows.
    y : array (n_samples,) or (n_samples, n_outputs)
        Labels or values.
    C : float, default 1.0
        Weight of the loss, as in an SVM.
    loss : "auto", "hinge", "squared_hinge" or "squared", default "auto"
        As for ``MarginGame``.
    n_iterations : int, default 50
        Iterations at most.
    ratio : float, default 0.99
        Stop when margin / best margin is at least this, below 1.
    weights : array (n_samples,), default None
        Weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sign(np.cos(2.0 * X[:, 0]))
    >>> certificate = game_equilibrium(Gaussian(gamma=2.0).sample(50, 1, rng), X, y).report
    >>> certificate.exact, bool(certificate.lower <= certificate.upper)
    (True, True)
    """
    check_positive(C, "C")
    check_choice(loss, "loss", LOSSES)
    check_count(n_iterations, "n_iterations")
    check_share(ratio, "ratio", example=0.99)
    rows, target, counts = as_data(X, y, weights)
    n_entries = len(rows) * measure.n_columns
    if n_entries > _LARGEST_FEATURES:
        raise ValueError(
            f"The features of {len(rows)} rows on {len(measure)} atoms are "
            f"{8 * n_entries / 2**30:.3g} GiB; this solver keeps them in memory, up to "
            f"{8 * _LARGEST_FEATURES / 2**30:.3g} GiB. Give fewer rows or atoms, or use MarginGame."
        )
    dual = make_dual(loss, target, C, counts)
    unweighted = measure.reweighted(np.ones(len(measure)))
    points = rows.take(rows.spread(len(rows)))
    features = unweighted.features(points).astype(np.float64, copy=False)
    columns = features.shape[1] // len(measure)
    shares = measure.weights / measure.mass
    best_shares, upper, lower = shares, np.inf, -np.inf
    start = None
    for _ in track(range(n_iterations), "equilibrium"):
        root = np.sqrt(np.tile(shares, columns))
        coefficients, intercepts, alpha = fit_machine(features * root, dual, start)
        scores = (features * root) @ coefficients + intercepts
        value = float(np.sum(coefficients**2) / 2 + dual.summed(dual.primal_loss(scores)))
        if value < upper:
            best_shares, upper = shares, value
        squares = np.sum((features.T @ dual.signal(alpha)) ** 2, axis=1)
        potentials = np.sum(squares.reshape(columns, -1), axis=0)
        lower = max(lower, lower_value(dual, alpha, float(potentials.max())))
        if lower >= ratio**2 * upper:
            break
        # No weight becomes zero, so that every atom can gain weight later.
        updated = np.maximum(shares * np.sqrt(potentials), 1e-12 * np.sqrt(potentials.max()))
        updated /= updated.sum()
        scale = np.sqrt(np.maximum(np.tile(updated, columns), 1e-300)) / np.maximum(root, 1e-150)
        start = coefficients / scale[:, None], intercepts
        shares = updated
    scope = f"kernels on the {len(measure)} given atoms"
    certificate = GameCertificate(upper, lower, True, scope)
    if lower < ratio**2 * upper:
        warnings.warn(
            f"After n_iterations={n_iterations} margin / best margin is at least "
            f"{certificate.competitive_ratio:.6f}, below ratio={ratio}. Raise n_iterations, or "
            "lower ratio.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Learned(measure.reweighted(best_shares), certificate)
