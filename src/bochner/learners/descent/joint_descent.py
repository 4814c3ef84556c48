"""JointDescent: minibatch descent on all frequencies together with a linear head."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from ..._checks import check_choice, check_count, check_positive
from ..._estimator import keyword_only_from
from ..._loops.threads import threads_for_rows_only
from ...data import Rows
from ...data.targets import Labels, Target, Values, regressed
from ...data.training import without_repetitions
from ...expansions.waves import Expansion
from ...losses import Exponential, Hinge, Logistic, Loss, Multinomial, Squared
from ...measures.fourier import FourierMeasure
from ..base import Learned, Learner, check_has_frequencies
from .gradients import WaveParameters
from .loop import Descent, run_together

_START_ROWS = 10_000
_START_RIDGE = 30.0


@dataclass(frozen=True, eq=False)
class DescentReport:
    """Mean training loss of each epoch, and the fitted function: the waves with their head."""

    losses: np.ndarray
    expansion: Expansion


@keyword_only_from("0.4", old_order=("n_epochs",))
@dataclass(eq=False, repr=False)
class JointDescent(Learner):
    """Move every frequency by Adam on the loss of a linear head.

    This trains a cosine network that starts at draws from the prior. With few frequencies it fits
    better than the margin game, but has no certificate. Batches depend on the number of rows and
    the seed only: arrays, memory maps and Dask arrays give the same frequencies. On Dask, the
    workers keep the rows in memory and sum the gradients. The learned measure has the starting
    weights. The head is dropped, and any linear model may follow.

    Parameters
    ----------
    n_epochs : int, default 30
        Passes over the rows.
    batch_size : int, default 128
        Rows of one step; more if an epoch would have more than 512 steps.
    learning_rate : float, default 0.06
        Step of the frequencies in units of their starting size; falls linearly to 0.
    amplitude_rate : float, default 0.05
        Step of the head.
    frequency_decay : float, default 0.005
        Share by which each frequency shrinks in each step; it reduces noise in many dimensions.
    penalty : float, default 0.01
        ℓ2 penalty on the head.
    start_scale : float, default 0.75
        The starting frequencies are those of the measure times this.
    loss : "auto", "log_loss", "squared" or a ``Loss`` of ``bochner.losses``, default "auto"
        The log-loss is logistic, or multinomial for more than two classes. "auto" is the log-loss
        for labels and the squared loss for values. ``Hinge`` and ``Exponential`` are one against
        the rest. The squared loss and all other losses regress declared labels on the corners of a
        simplex (±1 for two classes), and whole numbers that were not declared labels as numbers.

    In few dimensions frequencies may need to grow. A better start is then a wide prior with
    ``learning_rate=0.01``, ``frequency_decay=0``, ``penalty=1e-4``, ``batch_size=64`` and 60
    epochs.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (np.cos(X[:, 0] + X[:, 1]) > 0.3).astype(int)
    >>> learned = JointDescent(n_epochs=5).learn(Gaussian(gamma=0.5).sample(20, 3, rng), X, y, rng)
    >>> len(learned.measure), bool(learned.report.losses[-1] < learned.report.losses[0])
    (20, True)
    """

    _: KW_ONLY
    n_epochs: int = 30
    batch_size: int = 128
    learning_rate: float = 0.06
    amplitude_rate: float = 0.05
    frequency_decay: float = 0.005
    penalty: float = 0.01
    start_scale: float = 0.75
    loss: str | Loss = "auto"

    def check_parameters(self) -> None:
        check_count(self.n_epochs, "n_epochs")
        check_count(self.batch_size, "batch_size")
        if not isinstance(self.loss, Loss):
            check_choice(self.loss, "loss", ("auto", "log_loss", "squared"))
        check_positive(self.start_scale, "start_scale")
        for name in ("learning_rate", "amplitude_rate", "frequency_decay", "penalty"):
            check_positive(getattr(self, name), name, allow_zero=True)

    # Threads of BLAS would stay active after the small system of the start, and slow down those of
    # the rows.
    @threads_for_rows_only()
    def _learn(self, measure, rows, target, rng, weights):
        check_has_frequencies(self, measure)
        # Batches are drawn by row number: with merged rows, weights and repetitions give the same.
        different = without_repetitions(rows, target, weights, in_order=True)
        rows, target, weights = different.rows, different.target, different.weights
        loss, targets = self._problem(target)
        moved = replace(measure, frequencies=self.start_scale * measure.frequencies)
        parameters = WaveParameters.of(ridge_start(moved, rows, loss, targets, rng, weights))
        size = np.median(np.abs(moved.frequencies)) / 0.6745 or 1.0  # a robust standard deviation
        # Rates and penalty are those of a wave of mean weight.
        shares = (measure.weights / (np.mean(measure.weights) or 1.0))[:, None]
        head_rate = self.amplitude_rate * np.sqrt(50 / max(len(measure), 50))
        held = np.divide(self.penalty, shares, out=np.zeros_like(shares), where=shares > 0)
        descent = Descent(
            loss,
            self.n_epochs,
            self.batch_size,
            rates=parameters.like(
                self.learning_rate * size, head_rate * np.sqrt(shares), intercept=head_rate
            ),
            decays=parameters.like(self.frequency_decay),
            penalties=parameters.like(amplitudes=held),
            second_decay=0.999,
        )
        (descended,) = run_together([descent], [parameters], rows, targets, rng, weights=weights)
        report = DescentReport(np.array(descended.losses), descended.expansion)
        return Learned(FourierMeasure(descended.expansion.frequencies, measure.weights), report)

    def _problem(self, target: Target) -> tuple[Loss, Any]:
        """Return the loss, and the targets as float32 columns."""
        loss = self.loss
        if isinstance(loss, str):
            squared = loss == "squared" or (loss == "auto" and isinstance(target, Values))
            loss = Squared() if squared else Logistic()
        if not isinstance(loss, Logistic | Multinomial | Hinge | Exponential):
            return loss, regressed(target).astype(np.float32)
        if not isinstance(target, Labels):
            other = "" if self.loss == "auto" else ', or write loss="auto"'
            raise ValueError(
                f"JointDescent(loss={self.loss!r}) needs labels, got a target of type "
                f"{type(target).__name__}{other}."
            )
        n_classes = len(target.classes)
        if n_classes < 2:
            raise ValueError(
                f"JointDescent needs at least 2 classes, y has only 1 class: {target.classes[0]!r}."
            )
        if isinstance(loss, Hinge | Exponential):
            return loss, target.signs(np.float32)
        if n_classes == 2:
            return Logistic(), target.signs(np.float32)
        return Multinomial(), target.one_hot()


def ridge_start(
    measure: FourierMeasure,
    rows: Rows,
    loss: Loss,
    targets: Any,
    rng: np.random.Generator,
    weights: Any,
) -> Expansion:
    """Return the measure with a head by ridge regression on the targets of some rows.

    Losses other than the log-loss regress a Newton step from the best constant.
    """
    numbers = np.sort(rng.choice(len(rows), min(len(rows), _START_ROWS), replace=False))
    counts = None if weights is None else weights[numbers][:, None].astype(np.float32)
    # Logistic heads act on scores: ±2 are probabilities of 0.12 and 0.88.
    gain = {Logistic: 2.0, Multinomial: 4.0}.get(type(loss), 1.0)
    if gain > 1 or isinstance(loss, Squared):
        if weights is None:
            intercept = np.mean(targets, axis=0, dtype=np.float64).astype(targets.dtype)
        else:
            intercept = np.average(targets, axis=0, weights=weights)
        residuals = targets[numbers] - intercept
    else:
        intercept = loss.start(targets, np.ones(len(rows)) if weights is None else weights)
        scores = np.tile(intercept, (len(numbers), 1))
        slopes, curvatures = loss.derivatives(targets[numbers].astype(np.float64), scores)
        residuals = -slopes / curvatures
    waves = measure.features(rows.take(numbers).astype(np.float32))
    weighted = waves if counts is None else waves * counts
    gram = (weighted.T @ waves).astype(np.float64)
    gram[np.diag_indices_from(gram)] += _START_RIDGE * (np.mean(measure.weights) or 1.0)
    amplitudes = np.linalg.solve(gram, weighted.T @ residuals)
    return Expansion.of(measure, gain * amplitudes, intercept if gain == 1 else 0.0)
