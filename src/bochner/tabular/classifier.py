"""SpectralClassifier: classes from a table, without tuning."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._estimator import Classifier
from .._loops.threads import ordered_map
from ..data import of_predictions
from ..data.targets import Labels
from .base import ATTRIBUTES, PARAMETERS, SpectralModel, limit_threads
from .blending import Mixture, ProbabilityLink, class_scores, mixture_weights, used_members
from .effects import LinkedQuantity
from .imputation import log_mean_over_donors, mean_over_donors
from .monotone import monotone_mixture
from .replacing import BlendReplacements


@dataclass(eq=False, repr=False)
class SpectralClassifier(Classifier, SpectralModel):
    __doc__ = f"""Classifier for tables: a blend of exact kernel machines with learned kernels.

    Numbers, categories, booleans, dates and missing values are prepared by ``TableInputs``, with
    ``ranks`` if the evidence of 500 rows is in favor of them. A category with more than 20 levels
    has one factor of each kernel, see ``WithCategories``. For each family of priors
    (``Anova``, ``Laplace`` and ``Gaussian``), ``Evidence`` learns a prior on up to 2000 rows, and
    kernel ridge regression of the one-hot labels is solved on all rows. Held-out scores choose the
    ridge, turn the scores of each family into probabilities (``ProbabilityLink``), and choose the
    weights of their mixture by log-loss (``mixture_weights``). They are exact leave-one-out scores
    up to 3500 rows, and scores of held-out rows above.

    Parameters
    ----------{PARAMETERS}
    class_weight : "balanced" or dict of label and weight, default None
        Weights of the classes. With them, probabilities are no longer calibrated to your data, but
        to classes in these proportions.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    blend_ : Mixture
        The fitted functions and links: a ``KernelExpansion`` or a ``LeafExpansion`` for each
        family and, for many rows, a ``WaveMember``.{ATTRIBUTES}

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
    _: KW_ONLY
    class_weight: Any = None

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

    def _blend(self, members, held_out, evaluation, rng):
        self.classes_, codes = evaluation.target.classes, evaluation.target.codes
        scores, counts = [class_scores(own) for own in held_out], evaluation.row_weights
        links = list(ordered_map(lambda own: ProbabilityLink.of(own, codes, counts), scores))
        logs = [
            link.log_probabilities(own)[np.arange(len(codes)), codes]
            for link, own in zip(links, scores)
        ]
        weights = used_members(mixture_weights(np.stack(logs), counts))
        used = np.flatnonzero(weights)
        blend = Mixture(
            tuple(members[k].solved.expansion for k in used),
            tuple(weights[used].tolist()),
            tuple(links[k] for k in used),
        )
        return blend, weights

    def scores(self, X: Any) -> np.ndarray:
        """Return the least-squares scores of the members, weighted as their probabilities are.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            Rows, as in ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Near one for the class of a row, near zero for the others.
        """
        return self._map_classes(X, lambda blend, Z: class_scores(blend.evaluate(Z)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            Rows, as in ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._map_classes(X, lambda blend, Z: blend.probabilities(Z))

    @limit_threads
    def _map_classes(self, X, function, mean=mean_over_donors):
        """Return ``function(blend, prepared rows)`` with a column for each class."""
        check_is_fitted(self)
        function = partial(function, monotone_mixture(self.blend_, self._rearrangement))
        return self._map_rows(X, function, len(self.classes_), partial(mean, function))

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
        logs = self._map_classes(
            X, lambda blend, Z: blend.log_probabilities(Z), log_mean_over_donors
        )
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

    def _quantity(self, output):
        if output not in ("auto", "log-odds", "probability"):
            raise ValueError(
                f'output must be "log-odds" or "probability" for a classifier, got {output!r}.'
            )
        is_binary, of_logs = len(self.classes_) == 2, output != "probability"
        name = "probability" if not of_logs else "log-odds" if is_binary else "log-probability"

        def of_classes(values):
            """Return one column for two classes: log-odds or the probability of the second."""
            if not is_binary:
                return values
            return values[..., 1:] - values[..., :1] if of_logs else values[..., 1:]

        def evaluate(Z):
            blend = self.blend_
            return of_classes(blend.log_probabilities(Z) if of_logs else blend.probabilities(Z))

        def replaced(Z, groups):
            both = BlendReplacements(self.blend_, Z, groups)
            values = both.log_probabilities if of_logs else both.probabilities
            return lambda chosen, rows: of_classes(values(chosen, rows))

        names = () if is_binary else tuple(self.classes_.tolist())
        return LinkedQuantity(name, names, evaluate, replaced, self.blend_)

    def _scores_scale(self):
        return 1.0, 0.0, len(self.classes_) == 2

    def _explained(self):
        names = tuple(map(str, self.classes_))
        return (f"score of {names[1]}", ()) if len(names) == 2 else ("score", names)

    def _slopes(self, Z, side):
        """Return ∂ probabilities / ∂ prepared columns, (n_samples, n_classes, n_columns)."""
        return self.blend_.probability_jacobian(Z, side)


def _log_odds(logs):
    """Return log p₁ − log p₀ for columns log p₀ and log p₁."""
    return logs[:, 1] - logs[:, 0]
