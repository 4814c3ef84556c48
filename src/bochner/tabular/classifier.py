"""SpectralClassifier: classes from a table, without tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from .._estimator import Classifier
from ..data import of_predictions
from ..data.targets import Labels
from ..learners.evidence import Evidence
from .base import ATTRIBUTES, PARAMETERS, SpectralModel, limit_threads

# Candidates for the smallest score: least squares may give a class a negative score, which has no
# logarithm. Noisy labels need a high one, classes that hardly overlap a low one.
_FLOORS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.0005)
# Rows that count as being of any class (Platt 1999): scores that separate all held-out rows do not
# prove certainty.
_DOUBT = 2.0


@dataclass(frozen=True, eq=False)
class ProbabilityLink:
    """Probabilities softmax(slope · log max(score, floor) + shifts) of least-squares scores."""

    slope: float
    shifts: np.ndarray
    floor: float

    @classmethod
    def of(
        cls, scores: np.ndarray, codes: np.ndarray, row_weights: np.ndarray | None = None
    ) -> ProbabilityLink:
        """Fit the link to held-out ``scores`` (n_samples, n_classes) by their log-loss.

        Half the squared shifts are added, as if they were the log-loss of one row. Two rows count
        as being of any class.
        """
        n_classes = scores.shape[1]
        counts = np.ones(len(codes)) if row_weights is None else row_weights
        total = counts.sum()
        doubt = _DOUBT / (total + _DOUBT)
        shares = (1 - doubt) * np.eye(n_classes)[codes] + doubt / n_classes

        def objective(parameters, logs):
            slope, shifts = np.exp(parameters[0]), parameters[1:]
            logits = slope * logs + shifts
            missed = counts[:, None] * (softmax(logits, axis=1) - shares)
            losses = -counts @ np.sum(shares * log_softmax(logits, axis=1), axis=1)
            value = (losses + 0.5 * shifts @ shifts) / total
            return value, np.append(
                slope * np.sum(missed * logs), missed.sum(axis=0) + shifts
            ) / total

        least, start = np.inf, np.zeros(n_classes + 1)
        for floor in _FLOORS:
            fit = minimize(objective, start, (_logs(scores, floor),), jac=True, method="L-BFGS-B")
            start = fit.x
            if floor == _FLOORS[0] or fit.fun < least:
                least, best = fit.fun, cls(float(np.exp(fit.x[0])), fit.x[1:], floor)
        return best

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities, (n_samples, n_classes)."""
        return softmax(self._logits(scores), axis=1)

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the logarithms of ``probabilities``, finite also if those round to zero."""
        return log_softmax(self._logits(scores), axis=1)

    def _logits(self, scores):
        return self.slope * _logs(scores, self.floor) + self.shifts

    def jacobian(self, scores: np.ndarray) -> np.ndarray:
        """Return ∂ probabilities / ∂ scores, (n_samples, n_classes, n_classes)."""
        p = self.probabilities(scores)
        steepness = np.where(scores > self.floor, self.slope / np.maximum(scores, self.floor), 0.0)
        return p[:, :, None] * (np.eye(p.shape[1]) - p[:, None]) * steepness[:, None]


def _logs(scores, floor):
    return np.log(np.maximum(scores, floor))


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
        max_leaf_rows: int = 8000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        max_exact_rows: Any = "deprecated",
    ):
        super().__init__(
            priors,
            evidence,
            categorical_features=categorical_features,
            trees=trees,
            max_leaf_rows=max_leaf_rows,
            n_jobs=n_jobs,
            random_state=random_state,
            max_exact_rows=max_exact_rows,
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
