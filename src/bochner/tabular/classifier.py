"""SpectralClassifier: classes from a table, without tuning."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._estimator import Classifier
from ..data import of_predictions
from ..data.targets import Labels
from ..learners.evidence import Evidence
from .base import ATTRIBUTES, PARAMETERS, SpectralModel, limit_threads
from .blending import ProbabilityLink


class SpectralClassifier(Classifier, SpectralModel):
    __doc__ = f"""Classifier for tables: a blend of exact kernel machines with learned kernels.

    Numbers, categories, booleans, dates and missing values are prepared by ``TableInputs``, with
    ``ranks`` if the evidence of 500 rows is in favor of them. For each family of priors
    (``Anova``, ``Laplace`` and ``Gaussian``), ``Evidence`` learns a prior on up to 2000 rows, and
    kernel ridge regression of the one-hot labels is solved on all rows. Held-out scores choose the
    ridge, blend the families (``blend_weights``) and turn scores into probabilities
    (``ProbabilityLink``). They are exact leave-one-out scores up to 3500 rows, and scores of
    held-out rows above.

    Parameters
    ----------{PARAMETERS}
    class_weight : "balanced" or dict of label and weight, default None
        Weights of the classes. With them, probabilities are no longer calibrated to your data, but
        to classes in these proportions.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    blend_ : Blend
        The fitted scores: ``KernelExpansion`` and, for many rows, ``WaveMember``.
    link_ : ProbabilityLink
        The link from scores to probabilities.{ATTRIBUTES}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SpectralClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.93)
    True
    """

    _ridge_steps = 6
    _prepared_parts = "columns"

    def __init__(
        self,
        priors: Any = None,
        evidence: Evidence | None = None,
        *,
        categorical_features: Any = "from_dtype",
        trees: bool = False,
        max_exact_rows: int = 15_000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        super().__init__(
            priors,
            evidence,
            categorical_features=categorical_features,
            trees=trees,
            max_exact_rows=max_exact_rows,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def _read_target(self, y, n_rows, kept, weights):
        """Return the labels of the rows ``kept``, without classes that have no weight."""
        owner = type(self).__name__
        labels = Labels.of(y, n_rows, owner=owner, advice="Use SpectralRegressor for values.")
        labels = labels.take(kept).present(weights)
        if len(labels.classes) < 2:
            raise ValueError(
                f"{owner} needs at least 2 classes, but y has only 1 class: "
                f"{labels.classes.tolist()[0]!r}. Check how the rows were selected."
            )
        if len(labels.classes) == len(labels.codes):
            raise ValueError(
                f"{owner} needs at least 2 rows of some class, but each of the "
                f"{len(labels.classes)} classes has only one. Give more rows of each class, or use "
                "SpectralRegressor if y holds values."
            )
        return labels

    def _costs(self, data):
        return data.target.costs(self.class_weight, data.weights)

    def _fit_link(self, held_out, evaluation, members, rng):
        self.classes_ = evaluation.target.classes
        self.link_ = ProbabilityLink.of(
            _class_scores(held_out), evaluation.target.codes, evaluation.row_weights
        )

    def scores(self, X: Any) -> np.ndarray:
        """Return the least-squares scores of the blend.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            Rows, as in ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Near one for the class of a row, near zero for the others.
        """
        check_is_fitted(self)
        return self._map_scores(X, np.asarray, len(self.classes_), None)

    @limit_threads
    def _map_scores(self, X, function, n_columns, dtype):
        return self._map_rows(X, lambda Z: function(self._scores(Z)), n_columns)

    def _scores(self, Z):
        return _class_scores(self.blend_.evaluate(Z))

    def _probabilities(self, scores):
        return self.link_.probabilities(scores)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the confidence in the classes, from the probabilities p of ``predict_proba``.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            Rows, as in ``fit``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes the log-odds log p₁ − log p₀ of ``classes_[1]``, for more classes log p.
        """
        check_is_fitted(self)
        logs = self._map_scores(X, self.link_.log_probabilities, len(self.classes_), None)
        return of_predictions(_log_odds, logs, logs.dtype) if len(self.classes_) == 2 else logs

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            Rows, as in ``fit``.

        Returns
        -------
        array of shape (n_samples,)
        """
        return of_predictions(self._labels, self.predict_proba(X), self.classes_.dtype)

    def _labels(self, probabilities):
        return self.classes_[np.argmax(probabilities, axis=1)]

    def _effects_scale(self):
        return 1.0, 0.0, len(self.classes_) == 2

    def _slopes(self, Z, side):
        """Return ∂ probabilities / ∂ prepared columns, (n_samples, n_classes, n_columns)."""
        slopes = self.blend_.jacobian(Z, side)
        of_scores = np.concatenate([-slopes, slopes], axis=1) if len(self.classes_) == 2 else slopes
        return self.link_.jacobian(self._scores(Z)) @ of_scores


def _log_odds(logs):
    """Return log p₁ − log p₀ for columns log p₀ and log p₁."""
    return logs[:, 1] - logs[:, 0]


def _class_scores(scores):
    """Return one column per class; a single column belongs to the second of two classes."""
    return np.column_stack([1 - scores, scores]) if scores.shape[1] == 1 else scores
