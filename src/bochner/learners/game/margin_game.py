"""MarginGame: frequencies found one after another in a game against the dual variables of a support
vector machine.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..._checks import Seed, as_generator, check_choice, check_count, check_positive
from ..._estimator import NestedDefaults, keyword_only_from
from ..._loops.lazy import waves as kernels
from ..._loops.threads import threads_for_rows_only
from ..._terminal.progress import track
from ...data import Block, Rows
from ...data.repetitions import without_repetitions
from ...expansions.waves import Expansion
from ...measures.fourier import FourierMeasure, concatenate
from ..base import Learned, Learner, as_data
from .duals import LOSSES, PROJECTIONS, in_long_blocks, make_dual
from .peaks import AscentPeaks, PeakSearch, PreparedSearch
from .value import GameCertificate, lower_value, on_features, upper_value

STEPS = ("adaptive", "theory")


@dataclass(frozen=True)
class GameRound:
    """One round: the ``peaks`` played against ``dual_weights`` (n_samples, n_problems), and the
    payoff F of the pair.

    The dual weights of rows on a cluster stay there, as a Dask array.

    ``lower`` is the payoff at the best scaling of the weights: below the value of the game if the
    peak is the highest.
    """

    number: int
    peaks: Any
    dual_weights: np.ndarray
    potential: float
    value: float
    lower: float


@dataclass(frozen=True)
class GameReport:
    """What a game leaves besides its measure.

    ``potentials`` and ``values`` have one entry for each round: the potential of the peaks, and
    F(α_t, λ_t). ``dual_weights`` is the last α. ``certificate`` is None when it was not asked for.
    """

    potentials: np.ndarray
    values: np.ndarray
    dual_weights: np.ndarray
    certificate: GameCertificate | None

    @property
    def n_rounds(self) -> int:
        return len(self.values)


@keyword_only_from("0.4", old_order=("n_rounds", "C", "peaks"))
@dataclass(eq=False, repr=False)
class MarginGame(NestedDefaults, Learner):
    """Learn a kernel that maximizes the margin, as a game of peaks against dual weights (Bullins et
    al. 2018, Algorithm 2).

    In each round ``peaks`` searches where the Fourier transform of the dual-weighted labels is
    largest; the dual weights α then take a gradient step towards the points that the new frequency
    does not explain. The measure is the average of all plays: exact, finite, no randomness left in
    its features.

    A round passes twice over the rows, and takes ``peaks.search_rows`` of them for the search; dual
    weights are float64 numbers, up to five for each row and problem at a time, kept where the rows
    are.

    The number of frequencies comes from the rounds: ``n_rounds`` times ``peaks.top``, less where
    the same one is found again. In ``SpectralFeatures`` the prior's ``n_components`` draws say
    where the search starts; write ``n_rounds=None`` to play until ``n_components`` frequencies are
    found.

    Parameters
    ----------
    n_rounds : int or None, default 100
        Rounds T of the game; None plays until there are as many frequencies as the measure has.
    C : float, default 1.0
        Weight of the loss, as in an SVM; a linear SVM with the same C on the features reaches the
        certified margin.
    peaks : a search for peaks, default ``AscentPeaks()``
        ``AscentPeaks``, ``LangevinPeaks``, ``QuasiNewtonPeaks``, ``CandidatePeaks``,
        ``HarmonicPeaks`` or ``HarmonicChain``.
    step : "adaptive", "theory" or float, default "adaptive"
        Step sizes of α: step_scale · D/√Σ‖g‖² with D the diameter of its set; D/(G√t) with G the
        bound on ‖g‖ of the regret analysis (C/t for the strongly concave losses); or one fixed
        number.
    step_scale : float, default 0.3
        Slow dual weights are the regularizer of this method: large steps fit the training set and
        lose on test data.
    projection : "exact" or "alternating", default "exact"
        How α is brought back into its set: to the nearest point, or by the ten sweeps of the paper.
    loss : "auto", "hinge", "squared_hinge" or "squared", default "auto"
        The last two are the ℓ2-SVM and ridge regression. "auto" is the hinge for labels and the
        squared loss for values. Several classes play as one-vs-rest problems that share one
        measure; so do several regression targets.
    certificate : bool, default True
        Compute the upper and lower value of the game after the last round.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2 * np.pi, 2 * np.pi, size=(300, 1))
    >>> y = np.sign(np.cos(2.0 * X[:, 0]))
    >>> prior = Gaussian(gamma=2.0).sample(50, 1, rng)
    >>> learned = MarginGame(n_rounds=1).learn(prior, X, y, rng)
    >>> np.abs(learned.measure.frequencies).round(1)
    array([[2.]])
    """

    _defaults: ClassVar = {"peaks": AscentPeaks()}

    _: KW_ONLY
    n_rounds: int | None = 100
    C: float = 1.0
    peaks: Any = None
    step: str | float = "adaptive"
    step_scale: float = 0.3
    projection: str = "exact"
    loss: str = "auto"
    certificate: bool = True

    def _learn(self, measure, rows, target, rng, weights):
        # Many products here are small, and BLAS's threads would only wait for each other.
        with threads_for_rows_only():
            return self._play(measure, rows, target, rng, weights)

    def _play(self, measure, rows, target, rng, weights):
        # A local search follows rounding: on different rows, weights and repetitions are the same
        # search.
        different = without_repetitions(rows, target, weights)
        rows, target, weights = different.rows, different.target, different.weights
        dual = make_dual(self.loss, target, self.C, weights, self.projection).on_rows(rows)
        search = self._component("peaks").prepare(measure, rows, weights)
        total = self._total_rounds(measure)
        rounds: list[GameRound] = []
        # The later half of the weights is nearer to the equilibrium; its mean gives a better lower
        # value.
        averages = [_Mean(dual), _Mean(dual)]
        game = self._rounds(measure, rows, dual, search, rng)
        for played in track(game, "margin game", total, lambda: _margin_so_far(rounds)):
            last = played.dual_weights
            rounds.append(replace(played, dual_weights=np.empty(0)))  # memory stays O(n)
            if self.certificate:
                averages[0].add(last)
                if 2 * played.number > total:
                    averages[1].add(last)
            del played
        learned = averaged([one.peaks for one in rounds])
        certificate = (
            self._certificate(learned, rows, dual, search, averages, rng)
            if self.certificate
            else None
        )
        potentials, values = (
            np.array([one.potential for one in rounds]),
            np.array([one.value for one in rounds]),
        )
        return Learned(
            learned, GameReport(potentials, values, different.of_given(last), certificate)
        )

    def rounds(
        self, measure: Any, X: Any, y: Any, rng: Seed, weights: Any = None
    ) -> Iterator[GameRound]:
        """Play the game round by round, e.g. for plots or for a stopping rule of your own.

        ``rng`` is a Generator or a seed.
        """
        self.check_parameters()
        self.check_kind(X)
        rng = as_generator(rng, "rng")
        rows, target, counts = as_data(X, y, weights)
        dual = make_dual(self.loss, target, self.C, counts, self.projection).on_rows(rows)
        yield from self._rounds(
            measure, rows, dual, self._component("peaks").prepare(measure, rows, counts), rng
        )

    def _rounds(self, measure, rows, dual, search, rng):
        rows = rows if dual.rows is None else in_long_blocks(rows)
        alpha = dual.start()
        squared_gradients = 0.0
        n_wanted = len(measure) if self.n_rounds is None else None
        n_found = 0
        for number in range(1, self._total_rounds(measure) + 1):
            signal = dual.signal(alpha)
            peaks = search.find(signal, rng, None if n_wanted is None else n_wanted - n_found)
            n_found += len(peaks)
            features = search.kept_features(peaks)
            sums = feature_sums(peaks, rows, signal, features)
            del signal
            height = float(np.sum(sums**2))
            linear, curvature = dual.payoff(alpha)
            value, lower = (
                linear - curvature - height / 2,
                dual.scaled(linear, height + 2 * curvature),
            )
            yield GameRound(number, peaks, alpha, height, value, lower)
            if n_wanted is not None and n_found >= n_wanted:
                return
            gradient = dual_gradient(dual, peaks, rows, alpha, sums, features)
            squared_gradients += dual.squares(gradient)
            alpha = dual.moved(alpha, gradient, self._step_size(dual, number, squared_gradients))
            del gradient

    def _step_size(self, dual, number, squared_gradients):
        if self.step == "adaptive":
            return (
                self.step_scale * dual.diameter / np.sqrt(squared_gradients)
                if squared_gradients > 0
                else 0.0
            )
        if self.step == "theory":
            if dual.strongly_concave:
                return dual.C / number
            return dual.diameter / (dual.gradient_bound * np.sqrt(number))
        return float(self.step)

    def _certificate(self, learned, rows, dual, search, averages, rng):
        exhaustive = self._component("peaks").exhaustive
        exact = copy(dual)
        exact.projection = "exact"
        lower = -np.inf
        for average in averages:
            if not average.count or not exact.squares(average.total):
                continue
            # A mean of feasible weights is feasible; projecting only removes rounding (or the error
            # of "alternating").
            alpha = exact.project(average.take())
            signal = exact.signal(alpha)
            if exhaustive:
                largest = search.largest_potential(signal)
            else:
                plays = concatenate([search.find(signal, rng, 1), learned])
                largest = float(np.max(atom_potentials(plays, rows, signal)))
            lower = max(lower, lower_value(exact, alpha, largest))
        scope = getattr(search, "scope", PreparedSearch.scope)
        return GameCertificate(upper_value(learned, rows, exact), lower, exhaustive, scope)

    def _total_rounds(self, measure):
        return len(measure) if self.n_rounds is None else self.n_rounds

    def check_parameters(self) -> None:
        if self.n_rounds is not None:
            check_count(self.n_rounds, "n_rounds")
        check_positive(self.C, "C")
        check_positive(self.step_scale, "step_scale")
        check_choice(self.projection, "projection", PROJECTIONS)
        check_choice(self.loss, "loss", LOSSES)
        if isinstance(self.step, str):
            check_choice(self.step, "step", STEPS)
        else:
            check_positive(self.step, "step")
        self._component("peaks", PeakSearch)


def _margin_so_far(rounds):
    """1/√(2 lower value), the best margin that the rounds so far leave possible; a local search can
    only estimate it.
    """
    best = max(played.lower for played in rounds)
    return f"best margin about {1 / np.sqrt(2 * best):.3g}" if best > 0 else "no margin yet"


def averaged(plays: list[Any]) -> Any:
    """(1/T) Σ_t plays[t], equal atoms joined: a measure of mass one."""
    joined = concatenate(plays)
    return replace(joined, weights=joined.weights / len(plays)).merged()


class _Mean:
    """A running mean of dual weights, in memory of its own."""

    def __init__(self, dual):
        self.dual, self.total, self.count = dual, None, 0

    def add(self, alpha):
        self.count += 1
        if self.total is None:
            self.total = self.dual.map(np.copy, alpha)
        else:
            self.total = self.dual.map(np.add, self.total, alpha, out=self.total)

    def take(self):
        """The mean, in the memory of the sum."""
        total, self.total = self.total, None
        return self.dual.map(partial(np.multiply, 1 / self.count), total, out=total)


def feature_sums(
    measure: Any, rows: Rows, signal: Any, features: np.ndarray | None = None
) -> np.ndarray:
    """Φᵀ a, (n_columns, n_signals): their squares add up to Σ_j w_j v(ω_j).  Block by block, unless
    ``features`` (Φ) are at hand.
    """
    if features is not None:
        return features.T @ signal
    if isinstance(measure, FourierMeasure):
        sums = rows.sum(
            Block(kernels.few_fourier_sums, measure.frequencies), signal
        )  # (n_signals, 2, n_atoms)
        return (sums * np.sqrt(measure.weights)).reshape(len(sums), -1).T
    return rows.sum(on_features(_feature_sums, measure, rows), signal)


def dual_gradient(
    dual: Any,
    measure: Any,
    rows: Rows,
    alpha: Any,
    sums: np.ndarray,
    features: np.ndarray | None = None,
) -> Any:
    """∂F/∂α, (n_samples, n_problems), for the kernel of ``measure`` with these ``feature_sums`` of
    the signal: one pass over the rows.
    """
    if features is not None:
        return dual.gradient(alpha, features @ sums)
    block = Block(_gradient_block, dual.without_rows(), response_block(measure, rows, sums))
    signals = alpha, dual.targets, dual.weights
    return rows.values(block, dual.n_problems, dtype=np.float64, signals=signals)


def response_block(measure: Any, rows: Rows, sums: np.ndarray) -> Block:
    """Φ Φᵀ a of a block of rows, for the ``feature_sums`` of all."""
    if isinstance(measure, FourierMeasure):
        return Expansion.of(measure, sums).block()
    return on_features(_weighted_features, measure, rows, sums)


def atom_potentials(measure: Any, rows: Rows, signal: Any) -> np.ndarray:
    """v(ω_j) of each atom, whatever its weight."""
    unit = measure.reweighted(np.ones(len(measure)))
    squared = np.sum(feature_sums(unit, rows, signal) ** 2, axis=1)
    return np.sum(squared.reshape(-1, len(measure)), axis=0)


def _feature_sums(features, X, signal):
    columns = features(X)
    return columns.T @ signal.astype(columns.dtype, copy=False)


def _weighted_features(features, sums, X):
    columns = features(X)
    return columns @ sums.astype(columns.dtype, copy=False)


def _gradient_block(dual, response, X, alpha, targets, weights, out):
    out[...] = dual.on(targets, weights).gradient(alpha, response(X))
