"""Learner: a stateless rule ``measure, rows, target -> Learned(measure, report)``."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._checks import Seed, as_generator, refuse_class
from ..data import Rows, as_rows
from ..data.checks import check_weights, refuse_tensors
from ..data.targets import Labels, Target, as_target


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

    # True if it only sums over rows, which then may be arrays of other libraries than NumPy.
    accepts_tensors: ClassVar[bool] = False

    def learn(self, measure: Any, X: Any, y: Any, rng: Seed = None, weights: Any = None) -> Learned:
        """Return the learned measure and a report.

        ``X`` and ``y`` are rows and targets of any kind, or the ``Rows`` and ``Target`` of an
        estimator. ``weights`` of the rows count like repetitions; a learner that cannot use them
        raises an error. ``rng`` is a Generator or a seed.
        """
        self.check_parameters()
        self.check_kind(X)
        rows, target, counts = as_data(X, y, weights)
        return self._learn(measure, rows, target, as_generator(rng, "rng"), counts)

    def for_prior(self, prior: Any) -> Self:
        """Return the learner for atoms drawn from this prior; most learners ignore it."""
        return self

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot be used."""

    def check_kind(self, X: Any) -> None:
        """Raise TypeError if X is of a kind that the learner does not accept."""
        if not self.accepts_tensors:
            refuse_tensors(X, type(self).__name__)

    @abstractmethod
    def _learn(
        self, measure: Any, rows: Rows, target: Target, rng: np.random.Generator, weights: Any
    ) -> Learned: ...


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


def as_data(X: Any, y: Any, weights: Any = None) -> tuple[Rows, Target, Any]:
    """Read rows, target and weights; classes of weight zero are left out."""
    rows = as_rows(X, persist=True)
    target = as_target(y, len(rows))
    weights = check_weights(weights, len(rows))
    return rows, target.present(weights) if isinstance(target, Labels) else target, weights
