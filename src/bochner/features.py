"""SpectralFeatures: the scikit-learn transformer that samples a measure, learns it, and evaluates it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._compute import row_block_size
from ._validation import check_choice, check_count, check_rows
from .priors import Gaussian, SpectralPrior


class SpectralFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features whose inner products are a kernel: sampled from a prior over frequencies.

    Parameters
    ----------
    prior : a prior of ``bochner.priors``, default ``Gaussian(gamma="scale")``
        Where candidate frequencies are drawn.
    learner : None or a learner
        A rule ``measure, X, y -> measure``; None keeps the prior's measure (plain random Fourier features).
    n_components : int, default 100
        Number of frequencies D; each gives two columns, a cosine and a sine.
    n_candidates : None or int
        With a learner: draw this many candidates, learn their weights, then draw D of them.  None learns on D.
    sampling : "iid", "orthogonal" or "qmc"
        How the prior is sampled; the last two have less variance at the same D.
    block_size : "auto" or int
        Rows worked on at once; "auto" keeps memory within a fixed budget.
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    measure_ : the learned measure; ``measure_.kernel(X)`` is the kernel that the features reproduce exactly
    prior_ : the prior with its bandwidth resolved from the data
    report_ : what the learner found besides the measure, for learners that report
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(SpectralFeatures(n_components=50, random_state=0), LogisticRegression(max_iter=1000))
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        prior: SpectralPrior | None = None,
        learner: Any = None,
        *,
        n_components: int = 100,
        n_candidates: int | None = None,
        sampling: str = "iid",
        block_size: int | str = "auto",
        random_state: Any = None,
    ):
        self.prior = prior
        self.learner = learner
        self.n_components = n_components
        self.n_candidates = n_candidates
        self.sampling = sampling
        self.block_size = block_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SpectralFeatures:
        """Sample the prior and, with a learner, learn the measure from X and y."""
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        rng = as_generator(self.random_state)
        with row_block_size(self.block_size):
            self.prior_ = (Gaussian(gamma="scale") if self.prior is None else self.prior).resolved(X)
            n_atoms = self.n_candidates or self.n_components
            measure = self.prior_.sample(n_atoms, X.shape[1], rng, self.sampling)
            if self.learner is not None:
                measure = self._learn(measure, X, y, rng)
                if self.n_candidates is not None:
                    measure = measure.resampled(self.n_components, rng)
        self.measure_ = measure
        return self

    def transform(self, X: Any, out: np.ndarray | None = None) -> Any:
        """The features of X as (n_samples, 2 n_components), block by block; into ``out`` (e.g. a memory map) when given."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        with row_block_size(self.block_size):
            return self.measure_.features(X, out=out)

    def _learn(self, measure, X, y, rng):
        """Learn; a learner with more to tell than the measure (losses, certificates) leaves it in ``report_``."""
        if hasattr(self.learner, "learn_with_report"):
            measure, self.report_ = self.learner.learn_with_report(measure, X, y, rng)
            return measure
        return self.learner.learn(measure, X, y, rng)

    @property
    def _n_features_out(self) -> int:
        return self.measure_.n_columns

    def _check_parameters(self):
        check_count(self.n_components, "n_components")
        check_choice(self.sampling, "sampling", ("iid", "orthogonal", "qmc"))
        if self.block_size != "auto":
            check_count(self.block_size, "block_size")
        if self.n_candidates is not None:
            check_count(self.n_candidates, "n_candidates")
            if self.learner is None:
                raise ValueError(
                    f"n_candidates={self.n_candidates} without a learner: there is nothing to choose candidates by. "
                    "Give a learner, or leave n_candidates=None."
                )
        if self.prior is not None and not isinstance(self.prior, SpectralPrior):
            raise TypeError(f"prior must be a prior such as Gaussian(gamma=1.0), got {self.prior!r}.")
        if self.learner is not None and not hasattr(self.learner, "learn"):
            raise TypeError(f"learner must have a method learn(measure, X, y, rng), got {self.learner!r}.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.learner is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def as_generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator from anything scikit-learn takes as ``random_state``."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
