"""Files that are written whole or not at all: beside the old one first, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside ``path`` to write to; afterwards it takes the place of ``path``, unless something went wrong.

    It keeps the ending of the name, which some writers choose their format by.
    """
    path = Path(path)
    beside = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield beside
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")
