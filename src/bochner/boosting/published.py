"""What GBRFF1 and GBRFF2 share (Gautheron et al. 2020): the exponential loss, its weights, the
step, one-vs-rest.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._checks import as_generator, check_count, check_flag
from .._estimator import CallbackSupportMixin, NestedDefaults, reporting, restore_on_failure
from .._loops.arrays import as_dense
from .._loops.threads import threads_for_rows_only
from .._terminal.progress import track
from ..data import LocalRows, Rows, gathered
from ..data.checks import check_rows
from ..data.repetitions import FEW_ROWS, equal_rows, without_repetitions
from ..data.targets import Labels
from ..expansions.waves import Expansion
from ..losses import Exponential
from ..priors import Gaussian
from ..priors.base import SpectralPrior
from .booster import check_learning_rate, check_more_rounds
from .calibration import held_out_rows, margin_slope
from .importances import IMPORTANCE_ROWS, derivative_importances
from .margins import Margins
from .predicting import ExpansionClassifier

# Up to this many numbers (32 MiB in float64) rows are one dense block in memory: the work is less
# than the cost of waking a second thread.
SMALL = 2**22
# Numbers of a block of more rows.
_BLOCK_NUMBERS = 2**19


def in_one_layout(rows: Rows) -> Rows:
    """Return the same rows in C order, dense if they are few.

    BLAS rounds differently for each layout, and boosting amplifies rounding round after round. So
    equal numbers must reach it in one layout, whatever array, frame, file or sparse matrix held
    them.
    """
    if not isinstance(rows, LocalRows):
        return rows
    few = np.prod(rows.shape) <= SMALL
    if few or (rows.in_memory and not rows.source.flags.c_contiguous):
        points = as_dense(rows.take(np.arange(len(rows))))
        return LocalRows(np.ascontiguousarray(points, dtype=rows.dtype if few else None))
    return rows


def in_few_blocks(rows: Rows | np.ndarray, width: int | None = None) -> Rows:
    """Return rows whose blocks depend on their shape alone, for functions that need little memory
    per row.

    ``width`` is how many numbers a row stands for, by default the number of its columns. Large
    sparse matrices and rows on a cluster keep their own blocks.
    """
    rows = rows if isinstance(rows, Rows) else LocalRows(rows)
    if not isinstance(rows, LocalRows) or not isinstance(rows.source, np.ndarray):
        return rows
    width = int(np.prod(rows.shape[1:])) if width is None else width
    few = len(rows) * width <= SMALL
    return rows.in_blocks(max(1, len(rows) if few else _BLOCK_NUMBERS // max(width, 1)))


@dataclass(eq=False, repr=False)
class PublishedBooster(CallbackSupportMixin, ExpansionClassifier, NestedDefaults):
    """What both algorithms share: the exponential loss, its weights, the step, one-vs-rest for
    several classes.
    """

    _defaults: ClassVar = {"prior": Gaussian(gamma="scale")}
    _: KW_ONLY
    n_rounds: int = 100
    learning_rate: float = 1.0
    max_iterations: int = 10
    class_weight: Any = None
    calibrated: bool = True
    warm_start: bool = False
    random_state: Any = None

    @restore_on_failure
    @reporting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Run ``n_rounds`` rounds on X and y; with ``warm_start`` only those that are missing.

        A row of weight h counts as h rows: every sum over rows, and n, is that of the weights.
        """
        self._check_parameters()
        continued = self.warm_start and hasattr(self, "expansion_")
        rows = check_rows(self, X, reset=not continued)
        self._check_rows(rows)
        rows = in_one_layout(rows)
        labels, weights = Labels.weighted(
            y, len(rows), sample_weight, self.class_weight, owner=type(self).__name__
        )
        different = without_repetitions(rows, labels, weights)
        rows, labels, weights = different.rows, different.target, different.weights
        rows.assert_all_finite()  # a first pass, from which on rows of a cluster are held there
        if not continued:
            self.classes_, self.loss_ = labels.classes, Exponential()
            self.prior_ = self._component("prior", SpectralPrior).resolved(rows, weights)
            self._seed = int(as_generator(self.random_state).integers(2**63))
        else:
            self._check_same_classes(labels)
        rows, signs = in_few_blocks(rows), _one_a_row(labels.signs())
        counts = np.ones(len(rows)) if weights is None else weights
        self._boost(rows, signs, counts, continued)
        self.slope_ = self._held_out_slope(rows, signs, labels, counts) if self.calibrated else 1.0
        some = np.linspace(0, len(rows) - 1, min(len(rows), IMPORTANCE_ROWS)).astype(int)
        self.feature_importances_ = derivative_importances(
            self.expansion_, rows.take(some), counts[some]
        )
        return self

    def _held_out_slope(self, rows, signs, labels, counts):
        """The slope that fits rows which a second model, of the same draws, has not learned from; 1
        where none can be spared.
        """
        # Few rows are drawn in the order of their values, so that rows of no weight change nothing.
        different = without_repetitions(rows, labels, counts, in_order=True)
        rng = np.random.default_rng(self._seed)
        # Of few rows, copies have been merged.
        equal = equal_rows(rows, labels, counts) if len(rows) > FEW_ROWS else None
        candidates = different.weights if equal is None else equal.first_of_copies(counts)
        drawn = held_out_rows(different.target.codes, len(labels.classes), candidates, rng)
        if self.n_rounds_ == 0 or drawn is None:
            return 1.0
        held = np.sort(different.given_numbers(drawn))
        apart = held if equal is None else equal.with_copies(held)
        other = clone(self).set_params(
            n_rounds=self.n_rounds_
        )  # fewer where a callback has stopped
        other.loss_, other.prior_, other._seed = self.loss_, self.prior_, self._seed
        # Rows of weight zero take no part, and no row is copied.
        left = np.array(counts)
        left[apart] = 0
        other._boost(rows, signs, left, continued=False, told=False)
        scores = other.expansion_.evaluate(rows.take(held))
        return margin_slope(self.loss_, scores, labels.codes[held], counts[held])

    def _boost(self, rows, signs, counts, continued, told=True):
        """All rounds; ``told`` to callbacks and progress bars."""
        n_outputs = len(signs)
        if not continued:
            start = np.concatenate([self.loss_.start(own[:, None], counts) for own in signs])
            losses = np.zeros((0, n_outputs))
            expansion = Expansion.constant(start, rows.n_features)
        else:
            expansion, losses = self.expansion_, self.train_loss_
        done, per_round = len(losses), n_outputs * self._atoms_per_learner()
        if len(expansion) != done * per_round:
            held = len(expansion) // (done * n_outputs)
            raise ValueError(
                f"warm_start goes on from rounds with {held} frequencies each, but "
                f"n_components={self._atoms_per_learner()}. "
                f"Write n_components={held}, or warm_start=False to begin anew."
            )
        check_more_rounds(self.n_rounds, done)
        margins = Margins(signs, counts, _one_a_row(gathered(expansion.evaluate(rows))))
        added, fresh_losses, rounds = [], [], range(done, self.n_rounds)
        for t in track(rounds, type(self).__name__) if told else rounds:
            with threads_for_rows_only():
                weak_learners = [
                    self._round(rows, margins, k, np.random.default_rng([self._seed, t, k]))
                    for k in range(n_outputs)
                ]
            for k, (frequencies, phases, amplitudes) in enumerate(weak_learners):
                of_class = np.arange(n_outputs) == k
                added.append(
                    (frequencies, amplitudes[:, None] * of_class, phases[:, None] * of_class)
                )
            fresh_losses.append(margins.losses())
        if added:
            frequencies, amplitudes, phases = map(np.concatenate, zip(*added))
            expansion = expansion.extended(
                Expansion.of_phases(frequencies, amplitudes, phases, expansion.intercept)
            )
            losses = np.concatenate([losses, fresh_losses])
        self.expansion_, self.train_loss_, self.n_rounds_ = expansion, losses, len(losses)

    def _round(self, rows, margins, k, rng):
        """One weak learner and the step along it; returns its frequencies, phases and signed
        amplitudes.
        """
        frequencies, phases, shares, prediction = self._weak_learner(
            rows, margins.signal(k), margins.counts, margins.n_samples, rng
        )
        return frequencies, phases, margins.step(k, prediction, self.learning_rate) * shares

    @abstractmethod
    def _weak_learner(self, rows, signal, counts, n_samples, rng):
        """(frequencies (K, d), phases (K,), shares (K,), h of the rows) that fit the signed weights
        ỹ of rows that count n in all.
        """

    def _check_rows(self, rows):
        """Complain about parameters that do not fit the rows."""

    def _atoms_per_learner(self) -> int:
        return 1

    @property
    def _atoms_per_round(self) -> int:
        return self._atoms_per_learner() * self.expansion_.n_outputs

    def _check_parameters(self):
        check_count(self.n_rounds, "n_rounds", minimum=0)
        check_learning_rate(self.learning_rate)
        check_count(self.max_iterations, "max_iterations", minimum=0)
        check_flag(self.calibrated, "calibrated")
        check_flag(self.warm_start, "warm_start")
        self._component("prior", SpectralPrior)


def _one_a_row(table):
    """Return the columns of a table as the rows of an array."""
    return np.ascontiguousarray(table.T, dtype=np.float64)
