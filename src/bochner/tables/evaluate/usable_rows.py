"""Rows of a table that can be used: with a target, and of classes that are not too small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.columns import float_column
from ..columns.roles import decide_kind
from ..columns.written_numbers import POINT
from ..errors import TableError
from ..facts import CLASSIFICATION
from ..read.spooling import rows_of
from .copies import Observations
from .target import counted_labels, labels_of, split_target, task_of

MIN_ROWS = 20
_MIN_CLASS = 4
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class UsableRows:
    """Rows with a target: its values or labels, the other columns, and the copies among them."""

    rest: Any
    y: np.ndarray
    task: str
    why_task: str
    n_dropped: int
    decimal: str
    observations: Observations
    notes: list[str]

    @property
    def classify(self) -> bool:
        """True if y holds labels."""
        return self.task == CLASSIFICATION


def usable_rows(
    frame: Any, target: str, task: str, roles: dict[str, str], split_by: str | None
) -> UsableRows:
    """Drop rows without a target and rows of classes that are too small.

    Rows are copies if they agree in the target and in all columns but identifiers. The column that
    rows are split by is always compared.
    """
    decimal = frame.attrs.get("decimal", POINT)
    notes = list(frame.attrs.get("notes", []))
    rest, values, n_dropped = split_target(
        frame.set_axis(range(len(frame)), axis=0), target, decimal
    )
    guessed, why = task_of(values)
    task, why = (guessed, f"because {target!r} {why}") if task == "auto" else (task, "as requested")
    if len(values) < MIN_ROWS:
        raise TableError(
            f"The table has {len(values)} row(s) with a target; at least {MIN_ROWS} are needed."
        )
    classify = task == CLASSIFICATION
    y = labels_of(values) if classify else _numbers(values, target)
    notes += [f"{n_dropped} rows without a target are left out."] if n_dropped else []
    observations = _observations(rest, y, classify, roles, split_by, decimal)
    n_different = len(observations.first())
    if n_different < MIN_ROWS:
        raise TableError(
            f"The table has {len(y)} rows with a target, but only {n_different} different ones; "
            f"at least {MIN_ROWS} are needed."
        )
    if classify:
        rare = _rare_classes(y[observations.first()], target)
        notes += [
            f"Class {str(label)!r} has fewer than {_MIN_CLASS} rows, which are left out."
            for label in rare
        ]
        if len(rare):
            kept = np.flatnonzero(~np.isin(y, rare))
            rest, y = rows_of(rest, kept), y[kept]
            observations = _observations(rest, y, classify, roles, split_by, decimal)
    return UsableRows(rest, y, task, why, n_dropped, decimal, observations, notes)


def _observations(rest, y, classify, roles, split_by, decimal):
    ignored = {name for name, role in roles.items() if role in ("drop", "identifier")} - {split_by}

    def is_identifier(name):
        if name == split_by:
            return False
        return decide_kind(rest[name], name, roles.get(name), decimal)[0] is None

    columns = [name for name in rest.columns if name not in ignored]
    return Observations.of(rest, y, classify, columns, is_identifier)


def _numbers(values, target):
    try:
        y = float_column(values, target)
    except ValueError:
        raise TableError(
            f"Column {target!r} holds text and cannot be a regression target. Use --task "
            "classification."
        ) from None
    if not np.all(np.isfinite(y)):
        raise TableError(f"Column {target!r} holds infinite values.")
    if np.abs(y).max() > _LARGEST:
        raise TableError(
            f"Column {target!r} holds numbers beyond {_LARGEST:g}, whose squares overflow. Use "
            "other units."
        )
    return y


def _rare_classes(y, target):
    """Return the classes that are too small to fit and to evaluate."""
    classes, _, counts = counted_labels(y)
    if len(classes) < 2:
        raise TableError(
            f"Column {target!r} has only one class ({str(classes[0])!r}); at least two are needed."
        )
    if np.sum(counts >= _MIN_CLASS) < 2:
        raise TableError(
            f"Column {target!r} has {len(classes)} classes in {len(y)} rows; at least two classes "
            f"need {_MIN_CLASS} rows each. If the target is a number, use --task regression."
        )
    return classes[counts < _MIN_CLASS]
