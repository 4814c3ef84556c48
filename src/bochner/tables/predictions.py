"""Predictions for the rows of a table, beside columns that are carried over, as a frame, a file or
JSON.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._terminal.files import is_device, written_whole
from ..data.unfamiliar import UnfamiliarCells, collect_unfamiliar
from .columns.column_kinds import Strays
from .columns.names import column_named
from .columns.written_numbers import number_of
from .fitting import TableModel
from .read.reading import TableError, needed

_PARQUET = (".parquet", ".pq")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_request(model: TableModel, *, proba: bool, interval: float | None) -> None:
    """What this model cannot give is refused before any work."""
    classify = model.facts_["task"] == "classification"
    if proba and not classify:
        raise TableError("Probabilities are for classification; this model predicts numbers.")
    if interval is not None and classify:
        raise TableError(
            "Intervals are for regression; this model predicts classes. Write --proba for their "
            "probabilities."
        )
    if interval is not None and not 0 < interval < 1:
        raise TableError(
            f"The level of an interval lies between 0 and 1, got {interval:g}. Write e.g. "
            "--interval 0.9."
        )


def check_out(out: str | None, *, as_json: bool, safe_cells: bool) -> None:
    """Which file can be written, before any work."""
    if out is not None and not Path(out).parent.is_dir():
        raise FileNotFoundError(2, "There is no folder for the predictions", str(out))
    suffix = Path(out).suffix.lower() if out is not None and not is_device(out) else ".csv"
    if not as_json and suffix not in (".csv", *_PARQUET):
        raise TableError(f"Predictions are written as .csv, .parquet or .pq, got --out {out}.")
    if as_json and suffix in _PARQUET:
        raise TableError(
            f"--json writes JSON, but {out} is a name for Parquet; leave one of them out."
        )
    if safe_cells and (as_json or suffix in _PARQUET):
        raise TableError(
            "--safe-cells is for CSV files, whose cells a spreadsheet may take for formulas."
        )


def prediction_frame(
    model: TableModel,
    table: Any,
    *,
    proba: bool = False,
    interval: float | None = None,
    kept: dict[str, Any] | None = None,
    cells: UnfamiliarCells | None = None,
) -> tuple[Any, dict[str, Strays]]:
    """Return one row for each of the table: columns that are kept, and the predictions.

    Also return, for each column with values that had to be changed, how many these are.  ``cells``
    collects missing values and unknown levels, which then give no warning.
    """
    frame, strays = model["columns"].read_counting(table)
    front_door, target = model["model"], model.facts_["target"]
    with collect_unfamiliar(cells):
        shares = front_door.predict_proba(frame) if proba else None
        labels = front_door.predict(frame) if shares is None else front_door._labels(shares)
        ends = None if interval is None else front_door.predict_interval(frame, interval)
    predicted: dict[str, Any] = {f"predicted {target}": labels}
    if interval is not None and ends is not None:
        predicted |= {
            f"{side} {100 * interval:g} %": end for side, end in zip(("lower", "upper"), ends.T)
        }
    if shares is not None:
        predicted |= {
            f"probability of {label}": share
            for label, share in zip(model.facts_["classes"], shares.T)
        }
    clash = [name for name in kept or {} if name in predicted]
    if clash:
        raise TableError(
            f"Column {clash[0]!r} cannot be kept: a column of predictions has its name."
        )
    return needed("pandas").DataFrame((kept or {}) | predicted), strays


def prediction_pieces(
    model: TableModel,
    pieces: Iterable[tuple[Any, Any]],
    keep: Sequence[str],
    strays: dict[str, Strays],
    cells: UnfamiliarCells,
    *,
    proba: bool = False,
    interval: float | None = None,
) -> Iterator[Any]:
    """Yield the ``prediction_frame`` of each piece of a table; ``strays`` and ``cells`` add up over
    pieces.

    A piece is given as it is read, and as it is written in the file.
    """
    for table, written in pieces:
        kept = carried(keep, written)
        frame, found = prediction_frame(
            model, table, proba=proba, interval=interval, kept=kept, cells=cells
        )
        for name, more in found.items():
            strays[name] = strays[name] + more if name in strays else more
        yield frame


def carried(keep: Sequence[str], table: Any) -> dict[str, Any]:
    """Return the columns to carry over; raise an error for names that are no column."""
    names = [column_named(name, table.columns, " to keep") for name in keep]
    return {name: table[name].reset_index(drop=True) for name in names}


def as_csv(frames: Iterable[Any], safe_cells: bool = False) -> Iterator[str]:
    """CSV under a header, a text for each frame; with ``safe_cells`` an apostrophe before texts
    that a spreadsheet would run as a formula.
    """
    for k, frame in enumerate(frames):
        frame = _with_times_written(_without_formulas(frame) if safe_cells else frame)
        yield frame.to_csv(index=False, header=k == 0, lineterminator="\n")


def write_predictions(frames: Iterable[Any], out: str | Path, safe_cells: bool = False) -> None:
    """CSV or Parquet by the name's ending, whole or not at all; one frame at a time is in memory."""
    with written_whole(out) as beside:
        if Path(out).suffix.lower() in _PARQUET:
            _write_parquet(frames, beside)
            return
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(as_csv(frames, safe_cells))


def joined(frames: Iterable[Any]) -> Any:
    """All rows in one frame."""
    return needed("pandas").concat(list(frames), ignore_index=True)


def _write_parquet(frames, path):
    """Objects have the type that all of them have together, so then all rows are written at once."""
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
    """Times as texts, each by itself: how pandas writes one depends on the others of its column."""
    missing = needed("pandas").NaT

    def written(value):
        return None if value is missing else str(value).removesuffix(" 00:00:00")

    times = [name for name in frame.columns if frame[name].dtype.kind in "Mm"]
    return frame.assign(**{name: list(map(written, frame[name])) for name in times})


def as_json_values(
    frame: Any, model: TableModel, *, proba: bool, interval: float | None, keep: Sequence[str]
) -> dict[str, Any]:
    """The same for machines: predictions, probabilities and intervals as lists."""
    columns = {name: _plain(frame[name]) for name in frame.columns}
    found: dict[str, Any] = {"predictions": columns[f"predicted {model.facts_['target']}"]}
    if interval is not None:
        found["interval"] = interval
        found["intervals"] = [
            list(ends)
            for ends in zip(
                *(columns[f"{side} {100 * interval:g} %"] for side in ("lower", "upper"))
            )
        ]
    if proba:
        classes = model.facts_["classes"]
        found["classes"] = classes
        found["probabilities"] = [
            list(row) for row in zip(*(columns[f"probability of {label}"] for label in classes))
        ]
    return found | ({"kept": {name: columns[name] for name in dict.fromkeys(keep)}} if keep else {})


def _plain(column):
    """Values that JSON has: what is missing or infinite is null."""
    values = [value.item() if isinstance(value, np.generic) else value for value in column]
    values = [
        value
        if isinstance(value, str | bool | int | float)
        else None
        if value != value
        else str(value)
        for value in values
    ]
    return [
        None if isinstance(value, float) and not math.isfinite(value) else value for value in values
    ]


def _without_formulas(frame):
    """Numbers stay as they are, however their texts begin."""

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
