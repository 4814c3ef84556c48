"""Progress of long work: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Iterate over ``items``, with a bar on standard error when that is a terminal and ``rich`` is installed.

    The bar belongs to the iteration: closing or interrupting it leaves the terminal clean.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import track as rich_track
    except ImportError:
        yield from items
        return
    yield from rich_track(items, description, total=total, console=Console(stderr=True), transient=True)
