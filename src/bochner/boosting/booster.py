"""What FourierBoostingClassifier and FourierBoostingRegressor share: parameters, rounds, epochs,
stopping.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from .._checks import (
    Seed,
    as_generator,
    check_auto_count,
    check_count,
    check_flag,
    check_positive,
    check_share,
    refuse_class,
)
from .._estimator import CallbackSupportMixin, FitTasks, NestedDefaults, keyword_only_from
from .._loops.threads import threads_for_rows_only
from .._terminal.progress import track
from ..data import row_numbers
from ..data.checks import check_rows, check_weights
from ..data.repetitions import FEW_ROWS, equal_rows, without_repetitions
from ..data.row_draws import members
from ..data.targets import Labels, Values
from ..expansions.waves import Expansion
from ..learners.descent.gradients import Standardization, WaveParameters
from ..learners.descent.loop import Descent, run_together
from ..losses import Multinomial
from ..priors import SpectralMixture
from ..priors.base import SpectralPrior
from .fitting import Rounds, draw_sample, others_at_most, with_waves
from .held_out import MOST_NUMBERS, ValidationRows, of_validation_rows, validation_given
from .importances import IMPORTANCE_ROWS, derivative_importances
from .predicting import ExpansionPredictor
from .rounds import WaveSearch

# Above this many rows a fit is a sample, pilots and joint epochs in float32; below it boosting
# alone, in the input's dtype, whose result depends on weighted sums only (so weights and repeated
# rows are the same thing).
LARGE = FEW_ROWS
# Rows kept apart at most: a mean over as many is exact enough to stop on, and the rest is better
# learned from.
_MOST_APART = 10_000
_DEFAULT_GAMMAS = (1.0, 4.0, 20.0, 80.0)
# Weights below this, and their inverses, are lost or infinite in float32 sums.
_LEAST_WEIGHT = 1e-20


class JointEpochs(BaseEstimator):
    """Epochs of joint descent on all waves over all rows, wherever they live.

    Batches of 256 rows, 1024 from 50 000 rows on and 2048 from 100 000 on; more where an epoch
    would have more than 512 of them.

    Parameters
    ----------
    n_epochs : "auto" or int, default "auto"
        Passes over the rows.  "auto": 0 up to 4000 rows, then 8, 4 from 50 000, 2 from 300 000 on.
    learning_rate : float, default 0.01
        Step of Adam.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bochner import FourierBoostingClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = FourierBoostingClassifier(n_rounds=20, epochs=JointEpochs(3), random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(self, n_epochs: int | str = "auto", *, learning_rate: float = 0.01):
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate

    def check_parameters(self) -> None:
        """Complain about parameters before any work."""
        check_auto_count(self.n_epochs, "n_epochs", minimum=0)
        check_positive(self.learning_rate, "learning_rate")

    def count(self, n_rows: int) -> int:
        """The number of epochs for so many rows."""
        if not isinstance(self.n_epochs, str):
            return self.n_epochs
        if n_rows <= LARGE:
            return 0
        return 8 if n_rows < 50_000 else (4 if n_rows < 300_000 else 2)

    def descent(self, loss: Any, n_rows: int, parameters: WaveParameters, linear: bool) -> Descent:
        """The descent of an expansion in standardised inputs: all that it has moves at one rate."""
        rate = self.learning_rate
        rates = parameters.like(rate, rate, rate if linear else 0.0, rate)
        batch_size = 256 if n_rows < 50_000 else (1024 if n_rows < 100_000 else 2048)
        return Descent(loss, self.count(n_rows), batch_size, rates, with_losses=False)


@keyword_only_from("0.4", old_order=("fraction", "patience"))
class EarlyStopping(BaseEstimator):
    """Keep some rows apart, stop when the loss there falls no more, keep the best round and epoch.

    Where ``fit`` is given ``X_val`` and ``y_val``, those rows judge, and none of X is kept apart.

    Parameters
    ----------
    fraction : float, default 0.1
        Share of the rows that is kept apart, at most 10 000 of them, of each class its share; 0
        keeps none and runs all rounds and epochs.
    patience : int, default 20
        Rounds without a better loss after which boosting stops.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bochner import FourierBoostingClassifier
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> model = FourierBoostingClassifier(stopping=EarlyStopping(fraction=0.2, patience=5), random_state=0).fit(X, y)
    >>> model.n_rounds_ < 100
    True
    """

    def __init__(self, *, fraction: float = 0.1, patience: int = 20):
        self.fraction = fraction
        self.patience = patience

    def check_parameters(self) -> None:
        """Complain about parameters before any work."""
        if check_positive(self.fraction, "fraction", allow_zero=True) > 0:
            check_share(self.fraction, "fraction")
        check_count(self.patience, "patience")

    def rows_apart(
        self, n_rows: int, strata: Any, n_strata: int, rng: Seed, weights: Any = None
    ) -> np.ndarray:
        """Sorted numbers of the rows that are kept apart, of codes ``strata`` (or None) and
        weights.

        Rows without weight judge nothing; a class (or table) too small to give one row of its share
        is learned from whole.
        """
        if self.fraction == 0:
            return np.empty(0, int)
        share, rng = min(self.fraction, _MOST_APART / n_rows), as_generator(rng, "rng")
        chosen = []
        for own in members(strata, n_strata, n_rows, weights):
            # A hair more, so that 0.1 of 30 rows are 3 in spite of rounding.
            size = int(share * len(own) * (1 + 1e-12))
            if size:
                chosen.append(own[rng.choice(len(own), size, replace=False)])
        return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, int)


@dataclass(eq=False, repr=False)
class FourierBooster(CallbackSupportMixin, ExpansionPredictor, NestedDefaults):
    """What classifier and regressor share: parameters, rounds, epochs, stopping."""

    _defaults: ClassVar = {
        "search": WaveSearch(),
        "epochs": JointEpochs(),
        "stopping": EarlyStopping(),
    }

    _: KW_ONLY
    loss: str
    n_rounds: int = 100
    learning_rate: float = 0.3
    prior: SpectralPrior | None = None
    search: WaveSearch | None = None
    epochs: JointEpochs | None = None
    stopping: EarlyStopping | None = None
    linear: bool = True
    n_pilots: int | str = "auto"
    max_rows: int = 5000
    warm_start: bool = False
    random_state: Any = None

    # --- fitting ----------------------------------------------------------------------------------

    def _begin(self) -> bool:
        """Whether this fit goes on from the last one; a new one forgets it, so that a fit that
        fails leaves nothing half done.
        """
        self._check_parameters()
        continued = self.warm_start and hasattr(self, "expansion_")
        if not continued:
            self.__dict__.pop("expansion_", None)
            # What a warm start goes on from: the fit in standardised inputs, and how they were
            # standardised.
            self._grown: Expansion | None = None
            self._standardization: Standardization | None = None
            self._seed = int(as_generator(self.random_state).integers(2**63))
            self.train_loss_ = []
            self.validation_loss_: list[float] = []
        else:
            check_more_rounds(self.n_rounds, len(self.expansion_))
        return continued

    # Products on the sample are small: threads of BLAS would wait for each other, and for those of
    # the epochs.
    @threads_for_rows_only()
    def _fit(self, X, y, rows, targets, weights, strata=None, n_strata=1, validation=None):
        """Boost on a sample, then joint epochs over all rows; leaves ``expansion_`` and what was
        learned on the way.

        X and y are as the user gave them, for callbacks; the rest is what ``fit`` has made of them:
        ``strata`` are codes of classes, of which each keeps its share of rows apart. ``validation``
        are the user's own ``ValidationRows``, in place of some of the rows that are kept apart.
        """
        search, epochs = (
            self._component("search", WaveSearch),
            self._component("epochs", JointEpochs),
        )
        rng = np.random.default_rng([self._seed, 0])
        large, n_epochs = len(rows) > LARGE, epochs.count(len(rows))
        dtype = np.float32 if large or n_epochs or rows.dtype == np.float32 else np.float64
        stopping = self._stopping_for(len(rows), validation is not None)
        splitting = stopping if validation is None else EarlyStopping(fraction=0)
        equal = None
        if splitting.fraction > 0 and len(rows) > FEW_ROWS:  # of few rows, copies have been merged
            outcome = Values(targets) if strata is None else Labels(np.arange(n_strata), strata)
            equal = equal_rows(rows, outcome, weights)
        candidates = weights if equal is None else equal.first_of_copies(weights)
        held_out = splitting.rows_apart(len(rows), strata, n_strata, rng, candidates)
        apart = held_out if equal is None else equal.with_copies(held_out)
        drawn = others_at_most(self.max_rows, len(rows), apart, rng)
        sample, standardization = draw_sample(
            rows, targets, weights, drawn, self._standardization, dtype
        )
        rounds = Rounds(self.loss_, self._prior_of(sample), search, self.learning_rate, self.linear)
        rounds = replace(rounds, whole_loss=self._whole_loss(rounds, sample))
        n_pilots = self._pilots_for(len(rows)) if isinstance(self.n_pilots, str) else self.n_pilots
        if n_pilots and self._grown is None:
            factors = rounds.pilot_factors(sample, n_pilots, rng)
            sample = sample.scaled(factors)
            standardization = Standardization(
                standardization.shift, standardization.scale * factors
            )
        checked = None
        if len(held_out):
            checked, _ = draw_sample(rows, targets, weights, held_out, standardization, dtype)
        elif validation is not None:
            given, everything = validation, row_numbers(len(validation.rows))
            checked, _ = draw_sample(
                given.rows, given.targets, given.weights, everything, standardization, dtype
            )
        fit = rounds.start(sample) if self._grown is None else self._grown
        tasks = FitTasks(self, max(self.n_rounds - len(fit), 0) + n_epochs, X, y)

        def published(fit):
            whole = self._in_units_of_the_target(fit)
            return {"expansion_": whole.after_scaling(standardization.shift, standardization.scale)}

        fit, stopped = self._boost(
            rounds, fit, sample, checked, stopping.patience, tasks, published
        )
        if n_epochs and len(fit) and not stopped:
            parameters = WaveParameters.of(fit)
            descent = epochs.descent(self.loss_, len(rows), parameters, fit.slopes is not None)
            (descended,) = run_together(
                [descent], [parameters], rows, targets, np.random.default_rng([self._seed, 2, len(fit)]),
                weights=weights, excluded=apart, standardization=standardization,
                held_out=None if checked is None else lambda fit: rounds.mean_loss(checked, checked.scores(fit)),
                after_epoch=lambda reached: tasks.finished("epoch", lambda: published(reached.expansion)),
            )  # fmt: skip
            fit = descended.expansion
            self.validation_loss_ = [*self.validation_loss_, *descended.held_out_losses]
        else:
            rows.assert_all_finite()
        self._grown, self._standardization = fit, standardization
        self.expansion_, self.n_rounds_ = published(fit)["expansion_"], len(fit)
        # What all classes have in common moves no probability; outputs are compared in their
        # standardised units.
        centered = isinstance(self.loss_, Multinomial)
        scores = fit.mixed(np.eye(fit.n_outputs) - 1 / fit.n_outputs) if centered else fit
        some = sample.some(IMPORTANCE_ROWS, rng)
        self.feature_importances_ = derivative_importances(scores, some.columns.T, some.weights)
        tasks.close(lambda: {"expansion_": self.expansion_})
        return self

    def _boost(self, rounds, fit, sample, checked, patience, tasks, published):
        """Rounds until ``n_rounds``; with a validation part, back to its best round when it has not
        improved for a while.
        """
        begun, waves = len(fit), []
        losses, validation_losses = list(self.train_loss_), list(self.validation_loss_)
        best_loss, best_round = np.inf, begun
        if checked is not None:
            valid_scores = checked.scores(fit)
            best_loss = rounds.mean_loss(checked, valid_scores)
        asked = patience_over = False
        found = rounds.waves(sample, sample.scores(fit), self._seed, begun)
        for t, (wave, scores) in zip(
            track(range(begun, self.n_rounds), type(self).__name__), found
        ):
            waves.append(wave)
            losses.append(rounds.mean_loss(sample, scores))
            if checked is not None:
                valid_scores = valid_scores + wave.values(checked.columns)
                validation_losses.append(rounds.mean_loss(checked, valid_scores))
                if validation_losses[-1] < best_loss:
                    best_loss, best_round = validation_losses[-1], t + 1
                patience_over = t + 1 - best_round >= patience
            asked = tasks.finished("round", lambda: published(with_waves(fit, waves)))
            if asked or patience_over:
                break
        self.train_loss_, self.validation_loss_ = losses, validation_losses
        # Running out of patience ends the rounds, not the fit: only a callback's wish goes further.
        return with_waves(fit, waves if checked is None else waves[: best_round - begun]), asked

    def _once_each(self, rows, target, weights):
        """What a fit on few rows looks at; of many rows, all as they are."""
        largest = 1.0 if weights is None else np.max(weights)
        if not _LEAST_WEIGHT < largest < 1 / _LEAST_WEIGHT:
            raise ValueError(
                "A row of weight h counts as h rows, and the largest sample_weight is "
                f"{largest:.1e}, which float32 sums lose. "
                "Write sample_weight / sample_weight.mean()."
            )
        different = without_repetitions(rows, target, weights, in_order=True)
        return different.rows, different.target, different.weights

    def _validation_rows(
        self, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> ValidationRows | None:
        """The user's own validation rows, read as X and y are; None where there are none."""
        if not validation_given(X_val, y_val, sample_weight_val):
            return None
        with of_validation_rows():
            rows = check_rows(self, X_val, reset=False)
            rows.assert_all_finite()
            if len(rows) * rows.n_features > MOST_NUMBERS:
                raise ValueError(
                    f"X_val has {len(rows)} rows of {rows.n_features} columns, and is judged by "
                    "whole. "
                    f"Give at most {MOST_NUMBERS // rows.n_features} of the rows."
                )
            target, weights = self._validation_target(
                y_val, check_weights(sample_weight_val, len(rows)), len(rows)
            )
            rows, target, weights = self._once_each(rows, target, weights)
        return ValidationRows(rows, self._targets(target), weights)

    def _stopping_for(self, n_rows: int, validated: bool) -> EarlyStopping:
        if self.stopping is None and n_rows <= LARGE and not validated:
            return EarlyStopping(fraction=0)
        stopping = self._component("stopping", EarlyStopping)
        if validated and stopping.fraction == 0:
            raise ValueError(
                f"X_val and y_val serve early stopping, which stopping={stopping!r} turns off. "
                "Write e.g. stopping=EarlyStopping(patience=20), or give no validation rows."
            )
        return stopping

    def _pilots_for(self, n_rows: int) -> int:
        return 2 if n_rows > LARGE else 0

    def _whole_loss(self, rounds: Rounds, sample: Any) -> float | None:
        """What ``Rounds`` weighs its penalty by; labels have no unit that could be left over."""
        return None

    def _prior_of(self, sample):
        if self.prior is not None:
            return self.prior.resolved(sample.columns.T, sample.weights)
        n_features, n_parts = len(sample.columns), len(_DEFAULT_GAMMAS)
        scales = np.sqrt(2 * np.array(_DEFAULT_GAMMAS) / n_features)
        return SpectralMixture(
            np.full(n_parts, 1 / n_parts), np.zeros((n_parts, n_features)), scales
        )

    def _in_units_of_the_target(self, fit: Expansion) -> Expansion:
        return fit

    def _check_parameters(self):
        check_count(self.n_rounds, "n_rounds", minimum=0)
        check_learning_rate(self.learning_rate)
        refuse_class(self.prior, "prior")
        if self.prior is not None and not isinstance(self.prior, SpectralPrior):
            raise TypeError(
                f"prior must be an object of SpectralPrior, got {self.prior!r}. Write e.g. "
                "prior=Gaussian(gamma=0.1)."
            )
        for name, default in self._defaults.items():
            self._component(name, type(default)).check_parameters()
        check_flag(self.linear, "linear")
        check_flag(self.warm_start, "warm_start")
        check_auto_count(self.n_pilots, "n_pilots", minimum=0)
        check_count(self.max_rows, "max_rows", minimum=2)


def check_learning_rate(learning_rate: Any) -> None:
    """A share of the optimal step."""
    check_positive(learning_rate, "learning_rate")
    if learning_rate > 1:
        raise ValueError(
            f"learning_rate must be at most 1, got {learning_rate}: larger steps may raise the "
            "loss."
        )


def check_more_rounds(n_rounds: int, done: int) -> None:
    """A warm start only adds rounds."""
    if n_rounds < done:
        raise ValueError(
            f"warm_start goes on from {done} rounds, but n_rounds={n_rounds}. Write {done + 1} or "
            "more."
        )


# What classifier and regressor say of their parameters and attributes, behind those that only one
# has.
SHARED_DOCUMENTATION = """
    learning_rate : float in (0, 1], default 0.3
        Share of each optimal step that is taken.
    prior : a prior of ``bochner.priors``, default None
        Where the frequencies of candidates come from, on standardised inputs; None: one of four Gaussian scales each,
        N(0, 2γ I) with γ = (1, 4, 20, 80)/d.
    search : WaveSearch, default ``WaveSearch()``
        How a round finds its wave, and the penalties on it.
    epochs : JointEpochs, default ``JointEpochs()``
        Epochs of joint descent on all waves over all rows.
    stopping : EarlyStopping, default None
        None is ``EarlyStopping()`` above 4000 rows, and where ``fit`` is given ``X_val`` and ``y_val``, which judge then; else, and
        with ``EarlyStopping(fraction=0)``, no row is kept apart and all rounds and epochs are run.
    linear : bool, default True
        Begin with a linear part.  With it scores go on linearly far from the data, without it they stay bounded.
    n_pilots : "auto" or int, default "auto"
        Short boosts that weigh the columns by their relevance first; "auto": 2, but none for labels of up to 4000 rows.
    max_rows : int, default 5000
        Rows that boosting looks at; the joint epochs see all of them.
    warm_start : bool, default False
        Go on from the last fit up to ``n_rounds``.
    random_state : None, int, RandomState or Generator, default None
        For everything that is drawn: rows, candidates, batches.

    Attributes
    ----------
    expansion_ : Expansion, one atom per round
    loss_ : the loss, whose link makes predictions or probabilities of scores
    feature_importances_ : (n_features,), of sum one: mean squared derivative of the scores per standard deviation of each column
    train_loss_, validation_loss_ : mean loss after each round (and, for the second, each epoch); of values standardised ones
    n_rounds_, n_features_in_; of a classifier classes_, of a regressor target_bounds_
"""
