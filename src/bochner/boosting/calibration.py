"""Probabilities of margins that were boosted too far: one slope, fitted to rows that the margins
have not seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..data.row_draws import members
from ..losses import Loss, class_probabilities

# One row of so many is held out, of every class.
_HELD_OUT = 4
# Rows held out at most: the slope of as many is known to its second digit, and the rest is better
# learned from.
_MOST_HELD_OUT = 10_000
# The logarithms between which a slope is looked for.
_LOG_SLOPES = (-7.0, 3.0)


def held_out_rows(
    codes: np.ndarray, n_codes: int, counts: Any, rng: np.random.Generator
) -> np.ndarray | None:
    """Sorted numbers of a random quarter of the rows of each class, at most 10 000 in all, but one
    of each; None where a class has no two rows that count.
    """
    of_classes = members(codes, n_codes, len(codes), counts)
    if min(map(len, of_classes)) < 2:
        return None
    n_rows, held = sum(map(len, of_classes)), []
    many = n_rows > _HELD_OUT * _MOST_HELD_OUT
    for own in of_classes:
        n_members = len(own)
        size = max(_MOST_HELD_OUT * n_members // n_rows if many else n_members // _HELD_OUT, 1)
        # Of many rows no order of all is made.
        ranks = (
            rng.choice(n_members, size, replace=False)
            if many
            else rng.permutation(n_members)[:size]
        )
        held.append(own[ranks])
    return np.sort(np.concatenate(held))


def margin_slope(loss: Loss, scores: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> float:
    """The factor of the scores (n_rows, n_outputs) whose probabilities have the smallest log-loss
    on these rows.

    A slope alone, without Platt's shift, leaves every predicted class what it was. As with Platt,
    rows are not quite sure of their class: each of N rows counts as (N + 1) / (N + 2) of its own,
    and the rest is shared by the other classes; else separated rows would ask for an infinite
    slope.
    """
    n_classes, total = max(scores.shape[1], 2), counts.sum()
    shares = np.full((len(codes), n_classes), 1 / ((total + 2) * (n_classes - 1)))
    shares[np.arange(len(codes)), codes] = (total + 1) / (total + 2)
    shares *= counts[:, None] / total

    def log_loss(log_slope):
        chances = class_probabilities(loss, np.exp(log_slope) * scores)
        return -np.sum(shares * np.log(np.maximum(chances, 1e-300)))

    found = minimize_scalar(log_loss, bounds=_LOG_SLOPES, method="bounded", options={"xatol": 1e-6})
    # Held-out rows leave its second digit in doubt; rounded, it does not tell in which order sums
    # were taken.
    return float(np.exp(np.round(found.x, 3)))
