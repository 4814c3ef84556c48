"""Base classes and decorators of all estimators: nested parameters, callbacks, restoring a model
when a fit fails, scores.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from ._checks import refuse_class
from ._terminal.progress import listening, track
from .data import gathered, with_the_scheduler

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method):
        """The method itself."""
        return method


_Class = TypeVar("_Class", bound=type)


class NestedDefaults(BaseEstimator):
    """Base of parameter objects and estimators: ``prior__gamma=2.0`` also works while prior is
    None.

    ``_defaults`` names the parameters and the objects that None stands for; they are never changed,
    only cloned.
    """

    _defaults: ClassVar[Any] = {}  # a property where defaults depend on other parameters

    def _component(self, name: str, kind: type | None = None) -> Any:
        """The parameter ``name``, or what None stands for; it must be an object of this kind."""
        value, default = getattr(self, name), self._defaults[name]
        refuse_class(value, name)
        if value is not None and kind is not None and not isinstance(value, kind):
            raise TypeError(
                f"{name} must be an object of {kind.__name__}, got {value!r}. Write e.g. "
                f"{name}={default!r}."
            )
        return clone(default) if value is None else value

    def set_params(self, **parameters: Any) -> Self:
        own = self.get_params(deep=False)
        for key in list(parameters):
            name, nested, inner = key.partition("__")
            if not nested or name not in own or parameters.get(name, own[name]) is not None:
                continue
            if name not in self._defaults:
                raise ValueError(
                    f"{name}=None of {type(self).__name__} has no parameter {inner!r}. Give an "
                    f"object first, then set {key}."
                )
            parameters[name] = clone(self._defaults[name])
        return super().set_params(**parameters)


def restore_on_failure(method: Callable) -> Callable:
    """A fit that fails or is interrupted leaves the estimator as it was: the old model, or none.

    Methods under it set attributes and never change what an attribute holds.
    """

    @wraps(method)
    def whole(self, *arguments, **keywords):
        before = dict(vars(self))
        try:
            return method(self, *arguments, **keywords)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return whole


class FitTasks:
    """Tells callbacks of each part of a fit; does nothing when there are none.

    ``with_callbacks`` closes callbacks by what it finds on the estimator, so ``restore_on_failure``
    stands above it, not below.
    """

    def __init__(self, estimator: Any, n_tasks: int | None, X: Any, y: Any):
        self.told = {"estimator": estimator, "X": X, "y": y}
        listened = hasattr(estimator, "_skl_callbacks") or hasattr(
            estimator, "_parent_callback_ctx"
        )
        self.context = estimator._init_callback_context(max_subtasks=n_tasks) if listened else None
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.told)

    def each(self, stage: str, names: Sequence[str]) -> Iterator[int]:
        """0, 1, …: one task for each name, begun and done; it ends after one where a callback asks
        to stop.

        Where nobody listens they move a bar of our own.
        """
        if self.context is None:
            yield from track(range(len(names)), stage, total=len(names))
            return
        for k, name in enumerate(names):
            task = self.context.subcontext(task_name=f"{stage}: {name}")
            task.call_on_fit_task_begin(**self.told)
            yield k
            if task.call_on_fit_task_end(**self.told):
                return

    def step(self, name: str) -> bool:
        """One more task is done, of which there is no fitted copy yet; True when a callback asks to
        stop.
        """
        assert self.context is not None
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self.told)
        return bool(task.call_on_fit_task_end(**self.told))

    def finished(self, name: str, attributes: Callable[[], dict[str, Any]]) -> bool:
        """One more task is done; True when a callback asks to stop.  ``attributes`` make a fitted
        copy, if one is asked for.
        """
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self.told)
        return bool(task.call_on_fit_task_end(**self.told, reconstruction_attributes=attributes))

    def close(self, attributes: Callable[[], dict[str, Any]]) -> None:
        """The fit itself is done."""
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.told, reconstruction_attributes=attributes)


def reporting(fit: Callable) -> Callable:
    """A fit whose steps, all that ``track`` and ``step_done`` tell of, are tasks of its callbacks;
    one that is asked to stop ends there.
    """

    @with_callbacks
    @wraps(fit)
    def fit_and_tell(self, X, y=None, *arguments, **keywords):
        tasks = FitTasks(self, None, X, y)
        if (
            tasks.context is None
        ):  # nobody listens, or somebody who listens to an estimator around this one
            return fit(self, X, y, *arguments, **keywords)
        with listening(tasks.step):
            fit(self, X, y, *arguments, **keywords)
        tasks.close(dict)
        return self

    return fit_and_tell


class _InMemory:
    """Bring y and weights that are on a cluster into memory, where scikit-learn compares them with
    predictions.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier or R² of a regressor, as scikit-learn does."""
        with with_the_scheduler():
            return super().score(X, gathered(y), gathered(sample_weight))  # type: ignore[misc]


class ClassifierScore(_InMemory, ClassifierMixin):
    """scikit-learn's mixin for classifiers, with ``score`` also for collections of Dask."""


class RegressorScore(_InMemory, RegressorMixin):
    """scikit-learn's mixin for regressors, with ``score`` also for collections of Dask."""


def keyword_only_from(version: str, *, old_order: tuple[str, ...]) -> Callable[[_Class], _Class]:
    """Let a class with keyword-only parameters accept its former positional ones, with a
    FutureWarning.

    ``old_order`` lists the parameters that could be given by position. The signature of the class
    stays keyword-only, so that scikit-learn's ``get_params`` and ``clone`` read the parameters as
    usual. In release ``version`` the decorator is removed.

    >>> @keyword_only_from("0.4", old_order=("rows",))
    ... class Table:
    ...     def __init__(self, *, rows=3):
    ...         self.rows = rows
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Table(5).rows
    5
    >>> print(caught[0].message)
    Write Table(rows=...): from bochner 0.4 on, this parameter must be given by name.
    """

    def decorate(cls: _Class) -> _Class:
        keyword_only: Callable[..., None] = cls.__init__  # type: ignore[misc]

        @wraps(keyword_only)
        def __init__(self: Any, *positional: Any, **keywords: Any) -> None:
            if not positional or len(positional) > len(old_order):
                return keyword_only(self, *positional, **keywords)
            named = dict(zip(old_order, positional))
            written = ", ".join(f"{name}=..." for name in named)
            noun = "this parameter" if len(named) == 1 else "these parameters"
            warnings.warn(
                f"Write {type(self).__name__}({written}): from bochner {version} on, {noun} must "
                "be given by name.",
                FutureWarning,
                stacklevel=2,
            )
            return keyword_only(self, **named, **keywords)

        cls.__init__ = __init__  # type: ignore[misc]
        return cls

    return decorate
