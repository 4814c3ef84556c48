"""Guarantees on the risk of the final predictor, where the alignment bounds stop at the kernel."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import norm
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from ._columns import counted, quantile
from ._compute import gathered
from ._defaults import NestedDefaults
from ._random import as_generator
from ._state import all_or_nothing
from ._validation import check_positive, check_rows, check_share, check_transformer, check_weights
from .bounds import Bound, binomial_tail, empirical_bernstein, pac_bayes_kl
from .expansions import Expansion, ExpansionModel
from .features import FeatureMap, SpectralFeatures, caveat_of, fitted_transformer
from .measures import FourierMeasure
from .repetitions import without_repetitions
from .targets import Labels

# Widths of the Gaussian relative to the typical margin, fixed before the second part of the data is seen.
_WIDTHS = np.logspace(-2, 1, 13)
# How far the posterior's mean moves from the prior's; any number may be tried, the bound holds for all at once.
_MOVES = np.linspace(0, 1, 21)
# A row that counts more often than this is split in as many pieces.
_MOST_COPIES = 4000


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    *,
    loss: Callable[[Any, Any], Any] | None = None,
    largest_loss: float | None = None,
) -> Bound:
    """With probability 1 − delta over the rows (X, y), the risk of a fitted predictor is at most ``value``.

    Classifiers: the probability of error, by the exact binomial tail.  With ``loss(y, prediction)``, for regressors, or
    any bounded loss: its mean, cut off at ``largest_loss``, by the empirical Bernstein bound; regressors use the squared
    error unless told otherwise.

    The rows must be new to the estimator: not used to fit it, nor to choose its parameters or features; no such bound holds
    else.  ``CertifiedClassifier`` certifies on its own training data.

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
    check_is_fitted(estimator)
    prediction = np.asarray(estimator.predict(X))
    y = np.asarray(y)
    if len(prediction) != len(y):
        raise ValueError(f"Got {len(prediction)} predictions and {len(y)} targets.")
    if loss is None and is_classifier(estimator):
        wrong = prediction != y
        wrong = wrong.any(axis=1) if wrong.ndim == 2 else wrong
        return binomial_tail(int(np.sum(wrong)), len(y), delta=delta)
    if largest_loss is None:
        raise ValueError(
            "A loss without a largest value has no such bound: one rare enormous error could hide. "
            "Give largest_loss, where the loss is cut off, e.g. certify(model, X, y, largest_loss=1.0)."
        )
    check_positive(largest_loss, "largest_loss")
    losses = np.asarray(loss(y, prediction) if loss is not None else _squared_error(y, prediction), dtype=np.float64)
    return empirical_bernstein(np.minimum(losses, largest_loss), largest_loss, delta=delta)


def _seeded(estimator, rng):
    """Seed whatever inside an estimator would otherwise draw anew: our own seed then decides everything."""
    unseeded = [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if name.split("__")[-1] == "random_state" and value is None
    ]
    estimator.set_params(**{name: int(rng.integers(2**31)) for name in unseeded})
    return estimator


def split_counts(counts: int | np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """How often each row counts in two random parts, of which the first has about this share of all.

    A row that counts several times is as many rows that are drawn one by one, the last of them perhaps a part of one.
    """
    counts = np.ones(counts) if isinstance(counts, int) else counts
    copies = np.minimum(np.ceil(counts), _MOST_COPIES).astype(int)
    order = rng.permutation(np.repeat(np.arange(len(counts)), copies))
    n_first = min(max(int(share * len(order)), 1), len(order) - 1)
    first, second = (np.bincount(part, minlength=len(counts)) for part in (order[:n_first], order[n_first:]))
    size = counts / np.maximum(copies, 1)
    return first * size, second * size


def _squared_error(y, prediction):
    squares = (y - prediction) ** 2
    return squares.sum(axis=1) if squares.ndim == 2 else squares


@dataclass(eq=False, repr=False)
class CertifiedClassifier(ExpansionModel, ClassifierMixin, NestedDefaults):
    r"""A linear classifier on learned features that knows a bound on its own risk, from its training data alone.

    The rows are split at random.  The first part learns the features and a linear model w₀; around it sits the prior
    N(w₀, σ²I).  All rows together give w; the posterior is N(w₀ + a (w − w₀), σ²I), and the PAC-Bayes-kl theorem on the
    second part bounds its risk:

    .. math:: \mathrm{kl}(\hat R \,\|\, R) \le \frac{1}{m} \Big( \frac{\|a (w - w_0)\|^2}{2 \sigma^2} + \ln \frac{2 T \sqrt m}{\delta} \Big)

    with m rows in the second part, T = 13 widths σ tried, and the best a in [0, 1].  For Gaussian weights R̂ is a mean of
    normal tails, so nothing is sampled.

    A row of weight h counts as h rows, which are split between the parts one by one.  But a weight is no h independent rows: a fit with
    ``sample_weight`` has bounds with ``valid=False``.  Class weights are another matter: they say what an error costs while w₀ and w are
    learned, and the bounds are those of the plain risk, where every row counts once.

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
    class_weight : None, "balanced" or dict
        What a row of a class costs while features and linear models are learned.
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    gibbs_bound_ : Bound on the risk of the randomized classifier that draws its weights anew for each row
    bound_ : Bound on the risk of ``predict``, which uses the mean weights: it errs only where the randomized one errs at
        least half of the time, so its risk is at most twice as large
    coef_, intercept_, width_ : mean and standard deviation of the posterior
    expansion_ : the decision function as a sum of waves, where the features are ``SpectralFeatures`` on a ``FourierMeasure``
    """

    _defaults: ClassVar = {"features": SpectralFeatures()}

    features: Any = None
    _: KW_ONLY
    C: float = 10.0
    prior_share: float = 0.5
    delta: float = 0.05
    class_weight: Any = None
    random_state: Any = None

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn features and prior on the first part of the rows, the posterior on all, the bound on the second part."""
        check_positive(self.C, "C")
        check_share(self.delta, "delta", example=0.05)
        check_share(self.prior_share, "prior_share", example=0.5)
        check_transformer(self._part("features"), "features")
        rows = check_rows(self, X, reset=True)
        target, _ = Labels.weighted(y, len(rows), sample_weight, self.class_weight, owner=type(self).__name__)
        if len(target.classes) > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        counts = check_weights(sample_weight, len(rows))
        caveat = caveat_of(counts)
        different = without_repetitions(rows, target, counts)
        rows, target, counts = different.rows, different.target, different.weights
        self.classes_, signs = target.classes, target.signs()[:, 0]
        costs = target.costs(self.class_weight, counts)
        rng = as_generator(self.random_state)
        first, second = split_counts(len(rows) if counts is None else counts, self.prior_share, rng)
        features = _seeded(clone(self._part("features")), rng)
        if sample_weight is None and costs is None and not isinstance(features, FeatureMap):
            # Anyone's transformer sees the rows as they were given: it may know nothing of weights.
            taught, first_weights = np.repeat(np.arange(len(rows)), first.astype(int)), None
        else:
            taught = np.flatnonzero(first)
            first_weights = (
                None if counts is None and costs is None else (first if costs is None else first * costs)[taught]
            )
        self.features_ = fitted_transformer(
            features, rows.take(taught), target.decode(target.codes[taught]), first_weights
        )
        columns = self._columns(rows)
        prior_mean = self._linear(columns, signs, first if costs is None else first * costs)
        step = self._linear(columns, signs, (first + second) * (1.0 if costs is None else costs)) - prior_mean
        self._choose(columns, signs, first, second, prior_mean, step, caveat)
        self.__dict__.pop("expansion_", None)
        if isinstance(features, SpectralFeatures) and isinstance(features.measure_, FourierMeasure):
            self.expansion_ = Expansion.of(features.measure_, self.coef_, self.intercept_)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """w·φ(x) + intercept for the mean weights."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        return (self._columns(rows) @ np.append(self.coef_, self.intercept_)).astype(rows.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """The class on whose side the mean weights, and so most weights of the posterior, put each row."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """How the votes of the randomized classifier are shared between the two classes; votes, not frequencies."""
        check_is_fitted(self)
        columns = self._columns(check_rows(self, X, reset=False))
        mean = columns @ np.append(self.coef_, self.intercept_)
        positive = norm.cdf(mean / (self.width_ * np.linalg.norm(columns, axis=1)))
        return np.column_stack([1 - positive, positive])

    def _columns(self, rows):
        # The transformer may be anyone's, so it gets what the rows are made of.
        features = np.asarray(gathered(self.features_.transform(rows.source)), dtype=np.float64)
        return np.column_stack([features, np.ones(len(features))])

    def _linear(self, columns, signs, weights):
        """Weights of a logistic regression, intercept last; the origin where only one class is present."""
        some = weights > 0
        if len(np.unique(signs[some])) < 2:
            return np.zeros(columns.shape[1])
        model = LogisticRegression(C=self.C, fit_intercept=False, max_iter=2000)
        model.fit(columns[some], signs[some], weights[some])
        return model.coef_[0]

    def _choose(self, columns, signs, first, second, prior_mean, step, caveat):
        """The width and the move of least bound on the rows that count in the second part; widths in units of the first part's margins."""
        norms = np.linalg.norm(columns, axis=1)
        some = first > 0
        margins, shares = counted(np.abs(columns[some] @ prior_mean) / norms[some], first[some])
        scale = quantile(margins, shares, 0.5) or 1.0
        some = second > 0
        counts, norms, columns, signs = second[some], norms[some], columns[some], signs[some]
        start, change = signs * (columns @ prior_mean) / norms, signs * (columns @ step) / norms
        best: Any = None
        for width in scale * _WIDTHS:
            for move in _MOVES:
                risk = min(float(np.average(norm.cdf(-(start + move * change) / width), weights=counts)), 1.0)
                divergence = float(move**2 * (step @ step) / (2 * width**2))
                bound = pac_bayes_kl(
                    risk, divergence, max(1, int(counts.sum())), delta=self.delta, n_tried=len(_WIDTHS)
                )
                if best is None or bound.value < best[0].value:
                    best = bound, width, move
        bound, self.width_, move = best
        self.gibbs_bound_ = replace(bound, valid=False, reason=caveat) if caveat else bound
        value = min(1.0, 2 * self.gibbs_bound_.value)
        mean = prior_mean + move * step
        self.coef_, self.intercept_ = mean[:-1], float(mean[-1])
        errors = float(np.average(start + move * change <= 0, weights=counts))
        self.bound_ = replace(self.gibbs_bound_, value=value, empirical=errors, complexity=value - errors)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
