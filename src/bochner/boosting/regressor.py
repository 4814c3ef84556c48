"""FourierBoostingRegressor: boosted waves with squared, Huber, quantile or Poisson loss, for one or several outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choice, check_positive, check_rows
from .booster import PARAMETERS, FourierBooster, in_memory
from .callbacks import with_callbacks
from .losses import Huber, Loss, Poisson, Quantile, Squared, weighted_quantile


class FourierBoostingRegressor(RegressorMixin, FourierBooster):
    __doc__ = f"""Boosted waves for regression, with one or several outputs: one frequency a round, one amplitude per output.

    Parameters
    ----------
    loss : "squared", "huber", "quantile" or "poisson"
        "poisson" predicts exp(score) of non-negative counts.{PARAMETERS}
    level : float, default 0.9
        Level of the quantile loss; for "huber" the quantile of |y − median| where the loss becomes linear.

    Attributes
    ----------
    expansion_ : FourierExpansion, one atom per round
    feature_relevance_ : mean squared derivative of the prediction in each standardised column
    train_loss_, validation_loss_ : mean loss after each round (and, for the second, each epoch), targets standardised
    n_rounds_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(300, 2))
    >>> y = np.sin(2 * X[:, 0] + X[:, 1])
    >>> FourierBoostingRegressor(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        loss: str = "squared",
        *,
        level: float = 0.9,
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
        super().__init__(
            loss, n_rounds=n_rounds, learning_rate=learning_rate, gamma=gamma, n_candidates=n_candidates,
            n_refinements=n_refinements, amplitude_penalty=amplitude_penalty, frequency_penalty=frequency_penalty,
            linear=linear, line_search=line_search, subsample=subsample, n_pilots=n_pilots, max_rows=max_rows,
            n_epochs=n_epochs, epoch_learning_rate=epoch_learning_rate, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, warm_start=warm_start,
            random_state=random_state,
        )  # fmt: skip
        self.level = level

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FourierBoostingRegressor:
        """Fit to rows X with targets y, (n_samples,) or (n_samples, n_outputs)."""
        self._check_parameters()
        check_choice(self.loss, "loss", ("squared", "huber", "quantile", "poisson"))
        check_positive(self.level, "level")
        if self.level >= 1:
            raise ValueError(f"level is a quantile below 1, got {self.level}. Write e.g. level=0.9.")
        if y is None:
            raise ValueError("FourierBoostingRegressor requires y to be passed, but the target y is None.")
        continued = self.warm_start and hasattr(self, "_state")
        X = check_rows(self, X, reset=not continued).source
        y = check_array(in_memory(y), ensure_2d=False, dtype=np.float64, input_name="y")
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} samples but y has {len(y)}; give one target per row.")
        if y.ndim > 2:
            raise ValueError(f"y must have one or two dimensions, got shape {y.shape}.")
        self._one_dimensional = y.ndim == 1
        weights = self._checked_weights(sample_weight, X)
        targets = y.reshape(len(y), -1)
        if self.loss == "poisson" and np.any(targets < 0):
            raise ValueError(
                f"loss='poisson' needs non-negative targets, got {targets.min():.3g}. Write loss='squared'."
            )
        if not continued:
            self._target_shift, self._target_scale = self._targets_mean_and_scale(targets, weights)
        targets = (targets - self._target_shift) / self._target_scale
        return self._fit(X, y, targets, weights, self._loss(targets, weights))

    def _targets_mean_and_scale(self, targets, weights):
        if self.loss == "poisson":
            return np.zeros(targets.shape[1]), np.ones(targets.shape[1])
        mean = np.average(targets, axis=0, weights=weights)
        scale = np.sqrt(np.average((targets - mean) ** 2, axis=0, weights=weights))
        return mean, np.where(scale > 0, scale, 1.0)

    def _loss(self, targets, weights) -> Loss:
        if self.loss == "huber":
            weights = np.ones(len(targets)) if weights is None else weights
            sizes = np.abs(targets - weighted_quantile(targets, weights, 0.5))
            delta = weighted_quantile(sizes, weights, self.level)
            return Huber(np.maximum(delta, 1e-12))
        if self.loss == "quantile":
            return Quantile(self.level)
        return Poisson() if self.loss == "poisson" else Squared()

    def _target_scaling(self):
        return self._target_shift, self._target_scale

    def predict(self, X: Any) -> Any:
        """Predictions, (n_samples,) or (n_samples, n_outputs) as y was."""
        return self._answer(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions after each round."""
        for scores in self._staged_scores(X):
            yield self._answer(scores.copy())

    def _answer(self, scores):
        check_is_fitted(self)
        if self.loss == "poisson":
            scores = np.exp(scores)
        return scores[:, 0] if self._one_dimensional else scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
