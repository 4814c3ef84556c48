"""Files that are written whole or not at all: beside the old one first, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._text import one_line


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
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say which file
            raise OSError(error.errno, error.strerror or one_line(error), str(path)) from error
        raise


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")
