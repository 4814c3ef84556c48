"""Columns along which predictions must rise or fall: the parameter ``monotonic_cst``."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from ..data.columns import categorical_places, column_names, is_frame
from ..data.tables import Table
from ..data.targets import Labels, Values

# The work grows with the product of the numbers of nodes of all these columns.
MOST_COLUMNS = 3


def directions(
    monotonic_cst: Any, table: Table, categorical_features: Any, target: Labels | Values
) -> dict[int, int]:
    """Validate ``monotonic_cst``, and return 1 or −1 for each column that has a direction."""
    X = table.without_rows()
    names = column_names(X)
    signs = _signs(monotonic_cst, names, is_frame(X))
    if len(signs) > MOST_COLUMNS:
        raise ValueError(
            f"monotonic_cst has {len(signs)} columns with a direction, but at most {MOST_COLUMNS} "
            "are possible. Leave the others out."
        )
    categories = [
        names[j] for j in sorted(categorical_places(categorical_features, X) & set(signs))
    ]
    if categories:
        raise ValueError(
            f"monotonic_cst has a direction for {categories[0]!r}, which is a category without an "
            "order. Leave it out, or give the column as numbers."
        )
    if isinstance(target, Values) and target.rows.shape[1] > 1:
        raise ValueError(
            f"monotonic_cst needs one output, but y has {target.rows.shape[1]}. Fit one model for "
            "each output."
        )
    if isinstance(target, Labels) and len(target.classes) > 2:
        raise ValueError(
            f"monotonic_cst needs two classes, but y has {len(target.classes)}. Fit one model for "
            "each class against all others."
        )
    return signs


def _signs(monotonic_cst, names, has_names):
    """Return the columns with a direction other than zero."""
    if isinstance(monotonic_cst, Mapping):
        if not has_names:
            raise ValueError(
                "monotonic_cst names columns, but X is an array without names. Write a list with "
                "one of -1, 0 and 1 for each column, or give X as a frame."
            )
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            raise ValueError(
                f"monotonic_cst names the column {unknown[0]!r}, which X does not have. The "
                f"columns are {', '.join(map(repr, names))}."
            )
        signs = {names.index(name): sign for name, sign in monotonic_cst.items()}
    else:
        given = [monotonic_cst] if isinstance(monotonic_cst, str) else np.ravel(monotonic_cst)
        if len(given) != len(names):
            raise ValueError(
                f"monotonic_cst has {len(given)} entries, but X has {len(names)} columns. Write "
                "one of -1, 0 and 1 for each column, or a dict of column names."
            )
        signs = dict(enumerate(given))
    for j, sign in signs.items():
        is_number = isinstance(sign, Integral | np.floating | float) and not isinstance(sign, bool)
        if not is_number or sign not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst must be -1, 0 or 1 for each column, got {sign!r} for {names[j]!r}. "
                "Write 1 for predictions that rise with the column, -1 for those that fall."
            )
    return {j: int(sign) for j, sign in signs.items() if sign}


def refuse_monotone(model: Any, what: str, error: type[Exception] = TypeError) -> None:
    """Raise an error if a model has constraints, which its expansions do not know."""
    if model._rearrangement is not None:
        raise error(
            f"{what} would describe the model before monotonic_cst is applied. Fit a model without "
            "monotonic_cst instead."
        )
