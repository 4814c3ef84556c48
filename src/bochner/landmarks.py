"""LandmarkFeatures: similarities to a few points, each with a kernel learned for it."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax, rel_entr
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from ._compute import is_dask, landmark_block, row_block_size, row_map, shared_landmark_block
from ._random import as_generator
from ._validation import check_choice, check_count, check_positive, check_rows
from .alignment import class_sums, fourier_sums
from .bounds import Bound
from .bounds import landmark as landmark_bound
from .features import data_dependent_prior, drawn_candidates
from .landmark_choice import Landmarks, choose_landmarks
from .measures import FourierMeasure
from .priors import Gaussian, SpectralPrior
from .priors.base import RadialPrior
from .targets import Labels, TargetSimilarity, Values, as_target


@dataclass(frozen=True, eq=False)
class SimilarityMap:
    """ψ_l(x) = Σ_m weights[l, m] cos(ω_lm·x − phases[l, m]): one similarity per landmark (Letarte et al. 2019, Eq. 13).

    ``frequencies`` is (n_landmarks, D, n_features), or (1, D, n_features) when all landmarks share them.
    """

    frequencies: np.ndarray
    phases: np.ndarray
    weights: np.ndarray

    def block(self) -> Any:
        """The function of a block of rows that evaluates this map; ``weights`` may also be several sets of them."""
        weights = self.weights if self.weights.ndim == 3 else self.weights[None]
        if len(self.frequencies) == len(self.phases):
            return partial(landmark_block, self.frequencies, self.phases, weights)
        left = [np.concatenate([(w * np.cos(self.phases)).T, (w * np.sin(self.phases)).T]) for w in weights]
        return partial(shared_landmark_block, self.frequencies[0], np.concatenate(left, axis=1))

    def features(self, X: Any, out: np.ndarray | None = None) -> Any:
        """(n_samples, n_landmarks), in blocks of rows."""
        return _mapped(self.block(), X, len(self.weights), out, row_bytes=16 * self.frequencies.shape[1])


class LandmarkFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Similarities to landmarks, each by a pseudo-posterior over frequencies of its own (Letarte et al. 2019, Section 4.2).

    For a landmark x_l with label y_l, frequencies are weighted by Q^l_m ∝ exp(−β √n L̂^l(ω_m)) (Eq. 12), where L̂^l asks
    how well cos ω·(x_l − x) says which rows have the label y_l; then x ↦ (Σ_m Q^l_m cos ω_m·(x_l − x))_l.

    Parameters
    ----------
    prior : a prior of ``bochner.priors``, default ``Gaussian(gamma="scale")``
    n_landmarks : int or float, default 100
        How many; a float in (0, 1) is a share of the rows.
    landmarks : "kmeans", "random", an array (n_landmarks, n_features), or a pair (array, labels)
        Centroids, rows, or points of your own; without labels those take the label of the nearest row.
    n_components : int, default 64
        Frequencies D per landmark.
    beta : float, default 1.0
        How far the similarities follow the labels.
    similarity : "learned", "prior" or "exact"
        Learned weights; equal weights (the prior's random features); or the prior's closed-form kernel, which is the
        classical empirical kernel map ("RBF landmarks").
    per_label : bool, default True
        Choose as many landmarks in each class (where y holds labels), rather than among all rows together.
    share_frequencies : bool, default False
        One set of D frequencies for all landmarks: much less work and memory, a little less variety.
    block_size : "auto" or int
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    landmarks_ : (n_landmarks, n_features) ; ``landmark_indices_`` the rows they are, or None
    landmark_labels_ : their labels (or target factors), None without y
    similarity_map_ : the learned ``SimilarityMap`` (not for "exact")
    losses_ : L̂^l(ω_m) as (n_landmarks, D), for "learned"

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from bochner import Gaussian
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = make_pipeline(LandmarkFeatures(Gaussian(2.0), n_landmarks=20, random_state=0), LinearSVC())
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        prior: SpectralPrior | None = None,
        *,
        n_landmarks: int | float = 100,
        landmarks: Any = "kmeans",
        n_components: int = 64,
        beta: float = 1.0,
        similarity: str = "learned",
        per_label: bool = True,
        share_frequencies: bool = False,
        block_size: int | str = "auto",
        random_state: Any = None,
    ):
        self.prior = prior
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_components = n_components
        self.beta = beta
        self.similarity = similarity
        self.per_label = per_label
        self.share_frequencies = share_frequencies
        self.block_size = block_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LandmarkFeatures:
        """Choose landmarks and learn their similarities; y may be labels, real values or a ``TargetSimilarity``."""
        self._check_parameters()
        X = check_rows(self, X, reset=True).source
        target = self._target(X, y)
        rng = as_generator(self.random_state)
        for name in ("similarity_map_", "losses_"):
            self.__dict__.pop(name, None)
        with row_block_size(self.block_size):
            self.prior_ = (Gaussian(gamma="scale") if self.prior is None else self.prior).resolved(X)
            chosen = choose_landmarks(X, target, self.landmarks, self._landmark_count(X), self.per_label, rng)
            self.landmarks_, self.landmark_indices_ = chosen.points, chosen.indices
            self.landmark_labels_ = target.classes[chosen.targets] if isinstance(target, Labels) else chosen.targets
            self._n_samples = X.shape[0]
            if self.similarity != "exact":
                self._fit_similarities(X, target, chosen, rng)
        return self

    def transform(self, X: Any, out: np.ndarray | None = None) -> Any:
        """Similarities to the landmarks as (n_samples, n_landmarks), block by block; into ``out`` when given."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).source
        with row_block_size(self.block_size):
            if self.similarity == "exact":
                block = partial(_exact_block, self.prior_, self.landmarks_)
                return _mapped(block, X, len(self.landmarks_), out, row_bytes=32 * len(self.landmarks_))
            return self.similarity_map_.features(X, out)

    def transform_each(self, X: Any, variants: list[tuple[float, int]]) -> list[np.ndarray]:
        """Similarities for several (beta, n_components) at once, the cosines of X computed once for all of them.

        The same as ``relearned(beta, n_components).transform(X)`` for each pair.
        """
        check_is_fitted(self, "losses_")
        X = check_rows(self, X, reset=False).source
        weights = np.zeros((len(variants), *self.losses_.shape))
        for variant, (beta, n_components) in enumerate(variants):
            weights[variant, :, :n_components] = self.relearned(beta, n_components).similarity_map_.weights
        block = replace(self.similarity_map_, weights=weights).block()
        with row_block_size(self.block_size):
            n_columns = len(variants) * len(self.landmarks_)
            psi = _mapped(block, X, n_columns, None, row_bytes=8 * n_columns)
        return np.split(psi, len(variants), axis=1)

    def relearned(self, beta: float | None = None, n_components: int | None = None) -> LandmarkFeatures:
        """A fitted copy with another beta, or with the first ``n_components`` frequencies of each landmark only.

        The losses are known already, so the data is not touched; a smaller D is an independent draw of the prior too.
        """
        check_is_fitted(self, "losses_")
        fitted = copy(self)
        if beta is not None:
            fitted.beta = check_positive(beta, "beta", allow_zero=True)
        if n_components is not None:
            n_components = check_count(n_components, "n_components")
            if n_components > self.losses_.shape[1]:
                raise ValueError(
                    f"Only {self.losses_.shape[1]} frequencies were drawn, got n_components={n_components}."
                )
            fitted.n_components = n_components
            fitted.losses_ = self.losses_[:, :n_components]
            held = self.similarity_map_
            fitted.similarity_map_ = replace(
                held, frequencies=held.frequencies[:, :n_components], phases=held.phases[:, :n_components]
            )
        fitted._weigh()
        return fitted

    def alignment_bound(self, delta: float = 0.05, *, landmark: int | None = None, form: str = "safe") -> Bound:
        """With probability 1 − delta, the expected losses of *all* landmarks are below their bounds (Theorem 1, union).

        ``landmark=None`` gives the mean over landmarks, a number the bound of that one.  Random rows chosen per label
        depend on the labels; the union then runs over all n rows, which covers any choice among them.
        """
        check_is_fitted(self, "losses_")
        n_landmarks, n_components = self.losses_.shape
        weights = self.similarity_map_.weights
        empirical = np.sum(weights * self.losses_, axis=1)
        divergence = np.sum(rel_entr(weights, 1 / n_components), axis=1)
        in_sample = self.landmark_indices_ is not None
        chosen_by_label = in_sample and self.per_label and self._by_label
        bound = landmark_bound(
            float(empirical.mean() if landmark is None else empirical[landmark]),
            float(divergence.mean() if landmark is None else divergence[landmark]),
            self._n_samples,
            self._n_samples if chosen_by_label else n_landmarks,
            delta=delta,
            t=(self.beta or 1.0) * np.sqrt(self._n_samples),
            in_sample=in_sample,
            independent=in_sample,
            form=form,
        )
        if not in_sample and not isinstance(self.landmarks, str):
            bound = replace(
                bound, reason="own landmarks: it holds only if they were chosen without looking at the rows"
            )
        reason = data_dependent_prior(self.prior) or self._caveat
        return replace(bound, valid=False, reason=reason) if reason else bound

    def _target(self, X, y):
        if y is None and self.similarity != "learned":
            return None
        target = as_target(y, X.shape[0])
        self._by_label = isinstance(target, Labels)
        self._caveat = (
            "" if self._by_label else "similarities of real targets must be at most 1 and fixed without the rows"
        )
        if isinstance(target, Values):
            return TargetSimilarity.of_values(target.rows)
        return target

    def _landmark_count(self, X):
        n_samples = X.shape[0]
        if not isinstance(self.landmarks, str):
            return None
        if isinstance(self.n_landmarks, Real) and not isinstance(self.n_landmarks, (int, np.integer)):
            return int(np.ceil(self.n_landmarks * n_samples))
        if self.n_landmarks > n_samples:
            warnings.warn(
                f"n_landmarks={self.n_landmarks} is more than the {n_samples} rows of X; all rows become landmarks.",
                stacklevel=3,
            )
        return min(self.n_landmarks, n_samples)

    def _fit_similarities(self, X, target, chosen, rng):
        n_landmarks, n_sets = len(chosen.points), 1 if self.share_frequencies else len(chosen.points)
        measure = drawn_candidates(self.prior_, n_sets * self.n_components, X, rng)
        frequencies = measure.frequencies.reshape(n_sets, self.n_components, X.shape[1])
        phases = np.stack([frequencies[k % n_sets] @ chosen.points[k] for k in range(n_landmarks)])
        equal = np.full(phases.shape, 1 / self.n_components)
        self.similarity_map_ = SimilarityMap(frequencies, phases, equal)
        if self.similarity == "learned":
            self.losses_ = landmark_losses(measure, X, target, chosen, phases)
            self._weigh()

    def _weigh(self):
        """Q^l_m ∝ exp(−β √n L̂^l_m), landmark by landmark (Eq. 12)."""
        log_weights = log_softmax(-self.beta * np.sqrt(self._n_samples) * self.losses_, axis=1)
        self.similarity_map_ = replace(self.similarity_map_, weights=np.exp(log_weights))

    @property
    def _n_features_out(self) -> int:
        return len(self.landmarks_)

    def _check_parameters(self):
        if isinstance(self.n_landmarks, Real) and not isinstance(self.n_landmarks, (bool, int, np.integer)):
            if not 0 < self.n_landmarks < 1:
                raise ValueError(
                    f"n_landmarks as a share of the rows must lie between 0 and 1, got {self.n_landmarks}."
                )
        else:
            check_count(self.n_landmarks, "n_landmarks")
        if isinstance(self.landmarks, str):
            check_choice(self.landmarks, "landmarks", ("kmeans", "random"))
        check_count(self.n_components, "n_components")
        check_positive(self.beta, "beta", allow_zero=True)
        check_choice(self.similarity, "similarity", ("learned", "prior", "exact"))
        if self.block_size != "auto":
            check_count(self.block_size, "block_size")
        if self.prior is not None and not isinstance(self.prior, SpectralPrior):
            raise TypeError(f"prior must be a prior such as Gaussian(gamma=1.0), got {self.prior!r}.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.similarity == "learned"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def landmark_losses(
    measure: FourierMeasure, X: Any, target: Labels | TargetSimilarity, chosen: Landmarks, phases: np.ndarray
) -> np.ndarray:
    r"""L̂^l(ω_m) as (n_landmarks, D) for D frequencies shared by all landmarks, or for n_landmarks · D own ones.

    .. math:: \hat L^l(\omega) = \frac12 - \frac{\mathrm{Re}(e^{-i \omega \cdot x_l} T_l(\omega)) - \lambda_{ll} [l \in S]}{2 m},
        \quad T_l = \sum_j \lambda_{lj} e^{i \omega \cdot x_j}

    with m = n − 1 rows for a landmark that is one of them and m = n otherwise.  T_l follows from the Fourier sums of the
    classes (or of the target's factors), which all landmarks share: one pass over the rows.
    """
    n_landmarks, n_components = phases.shape
    n_sets = len(measure) // n_components
    own = np.arange(n_landmarks) % n_sets  # which set of frequencies a landmark looks at
    if isinstance(target, Labels):
        sums = class_sums(measure, X, target.codes, len(target.classes)).reshape(-1, 2, n_sets, n_components)
        pulls = 2 * sums[chosen.targets, :, own] - sums.sum(axis=0).swapaxes(0, 1)[own]
        own_similarity = np.ones(n_landmarks)
    else:
        sums = fourier_sums(measure, X, target.factors).reshape(-1, 2, n_sets, n_components)
        signed = chosen.targets * target.signs
        pulls = np.stack([np.tensordot(signed[k], sums[:, :, own[k]], 1) for k in range(n_landmarks)])
        own_similarity = np.sum(signed * chosen.targets, axis=1)
    agreement = np.cos(phases) * pulls[:, 0] + np.sin(phases) * pulls[:, 1]
    n_rows = X.shape[0]
    if chosen.indices is not None:
        if n_rows < 2:
            raise ValueError(f"A landmark needs other rows to be compared with, got n_samples={n_rows}.")
        agreement -= own_similarity[:, None]
        n_rows -= 1
    return 0.5 - agreement / (2 * n_rows)


def _mapped(block, X, n_columns, out, row_bytes):
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if is_dask(X):
        if out is not None:
            raise ValueError("out= is for arrays in memory or on disk; a Dask result stays on the cluster.")
        whole_rows = X.rechunk({1: -1})
        return whole_rows.map_blocks(block, dtype=dtype, chunks=(X.chunks[0], (n_columns,)))
    shape = (X.shape[0], n_columns)
    if out is None:
        out = np.empty(shape, dtype)
    elif out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, but the similarities need {shape}.")
    return row_map(block, X, out, row_bytes=row_bytes)


def _exact_block(prior, landmarks, X, out=None):
    """The prior's kernel between rows and landmarks; by matrix products, and sparse rows stay sparse, where it is radial."""
    if isinstance(prior, RadialPrior):
        inverse = 1 / prior._lengths(X.shape[1])
        scaled = (X @ sp.diags_array(inverse)).tocsr() if sp.issparse(X) else X * inverse
        gram = prior._profile(euclidean_distances(scaled, landmarks * inverse, squared=True))
    else:
        gram = prior.kernel(X, landmarks)
    if out is None:
        return gram.astype(X.dtype, copy=False)
    out[...] = gram
    return out
