"""FourierBoostingRegressor: boosted waves for one or several outputs, with any convex loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from .._checks import check_share
from .._estimator import keyword_only_from, score_in_memory
from ..data.targets import Values
from ..data.training import TrainingData
from ..losses import (
    Huber,
    Loss,
    Poisson,
    Quantile,
    Squared,
    check_loss_parameter,
    weighted_quantile,
)
from . import shared
from .booster import FourierBooster

# Predictions may exceed the range of the training targets by this share of it.
_MARGIN = 0.5


@keyword_only_from("0.4", old_order=("loss",))
@dataclass(eq=False, repr=False)
class FourierBoostingRegressor(MultiOutputMixin, RegressorMixin, FourierBooster):
    __doc__ = f"""Regression by boosted waves: one frequency a round, one amplitude per output.

    Predictions stay within ``target_bounds_``: the range of the targets, widened by half of it on
    either side. So they cannot grow without limit far from the training rows.

    Parameters
    ----------
    loss : "squared", "huber", "quantile", "poisson" or Loss, default "squared"
        "poisson" is for non-negative counts and predicts exp(score). A loss of your own is an
        object of ``bochner.losses.Loss``, whose constants have the unit of y.
    level : float, default 0.9
        Level of the quantile loss; for "huber" the quantile of |y − median| from which on the loss
        is linear.
    n_rounds : int, default 300
        Number of waves; 0 predicts a constant (or the linear part).{shared.BOOSTER_DOCUMENTATION}
    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(300, 2))
    >>> y = np.sin(2 * X[:, 0] + X[:, 1])
    >>> FourierBoostingRegressor(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    loss: str | Loss = "squared"
    level: float = 0.9
    n_rounds: int = 300

    def _check_target(self, y: Any, n_rows: int) -> Values:
        values = super()._check_target(y, n_rows)
        self._chosen_loss().check_targets(values.rows)
        return values

    def _prepare(self, data: TrainingData) -> None:
        values = data.target
        if not self._continues():
            self._one_dimensional = values.one_dimensional
            self._target_shift, self._target_scale = self._mean_and_scale(values.rows, data.weights)
            low, high, _ = values.extent(self._target_shift, data.weights)
            with np.errstate(over="ignore"):  # the largest floats have no bound
                margin = _MARGIN * (high - low)
                self.target_bounds_ = np.stack([low - margin, high + margin])
        self.loss_ = self._loss(self._targets(values), data.row_weights)

    def _targets(self, target: Values) -> np.ndarray:
        return (target.rows - self._target_shift) / self._target_scale

    def _read_validation(self, rows, y, sample_weight):
        data = self._with_target(rows, y, sample_weight)
        n_outputs = data.target.rows.shape[1]
        if n_outputs != len(self._target_shift):
            raise ValueError(
                f"y has {n_outputs} outputs, but that of the training rows has "
                f"{len(self._target_shift)}. Give the same outputs."
            )
        return data

    def _mean_and_scale(self, targets, weights):
        if not self._chosen_loss().of_residuals:
            return np.zeros(targets.shape[1]), np.ones(targets.shape[1])
        mean = np.average(targets, axis=0, weights=weights)
        scale = np.sqrt(np.average((targets - mean) ** 2, axis=0, weights=weights))
        return mean, np.where(scale > 0, scale, 1.0)

    def _chosen_loss(self) -> Loss:
        """Return the loss of y; the width of "huber" is computed later."""
        if isinstance(self.loss, Loss):
            return self.loss
        named = {"squared": Squared(), "huber": Huber(np.ones(1)), "poisson": Poisson()}
        return Quantile(self.level) if self.loss == "quantile" else named[self.loss]

    def _loss(self, targets, weights) -> Loss:
        """Return the loss of the standardized targets."""
        if self.loss == "huber":
            sizes = np.abs(targets - weighted_quantile(targets, weights, 0.5))
            delta = weighted_quantile(sizes, weights, self.level)
            return Huber(np.maximum(delta, 1e-12))
        loss = self._chosen_loss()
        return loss.scaled(self._target_scale) if loss.of_residuals else loss

    def _in_units_of_the_target(self, fit):
        return fit.rescaled(self._target_shift, self._target_scale)

    def _check_parameters(self):
        check_loss_parameter(self.loss, ("squared", "huber", "quantile", "poisson"))
        check_share(self.level, "level")
        super()._check_parameters()

    def predict(self, X: Any) -> Any:
        """Return predictions in the shape of y, (n_samples,) or (n_samples, n_outputs)."""
        rows = self._read_rows(X)
        return self._predictions(self.expansion_.evaluate(rows))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Return the predictions after each round."""
        return map(self._predictions, shared.staged_scores(self, X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² on X and y, which may also be Dask collections."""
        return score_in_memory(super().score, X, y, sample_weight)

    def _predictions(self, scores):
        with np.errstate(over="ignore"):  # exp of a large score, which the bounds clip
            predicted = self.loss_.link(scores)
        predicted = np.clip(predicted, *self.target_bounds_.astype(predicted.dtype))
        return predicted[:, 0] if self._one_dimensional else predicted
