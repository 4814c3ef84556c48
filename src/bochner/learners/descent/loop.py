"""Joint descent on all waves of an expansion: Adam over minibatches.

A batch is a slice of each shard of the rows (``BatchPlan``). Its gradient is the sum over these
slices in a fixed order, so the result does not depend on threads, files, partitions or workers.
Parameters are float32 views of one vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._loops.lazy import waves as kernels
from ..._loops.threads import threads_for_rows_only
from ..._terminal.progress import track
from ...data import BatchPlan, Rows
from ...expansions.waves import Expansion
from ...losses import Loss
from .gradients import BatchGradient, Standardization, WaveParameters

_FIRST_DECAY = 0.9
# Rows in memory are standardized once, not in each epoch, if the result has at most these bytes.
_STANDARDIZED_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class Descended:
    """Result: mean training loss of each epoch, if wanted, and held-out loss after each."""

    expansion: Expansion
    losses: list[float]
    held_out_losses: list[float]


@dataclass(frozen=True, eq=False)
class Descent:
    """Adam (Kingma & Ba 2015) on Σ w ℓ / Σ w + ½ Σ penalties θ²; steps fall linearly to zero.

    ``rates``, ``decays`` and ``penalties`` have one number for each parameter, see
    ``WaveParameters.like``. ``rates`` are steps, ``decays`` the shares by which parameters shrink
    in each step, and ``penalties`` ℓ2 penalties. ``with_losses`` also sums the loss of each epoch,
    which takes 5 % longer.
    """

    loss: Loss
    n_epochs: int
    batch_size: int
    rates: WaveParameters
    decays: WaveParameters | None = None
    penalties: WaveParameters | None = None
    second_decay: float = 0.99
    with_losses: bool = True


def run_together(
    descents: list[Descent],
    parameters: list[WaveParameters],
    rows: Rows,
    targets: Any,
    rng: np.random.Generator,
    *,
    weights: Any = None,
    excluded: np.ndarray | None = None,
    standardization: Standardization | None = None,
    held_out: Callable[[Expansion], float] | None = None,
    after_epoch: Callable[[Descended], Any] = lambda descended: None,
) -> list[Descended]:
    """Run several descents on the same batches, which are read once; move parameters in place.

    ``excluded`` are sorted numbers of rows that are held out. ``after_epoch`` is called with the
    result so far, and ends a descent if it returns True. ``held_out`` computes the loss of an
    expansion on other rows; the result is then the best of the start and of all epochs.
    """
    first = descents[0]
    standardization = standardization or Standardization.none(rows.n_features)
    rows, standardization = _standardized(rows, standardization, parameters[0].vector.dtype)
    excluded = np.empty(0, int) if excluded is None else excluded
    n_kept = len(rows) - len(excluded)
    plan = BatchPlan.of(
        len(rows), rows.n_features, first.batch_size, n_kept, int(rng.integers(2**63))
    )
    signals = [targets]
    if weights is not None:
        mean = (np.delete(weights, excluded) if len(excluded) else weights).mean()
        signals.append((weights / mean).astype(parameters[0].vector.dtype)[:, None])
    epochs = rows.epochs(plan, excluded, *signals)
    courses = [
        _Course(descent, own, standardization, plan.n_steps, held_out)
        for descent, own in zip(descents, parameters, strict=True)
    ]
    with threads_for_rows_only():
        status = (lambda: f"loss {courses[0].losses[-1]:.3g}") if first.with_losses else None
        for epoch in track(range(first.n_epochs), "joint descent", status=status):
            _run_epoch(courses, epochs(epoch))
            enough = [course.after(n_kept, after_epoch) for course in courses]
            if all(enough):
                break
    return [Descended(course.best, course.losses, course.held_out_losses) for course in courses]


class _Course:
    """State of one descent, its best expansion so far, and the summed loss of an epoch."""

    def __init__(self, descent, parameters, standardization, steps_an_epoch, held_out):
        self.with_slopes = bool(np.any(descent.rates.slopes)) or bool(np.any(parameters.slopes))
        self.with_losses, self.held_out, self.parameters = descent.with_losses, held_out, parameters
        gradient = BatchGradient(parameters, descent.loss, standardization, descent.with_losses)
        self.gradient, self.total = gradient, 0.0
        self.steps = _Steps(descent, parameters, descent.n_epochs * steps_an_epoch)
        self.best = parameters.expansion(self.with_slopes)
        self.lowest = np.inf if held_out is None else held_out(self.best)
        self.losses: list[float] = []
        self.held_out_losses: list[float] = []

    def after(self, n_rows, after_epoch):
        """Store the losses of an epoch; return True if the descent may end."""
        if self.with_losses:
            self.losses.append(self.total / n_rows)
        reached = self.parameters.expansion(self.with_slopes)
        if self.held_out is not None:
            self.held_out_losses.append(self.held_out(reached))
        if self.held_out is None or self.held_out_losses[-1] < self.lowest:
            self.best, self.lowest = reached, min([self.lowest, *self.held_out_losses])
        return after_epoch(Descended(reached, self.losses, self.held_out_losses))


def _run_epoch(courses, batches):
    """Take all steps of an epoch, for several descents on the same batches."""
    gradients = [course.gradient for course in courses]
    block = gradients[0] if len(courses) == 1 else partial(_gradients_of_batch, gradients)
    for course in courses:
        course.total = 0.0
    for batch in batches:
        sums = batch(block)
        for k, course in enumerate(courses):
            loss, n_rows, summed = sums[3 * k : 3 * k + 3]
            course.total += float(loss)
            course.steps.take(summed, float(n_rows))


def _gradients_of_batch(gradients, *rows):
    return tuple(part for gradient in gradients for part in gradient(*rows))


class _Steps:
    """Running means of Adam, and the number of steps done."""

    def __init__(self, descent: Descent, parameters: WaveParameters, n_steps: int):
        self.second_decay, self.vector = descent.second_decay, parameters.vector
        self.n_steps, self.n_taken = n_steps, 0
        none = np.zeros_like(self.vector)
        self.means = none.copy(), none.copy()
        given = (descent.rates, descent.decays, descent.penalties)
        self.paces = [none if part is None else part.vector for part in given]

    def take(self, summed: np.ndarray, n_rows: float) -> None:
        """Take one step by the gradient summed over the rows of a batch."""
        if not n_rows:
            return
        summed *= summed.dtype.type(1 / n_rows)
        remaining = 1 - self.n_taken / self.n_steps
        self.n_taken += 1
        corrections = (
            1 / (1 - _FIRST_DECAY**self.n_taken),
            1 / np.sqrt(1 - self.second_decay**self.n_taken),
        )
        numbers = remaining, *corrections, _FIRST_DECAY, self.second_decay
        kernels.adam_step(
            self.vector, summed, *self.means, *self.paces, *map(self.vector.dtype.type, numbers)
        )


def _standardized(rows, standardization, dtype):
    """Return rows and the standardization that is left to do: none if the rows fit into memory."""

    # The kernel of the batches, so that rows in memory and in files have the same digits.
    def write(plain, out):
        shift, scale = standardization.shift, standardization.scale
        kernels.standardized_rows(plain, np.arange(len(plain)), shift, scale, out)

    ready = rows.converted(write, dtype, _STANDARDIZED_BYTES)
    if ready is None:
        return rows, standardization
    return ready, Standardization.none(rows.n_features)
