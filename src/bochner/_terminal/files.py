"""Atomic file writing: a temporary file in the target's folder, renamed when it is complete."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .text import one_line


def is_device(path: str | os.PathLike[str]) -> bool:
    """Return True for devices, pipes and sockets, which are written to and never replaced."""
    mode = _mode(path)
    return mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _mode(path):
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to and rename it to ``path`` when the block succeeds.

    Its name is unique for each call and keeps the suffix, by which some writers choose a format.
    Symbolic links are followed.  An existing file keeps its mode, a new one gets that of the umask.
    Devices and pipes cannot be replaced, so their own path is yielded.
    """
    target, mode = Path(path), _mode(path)
    if is_device(path):
        yield target
        return
    suffix, target = target.suffix, Path(os.path.realpath(target))
    beside = target.with_name(f".{target.stem[:32]}.{secrets.token_hex(8)}.part{suffix}")
    try:
        # The kernel applies the umask; reading it would change it for other threads.
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if mode is not None:
            os.chmod(beside, stat.S_IMODE(mode))
        yield beside
        beside.replace(target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(beside)):
            # Name the target: a full disk names no file, or the temporary one.
            raise OSError(error.errno, error.strerror or one_line(error), str(path)) from error
        raise


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, completely or not at all."""
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")
