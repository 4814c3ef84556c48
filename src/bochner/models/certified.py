"""Bounds on the risk of fitted predictors: ``certify`` and ``CertifiedClassifier``."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from .._checks import as_generator, check_positive, check_share, refuse_class
from .._estimator import Classifier, Estimator
from ..bounds import Bound, binomial_tail, empirical_bernstein, pac_bayes_kl
from ..bounds.risk import inverse_binary_kls, pac_bayes_budget
from ..data import Block
from ..data.checks import targets_and_predictions
from ..data.columns import counted, quantile
from ..data.repetitions import independent_rows, repeated_in_words
from ..data.training import TrainingData, split_observations, without_repetitions
from ..expansions.waves import Expansion, ExpansionModel
from ..features.caveats import learned_caveat, weights_caveat
from ..features.spectral import (
    FeatureMap,
    SpectralFeatures,
    checked_features,
    fitted_transformer,
)
from ..losses import predicted_codes
from ..measures.fourier import FourierMeasure
from ..solvers.newton import SoftmaxProblem, class_code, minimized, with_constant
from ..solvers.problem import feature_block
from .ridge.spectral import feature_source

# Widths of the Gaussian, relative to the median margin; fixed before the second part is used.
_WIDTHS = np.logspace(-2, 1, 13)
# Distances of the posterior's mean from the prior's; the bound holds for any number of them.
_MOVES = np.linspace(0, 1, 21)
# Most normal tails in memory at once while width and move are chosen, on some of the rows. The
# bound then uses all rows.
_MOST_TAILS = 2**19
# Tolerance and most passes of the logistic regressions; the bounds hold for any solution.
_TOLERANCE, _MOST_PASSES = 1e-6, 200
# Trapezoidal rule for a mean over a standard normal variable; exact to rounding if it is smooth.
_NODES = np.linspace(-8, 8, 65)
_NODE_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.sum(np.exp(-(_NODES**2) / 2))


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    *,
    loss: Callable[[Any, Any], Any] | None = None,
    largest_loss: float | None = None,
) -> Bound:
    """Bound the risk of a fitted predictor on new rows, with probability 1 − delta over the rows.

    The risk of a classifier is its probability of error, bounded by the exact binomial tail. With a
    loss, and for regressors, the risk is the mean loss, bounded by the empirical Bernstein
    inequality.

    The bound only holds if the rows were not used to fit the estimator, or to choose its parameters
    or features. ``CertifiedClassifier`` gives a bound from its training data alone.

    Copies of a row count once, and the ``reason`` of the bound reports them. But if the same inputs
    also occur with other targets, equal rows are independent observations, and each counts.

    Parameters
    ----------
    estimator : a fitted classifier or regressor
        Predictor whose risk is bounded.
    X : array (n_samples, n_features)
        Rows that were not used to fit it.
    y : array (n_samples,) or (n_samples, n_outputs)
        Their labels or values.
    delta : float, default 0.05
        Probability that the bound fails.
    loss : function of (y, prediction), default None
        One number for each row. None is the error of a classifier and the squared error of a
        regressor.
    largest_loss : float, default None
        Larger losses are replaced by this value; needed unless the loss is the error of a
        classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
    >>> bound = certify(model, X[1::2], y[1::2])
    >>> bool(bound.empirical < bound.value < 0.1)
    True
    """
    check_share(delta, "delta", example=0.05)
    refuse_class(estimator, "estimator")
    check_is_fitted(estimator)
    y, prediction = targets_and_predictions(y, estimator.predict(X), "certify")
    if loss is None and y.shape != prediction.shape:
        raise ValueError(
            f"y has shape {y.shape}, but predictions have shape {prediction.shape}; they must "
            "agree."
        )
    chosen, note = independent_rows(X, y, are_labels=is_classifier(estimator))
    if chosen is not None:
        prediction, y = prediction[chosen], y[chosen]
    if loss is None and is_classifier(estimator):
        wrong = prediction != y
        wrong = wrong.any(axis=1) if wrong.ndim == 2 else wrong
        return replace(binomial_tail(int(np.sum(wrong)), len(y), delta=delta), reason=note)
    if largest_loss is None:
        raise ValueError(
            "largest_loss is None, but the bound needs a largest loss: without one, a rare and "
            "enormous loss could be missed. Larger losses are replaced by it. Write e.g. "
            "certify(model, X, y, largest_loss=1.0)."
        )
    check_positive(largest_loss, "largest_loss")
    losses = np.asarray((loss or _squared_error)(y, prediction), dtype=np.float64)
    if losses.shape != (len(y),):
        raise ValueError(
            f"The loss must return one number for each of {len(y)} rows, got shape {losses.shape}."
        )
    bound = empirical_bernstein(np.minimum(losses, largest_loss), largest_loss, delta=delta)
    return replace(bound, reason=note)


def _seeded(estimator, rng):
    """Set each random_state of an estimator that is None, so that one seed fixes the result."""
    unseeded = [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if name.split("__")[-1] == "random_state" and value is None
    ]
    estimator.set_params(**{name: int(rng.integers(2**31)) for name in unseeded})
    return estimator


def _squared_error(y, prediction):
    squares = (y - prediction) ** 2
    return squares.sum(axis=1) if squares.ndim == 2 else squares


def shares_for(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the probability of class ``codes`` under standard normal noise on scores, (n_rows,).

    For two classes, the one column of scores is positive if the second class is predicted. The
    probability is then Φ(± score). For more classes, the largest score is predicted, and the
    probability is E Π_k Φ(s_y + z − s_k) over all k but y, with z standard normal.
    """
    if scores.shape[1] == 1:
        return ndtr(np.where(codes == 1, scores[:, 0], -scores[:, 0]))
    leads = np.take_along_axis(scores, codes[:, None], axis=1) - scores
    wins = np.ones((len(scores), len(_NODES)))
    for k in range(scores.shape[1]):
        wins *= np.where((codes == k)[:, None], 1.0, ndtr(leads[:, [k]] + _NODES))
    return wins @ _NODE_WEIGHTS


@ExpansionModel.register
@dataclass(eq=False, repr=False)
class CertifiedClassifier(Classifier, Estimator):
    r"""Linear classifier on learned features with a bound on its risk, from training data alone.

    The rows are split at random. The features and a linear model w₀ are learned on the first part,
    and a linear model w on all rows. The prior is N(w₀, σ²I), and the posterior is
    N(w₀ + a (w − w₀), σ²I). The PAC-Bayes-kl theorem on the second part bounds the risk R of a
    classifier that draws its weights from the posterior:

    .. math::
        \mathrm{kl}(\hat R \,\|\, R) \le \frac{1}{m}
        \Big( \frac{\|a (w - w_0)\|^2}{2 \sigma^2} + \ln \frac{2 T \sqrt m}{\delta} \Big)

    with m rows in the second part, T = 13 widths σ tried, and the best a in [0, 1]. R̂ is the risk
    on the second part. For Gaussian weights it is a mean of normal tails, so nothing is sampled.

    With more than two classes, each class has its own w, and the class with the largest w·φ(x) is
    predicted. The vectors above then contain the weights of all classes. The scores are
    independent, so the probability of a class is an integral over one normal variable. Every class
    must occur in y.

    Copies of a row are in the same part and count once in the bounds, whose ``reason`` reports
    them. But if the same inputs also occur with other labels, equal rows are independent
    observations, and each counts.

    A weight of h counts as h copies of a row while w₀ and w are learned. No theorem holds for
    weighted rows, so bounds of a fit with ``sample_weight`` have ``valid=False``. Class weights
    only set the cost of an error while w₀ and w are learned. The bounds are those of the plain
    risk, in which every row counts once.

    Parameters
    ----------
    features : a transformer or FourierMeasure, default ``SpectralFeatures()``
        Learned on the first part only, with any learner.
    C : float, default 10.0
        Inverse penalty of the logistic regressions.
    prior_share : float, default 0.5
        Share of the rows in the first part.
    delta : float, default 0.05
        The bounds hold with probability 1 − delta over the training rows.
    class_weight : None, "balanced" or dict, default None
        Cost of an error on each class while features and linear models are learned.
    random_state : None, int, RandomState or Generator, default None
        For the split, and for features that have no seed of their own.

    Attributes
    ----------
    gibbs_bound_ : Bound on the risk of the randomized classifier, which draws weights for each row
    bound_ : Bound on the risk of ``predict``, which uses the mean weights. It returns the class
        with the most votes, so its risk is at most twice that of the randomized classifier
    coef_, intercept_, width_ : mean and standard deviation of the posterior; with more than two
        classes, ``coef_`` has one row for each
    expansion_ : the decision function as a sum of waves, if the features are ``SpectralFeatures``
        on a ``FourierMeasure``

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bochner import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CertifiedClassifier(SpectralFeatures(Gaussian(0.02)), random_state=0)
    >>> bool(model.fit(scale(X), y).gibbs_bound_.value < 0.25)
    True
    """

    _defaults: ClassVar = {"features": SpectralFeatures()}

    features: Any = None
    _: KW_ONLY
    C: float = 10.0
    prior_share: float = 0.5
    delta: float = 0.05
    class_weight: Any = None
    random_state: Any = None

    def _check_parameters(self):
        check_positive(self.C, "C")
        check_share(self.delta, "delta", example=0.05)
        check_share(self.prior_share, "prior_share", example=0.5)
        checked_features(self)

    def _fit(self, data: TrainingData) -> None:
        # Weights of the classes are computed below, for distinct rows.
        counts = data.weights if self.class_weight is None else data.counts
        equal = replace(data, weights=counts, counts=None).equal_rows()
        distinct = without_repetitions(data.rows, data.target, counts)
        caveat = weights_caveat(counts)
        rows, target, codes = distinct.rows, distinct.target, distinct.target.codes
        self.classes_, costs = target.classes, target.costs(self.class_weight, distinct.weights)
        rng = as_generator(self.random_state)
        first, second, observations = split_observations(
            np.ones(len(rows)) if distinct.weights is None else distinct.weights,
            equal,
            distinct.numbers is not None,
            self.prior_share,
            rng,
        )
        features = _seeded(clone(checked_features(self)), rng)
        weighed = first if costs is None else first * costs
        has_weights = distinct.weights is not None or costs is not None
        repeats = counts is None and costs is None
        self.features_ = _learned_features(
            features, rows, target, first, weighed if has_weights else None, repeats
        )
        prior_mean = self._linear(rows, codes, weighed)
        costs_of_rows = 1.0 if costs is None else costs
        step = self._linear(rows, codes, (first + second) * costs_of_rows) - prior_mean
        caveat = caveat or learned_caveat(features)
        note = "" if equal is None else repeated_in_words(equal)
        fields = {"valid": not caveat, "reason": caveat or note}
        self._minimize_bound(rows, codes, first, observations, prior_mean, step, fields)
        self.__dict__.pop("expansion_", None)
        if isinstance(source := feature_source(self.features_), FourierMeasure):
            self.expansion_ = Expansion.of(source, self.coef_.T, self.intercept_)

    def _has_probabilities(self) -> bool:
        return False  # ``votes`` are not probabilities of the classes

    def _score_block(self):
        return self._block(_scores_block, self._weights())

    def votes(self, X: Any) -> Any:
        """Return how often the randomized classifier predicts each class, (n_rows, n_classes).

        These are not probabilities of the classes: a row far from the boundary gets all votes,
        however noisy the labels are.
        """
        rows = self._read_rows(X)
        block = self._block(_votes_block, self._weights(), self.width_)
        return rows.map(block, len(self.classes_), dtype=np.float64)

    def _weights(self):
        """Return the mean weights, (n_outputs, n_columns), intercept last."""
        return np.column_stack([np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)])

    def _design(self):
        """Return the function from a block of rows to its features and a one."""
        return Block(with_constant, feature_block(feature_source(self.features_)))

    def _block(self, function, weights, *parameters):
        return Block(
            function, self._design(), weights, *parameters, row_bytes=16 * weights.shape[1]
        )

    def _linear(self, rows, codes, weights):
        """Return the weights of a logistic regression, (n_outputs, n_columns), intercept last.

        They are zero for classes without rows.
        """
        design = self._design()
        n_classes = len(self.classes_)
        present = np.flatnonzero(np.bincount(codes, weights, minlength=n_classes))
        n_columns = design(rows.take(np.array([0]))).shape[1]
        fitted = np.zeros((1 if n_classes == 2 else n_classes, n_columns))
        if len(present) == 1:
            return fitted
        code = class_code(len(present))
        # Rows of other classes have no weight.
        codes = np.minimum(np.searchsorted(present, np.arange(n_classes)), len(present) - 1)[codes]
        problem = SoftmaxProblem(rows, codes, weights, design, code, np.ones(n_columns), self.C)
        reached = minimized(problem, np.zeros((n_columns, len(code))), _TOLERANCE, _MOST_PASSES)
        coefficients = (reached.coefficients @ code).T
        if n_classes == 2:
            return coefficients[1:]
        fitted[present] = coefficients - coefficients.mean(axis=0)
        return fitted

    def _minimize_bound(self, rows, codes, first, second, prior_mean, step, fields):
        """Select the width and the move with the smallest bound on the second part.

        ``first`` and ``second`` are the counts of the rows in each part. Widths are relative to the
        median margin of the first part. ``fields`` belong to both bounds.
        """
        both = np.concatenate([prior_mean, step])
        scores = rows.values(self._block(_unit_scores_block, both), len(both), dtype=np.float64)
        start, change = np.split(scores, 2, axis=1)
        scale = _median_margin(start, first) or 1.0
        counted_rows = np.flatnonzero(second)
        whole = [values[counted_rows] for values in (start, change, codes, second)]
        tails = 1 if len(step) == 1 else len(step) * len(_NODES)
        some_rows = rows.spread(max(1, _MOST_TAILS // tails), second)
        sample = [values[some_rows] for values in (start, change, codes, second)]
        n_counted = max(1, int(np.sum(second)))

        # Only the choice depends on the sample: the theorem holds for all moves and widths at once,
        # on all rows.
        widths, moves = np.repeat(scale * _WIDTHS, len(_MOVES)), np.tile(_MOVES, len(_WIDTHS))
        divergences = moves**2 * np.sum(step**2) / (2 * widths**2)
        n_at_once = max(1, _MOST_TAILS // (tails * len(some_rows)))
        risks = np.empty(len(widths))
        for begin in range(0, len(widths), n_at_once):
            some = slice(begin, begin + n_at_once)
            risks[some] = _gibbs_risks(widths[some], moves[some], *sample)
        budgets = pac_bayes_budget(divergences, n_counted, self.delta, len(_WIDTHS))
        best = int(np.argmin(inverse_binary_kls(risks, budgets)))
        self.width_, move = widths[best], moves[best]
        risk = float(_gibbs_risks(widths[[best]], moves[[best]], *whole)[0])
        bound = pac_bayes_kl(
            risk, divergences[best], n_counted, delta=self.delta, n_tried=len(_WIDTHS)
        )
        self.gibbs_bound_ = replace(bound, **fields)
        mean = prior_mean + move * step
        self.coef_, self.intercept_ = mean[:, :-1], mean[:, -1]
        if len(mean) == 1:
            self.coef_, self.intercept_ = mean[0, :-1], float(mean[0, -1])
        start, change, codes, counts = whole
        wrong = predicted_codes(start + move * change) != codes
        errors = float(np.sum(wrong * counts) / np.sum(second))
        value = min(1.0, 2 * bound.value)
        self.bound_ = replace(
            self.gibbs_bound_, value=value, empirical=errors, complexity=value - errors
        )


def _learned_features(features, rows, target, first, weights, repeats):
    """Fit features to the rows of the first part.

    ``first`` counts each row, ``weights`` also has the costs of classes. With ``repeats``,
    third-party transformers, which may ignore weights, get each row as often as it was given.
    """
    numbers = np.flatnonzero(first)
    if repeats and not isinstance(features, FeatureMap):
        numbers, weights = np.repeat(np.arange(len(rows)), first.astype(int)), None
    X = rows.take_local(numbers)
    if X is None and isinstance(features, SpectralFeatures):
        # Rows of weight zero do not change the features, and no rows are moved from Dask.
        return features.fit(rows, target, first if weights is None else weights)
    X, y = rows.take(numbers) if X is None else X, target.decode(target.codes[numbers])
    return fitted_transformer(features, X, y, None if weights is None else weights[numbers])


def _gibbs_risks(widths, moves, start, change, codes, counts):
    """Return the risk of the randomized classifier on these rows, for each width and move.

    Scores are ``start`` plus the move times ``change``.
    """
    scores = (start + moves[:, None, None] * change) / widths[:, None, None]
    right = shares_for(scores.reshape(-1, scores.shape[2]), np.tile(codes, len(moves)))
    right = np.sum(right.reshape(len(moves), -1) * counts, axis=1)
    return np.clip(1 - right / counts.sum(), 0.0, 1.0)


def _median_margin(scores, counts):
    """Return the median margin of the rows with a count."""
    margins, some = _margins(scores), counts > 0
    distinct, shares = counted(margins[some], counts[some])
    return quantile(distinct, shares, 0.5)


def _scores_block(design, weights, X):
    return design(X) @ weights.T


def _unit_scores_block(design, weights, X, out):
    """Write scores of features scaled to length one, in units of which noise has its width."""
    columns = design(X)
    out[...] = columns @ weights.T / np.linalg.norm(columns, axis=1, keepdims=True)


def _votes_block(design, weights, width, X, out):
    scores = np.empty((len(out), len(weights)))
    _unit_scores_block(design, weights / width, X, scores)
    for code in range(out.shape[1]):
        out[:, code] = shares_for(scores, np.full(len(scores), code))


def _margins(scores):
    """Return the difference between the largest score and the second largest."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    second, first = np.sort(scores, axis=1)[:, -2:].T
    return first - second
