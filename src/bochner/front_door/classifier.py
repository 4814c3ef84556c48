"""SpectralClassifier: classes from a table, nothing to tune."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight

from .._progress import track
from .._random import as_generator
from .._state import all_or_nothing
from ..blending import ProbabilityLink
from ..evidence import Evidence
from ..targets import Labels
from .base import SpectralModel
from .members import TableEffects
from .solving import Problem

_ADVICE = "Use SpectralRegressor for values."


class SpectralClassifier(ClassifierMixin, SpectralModel):
    """Classes from a table as it is: kernels whose lengths and weights per column are learned, used exactly, and blended.

    Numbers, categories, booleans, dates and missing values are prepared by ``TableInputs``.  For each family of priors (``Anova``,
    ``Laplace`` and ``Gaussian``) ``Evidence`` learns a prior on 1000 rows; kernel ridge regression of the one-hot labels with its
    kernel is solved on all rows.  Scores of rows that were left out, exactly one by one up to 3500 rows, held-out rows above, choose the
    ridge, blend the families (``blend_weights``) and turn scores into probabilities (``ProbabilityLink``).

    Parameters
    ----------
    priors : priors that ``Evidence`` can learn, default (Anova(), Laplace(), Gaussian())
    evidence : Evidence, default ``Evidence(standardize=False)``
    categorical_features : "from_dtype" or a list of columns, see ``TableInputs``
    trees : bool, default False
        Whether scikit-learn's histogram trees are a member too; their held-out scores are those of five folds up to 3500 rows.  Of
        more than ``max_exact_rows`` rows they see the sample.  Such a model has no ``jacobian``.
    max_exact_rows : int, default 15 000
        Up to here kernels are used exactly; their matrix takes 4 n² bytes.  Of more rows a sample of so many is; beside it each family
        is fitted to all rows on up to 2000 landmarks, in one pass (memory maps are not read into memory).
    class_weight : None, "balanced" or a dictionary of label and weight
        What a row of a class costs.  Probabilities are then those of classes in these proportions.
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    classes_ : the labels
    members_ : what each family learned, its weight, held-out error and time; prints as a table
    blend_ : the fitted scores, a ``Blend`` of ``KernelExpansion``
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
        random_state: Any = None,
    ):
        self.priors = priors
        self.evidence = evidence
        self.categorical_features = categorical_features
        self.trees = trees
        self.max_exact_rows = max_exact_rows
        self.class_weight = class_weight
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SpectralClassifier:
        """Learn priors, solve, blend.  A row of weight h counts as h rows (weights all below one are scaled to mean one)."""
        priors, rng = self._check_parameters(), as_generator(self.random_state)
        X, n_given, kept, counts = self._received(X, sample_weight)
        given = Labels.of(y, n_given, owner=type(self).__name__, advice=_ADVICE)
        # Read again: the classes are those of the rows that take part.
        labels = Labels.of(given.decode(given.codes[kept]), fewest=2, owner=type(self).__name__)
        all_labels, all_counts = labels, counts
        Z, rows, counts = self._prepared(X, labels.codes, counts, rng)
        labels = labels.take(rows)
        costs = self._costs(all_labels, all_counts)
        problem = Problem(Z, _columns(labels, np.float64), counts, costs[rows])
        some = self._learning_rows(len(rows), rng)
        learned, seconds = [], []
        for prior in track(priors, "learning priors", total=len(priors)):
            begun = time.perf_counter()
            learned.append(self._learn(prior, problem.take(some), labels.take(some), rng))
            seconds.append(time.perf_counter() - begun)
        stream = self._stream(X, _columns(all_labels, np.float32), all_counts * costs)
        scores, held = self._fit_members(priors, problem, rows, learned, seconds, stream, rng)
        self.link_ = ProbabilityLink.of(_class_scores(scores), labels.codes[held], problem.weights[held])
        self.classes_ = labels.classes
        return self

    def _costs(self, labels, counts):
        if self.class_weight is None:
            return np.ones(len(labels))
        weights = compute_class_weight(
            self.class_weight, classes=labels.classes, y=labels.decode(labels.codes), sample_weight=counts
        )
        return weights[labels.codes]

    def scores(self, X: Any) -> np.ndarray:
        """Least-squares scores of the blend, (n_samples, n_classes): near one for the class of a row, near zero for others."""
        return self._map_rows(X, self._scores, len(self.classes_))

    def _scores(self, Z):
        return _class_scores(self.blend_.evaluate(Z))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n_samples, n_classes), calibrated on scores of rows that were left out."""
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        return self._map_rows(X, lambda Z: self.link_.probabilities(self._scores(Z)), n_classes)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.asarray(probabilities).argmax(axis=1)]

    def effects(self, X: Any, max_order: int = 2) -> TableEffects:
        """``scores`` split exactly into a constant, main effects and pairs of columns (``max_order`` 2), and the rest.

        The effects are those of the Anova member (of the Laplace member where that one has no weight), times its weight; all that the
        other members add is part of the rest.  For two classes: the score of the second one, without an axis of classes.
        """
        found = self._effects(X, max_order, 1.0, 0.0)
        return found.first_output() if len(self.classes_) == 2 else found

    def jacobian(self, X: Any) -> np.ndarray:
        """∂ scores / ∂ prepared columns (``inputs_.get_feature_names_out()``), (n_samples, n_classes, n_columns).

        With respect to standardized and clipped numbers and indicators of levels, as the model sees them.
        """
        slopes = self.blend_.jacobian(self._prepared_for_looks(X))
        return np.concatenate([-slopes, slopes], axis=1) if len(self.classes_) == 2 else slopes


def _columns(labels, dtype):
    """One-hot, of two classes the second alone."""
    one_hot = labels.one_hot(dtype)
    return one_hot[:, 1:] if len(labels.classes) == 2 else one_hot


def _class_scores(scores):
    """One column is the second of two classes."""
    return np.column_stack([1 - scores, scores]) if scores.shape[1] == 1 else scores
