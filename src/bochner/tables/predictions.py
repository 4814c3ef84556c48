"""Predictions for the rows of a table, with columns to keep, as a frame, a file or JSON."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._terminal.files import is_device, written_whole
from ..data.unfamiliar import UnfamiliarCells, collect_unfamiliar
from .columns.column_kinds import Strays
from .columns.names import column_named
from .columns.written_numbers import number_of
from .errors import TableError, needed
from .facts import Facts
from .fitting import TableModel
from .read.sources import PARQUET

_NOVELTY = "novelty"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Request:
    """Requested columns besides the prediction: probabilities, bounds of a level, novelty."""

    proba: bool
    interval: float | None
    novelty: bool

    def check(self, facts: Facts) -> None:
        """Raise an error before any work if the model has no such predictions."""
        if self.proba and not facts.classify:
            raise TableError("--proba is for classification; this model predicts numbers.")
        if self.interval is None:
            return
        if facts.classify:
            raise TableError(
                "--interval is for regression; this model predicts classes. Use --proba for their "
                "probabilities."
            )
        if not 0 < self.interval < 1:
            raise TableError(
                f"--interval must be between 0 and 1, e.g. 0.9; got {self.interval:g}."
            )

    def columns(self, model: TableModel, facts: Facts, frame: Any) -> dict[str, Any]:
        """Return named columns for rows that the first step has read."""
        fitted = model["model"]
        shares = fitted.predict_proba(frame) if self.proba else None
        labels = fitted.predict(frame) if shares is None else fitted._labels(shares)
        predicted: dict[str, Any] = {f"predicted {facts.target}": labels}
        if self.interval is not None:
            predicted |= zip(self._bounds(), fitted.predict_interval(frame, self.interval).T)
        if shares is not None:
            predicted |= zip(_probability_names(facts), shares.T)
        return predicted | ({_NOVELTY: fitted.novelty(frame)} if self.novelty else {})

    def as_json(self, frame: Any, facts: Facts, keep: Sequence[str]) -> dict[str, Any]:
        """Return a frame of these columns, and of columns to keep, as JSON values."""
        columns = {name: [_plain(value) for value in frame[name]] for name in frame.columns}

        def rows(names):
            return [list(row) for row in zip(*(columns[name] for name in names))]

        content: dict[str, Any] = {"predictions": columns[f"predicted {facts.target}"]}
        if self.interval is not None:
            content |= {"interval": self.interval, "intervals": rows(self._bounds())}
        if self.proba and facts.of_classes is not None:
            shares = rows(_probability_names(facts))
            content |= {"classes": facts.of_classes.classes, "probabilities": shares}
        if self.novelty:
            content["novelty"] = columns[_NOVELTY]
        return content | ({"kept": {name: columns[name] for name in keep}} if keep else {})

    def _bounds(self):
        assert self.interval is not None
        return [f"{side} {100 * self.interval:g} %" for side in ("lower", "upper")]


def _probability_names(facts):
    return [f"probability of {label}" for label in facts.of_classes.classes]


def check_out(out: str | None, *, as_json: bool, safe_cells: bool) -> None:
    """Raise an error before any work if the file cannot be written."""
    if out is not None and not Path(out).parent.is_dir():
        raise FileNotFoundError(2, "There is no folder for the predictions", str(out))
    suffix = Path(out).suffix.lower() if out is not None and not is_device(out) else ".csv"
    if not as_json and suffix not in (".csv", *PARQUET):
        raise TableError(f"--out must end in .csv, .parquet or .pq, got {out}.")
    if as_json and suffix in PARQUET:
        raise TableError(f"--json writes JSON, but {out} is the name of a Parquet file.")
    if safe_cells and (as_json or suffix in PARQUET):
        raise TableError("--safe-cells is for CSV files, whose texts a spreadsheet may execute.")


def as_frame(kept: dict[str, Any], answers: dict[str, Any]) -> Any:
    """Return kept columns and columns of answers in one frame; their names must differ."""
    clash = next((name for name in kept if name in answers), None)
    if clash is not None:
        raise TableError(f"Column {clash!r} cannot be kept: a column of predictions has its name.")
    return needed("pandas").DataFrame(kept | answers)


def answered_pieces(
    model: TableModel,
    pieces: Iterable[tuple[Any, Any]],
    keep: Sequence[str],
    strays: dict[str, Strays],
    cells: UnfamiliarCells,
    answer: Callable[[Any], Any],
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the columns to keep and the answer for each piece of a table.

    A piece is a pair of frames, as it was read and as it is written in the file. The first step of
    the model reads the frame for ``answer``. ``strays`` collects values that had to be changed, and
    ``cells`` collects missing values and unknown levels.
    """
    for table, written in pieces:
        names = [column_named(name, written.columns, " to keep") for name in keep]
        kept = {name: written[name].reset_index(drop=True) for name in names}
        frame, counts = model["columns"].read(table)
        for name, more in counts.items():
            strays[name] = strays[name] + more if name in strays else more
        with collect_unfamiliar(cells):
            answers = answer(frame)
        yield kept, answers


def as_csv(frames: Iterable[Any], safe_cells: bool = False) -> Iterator[str]:
    """Yield CSV text for each frame, the first with a header.

    ``safe_cells`` puts an apostrophe before texts that a spreadsheet would run as formulas.
    """
    for k, frame in enumerate(frames):
        frame = _with_times_written(_without_formulas(frame) if safe_cells else frame)
        yield frame.to_csv(index=False, header=k == 0, lineterminator="\n")


def write_predictions(frames: Iterable[Any], out: str | Path, safe_cells: bool = False) -> None:
    """Write CSV or Parquet, completely or not at all, with one frame in memory at a time."""
    with written_whole(out) as beside:
        if Path(out).suffix.lower() in PARQUET:
            _write_parquet(frames, beside)
            return
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(as_csv(frames, safe_cells))


def joined(frames: Iterable[Any]) -> Any:
    """Return all rows in one frame."""
    return needed("pandas").concat(list(frames), ignore_index=True)


def _write_parquet(frames, path):
    """Write frames one by one; objects all at once, because their type depends on all values."""
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    frames = iter(frames)
    first = next(frames)
    if any(str(kind) == "object" for kind in first.dtypes):
        joined(chain([first], frames)).to_parquet(path, index=False)
        return
    schema = arrow.Schema.from_pandas(first, preserve_index=False)
    with parquet.ParquetWriter(path, schema) as writer:
        for frame in chain([first], frames):
            writer.write_table(arrow.Table.from_pandas(frame, schema, preserve_index=False))


def _with_times_written(frame):
    """Convert each time to text by itself; the format of pandas depends on the whole column."""
    missing = needed("pandas").NaT

    def written(value):
        return None if value is missing else str(value).removesuffix(" 00:00:00")

    times = [name for name in frame.columns if frame[name].dtype.kind in "Mm"]
    return frame.assign(**{name: list(map(written, frame[name])) for name in times})


def kept_rows(kept: dict[str, Any], n_rows: int) -> list[dict[str, Any]]:
    """Return the kept columns of each row as JSON values."""
    columns = {name: [_plain(value) for value in column] for name, column in kept.items()}
    return [{name: column[i] for name, column in columns.items()} for i in range(n_rows)]


def _plain(value):
    """Return a JSON value, null for missing and infinite values."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str | bool | int | float):
        return value
    return None if value != value else str(value)


def _without_formulas(frame):
    """Put an apostrophe before texts that a spreadsheet would run, but not before numbers."""

    def safe(value):
        is_formula = (
            isinstance(value, str)
            and value.startswith(_FORMULA)
            and not math.isfinite(number_of(value))
        )
        return f"'{value}" if is_formula else value

    texts = {
        name: frame[name].astype(object).map(safe)
        for name in frame.columns
        if frame[name].dtype.kind not in "iufb"
    }
    return frame.assign(**texts).rename(columns=safe)
