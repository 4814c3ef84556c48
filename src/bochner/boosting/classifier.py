"""FourierBoostingClassifier: boosted waves with logistic, exponential or multinomial loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from .._estimator import Classifier, keyword_only_from
from ..data.checks import check_weights
from ..data.targets import Labels
from ..data.training import TrainingData
from ..losses import Exponential, Logistic, Loss, Multinomial, check_loss_parameter
from . import shared
from .booster import FourierBooster

_LOSSES = {"logistic": Logistic(), "exponential": Exponential(), "multinomial": Multinomial()}


@keyword_only_from("0.4", old_order=("loss",))
@dataclass(eq=False, repr=False)
class FourierBoostingClassifier(Classifier, FourierBooster):
    __doc__ = f"""Classification by boosted waves a cos(ω·x) + b sin(ω·x).

    Each round scores several frequencies, with amplitudes a and b in closed form, and refines the
    best one. Above 4000 rows, a few epochs of joint descent then train all waves on all rows, in
    float32. X may be an array, a memory map, a sparse matrix or a Dask collection.

    Parameters
    ----------
    loss : "auto", "logistic", "exponential", "multinomial" or Loss, default "auto"
        "auto" is "logistic" for two classes, and "multinomial" for more (one frequency a round, one
        amplitude per class). A loss of your own is an object of ``bochner.losses.Loss``.
    class_weight : "balanced" or dict of label and weight, default None
        Weights of the rows of a class; "balanced" gives each class the same total weight.
    n_rounds : int, default 100
        Number of waves; 0 predicts a constant (or the linear part).{shared.BOOSTER_DOCUMENTATION}
    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> FourierBoostingClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    loss: str | Loss = "auto"
    class_weight: Any = None

    slope_: ClassVar[float] = 1.0  # factor of the scores for probabilities
    _score_block = shared.score_block
    _probabilities = property(shared.probabilities)
    staged_decision_function = shared.staged_decision_function
    staged_predict = shared.staged_predict
    staged_predict_proba = shared.staged_predict_proba

    def _prepare(self, data: TrainingData) -> None:
        classes = data.target.classes
        if self._continues():
            shared.check_warm_start(self, classes)
        self.classes_, self.loss_ = classes, self._loss(len(classes))

    def _targets(self, target: Labels) -> np.ndarray:
        return target.one_hot() if self.loss_.couples_outputs else target.signs(np.float32)

    def _read_validation(self, rows, y, sample_weight):
        weights = check_weights(sample_weight, len(rows))
        labels, rule = Labels.of(y, len(rows), owner=type(self).__name__), self.class_weight
        given, trained = labels.classes.tolist(), self.classes_.tolist()
        if unknown := [label for label in given if label not in trained]:
            raise ValueError(
                f"y has the labels {unknown}, but the training rows have only {trained}. Leave out "
                "rows with other labels."
            )
        if isinstance(rule, Mapping):  # it may name classes that validation rows do not have
            rule = {label: weight for label, weight in rule.items() if label in given}
        costs = labels.costs(rule, weights)
        if costs is not None:
            weights = costs if weights is None else weights * costs
        codes = np.array([trained.index(label) for label in given])[labels.codes]
        return TrainingData(rows, Labels(self.classes_, codes), weights)

    def _loss(self, n_classes: int) -> Loss:
        name = self.loss
        if name == "auto":
            name = "logistic" if n_classes == 2 else "multinomial"
        loss = name if isinstance(name, Loss) else _LOSSES[name]
        if n_classes > 2 and not loss.couples_outputs:
            raise ValueError(
                f"loss={self.loss!r} is for two classes, but y has {n_classes}. Write "
                "loss='multinomial' or 'auto'."
            )
        return loss

    def _check_parameters(self):
        check_loss_parameter(self.loss, ("auto", *_LOSSES))
        super()._check_parameters()
