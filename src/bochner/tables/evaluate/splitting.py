"""Which rows are held out: some at random, the last ones in time, or whole groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold, train_test_split

from ..columns.column_kinds import coded_texts
from ..columns.names import column_named
from ..columns.roles import decided
from ..read.reading import TableError
from .copies import Observations
from .target import counted_labels

HELD_OUT = 0.25
_FEWEST_GROUPS = 8
RANDOM, TIME, GROUP = "random", "time", "group"


@dataclass(frozen=True)
class SplitWish:
    """``random``, ``time:COLUMN`` or ``group:COLUMN``."""

    kind: str = RANDOM
    column: str | None = None

    @classmethod
    def of(cls, text: str, columns: list[str], target: str) -> SplitWish:
        """The wish that a text says; columns that are not there are refused."""
        kind, colon, column = text.partition(":")
        if text == RANDOM:
            return cls()
        if kind not in (TIME, GROUP) or not colon:
            raise TableError(f"A split is random, time:COLUMN or group:COLUMN, got {text!r}.")
        column = column_named(column, columns, " to split by")
        if column == target:
            raise TableError(f"Column {column!r} is the target; rows are split by another column.")
        return cls(kind, column)


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of the rows that are fitted and held out, the groups that all rows belong to (None
    where they stand alone), and notes.
    """

    train: np.ndarray
    test: np.ndarray
    groups: np.ndarray | None
    notes: list[str]


def split_rows(
    wish: SplitWish,
    frame: Any,
    y: np.ndarray,
    classify: bool,
    seed: int,
    decimal: str,
    observations: Observations | None = None,
) -> Split:
    """Hold out a quarter of the rows.

    Copies of a row are on the same side, and one of them stands for all of them among the held-out
    rows.
    """
    rows = np.arange(len(y))
    observations = Observations(rows) if observations is None else observations
    groups, notes = None, []
    if wish.kind == RANDOM:
        first = observations.first()
        strata = counted_labels(y)[1][first] if classify else None
        train, test = train_test_split(
            first, test_size=HELD_OUT, random_state=seed, stratify=strata
        )
        train = observations.with_copies(train)
    elif wish.kind == TIME:
        times = _times(frame[wish.column], wish.column, decimal)
        unknown = int(np.sum(np.isnan(times)))
        if unknown:
            notes.append(f"{unknown} rows without a value of {wish.column!r} are not held out.")
        border = np.sort(times[~np.isnan(times)])[int((1 - HELD_OUT) * (len(rows) - unknown))]
        late = times >= border  # rows of one moment stay together
        train, test = rows[~late], rows[late]
    else:
        groups = coded_texts(frame[wish.column].astype(object))[0]
        if len(np.unique(groups)) < _FEWEST_GROUPS:
            raise TableError(
                f"Column {wish.column!r} has {len(np.unique(groups))} groups; at least "
                f"{_FEWEST_GROUPS} are needed to hold some out."
            )
        if classify:
            folds: Any = StratifiedGroupKFold(round(1 / HELD_OUT), shuffle=True, random_state=seed)
        else:
            folds = GroupShuffleSplit(1, test_size=HELD_OUT, random_state=seed)
        train, test = next(iter(folds.split(rows, y, groups)))
    # Copies agree in the column that rows are split by, so that none is on the other side.
    test = observations.first(test)
    _check_parts(train, test, y, classify, wish)
    return Split(train, test, groups, notes)


def _times(column, name, decimal):
    """Dates in days, or numbers."""
    for role in ("date", "number"):
        kind = decided(column, name, None, decimal)[0]
        if kind is not None and kind.role == role:
            return np.asarray(kind.read(column, name)[0][name], dtype=np.float64)
    for role in ("date", "number"):
        try:
            kind = decided(column, name, role, decimal)[0]
        except TableError:
            continue
        if kind is not None:
            times = np.asarray(kind.read(column, name)[0][name], dtype=np.float64)
            if np.mean(np.isfinite(times)) > HELD_OUT:
                return times
    raise TableError(
        f"Column {name!r} holds neither dates nor numbers, so its rows have no order in time."
    )


def _check_parts(train, test, y, classify, wish):
    what = f"Split by {wish.kind}:{wish.column}" if wish.column else "Split at random"
    if min(len(train), len(test)) < 5:
        raise TableError(
            f"{what}, {len(train)} rows are left to fit and {len(test)} to judge; at least 5 are "
            "needed."
        )
    if not classify:
        return
    for part, name in ((train, "fitted"), (test, "held-out")):
        found = counted_labels(y[part])[0]
        if len(found) < 2:
            raise TableError(
                f"{what}, the {name} rows have one class only ({str(found[0])!r}): nothing can be "
                "judged."
            )
