"""Progress of long work: a bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
# Who wants to know of each step by its description, and says True to stop; threads of their own tell nobody.
_listener: ContextVar[Callable[[str], bool] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[str], bool]) -> Iterator[None]:
    """Within this context all steps are told to ``listener``, and none is shown."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def step_done(description: str) -> bool:
    """Tell of a step; True where somebody asks to stop."""
    listener = _listener.get()
    return listener is not None and listener(description)


def track(
    items: Iterable[T], description: str, total: int | None = None, status: Callable[[], str] | None = None
) -> Iterator[T]:
    """Iterate over ``items``, with a bar on standard error when that is a terminal and ``rich`` is installed.

    ``status`` is asked after each item for a few words (a loss, a margin) to show beside the bar.  The bar belongs to the
    iteration: closing or interrupting it leaves the terminal clean.  Somebody who is ``listening`` may end it after any item.
    """
    if _listener.get() is not None:
        for item in items:
            yield item
            if step_done(description):
                return
        return
    if not sys.stderr.isatty():
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield from items
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for item in progress.track(items, total=total, task_id=(task := progress.add_task(description))):
            yield item
            if status is not None:
                progress.update(task, description=f"{description}, {status()}")
