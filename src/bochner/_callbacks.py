"""scikit-learn's callbacks (1.9 and later): a fit tells of its parts as they are begun and done; older versions run without them."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

from ._progress import listening, track

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method):
        """The method itself."""
        return method


class FitTasks:
    """Tells callbacks of each part of a fit; does nothing when there are none.

    ``with_callbacks`` closes callbacks by what it finds on the estimator, so ``all_or_nothing`` stands above it, not below.
    """

    def __init__(self, estimator: Any, n_tasks: int | None, X: Any, y: Any):
        self.told = {"estimator": estimator, "X": X, "y": y}
        listened = hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")
        self.context = estimator._init_callback_context(max_subtasks=n_tasks) if listened else None
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.told)

    def each(self, stage: str, names: Sequence[str]) -> Iterator[int]:
        """0, 1, …: one task for each name, begun and done; it ends after one where a callback asks to stop.

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
        """One more task is done, of which there is no fitted copy yet; True when a callback asks to stop."""
        assert self.context is not None
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self.told)
        return bool(task.call_on_fit_task_end(**self.told))

    def finished(self, name: str, attributes: Callable[[], dict[str, Any]]) -> bool:
        """One more task is done; True when a callback asks to stop.  ``attributes`` make a fitted copy, if one is asked for."""
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
    """A fit whose steps, all that ``track`` and ``step_done`` tell of, are tasks of its callbacks; one that is asked to stop ends there."""

    @with_callbacks
    @wraps(fit)
    def fit_and_tell(self, X, y=None, *arguments, **keywords):
        tasks = FitTasks(self, None, X, y)
        if tasks.context is None:  # nobody listens, or somebody who listens to an estimator around this one
            return fit(self, X, y, *arguments, **keywords)
        with listening(tasks.step):
            fit(self, X, y, *arguments, **keywords)
        tasks.close(dict)
        return self

    return fit_and_tell
