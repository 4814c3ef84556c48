"""Progress of long computations: a bar on a terminal, otherwise nothing."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
# Called with the description of each step of this thread; returns True to stop.
_listener: ContextVar[Callable[[str], bool] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[str], bool]) -> Iterator[None]:
    """Call ``listener`` with each step inside the block, and show no bar."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def step_done(description: str) -> bool:
    """Report a step to the listener; return True if the work should stop."""
    listener = _listener.get()
    return listener is not None and listener(description)


# The bar on the screen, at most one; work inside its stages only changes its description.
_shown: list[Any] = []


def track(
    items: Iterable[T],
    description: str,
    total: int | None = None,
    status: Callable[[], str] | None = None,
) -> Generator[T, None, None]:
    """Iterate over ``items`` with a bar on standard error, if that is a terminal.

    The bar needs ``rich``. ``status`` is called after each item for a few words (a loss, a margin)
    beside the bar. Closing or interrupting the iteration removes the bar. Inside ``stages`` its bar
    is used instead of a second one. A listener may end the iteration after any item.
    """
    if _listener.get() is not None:
        for item in items:
            yield item
            if step_done(description):
                return
        return
    if _shown:
        for item in items:
            _shown[-1].add_words(description)
            yield item
        return
    bar = _new_bar()
    if bar is None:
        yield from items
        return
    with bar as progress:
        task = progress.add_task(description, total=total)  # rich's default total is 100
        for item in progress.track(items, total=total, task_id=task):
            yield item
            if status is not None:
                progress.update(task, description=f"{description}, {status()}")


class Stages:
    """Stages of one bar; without a bar (None) nothing is shown."""

    def __init__(self, bar: Any = None):
        self.bar, self.done, self.words = bar, -1, ""
        self.task = None if bar is None else bar.add_task("")

    def begin(self, words: str, n_left: int | None = None) -> None:
        """Finish the previous stage and begin the next; ``n_left`` counts it and later stages."""
        self.done, self.words = self.done + 1, words
        if self.bar is not None:
            total = {} if n_left is None else {"total": self.done + n_left}
            self.bar.update(self.task, description=words, completed=self.done, **total)

    def add_words(self, words: str) -> None:
        """Show the current step of the stage."""
        if self.bar is not None:
            self.bar.update(self.task, description=f"{self.words}: {words}")


@contextmanager
def stages() -> Iterator[Stages]:
    """Show one bar with stages and remaining time; a nested call uses the outer bar."""
    if _shown:
        yield _shown[-1]
        return
    bar = _new_bar()
    if bar is None:
        yield Stages()
        return
    with bar as progress:
        _shown.append(Stages(progress))
        try:
            yield _shown[-1]
        finally:
            _shown.pop()


def _new_bar():
    """Return a transient bar, None without a terminal or without ``rich``."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    return Progress(console=Console(stderr=True), transient=True)
