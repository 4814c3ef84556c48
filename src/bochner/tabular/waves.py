"""Waves drawn from a learned prior and moved by descent over all rows: the member that no number of
rows is too large for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Rows, enough_rows, row_keys
from ..expansions.waves import Expansion
from ..learners.descent.gradients import WaveParameters
from ..learners.descent.joint_descent import ridge_start
from ..learners.descent.loop import Descent, run_together
from ..learners.evidence import LearnedPrior
from ..losses import Logistic, Loss, Multinomial, Squared
from .solving import Problem, Solved

_WAVES, _BATCH = 1024, 256
# Rows that are met in all epochs together, and epochs at least and at most.
_VISITS, _EPOCHS = 1e6, (3, 20)
# Steps of frequencies (in units of their median), and of amplitudes and the rest; penalties of
# amplitudes that are tried.
_FREQUENCY_RATE, _AMPLITUDE_RATE, _PENALTIES = 0.03, 0.002, (0.01, 0.1)


@dataclass(frozen=True)
class Stream:
    """All rows with their columns prepared, wherever they are; ``kept`` marks those that take part.

    ``Y`` is (n_samples, n_outputs).
    """

    rows: Rows
    Y: np.ndarray
    kept: np.ndarray
    weights: np.ndarray

    def without(self, numbers: np.ndarray, and_equal: bool) -> Stream:
        """Return the same rows without some of them, and without all rows that are equal to these
        (``and_equal``).
        """
        kept = self.kept.copy()
        if and_equal:
            keys = row_keys(self.rows)
            kept &= ~np.isin(keys, keys[numbers])
        else:
            kept[numbers] = False
        return replace(self, kept=kept)

    def problem(self) -> Problem:
        """The rows that take part, in memory."""
        kept = np.flatnonzero(self.kept)
        return Problem(self.rows.take(kept), self.Y[kept], np.ones(len(kept)), self.weights[kept])


@dataclass(frozen=True, eq=False)
class WaveMember:
    """What the loss predicts from an expansion on the prepared columns: values, or probabilities of
    classes.
    """

    expansion: Expansion
    loss: Loss

    def __len__(self) -> int:
        return len(self.expansion)

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """(n_samples, n_outputs); of two classes the probability of the second."""
        return self.loss.link(np.asarray(self.expansion.evaluate(Z), np.float64))

    def jacobian(self, Z: np.ndarray) -> np.ndarray:
        """∂/∂z, (n_samples, n_outputs, n_columns)."""
        slopes = np.asarray(self.expansion.jacobian(Z), np.float64)
        if isinstance(self.loss, Squared):
            return slopes
        shares = self.evaluate(Z)[:, :, None]
        mean = (
            shares * slopes
            if shares.shape[1] == 1
            else np.sum(shares * slopes, axis=1, keepdims=True)
        )
        return shares * (slopes - mean)


def solve_descending(
    stream: Stream, learned: LearnedPrior, labels: bool, judge: Problem, rng: np.random.Generator
) -> Solved:
    """Draws of the learned prior, their amplitudes by ridge on some rows, then all moved together
    over all rows.

    The loss is that of logistic regression for ``labels``, the squared one for values; the rows
    ``judge`` keep the best epoch and penalty.
    """
    loss, targets = _problem(stream.Y, labels)
    kept = stream.kept
    weights = None if np.ptp(stream.weights[kept]) == 0 else stream.weights
    counted = kept.astype(np.float64) if weights is None else weights * kept
    measure = learned.prior.sample(_WAVES, stream.rows.n_features, rng)
    start = ridge_start(measure, stream.rows, loss, targets, rng, counted)
    moving = np.abs(measure.frequencies[measure.frequencies != 0])
    # Larger batches of many rows are fewer steps, by gradients of less noise: these may be longer.
    longer = np.sqrt(enough_rows(_BATCH, int(kept.sum())) / _BATCH)
    pace = longer * _FREQUENCY_RATE * (np.median(moving) if len(moving) else 1.0)
    n_epochs = int(np.clip(np.ceil(_VISITS / kept.sum()), *_EPOCHS))
    judged, judge_rows = _problem(judge.Y, labels)[1], judge.Z.astype(np.float32)

    def held_out(expansion):
        return float(
            np.average(loss.values(judged, expansion.evaluate(judge_rows)), weights=judge.weights)
        )

    # The penalties side by side: one trip to the rows for both.
    tried = [WaveParameters.of(start) for _ in _PENALTIES]
    rates = tried[0].like(pace, *3 * [longer * _AMPLITUDE_RATE])
    plain = Descent(loss, n_epochs, _BATCH, rates, second_decay=0.999, with_losses=False)
    reached = run_together(
        [replace(plain, penalties=rates.like(amplitudes=penalty)) for penalty in _PENALTIES],
        tried,
        stream.rows,
        targets,
        rng,
        weights=weights,
        excluded=np.flatnonzero(~kept),
        held_out=held_out,
    )
    best = WaveMember(min((one.expansion for one in reached), key=held_out), loss)
    return Solved(best, best.evaluate(judge.Z), np.nan)


def _problem(Y: Any, labels: bool) -> tuple[Loss, Any]:
    """The loss, and its targets: signs for one column of labels."""
    if not labels:
        return Squared(), Y.astype(np.float32)
    return (
        (Logistic(), (2 * Y - 1).astype(np.float32))
        if Y.shape[1] == 1
        else (Multinomial(), Y.astype(np.float32))
    )
