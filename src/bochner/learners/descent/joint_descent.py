"""JointDescent: all frequencies moved at once, together with a linear head, by minibatch descent."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from ..._checks import check_choice, check_count, check_positive
from ..._estimator import keyword_only_from
from ..._loops.threads import threads_for_rows_only
from ...data import Rows
from ...data.repetitions import without_repetitions
from ...data.targets import Labels, Target, Values, regressed
from ...expansions.waves import Expansion
from ...losses import Logistic, Loss, Multinomial, Squared
from ...measures.fourier import FourierMeasure
from ..base import Learned, Learner
from .gradients import WaveParameters
from .loop import Descent, run_together

_START_ROWS = 10_000
_START_RIDGE = 30.0


@dataclass(frozen=True, eq=False)
class DescentReport:
    """``losses``: mean training loss of each epoch; ``expansion``: the waves with their head, the
    fitted function.
    """

    losses: np.ndarray
    expansion: Expansion


@keyword_only_from("0.4", old_order=("n_epochs",))
@dataclass(eq=False, repr=False)
class JointDescent(Learner):
    """Move every frequency by Adam on the loss of a linear head: a cosine network trained from the
    prior's draws.

    It fits better with few frequencies than the margin game, and has none of its guarantees: no
    game, no certificate. Batches follow from the number of rows and the seed: arrays, memory maps
    and Dask arrays give the same frequencies, and on a cluster gradients are summed where the rows
    are, which stay in its memory meanwhile. The head is dropped; the learned measure keeps the
    starting weights, and any linear model may follow.

    Parameters
    ----------
    n_epochs : int, default 30
        Passes over the rows.
    batch_size : int, default 128
        Rows of one step; more where an epoch would have more than 512 steps.
    learning_rate : float, default 0.06
        Step of the frequencies in units of their starting size; falls linearly to 0.
    amplitude_rate : float, default 0.05
        Step of the head.
    frequency_decay : float, default 0.005
        Share of each frequency that is lost in each step; keeps noise out in many dimensions.
    penalty : float, default 0.01
        ℓ2 penalty on the head.
    start_scale : float, default 0.75
        The starting frequencies are those of the measure times this.
    loss : "auto", "log_loss" or "squared", default "auto"
        The log-loss is logistic, or multinomial for more than two classes. "auto" is the log-loss
        for labels and the squared loss for values. "squared" regresses labels, where a classifier
        or ``target="labels"`` calls them so, on the corners of a simplex, and whole numbers that
        nobody called labels as numbers.

    In few dimensions frequencies may grow: a wide prior, ``learning_rate=0.01``,
    ``frequency_decay=0``, ``penalty=1e-4``, ``batch_size=64`` and 60 epochs are a better start
    there.

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
    loss: str = "auto"

    def check_parameters(self) -> None:
        check_count(self.n_epochs, "n_epochs")
        check_count(self.batch_size, "batch_size")
        check_choice(self.loss, "loss", ("auto", "log_loss", "squared"))
        check_positive(self.start_scale, "start_scale")
        for name in ("learning_rate", "amplitude_rate", "frequency_decay", "penalty"):
            check_positive(getattr(self, name), name, allow_zero=True)

    def _learn(self, measure, rows, target, rng, weights):
        # The start solves a small system, after which BLAS's threads would stay awake and take the
        # rows' threads their cores.
        with threads_for_rows_only():
            return self._descend(measure, rows, target, rng, weights)

    def _descend(self, measure, rows, target, rng, weights):
        if not isinstance(measure, FourierMeasure):
            raise TypeError(
                "JointDescent moves frequencies and needs a FourierMeasure, got "
                f"{type(measure).__name__}."
            )
        # Batches are drawn by number: few rows are taken once each, so that weights and repeated
        # rows have the same batches.
        different = without_repetitions(rows, target, weights, in_order=True)
        rows, target, weights = different.rows, different.target, different.weights
        loss, targets = self._problem(target)
        moved = replace(measure, frequencies=self.start_scale * measure.frequencies)
        parameters = WaveParameters.of(ridge_start(moved, rows, loss, targets, rng, weights))
        size = np.median(np.abs(moved.frequencies)) / 0.6745 or 1.0  # a robust standard deviation
        # Rates and penalty refer to waves of mean weight: of the features √w_j (cos, sin) the heavy
        # ones move further.
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
        """The loss, and the targets as float32 columns."""
        if self.loss == "squared" or (self.loss == "auto" and isinstance(target, Values)):
            return Squared(), regressed(target).astype(np.float32)
        if isinstance(target, Labels):
            n_classes = len(target.classes)
            if n_classes < 2:
                raise ValueError(
                    "JointDescent needs at least 2 classes, y has only 1 class: "
                    f"{target.classes[0]!r}."
                )
            return (
                (Logistic(), target.signs(np.float32))
                if n_classes == 2
                else (Multinomial(), target.one_hot())
            )
        other = "" if self.loss == "auto" else ', or write loss="auto"'
        raise ValueError(
            f"JointDescent(loss={self.loss!r}) needs labels, got a target of type "
            f"{type(target).__name__}{other}."
        )


def ridge_start(
    measure: FourierMeasure,
    rows: Rows,
    loss: Loss,
    targets: Any,
    rng: np.random.Generator,
    weights: Any,
) -> Expansion:
    """The head by ridge on the targets, from some rows; the squared-loss solution is a good place
    to start any loss.
    """
    numbers = np.sort(rng.choice(len(rows), min(len(rows), _START_ROWS), replace=False))
    if weights is None:
        intercept = np.mean(targets, axis=0, dtype=np.float64).astype(targets.dtype)
    else:
        intercept = np.average(targets, axis=0, weights=weights)
    waves = measure.features(rows.take(numbers).astype(np.float32))
    weighted = waves if weights is None else waves * weights[numbers][:, None].astype(np.float32)
    gram = (weighted.T @ waves).astype(np.float64)
    gram[np.diag_indices_from(gram)] += _START_RIDGE * (np.mean(measure.weights) or 1.0)
    amplitudes = np.linalg.solve(gram, weighted.T @ (targets[numbers] - intercept))
    # Logistic heads act on scores, not probabilities: ±2 is where they say 0.12 and 0.88.
    gain = {Squared: 1.0, Logistic: 2.0, Multinomial: 4.0}[type(loss)]
    return Expansion.of(measure, gain * amplitudes, intercept if gain == 1 else 0.0)
