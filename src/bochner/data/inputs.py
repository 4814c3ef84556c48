"""Preprocessing of tables for kernels: scaled numbers, filled gaps, encoded categories."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from .._checks import check_count, check_positive
from .checks import check_numbers, check_weights
from .columns import (
    categorical_places,
    center_and_scale,
    column_kind,
    column_names,
    counted,
    declared_order,
    exact_values,
    float_column,
    frequent_levels,
    has_large_integers,
    integer_origin,
    is_frame,
    is_text,
    level_codes,
    lists_columns,
    ordered_numbers,
    quantile,
    rank_knots,
    slopes_between,
    table_column,
    text_column,
    unit_sigmoid,
)
from .unfamiliar import MISSING, UNKNOWN, UnfamiliarCells


class SmoothScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardized columns with compressed tails: z / √(1 + (z / clip)²), z standardized.

    Near the mean this is the usual standardization. Values stay within ±clip, so that one wrong
    number, such as a million among numbers below a hundred, does not dominate a linear part or
    flatten a kernel.

    A single extreme value would shrink all others to one point. So the median and (q₇₅ − q₂₅) /
    1.349, from the quartiles, replace mean and standard deviation if the latter is more than ten
    times larger. The values of a binary column are ``gap`` apart, and a constant column becomes
    zero.

    Parameters
    ----------
    clip : float, default 3.0
        Limit of the absolute values.
    gap : float, default 1.5
        Distance between the values of a binary column.

    Attributes
    ----------
    center_, scale_ : (n_features,), z = (x − center_) / scale_

    Examples
    --------
    >>> import numpy as np
    >>> X = np.append(np.linspace(-1, 1, 50), 1e6)[:, None]
    >>> SmoothScaler().fit_transform(X)[[0, 25, -1]].round(1)
    array([[-1.2],
           [ 0. ],
           [ 3. ]])
    """

    def __init__(self, clip: float = 3.0, gap: float = 1.5):
        self.clip = clip
        self.gap = gap

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute center and scale of each column; a row of weight 2 counts as two rows."""
        check_positive(self.clip, "clip")
        check_positive(self.gap, "gap")
        X = check_numbers(self, X)
        weights = check_weights(sample_weight, len(X))
        weights = np.ones(len(X)) if weights is None else weights
        center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for j in range(X.shape[1]):
            distinct, counts = counted(X[weights > 0, j].astype(np.float64), weights[weights > 0])
            center[j], scale[j] = center_and_scale(distinct, counts, self.gap)
        self.center_, self.scale_ = center, scale
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the scaled columns in the dtype of X."""
        check_is_fitted(self)
        X = check_numbers(self, X, reset=False)
        with np.errstate(over="ignore"):  # a huge number becomes infinite, and then ±clip
            z = (X - self.center_) / self.scale_
            return (self.clip * unit_sigmoid(z / self.clip)).astype(X.dtype, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TableInputs(TransformerMixin, BaseEstimator):
    """Tables of numbers, categories, booleans and missing values as floats for kernel models.

    *Numbers* are scaled as by ``SmoothScaler``. A share of ``ranks`` of the result is replaced by
    √12 (F(x) − ½), where F(x) is the share of training rows below x; this spreads crowded values.
    Missing values are replaced by the median. If training rows had some, there is also an indicator
    column.

    *Categories* have one column per level, which is ``gap`` or zero. Levels beyond the
    ``max_levels`` most frequent ones share a column. Unknown levels belong to it, or have no
    column. Categories of more than two levels also have a column of numbers if they are ordered
    (pandas, ``Enum`` of polars) or texts of numbers ("1", "2.5"). It is the rank or the number, and
    the median for missing and unknown levels.

    With ``code_levels``, a category of more levels is one column of integer codes, for kernels such
    as ``WithCategories``. All levels of training rows have a code, and all others share one.

    Columns with fewer than two different values are dropped.

    Parameters
    ----------
    categorical_features : "from_dtype" or list, default "from_dtype"
        "from_dtype": columns of text, categories and objects of a pandas or polars frame. A list of
        column names, places or truth values (a mask) adds columns of any type, e.g. ["zip"]. In an
        array of numbers, only listed columns are categorical.
    max_levels : int, default 50
        Maximal number of levels of a category that have their own column.
    clip : float, default 3.0
        Limit of the absolute values of numbers, as in ``SmoothScaler``.
    gap : float, default 1.5
        Value of the column of a level in its rows; zero in other rows.
    ranks : float from 0 to 1, default 0.0
        Share of the ranks in scaled numbers.
    code_levels : int, default None
        Number of levels above which a category is one column of codes. None: there are no codes.

    Attributes
    ----------
    numbers_, ordered_, indicators_, categories_ : numbers of the input columns of each kind
    origins_ : for each of ``numbers_`` an integer that is subtracted first; zero unless a column
        holds integers beyond 2^53
    medians_, center_, scale_ : one for each of ``numbers_``, then of ``ordered_``, as in
        ``SmoothScaler``
    knots_ : for each of ``numbers_`` up to 256 values and F at each; in between F is linear
    orders_ : for each of ``ordered_`` its levels in order, None for texts of numbers
    levels_ : for each of ``categories_`` the levels that have a column, or a code
    others_ : for each of ``categories_``, True if its other levels share a column
    known_levels_ : for each of ``categories_`` all levels of the training rows
    coded_ : for each of ``categories_``, True if it is one column of codes
    code_columns_ : numbers of the columns of the result that hold codes
    is_category_ : for each input column, True if it is a category
    sources_ : for each column of the result the number of its input column
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 2.0, None, 4.0], "kind": ["a", "b", "c", "a"]})
    >>> TableInputs().fit(table).get_feature_names_out().tolist()
    ['size', 'missingindicator_size', 'kind_a', 'kind_b', 'kind_c']
    """

    numbers_: np.ndarray
    indicators_: np.ndarray

    def __init__(
        self,
        categorical_features: Any = "from_dtype",
        *,
        max_levels: int = 50,
        clip: float = 3.0,
        gap: float = 1.5,
        ranks: float = 0.0,
        code_levels: int | None = None,
    ):
        self.categorical_features = categorical_features
        self.max_levels = max_levels
        self.clip = clip
        self.gap = gap
        self.ranks = ranks
        self.code_levels = code_levels

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn medians, scales and levels; a row of weight 2 counts as two rows."""
        check_count(self.max_levels, "max_levels", minimum=2)
        check_positive(self.clip, "clip")
        check_positive(self.gap, "gap")
        if check_positive(self.ranks, "ranks", allow_zero=True) > 1:
            raise ValueError(
                f"ranks is a share, from 0 to 1, got {self.ranks!r}. Write e.g. ranks=0.5."
            )
        if self.code_levels is not None:
            check_count(self.code_levels, "code_levels", minimum=2)
        table = self._table(X, reset=True)
        weights = check_weights(sample_weight, table.shape[0])
        kept = slice(None) if weights is None else weights > 0
        weights = np.ones(table.shape[0]) if weights is None else weights[kept]
        self.names_ = [str(name) if is_frame(table) else f"x{name}" for name in column_names(table)]
        self._kinds = [column_kind(table_column(table, j)) for j in range(table.shape[1])]
        categorical = categorical_places(self.categorical_features, table)
        self.is_category_ = np.isin(np.arange(table.shape[1]), list(categorical))
        statistics = [
            *self._fit_numbers(table, kept, weights),
            *self._fit_categories(table, kept, weights),
        ]
        if not (len(self.numbers_) or len(self.indicators_) or len(self.categories_)):
            # Nothing varies: one column of zeros.
            self.numbers_, self.origins_ = np.array([0]), [0]
            statistics, self.knots_ = [(0.0, 0.0, np.inf)], [np.zeros((2, 1))]
        columns = np.array(statistics, dtype=float).reshape(-1, 3).T
        self.medians_, self.center_, self.scale_ = columns
        widths = [1 if one else len(names) + more for _, names, more, one in self._encodings()]
        self.sources_ = np.concatenate(
            [self.numbers_, self.ordered_, self.indicators_, np.repeat(self.categories_, widths)]
        )
        firsts = len(self.sources_) - np.cumsum(widths[::-1])[::-1]
        self.code_columns_ = firsts[self.coded_]
        return self

    def _fit_numbers(self, table, kept, weights):
        """Set the attributes of columns of numbers, and return the statistics of each."""
        numbers, indicators, statistics, all_knots, origins = [], [], [], [], []
        for j in np.flatnonzero(~self.is_category_).tolist():
            column = table_column(table, j)
            origin = integer_origin(exact_values(column)[kept])
            values = float_column(column, self.names_[j], origin)[kept]
            present = np.isfinite(values)
            distinct, counts = counted(values[present], weights[present])
            if len(distinct) > 1:
                numbers.append(j)
                origins.append(origin)
                statistics.append(self._statistics(distinct, counts))
                all_knots.append(rank_knots(distinct, counts))
            if present.any() and not present.all():
                indicators.append(j)
        self.numbers_ = np.array(numbers, dtype=int)
        self.indicators_ = np.array(indicators, dtype=int)
        self.knots_, self.origins_ = all_knots, origins
        return statistics

    def _fit_categories(self, table, kept, weights):
        """Set the attributes of categories, and return the statistics of those with numbers."""
        places = np.flatnonzero(self.is_category_).tolist()
        levels, known_levels, coded, ordered, orders, statistics = [], [], [], [], [], []
        for j in places:
            column = table_column(table, j)
            texts = text_column(column)[kept]
            all_levels, counts = counted(texts.astype(str), weights)
            coded.append(self.code_levels is not None and len(all_levels) > self.code_levels)
            most = len(all_levels) if coded[-1] else self.max_levels
            levels.append(frequent_levels(all_levels, counts, most))
            known_levels.append(all_levels.tolist())
            if not (is_frame(table) and is_text(column)):  # numbers that were declared categories
                continue
            order, present = declared_order(column), texts != "missing"
            distinct, counts = counted(ordered_numbers(texts, order)[present], weights[present])
            # For two levels a number would repeat the indicator.
            if len(distinct) > 2 and np.all(np.isfinite(distinct)):
                ordered.append(j)
                orders.append(order)
                statistics.append(self._statistics(distinct, counts))
        used = [k for k, (names, others) in enumerate(levels) if len(names) + others > 0]
        self.ordered_, self.orders_ = np.array(ordered, dtype=int), orders
        self.categories_ = np.array([places[k] for k in used], dtype=int)
        self.levels_ = [levels[k][0] for k in used]
        self.known_levels_ = [known_levels[k] for k in used]
        self.others_ = np.array([levels[k][1] for k in used], dtype=bool)
        self.coded_ = np.array([coded[k] for k in used], dtype=bool)
        return statistics

    def _statistics(self, distinct, counts):
        """Return median, center and scale of sorted distinct values."""
        return quantile(distinct, counts, 0.5), *center_and_scale(distinct, counts, self.gap)

    def transform(self, X: Any) -> np.ndarray:
        """Return the prepared columns, (n_samples, n_columns) floats."""
        return self.transform_marked(X, whole=True)[0]

    def transform_part(self, X: Any) -> np.ndarray:
        """Return the prepared columns of some rows of a table.

        Unlike in ``transform``, a column may have only unknown categories.
        """
        return self.transform_marked(X, whole=False)[0]

    def transform_marked(
        self, X: Any, whole: bool, cells: UnfamiliarCells | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the prepared columns, and marks of unfamiliar cells, (n_samples, n_features_in).

        A mark is MISSING for a missing value in a column that was complete in training. It is
        UNKNOWN for a level that training rows did not have, and 0 for all other cells.

        Parameters
        ----------
        X : frame or array
            Rows of a table.
        whole : bool
            False if a column may have only unknown categories, as in ``transform_part``.
        cells : UnfamiliarCells, default None
            Counts the marked cells.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        out = np.empty((table.shape[0], len(self.sources_)))
        columns, present = iter(out.T), {}
        for k, j in enumerate(self.numbers_):
            values = float_column(table_column(table, j), self.names_[j], self.origins_[k])
            present[j] = np.isfinite(values)
            next(columns)[:] = self._scaled(values, k)
        texts = {j: text_column(table_column(table, j)) for j in self.categories_}
        for k, (j, order) in enumerate(zip(self.ordered_, self.orders_), len(self.numbers_)):
            next(columns)[:] = self._scaled(ordered_numbers(texts[j], order), k)
        for j in self.indicators_:
            if j not in present:
                present[j] = np.isfinite(float_column(table_column(table, j), self.names_[j]))
            next(columns)[:] = np.where(present[j], 0.0, self.gap)
        for j, names, others, coded in self._encodings():
            codes = level_codes(texts[j], names)
            if whole:
                self._check_levels(table_column(table, j), codes, j, names)
            if coded:
                next(columns)[:] = np.where(codes < 0, len(names), codes)
            for code in range(0 if coded else len(names)):
                next(columns)[:] = np.where(codes == code, self.gap, 0.0)
            if others:
                next(columns)[:] = np.where(codes < 0, self.gap, 0.0)
        return out, self._unfamiliar(len(out), present, texts, cells)

    def _encodings(self):
        """Return place, levels, ``others_`` and ``coded_`` of each category."""
        return zip(self.categories_, self.levels_, self.others_, self.coded_)

    def _unfamiliar(self, n_rows, present, texts, cells):
        """Return the marks of ``transform_marked``, and count them in ``cells`` if it is given."""
        marks = np.zeros((n_rows, self.n_features_in_), dtype=np.int8)
        for j in set(self.numbers_.tolist()) - set(self.indicators_.tolist()):
            marks[~present[j], j] = MISSING
        all_unknown = {}
        for j, levels in zip(self.categories_.tolist(), self.known_levels_):
            all_unknown[j] = set(texts[j].tolist()) - set(levels)
            if all_unknown[j]:
                is_unknown = np.array([text in all_unknown[j] for text in texts[j]])
                marks[is_unknown, j] = np.where(texts[j] == "missing", MISSING, UNKNOWN)[is_unknown]
        if cells is not None:
            cells.add_rows(n_rows)
            for j in np.flatnonzero(marks.any(axis=0)).tolist():
                name = self.names_[j]
                cells.add_missing(name, int(np.sum(marks[:, j] == MISSING)))
                unknown = all_unknown.get(j, set()) - {"missing"}
                cells.add_unknown(name, int(np.sum(marks[:, j] == UNKNOWN)), unknown)
        return marks

    def slopes(self, X: Any, side: int = 0) -> np.ndarray:
        """Return ∂ (prepared column) / ∂ (its number), (n_samples, n_features_in).

        This is (1 + (z / clip)²)^(−3/2) / scale, a share of ``ranks`` of it replaced by √12 F′(x).
        Zero for numbers that are left out of the result, NaN for categories and missing numbers.

        Parameters
        ----------
        X : frame or array
            Rows at which the derivatives are computed.
        side : -1, 0 or 1, default 0
            At a knot of F, -1 is the derivative from below, 1 that from above, and 0 their mean.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        slopes = np.where(self.is_category_, np.nan, np.zeros((table.shape[0], 1)))
        place = {j: k for k, j in enumerate(self.numbers_)}
        for j in np.flatnonzero(~self.is_category_).tolist():
            k = place.get(j)
            origin = 0 if k is None else self.origins_[k]
            values = float_column(table_column(table, j), self.names_[j], origin)
            if k is not None:
                with np.errstate(over="ignore"):  # the slope of a huge number is zero
                    z = (values - self.center_[k]) / self.scale_[k]
                    slopes[:, j] = (1 + (z / self.clip) ** 2) ** -1.5 / self.scale_[k]
                if self._ranked(k):
                    rise = np.sqrt(12) * slopes_between(self.knots_[k], values, side)
                    slopes[:, j] += self.ranks * (rise - slopes[:, j])
            slopes[~np.isfinite(values), j] = np.nan
        return slopes

    def _scaled(self, values, k):
        """Return number k of ``numbers_`` and ``ordered_``, scaled; the median if it is missing."""
        values = np.where(np.isfinite(values), values, self.medians_[k])
        with np.errstate(over="ignore"):  # a huge number becomes infinite, and then ±clip
            z = (values - self.center_[k]) / self.scale_[k]
        scaled = self.clip * unit_sigmoid(z / self.clip)
        if not self._ranked(k):
            return scaled
        return scaled + self.ranks * (
            np.sqrt(12) * (np.interp(values, *self.knots_[k]) - 0.5) - scaled
        )

    def _ranked(self, k):
        """Return True if ranks are used for number k; for two values they add nothing."""
        return self.ranks > 0 and k < len(self.knots_) and self.knots_[k].shape[1] > 2

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the prepared columns.

        A column of numbers keeps its name. Other columns are named ``order_zip`` (numbers of
        a category), ``missingindicator_age``, and ``zip_10115`` (a level). A category with codes
        keeps its name, too.
        """
        check_is_fitted(self)
        names = [self.names_[j] for j in self.numbers_]
        names += [f"order_{self.names_[j]}" for j in self.ordered_]
        names += [f"missingindicator_{self.names_[j]}" for j in self.indicators_]
        for j, levels, others, coded in self._encodings():
            name = self.names_[j]
            names += [name] if coded else [f"{name}_{level}" for level in levels]
            names += [f"{name}_(others)"] * int(others)
        return np.array(names, dtype=object)

    def _table(self, X, reset):
        """Return a frame unchanged, and anything else as an array of floats that may be missing."""
        if not is_frame(X):
            keep = lists_columns(self.categorical_features) or has_large_integers(X)
            dtype = None if keep else (np.float64, np.float32)
            return check_numbers(self, X, dtype=dtype, ensure_all_finite="allow-nan", reset=reset)
        twice = {str(name) for name in X.columns if list(X.columns).count(name) > 1}
        if twice:
            raise ValueError(
                f"Columns need different names, but several are called {', '.join(sorted(twice))}."
            )
        _check_feature_names(self, X, reset=reset)
        if reset:
            self.n_features_in_ = X.shape[1]
        if X.shape[0] == 0:
            raise ValueError("The table has 0 rows; give at least one.")
        if not reset:
            self._check_kinds(X)
        if X.shape[1] == 0:
            raise ValueError(
                f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required: the table has "
                "no column."
            )
        return X

    def _check_kinds(self, frame):
        """Raise if a column had numbers and now has dates, or the reverse."""
        for j, before in enumerate(self._kinds):
            column = table_column(frame, j)
            if self.is_category_[j] or {before, column_kind(column)} != {"dates", "numbers"}:
                continue
            if np.any(np.isfinite(float_column(column, self.names_[j]))):
                now = f"{column_kind(column)} such as {np.asarray(column)[0]}"
                raise self._kind_error(j, before, now)

    def check_columns(self, frame: Any) -> None:
        """Raise if a frame has other columns than the training rows, by names, number or types."""
        _check_feature_names(self, frame, reset=False)
        _check_n_features(self, frame, reset=False)
        for j, before in enumerate(self._kinds):
            kind = column_kind(table_column(frame, j))
            another = {before, kind} == {"dates", "numbers"}
            if self.is_category_[j]:
                another = before == "objects" and kind != "objects"
            if another:
                raise self._kind_error(j, before, kind)

    def _check_levels(self, column, codes, j, names):
        """Raise if a column had categories and now has only other numbers or dates."""
        if not len(names) or np.any(codes >= 0) or column_kind(column) == "objects":
            return
        values = np.asarray(column)
        if np.any(values == values):  # a column of missing values may have any type
            now = f"{column_kind(column)} such as {values[0]}"
            raise self._kind_error(j, f"categories such as {names[0]!r}", now)

    def _kind_error(self, j, before, now):
        return ValueError(
            f"Column {self.names_[j]!r} held {before} while fitting, but now holds {now}. Give the "
            "same columns in the same order, of the same types."
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
