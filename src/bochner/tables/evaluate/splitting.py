"""Rows to hold out: at random, the last ones in time, or whole groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold, train_test_split

from ..columns.column_kinds import coded_texts
from ..columns.names import column_named
from ..columns.roles import decide_kind
from ..errors import TableError
from .copies import Observations
from .target import counted_labels

HELD_OUT = 0.25
_FEWEST_GROUPS, _FEWEST_ROWS = 8, 5
RANDOM, TIME, GROUP = "random", "time", "group"


@dataclass(frozen=True)
class SplitSpec:
    """``random``, ``time:COLUMN`` or ``group:COLUMN``."""

    kind: str = RANDOM
    column: str | None = None

    @classmethod
    def of(cls, text: str, columns: list[str], target: str) -> SplitSpec:
        """Parse a text; the column must be one of ``columns`` other than the target."""
        kind, colon, column = text.partition(":")
        if text == RANDOM:
            return cls()
        if kind not in (TIME, GROUP) or not colon:
            raise TableError(f"--split must be random, time:COLUMN or group:COLUMN, got {text!r}.")
        column = column_named(column, columns, " to split by")
        if column == target:
            raise TableError(f"Column {column!r} is the target; split rows by another column.")
        return cls(kind, column)

    def __str__(self) -> str:
        return self.kind if self.column is None else f"{self.kind}:{self.column}"


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of training and held-out rows, and the groups of all rows if there are any."""

    train: np.ndarray
    test: np.ndarray
    groups: np.ndarray | None
    notes: list[str]


def split_rows(
    spec: SplitSpec,
    frame: Any,
    y: np.ndarray,
    classify: bool,
    seed: int,
    decimal: str,
    observations: Observations,
) -> Split:
    """Hold out a quarter of the rows.

    Copies of a row are on the same side, and only one of several held-out copies is used.
    """
    rows = np.arange(len(y))
    groups, notes = None, []
    if spec.kind == RANDOM:
        first = observations.first()
        strata = counted_labels(y)[1][first] if classify else None
        options = {"test_size": HELD_OUT, "random_state": seed, "stratify": strata}
        train, test = train_test_split(first, **options)
        train = observations.with_copies(train)
    elif spec.kind == TIME:
        times = _times(frame[spec.column], spec.column, decimal)
        unknown = int(np.sum(np.isnan(times)))
        if unknown:
            notes.append(f"{unknown} rows without a value of {spec.column!r} are not held out.")
        border = np.sort(times[~np.isnan(times)])[int((1 - HELD_OUT) * (len(rows) - unknown))]
        late = times >= border  # rows with the same time stay together
        train, test = rows[~late], rows[late]
    else:
        groups = coded_texts(frame[spec.column].astype(object))[0]
        n_groups = len(np.unique(groups))
        if n_groups < _FEWEST_GROUPS:
            raise TableError(
                f"Column {spec.column!r} has {n_groups} groups; at least {_FEWEST_GROUPS} are "
                "needed for --split group."
            )
        if classify:
            folds: Any = StratifiedGroupKFold(round(1 / HELD_OUT), shuffle=True, random_state=seed)
        else:
            folds = GroupShuffleSplit(1, test_size=HELD_OUT, random_state=seed)
        train, test = next(iter(folds.split(rows, y, groups)))
    # Copies agree in the column that rows are split by, so none is on the other side.
    test = observations.first(test)
    _check_sizes(train, test, y, classify, spec)
    return Split(train, test, groups, notes)


def _times(column, name, decimal):
    """Return dates in days, or numbers."""
    for role in (None, "date", "number"):
        try:
            kind = decide_kind(column, name, role, decimal)[0]
        except TableError:
            continue
        if kind is None or kind.role == "category":
            continue
        times = np.asarray(kind.read(column, name)[0][name], dtype=np.float64)
        if role is None or np.mean(np.isfinite(times)) > HELD_OUT:
            return times
    raise TableError(f"Column {name!r} holds neither dates nor numbers; --split time needs them.")


def _check_sizes(train, test, y, classify, spec):
    if min(len(train), len(test)) < _FEWEST_ROWS:
        raise TableError(
            f"--split {spec} leaves {len(train)} rows for training and {len(test)} for evaluation; "
            f"at least {_FEWEST_ROWS} of each are needed."
        )
    if not classify:
        return
    for part, name in ((train, "training"), (test, "held-out")):
        labels = counted_labels(y[part])[0]
        if len(labels) < 2:
            raise TableError(
                f"With --split {spec}, the {name} rows have only one class ({str(labels[0])!r}); "
                "at least two are needed."
            )
