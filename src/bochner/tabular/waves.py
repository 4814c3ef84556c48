"""Waves that are drawn from a learned prior and fitted by descent over all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import enough_rows
from ..data.targets import Labels, Values
from ..data.training import TrainingData
from ..expansions.waves import Expansion
from ..learners.descent.gradients import WaveParameters
from ..learners.descent.joint_descent import ridge_start
from ..learners.descent.loop import Descent, run_together
from ..learners.evidence import LearnedPrior
from ..losses import Logistic, Loss, Multinomial, Squared
from .preparation import PreparedData
from .solving import Solved

# Number of waves, and that for up to 8000 rows.
_WAVES, _FEW_WAVES, _FEW_ROWS = 1024, 512, 8000
# Rows of a batch.
_BATCH = 256
# Rows that are read in all epochs together, and the fewest and most epochs.
_VISITS, _EPOCHS = 1e6, (3, 20)
# Learning rates of frequencies (in units of their median) and of all other parameters, and the
# penalty of amplitudes.
_FREQUENCY_RATE, _AMPLITUDE_RATE, _PENALTY = 0.03, 0.002, 0.03


@dataclass(frozen=True, eq=False)
class WaveMember:
    """An expansion on prepared columns, and the loss whose link gives values or probabilities."""

    expansion: Expansion
    loss: Loss

    def __len__(self) -> int:
        return len(self.expansion)

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """Return (n_samples, n_outputs); for two classes the probability of the second."""
        return self.loss.link(np.asarray(self.expansion.evaluate(Z), np.float64))

    def jacobian(self, Z: np.ndarray, side: int = 0) -> np.ndarray:
        """Return ∂f/∂z, (n_samples, n_outputs, n_columns); waves have no kinks with sides."""
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
    data: TrainingData,
    learned: LearnedPrior,
    evaluation: PreparedData,
    rng: np.random.Generator,
) -> Solved:
    """Draw waves from the learned prior, and fit them to all rows with a weight by descent.

    The descent starts from a ridge regression on some rows. The loss is logistic for labels, and
    squared for values. The rows ``evaluation`` choose the epoch.
    """
    loss, targets = _loss_and_targets(data.target)
    kept = data.row_weights > 0
    weights = None if np.ptp(data.row_weights[kept]) == 0 else data.row_weights
    counted = kept.astype(np.float64) if weights is None else weights
    n_waves = _FEW_WAVES if len(data.rows) <= _FEW_ROWS else _WAVES
    measure = learned.prior.sample(n_waves, data.rows.n_features, rng)
    start = ridge_start(measure, data.rows, loss, targets, rng, counted)
    # Codes have no order, so frequencies along them and their slopes are not trained.
    descends = ~np.isin(np.arange(data.rows.n_features), learned.prior.categories)
    moving = np.abs(measure.frequencies[:, descends])
    moving = moving[moving > 0]
    # Large batches make fewer steps, but with less noise: longer steps are safe.
    longer = np.sqrt(enough_rows(_BATCH, int(kept.sum())) / _BATCH)
    pace = longer * _FREQUENCY_RATE * (np.median(moving) if len(moving) else 1.0)
    n_epochs = int(np.clip(np.ceil(_VISITS / kept.sum()), *_EPOCHS))
    held_out_targets = _loss_and_targets(evaluation.target)[1]
    held_out_rows = evaluation.Z.astype(np.float32)

    def held_out(expansion):
        losses = loss.values(held_out_targets, expansion.evaluate(held_out_rows))
        return float(np.average(losses, weights=evaluation.row_weights))

    parameters = WaveParameters.of(start)
    rate = longer * _AMPLITUDE_RATE
    rates = parameters.like(pace * descends, rate, rate * descends[:, None], rate)
    descent = Descent(
        loss, n_epochs, _BATCH, rates, second_decay=0.999, with_losses=False,
        penalties=rates.like(amplitudes=_PENALTY),
    )  # fmt: skip
    (reached,) = run_together(
        [descent],
        [parameters],
        data.rows,
        targets,
        rng,
        weights=weights,
        excluded=np.flatnonzero(~kept),
        held_out=held_out,
    )
    member = WaveMember(reached.expansion, loss)
    return Solved(member, member.evaluate(evaluation.Z))


def _loss_and_targets(target: Labels | Values) -> tuple[Loss, Any]:
    """Return the loss and its targets: values, signs of two classes, or one-hot labels."""
    if isinstance(target, Values):
        return Squared(), target.rows.astype(np.float32)
    if len(target.classes) == 2:
        return Logistic(), target.signs(np.float32)
    return Multinomial(), target.one_hot(np.float32)
