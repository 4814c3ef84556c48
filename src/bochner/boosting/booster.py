"""Base of the second-order boosters: parameters, rounds, epochs, early stopping."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

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
from .._estimator import Estimator, FitTasks, keyword_only_from, restore_on_failure, with_callbacks
from .._loops.threads import threads_for_rows_only
from .._terminal.progress import track
from ..data import Rows, row_numbers
from ..data.checks import check_rows
from ..data.repetitions import FEW_ROWS, equal_rows
from ..data.targets import Labels
from ..data.training import TrainingData, members
from ..expansions.waves import Expansion, ExpansionModel, derivative_importances
from ..learners.descent.gradients import Standardization, WaveParameters
from ..learners.descent.loop import Descent, run_together
from ..losses import Loss
from ..priors import SpectralMixture
from ..priors.base import SpectralPrior
from . import shared
from .fitting import Rounds, draw_sample, others_at_most, with_waves
from .rounds import WaveSearch

# Above this many rows a fit uses a sample, pilots and joint epochs, in float32. Below it there are
# only rounds, in the dtype of X. They use weighted sums, so weights are equivalent to copies.
LARGE = FEW_ROWS
# Most held-out rows: their mean loss is precise enough for stopping.
_MOST_HELD_OUT = 10_000
# Most numbers in validation rows, one GiB in float64: each round evaluates all rows in memory.
_MOST_VALIDATION_NUMBERS = 2**27
_DEFAULT_GAMMAS = (1.0, 4.0, 20.0, 80.0)
# Weights below this, and their inverses, are lost or infinite in float32 sums.
_LEAST_WEIGHT = 1e-20


@dataclass(eq=False, repr=False)
class JointEpochs(BaseEstimator):
    """Epochs of joint descent on all waves over all rows.

    Batches have 256 rows, 1024 from 50 000 training rows on, and 2048 from 100 000 on. They have
    more if an epoch would have more than 512 batches.

    Parameters
    ----------
    n_epochs : "auto" or int, default "auto"
        Passes over the rows. "auto" is 0 up to 4000 rows, then 8, 4 from 50 000 rows on, and 2 from
        300 000 rows on.
    learning_rate : float, default 0.01
        Step of Adam.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bochner import FourierBoostingClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = FourierBoostingClassifier(n_rounds=20, epochs=JointEpochs(3), random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """

    n_epochs: int | str = "auto"
    _: KW_ONLY
    learning_rate: float = 0.01

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot be used."""
        check_auto_count(self.n_epochs, "n_epochs", minimum=0)
        check_positive(self.learning_rate, "learning_rate")

    def count(self, n_rows: int) -> int:
        """Return the number of epochs for this many rows."""
        if not isinstance(self.n_epochs, str):
            return self.n_epochs
        if n_rows <= LARGE:
            return 0
        return 8 if n_rows < 50_000 else (4 if n_rows < 300_000 else 2)

    def descent(self, loss: Loss, n_rows: int, parameters: WaveParameters, linear: bool) -> Descent:
        """Return the descent of an expansion in standardized inputs; all parts have one rate."""
        rate = self.learning_rate
        rates = parameters.like(rate, rate, rate if linear else 0.0, rate)
        batch_size = 256 if n_rows < 50_000 else (1024 if n_rows < 100_000 else 2048)
        return Descent(loss, self.count(n_rows), batch_size, rates, with_losses=False)


@keyword_only_from("0.4", old_order=("fraction", "patience"))
@dataclass(eq=False, repr=False)
class EarlyStopping(BaseEstimator):
    """Stop when the loss of held-out rows stops falling, and keep the best round and epoch.

    Validation rows ``X_val`` and ``y_val`` of ``fit`` replace the held-out rows.

    Parameters
    ----------
    fraction : float, default 0.1
        Share of the rows that is held out, the same for each class, and at most 10 000 rows. 0
        holds out none and runs all rounds and epochs.
    patience : int, default 20
        Rounds without a better loss after which boosting stops.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bochner import FourierBoostingClassifier
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> stopping = EarlyStopping(fraction=0.2, patience=5)
    >>> model = FourierBoostingClassifier(stopping=stopping, random_state=0).fit(X, y)
    >>> model.n_rounds_ < 100
    True
    """

    _: KW_ONLY
    fraction: float = 0.1
    patience: int = 20

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot be used."""
        if check_positive(self.fraction, "fraction", allow_zero=True) > 0:
            check_share(self.fraction, "fraction")
        check_count(self.patience, "patience")

    def rows_apart(
        self, n_rows: int, strata: Any, n_strata: int, rng: Seed, weights: Any = None
    ) -> np.ndarray:
        """Return sorted numbers of held-out rows, the same share of each code of ``strata``.

        Rows without weight are never held out, nor are rows of a class that is too small.
        """
        if self.fraction == 0:
            return np.empty(0, int)
        share, rng = min(self.fraction, _MOST_HELD_OUT / n_rows), as_generator(rng, "rng")
        chosen = []
        for own in members(strata, n_strata, n_rows, weights):
            # The factor keeps rounding from making 0.1 of 30 rows less than 3.
            size = int(share * len(own) * (1 + 1e-12))
            if size:
                chosen.append(own[rng.choice(len(own), size, replace=False)])
        return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, int)


@ExpansionModel.register
@dataclass(eq=False, repr=False)
class FourierBooster(Estimator):
    """Base of classifier and regressor: parameters, rounds, epochs, early stopping."""

    _defaults: ClassVar = {
        "search": WaveSearch(),
        "epochs": JointEpochs(),
        "stopping": EarlyStopping(),
    }

    _: KW_ONLY
    loss: str | Loss
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

    _atoms_per_round: ClassVar[int] = 1
    __sklearn_is_fitted__ = shared.is_fitted
    jacobian = shared.jacobian

    @restore_on_failure
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit to rows X with targets y.

        Parameters
        ----------
        X : array, sparse matrix, frame, memory map, or Dask collection of shape (n_rows, n_columns)
            The rows.
        y : array of shape (n_rows,), or (n_rows, n_outputs) for a regressor
            The targets.
        sample_weight : array of shape (n_rows,), default None
            Weights of the rows; None weighs all rows equally.
        X_val, y_val, sample_weight_val : as X, y and sample_weight, default None
            Validation rows for early stopping, which replace held-out rows of X. In a pipeline they
            are routed and transformed with ``transform_input=["X_val"]``. ``class_weight`` applies
            to them too.

        Returns
        -------
        self
        """
        self._check_parameters()
        if self._continues():
            shared.check_warm_start(self)
        else:
            # State for a warm start: the fit in standardized inputs, and their standardization.
            self._grown: Expansion | None = None
            self._standardization: Standardization | None = None
            self._seed = int(as_generator(self.random_state).integers(2**63))
            self.train_loss_: list[float] = []
            self.validation_loss_: list[float] = []
        data = _merged(self._read(X, y, sample_weight))
        self._prepare(data)
        validation = self._validation_data(X_val, y_val, sample_weight_val)
        n_done = 0 if self._grown is None else len(self._grown)
        n_epochs = self._component("epochs", JointEpochs).count(len(data))
        tasks = FitTasks(self, max(self.n_rounds - n_done, 0) + n_epochs, X, y)
        self._fit(data, validation, tasks)
        tasks.close(lambda: {"expansion_": self.expansion_})
        return self

    def _prepare(self, data: TrainingData) -> None:
        """Set the loss, and the classes or the scale of the target."""
        raise NotImplementedError

    def _targets(self, target: Any) -> np.ndarray:
        """Return the target as columns for the loss, (n_rows, n_outputs)."""
        raise NotImplementedError

    def _read_validation(self, rows: Rows, y: Any, sample_weight: Any) -> TrainingData:
        """Validate the target and the weights of validation rows."""
        raise NotImplementedError

    # BLAS threads would slow down the small products on the sample.
    @threads_for_rows_only()
    def _fit(self, data, validation=None, tasks=None):
        """Boost on a sample, then run joint epochs over all rows."""
        search = self._component("search", WaveSearch)
        epochs = self._component("epochs", JointEpochs)
        rows, targets, weights = data.rows, self._targets(data.target), data.weights
        rng = np.random.default_rng([self._seed, 0])
        n_epochs = epochs.count(len(rows))
        single = len(rows) > LARGE or n_epochs or rows.dtype == np.float32
        dtype = np.float32 if single else np.float64
        stopping = self._stopping_for(len(rows), validation is not None)
        fraction = stopping.fraction if validation is None else 0
        held_out, excluded = _held_out(data, EarlyStopping(fraction=fraction), rng)
        drawn = others_at_most(self.max_rows, len(rows), excluded, rng)
        sample, standardization = draw_sample(data, targets, drawn, self._standardization, dtype)
        rounds = Rounds(self.loss_, self._prior_of(sample), search, self.learning_rate, self.linear)
        if self.loss_.of_residuals:  # other losses have no unit, or may be negative
            best = np.tile(self.loss_.start(sample.targets, sample.weights), (len(drawn), 1))
            rounds = replace(rounds, whole_loss=rounds.mean_loss(sample, best))
        n_pilots = self.n_pilots
        if isinstance(n_pilots, str):
            n_pilots = 0 if is_classifier(self) and len(rows) <= LARGE else 2
        if n_pilots and self._grown is None:
            factors = rounds.pilot_factors(sample, n_pilots, rng)
            sample = sample.scaled(factors)
            standardization = replace(standardization, scale=standardization.scale * factors)
        checked = None
        if validation is not None:
            values, numbers = self._targets(validation.target), row_numbers(len(validation))
            checked, _ = draw_sample(validation, values, numbers, standardization, dtype)
        elif len(held_out):
            checked, _ = draw_sample(data, targets, held_out, standardization, dtype)

        def attributes(fit):
            whole = self._in_units_of_the_target(fit)
            return {"expansion_": whole.after_scaling(standardization.shift, standardization.scale)}

        fit = rounds.start(sample) if self._grown is None else self._grown
        patience = stopping.patience
        fit, stopped = self._boost(rounds, fit, sample, checked, patience, tasks, attributes)
        if n_epochs and len(fit) and not stopped:
            parameters = WaveParameters.of(fit)
            descent = epochs.descent(self.loss_, len(rows), parameters, fit.slopes is not None)
            options = {
                "weights": weights,
                "excluded": excluded,
                "standardization": standardization,
                "held_out": None if checked is None else partial(rounds.mean_loss_of, checked),
                "after_epoch": lambda reached: tasks.finished(
                    "epoch", lambda: attributes(reached.expansion)
                ),
            }
            seeded = np.random.default_rng([self._seed, 2, len(fit)])
            (descended,) = run_together([descent], [parameters], rows, targets, seeded, **options)
            fit = descended.expansion
            self.validation_loss_ = [*self.validation_loss_, *descended.held_out_losses]
        else:
            rows.assert_all_finite()
        self._grown, self._standardization = fit, standardization
        self.expansion_, self.n_rounds_ = attributes(fit)["expansion_"], len(fit)
        # The mean score of all classes changes no probability.
        centered = is_classifier(self) and fit.n_outputs > 1
        scores = fit.mixed(np.eye(fit.n_outputs) - 1 / fit.n_outputs) if centered else fit
        some = sample.some(shared.IMPORTANCE_ROWS, rng)
        importances = derivative_importances(scores, some.columns.T, some.weights)
        self.feature_importances_ = importances

    def _boost(self, rounds, fit, sample, checked, patience, tasks, attributes):
        """Run rounds until ``n_rounds``, or until the loss of the checked rows stops falling.

        Return the fit at its best round, and True if a callback asked to stop.
        """
        begun, waves = len(fit), []
        losses, validation_losses = list(self.train_loss_), list(self.validation_loss_)
        best_loss, best_round = np.inf, begun
        if checked is not None:
            valid_scores = checked.scores(fit)
            best_loss = rounds.mean_loss(checked, valid_scores)
        asked = patience_over = False
        boosted = rounds.waves(sample, sample.scores(fit), self._seed, begun)
        numbers = track(range(begun, self.n_rounds), type(self).__name__)
        for t, (wave, scores) in zip(numbers, boosted):
            waves.append(wave)
            losses.append(rounds.mean_loss(sample, scores))
            if checked is not None:
                valid_scores = valid_scores + wave.values(checked.columns)
                validation_losses.append(rounds.mean_loss(checked, valid_scores))
                if validation_losses[-1] < best_loss:
                    best_loss, best_round = validation_losses[-1], t + 1
                patience_over = t + 1 - best_round >= patience
            asked = tasks.finished("round", lambda: attributes(with_waves(fit, waves)))
            if asked or patience_over:
                break
        self.train_loss_, self.validation_loss_ = losses, validation_losses
        # If patience runs out, the rounds end. Only a callback also ends the epochs.
        return with_waves(fit, waves if checked is None else waves[: best_round - begun]), asked

    def _validation_data(
        self, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> TrainingData | None:
        """Validate the validation rows as X and y; None if there are none."""
        given = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
        names = [name for name, value in given.items() if value is not None]
        if not names:
            return None
        if X_val is None or y_val is None:
            raise ValueError(
                f"Validation rows need both X_val and y_val, got only {' and '.join(names)}. "
                "Write fit(X, y, X_val=X_val, y_val=y_val)."
            )
        try:
            rows = check_rows(self, X_val, reset=False)
            rows.assert_all_finite()
            if len(rows) > (most := _MOST_VALIDATION_NUMBERS // rows.n_features):
                raise ValueError(
                    f"X_val has {len(rows)} rows of {rows.n_features} columns, which are all "
                    f"evaluated in memory. Give at most {most} of the rows."
                )
            return _merged(self._read_validation(rows, y_val, sample_weight_val))
        except (TypeError, ValueError) as error:
            place = "In the validation rows (X_val, y_val, sample_weight_val)"
            raise type(error)(f"{place}: {error}") from error

    def _stopping_for(self, n_rows: int, validated: bool) -> EarlyStopping:
        if self.stopping is None and n_rows <= LARGE and not validated:
            return EarlyStopping(fraction=0)
        stopping = self._component("stopping", EarlyStopping)
        if validated and stopping.fraction == 0:
            raise ValueError(
                f"X_val and y_val are for early stopping, which stopping={stopping!r} turns off. "
                "Write e.g. stopping=EarlyStopping(patience=20), or give no validation rows."
            )
        return stopping

    def _prior_of(self, sample):
        if self.prior is not None:
            return self.prior.resolved(sample.columns.T, sample.weights)
        n_features, n_parts = len(sample.columns), len(_DEFAULT_GAMMAS)
        scales = np.sqrt(2 * np.array(_DEFAULT_GAMMAS) / n_features)
        shares, means = np.full(n_parts, 1 / n_parts), np.zeros((n_parts, n_features))
        return SpectralMixture(shares, means, scales)

    def _in_units_of_the_target(self, fit: Expansion) -> Expansion:
        return fit

    def _check_parameters(self):
        check_count(self.n_rounds, "n_rounds", minimum=0)
        check_share(self.learning_rate, "learning_rate", allow_one=True)
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


def _merged(data):
    """Return few rows without repetitions; many rows are returned unchanged."""
    largest = 1.0 if data.weights is None else np.max(data.weights)
    if not _LEAST_WEIGHT < largest < 1 / _LEAST_WEIGHT:
        raise ValueError(
            f"The largest sample_weight is {largest:.1e}, which sums in float32 cannot represent. "
            "Write sample_weight / sample_weight.mean()."
        )
    return data.distinct(in_order=True)


def _held_out(data, stopping, rng):
    """Return sorted numbers of the held-out rows, and of these rows with all their copies."""
    rows, target, weights, equal = data.rows, data.target, data.weights, None
    strata, n_strata = None, 1
    if isinstance(target, Labels):
        strata, n_strata = target.codes, len(target.classes)
    if stopping.fraction > 0 and len(rows) > FEW_ROWS:  # copies of few rows have been merged
        equal = equal_rows(rows, target, weights)
        weights = weights if equal is None else equal.first_of_copies(weights)
    held_out = stopping.rows_apart(len(rows), strata, n_strata, rng, weights)
    return held_out, held_out if equal is None else equal.with_copies(held_out)
