"""scikit-learn's callbacks (1.9 and later): one task a round and one an epoch; older versions run without them."""

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method):
        """The method itself."""
        return method


class FitTasks:
    """Tells callbacks of each finished round or epoch; does nothing when there are none."""

    def __init__(self, estimator: Any, n_tasks: int, X: Any, y: Any):
        self.whole = {"estimator": estimator, "X": X, "y": y}
        listened = hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")
        self.context = estimator._init_callback_context(max_subtasks=n_tasks) if listened else None
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.whole)

    def finished(self, name: str, attributes: Callable[[], dict[str, Any]]) -> bool:
        """One more task is done; True when a callback asks to stop.  ``attributes`` make a fitted copy, if one is asked for."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self.whole)
        return bool(task.call_on_fit_task_end(**self.whole, reconstruction_attributes=attributes))

    def close(self, attributes: Callable[[], dict[str, Any]]) -> None:
        """The fit itself is done."""
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.whole, reconstruction_attributes=attributes)
