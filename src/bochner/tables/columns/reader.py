"""Which columns a model looks at, and as what, decided from the training table and repeated for
every other one.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.validation import check_is_fitted

from ..._terminal.text import some_names
from ...data import release_scratches
from ..evaluate.copies import Observations
from ..evaluate.target import task_of
from ..read.reading import TableError, needed, with_different_names
from ..read.spooling import frame_of
from .column_kinds import CategoryColumn, DateColumn, NumberColumn, Strays, coded_texts
from .names import column_named, instead
from .roles import COUNTING_UP, MANY_LEVELS, WISHES, decided
from .written_numbers import POINT

_FOLDS = 5


class ColumnReader(TransformerMixin, BaseEstimator):
    """The columns of a pandas table that a model can use, as the front door takes them: floats and
    categories.

    Numbers may be written with thousands separators, currency or percent signs, a decimal comma or
    in parentheses; dates become days since 1970, and sine and cosine of the time of year, week and
    day where these vary; identifiers and free text are left out. The front door has a column for
    each of the 49 most frequent levels of a category; one that has more than 50 levels gets the
    mean of the target over the rows of a level beside it, drawn to the overall mean where these are
    few (``TargetEncoder``; for classes the share of each). ``fit_transform`` gives the training
    rows means of other folds, so that no row is told its own target; ``transform`` gives those of
    all training rows.

    Parameters
    ----------
    roles : dict of column name to "number", "date", "category", "identifier" or "drop", which
        overrules the values
    task : "auto", "classification" or "regression": what y is, for the means of the target
    decimal : "." or ",", for texts that do not tell, such as 1,234; when transforming,
        ``attrs["decimal"]`` of a frame goes first
    random_state : int, which rows are in which fold

    Attributes
    ----------
    roles_ : "number" (or a truth value), "date" or "category" for each column that is used
    reasons_ : why, for each column of the table
    left_out_ : the reason for each column that is not used
    kinds_ : how each is read again
    encoded_ : categories that have means of the target beside them
    mean_columns_ : names of the columns of these means
    sources_ : for each column of the result the one that it was made of

    >>> import pandas as pd
    >>> table = pd.DataFrame({"price": ["$1,200", "$950"] * 10, "sold": ["3.4.2021", "25.4.2021"] * 10, "id": range(20)})
    >>> reader = ColumnReader().fit(table)
    >>> reader.reasons_["price"], reader.left_out_
    ('numbers written with currency signs and thousands separators', {'id': 'an identifier by its name: every row has its own value'})
    """

    def __init__(
        self,
        roles: dict[str, str] | None = None,
        *,
        task: str = "auto",
        decimal: str = POINT,
        random_state: int = 0,
    ):
        self.roles = roles
        self.task = task
        self.decimal = decimal
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide by the values of the training table; ``y`` is for categories of many levels."""
        X = with_different_names(X)
        wishes = checked_roles(self.roles, list(X.columns))
        kinds, reasons = {}, {}
        for name in X.columns:
            kind, reasons[name] = decided(X[name], name, wishes.get(name), self.decimal)
            first = _first_of_this_name(name, X)
            if kind is not None and first is not None and name not in wishes:
                kind, reasons[name] = None, f"the same values as column {first!r}"
            if kind is not None:
                kinds[name] = kind
            release_scratches()
        if (
            not kinds
        ):  # a table of nothing but a running number and a target: then it is no identifier
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
        self.encoded_: list[str] = []
        self.mean_columns_: list[str] = []
        if y is not None:
            self._fit_means(X, np.asarray(y))
        self.sources_: dict[str, str] = {}
        for name in kinds:
            for made in self._read_one(X.head(1), name)[0]:
                if made in self.sources_:
                    raise TableError(
                        f"A column made of {name!r} would have the name of another one, {made!r}; "
                        "rename that."
                    )
                self.sources_[made] = name
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """The frame for a model of the training rows themselves; their means of the target are
        those of other rows.
        """
        frame = self.fit(X, y, **fit_params).transform(X)
        if self.encoded_:
            for name, values in self._cross_fitted(with_different_names(X), np.asarray(y)).items():
                frame[name] = values
        return frame

    def accept_strays(self, X: Any) -> Self:
        """Count texts of date columns that are no dates as missing; ``X`` are other rows of the
        training table.
        """
        for name, kind in self.kinds_.items():
            if isinstance(kind, DateColumn):
                self.kinds_[name] = kind.with_missing(X[name], name)
        return self

    def transform(self, X: Any) -> Any:
        """The frame for a model."""
        return self.read(X)[0]

    def read(self, X: Any) -> tuple[Any, list[str]]:
        """The frame for a model, and notes on what had to be changed."""
        frame, found = self.read_counting(X)
        return frame, in_words(found)

    def read_counting(self, X: Any) -> tuple[Any, dict[str, Strays]]:
        """The frame for a model, and for each column with values that had to be changed how many
        these are.
        """
        check_is_fitted(self)
        X = with_different_names(X)
        missing = [name for name in self.roles_ if name not in X.columns]
        if missing:
            raise TableError(
                f"The table lacks {some_names(missing)}, which the model was fitted "
                f"with{instead(missing[0], X.columns)}"
            )
        found: dict[str, Strays] = {}

        def columns():
            for name in self.roles_:
                made, note = self._read_one(X, name)
                found.update({name: note} if note else {})
                yield from made.items()

        return frame_of(columns(), X.index, len(self.sources_)), found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the result."""
        check_is_fitted(self)
        return np.array(list(self.sources_), dtype=object)

    def _read_one(self, X, name):
        kind, of_file = self.kinds_[name], X.attrs.get("decimal", self.decimal)
        if isinstance(kind, NumberColumn) and kind.decimal == self.decimal != of_file:
            kind = NumberColumn(
                of_file
            )  # this file has another custom than that of the fit, which the column kept to
        columns, note = kind.read(X[name], name)
        if name in self.encoded_:
            columns |= self._means(self._texts(X, name), self.encoders_[name], name)
        return columns, note

    # --- categories of many levels: means of the target ---

    def _fit_means(self, X, y):
        many = [
            n
            for n, kind in self.kinds_.items()
            if isinstance(kind, CategoryColumn) and len(kind.levels) > MANY_LEVELS
        ]
        if not many:
            return
        targets, self.target_names_ = self._targets(y)
        self.encoded_ = many
        self.mean_columns_ = [made for name in many for made in self._mean_names(name)]
        self.encoders_ = {name: _encoders(self._texts(X, name), targets) for name in many}
        for name in many:
            what = "the share of each class" if self.target_names_ else "the mean target"
            self.reasons_[name] += (
                f", more than {MANY_LEVELS}: {what} of a level stands beside the most frequent ones"
            )

    def _targets(self, y):
        """(n_samples, n_means) floats, and the classes that they are shares of; of two classes the
        share of one says it all.
        """
        task = task_of(needed("pandas").Series(y))[0] if self.task == "auto" else self.task
        if task == "regression":
            return y.astype(np.float64)[:, None], []
        classes = np.unique(y)
        shown = classes[1:] if len(classes) == 2 else classes
        return (y[:, None] == shown).astype(np.float64), [str(label) for label in shown]

    def _cross_fitted(self, X, y):
        """Return the means of the target for the training rows, each from the other folds; copies
        are in one fold.
        """
        targets, _ = self._targets(y)
        observations = Observations.of(X, y, bool(self.target_names_), list(self.roles_))
        different = y[observations.first()]
        smallest = np.unique(different, return_counts=True)[1].min() if self.target_names_ else 0
        splitter = StratifiedKFold if smallest >= _FOLDS else KFold
        folds = list(
            observations.folds(splitter(_FOLDS, shuffle=True, random_state=self.random_state), y)
        )
        columns: dict[str, np.ndarray] = {}
        for name in self.encoded_:
            texts = self._texts(X, name)
            parts = [
                (rest, self._means(texts[rest], _encoders(texts[kept], targets[kept]), name))
                for kept, rest in folds
            ]
            for made in parts[0][1]:
                columns[made] = np.empty(len(texts))
                for rest, means in parts:
                    columns[made][rest] = means[made]
        return columns

    def _texts(self, X, name):
        """One column of texts, missing ones as a level of their own."""
        codes, texts = coded_texts(X[name])
        return np.array([*texts, "missing"], dtype=object)[codes][:, None]

    def _means(self, texts, encoders, name):
        return {
            made: encoder.transform(texts)[:, 0]
            for made, encoder in zip(self._mean_names(name), encoders)
        }

    def _mean_names(self, name):
        return [f"{name}: share of {label}" for label in self.target_names_] or [
            f"{name}: mean target"
        ]


def in_words(found: dict[str, Strays]) -> list[str]:
    """Notes on values that are not what their columns hold."""
    return [f"Column {name!r}: {strays}." for name, strays in found.items()]


def _encoders(texts, targets):
    return [TargetEncoder(target_type="continuous").fit(texts, target) for target in targets.T]


def _first_of_this_name(name, X):
    """For a column whose name came again and got a number: the first one, if all values are the
    same.
    """
    first, _, number = name.rpartition(".")
    return first if number.isdigit() and first in X.columns and X[first].equals(X[name]) else None


def checked_roles(roles: dict[str, str] | None, columns: list[str]) -> dict[str, str]:
    """Return the given roles of columns; raise an error for names and roles that do not exist."""
    checked = {}
    for name, role in (roles or {}).items():
        purpose = (
            ", which is to be dropped"
            if role == "drop"
            else f", which is said to be of kind {role!r}"
        )
        checked[column_named(name, columns, purpose)] = role
        if role not in WISHES:
            raise TableError(
                f"Column {name!r} is said to be {role!r}; it may be {some_names(list(WISHES))}."
            )
    return checked
