"""Missing values and unknown levels in new rows, which the training rows did not have."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from .._terminal.text import quoted

# Marks of unfamiliar cells, see ``TableInputs.transform_marked``.
MISSING, UNKNOWN = 1, 2
# Consequences of unfamiliar cells: for predictions, and for effects and derivatives.
AVERAGED = (
    "Predictions for these rows are averaged over the values that similar training rows have in "
    "these cells, and intervals are wider accordingly."
)
FILLED = (
    "Missing numbers count as the median and unknown levels as none, so that results for these "
    "rows are less accurate."
)
# Number of levels and of columns that a warning names.
_N_LEVELS, _N_COLUMNS = 3, 10


class UnfamiliarCells:
    """Counts of rows with unfamiliar cells, by column; threads may add blocks of rows."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_rows = 0
        self._missing: dict[str, int] = {}
        self._unknown: dict[str, tuple[int, list[str]]] = {}

    def add_rows(self, n_rows: int) -> None:
        """Count the rows of a block."""
        with self._lock:
            self._n_rows += n_rows

    def add_missing(self, column: str, n_rows: int) -> None:
        """Count rows whose value is missing in a column that was complete in training."""
        if n_rows:
            with self._lock:
                self._missing[column] = self._missing.get(column, 0) + n_rows

    def add_unknown(self, column: str, n_rows: int, levels: Iterable[str]) -> None:
        """Count rows with unknown levels, and store the first levels in alphabetical order."""
        if n_rows:
            with self._lock:
                before, first = self._unknown.get(column, (0, []))
                self._unknown[column] = before + n_rows, sorted({*first, *levels})[: _N_LEVELS + 1]

    def sentence(self, consequence: str = AVERAGED) -> str | None:
        """Return sentences on columns, levels, shares of rows and the consequence, or None."""
        missing = [f"{name!r} ({self._share(n)})" for name, n in sorted(self._missing.items())]
        unknown = [
            f"{name!r}: {_few(levels)} ({self._share(n)})"
            for name, (n, levels) in sorted(self._unknown.items())
        ]
        clauses = []
        if missing:
            clauses.append(
                f"values are missing in columns that were complete in training: {_listed(missing)}"
            )
        if unknown:
            clauses.append(f"levels are unknown from training: {_listed(unknown)}")
        if not clauses:
            return None
        text = "; ".join(clauses)
        return f"{text[0].upper()}{text[1:]}. {consequence}"

    def _share(self, n_rows):
        return f"{100 * n_rows / self._n_rows:.3g} % of the rows"


def _few(levels):
    return ", ".join(map(quoted, levels[:_N_LEVELS])) + ", …" * (len(levels) > _N_LEVELS)


def _listed(items):
    n_more = len(items) - _N_COLUMNS
    return ", ".join(items[:_N_COLUMNS]) + f" and {n_more} more" * (n_more > 0)


_collector: ContextVar[UnfamiliarCells | None] = ContextVar("unfamiliar cells", default=None)


@contextmanager
def collect_unfamiliar(cells: UnfamiliarCells | None = None) -> Iterator[UnfamiliarCells]:
    """Collect the unfamiliar cells of all predictions inside the block, without warnings."""
    cells = UnfamiliarCells() if cells is None else cells
    token = _collector.set(cells)
    try:
        yield cells
    finally:
        _collector.reset(token)


@contextmanager
def warn_of_unfamiliar(consequence: str = AVERAGED) -> Iterator[UnfamiliarCells]:
    """Warn once, at the end of the block, unless ``collect_unfamiliar`` collects the cells."""
    collector = _collector.get()
    cells = UnfamiliarCells() if collector is None else collector
    yield cells
    sentence = cells.sentence(consequence)
    if collector is None and sentence is not None:
        warnings.warn(sentence, UserWarning, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller():
    """Return the stack level of the first frame outside this package, for ``warnings.warn``."""
    frame, level = sys._getframe(1), 1
    own = (__name__.partition(".")[0], "contextlib")
    while (
        frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in own
    ):
        frame, level = frame.f_back, level + 1
    return level
