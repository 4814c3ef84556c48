"""SpectralFeatures: sample a measure from a prior, learn it, and map rows to its features."""

import warnings
from copy import copy, deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._checks import (
    as_generator,
    check_auto_count,
    check_choice,
    check_count,
    check_transformer,
)
from .._estimator import Estimator, restore_on_failure
from ..bounds import Bound
from ..data import Rows
from ..data.checks import check_weights
from ..data.targets import as_target
from ..data.training import TrainingData
from ..learners import AlignmentLearner, PacBayesGaussian, check_learner
from ..learners.alignment import LabelSums, alignment_sums
from ..measures.fourier import SELECTIONS, FourierMeasure, effective_atoms, selected_atoms
from ..priors import Gaussian, SpectralPrior
from .caveats import prior_caveat, weights_caveat

# Candidates for float32 rows are drawn in float64 pieces of this many bytes.
_DRAW_BYTES = 2**27
# ``fit`` warns below this share of distinct draws: equal frequencies are redundant columns. With
# more than _FEW_ATOMS effective atoms per draw, repetitions are chance and do not warn.
_LEAST_DISTINCT, _FEW_ATOMS = 0.75, 2


def _learns_by_sums(estimator):
    """Return True if there is no learner or it has ``learn_from_sums``; else raise an error."""
    learner = estimator.learner
    if learner is None or hasattr(learner, "learn_from_sums"):
        return True
    raise AttributeError(
        f"{type(learner).__name__} has no method learn_from_sums and cannot learn in parts; call "
        "fit on all rows."
    )


@dataclass(eq=False, repr=False)
class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of feature maps with a prior and a learner."""

    prior: SpectralPrior | None = None
    learner: Any = None
    _: KW_ONLY
    n_components: int = 100
    target: str = "auto"
    block_size: int | str = "auto"
    random_state: Any = None

    def _row_block_size(self):
        return self.block_size

    def _check_target(self, y, n_rows):
        return as_target(y, n_rows, kind=self.target) if self._needs_target(y) else None

    def _needs_target(self, y: Any) -> bool:
        """Return True if y is read."""
        return self.learner is not None

    def _copy_with(self, learner: Any) -> Self:
        """Return a copy to learn again, with another learner if one is given."""
        copied = copy(self)
        if learner is not None:
            check_learner(learner, AlignmentLearner)
            copied.learner = learner
        return copied

    def _check_parameters(self):
        check_count(self.n_components, "n_components")
        check_choice(self.target, "target", ("auto", "labels", "values"))
        check_auto_count(self.block_size, "block_size")
        self._component("prior", SpectralPrior)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(eq=False, repr=False)
class SpectralFeatures(FeatureMap):
    """Features whose inner products are a kernel, sampled from a prior and then learned.

    Parameters
    ----------
    prior : a prior of ``bochner.priors``, or a FourierMeasure, default ``Gaussian(gamma='scale')``
        Distribution of the candidate frequencies. A measure of at most D atoms (N with a learner)
        is used exactly, with its weights. From a larger one, atoms are drawn in proportion to their
        weights.
    learner : a learner, default None
        A rule ``measure, rows, target -> measure``; None keeps the prior's measure (plain random
        Fourier features).
    n_components : int, default 100
        Number of frequencies D; each gives two columns, a cosine and a sine. ``MarginGame`` decides
        by itself how many it keeps; its search starts at D draws, unless its ``n_rounds`` is None.
    n_candidates : int, default None
        With a learner: draw this many candidates N, learn their weights, then keep D of them. None
        learns on D.
    selection : "multinomial", "systematic", "top" or "all", default "multinomial"
        Rule that keeps D of the N candidates: drawn with replacement in proportion to their weights
        (as published), drawn with less variance, the D largest, or all N with their weights.
    sampling : "iid", "orthogonal" or "qmc", default "iid"
        Sampling of the prior; the last two have less variance at the same D (qmc only if D is well
        above the number of columns).
    target : "auto", "labels" or "values", default "auto"
        Kind of y for a learner. "auto" reads strings, booleans and whole numbers as labels, other
        numbers as values, and whole numbers of many levels as values, with a warning; before a
        regressor write "values".
    block_size : "auto" or int, default "auto"
        Rows processed at once; "auto" keeps memory within a fixed budget.
    random_state : None, int, RandomState or Generator, default None
        Seed of the draws from the prior, of the learner, and of the selection.

    Attributes
    ----------
    measure_ : the learned measure; ``measure_.kernel(X)`` is the kernel that the features reproduce
        exactly
    prior_ : the prior with its bandwidth resolved from the data
    report_ : the report of the learner
    learned_ : the measure over all candidates (learners by alignment)
    selected_ : numbers of the selected candidates (learners by alignment)
    sums_ : the additive statistics of the data behind the weights (learners by alignment)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> features = SpectralFeatures(n_components=50, random_state=0)
    >>> model = make_pipeline(features, LogisticRegression(C=30, max_iter=1000))
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True

    Learn from batches, each of which is read once:

    >>> from bochner import Gaussian, PacBayes
    >>> sizes = {"n_candidates": 500, "n_components": 20}
    >>> features = SpectralFeatures(Gaussian(gamma=0.5), PacBayes(), **sizes, random_state=0)
    >>> for rows in (slice(0, 60), slice(60, 150)):
    ...     _ = features.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    >>> features.transform(X).shape
    (150, 40)
    """

    _defaults: ClassVar = {"prior": Gaussian(gamma="scale")}

    _: KW_ONLY
    n_candidates: int | None = None
    selection: str = "multinomial"
    sampling: str = "iid"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Sample the prior and, with a learner, learn the measure from X and y.

        y may also be a ``Target``. A row of weight h counts as h rows, for a bandwidth that is
        computed from the data and for learners.
        """
        return super().fit(X, y, sample_weight)

    def _fit(self, data):
        candidates, rng = self._start(data)
        if self.learner is None:
            self.measure_ = candidates
        elif hasattr(self.learner, "learn_from_sums"):
            self.candidates_ = candidates
            self.sums_ = alignment_sums(candidates, data.rows, data.target, data.weights)
            self._use_sums()
        else:
            learner = self.learner.for_prior(self.prior_)
            learned = learner.learn(candidates, data.rows, data.target, rng, data.weights)
            self.measure_, self.report_ = learned.measure, learned.report
            if self.n_candidates is not None:
                _, self.measure_ = self._kept_atoms(learned.measure, rng)

    @available_if(_learns_by_sums)
    @restore_on_failure
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from one more batch; the result is that of one fit on the rows of all batches.

        The first batch determines the candidates and the kind of y (labels or values). It also
        determines the bandwidth of the prior if that is "scale" or "median". ``classes`` lists all
        labels that may occur; without it, labels are collected from the batches.
        """
        first = not hasattr(self, "measure_")
        if first:
            self._check_parameters()
        rows = self._read_rows(X, reset=first)
        weights = check_weights(sample_weight, len(rows))
        if first:
            self.measure_, _ = self._start(TrainingData(rows, weights=weights))
        if self.learner is None:
            return self
        if first:
            self.candidates_ = self.measure_
        if classes is not None:
            self._classes: np.ndarray | None = np.unique(classes)
        kind = self.target if first else "labels" if isinstance(self.sums_, LabelSums) else "values"
        target = as_target(y, len(rows), classes=self._classes, kind=kind)
        sums = alignment_sums(self.candidates_, rows, target, weights)
        self._caveat: str = self._caveat or weights_caveat(weights)
        self.sums_ = sums if first else self.sums_ + sums
        if self.sums_.n_samples > 1:  # a single row has no pairs
            self._use_sums()
        return self

    @restore_on_failure
    def merge(self, other: Self) -> Self:
        """Add the sums of another fit; the result is that of one fit on the rows of both.

        Both need the same candidates: the same prior with a number for its bandwidth, and the same
        integer seed. Only the sums of the other fit are read, not its rows. So one measure can be
        learned from data that must not be brought together.
        """
        for features in (self, other):
            check_is_fitted(features, "sums_")
        if not np.array_equal(self.candidates_.frequencies, other.candidates_.frequencies):
            raise ValueError(
                "The two fits drew different candidates. Give both the same prior with a number "
                "for its bandwidth (not 'scale' or 'median', which depend on the rows) and the "
                "same integer random_state."
            )
        self.sums_ = self.sums_ + other.sums_
        self._caveat = self._caveat or other._caveat
        self._use_sums()
        return self

    def relearned(self, learner: Any = None, n_components: int | None = None) -> Self:
        """Return a fitted copy with another learner or another D, from the same sums.

        This takes O(N) time and does not read the data.

        >>> from sklearn.datasets import load_iris
        >>> from bochner import PacBayes
        >>> features = SpectralFeatures(learner=PacBayes(), n_candidates=200, random_state=0)
        >>> features = features.fit(*load_iris(return_X_y=True))
        >>> features.relearned(PacBayes(beta=10.0), n_components=8).measure_.n_columns
        16
        """
        check_is_fitted(self, "sums_")
        fitted = self._copy_with(learner)
        if n_components is not None:
            fitted.n_components = check_count(n_components, "n_components")
        fitted._warned = False
        fitted._use_sums()
        return fitted

    def transform(self, X: Any, out: np.ndarray | None = None) -> Any:
        """Return the features of X, (n_samples, 2 n_components), computed block by block.

        They are written to ``out``, e.g. a memory map, if it is given.
        """
        rows = self._read_rows(X)
        return self.measure_.features(rows, out=out)

    def alignment_bound(
        self, delta: float = 0.05, *, of: str = "selected", form: str = "safe"
    ) -> Bound:
        """Return an upper bound of the expected alignment loss.

        It holds with probability 1 − delta over the training rows: for the kernel of ``measure_``
        (``of="selected"``), or for the kernel over all candidates (``of="learned"``). The learner
        chooses the theorem: Theorem 3 for PacBayes, Theorem 4 for OptimalAlignment. ``form="kl"``
        is the form of Theorem 3 without t. The kernel that PacBayesGaussian has learned is the
        closed form of its distribution; the bound of its draws holds over the draws, too.

        The rows must be independent observations. Copies of rows are not detected, and make the
        bound too small: remove them before the fit.
        """
        check_is_fitted(self)
        check_choice(of, "of", ("selected", "learned"))
        if isinstance(self.learner, PacBayesGaussian):
            return self._bound_of_draws(self.learner, delta, of, form)
        if not hasattr(self, "sums_") or not hasattr(self.learner, "bound"):
            raise TypeError(
                "alignment_bound needs a learner by alignment, with the methods learn_from_sums "
                f"and bound, got learner={self.learner!r}. Write e.g. "
                "SpectralFeatures(learner=PacBayes())."
            )
        weights = self.report_.weights
        if of == "selected":
            weights = np.bincount(
                self.selected_, weights=self.measure_.weights, minlength=len(self.candidates_)
            )
        bound = self.learner.bound(self.report_, weights, delta=delta, form=form)
        reason = prior_caveat(self.prior) or self.sums_.caveat or self._caveat
        return replace(bound, valid=False, reason=reason) if reason else bound

    def _bound_of_draws(self, learner, delta, of, form):
        """Return the bound of a Gaussian distribution of frequencies, or of the draws from it."""
        n_drawn = len(self.measure_) if of == "selected" else None
        bound = learner.bound(self.report_, n_drawn, delta=delta, form=form)
        prior = self.prior if learner.prior is None else learner.prior
        reason = prior_caveat(prior) or self._caveat
        if not reason and of == "selected" and self.n_candidates is not None:
            reason = "the frequencies are selected from draws; write n_candidates=None"
        return replace(bound, valid=False, reason=reason) if reason else bound

    def _start(self, data):
        """Clear the previous fit, resolve the prior, and draw candidates.

        Returns the candidates and the generator for later steps.
        """
        for name in ("measure_", "candidates_", "sums_", "learned_", "selected_", "report_"):
            self.__dict__.pop(name, None)
        rows, rng = data.rows, as_generator(self.random_state)
        self.prior_ = self._component("prior").resolved(rows, data.weights)
        self._classes = None
        self._caveat = weights_caveat(data.weights)
        self._warned = False
        n_atoms = self.n_candidates or self.n_components
        if isinstance(self.prior_, FourierMeasure) and len(self.prior_) <= n_atoms:
            measure = self.prior_
        elif self.n_candidates is not None:
            measure = drawn_candidates(self.prior_, n_atoms, rows, rng, self.sampling)
        else:
            measure = self.prior_.sample(n_atoms, rows.n_features, rng, self.sampling)
        if prior_caveat(self.prior):
            measure = measure.marked_learned()
        largest = float(np.abs(measure.frequencies).max(initial=0.0))
        if not largest < np.finfo(rows.dtype).max / 10:
            raise ValueError(
                f"The frequencies for rows of this scale reach {largest:.1e}, too large for "
                f"{rows.dtype}. Scale the columns, e.g. by StandardScaler, or give the prior a "
                "bandwidth."
            )
        # Every later selection starts from the same random numbers.
        self._selection_rng = np.random.default_rng(rng.integers(2**63, size=4))
        return measure, rng

    def _use_sums(self):
        """Compute the weights from the sums, then keep D of the candidates."""
        learned = self.learner.learn_from_sums(self.candidates_, self.sums_)
        self.learned_, self.report_ = learned.measure, learned.report
        if self.n_candidates is None:
            self.selected_, self.measure_ = np.arange(len(self.learned_)), self.learned_
        else:
            self.selected_, self.measure_ = self._kept_atoms(
                self.learned_, deepcopy(self._selection_rng)
            )

    def _kept_atoms(self, measure, rng):
        """Select D atoms: their numbers and their measure; warn once if many are equal."""
        chosen, weights = selected_atoms(measure.weights, self.n_components, rng, self.selection)
        n_distinct, n_effective = len(np.unique(chosen)), effective_atoms(measure.weights)
        few_distinct = n_distinct < _LEAST_DISTINCT * len(chosen)
        if few_distinct and n_effective < _FEW_ATOMS * len(chosen) and not self._warned:
            self._warned = True
            warnings.warn(
                f"Only {n_distinct} of the {len(chosen)} frequencies drawn are distinct: the "
                f"learned weights amount to {n_effective:.1f} effective atoms of {len(measure)}. "
                'Write selection="top", use a smaller beta (PacBayes) or radius '
                "(OptimalAlignment), or more n_candidates.",
                UserWarning,
                stacklevel=2,
            )
        return chosen, measure.take(chosen).reweighted(weights)

    @property
    def _n_features_out(self) -> int:
        return self.measure_.n_columns

    def _check_parameters(self):
        super()._check_parameters()
        check_choice(self.sampling, "sampling", ("iid", "orthogonal", "qmc"))
        check_choice(self.selection, "selection", SELECTIONS)
        if self.n_candidates is not None:
            check_count(self.n_candidates, "n_candidates")
            if self.learner is None:
                raise ValueError(
                    f"n_candidates={self.n_candidates} needs a learner, which chooses between the "
                    "candidates. Give one, or leave n_candidates=None."
                )
        if self.learner is not None:
            check_learner(self.learner)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.learner is not None
        return tags


def checked_features(model: Any) -> Any:
    """Return the features of a model after a check; a measure stands for all of its atoms."""
    features = model._component("features")
    if isinstance(features, FourierMeasure):
        return SpectralFeatures(features, n_components=len(features))
    check_transformer(features, "features")
    return features


def fitted_transformer(transformer: Any, X: Any, y: Any, weights: np.ndarray | None) -> Any:
    """Fit a third-party transformer; with weights, refuse one that learns but ignores them."""
    frozen = isinstance(transformer, FrozenEstimator) or not get_tags(transformer).requires_fit
    if weights is None or frozen:
        return transformer.fit(X, y)
    if not has_fit_parameter(transformer, "sample_weight"):
        raise ValueError(
            f"{type(transformer).__name__} has no parameter sample_weight and would ignore the "
            "weights. Use SpectralFeatures or LandmarkFeatures, or fit it beforehand and give "
            "FrozenEstimator of scikit-learn."
        )
    return transformer.fit(X, y, sample_weight=weights)


def drawn_candidates(
    prior: SpectralPrior, n_atoms: int, rows: Rows, rng: np.random.Generator, sampling: str = "iid"
) -> FourierMeasure:
    """Draw many atoms of a prior, in float32 if the rows are float32.

    This halves the memory. The rounding is far below that of projecting in float32.
    """
    if rows.dtype != np.float32:
        return prior.sample(n_atoms, rows.n_features, rng, sampling)
    n_piece = n_atoms if sampling != "iid" else max(1, _DRAW_BYTES // (8 * rows.n_features))
    frequencies = np.empty((n_atoms, rows.n_features), np.float32)
    weights = np.empty(n_atoms)
    for start in range(0, n_atoms, n_piece):
        piece = prior.sample(min(n_piece, n_atoms - start), rows.n_features, rng, sampling)
        frequencies[start : start + len(piece)] = piece.frequencies
        weights[start : start + len(piece)] = piece.mass / n_atoms
    return FourierMeasure(frequencies, weights)
