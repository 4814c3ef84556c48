"""What FourierBoostingClassifier and FourierBoostingRegressor share: parameters, rounds, epochs, stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import _check_sample_weight

from .._compute import is_dask, row_numbers
from .._progress import track
from .._random import as_generator
from .._validation import check_choice, check_count, check_positive
from .callbacks import CallbackSupportMixin, FitTasks
from .fitting import Booster, Fit, draw_sample, pilot_factors, run_joint_epochs
from .joint import JointEpochs
from .predicting import ExpansionPredictor
from .rounds import WaveSearch

# Above this many rows a fit is a sample, pilots and joint epochs in float32; below it boosting alone, in the input's dtype,
# whose result depends on weighted sums only (so weights and repeated rows are the same thing).
LARGE = 4000
# Validation rows looked at after each round; a mean over as many is exact enough to stop on.
_MOST_CHECKED = 50_000
_AUTO_GAMMAS = (1.0, 4.0, 20.0, 80.0)


class FourierBooster(CallbackSupportMixin, ExpansionPredictor, BaseEstimator):
    """What classifier and regressor share: parameters, rounds, epochs, stopping."""

    def __init__(
        self,
        loss: str = "auto",
        *,
        n_rounds: int = 100,
        learning_rate: float = 0.3,
        gamma: Any = "auto",
        n_candidates: int = 8,
        n_refinements: int = 2,
        amplitude_penalty: float = 3.0,
        frequency_penalty: float = 0.01,
        linear: bool = True,
        line_search: bool = True,
        subsample: float = 1.0,
        n_pilots: Any = "auto",
        max_rows: int = 5000,
        n_epochs: Any = "auto",
        epoch_learning_rate: float = 0.01,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.loss = loss
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.gamma = gamma
        self.n_candidates = n_candidates
        self.n_refinements = n_refinements
        self.amplitude_penalty = amplitude_penalty
        self.frequency_penalty = frequency_penalty
        self.linear = linear
        self.line_search = line_search
        self.subsample = subsample
        self.n_pilots = n_pilots
        self.max_rows = max_rows
        self.n_epochs = n_epochs
        self.epoch_learning_rate = epoch_learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state

    # --- fitting -------------------------------------------------------------------------------------------------

    def _fit(self, X, y, targets, weights, loss, strata=None):
        """Boost on a sample, then joint epochs over all rows; leaves ``expansion_`` and what was learned on the way."""
        continued = self.warm_start and hasattr(self, "_state")
        if not continued:
            self._seed = int(as_generator(self.random_state).integers(2**63))
        elif self.n_rounds < len(self._state.waves):
            done = len(self._state.waves)
            raise ValueError(
                f"warm_start goes on from {done} rounds, but n_rounds={self.n_rounds}. Write {done + 1} or more."
            )
        rng = np.random.default_rng([self._seed, 0])
        large = X.shape[0] > LARGE
        n_epochs = self._resolved_epochs(X.shape[0])
        dtype = np.float32 if large or n_epochs or X.dtype == np.float32 else np.float64
        train, valid = self._split(X.shape[0], strata, rng)
        rows = train if len(train) <= self.max_rows else np.sort(rng.choice(train, self.max_rows, replace=False))
        standardization = self._state.standardization if continued else None
        sample, standardization = draw_sample(X, targets, weights, rows, standardization, dtype)
        booster = self._booster(loss, X.shape[1])
        n_pilots = (2 if large else 0) if self.n_pilots == "auto" else self.n_pilots
        if n_pilots and not continued:
            factors = pilot_factors(booster, sample, n_pilots, rng)
            sample = sample.scaled(factors)
            standardization = type(standardization)(standardization.shift, standardization.scale * factors)
        checked = None
        if len(valid):
            some = valid if len(valid) <= _MOST_CHECKED else np.sort(rng.choice(valid, _MOST_CHECKED, replace=False))
            checked, _ = draw_sample(X, targets, weights, some, standardization, dtype)
        fit = self._state.copy() if continued else booster.start(sample, standardization)
        if not continued:
            self.train_loss_, self.validation_loss_ = [], []
        self.train_loss_, self.validation_loss_ = list(self.train_loss_), list(self.validation_loss_)
        tasks = FitTasks(self, max(self.n_rounds - len(fit.waves), 0) + n_epochs, X, y)
        stopped = self._boost(booster, fit, sample, checked, tasks)
        if n_epochs and fit.waves and not stopped:
            kept = None
            if len(valid):
                kept = np.zeros(X.shape[0], dtype=bool)
                kept[train] = True
            self._joint(loss, fit, X, targets, weights, kept, checked, n_epochs, booster, tasks)
        self._state = fit
        self._publish(fit, sample.some(2000, rng))
        tasks.close(lambda: {"expansion_": self.expansion_})
        return self

    def _boost(self, booster, fit, sample, checked, tasks):
        """Rounds until ``n_rounds``; with a validation part, back to its best round when it has not improved for a while."""
        scores = fit.scores(sample.columns)
        valid_scores = None if checked is None else fit.scores(checked.columns)
        best_loss, best_round = np.inf, len(fit.waves)
        if checked is not None:
            best_loss = booster.mean_loss(checked, valid_scores)
        asked = patience_over = False
        for t in track(range(len(fit.waves), self.n_rounds), type(self).__name__):
            scores = booster.round(fit, sample, scores, np.random.default_rng([self._seed, 1, t]))
            self.train_loss_.append(booster.mean_loss(sample, scores))
            if checked is not None:
                wave = fit.waves[-1]
                angle = wave.frequency.astype(scores.dtype) @ checked.columns
                valid_scores += np.multiply.outer(np.cos(angle), wave.cosine) + np.multiply.outer(
                    np.sin(angle), wave.sine
                )
                loss = booster.mean_loss(checked, valid_scores)
                self.validation_loss_.append(loss)
                if loss < best_loss:
                    best_loss, best_round = loss, t + 1
                patience_over = t + 1 - best_round >= self.n_iter_no_change
            asked = tasks.finished("round", lambda: {"expansion_": self._expansion(fit)})
            if asked or patience_over:
                break
        if checked is not None:
            del fit.waves[best_round:]
        # Running out of patience ends the rounds, not the fit: only a callback's wish goes further.
        return asked

    def _joint(self, loss, fit, X, targets, weights, kept, checked, n_epochs, booster, tasks):
        """Joint epochs; with a validation part the best epoch is kept (the whole schedule runs: its end is its best part)."""
        best = (np.inf, fit.waves, fit.intercept, fit.slopes)
        if checked is not None:
            best = (booster.mean_loss(checked, fit.scores(checked.columns)), *best[1:])

        def after_epoch(epoch):
            nonlocal best
            if checked is not None:
                loss_now = booster.mean_loss(checked, fit.scores(checked.columns))
                self.validation_loss_.append(loss_now)
                if loss_now < best[0]:
                    best = (loss_now, fit.waves, fit.intercept, fit.slopes)
            return tasks.finished("epoch", lambda: {"expansion_": self._expansion(fit)})

        n_rows = X.shape[0]
        epochs = JointEpochs(loss, n_epochs, _batch_size(n_rows), self.epoch_learning_rate)
        rng = np.random.default_rng([self._seed, 2, len(fit.waves)])
        run_joint_epochs(epochs, fit, X, targets, weights, kept, rng, after_epoch)
        if checked is not None:
            _, fit.waves, fit.intercept, fit.slopes = best

    def _booster(self, loss, n_features):
        gammas = np.atleast_1d(
            np.asarray(_AUTO_GAMMAS, float) / n_features if isinstance(self.gamma, str) else self.gamma
        )
        search = WaveSearch(
            deviations=np.sqrt(2 * gammas.astype(np.float64) * n_features),
            n_candidates=self.n_candidates,
            n_refinements=self.n_refinements,
            frequency_penalty=self.frequency_penalty * n_features,
        )
        return Booster(
            loss, search, self.amplitude_penalty, self.learning_rate, self.line_search, self.subsample, self.linear
        )

    def _split(self, n_rows, strata, rng):
        rows = row_numbers(n_rows)
        if not self.early_stopping:
            return rows, rows[:0]
        seed = int(rng.integers(2**31))
        train, valid = train_test_split(rows, test_size=self.validation_fraction, random_state=seed, stratify=strata)
        return np.sort(train), np.sort(valid)

    def _resolved_epochs(self, n_rows):
        if self.n_epochs != "auto":
            return self.n_epochs
        if n_rows <= LARGE:
            return 0
        return 8 if n_rows < 50_000 else (4 if n_rows < 300_000 else 2)

    def _target_scaling(self):
        return 0.0, 1.0

    def _expansion(self, fit: Fit):
        return fit.expansion(*self._target_scaling())

    def _publish(self, fit, sample):
        self.expansion_ = self._expansion(fit)
        self.n_rounds_ = len(fit.waves)
        # In units of each column's own deviation, so that columns of different units compare.
        spread = np.std(sample.columns, axis=1, dtype=np.float64) ** 2
        self.feature_relevance_ = fit.relevance(sample.columns, self._target_scaling()[1]) * spread

    # --- checks --------------------------------------------------------------------------------------------------

    def _check_parameters(self):
        check_count(self.n_rounds, "n_rounds", minimum=0)
        check_positive(self.learning_rate, "learning_rate")
        if self.learning_rate > 1:
            raise ValueError(
                f"learning_rate must be at most 1, got {self.learning_rate}: larger steps may raise the loss."
            )
        if isinstance(self.gamma, str):
            check_choice(self.gamma, "gamma", ("auto",))
        else:
            for value in np.atleast_1d(np.asarray(self.gamma, dtype=object)):
                check_positive(value, "gamma")
        check_count(self.n_candidates, "n_candidates")
        check_count(self.n_refinements, "n_refinements", minimum=0)
        check_positive(self.amplitude_penalty, "amplitude_penalty")
        check_positive(self.frequency_penalty, "frequency_penalty", allow_zero=True)
        check_positive(self.subsample, "subsample")
        if self.subsample > 1:
            raise ValueError(f"subsample is a share of the rows, at most 1; got {self.subsample}.")
        for name in ("n_pilots", "n_epochs"):
            value = getattr(self, name)
            if isinstance(value, str):
                check_choice(value, name, ("auto",))
            else:
                check_count(value, name, minimum=0)
        check_count(self.max_rows, "max_rows", minimum=2)
        check_positive(self.epoch_learning_rate, "epoch_learning_rate")
        check_count(self.n_iter_no_change, "n_iter_no_change")
        check_positive(self.validation_fraction, "validation_fraction")
        if self.validation_fraction >= 1:
            raise ValueError(f"validation_fraction must be below 1, got {self.validation_fraction}. Write e.g. 0.1.")

    def _checked_weights(self, sample_weight, X):
        if sample_weight is None:
            return None
        if not np.any(np.asarray(sample_weight)):
            raise ValueError(
                "sample_weight is zero for every row: there is nothing to learn from. Give some rows a positive weight."
            )
        rows = np.empty((X.shape[0], 0))
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        return weights

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _batch_size(n_rows):
    return 256 if n_rows < 50_000 else (1024 if n_rows < 100_000 else 2048)


def in_memory(y):
    return y.compute() if is_dask(y) else y


PARAMETERS = """
    n_rounds : int, default 100
        Number of waves; 0 predicts a constant (or the linear part).
    learning_rate : float in (0, 1], default 0.3
        Share of each optimal step that is taken.
    gamma : "auto", float or sequence of floats
        Frequencies start from N(0, 2γ I) on standardised inputs, each candidate with one of the given γ;
        "auto" is (1, 4, 20, 80)/d.
    n_candidates, n_refinements : int, default 8 and 2
        Frequencies drawn a round, and Gauss–Newton steps (L-BFGS iterations above 128 columns) on the best one.
    amplitude_penalty, frequency_penalty : float, default 3.0 and 0.01
        Ridge on amplitudes, and on ‖ω‖² times the number of columns, in units of the summed loss: both count for less as rows
        are added.
    linear : bool, default True
        Begin with a linear part.  With it predictions go on linearly far from the data, without it they stay bounded.
    line_search : bool, default True
        Exact search along each wave before the learning rate is applied: the training loss never rises.
    subsample : float, default 1.0
        Share of the rows that a round looks at.
    n_pilots : "auto" or int
        Short boosts that weigh the columns by their relevance first; "auto": 2 above 4000 rows, else 0.
    max_rows : int, default 5000
        Rows that boosting looks at; the joint epochs see all of them.
    n_epochs : "auto" or int
        Epochs of joint descent on all waves over all rows, streaming; "auto": 0 up to 4000 rows, then 8, 4 from 50 000, 2 from 300 000 on.
    epoch_learning_rate : float, default 0.01
    early_stopping : bool, default False
        Keep ``validation_fraction`` of the rows apart, stop after ``n_iter_no_change`` rounds without a better loss there,
        and keep the best round and the best epoch.
    warm_start : bool
        Go on from the last fit up to ``n_rounds``.
    random_state : None, int, RandomState or Generator
"""
