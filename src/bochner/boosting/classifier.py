"""FourierBoostingClassifier: boosted waves with logistic, exponential or multinomial loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from .._checks import check_choice
from .._estimator import keyword_only_from, restore_on_failure, with_callbacks
from ..data.checks import check_rows
from ..data.targets import Labels
from ..losses import Exponential, Logistic, Loss, Multinomial
from .booster import SHARED_DOCUMENTATION, FourierBooster
from .held_out import known_labels
from .predicting import ExpansionClassifier


@keyword_only_from("0.4", old_order=("loss",))
@dataclass(eq=False, repr=False)
class FourierBoostingClassifier(ExpansionClassifier, FourierBooster):
    __doc__ = f"""Boosted waves for classification: smooth weak learners a cos(ω·x) + b sin(ω·x),
    amplitudes in closed form.

    Several frequencies are scored in one matrix product each round, the best one is refined, and on
    large data all waves then move together in a few epochs over all rows (float32, streaming:
    arrays, memory maps, sparse, Dask).

    Parameters
    ----------
    loss : "auto", "logistic", "exponential" or "multinomial", default "auto"
        "auto" is logistic for two classes and multinomial (one frequency a round, one amplitude per
        class) for more.
    class_weight : "balanced" or dict of label and weight, default None
        What a row of a class counts; "balanced": as much for every class.
    n_rounds : int, default 100
        Number of waves; 0 predicts a constant (or the linear part).{SHARED_DOCUMENTATION}
    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> FourierBoostingClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    loss: str = "auto"
    class_weight: Any = None

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
    ) -> FourierBoostingClassifier:
        """Fit to rows X with labels y of any type.

        Validation rows ``X_val``, ``y_val`` (and ``sample_weight_val``) are looked at after each
        round and epoch, and stop the fit as ``stopping`` says, in place of a part of X;
        ``EarlyStopping(fraction=0)``, which would ignore them, is refused. In a pipeline they are
        routed and prepared with ``transform_input=["X_val"]``, as those of scikit-learn's histogram
        boosting. ``class_weight`` weighs these rows by the same rule.
        """
        check_choice(self.loss, "loss", ("auto", "logistic", "exponential", "multinomial"))
        continued = self._begin()
        rows = check_rows(self, X, reset=not continued)
        labels, weights = Labels.weighted(
            y, len(rows), sample_weight, self.class_weight, owner=type(self).__name__
        )
        if continued:
            self._check_same_classes(labels)
        rows, labels, weights = self._once_each(rows, labels, weights)
        self.classes_, self.loss_ = labels.classes, self._loss(len(labels.classes))
        validation = self._validation_rows(X_val, y_val, sample_weight_val)
        strata = labels.codes, len(labels.classes)
        return self._fit(X, y, rows, self._targets(labels), weights, *strata, validation=validation)

    def _targets(self, labels: Labels) -> Any:
        return labels.one_hot() if isinstance(self.loss_, Multinomial) else labels.signs(np.float32)

    def _validation_target(self, y, weights, n_rows):
        labels = Labels.of(y, n_rows, owner=type(self).__name__)
        known, rule = known_labels(labels, self.classes_), self.class_weight
        if isinstance(rule, Mapping):  # it may name classes that are missing here
            rule = {
                label: weight for label, weight in rule.items() if label in labels.classes.tolist()
            }
        costs = labels.costs(rule, weights)
        if costs is not None:
            weights = costs if weights is None else weights * costs
        return known, weights

    def _loss(self, n_classes: int) -> Loss:
        if self.loss == "multinomial" or (self.loss == "auto" and n_classes > 2):
            return Multinomial()
        if n_classes > 2:
            raise ValueError(
                f"loss={self.loss!r} is for two classes, y has {n_classes}. Write "
                "loss='multinomial' or 'auto'."
            )
        return Exponential() if self.loss == "exponential" else Logistic()
