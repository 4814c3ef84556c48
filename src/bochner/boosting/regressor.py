"""FourierBoostingRegressor: boosted waves with squared, Huber, quantile or Poisson loss, for one or
several outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin

from .._checks import check_choice, check_share
from .._estimator import RegressorScore, keyword_only_from, restore_on_failure, with_callbacks
from ..data.checks import check_rows, check_weights
from ..data.targets import Values
from ..losses import Huber, Loss, Poisson, Quantile, Squared, weighted_quantile
from .booster import SHARED_DOCUMENTATION, FourierBooster

# How far predictions may leave the targets they were learned from, as a share of their range.
_MARGIN = 0.5


@keyword_only_from("0.4", old_order=("loss",))
@dataclass(eq=False, repr=False)
class FourierBoostingRegressor(MultiOutputMixin, RegressorScore, FourierBooster):
    __doc__ = f"""Boosted waves for regression, with one or several outputs: one frequency a round,
    one amplitude per output.

    Predictions stay within the range of the targets and half of it on either side
    (``target_bounds_``): far from all training rows, where a linear part goes on for ever, one
    wrong number in a row is not worth more.

    Parameters
    ----------
    loss : "squared", "huber", "quantile" or "poisson", default "squared"
        "poisson" predicts exp(score) of non-negative counts.
    level : float, default 0.9
        Level of the quantile loss; for "huber" the quantile of |y − median| where the loss becomes
        linear.
    n_rounds : int, default 300
        Number of waves; 0 predicts a constant (or the linear part).{SHARED_DOCUMENTATION}
    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(300, 2))
    >>> y = np.sin(2 * X[:, 0] + X[:, 1])
    >>> FourierBoostingRegressor(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    loss: str = "squared"
    level: float = 0.9
    n_rounds: int = 300

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
    ) -> FourierBoostingRegressor:
        """Fit to rows X with targets y, (n_samples,) or (n_samples, n_outputs).

        Validation rows ``X_val``, ``y_val`` (and ``sample_weight_val``) are looked at after each
        round and epoch, and stop the fit as ``stopping`` says, in place of a part of X;
        ``EarlyStopping(fraction=0)``, which would ignore them, is refused. In a pipeline they are
        routed and prepared with ``transform_input=["X_val"]``, as those of scikit-learn's histogram
        boosting.
        """
        check_choice(self.loss, "loss", ("squared", "huber", "quantile", "poisson"))
        check_share(self.level, "level")
        continued = self._begin()
        rows = check_rows(self, X, reset=not continued)
        values = self._values(y, len(rows))
        weights = check_weights(sample_weight, len(rows))
        rows, values, weights = self._once_each(rows, values, weights)
        if not continued:
            self._one_dimensional = values.one_dimensional
            self._target_shift, self._target_scale = self._mean_and_scale(values.rows, weights)
            self.target_bounds_ = _bounds(*values.extent(self._target_shift, weights)[:2])
        targets = self._targets(values)
        self.loss_ = self._loss(targets, weights)
        validation = self._validation_rows(X_val, y_val, sample_weight_val)
        return self._fit(X, y, rows, targets, weights, validation=validation)

    def _values(self, y, n_rows):
        values = Values.of(y, n_rows, owner=type(self).__name__)
        least = values.rows.min() if self.loss == "poisson" else 0.0
        if least < 0:
            raise ValueError(
                f"loss='poisson' needs non-negative targets, got {least:.3g}. Write loss='squared'."
            )
        return values

    def _targets(self, values: Values) -> Any:
        return (values.rows - self._target_shift) / self._target_scale

    def _validation_target(self, y, weights, n_rows):
        values = self._values(y, n_rows)
        if values.rows.shape[1] != len(self._target_shift):
            raise ValueError(
                f"y has {values.rows.shape[1]} outputs, the training rows have "
                f"{len(self._target_shift)}."
            )
        return values, weights

    def _pilots_for(self, n_rows):
        return 2

    def _whole_loss(self, rounds, sample):
        if self.loss == "poisson":  # whose loss may be negative
            return None
        constant = np.tile(
            self.loss_.start(sample.targets, sample.weights), (len(sample.targets), 1)
        )
        return rounds.mean_loss(sample, constant)

    def _mean_and_scale(self, targets, weights):
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

    def _in_units_of_the_target(self, fit):
        return fit.rescaled(self._target_shift, self._target_scale)

    def predict(self, X: Any) -> Any:
        """Predictions, (n_samples,) or (n_samples, n_outputs) as y was."""
        return self._answer(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions after each round."""
        return map(self._answer, self._staged_scores(X))

    def _answer(self, scores):
        with np.errstate(over="ignore"):  # exp of a large score, which the bounds end
            predicted = self.loss_.link(scores)
        predicted = np.clip(predicted, *self.target_bounds_.astype(predicted.dtype))
        return predicted[:, 0] if self._one_dimensional else predicted


def _bounds(low, high):
    """(2, n_outputs): the least and the largest prediction."""
    with np.errstate(over="ignore"):  # no bound for the largest numbers there are
        margin = _MARGIN * (high - low)
        return np.stack([low - margin, high + margin])
