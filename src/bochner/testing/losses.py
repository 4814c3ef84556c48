"""Conformance check for losses of your own."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_loss(loss: Any, targets: Any = None) -> None:
    """Check that a loss of your own can be used by the boosters and by convex solvers.

    Derivatives are compared with finite differences, ``bend`` with the second derivative, and
    ``start`` with other constants. The loss must be convex with positive curvature, and finite for
    large scores.

    Parameters
    ----------
    loss : Loss
        An object of a subclass of ``bochner.losses.Loss``.
    targets : array (n_rows, n_outputs), default None
        Targets for which the loss is defined. None: random values if ``loss.of_residuals``, one-hot
        rows if ``loss.couples_outputs``, otherwise ±1, or counts if −1 is refused.

    Raises
    ------
    AssertionError
        If a check fails; the message names the method.

    Examples
    --------
    >>> from bochner.losses import Logistic
    >>> check_loss(Logistic())
    """
    from ..losses import Loss

    if not isinstance(loss, Loss):
        raise TypeError(f"check_loss needs an object of a subclass of Loss, got {loss!r}.")
    rng = np.random.default_rng(0)
    targets = _loss_targets(loss, rng) if targets is None else np.asarray(targets, dtype=np.float64)
    scores = rng.normal(size=targets.shape)
    _check_loss_derivatives(loss, targets, scores, rng)
    _check_loss_start(loss, targets, rng.uniform(0.5, 2, size=len(targets)))
    _check_loss_values(loss, targets, scores)
    if loss.of_residuals:
        _check_loss_of_residuals(loss, targets, scores)


def _loss_targets(loss, rng, n_rows=200):
    if loss.couples_outputs:
        return np.eye(3)[rng.integers(3, size=n_rows)]
    if loss.of_residuals:
        return rng.normal(size=(n_rows, 1))
    signs = np.where(rng.random((n_rows, 1)) < 0.7, 1.0, -1.0)
    try:
        loss.check_targets(signs)
    except ValueError:
        return rng.poisson(2.0, size=(n_rows, 1)).astype(float)
    return signs


def _check_loss_derivatives(loss, targets, scores, rng, step=1e-6):
    gradient, curvature = loss.derivatives(targets, scores)
    for name, derivative in (("gradient", gradient), ("curvature", curvature)):
        _require(
            np.shape(derivative) == scores.shape,
            loss,
            "derivatives",
            f"the {name} has shape {np.shape(derivative)}, scores have {scores.shape}",
        )
    _require(np.all(curvature > 0), loss, "derivatives", "the curvature must be positive")
    _require(
        np.allclose(loss.gradient(targets, scores), gradient, rtol=1e-9, atol=1e-12),
        loss,
        "gradient",
        "it differs from the first result of derivatives",
    )
    for k in range(scores.shape[1]):
        shift = step * np.eye(scores.shape[1])[k]
        above, below = (loss.values(targets, scores + s) for s in (shift, -shift))
        _require(np.shape(above) == (len(scores),), loss, "values", "one value per row is needed")
        numeric = (above - below) / (2 * step)
        _require(
            np.allclose(gradient[:, k], numeric, rtol=1e-4, atol=1e-5),
            loss,
            "derivatives",
            f"the gradient of output {k} is not the slope of values",
        )
    direction = rng.normal(size=scores.shape)
    ahead, behind = (loss.gradient(targets, scores + s * direction) for s in (step, -step))
    second = np.sum(direction * (ahead - behind), axis=1) / (2 * step)
    _require(np.all(second > -1e-4), loss, "values", "the loss must be convex in the scores")
    bent = np.sum(direction * loss.bend(targets, scores, direction), axis=1)
    _require(
        np.all(bent >= second - 1e-4 * (1 + second)),
        loss,
        "bend",
        "it must be at least the second derivative of values",
    )


def _check_loss_start(loss, targets, weights):
    """Compare ``start`` with the best constant; 5 % of the rise within one unit are allowed."""
    from scipy.optimize import minimize_scalar

    start = np.asarray(loss.start(targets, weights), dtype=np.float64)
    # The start may be that of the loss before its corner was rounded.
    loss = loss.rounded(0.0)
    n_outputs = targets.shape[1]
    _require(start.shape == (n_outputs,), loss, "start", f"it must have shape ({n_outputs},)")
    _require(np.all(np.isfinite(start)), loss, "start", "it must be finite")
    for unit in np.eye(n_outputs):

        def mean_loss(move, unit=unit):
            constant = np.tile(start + move * unit, (len(targets), 1))
            return np.average(loss.values(targets, constant), weights=weights)

        best = minimize_scalar(mean_loss, bounds=(-20, 20), method="bounded")
        rise = min(mean_loss(best.x - 1), mean_loss(best.x + 1)) - best.fun
        _require(
            mean_loss(0.0) <= best.fun + 0.05 * rise + 1e-9,
            loss,
            "start",
            f"a constant that is {best.x:.3g} larger has a smaller mean loss",
        )


def _check_loss_values(loss, targets, scores):
    gap = loss.values(targets, scores) - loss.least(targets)
    _require(np.all(gap >= -1e-9), loss, "least", "values has smaller values")
    linked = loss.link(scores)
    is_ok = np.shape(linked) == scores.shape and np.all(np.isfinite(linked))
    _require(is_ok, loss, "link", "predictions must be finite and have the shape of the scores")
    for size in (50.0, -50.0):
        far = np.full_like(scores, size)
        results = {
            "values": (loss.values(targets, far),),
            "derivatives": loss.derivatives(targets, far),
        }
        for name, arrays in results.items():
            finite = all(np.all(np.isfinite(array)) for array in arrays)
            _require(finite, loss, name, f"results must be finite at scores of {size:g}")


def _check_loss_of_residuals(loss, targets, scores):
    values = loss.values(targets, scores)
    shifted = loss.values(targets + 3.0, scores + 3.0)
    _require(np.allclose(shifted, values, atol=1e-9), loss, "of_residuals", "ℓ depends on y alone")
    scale = np.full(targets.shape[1], 4.0)
    scaled = loss.scaled(scale).gradient(targets / scale, scores / scale)
    gradient = loss.gradient(targets, scores)
    ratio = np.sum(scaled * gradient) / np.sum(gradient * gradient)
    _require(
        ratio > 0 and np.allclose(scaled, ratio * gradient, rtol=1e-6, atol=1e-9),
        loss,
        "scaled",
        "the gradient for divided targets and scores is not proportional to the gradient",
    )


def _require(condition, loss, method, message):
    if not condition:
        raise AssertionError(f"{type(loss).__name__}.{method}: {message}.")
