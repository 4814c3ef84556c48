"""Guarantees on the risk of the final predictor, where the alignment bounds stop at the kernel."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from .._checks import as_generator, check_positive, check_share, check_transformer, refuse_class
from .._estimator import ClassifierScore, NestedDefaults, restore_on_failure
from ..bounds import Bound, binomial_tail, empirical_bernstein, pac_bayes_kl
from ..bounds.risk import inverse_binary_kls, pac_bayes_budget
from ..data import Block
from ..data.checks import check_rows, check_weights
from ..data.columns import counted, quantile
from ..data.given_targets import targets_and_predictions
from ..data.observations import independent_rows, repeated_in_words
from ..data.repetitions import equal_rows, without_repetitions
from ..data.row_draws import split_observations
from ..data.targets import Labels
from ..expansions.waves import Expansion, ExpansionModel
from ..features.spectral import (
    FeatureMap,
    SpectralFeatures,
    caveat_of,
    fitted_transformer,
    learned_prior,
)
from ..losses import predicted_codes
from ..measures.fourier import FourierMeasure
from ..solvers.base import feature_block
from ..solvers.newton import SoftmaxProblem, class_code, minimized, with_constant

# Widths of the Gaussian relative to the typical margin, fixed before the second part of the data is
# seen.
_WIDTHS = np.logspace(-2, 1, 13)
# How far the posterior's mean moves from the prior's; any number may be tried, the bound holds for
# all at once.
_MOVES = np.linspace(0, 1, 21)
# Width and move are chosen on as many rows as cost this many normal tails a trial; the bound then
# looks at all rows.
_MOST_TAILS = 2**19
# How exactly the logistic regressions are solved, and in how many passes at most; a certificate
# holds for whatever they find.
_TOLERANCE, _MOST_PASSES = 1e-6, 200
# The trapezoidal rule for a mean over a standard normal variable, which for smooth functions is
# exact to rounding.
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
    """With probability 1 − delta over the rows (X, y), the risk of a fitted predictor is at most
    ``value``.

    Classifiers: the probability of error, by the exact binomial tail. With a loss, and for
    regressors: its mean, by the empirical Bernstein bound.

    The rows must be new to the estimator: not used to fit it, nor to choose its parameters or
    features; no such bound holds else. ``CertifiedClassifier`` certifies on its own training data.

    Copies of a row count once; the ``reason`` of the bound reports them. Equal rows are independent
    observations if the same inputs also occur with other targets.

    Parameters
    ----------
    estimator : a fitted classifier or regressor
        Whose risk is bounded.
    X : array (n_samples, n_features)
        Rows that are new to it.
    y : array (n_samples,) or (n_samples, n_outputs)
        Their labels or values.
    delta : float, default 0.05
        Probability that the bound fails.
    loss : function of (y, prediction), default None
        One number for each row. None is the error of a classifier and the squared error of a
        regressor.
    largest_loss : float, default None
        Where the loss is cut off; needed unless the errors of a classifier are counted.

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
    counted, note = independent_rows(X, y, are_labels=is_classifier(estimator))
    if counted is not None:
        prediction, y = prediction[counted], y[counted]
    if loss is None and is_classifier(estimator):
        wrong = prediction != y
        wrong = wrong.any(axis=1) if wrong.ndim == 2 else wrong
        return replace(binomial_tail(int(np.sum(wrong)), len(y), delta=delta), reason=note)
    if largest_loss is None:
        raise ValueError(
            "A loss without a largest value has no such bound: one rare enormous error could hide. "
            "Give largest_loss, where the loss is cut off, e.g. certify(model, X, y, "
            "largest_loss=1.0)."
        )
    check_positive(largest_loss, "largest_loss")
    losses = np.asarray(
        loss(y, prediction) if loss is not None else _squared_error(y, prediction), dtype=np.float64
    )
    if losses.shape != (len(y),):
        raise ValueError(
            f"The loss must return one number for each of {len(y)} rows, got shape {losses.shape}."
        )
    return replace(
        empirical_bernstein(np.minimum(losses, largest_loss), largest_loss, delta=delta),
        reason=note,
    )


def _seeded(estimator, rng):
    """Seed whatever inside an estimator would otherwise draw anew: our own seed then decides
    everything.
    """
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
    """How often the class ``codes`` of each row wins when independent standard normal noise is
    added to its scores, (n_rows,).

    One column is the score of the second of two classes, which wins above zero: Φ(± score). Of
    several columns the largest wins: E Π_k Φ(s_y + z − s_k) over all k but y, z standard normal.
    """
    if scores.shape[1] == 1:
        return ndtr(np.where(codes == 1, scores[:, 0], -scores[:, 0]))
    leads = np.take_along_axis(scores, codes[:, None], axis=1) - scores
    wins = np.ones((len(scores), len(_NODES)))
    for k in range(scores.shape[1]):
        wins *= np.where((codes == k)[:, None], 1.0, ndtr(leads[:, [k]] + _NODES))
    return wins @ _NODE_WEIGHTS


@dataclass(eq=False, repr=False)
class CertifiedClassifier(ExpansionModel, ClassifierScore, NestedDefaults):
    r"""A linear classifier on learned features that knows a bound on its own risk, from its
    training data alone.

    The rows are split at random. The first part learns the features and a linear model w₀; around
    it sits the prior N(w₀, σ²I). All rows together give w; the posterior is N(w₀ + a (w − w₀),
    σ²I), and the PAC-Bayes-kl theorem on the second part bounds the risk of a classifier that draws
    its weights from it:

    .. math:: \mathrm{kl}(\hat R \,\|\, R) \le \frac{1}{m} \Big( \frac{\|a (w - w_0)\|^2}{2 \sigma^2} + \ln \frac{2 T \sqrt m}{\delta} \Big)

    with m rows in the second part, T = 13 widths σ tried, and the best a in [0, 1]. For Gaussian
    weights R̂ is a mean of normal tails, so nothing is sampled. Of more than two classes each has a
    w of its own, all in one vector above, and the largest w·φ(x) wins; their scores are
    independent, so a class wins with a probability that is an integral over one normal variable.
    The classes of y are taken for all that there are.

    Copies of a row are in the same part and count once in the bounds, whose ``reason`` reports
    them. Equal rows are independent observations if the same inputs also occur with other labels;
    each then counts on its own.

    A weight of h counts as h copies of a row while w₀ and w are learned. No theorem holds for
    weighted rows, so a fit with ``sample_weight`` has bounds with ``valid=False``. Class weights
    only set the cost of an error while w₀ and w are learned: the bounds are those of the plain
    risk, where every row counts once.

    Parameters
    ----------
    features : a transformer, default ``SpectralFeatures()``
        Learned on the first part only, with any learner.
    C : float, default 10.0
        Inverse penalty of the logistic regressions.
    prior_share : float, default 0.5
        Share of the rows in the first part.
    delta : float, default 0.05
        The bounds hold with probability 1 − delta over the training rows.
    class_weight : None, "balanced" or dict, default None
        What a row of a class costs while features and linear models are learned.
    random_state : None, int, RandomState or Generator, default None
        For the split, and for features that have no seed of their own.

    Attributes
    ----------
    gibbs_bound_ : Bound on the risk of the randomized classifier that draws its weights anew for
        each row
    bound_ : Bound on the risk of ``predict``, which uses the mean weights: it takes the class of
        most votes, so where it errs the
        randomized one errs at least half of the time, and its risk is at most twice as large
    coef_, intercept_, width_ : mean and standard deviation of the posterior; one row for each class
        where there are more than two
    expansion_ : the decision function as a sum of waves, where the features are
        ``SpectralFeatures`` on a ``FourierMeasure``

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bochner import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CertifiedClassifier(SpectralFeatures(Gaussian(0.02)), random_state=0).fit(scale(X), y)
    >>> bool(model.gibbs_bound_.value < 0.25)
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

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn features and prior on the first part of the rows, the posterior on all, the bound
        on the second part.
        """
        check_positive(self.C, "C")
        check_share(self.delta, "delta", example=0.05)
        check_share(self.prior_share, "prior_share", example=0.5)
        check_transformer(self._component("features"), "features")
        rows = check_rows(self, X, reset=True)
        target, _ = Labels.weighted(
            y, len(rows), sample_weight, self.class_weight, owner=type(self).__name__
        )
        counts = check_weights(sample_weight, len(rows))
        caveat = caveat_of(counts)
        equal = equal_rows(rows, target, counts)
        different = without_repetitions(rows, target, counts)
        rows, target, counts = different.rows, different.target, different.weights
        self.classes_, codes = target.classes, target.codes
        costs = target.costs(self.class_weight, counts)
        rng = as_generator(self.random_state)
        first, second, observations = split_observations(
            np.ones(len(rows)) if counts is None else counts,
            equal,
            different.numbers is not None,
            self.prior_share,
            rng,
        )
        features = _seeded(clone(self._component("features")), rng)
        weighed = first if costs is None else first * costs
        if isinstance(features, SpectralFeatures) and not rows.is_local:
            # Rows of weight zero teach nothing, and none has to leave the cluster.
            self.features_ = features.fit(rows, target, weighed)
        else:
            taught, first_weights = np.flatnonzero(first), None
            if sample_weight is None and costs is None and not isinstance(features, FeatureMap):
                # Anyone's transformer sees the rows as they were given: it may know nothing of
                # weights.
                taught = np.repeat(np.arange(len(rows)), first.astype(int))
            elif counts is not None or costs is not None:
                first_weights = weighed[taught]
            given = target.decode(codes[taught])
            self.features_ = fitted_transformer(features, rows.take(taught), given, first_weights)
        prior_mean = self._linear(rows, codes, weighed)
        step = (
            self._linear(rows, codes, (first + second) * (1.0 if costs is None else costs))
            - prior_mean
        )
        caveat = caveat or learned_prior(features)
        note = "" if equal is None else repeated_in_words(equal)
        said = {"valid": not caveat, "reason": caveat or note}
        self._choose(rows, codes, first, observations, prior_mean, step, said)
        self.__dict__.pop("expansion_", None)
        if isinstance(features, SpectralFeatures) and isinstance(features.measure_, FourierMeasure):
            self.expansion_ = Expansion.of(features.measure_, self.coef_.T, self.intercept_)
        return self

    def decision_function(self, X: Any) -> Any:
        """w·φ(x) + intercept for the mean weights, of more than two classes one column for each."""
        rows = self._rows(X)
        weights = self._weights()
        scores = rows.map(self._block(_scores_block, weights), len(weights))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class of the largest mean score, which is also the class of most votes."""
        rows = self._rows(X)
        return rows.map(
            self._block(_labels_block, self._weights(), self.classes_), dtype=self.classes_.dtype
        )

    def votes(self, X: Any) -> Any:
        """How often the randomized classifier says each class of a row, (n_rows, n_classes).

        These are no probabilities of the classes: a row far from the boundary gets all votes,
        however noisy the labels are.
        """
        rows = self._rows(X)
        block = self._block(_votes_block, self._weights(), self.width_)
        return rows.map(block, len(self.classes_), dtype=np.float64)

    def _rows(self, X):
        check_is_fitted(self)
        return check_rows(self, X, reset=False)

    def _weights(self):
        """(n_outputs, n_columns), intercept last."""
        return np.column_stack([np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)])

    def _design(self):
        """The features of a block of rows, and a one: those of all rows are never held."""
        measure = self.features_.measure_ if isinstance(self.features_, SpectralFeatures) else None
        source = measure if isinstance(measure, FourierMeasure) else self.features_
        return Block(with_constant, feature_block(source))

    def _block(self, function, weights, *parameters):
        return Block(
            function, self._design(), weights, *parameters, row_bytes=16 * weights.shape[1]
        )

    def _linear(self, rows, codes, weights):
        """Weights of a logistic regression, (n_outputs, n_columns), intercept last; the origin for
        classes that are not there.
        """
        design = self._design()
        n_classes = len(self.classes_)
        present = np.flatnonzero(np.bincount(codes, weights, minlength=n_classes))
        n_columns = design(rows.take(np.array([0]))).shape[1]
        found = np.zeros((1 if n_classes == 2 else n_classes, n_columns))
        if len(present) == 1:
            return found
        code = class_code(len(present))
        # Rows without weight may be of other classes; they count for nothing.
        codes = np.minimum(np.searchsorted(present, np.arange(n_classes)), len(present) - 1)[codes]
        problem = SoftmaxProblem(rows, codes, weights, design, code, np.ones(n_columns), self.C)
        reached = minimized(problem, np.zeros((n_columns, len(code))), _TOLERANCE, _MOST_PASSES)
        coefficients = (reached.coefficients @ code).T
        if n_classes == 2:
            return coefficients[1:]
        found[present] = coefficients - coefficients.mean(axis=0)
        return found

    def _choose(self, rows, codes, first, second, prior_mean, step, said):
        """Select the width and the move of the smallest bound on the observations of the second
        part.

        Widths are relative to the median margin of the first part. ``said`` are fields of both
        bounds.
        """
        both = np.concatenate([prior_mean, step])
        scores = rows.values(self._block(_unit_scores_block, both), len(both), dtype=np.float64)
        scale = _median_margin(scores, first) or 1.0
        tails = 1 if len(step) == 1 else len(step) * len(_NODES)
        looked = rows.spread(max(1, _MOST_TAILS // tails), second)
        seen, seen_codes, seen_counts = (column[looked] for column in (scores, codes, second))
        total = float(np.sum(second))
        n_counted = max(1, int(total))

        # Which rows are looked at decides the choice alone: the theorem holds for all moves and
        # widths at once, on all rows.
        widths, moves = np.repeat(scale * _WIDTHS, len(_MOVES)), np.tile(_MOVES, len(_WIDTHS))
        divergences = moves**2 * np.sum(step**2) / (2 * widths**2)
        risks = np.empty(len(widths))
        n_at_once = max(1, _MOST_TAILS // (tails * len(looked)))
        for begin in range(0, len(widths), n_at_once):
            some = slice(begin, begin + n_at_once)
            right = _right_counts(widths[some], moves[some], seen, seen_codes, seen_counts)
            risks[some] = np.clip(1 - right / seen_counts.sum(), 0.0, 1.0)
        budgets = pac_bayes_budget(divergences, n_counted, self.delta, len(_WIDTHS))
        best = int(np.argmin(inverse_binary_kls(risks, budgets)))
        self.width_, move = widths[best], moves[best]
        right = _right_counts(widths[[best]], moves[[best]], scores, codes, second)[0]
        risk = float(np.clip(1 - right / total, 0.0, 1.0))
        bound = pac_bayes_kl(
            risk, divergences[best], n_counted, delta=self.delta, n_tried=len(_WIDTHS)
        )
        self.gibbs_bound_ = replace(bound, **said)
        value = min(1.0, 2 * self.gibbs_bound_.value)
        mean = prior_mean + move * step
        self.coef_, self.intercept_ = mean[:, :-1], mean[:, -1]
        if len(mean) == 1:
            self.coef_, self.intercept_ = mean[0, :-1], float(mean[0, -1])
        errors = float(_errors(move, scores, codes, second) / total)
        self.bound_ = replace(
            self.gibbs_bound_, value=value, empirical=errors, complexity=value - errors
        )


def _right_counts(widths, moves, scores, codes, counts):
    """Of each width and move, how often the randomized classifier is right on rows that count so
    often; ``scores`` before and of the step.
    """
    some = counts > 0
    (start, change), codes = np.split(scores[some], 2, axis=1), codes[some]
    scores = (start + moves[:, None, None] * change) / widths[:, None, None]
    right = shares_for(scores.reshape(-1, scores.shape[2]), np.tile(codes, len(moves))).reshape(
        len(moves), -1
    )
    return np.sum(right * counts[some], axis=1)


def _errors(move, scores, codes, counts):
    """How often the mean weights err."""
    some = counts > 0
    start, change = np.split(scores[some], 2, axis=1)
    return np.sum((predicted_codes(start + move * change) != codes[some]) * counts[some])


def _median_margin(scores, counts):
    """Of the rows that count, before the step."""
    margins, some = _margins(scores[:, : scores.shape[1] // 2]), counts > 0
    distinct, shares = counted(margins[some], counts[some])
    return quantile(distinct, shares, 0.5)


def _scores_block(design, weights, X, out):
    out[...] = design(X) @ weights.T


def _unit_scores_block(design, weights, X, out):
    """Scores of features of length one: what noise of a width does to a score, it does in units of
    that length.
    """
    columns = design(X)
    out[...] = columns @ weights.T / np.linalg.norm(columns, axis=1, keepdims=True)


def _labels_block(design, weights, classes, X, out):
    out[...] = classes[predicted_codes(design(X) @ weights.T)]


def _votes_block(design, weights, width, X, out):
    scores = np.empty((len(out), len(weights)))
    _unit_scores_block(design, weights / width, X, scores)
    for code in range(out.shape[1]):
        out[:, code] = shares_for(scores, np.full(len(scores), code))


def _margins(scores):
    """How far the winner is ahead."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    second, first = np.sort(scores, axis=1)[:, -2:].T
    return first - second
