"""A line that tells how far a run is and how long it will still take."""

import sys
import time
from typing import TextIO

_WIDTH = 30
_SECONDS_BETWEEN_LINES = 30.0  # where the output is no terminal


class Meter:
    """A progress bar on a terminal, a line now and then elsewhere, nothing when ``quiet``."""

    def __init__(self, total: int, *, stream: TextIO | None = None, quiet: bool = False):
        self._total = total
        self._done = 0
        self._stream = stream or sys.stderr
        self._quiet = quiet or total == 0
        self._bar = self._stream.isatty()
        self._started = self._last = time.monotonic()

    def advance(self, label: str) -> None:
        """One more case is done; ``label`` says of which experiment."""
        self._done += 1
        now = time.monotonic()
        if self._quiet or not (self._bar or now - self._last > _SECONDS_BETWEEN_LINES):
            return
        self._last = now
        left = (now - self._started) / self._done * (self._total - self._done)
        text = f"{self._done}/{self._total} cases, {duration(left)} left, {label}"
        if self._bar:
            filled = _WIDTH * self._done // self._total
            self._stream.write(f"\r[{'#' * filled}{'-' * (_WIDTH - filled)}] {text}\x1b[K")
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._bar and not self._quiet:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def duration(seconds: float) -> str:
    """``seconds`` for people.

    >>> duration(0.2), duration(3.2), duration(200), duration(8000)
    ('under 1 s', '3 s', '3 min', '2 h 13 min')
    """
    if seconds < 0.5:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
