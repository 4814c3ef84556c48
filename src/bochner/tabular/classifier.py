"""SpectralClassifier: classes from a table, nothing to tune."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import as_generator
from .._estimator import ClassifierScore, restore_on_failure, with_callbacks
from ..data import of_predictions
from ..data.targets import Labels
from ..learners.evidence import Evidence
from .base import SpectralModel
from .blending import ProbabilityLink
from .effects import TableEffects
from .parameters import PARAMETERS, on_n_jobs

_ADVICE = "Use SpectralRegressor for values."


class SpectralClassifier(ClassifierScore, SpectralModel):
    __doc__ = f"""Classes from a table as it is: kernels whose lengths and weights per column are
    learned, used exactly, and blended.

    Numbers, categories, booleans, dates and missing values are prepared by ``TableInputs``, with
    ``ranks`` where the evidence of 500 rows is in favor of them. For each family of priors
    (``Anova``, ``Laplace`` and ``Gaussian``) ``Evidence`` learns a prior on up to 2000 rows of its
    own; kernel ridge regression of the one-hot labels with its kernel is solved on all rows. Scores
    of rows that were left out, exactly one by one up to 3500 rows, held-out rows above, choose the
    ridge, blend the families (``blend_weights``) and turn scores into probabilities
    (``ProbabilityLink``).

    Parameters
    ----------{PARAMETERS}
    class_weight : "balanced" or dict of label and weight, default None
        What a row of a class costs.  Probabilities are then those of classes in these proportions.

    Attributes
    ----------
    classes_ : the labels
    members_ : what each family learned, its weight, held-out error and time; prints as a table
    blend_ : the fitted scores, a ``Blend`` of ``KernelExpansion``, of many rows also of
        ``WaveMember``
    link_ : ProbabilityLink
    inputs_ : TableInputs
    path_ : which way the rows were solved, and why
    feature_importances_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SpectralClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.93)
    True
    """

    _ridge_steps = 6

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
            priors, evidence, categorical_features=categorical_features, trees=trees, max_exact_rows=max_exact_rows,
            n_jobs=n_jobs, random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight

    @restore_on_failure
    @with_callbacks
    @on_n_jobs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SpectralClassifier:
        """Learn the priors, solve, and blend.

        Weights are relative: multiplying all of them by a constant changes nothing. Equal rows
        count as copies of one observation, unless the same inputs occur with different labels; see
        the user guide on weights and repeated rows.
        """
        priors, rng = self._check_parameters(), as_generator(self.random_state)
        X_given = X
        X, n_given, kept, weights = self._received(X, sample_weight)
        labels = self._read_labels(y, n_given, kept, weights)
        X, labels, weights = self._without_repetitions(X, labels, weights)
        tasks = self._tasks(priors, X.shape[0], X_given, y)
        for _ in tasks.each("preparing", ["columns"]):
            prepared = self._prepared(X, labels, weights, rng)
        costs = labels.costs(self.class_weight, weights)
        problem = prepared.problem(
            _columns(prepared.target, np.float64), None if costs is None else costs[prepared.rows]
        )
        own = self._learning_rows(len(prepared.rows), len(priors), rng)
        learned, seconds = self._learn_families(priors, problem, prepared.target, own, tasks)
        total = weights if costs is None else weights * costs
        stream = self._stream(X, _columns(labels, np.float32), total)
        scores, held = self._fit_members(
            priors, problem, prepared.rows, learned, seconds, stream, rng, tasks
        )
        self.link_ = ProbabilityLink.of(
            _class_scores(scores), prepared.target.codes[held], problem.weights[held]
        )
        self.classes_ = labels.classes
        tasks.finished("blending", dict)
        tasks.close(dict)
        return self

    def _read_labels(self, y, n_given, kept, weights):
        """Return the labels of the rows that take part; classes without weight are left out."""
        owner = type(self).__name__
        labels = Labels.of(y, n_given, owner=owner, advice=_ADVICE).take(kept).present(weights)
        if len(labels.classes) < 2:
            raise ValueError(
                f"{owner} needs at least 2 classes, but y has only 1 class: "
                f"{labels.classes.tolist()[0]!r}. "
                "Check how the rows were selected."
            )
        if len(labels.classes) == len(labels.codes):
            raise ValueError(
                f"{owner} needs at least 2 rows of some class, but each of the "
                f"{len(labels.classes)} classes has only one. "
                "Give more rows of each class, or use SpectralRegressor if y holds values."
            )
        return labels

    @on_n_jobs
    def scores(self, X: Any) -> np.ndarray:
        """Least-squares scores of the blend, (n_samples, n_classes): near one for the class of a
        row, near zero for others.
        """
        return self._map_rows(X, self._scores, len(self.classes_))

    def _scores(self, Z):
        return _class_scores(self.blend_.evaluate(Z))

    @on_n_jobs
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n_samples, n_classes), calibrated on scores of rows that were left out."""
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        return self._map_rows(X, lambda Z: self.link_.probabilities(self._scores(Z)), n_classes)

    @on_n_jobs
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the confidence in the classes, from the probabilities p of ``predict_proba``.

        For two classes, the log-odds log p₁ − log p₀ of ``classes_[1]``, (n_samples,): positive
        where it is predicted. For more, log p, (n_samples, n_classes), largest for the predicted
        class.
        """
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        logs = self._map_rows(X, lambda Z: self.link_.log_probabilities(self._scores(Z)), n_classes)
        return of_predictions(_log_odds, logs, logs.dtype) if n_classes == 2 else logs

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)
        return of_predictions(self._labels, probabilities, self.classes_.dtype)

    def _labels(self, probabilities):
        """The class that is predicted where classes have these probabilities."""
        return self.classes_[np.argmax(probabilities, axis=1)]

    @on_n_jobs
    def effects(self, X: Any, max_order: int = 2) -> TableEffects:
        """``scores`` split exactly into a constant, main effects and pairs of columns
        (``max_order`` 2), and the rest.

        The effects are those of the Anova member (of the Laplace member where that one has no
        weight), times its weight; all that the other members add is part of the rest. For two
        classes: the score of the second one, without an axis of classes.
        """
        found = self._effects(X, max_order, 1.0, 0.0)
        return found.first_output() if len(self.classes_) == 2 else found

    @on_n_jobs
    def input_gradient(self, X: Any) -> np.ndarray:
        """Return ∂ ``predict_proba`` / ∂ columns of the table, in their own units.

        The shape is (n_samples, n_classes, n_columns).  A date counts in days, a truth value as
        zero or one.  Laplace kernels and ranks have a kink at every training value: there the
        result is the mean of both one-sided derivatives.  Categories and missing numbers have no
        derivative: NaN.  Columns that were constant while fitting have derivative zero.
        """
        return self._input_gradient(X, self._slopes)

    def _slopes(self, Z, side):
        """Return ∂ probabilities / ∂ prepared columns, (n_samples, n_classes, n_columns)."""
        slopes = self.blend_.jacobian(Z, side)
        of_scores = np.concatenate([-slopes, slopes], axis=1) if len(self.classes_) == 2 else slopes
        return self.link_.jacobian(self._scores(Z)) @ of_scores


def _columns(labels, dtype):
    """One-hot, of two classes the second alone."""
    one_hot = np.eye(len(labels.classes), dtype=dtype)
    return (np.ascontiguousarray(one_hot[:, 1:]) if len(one_hot) == 2 else one_hot)[labels.codes]


def _log_odds(logs):
    """Return log p₁ − log p₀ for columns log p₀ and log p₁."""
    return logs[:, 1] - logs[:, 0]


def _class_scores(scores):
    """One column is the second of two classes."""
    return np.column_stack([1 - scores, scores]) if scores.shape[1] == 1 else scores
