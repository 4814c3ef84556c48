"""MarginGame: a game of frequencies against the dual variables of a support vector machine."""

from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._checks import Seed, as_generator, check_choice, check_count, check_positive
from ..._estimator import NestedDefaults, keyword_only_from
from ..._loops.lazy import waves as kernels
from ..._loops.threads import threads_for_rows_only
from ..._terminal.progress import track
from ...data import Block, Rows
from ...data.training import without_repetitions
from ...expansions.waves import Expansion
from ...measures.fourier import FourierMeasure, concatenate
from ..base import Learned, Learner, as_data
from .duals import LOSSES, PROJECTIONS, in_long_blocks, make_dual
from .peaks import AscentPeaks, PeakSearch, PreparedSearch
from .value import GameCertificate, lower_value, on_features, upper_value

STEPS = ("adaptive", "theory")


@dataclass(frozen=True)
class GameRound:
    """One round: ``peaks`` against ``dual_weights`` (n_samples, n_problems).

    ``potential`` is v of the peaks. ``value`` is the payoff F of the pair, and ``lower`` the payoff
    at the best scaling of the weights. If the peak is the highest, ``lower`` is below the value of
    the game.
    """

    number: int
    peaks: Any
    dual_weights: np.ndarray
    potential: float
    value: float
    lower: float


@dataclass(frozen=True)
class GameReport:
    """Report of a game.

    ``potentials`` are the potentials of the peaks of each round, ``values`` the payoffs F(α_t,
    λ_t). ``dual_weights`` is the last α. ``certificate`` is None with ``certificate=False``.
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
    """Learn a kernel of large margin by a game of peaks against dual weights.

    In each round (Bullins et al. 2018, Algorithm 2) ``peaks`` searches for the maximum of the
    Fourier transform of the dual-weighted labels. Then the dual weights α take a gradient step
    towards the points that the new frequency does not explain. The measure is the average of all
    plays: it is finite, and its features are not random.

    A round makes two passes over the rows, and reads ``peaks.search_rows`` of them for the search.
    Dual weights are float64 numbers in memory, up to five for each row and problem at a time.

    The number of frequencies is ``n_rounds`` times ``peaks.top``, or less if a frequency is found
    again. In ``SpectralFeatures`` the search starts at ``n_components`` draws from the prior. With
    ``n_rounds=None`` the game ends when it has found ``n_components`` frequencies.

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
        Step sizes of α, whose set has the diameter D. "adaptive" is step_scale · D/√Σ‖g‖².
        "theory" is D/(G√t) with the bound G on ‖g‖ of the regret analysis, or C/t for the strongly
        concave losses. A number is a fixed step.
    step_scale : float, default 0.3
        Factor of adaptive steps. Small steps regularize; large steps fit the training rows better
        and new rows worse.
    projection : "exact" or "alternating", default "exact"
        Projection of α onto its set: to the nearest point, or by the ten sweeps of the paper.
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
        # A local search depends on rounding: merged rows make weights and repetitions one search.
        different = without_repetitions(rows, target, weights)
        # Many products are small: several threads of BLAS would only wait for each other.
        with threads_for_rows_only():
            game = self._game(measure, different.rows, different.target, different.weights, rng)
            learned, report = game.played(self.certificate)
        return Learned(
            learned, replace(report, dual_weights=different.for_original_rows(report.dual_weights))
        )

    def rounds(
        self, measure: Any, X: Any, y: Any, rng: Seed, weights: Any = None
    ) -> Iterator[GameRound]:
        """Play the game round by round, e.g. for plots or for a stopping rule of your own.

        ``rng`` is a Generator or a seed.
        """
        self.check_parameters()
        rng = as_generator(rng, "rng")
        rows, target, counts = as_data(X, y, weights)
        yield from self._game(measure, rows, target, counts, rng).rounds()

    def _game(self, measure, rows, target, weights, rng):
        dual = make_dual(self.loss, target, self.C, weights, self.projection).on_rows(rows)
        peaks = self._component("peaks")
        n_wanted = len(measure) if self.n_rounds is None else None
        return _Game(
            rows,
            dual,
            peaks.prepare(measure, rows, weights),
            rng,
            n_rounds=self.n_rounds or len(measure),
            n_wanted=n_wanted,
            step=self.step,
            step_scale=self.step_scale,
            exhaustive=peaks.exhaustive,
        )

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


@dataclass(frozen=True, eq=False)
class _Game:
    """A game on given rows: the dual problem, the search for peaks, and the parameters.

    It ends after ``n_rounds``, or when ``n_wanted`` frequencies are found, unless that is None.
    """

    rows: Rows
    dual: Any
    search: Any
    rng: np.random.Generator
    n_rounds: int
    n_wanted: int | None
    step: str | float
    step_scale: float
    exhaustive: bool

    def rounds(self) -> Iterator[GameRound]:
        """Play round by round.

        This is the same as the following reference version, up to rounding, for labels y = ±1, the
        hinge loss, ``CandidatePeaks`` and adaptive steps::

            alpha = project_dual(np.full(len(y), C / 2), y, C)
            waves, plays, values, squares = np.exp(1j * X @ frequencies.T), [], [], 0.0
            for _ in range(n_rounds):
                sums = waves.T @ (y * alpha)
                best = np.argmax(np.abs(sums) ** 2)
                plays.append(best)
                values.append(alpha.sum() - np.abs(sums[best]) ** 2 / 2)
                gradient = 1 - y * np.real(waves[:, best] * np.conj(sums[best]))
                squares += gradient @ gradient
                step = step_scale * C * np.sqrt(len(y)) / np.sqrt(squares)
                alpha = project_dual(alpha + step * gradient, y, C)
            weights = np.bincount(plays, minlength=len(frequencies)) / n_rounds
        """
        dual = self.dual
        rows = self.rows if dual.rows is None else in_long_blocks(self.rows)
        alpha = dual.start()
        squared_gradients, n_found = 0.0, 0
        for number in range(1, self.n_rounds + 1):
            signal = dual.signal(alpha)
            n_left = None if self.n_wanted is None else self.n_wanted - n_found
            peaks = self.search.find(signal, self.rng, n_left)
            n_found += len(peaks)
            features = self.search.kept_features(peaks)
            sums = feature_sums(peaks, rows, signal, features)
            del signal
            height = float(np.sum(sums**2))
            linear, curvature = dual.payoff(alpha)
            value = linear - curvature - height / 2
            lower = dual.scaled(linear, height + 2 * curvature)
            yield GameRound(number, peaks, alpha, height, value, lower)
            if self.n_wanted is not None and n_found >= self.n_wanted:
                return
            gradient = dual_gradient(dual, peaks, rows, alpha, sums, features)
            squared_gradients += dual.squares(gradient)
            step = step_size(self.step, self.step_scale, dual, number, squared_gradients)
            alpha = dual.moved(alpha, gradient, step)
            del gradient

    def played(self, with_certificate: bool) -> tuple[Any, GameReport]:
        """Play all rounds; return the learned measure and the report."""
        rounds: list[GameRound] = []
        # The mean of all dual weights, and of the later half, which is nearer to the equilibrium.
        means = [_Mean(), _Mean()]
        for played in track(
            self.rounds(), "margin game", self.n_rounds, lambda: _margin_so_far(rounds)
        ):
            last = played.dual_weights
            rounds.append(replace(played, dual_weights=np.empty(0)))  # memory stays O(n)
            if with_certificate:
                means[0].add(last)
                if 2 * played.number > self.n_rounds:
                    means[1].add(last)
            del played
        learned = averaged([one.peaks for one in rounds])
        certificate = self._certificate(learned, means) if with_certificate else None
        potentials = np.array([one.potential for one in rounds])
        values = np.array([one.value for one in rounds])
        return learned, GameReport(potentials, values, last, certificate)

    def _certificate(self, learned, means):
        exact = copy(self.dual)
        exact.projection = "exact"
        lower = -np.inf
        for mean in means:
            if mean.total is None or not exact.squares(mean.total):
                continue
            # A mean of feasible weights is feasible; the projection removes rounding, or the error
            # of "alternating".
            mean.total *= 1 / mean.count
            alpha = exact.project(mean.total)
            signal = exact.signal(alpha)
            if self.exhaustive:
                largest = self.search.largest_potential(signal)
            else:
                plays = concatenate([self.search.find(signal, self.rng, 1), learned])
                largest = float(np.max(atom_potentials(plays, self.rows, signal)))
            lower = max(lower, lower_value(exact, alpha, largest))
        scope = getattr(self.search, "scope", PreparedSearch.scope)
        upper = upper_value(learned, self.rows, exact)
        return GameCertificate(upper, lower, self.exhaustive, scope)


def step_size(
    step: str | float, scale: float, dual: Any, number: int, squared_gradients: float
) -> float:
    """Return the step of round ``number``; ``squared_gradients`` is Σ‖g‖² of all rounds so far."""
    if step == "adaptive":
        return scale * dual.diameter / np.sqrt(squared_gradients) if squared_gradients > 0 else 0.0
    if step == "theory":
        if dual.strongly_concave:
            return dual.C / number
        return dual.diameter / (dual.gradient_bound * np.sqrt(number))
    return float(step)


def _margin_so_far(rounds):
    """Return 1/√(2 lower value) as text: the best margin that is still possible."""
    best = max(played.lower for played in rounds)
    return f"best margin about {1 / np.sqrt(2 * best):.3g}" if best > 0 else "no margin yet"


def averaged(plays: list[Any]) -> Any:
    """Return (1/T) Σ_t plays[t], a measure of mass one; equal atoms are joined."""
    joined = concatenate(plays)
    return replace(joined, weights=joined.weights / len(plays)).merged()


class _Mean:
    """Sum of dual weights, in its own memory, and their number."""

    def __init__(self):
        self.total, self.count = None, 0

    def add(self, alpha):
        self.count += 1
        self.total = alpha.copy() if self.total is None else np.add(self.total, alpha, self.total)


def feature_sums(
    measure: Any, rows: Rows, signal: Any, features: np.ndarray | None = None
) -> np.ndarray:
    """Return Φᵀ a, (n_columns, n_signals); its squares add up to Σ_j w_j v(ω_j).

    Computed block by block, unless ``features`` (Φ) are given.
    """
    if features is not None:
        return features.T @ signal
    if isinstance(measure, FourierMeasure):
        # (n_signals, 2, n_atoms)
        sums = rows.sum(Block(kernels.few_fourier_sums, measure.frequencies), signal)
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
    """Return ∂F/∂α, (n_samples, n_problems), in one pass over the rows.

    ``sums`` are the ``feature_sums`` of the signal for the kernel of ``measure``.
    """
    if features is not None:
        return dual.gradient(alpha, features @ sums)
    block = Block(_gradient_block, dual.without_rows(), response_block(measure, rows, sums))
    signals = alpha, dual.targets, dual.weights
    return rows.values(block, dual.n_problems, dtype=np.float64, signals=signals)


def response_block(measure: Any, rows: Rows, sums: np.ndarray) -> Block:
    """Return the block function Φ Φᵀ a, for the ``feature_sums`` of all rows."""
    if isinstance(measure, FourierMeasure):
        return Expansion.of(measure, sums).block()
    return on_features(_weighted_features, measure, rows, sums)


def atom_potentials(measure: Any, rows: Rows, signal: Any) -> np.ndarray:
    """Return v(ω_j) of each atom; weights are ignored."""
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
