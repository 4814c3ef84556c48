"""Progress of long work: a bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(
    items: Iterable[T], description: str, total: int | None = None, status: Callable[[], str] | None = None
) -> Iterator[T]:
    """Iterate over ``items``, with a bar on standard error when that is a terminal and ``rich`` is installed.

    ``status`` is asked after each item for a few words (a loss, a margin) to show beside the bar.  The bar belongs to the
    iteration: closing or interrupting it leaves the terminal clean.
    """
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
