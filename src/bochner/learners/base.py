"""Bases of learners: rules ``measure, rows, target -> Learned(measure, report)`` without state."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._checks import Seed, as_generator, refuse_class
from .._estimator import NestedDefaults
from ..bounds import Bound, kl_divergence, second_order
from ..bounds.alignment import of_any_losses
from ..data import Rows, as_rows
from ..data.checks import check_weights
from ..data.targets import Labels, Target, as_target
from ..measures.fourier import FourierMeasure, effective_atoms
from ..priors import SpectralPrior
from .alignment import AlignmentSums, alignment_sums


@dataclass(frozen=True, eq=False)
class Learned:
    """Result of a learner.

    Parameters
    ----------
    measure : FourierMeasure or HarmonicMeasure
        The learned measure.
    report : any object
        Whatever the learner reports besides the measure.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian, PacBayes
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> learned = PacBayes().learn(Gaussian().sample(5, 1, rng=0), X, X[:, 0] > 0)
    >>> type(learned).__name__, len(learned.measure)
    ('Learned', 5)
    """

    measure: Any
    report: Any

    def __post_init__(self) -> None:
        if isinstance(self.measure, FourierMeasure):
            object.__setattr__(self, "measure", self.measure.marked_learned())


class Learner(BaseEstimator, ABC):
    """Base of rules that reweight, move or find atoms; a parameter object, never fitted.

    A subclass defines ``_learn(measure, rows, target, rng, weights)``, which returns a ``Learned``,
    and ``check_parameters`` if it has parameters to check. If it uses rows only by ``rows.sum`` and
    other methods of ``Rows``, it works on arrays, memory maps and Dask. Optional methods:
    ``for_prior(prior)``, and ``learn_from_sums(measure, sums)`` for learning in parts, see
    ``AlignmentLearner``. ``bochner.testing.check_learner`` checks a learner of your own.

    Examples
    --------
    >>> from bochner import FourierMeasure
    >>> class Halved(Learner):
    ...     def _learn(self, measure, rows, target, rng, weights):
    ...         return Learned(FourierMeasure(measure.frequencies / 2, measure.weights), None)
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> measure = Gaussian().sample(5, 1, np.random.default_rng(0))
    >>> learned = Halved().learn(measure, np.eye(3)[:, :1], [0, 1, 1])
    >>> bool(np.all(learned.measure.frequencies == measure.frequencies / 2))
    True
    """

    def learn(self, measure: Any, X: Any, y: Any, rng: Seed = None, weights: Any = None) -> Learned:
        """Return the learned measure and a report.

        ``X`` and ``y`` are rows and targets of any kind, or the ``Rows`` and ``Target`` of an
        estimator. A row of weight 2 counts as two rows. A learner that cannot use ``weights``
        raises an error. ``rng`` is a Generator or a seed.
        """
        self.check_parameters()
        rows, target, counts = as_data(X, y, weights)
        return self._learn(measure, rows, target, as_generator(rng, "rng"), counts)

    def for_prior(self, prior: Any) -> Self:
        """Return the learner for atoms drawn from this prior; most learners ignore it."""
        return self

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot be used."""

    @abstractmethod
    def _learn(
        self, measure: Any, rows: Rows, target: Target, rng: np.random.Generator, weights: Any
    ) -> Learned: ...


@dataclass(frozen=True, eq=False, repr=False)
class AlignmentReport:
    """Result of reweighting: losses, weights before and after, and the parameter in use.

    For several rows of losses, weights and tradeoffs have one row each.

    Parameters
    ----------
    losses : array (n_atoms,)
        L̂ of each frequency.
    prior_weights : array (n_atoms,)
        The weights before.
    weights : array (n_atoms,)
        The weights after.
    n_samples : float
        The number, or the weight, of the rows.
    tradeoff : float
        The beta or the radius behind the weights.
    n_tried : int, default 1
        Number of parameters that were compared on the same data.

    Attributes
    ----------
    effective_atoms : float, or array with one number per row of weights
        1 / Σ Q² of the normalized weights Q: the number of equal weights that are as concentrated
        as these.

    Examples
    --------
    >>> import numpy as np
    >>> half = np.full(2, 0.5)
    >>> losses, weights = np.array([0.2, 0.4]), np.array([1.0, 0.0])
    >>> report = AlignmentReport(losses, half, weights, 100, tradeoff=1.0)
    >>> float(report.empirical(report.weights)), round(float(report.empirical(half)), 3)
    (0.2, 0.3)
    >>> report
    AlignmentReport(2 atoms, 1.0 effective, n_samples=100, tradeoff=1.0, n_tried=1)
    """

    losses: np.ndarray
    prior_weights: np.ndarray
    weights: np.ndarray
    n_samples: float
    tradeoff: Any
    n_tried: int = 1

    @property
    def effective_atoms(self) -> Any:
        """1 / Σ_m Q_m² of the normalized weights; small if few atoms have most of the weight."""
        return effective_atoms(self.weights)

    def __repr__(self) -> str:
        counts = np.atleast_1d(self.effective_atoms)
        effective = (
            f"{counts.min():.1f}"
            if len(counts) == 1
            else f"{counts.min():.1f} to {counts.max():.1f}"
        )
        return (
            f"{type(self).__name__}({np.shape(self.weights)[-1]} atoms, {effective} effective, "
            f"n_samples={self.n_samples:g}, tradeoff={self.tradeoff}, n_tried={self.n_tried})"
        )

    def empirical(self, weights: np.ndarray) -> Any:
        """Return Σ_m Q_m L̂(ω_m), the empirical alignment loss of the kernel with these weights."""
        return np.sum(weights * self.losses, axis=-1) / np.sum(weights, axis=-1)


@dataclass(eq=False, repr=False)
class PriorLearner(NestedDefaults, Learner):
    """Base of learners that need the prior of the measure: its density, or its variances."""

    beta: Any = 1.0
    prior: SpectralPrior | None = None

    def for_prior(self, prior: SpectralPrior) -> Self:
        """Return this learner with the prior of the measure, unless it has its own."""
        return self if self.prior is not None else clone(self).set_params(prior=prior)

    def check_parameters(self) -> None:
        if self.prior is not None and not isinstance(self.prior, SpectralPrior):
            raise TypeError(
                f"prior must be a prior such as Gaussian(gamma=1.0), or None, got {self.prior!r}."
            )

    def _resolved_prior(self, measure, rows, weights) -> SpectralPrior:
        """Return the prior with numbers; refuse measures that are not of frequencies."""
        name = type(self).__name__
        check_has_frequencies(self, measure)
        if self.prior is None:
            raise ValueError(
                f"{name} needs a prior and none was given. Use it inside SpectralFeatures, or "
                f"write e.g. {name}(prior=Gaussian(gamma=1.0))."
            )
        return self.prior.resolved(rows, weights)


class AlignmentLearner(Learner):
    """Base of learners that reweight atoms by their alignment losses, from additive sums.

    A subclass defines ``weigh(prior_weights, losses, n_samples)``, which returns an
    ``AlignmentReport``. It then learns in batches and for landmarks, and has a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian, SpectralFeatures
    >>> class OnlyTheBest(AlignmentLearner):
    ...     def weigh(self, prior_weights, losses, n_samples):
    ...         best = losses == losses.min(axis=-1, keepdims=True)
    ...         weights = prior_weights.sum() * best / best.sum(axis=-1, keepdims=True)
    ...         return AlignmentReport(losses, prior_weights, weights, n_samples, tradeoff=None)
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> sizes = {"n_candidates": 30, "n_components": 1}
    >>> features = SpectralFeatures(Gaussian(), OnlyTheBest(), **sizes, random_state=0)
    >>> features = features.fit(X, X[:, 0] > 0)
    >>> bool(features.report_.losses[features.selected_[0]] == features.report_.losses.min())
    True
    """

    def learn_from_sums(self, measure: FourierMeasure, sums: AlignmentSums) -> Learned:
        """Learn from ``alignment_sums`` in O(n_atoms), without the data."""
        self.check_parameters()
        report = self.weigh(measure.weights, sums.losses(), sums.n_samples)
        return Learned(measure.reweighted(report.weights), report)

    def _learn(self, measure, rows, target, rng, weights):
        return self.learn_from_sums(measure, alignment_sums(measure, rows, target, weights))

    @abstractmethod
    def weigh(
        self, prior_weights: np.ndarray, losses: np.ndarray, n_samples: float
    ) -> AlignmentReport:
        """Return new weights, of the same mass, from the losses of the atoms.

        Losses (n_rows, n_atoms), e.g. one row for each landmark, give weights of this shape.
        """

    def bound(
        self,
        report: AlignmentReport,
        weights: np.ndarray | None = None,
        *,
        delta: float = 0.05,
        form: str = "safe",
    ) -> Bound:
        """Bound the alignment loss of the kernel with ``weights``, by default the learned ones.

        Theorem 3 at t = √n, or t = β √n for ``PacBayes`` with β > 0. ``OptimalAlignment`` has
        Theorem 4 at its μ. ``form="kl"`` is the form of Theorem 3 without t, for every learner. The
        bound is not valid if the mean loss is outside [0, 1].
        """
        weights = report.weights if weights is None else weights

        def theorem(empirical):
            return self._bound(report, weights, empirical, delta=delta, form=form)

        return of_any_losses(theorem, float(report.empirical(weights)))

    def _bound(self, report, weights, empirical, *, form, **settings) -> Bound:
        """Return the bound of Theorem 3, which holds for any weights."""
        if form != "kl":
            settings |= {"t": float(self.deviation_scale(report)), "n_tried": report.n_tried}
        divergence = kl_divergence(weights, report.prior_weights)
        return second_order(empirical, divergence, int(report.n_samples), form=form, **settings)

    def deviation_scale(self, report: AlignmentReport) -> Any:
        """Return t of theorems that hold for any weights at a t fixed before the data."""
        return np.sqrt(report.n_samples)


def check_learner(learner: Any, kind: Any = Learner) -> None:
    """Check the type and the parameters of a learner; a missing method is named."""
    refuse_class(learner, "learner")
    if not isinstance(learner, kind):
        missing = [name for name in sorted(kind.__abstractmethods__) if not hasattr(learner, name)]
        reason = f", which has no method {' and '.join(missing)}" if missing else ""
        raise TypeError(
            f"learner must be of type {kind.__name__}, such as PacBayes(), got {learner!r}{reason}."
        )
    learner.check_parameters()


def check_has_frequencies(owner: Any, measure: Any) -> None:
    """Raise a TypeError for measures without frequencies."""
    if not isinstance(measure, FourierMeasure):
        raise TypeError(
            f"{type(owner).__name__} moves frequencies and needs a FourierMeasure, got "
            f"{type(measure).__name__}."
        )


def as_data(X: Any, y: Any, weights: Any = None) -> tuple[Rows, Target, Any]:
    """Read rows, target and weights; classes of weight zero are left out."""
    rows = as_rows(X, persist=True)
    target = as_target(y, len(rows))
    weights = check_weights(weights, len(rows))
    return rows, target.present(weights) if isinstance(target, Labels) else target, weights


def drawn_rows(n_samples: int, n_rows: int, weights: Any, rng: np.random.Generator) -> np.ndarray:
    """Draw at most ``n_rows`` rows of positive weight; return their sorted numbers."""
    candidates = np.arange(n_samples) if weights is None else np.flatnonzero(weights)
    if len(candidates) < 2:
        raise ValueError(
            f"Learners need at least 2 rows of positive weight, got {len(candidates)}."
        )
    if len(candidates) > n_rows:
        candidates = np.sort(rng.choice(candidates, n_rows, replace=False))
    return candidates
