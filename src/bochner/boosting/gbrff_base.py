"""Base of GBRFF1 and GBRFF2 (Gautheron et al. 2020): rounds, margins, probabilities."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from .._checks import as_generator, check_count, check_flag, check_share
from .._estimator import Classifier, Estimator
from .._loops.threads import threads_for_rows_only
from .._terminal.progress import track
from ..data import LocalRows, Rows
from ..data.repetitions import FEW_ROWS, equal_rows
from ..data.training import TrainingData, members
from ..expansions.waves import (
    Expansion,
    ExpansionModel,
    ExpansionStack,
    derivative_importances,
)
from ..losses import Exponential, Loss, class_probabilities
from ..measures.fourier import FourierMeasure
from ..priors import Gaussian
from ..priors.base import SpectralPrior
from . import shared

# Up to this many numbers (32 MiB in float64) rows are one dense block in memory: starting a second
# thread would take longer than the work.
SMALL = 2**22
# Numbers in a block of more rows.
_BLOCK_NUMBERS = 2**19
# One row in so many is held out for the slope of probabilities, in each class.
_HELD_OUT = 4
# Most held-out rows: more than two digits of the slope are not needed.
_MOST_HELD_OUT = 10_000
# Range of the logarithm of the slope.
_LOG_SLOPES = (-7.0, 3.0)
# A weight is at most e^30: by then its row alone determines the round.
_LARGEST_LOG_WEIGHT = 30.0


# Documentation of the shared parameters and attributes.
SHARED_DOCUMENTATION = """
    learning_rate : float in (0, 1], default 1.0
        Factor of each optimal step.
    subsample : float in (0, 1], default 1.0
        Share of the rows, drawn without replacement, to which each weak learner is fitted. Its step
        is computed from all rows, so the training loss never rises. Rows that are not drawn have
        weight zero, so a round does not take less time. On five tables of up to 569 rows, 0.5
        changed the accuracy by at most one point, except by +2.5 ± 1.2 for GBRFF2 on the noisiest.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes, by label; "balanced" gives each class the same total weight.
    calibrated : bool, default True
        Fit a second model without a quarter of the rows, at most 10 000. These rows determine the
        slope of ``predict_proba``, because margins grow with every round, far beyond the log-odds.
        Predicted classes do not change. False halves the time and uses margins as log-odds.
    warm_start : bool, default False
        Continue the previous fit up to ``n_rounds``.
    random_state : None, int, RandomState or Generator, default None
        Seed of the frequencies.

    Attributes
    ----------
    expansion_ : Expansion; one atom (GBRFF1: n_components atoms) for each round and class
    alphas_ : (n_rounds, n_outputs), the steps α^t. n_outputs is 1 for two classes, otherwise their
        number
    weights_ : (n_rounds, n_outputs, K), the shares q of the K frequencies of a weak learner, of sum
        one; K is n_components in GBRFF1 and 1 in GBRFF2
    phases_ : (n_rounds, n_outputs, K), the phases of the K cosines: ω_j·x^t in GBRFF1, b^t in
        GBRFF2
    measure_ : FourierMeasure, the learned kernel of Eq. 1
    train_loss_ : (n_rounds, n_outputs), mean exp(−yH) after each round
    feature_importances_ : (n_features,), of sum one: mean squared derivative of the scores per
        standard deviation of each column
    slope_ : the factor of margins in ``predict_proba``, whose odds are exp(2 slope H)
    classes_, n_rounds_, n_features_in_, prior_
"""


def in_few_blocks(rows: Rows | np.ndarray, width: int | None = None) -> Rows:
    """Return rows whose blocks depend on their shape only, for functions of little memory per row.

    ``width`` is the number of values per row, by default the number of columns. Large sparse
    matrices and rows on a cluster keep their blocks.
    """
    rows = rows if isinstance(rows, Rows) else LocalRows(rows)
    width = int(np.prod(rows.shape[1:])) if width is None else width
    few = len(rows) * width <= SMALL
    return rows.in_dense_blocks(max(1, len(rows) if few else _BLOCK_NUMBERS // max(width, 1)))


@ExpansionModel.register
@dataclass(eq=False, repr=False)
class GBRFFBase(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Classifier, Estimator):
    """Base of both algorithms: the rounds, several classes, and calibrated probabilities."""

    _defaults: ClassVar = {"prior": Gaussian(gamma="scale")}
    _: KW_ONLY
    n_rounds: int = 100
    learning_rate: float = 1.0
    subsample: float = 1.0
    max_iterations: int = 10
    class_weight: Any = None
    calibrated: bool = True
    warm_start: bool = False
    random_state: Any = None

    __sklearn_is_fitted__ = shared.is_fitted
    _score_block = shared.score_block
    _probabilities = property(shared.probabilities)
    jacobian = shared.jacobian
    staged_decision_function = shared.staged_decision_function
    staged_predict = shared.staged_predict
    staged_predict_proba = shared.staged_predict_proba

    @property
    def measure_(self) -> FourierMeasure:
        """Learned kernel of Eqs. 1 and 2, summed over classes.

        It is Σ_t |α^t| Σ_j q_j cos(ω_j·(x − z)). A negative step is equivalent to a positive one
        with another landmark if K is 1, or with a landmark of the other class. So the absolute
        value of a step is the weight of a kernel. Without rounds the kernel is zero.
        """
        if not self._n_features_out:
            return FourierMeasure(np.zeros((1, self.n_features_in_)), np.zeros(1))
        weights = np.abs(self.alphas_)[:, :, None] * self.weights_
        return FourierMeasure(self.expansion_.frequencies, weights.ravel(), learned=True)

    def transform(self, X: Any) -> Any:
        """Return the outputs h^t of the weak learners, the compact representation of the paper.

        The shape is (n_samples, n_rounds · n_outputs), with the outputs of a round side by side.
        Scores are H⁰ plus the sums of these columns times ``alphas_``.
        """
        rows, n_atoms = self._read_rows(X), self.weights_.shape[2]
        shape = (self._n_features_out, n_atoms)
        frequencies = self.expansion_.frequencies.reshape(*shape, self.n_features_in_)
        phases, weights = self.phases_.reshape(shape), self.weights_.reshape(1, *shape)
        return ExpansionStack(frequencies, phases, weights).evaluate(rows)

    @property
    def _n_features_out(self) -> int:
        return self.alphas_.size

    def _with_target(self, rows, y, sample_weight):
        self._check_own_parameters(rows.n_features)
        # BLAS rounds differently for each layout, and boosting amplifies rounding in each round.
        # So equal numbers must have one layout, whatever array, frame or file they come from.
        return super()._with_target(rows.in_c_order(SMALL), y, sample_weight)

    def _fit(self, data: TrainingData) -> None:
        """Run ``n_rounds`` rounds; a warm start runs those that are missing.

        A row of weight h counts as h rows in every sum over rows, and in n.
        """
        data, continued = data.distinct(), self._continues()
        rows, labels = data.rows, data.target
        # From this first pass on, the workers of a cluster keep the rows.
        rows.assert_all_finite()
        if continued:
            shared.check_warm_start(self, labels.classes)
        else:
            self.classes_, self.loss_ = labels.classes, Exponential()
            self.prior_ = self._component("prior", SpectralPrior).resolved(rows, data.weights)
            self._seed = int(as_generator(self.random_state).integers(2**63))
        rows, signs, counts = in_few_blocks(rows), _columns(labels.signs()), data.row_weights
        self._boost(rows, signs, counts, continued)
        self.slope_ = 1.0
        if self.calibrated:
            self.slope_ = self._held_out_slope(TrainingData(rows, labels, counts), signs)
        some = np.linspace(0, len(rows) - 1, min(len(rows), shared.IMPORTANCE_ROWS)).astype(int)
        importances = derivative_importances(self.expansion_, rows.take(some), counts[some])
        self.feature_importances_ = importances

    def _held_out_slope(self, data, signs):
        """Return the slope for rows that a second model with the same seed was not trained on.

        It is 1 if no rows can be held out.
        """
        rows, labels, counts = data.rows, data.target, data.weights
        # If there are few rows, copies are merged already. They are drawn in the order of their
        # values, so that rows of weight zero change nothing.
        different = data.distinct(in_order=True)
        rng = np.random.default_rng(self._seed)
        equal = equal_rows(rows, labels, counts) if len(rows) > FEW_ROWS else None
        candidates = different.weights if equal is None else equal.first_of_copies(counts)
        drawn = held_out_rows(different.target.codes, len(labels.classes), candidates, rng)
        if self.n_rounds_ == 0 or drawn is None:
            return 1.0
        held_out = np.sort(different.original_numbers(drawn))
        excluded = held_out if equal is None else equal.with_copies(held_out)
        # A callback may have stopped the rounds early.
        other = clone(self).set_params(n_rounds=self.n_rounds_)
        other.loss_, other.prior_, other._seed = self.loss_, self.prior_, self._seed
        # Weight zero excludes rows without a copy of the others.
        left = np.array(counts)
        left[excluded] = 0
        other._boost(rows, signs, left, continued=False, reports=False)
        scores = data.take(held_out).rows.values(other.expansion_.block(), len(signs))
        return margin_slope(self.loss_, scores, labels.codes[held_out], counts[held_out])

    def _boost(self, rows, signs, counts, continued, reports=True):
        """Run all rounds, with ``reports`` to callbacks and progress bars."""
        n_outputs = len(signs)
        if continued:
            expansion, losses = self.expansion_, self.train_loss_
        else:
            start = np.concatenate([self.loss_.start(own[:, None], counts) for own in signs])
            losses = np.zeros((0, n_outputs))
            expansion = Expansion.constant(start, rows.n_features)
        done, per_round = len(losses), n_outputs * self._atoms_per_learner()
        if len(expansion) != done * per_round:
            n_before = len(expansion) // (done * n_outputs)
            raise ValueError(
                f"warm_start continues rounds with {n_before} frequencies each, but "
                f"n_components={self._atoms_per_learner()}. Write n_components={n_before}, or "
                "warm_start=False for a new fit."
            )
        scores = rows.values(expansion.block(), n_outputs)
        margins = Margins(signs, counts, _columns(scores))
        weak_learners, new_losses, rounds = [], [], range(done, self.n_rounds)
        for t in track(rounds, type(self).__name__) if reports else rounds:
            with threads_for_rows_only():
                weak_learners += [
                    self._round(rows, margins, k, np.random.default_rng([self._seed, t, k]))
                    for k in range(n_outputs)
                ]
            new_losses.append(margins.losses())
        stacked: Any = map(np.array, zip(*weak_learners)) if weak_learners else ([],) * 4
        frequencies, phases, shares, steps = stacked
        if weak_learners:
            # The waves of a weak learner belong to the output of its class.
            of_class = np.tile(np.eye(n_outputs), (len(new_losses), 1))[:, None]
            amplitudes = (steps[:, None] * shares)[:, :, None] * of_class
            new = Expansion.of_phases(
                np.concatenate(frequencies),
                np.concatenate(amplitudes),
                np.concatenate(phases[:, :, None] * of_class),
                expansion.intercept,
            )
            expansion = expansion.extended(new)
            losses = np.concatenate([losses, new_losses])

        def extended(name, new, *size):
            new = np.reshape(new, (-1, n_outputs, *size))
            return np.concatenate([getattr(self, name), new]) if continued else new

        self.alphas_: np.ndarray = extended("alphas_", steps)
        self.weights_: np.ndarray = extended("weights_", shares, self._atoms_per_learner())
        self.phases_: np.ndarray = extended("phases_", phases, self._atoms_per_learner())
        self.expansion_: Expansion = expansion
        self.train_loss_: np.ndarray = losses
        self.n_rounds_ = len(losses)

    def _round(self, rows, margins, k, rng):
        """Return frequencies, phases, shares and step of a weak learner, after the step."""
        counts = subsampled(margins.counts, self.subsample, rng)
        frequencies, phases, shares, prediction = self._weak_learner(
            rows, margins.signal(k), counts, counts.sum(), rng
        )
        return frequencies, phases, shares, margins.step(k, prediction, self.learning_rate)

    @abstractmethod
    def _weak_learner(self, rows, signal, counts, n_samples, rng):
        """Fit a weak learner h to the signed weights ỹ of rows.

        ``n_samples`` is the sum of the counts. Return frequencies (K, d), phases (K,), shares (K,)
        and h of the rows.
        """

    @abstractmethod
    def _check_own_parameters(self, n_features):
        """Raise an error for parameters of this algorithm that cannot be used."""

    def _atoms_per_learner(self) -> int:
        return 1

    @property
    def _atoms_per_round(self) -> int:
        return self._atoms_per_learner() * self.expansion_.n_outputs

    def _check_parameters(self):
        check_count(self.n_rounds, "n_rounds", minimum=0)
        check_share(self.learning_rate, "learning_rate", allow_one=True)
        check_share(self.subsample, "subsample", allow_one=True, example=0.5)
        check_count(self.max_iterations, "max_iterations", minimum=0)
        check_flag(self.calibrated, "calibrated")
        check_flag(self.warm_start, "warm_start")
        self._component("prior", SpectralPrior)


def _columns(table):
    """Return the columns of a table as the rows of an array."""
    return np.ascontiguousarray(table.T, dtype=np.float64)


# --- scores and weights between two rounds --------------------------------------------------------


def bound_minimizer(agreement: np.ndarray, weights: np.ndarray) -> float:
    """Return α = ½ ln(S₊/S₋), which minimizes the bound √(S₊S₋) on the loss.

    S± = Σ (1 ± y h) w with ``agreement`` = y h in [−1, 1], as in Algorithms 2 and 3. The text above
    them exchanges numerator and denominator, which raises the loss. A perfect weak learner has
    S₋ = 0: 10⁻¹⁰ of the total weight is added to both, so |α| stays below 12.
    """
    total, edge = weights.sum(), weights @ agreement
    guard = 1e-10 * total
    return 0.5 * float(np.log((total + edge + guard) / (total - edge + guard)))


def subsampled(counts: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return the counts of a share of the rows, at least one, and zeros for the others.

    Rows of count zero are never drawn.
    """
    if share == 1:
        return counts
    rows = np.flatnonzero(counts)
    n_left_out = len(rows) - max(1, round(share * len(rows)))
    part = np.array(counts)
    part[rng.choice(rows, n_left_out, replace=False, shuffle=False)] = 0
    return part


class Margins:
    """Scores H and weights e^(−yH) of the rows in each problem, (n_problems, n_rows).

    A problem is one class against the rest. A row of ``counts`` h counts as h rows, ``n_samples``
    in all.
    """

    def __init__(self, signs: np.ndarray, counts: np.ndarray, scores: np.ndarray):
        self.signs, self.counts, self.scores = signs, counts, scores
        self.n_samples = counts.sum()
        self.weights = np.exp(np.minimum(-signs * scores, _LARGEST_LOG_WEIGHT))
        self._shares = counts / self.n_samples

    def signal(self, k: int) -> np.ndarray:
        """Return ỹ = y e^(−yH).

        It is not normalized: inside an exponential, its scale is part of the objective.
        """
        return self.signs[k] * self.weights[k]

    def step(self, k: int, prediction: np.ndarray, learning_rate: float) -> float:
        """Add a share of the best step along a weak learner, and return its length."""
        signs, scores, weights = self.signs[k], self.scores[k], self.weights[k]
        step = learning_rate * bound_minimizer(signs * prediction, self.counts * weights)
        scores += step * prediction
        np.multiply(-signs, scores, out=weights)
        np.exp(np.minimum(weights, _LARGEST_LOG_WEIGHT, out=weights), out=weights)
        return step

    def losses(self) -> np.ndarray:
        """Return the exponential loss of each problem: the mean weight of its rows."""
        return self.weights @ self._shares


# --- probabilities of margins that grow with every round ------------------------------------------


def held_out_rows(
    codes: np.ndarray, n_codes: int, counts: Any, rng: np.random.Generator
) -> np.ndarray | None:
    """Return sorted numbers of a random quarter of the rows of each class, at least one.

    At most about 10 000 rows in all. None if a class has fewer than two rows with a weight.
    """
    of_classes = members(codes, n_codes, len(codes), counts)
    if min(map(len, of_classes)) < 2:
        return None
    n_rows, held_out = sum(map(len, of_classes)), []
    many = n_rows > _HELD_OUT * _MOST_HELD_OUT
    for own in of_classes:
        n_members = len(own)
        size = max(_MOST_HELD_OUT * n_members // n_rows if many else n_members // _HELD_OUT, 1)
        # A permutation of many rows would be slow.
        if many:
            ranks = rng.choice(n_members, size, replace=False)
        else:
            ranks = rng.permutation(n_members)[:size]
        held_out.append(own[ranks])
    return np.sort(np.concatenate(held_out))


def margin_slope(loss: Loss, scores: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> float:
    """Return the factor of the scores whose probabilities have the smallest log-loss.

    A slope alone, without Platt's shift, does not change predicted classes. As in Platt's method,
    each of N rows belongs to its own class with a share of (N + 1) / (N + 2) only. The rest is
    divided between the other classes. Otherwise the slope of separated rows would be infinite.
    """
    n_classes, total = max(scores.shape[1], 2), counts.sum()
    shares = np.full((len(codes), n_classes), 1 / ((total + 2) * (n_classes - 1)))
    shares[np.arange(len(codes)), codes] = (total + 1) / (total + 2)
    shares *= counts[:, None] / total

    def log_loss(log_slope):
        probabilities = class_probabilities(loss, np.exp(log_slope) * scores)
        return -np.sum(shares * np.log(np.maximum(probabilities, 1e-300)))

    best = minimize_scalar(log_loss, bounds=_LOG_SLOPES, method="bounded", options={"xatol": 1e-6})
    # Rounding, far below the error of the slope, removes the dependence on the order of sums.
    return float(np.exp(np.round(best.x, 3)))
