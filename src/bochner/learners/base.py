"""A learner is a type: a stateless rule ``measure, rows, target -> measure``, with a report of what
it found.
"""

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
    """What a learner returns.

    Parameters
    ----------
    measure : FourierMeasure or HarmonicMeasure
        The learned measure.
    report : any object
        What the learner found on the way.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian, PacBayes
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> learned = PacBayes().learn(Gaussian().sample(5, 1, np.random.default_rng(0)), X, X[:, 0] > 0)
    >>> type(learned).__name__, len(learned.measure)
    ('Learned', 5)
    """

    measure: Any
    report: Any


class Learner(BaseEstimator, ABC):
    """A rule that reweights, moves or finds atoms; a parameter object, never fitted.

    A subclass writes ``_learn(measure, rows, target, rng, weights)``, which returns a ``Learned``,
    and ``check_parameters``, where there is something to complain about.

    Examples
    --------
    >>> from bochner import FourierMeasure
    >>> class Halved(Learner):
    ...     def _learn(self, measure, rows, target, rng, weights):
    ...         return Learned(FourierMeasure(measure.frequencies / 2, measure.weights), report=None)
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> measure = Gaussian().sample(5, 1, np.random.default_rng(0))
    >>> bool(np.all(Halved().learn(measure, np.eye(3)[:, :1], [0, 1, 1]).measure.frequencies == measure.frequencies / 2))
    True
    """

    # True if it only sums over rows, so that these may be arrays of the array API other than
    # NumPy's.
    accepts_tensors: ClassVar[bool] = False

    def learn(self, measure: Any, X: Any, y: Any, rng: Seed = None, weights: Any = None) -> Learned:
        """The learned measure and a report.

        ``X`` and ``y`` are rows and targets of any kind, or the ``Rows`` and ``Target`` that an
        estimator has made of them. ``weights`` of the rows count like repetitions; a learner that
        cannot honour them refuses them. An interruption is not caught. ``rng`` is a Generator or a
        seed.
        """
        self.check_parameters()
        self.check_kind(X)
        rows, target, counts = as_data(X, y, weights)
        return self._learn(measure, rows, target, as_generator(rng, "rng"), counts)

    def for_prior(self, prior: Any) -> Self:
        """The learner for atoms drawn from this prior; most do not need to know it."""
        return self

    def check_parameters(self) -> None:
        """Complain about parameters before any work."""

    def check_kind(self, X: Any) -> None:
        """Raise TypeError if X is of a kind that the learner does not accept."""
        if not self.accepts_tensors:
            refuse_tensors(X, type(self).__name__)

    @abstractmethod
    def _learn(
        self, measure: Any, rows: Rows, target: Target, rng: np.random.Generator, weights: Any
    ) -> Learned: ...


def check_learner(learner: Any, kind: Any = Learner) -> None:
    """Complain unless ``learner`` is a learner of this kind, and about its parameters."""
    refuse_class(learner, "learner")
    if not isinstance(learner, kind):
        raise TypeError(
            f"learner must be of type {kind.__name__}, such as PacBayes(), got {learner!r}."
        )
    learner.check_parameters()


def as_data(X: Any, y: Any, weights: Any = None) -> tuple[Rows, Target, Any]:
    """Read the rows, the target and the weights that a learner works on.

    Classes of weight zero are left out, as repeated rows would not show them.
    """
    rows = as_rows(X, persist=True)
    target = as_target(y, len(rows))
    weights = check_weights(weights, len(rows))
    return rows, target.present(weights) if isinstance(target, Labels) else target, weights
