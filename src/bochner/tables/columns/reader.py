"""``ColumnReader``: learns from a training table how columns are read, and reads other tables."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._terminal.text import some_names
from ...data import release_scratches
from ..errors import TableError
from ..read.reading import with_unique_names
from ..read.spooling import frame_of
from .column_kinds import DateColumn, NumberColumn, Strays
from .names import column_named, instead
from .roles import COUNTING_UP, ROLES, decide_kind
from .written_numbers import POINT


class ColumnReader(TransformerMixin, BaseEstimator):
    """Reader of the columns of a pandas table that a model can use, as floats and categories.

    Numbers may be written with thousands separators, currency or percent signs, a decimal comma or
    in parentheses. Dates become days since 1970, and sine and cosine of the time of year, week and
    day if these vary. Identifiers and free text are left out.

    Parameters
    ----------
    roles : dict of column name to "number", "date", "category", "identifier" or "drop"
        These override the decisions by values.
    decimal : "." or ",", for ambiguous texts such as 1,234
        ``attrs["decimal"]`` of a frame to transform has priority.

    Attributes
    ----------
    roles_ : "number" (or a truth value), "date" or "category" for each column that is used
    reasons_ : the reason, for each column of the table
    left_out_ : the reason, for each column that is not used
    kinds_ : kind of each column, which reads it from other tables
    sources_ : input column of each output column

    >>> import pandas as pd
    >>> prices, days = ["$1,200", "$950"] * 10, ["3.4.2021", "25.4.2021"] * 10
    >>> reader = ColumnReader().fit(pd.DataFrame({"price": prices, "day": days, "id": range(20)}))
    >>> reader.reasons_["price"]
    'numbers written with currency signs and thousands separators'
    >>> reader.left_out_
    {'id': 'an identifier by its name: every row has its own value'}
    """

    def __init__(
        self,
        roles: dict[str, str] | None = None,
        *,
        decimal: str = POINT,
    ):
        self.roles = roles
        self.decimal = decimal

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide how columns are read; ``y`` is ignored."""
        X = with_unique_names(X)
        roles = checked_roles(self.roles, list(X.columns))
        kinds, reasons = {}, {}
        for name in X.columns:
            kind, reasons[name] = decide_kind(X[name], name, roles.get(name), self.decimal)
            first = _first_of_this_name(name, X)
            if kind is not None and first is not None and name not in roles:
                kind, reasons[name] = None, f"the same values as column {first!r}"
            if kind is not None:
                kinds[name] = kind
            release_scratches()
        if not kinds:  # a running number that is the only column is used
            kinds = {
                name: NumberColumn(self.decimal)
                for name, reason in reasons.items()
                if reason == COUNTING_UP
            }
            reasons |= dict.fromkeys(kinds, "numbers")
        if not kinds:
            raise TableError(
                "No column can be used: "
                f"{'; '.join(f'{name!r}: {why}' for name, why in reasons.items())}."
            )
        self.kinds_, self.reasons_ = kinds, reasons
        self.roles_ = {name: kind.role for name, kind in kinds.items()}
        self.left_out_ = {name: reasons[name] for name in X.columns if name not in kinds}
        self.sources_: dict[str, str] = {}
        for name in kinds:
            for made in self._read_one(X.head(1), name)[0]:
                if made in self.sources_:
                    raise TableError(
                        f"A column made from {name!r} would have the name of another column, "
                        f"{made!r}; rename that one."
                    )
                self.sources_[made] = name
        return self

    def accept_strays(self, X: Any) -> Self:
        """Read texts in date columns of further training rows that are not dates as missing."""
        for name, kind in self.kinds_.items():
            if isinstance(kind, DateColumn):
                self.kinds_[name] = kind.with_missing(X[name], name)
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns for a model."""
        return self.read(X)[0]

    def read(self, X: Any) -> tuple[Any, dict[str, Strays]]:
        """Return the columns for a model, and counts of values that had to be changed."""
        check_is_fitted(self)
        X = with_unique_names(X)
        missing = [name for name in self.roles_ if name not in X.columns]
        if missing:
            raise TableError(
                f"The table lacks {some_names(missing)}, which the model was fitted "
                f"with{instead(missing[0], X.columns)}"
            )
        strays: dict[str, Strays] = {}

        def columns():
            for name in self.roles_:
                made, note = self._read_one(X, name)
                if note:
                    strays[name] = note
                yield from made.items()

        return frame_of(columns(), X.index, len(self.sources_)), strays

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the output columns."""
        check_is_fitted(self)
        return np.array(list(self.sources_), dtype=object)

    def _read_one(self, X, name):
        kind, of_file = self.kinds_[name], X.attrs.get("decimal", self.decimal)
        if isinstance(kind, NumberColumn) and kind.decimal == self.decimal != of_file:
            # The column had the decimal mark of the training file, and this file has another.
            kind = NumberColumn(of_file)
        return kind.read(X[name], name)


def stray_notes(strays: dict[str, Strays]) -> list[str]:
    """Return notes on values that are not of the kind of their columns."""
    return [f"Column {name!r}: {values}." for name, values in strays.items()]


def _first_of_this_name(name, X):
    """Return the first column of the same name, if this one was numbered and has equal values."""
    first, _, number = name.rpartition(".")
    return first if number.isdigit() and first in X.columns and X[first].equals(X[name]) else None


def checked_roles(roles: dict[str, str] | None, columns: list[str]) -> dict[str, str]:
    """Return the given roles of columns; raise an error for names and roles that do not exist."""
    checked = {}
    for name, role in (roles or {}).items():
        purpose = " to drop" if role == "drop" else f" for the role {role!r}"
        checked[column_named(name, columns, purpose)] = role
        if role not in ROLES:
            raise TableError(
                f"The role of column {name!r} is {role!r}, but must be {some_names(list(ROLES))}."
            )
    return checked
