"""LandmarkFeatures: similarities to a few points, with a kernel learned for each."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import rel_entr
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    as_generator,
    check_auto_count,
    check_choice,
    check_count,
    check_flag,
    check_share,
)
from ..bounds import Bound
from ..bounds import landmark as landmark_bound
from ..bounds.alignment import of_any_losses
from ..data import Block, Rows
from ..data.targets import Labels, TargetSimilarity, Values
from ..data.training import without_repetitions
from ..expansions.waves import Expansion, ExpansionStack
from ..learners import AlignmentLearner, PacBayes, check_learner
from ..learners.alignment import class_sums, fourier_sums
from ..measures.fourier import FourierMeasure
from ..priors import Gaussian
from ..priors.base import RadialPrior
from .caveats import prior_caveat, weights_caveat
from .landmark_choice import Landmarks, choose_landmarks
from .spectral import FeatureMap, drawn_candidates

# Landmarks by default: fewer lose accuracy, more take longer.
_MANY_LANDMARKS = 300


@dataclass(eq=False, repr=False)
class LandmarkFeatures(FeatureMap):
    """Similarities to landmarks, each with its own pseudo-posterior over frequencies.

    A landmark x_l has a label y_l. The loss L̂^l(ω) is small if cos ω·(x_l − x) is large for rows x
    with this label and small for the others. The learner computes weights Q^l_m of the frequencies
    from these losses. For ``PacBayes`` they are Q^l_m ∝ exp(−β √n L̂^l(ω_m)). The features are
    x ↦ (Σ_m Q^l_m cos ω_m·(x_l − x))_l. See Letarte et al. 2019, Section 4.2 and Eq. 12.

    Parameters
    ----------
    prior : a prior of ``bochner.priors``, or a FourierMeasure, default ``Gaussian(gamma='scale')``
        Distribution of the frequencies; those of a measure are drawn in proportion to its weights.
    learner : a learner by alignment, default ``PacBayes()``
        Rule that weighs the frequencies by the labels.
    n_landmarks : "auto", int or float, default "auto"
        Number of landmarks. "auto" is 300, or half of the different rows if these are fewer than
        600. A float in (0, 1) is a share of the rows.
    landmarks : "kmeans", "random", array or pair of arrays, default "kmeans"
        Centroids, rows, or an array (n_landmarks, n_features) of your own points, alone or with
        their labels; points without labels get the label of the nearest row.
    n_components : int, default 64
        Frequencies D per landmark.
    similarity : "learned", "prior" or "exact", default "learned"
        "learned" uses learned weights, "prior" equal weights (the prior's random features).
        "exact" uses the closed-form kernel of the prior, the classical empirical kernel map ("RBF
        landmarks").
    per_label : bool, default True
        If y holds labels, choose equally many landmarks in each class.
    share_frequencies : bool, default False
        Use one set of D frequencies for all landmarks. This needs much less time and memory, but
        the similarities span at most 2D dimensions for any number of landmarks.
    target : "auto", "labels" or "values", default "auto"
        Kind of y, as for ``SpectralFeatures``.
    block_size : "auto" or int, default "auto"
        Rows processed at once; "auto" keeps memory within a fixed budget.
    random_state : None, int, RandomState or Generator, default None
        Seed of the frequencies and the landmarks.

    Attributes
    ----------
    landmarks_ : the landmarks, (n_landmarks, n_features)
    landmark_indices_ : row numbers of the landmarks, None if they are not rows
    landmark_labels_ : their labels (or target factors), None without y
    expansion_ : the similarities as waves (not for "exact"): an ``Expansion`` with an output for
        each landmark if these share their frequencies, else an ``ExpansionStack``
    report_ : for "learned", the learner's report with the losses L̂^l(ω_m) and the weights,
        (n_landmarks, D)

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from bochner import Gaussian
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> landmarks = LandmarkFeatures(Gaussian(2.0), n_landmarks=20, random_state=0)
    >>> model = make_pipeline(landmarks, LinearSVC())
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    _defaults: ClassVar = {"prior": Gaussian(gamma="scale"), "learner": PacBayes()}

    _: KW_ONLY
    n_landmarks: Any = "auto"
    landmarks: Any = "kmeans"
    n_components: int = 64
    similarity: str = "learned"
    per_label: bool = True
    share_frequencies: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose landmarks and learn their similarities.

        y may be labels, real values or a ``Target``. A row of weight h counts as h rows. With up to
        4000 rows, equal rows are one candidate for a landmark, so weights and repeated rows give
        the same landmarks. With more rows, they give the same probabilities of landmarks.
        """
        return super().fit(X, y, sample_weight)

    def _needs_target(self, y):
        return y is not None or self.similarity == "learned"

    def _fit(self, data):
        self._caveat, weights = weights_caveat(data.weights), data.weights
        n_samples = len(data) if weights is None else float(np.sum(weights))
        target = data.target.present(weights) if isinstance(data.target, Labels) else data.target
        different = without_repetitions(data.rows, target, weights)
        rows, target, weights = different.rows, different.target, different.weights
        if isinstance(target, Values):
            target = target.similarity(weights)
        rng = as_generator(self.random_state)
        for name in ("expansion_", "report_"):
            self.__dict__.pop(name, None)
        self.prior_ = self._component("prior").resolved(rows, weights)
        n_landmarks = self._landmark_count(n_samples, len(rows))
        chosen = choose_landmarks(
            rows, target, self.landmarks, n_landmarks, self.per_label, rng, weights
        )
        self.landmarks_, self.landmark_indices_ = chosen.points, None
        if chosen.indices is not None:
            self.landmark_indices_ = different.original_numbers(chosen.indices)
        self._by_label = isinstance(target, Labels)
        # True if the candidates for landmarks depend on labels or on duplicate rows.
        self._chosen_by_data = (self.per_label and self._by_label) or len(rows) < len(data)
        self.landmark_labels_ = chosen.targets
        if isinstance(target, Labels):
            self.landmark_labels_ = target.decode(chosen.targets)
        if self.similarity != "exact":
            self._fit_similarities(rows, target, chosen, rng, weights, n_samples)

    def transform(self, X: Any, out: np.ndarray | None = None) -> Any:
        """Return the similarities to the landmarks, (n_samples, n_landmarks), block by block.

        They are written to ``out`` if it is given.
        """
        rows = self._read_rows(X)
        if self.similarity != "exact":
            return self.expansion_.evaluate(rows, out)
        block = Block(
            _exact_block, self.prior_, self.landmarks_, row_bytes=32 * len(self.landmarks_)
        )
        return rows.map(block, len(self.landmarks_), out=out)

    def transform_each(
        self, X: Any, variants: list[tuple[AlignmentLearner, int]]
    ) -> list[np.ndarray]:
        """Return the similarities for several pairs (learner, n_components).

        Equal to ``relearned(learner, n_components).transform(X)`` for each pair, but the cosines of
        X are computed once.
        """
        self._check_learned()
        weights = np.zeros((len(variants), *self.report_.losses.shape))
        for variant, (learner, n_components) in enumerate(variants):
            weights[variant, :, :n_components] = self.relearned(
                learner, n_components
            ).report_.weights
        psi = similarities(*self._waves(), weights).evaluate(self._read_rows(X))
        return np.split(psi, len(variants), axis=1)

    def relearned(
        self, learner: AlignmentLearner | None = None, n_components: int | None = None
    ) -> Self:
        """Return a fitted copy with another learner, or with fewer frequencies per landmark.

        The stored losses are reused, so the data is not read. The first ``n_components``
        frequencies are a draw from the prior too.
        """
        self._check_learned()
        fitted = self._copy_with(learner)
        losses = self.report_.losses
        if n_components is not None:
            n_components = check_count(n_components, "n_components")
            if n_components > losses.shape[1]:
                raise ValueError(
                    f"Only {losses.shape[1]} frequencies were drawn, got "
                    f"n_components={n_components}."
                )
            fitted.n_components = n_components
        some = slice(n_components)
        frequencies, phases = self._waves()
        fitted._weigh(
            frequencies[:, some], phases[:, some], losses[:, some], self.report_.n_samples
        )
        return fitted

    def alignment_bound(
        self,
        delta: float = 0.05,
        *,
        landmark: int | None = None,
        form: str = "safe",
        independent: bool = False,
    ) -> Bound:
        """Return an upper bound of the expected losses (Theorem 1 with a union bound).

        With probability 1 − delta, the losses of *all* landmarks are below their bounds.
        ``landmark=None`` returns the mean over landmarks, a number the bound of that landmark.
        Random rows chosen per label depend on the labels; the union then runs over all n rows. The
        theorem holds for the weights of any learner, at a t fixed before the data: β √n for
        ``PacBayes``, √n else. ``form="kl"`` needs no t.

        ``independent=True`` states that your own landmarks, a pair (points, labels), were drawn
        independently of the rows, as in Section 4.2 of Letarte et al. Each of them is then compared
        with all n rows, and the union runs over the landmarks.

        The rows must be independent observations. Copies of rows are not detected, and make the
        bound too small: remove them before the fit.
        """
        self._check_learned()
        check_flag(independent, "independent")
        if independent and not isinstance(self.landmarks, tuple):
            kind = self.landmarks if isinstance(self.landmarks, str) else "points without labels"
            raise ValueError(
                f"independent=True needs landmarks that do not depend on the rows, got {kind!r}. "
                "Write landmarks=(points, labels) with points that were drawn independently."
            )
        report, learner = self.report_, self._component("learner")
        empirical = report.empirical(report.weights)
        divergence = np.sum(rel_entr(report.weights, report.prior_weights), axis=1)
        scales = np.broadcast_to(learner.deviation_scale(report), empirical.shape)
        some = slice(None) if landmark is None else [landmark]
        in_sample = self.landmark_indices_ is not None
        n_samples = int(report.n_samples)
        union = n_samples if in_sample and self._chosen_by_data else len(empirical)
        theorem = partial(
            of_any_losses,
            landmark_bound,
            delta=delta,
            in_sample=in_sample,
            independent=in_sample or independent,
            form=form,
        )
        bounds = [
            theorem(loss, kl, n_samples, union)
            if form == "kl"
            else theorem(loss, kl, n_samples, union * report.n_tried, t=t)
            for loss, kl, t in zip(empirical[some], divergence[some], scales[some])
        ]
        means = np.mean([(one.value, one.empirical, one.complexity) for one in bounds], axis=0)
        bound = replace(
            bounds[0], value=float(means[0]), empirical=float(means[1]), complexity=float(means[2])
        )
        if not (in_sample or independent or isinstance(self.landmarks, str)):
            own = (
                "own landmarks: it holds only if they and their labels are independent of the "
                "rows; write independent=True if they were"
            )
            bound = replace(bound, reason=own)
        reason = prior_caveat(self.prior) or self._caveat
        if not reason and not self._by_label:
            reason = "similarities of real targets must be at most 1 and fixed without the rows"
        return replace(bound, valid=False, reason=reason) if reason else bound

    def _check_learned(self):
        check_is_fitted(self)
        if "report_" not in vars(self):
            raise ValueError(
                f"Similarities were fitted with similarity={self.similarity!r}, so there are no "
                'learned weights. Write similarity="learned" and fit again.'
            )

    def _landmark_count(self, n_samples, n_different):
        if not isinstance(self.landmarks, str):
            return None
        if self.n_landmarks == "auto":
            return min(_MANY_LANDMARKS, max(n_different // 2, 1))
        if isinstance(self.n_landmarks, float | np.floating):
            return min(max(int(np.ceil(self.n_landmarks * n_samples)), 1), n_different)
        if self.n_landmarks > n_different:
            warnings.warn(
                f"n_landmarks={self.n_landmarks} is more than the {n_different} different rows of "
                "X; all of them become landmarks.",
                stacklevel=4,
            )
        return min(self.n_landmarks, n_different)

    def _fit_similarities(self, rows, target, chosen, rng, weights, n_samples):
        n_landmarks = len(chosen.points)
        n_sets = 1 if self.share_frequencies else n_landmarks
        measure = drawn_candidates(self.prior_, n_sets * self.n_components, rows, rng)
        frequencies = measure.frequencies.reshape(n_sets, self.n_components, rows.n_features)
        phases = np.stack([frequencies[k % n_sets] @ chosen.points[k] for k in range(n_landmarks)])
        if self.similarity == "learned":
            losses = landmark_losses(measure, rows, target, chosen, phases, weights)
            self._weigh(frequencies, phases, losses, n_samples)
        else:
            self.expansion_ = similarities(
                frequencies, phases, np.full((1, *phases.shape), 1 / self.n_components)
            )

    def _weigh(self, frequencies, phases, losses, n_samples):
        """Compute the weights of the frequencies of each landmark."""
        equal = np.full(losses.shape[1], 1 / losses.shape[1])
        self.report_ = self._component("learner").weigh(equal, losses, n_samples)
        self.expansion_ = similarities(frequencies, phases, self.report_.weights[None])

    def _waves(self) -> tuple[np.ndarray, np.ndarray]:
        """Return frequencies and phases, the first two arguments of ``similarities``."""
        waves = self.expansion_
        if isinstance(waves, ExpansionStack):
            return waves.frequencies, waves.phases
        return waves.frequencies[None], self.landmarks_ @ waves.frequencies.T

    @property
    def _n_features_out(self) -> int:
        return len(self.landmarks_)

    def _check_parameters(self):
        super()._check_parameters()
        if isinstance(self.n_landmarks, float | np.floating):
            check_share(self.n_landmarks, "n_landmarks")
        else:
            check_auto_count(self.n_landmarks, "n_landmarks")
        if isinstance(self.landmarks, str):
            check_choice(self.landmarks, "landmarks", ("kmeans", "random"))
        check_learner(self._component("learner"), AlignmentLearner)
        check_choice(self.similarity, "similarity", ("learned", "prior", "exact"))
        check_flag(self.per_label, "per_label")
        check_flag(self.share_frequencies, "share_frequencies")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.similarity == "learned"
        return tags


def similarities(
    frequencies: np.ndarray, phases: np.ndarray, weights: np.ndarray
) -> Expansion | ExpansionStack:
    """Return ψ_l(x) = Σ_m weights[v, l, m] cos(ω_lm·x − phases[l, m]), phases ω_lm·x_l.

    See Letarte et al. 2019, Eq. 13. ``frequencies`` is (n_landmarks, D, n_features), or
    (1, D, n_features) if all landmarks share them. Columns are ordered by set v of weights.
    """
    if len(frequencies) == len(phases):
        return ExpansionStack(frequencies, phases, weights)
    cosine, sine = (np.concatenate(weights * wave(phases)).T for wave in (np.cos, np.sin))
    return Expansion(frequencies[0], cosine, sine, np.zeros(cosine.shape[1]))


def landmark_losses(
    measure: FourierMeasure,
    rows: Rows,
    target: Labels | TargetSimilarity,
    chosen: Landmarks,
    phases: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return L̂^l(ω_m), (n_landmarks, D), in one pass over the rows.

    The D frequencies are shared by all landmarks, or ``measure`` has n_landmarks · D of them.

    .. math:: \hat L^l(\omega) = \frac12 - \frac{\mathrm{Re}(e^{-i \omega \cdot x_l}
        T_l(\omega)) - \lambda_{ll} [l \in S]}{2 m},
        \quad T_l = \sum_j \lambda_{lj} e^{i \omega \cdot x_j}

    with m = n − 1 rows for a landmark that is one of them and m = n otherwise; a row of weight h
    counts as h rows. T_l follows from the Fourier sums of the classes (or of the target's factors),
    which all landmarks share.
    """
    n_landmarks, n_components = phases.shape
    n_sets = len(measure) // n_components
    shape = (-1, 2, n_sets, n_components)
    own = np.arange(n_landmarks) % n_sets  # number of the set of frequencies of a landmark
    if isinstance(target, Labels):
        sums = class_sums(measure, rows, target.codes, len(target.classes), weights).reshape(shape)
        pulls = 2 * sums[chosen.targets, :, own] - sums.sum(axis=0).swapaxes(0, 1)[own]
        own_similarity = np.ones(n_landmarks)
    else:
        signals = target.factors if weights is None else target.factors * weights[:, None]
        sums = fourier_sums(measure, rows, signals).reshape(shape)
        signed = chosen.targets * target.signs
        pulls = np.stack([np.tensordot(signed[k], sums[:, :, j], 1) for k, j in enumerate(own)])
        own_similarity = np.sum(signed * chosen.targets, axis=1)
    agreement = np.cos(phases) * pulls[:, 0] + np.sin(phases) * pulls[:, 1]
    n_rows = len(rows) if weights is None else float(np.sum(weights))
    if chosen.indices is not None:
        if n_rows <= 1:
            raise ValueError(
                f"A landmark needs other rows to be compared with, got n_samples={n_rows:.3g} (a "
                "sum of weights)."
            )
        agreement -= own_similarity[:, None]
        n_rows -= 1
    return 0.5 - agreement / (2 * n_rows)


def _exact_block(prior, landmarks, X, out):
    """Write the prior's kernel between rows and landmarks; sparse rows stay sparse if radial."""
    if isinstance(prior, RadialPrior):
        inverse = 1 / prior._lengths(X.shape[1])
        scaled = (X @ sp.diags_array(inverse)).tocsr() if sp.issparse(X) else X * inverse
        out[...] = prior._profile(euclidean_distances(scaled, landmarks * inverse, squared=True))
    else:
        out[...] = prior.kernel(X, landmarks)
