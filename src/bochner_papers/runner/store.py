"""Finished cases on disk: JSON lines, flushed at once, read again after an interruption."""

import json
import os
from pathlib import Path
from typing import Any, Self

from .catalog import ExperimentError, case_key


class ResultFile:
    """Results of one experiment at one scale.

    A line is ``{"case", "result", "seconds", ...}``, or ``{"case", "error", ...}`` for a case that
    failed; failed cases are tried again. A line that a killed process left half written is dropped.
    One process writes at a time.

    Use it as a context manager to write; ``finished_records(path)`` only reads.
    """

    def __init__(self, path: Path):
        self.path = path
        self._file: Any = None
        self.finished: dict[str, dict[str, Any]] = {}
        self.damaged: list[int] = []

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b", buffering=0)
        try:
            _lock(self._file, self.path)
            self._file.seek(0)
            self._file.truncate(self._file.read().rfind(b"\n") + 1)
            self.finished, self.damaged = _read(self.path)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, record: dict[str, Any]) -> None:
        """Write one line that survives a crash; on a full disk nothing of it remains."""
        left, size = json.dumps(record).encode() + b"\n", self._file.seek(0, os.SEEK_END)
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(size)
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        if "error" not in record:
            self.finished[case_key(record["case"])] = record


def finished_records(path: Path) -> dict[str, dict[str, Any]]:
    """Return the finished cases of a results file by ``case_key``; the last result counts."""
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, dict[str, Any]], list[int]]:
    """Return finished cases, and the numbers of damaged lines, whose cases are unfinished."""
    finished: dict[str, dict[str, Any]] = {}
    damaged: list[int] = []
    lines = enumerate(path.read_bytes().split(b"\n") if path.is_file() else [], start=1)
    numbered = {number: line for number, line in lines if line.strip()}
    for number, line in numbered.items():
        try:
            record = json.loads(line)
            key = case_key(record["case"])
        except (ValueError, KeyError, TypeError):
            damaged.append(number)
            continue
        if isinstance(record.get("result"), dict):
            finished[key] = record
    if damaged and len(damaged) == len(numbered):
        raise ExperimentError(
            f"{path} holds no results of an experiment. Move it away, or give another --out."
        )
    return finished, damaged


def _lock(file: Any, path: Path) -> None:
    """Raise if another process writes; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # on Windows two runs at once repeat work, but write whole lines
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ExperimentError(
            f"Another run is writing {path}. Wait for it, or give another --out."
        ) from None
