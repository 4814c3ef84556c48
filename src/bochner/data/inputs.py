"""Columns of real tables as numbers that a kernel can use: clipped, filled in, categories beside
them.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted

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
    has_large_integers,
    integer_origin,
    is_frame,
    is_text,
    lists_columns,
    ordered_numbers,
    quantile,
    rank_knots,
    table_column,
    text_column,
    unit_sigmoid,
)
from .unfamiliar import UnfamiliarCells


class SmoothScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardized columns whose far values are drawn in: z / √(1 + (z / clip)²) with z = (x −
    mean) / deviation.

    Near the mean it is the usual standardization; no value leaves ±clip, so that one wrong number
    in a column (a million where others are below a hundred) does not decide a linear part or
    flatten a kernel. Where the deviation told by the quartiles, (q₇₅ − q₂₅) / 1.349, is less than a
    tenth of the usual one, it and the median take the place of deviation and mean: a single wild
    value would otherwise shrink all others to one point. A column of two values has them ``gap``
    apart, whatever their shares; a constant column becomes zero.

    Parameters
    ----------
    clip : float, default 3.0
        No value leaves ±clip.
    gap : float, default 1.5
        How far the values of a column of two are apart.

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
        """Mean and deviation of each column; a row of weight 2 counts as two rows."""
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
        """Clipped columns in the dtype of X."""
        check_is_fitted(self)
        X = check_numbers(self, X, reset=False)
        with np.errstate(
            over="ignore"
        ):  # a huge number far outside becomes infinite, and then ±clip
            z = (X - self.center_) / self.scale_
            return (self.clip * unit_sigmoid(z / self.clip)).astype(X.dtype, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TableInputs(TransformerMixin, BaseEstimator):
    """A table as it is, numbers, categories, booleans and missing values, as one matrix of floats
    for kernel models.

    Numbers: the median for missing values, with an indicator column where training rows lacked
    some, scaled as by ``SmoothScaler``, a share of ``ranks`` of that replaced by √12 (F(x) − ½),
    F(x) the share of training rows below: where rows are crowded they are then drawn apart.
    Categories: one column a level, ``gap`` or zero; levels beyond the ``max_levels`` most frequent
    ones share a column, and a level that was not seen while fitting counts as one of those, or as
    none. Categories of more than two levels that have an order (ordered ones of pandas, ``Enum`` of
    polars) or are texts of numbers ("1", "2.5") are a number beside that, the rank of the level or
    the number that is written, its median where that is missing or unseen. Columns with fewer than
    two different values are left out.

    Parameters
    ----------
    categorical_features : "from_dtype", or a list of column names, places, or truth values, default
        "from_dtype"
        "from_dtype": columns of text, categories and objects of a pandas or polars frame. A list
        adds to these: ["zip"] makes the column "zip" categorical too, whatever its type. Truth
        values are a mask, one for each column. In an array of numbers only listed columns are
        categorical.
    max_levels : int, default 50
        Levels of a category that have a column of their own, at most.
    clip : float, default 3.0
        No number leaves ±clip, as for ``SmoothScaler``.
    gap : float, default 1.5
        What a level of a category is, where it is not zero.
    ranks : float from 0 to 1, default 0.0
        Share of the ranks in what numbers become.

    Attributes
    ----------
    numbers_, ordered_, indicators_, categories_ : numbers of the input columns of each kind
    origins_ : for each of ``numbers_`` an integer that is subtracted first; zero unless a column
        holds integers beyond 2^53
    medians_, center_, scale_ : one for each of ``numbers_``, then of ``ordered_``, as in
        ``SmoothScaler``
    knots_ : for each of ``numbers_`` up to 256 values and F at each; in between F is linear
    orders_ : for each of ``ordered_`` its levels in order, None for texts of numbers
    levels_ : for each of ``categories_`` the levels that have a column; ``others_`` says whether
        the rest share one
    known_levels_ : for each of ``categories_`` all levels of the training rows
    is_category_ : for each input column whether it was taken as a category
    sources_ : for each column of the result the number of its input column
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 2.0, None, 4.0], "kind": ["a", "b", "c", "a"]})
    >>> TableInputs().fit(table).get_feature_names_out().tolist()
    ['size', 'missingindicator_size', 'kind_a', 'kind_b', 'kind_c']
    """

    def __init__(
        self,
        categorical_features: Any = "from_dtype",
        *,
        max_levels: int = 50,
        clip: float = 3.0,
        gap: float = 1.5,
        ranks: float = 0.0,
    ):
        self.categorical_features = categorical_features
        self.max_levels = max_levels
        self.clip = clip
        self.gap = gap
        self.ranks = ranks

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn medians, scales and levels; a row of weight 2 counts as two rows."""
        check_count(self.max_levels, "max_levels", minimum=2)
        check_positive(self.clip, "clip")
        check_positive(self.gap, "gap")
        if check_positive(self.ranks, "ranks", allow_zero=True) > 1:
            raise ValueError(
                f"ranks is a share, from 0 to 1, got {self.ranks!r}. Write e.g. ranks=0.5."
            )
        table = self._table(X, reset=True)
        weights = check_weights(sample_weight, table.shape[0])
        kept = slice(None) if weights is None else weights > 0
        weights = np.ones(table.shape[0]) if weights is None else weights[kept]
        self.names_ = [str(name) if is_frame(table) else f"x{name}" for name in column_names(table)]
        categorical = categorical_places(self.categorical_features, table)
        numbers, indicators, statistics, all_knots, origins = [], [], [], [], []
        for j in range(table.shape[1]):
            if j in categorical:
                continue
            column = table_column(table, j)
            origin = integer_origin(exact_values(column)[kept])
            values = float_column(column, self.names_[j], origin)[kept]
            known = np.isfinite(values)
            distinct, counts = counted(values[known], weights[known])
            if len(distinct) > 1:
                numbers.append(j)
                origins.append(origin)
                statistics.append(
                    (quantile(distinct, counts, 0.5), *center_and_scale(distinct, counts, self.gap))
                )
                all_knots.append(rank_knots(distinct, counts))
            if known.any() and not known.all():
                indicators.append(j)
        self._kinds = [column_kind(table_column(table, j)) for j in range(len(self.names_))]
        self.is_category_ = np.isin(np.arange(table.shape[1]), list(categorical))
        places = np.flatnonzero(self.is_category_).tolist()
        levels, known_levels, ordered, orders = [], [], [], []
        for j in places:
            column = table_column(table, j)
            texts = text_column(column)[kept]
            all_levels, counts = counted(texts.astype(str), weights)
            levels.append(_frequent_levels(all_levels, counts, self.max_levels))
            known_levels.append(all_levels.tolist())
            if not (
                is_frame(table) and is_text(column)
            ):  # a column of numbers that was named: they are no quantity
                continue
            order, known = declared_order(column), texts != "missing"
            distinct, counts = counted(ordered_numbers(texts, order)[known], weights[known])
            if len(distinct) > 2 and np.all(
                np.isfinite(distinct)
            ):  # of two levels the indicator says it all
                ordered.append(j)
                orders.append(order)
                statistics.append(
                    (quantile(distinct, counts, 0.5), *center_and_scale(distinct, counts, self.gap))
                )
        told = [k for k, (names, others) in enumerate(levels) if len(names) + others > 0]
        if not (numbers or indicators or told):
            # Nothing varies: one column of zeros, on which a model is a constant.
            numbers, origins, statistics, all_knots = (
                [0],
                [0],
                [(0.0, 0.0, np.inf)],
                [np.zeros((2, 1))],
            )
        self.numbers_, self.indicators_ = (
            np.array(numbers, dtype=int),
            np.array(indicators, dtype=int),
        )
        self.knots_, self.origins_ = all_knots, origins
        self.ordered_, self.orders_ = np.array(ordered, dtype=int), orders
        self.categories_ = np.array([places[k] for k in told], dtype=int)
        self.medians_, self.center_, self.scale_ = (
            np.array(statistics, dtype=float).reshape(-1, 3).T
        )
        self.levels_ = [levels[k][0] for k in told]
        self.known_levels_ = [known_levels[k] for k in told]
        self.others_ = np.array([levels[k][1] for k in told], dtype=bool)
        widths = [len(names) + others for names, others in zip(self.levels_, self.others_)]
        self.sources_ = np.concatenate(
            [self.numbers_, self.ordered_, self.indicators_, np.repeat(self.categories_, widths)]
        )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(n_samples, n_columns) floats."""
        return self._transform(X, whole=True)

    def transform_part(self, X: Any) -> np.ndarray:
        """As ``transform``, for some rows of a table: that none of their categories is known does
        not mean that the column is another one.
        """
        return self._transform(X, whole=False)

    def _transform(self, X, whole, cells: UnfamiliarCells | None = None):
        """Return the prepared columns; ``cells`` notes missing values and levels that training rows
        did not have.
        """
        check_is_fitted(self)
        table = self._table(X, reset=False)
        out = np.empty((table.shape[0], len(self.sources_)))
        known = {}
        for k, j in enumerate(self.numbers_):
            values = float_column(table_column(table, j), self.names_[j], self.origins_[k])
            known[j] = np.isfinite(values)
            out[:, k] = self._scaled(values, k)
        texts = {j: text_column(table_column(table, j)) for j in self.categories_}
        first = len(self.numbers_)
        for k, (j, order) in enumerate(zip(self.ordered_, self.orders_), first):
            out[:, k] = self._scaled(ordered_numbers(texts[j], order), k)
        first += len(self.ordered_)
        for k, j in enumerate(self.indicators_, first):
            if j not in known:
                known[j] = np.isfinite(float_column(table_column(table, j), self.names_[j]))
            out[:, k] = np.where(known[j], 0.0, self.gap)
        first += len(self.indicators_)
        for j, names, others in zip(self.categories_, self.levels_, self.others_):
            codes = _level_codes(texts[j], names)
            if whole:
                self._check_levels(table_column(table, j), codes, j, names)
            for code in range(len(names)):
                out[:, first + code] = np.where(codes == code, self.gap, 0.0)
            first += len(names)
            if others:
                out[:, first] = np.where(codes < 0, self.gap, 0.0)
                first += 1
        if cells is not None:
            self._note_unfamiliar(cells, known, texts)
        return out

    def _note_unfamiliar(self, cells, known, texts):
        """Count missing values in columns that were complete in training, and unknown levels."""
        cells.add_rows(len(next(iter([*known.values(), *texts.values()]))))
        for j in set(self.numbers_) - set(self.indicators_):
            cells.add_missing(self.names_[j], int(np.sum(~known[j])))
        for j, levels in zip(self.categories_, self.known_levels_):
            unknown = set(texts[j].tolist()) - set(levels)
            if "missing" in unknown:
                cells.add_missing(self.names_[j], int(np.sum(texts[j] == "missing")))
            unknown -= {"missing"}
            if unknown:
                cells.add_unknown(
                    self.names_[j], sum(text in unknown for text in texts[j]), unknown
                )

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
        slopes = np.zeros((table.shape[0], self.n_features_in_))
        slopes[:, self.is_category_] = np.nan
        place = {j: k for k, j in enumerate(self.numbers_)}
        for j in np.flatnonzero(~self.is_category_).tolist():
            values = float_column(
                table_column(table, j), self.names_[j], self.origins_[place[j]] if j in place else 0
            )
            if j in place:
                with np.errstate(over="ignore"):  # far outside nothing changes any more
                    z = (values - self.center_[place[j]]) / self.scale_[place[j]]
                    slopes[:, j] = (1 + (z / self.clip) ** 2) ** -1.5 / self.scale_[place[j]]
                if self._ranked(place[j]):
                    rise = np.sqrt(12) * _rises(self.knots_[place[j]], values, side)
                    slopes[:, j] += self.ranks * (rise - slopes[:, j])
            slopes[~np.isfinite(values), j] = np.nan
        return slopes

    def _scaled(self, values, k):
        """Number k of ``numbers_`` and ``ordered_``: the median for missing values, then as by
        ``SmoothScaler``.
        """
        values = np.where(np.isfinite(values), values, self.medians_[k])
        with np.errstate(
            over="ignore"
        ):  # a huge number far outside becomes infinite, and then ±clip
            z = (values - self.center_[k]) / self.scale_[k]
        scaled = self.clip * unit_sigmoid(z / self.clip)
        if not self._ranked(k):
            return scaled
        return scaled + self.ranks * (
            np.sqrt(12) * (np.interp(values, *self.knots_[k]) - 0.5) - scaled
        )

    def _ranked(self, k):
        """Whether ranks have a part in number k; of two values they say nothing."""
        return self.ranks > 0 and k < len(self.knots_) and self.knots_[k].shape[1] > 2

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: a number's own, ``order_`` of a category, ``missingindicator_`` of
        a number, and one for each level.
        """
        check_is_fitted(self)
        names = [self.names_[j] for j in self.numbers_] + [
            f"order_{self.names_[j]}" for j in self.ordered_
        ]
        names += [f"missingindicator_{self.names_[j]}" for j in self.indicators_]
        for j, levels, others in zip(self.categories_, self.levels_, self.others_):
            names += [
                f"{self.names_[j]}_{level}"
                for level in [*levels, *(["(others)"] if others else [])]
            ]
        return np.array(names, dtype=object)

    def _table(self, X, reset):
        """A frame as it is; anything else as an array of floats, missing values allowed."""
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
        """Dates where there were numbers, or the other way round, are another column; one that is
        all missing may have any type.
        """
        for j, before in enumerate(self._kinds):
            column = table_column(frame, j)
            if self.is_category_[j] or {before, column_kind(column)} != {"dates", "numbers"}:
                continue
            if np.any(np.isfinite(float_column(column, self.names_[j]))):
                raise ValueError(
                    f"Column {self.names_[j]!r} held {before} while fitting, but now holds "
                    f"{column_kind(column)} such as "
                    f"{np.asarray(column)[0]}. Give the same columns in the same order, of the "
                    "same types."
                )

    def check_columns(self, frame: Any) -> None:
        """Refuse a frame, which need not have rows, of other columns than while fitting: by their
        names, number and types.
        """
        check_is_fitted(self)
        _check_feature_names(self, frame, reset=False)
        if frame.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        for j, before in enumerate(self._kinds):
            kind = column_kind(table_column(frame, j))
            another = {before, kind} == {"dates", "numbers"}
            if self.is_category_[j]:
                another = before == "objects" and kind != "objects"
            if another:
                raise ValueError(
                    f"Column {self.names_[j]!r} held {before} while fitting, but now holds {kind}. "
                    "Give the same columns in the same "
                    "order, of the same types."
                )

    def _check_levels(self, column, codes, j, names):
        """Numbers or dates where there were categories, and none of them known: another column, not
        unseen levels.
        """
        if not len(names) or np.any(codes >= 0) or column_kind(column) == "objects":
            return
        values = np.asarray(column)
        if np.any(values == values):  # what is all missing may have any type
            raise ValueError(
                f"Column {self.names_[j]!r} held categories such as {names[0]!r} while fitting, "
                f"but now holds {column_kind(column)} such "
                f"as {values[0]}. Give the same columns in the same order, of the same types."
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _frequent_levels(levels, counts, max_levels):
    """Return the sorted levels that get a column of their own, and whether the others share one.

    Of two levels the first needs none, and a column that is all one level has no column.
    """
    if len(levels) <= 2:
        return levels[1:].astype(object), False
    if len(levels) <= max_levels:
        return levels.astype(object), False
    often = np.sort(np.argsort(-counts, kind="stable")[: max_levels - 1])
    return levels[often].astype(object), True


def _rises(knots, values, side):
    """Slope of the function that is linear between the knots; at a knot from one side, or the mean
    of both.
    """
    knots, shares = knots
    rises = np.concatenate([[0.0], np.diff(shares) / np.diff(knots), [0.0]])
    below, above = (rises[np.searchsorted(knots, values, side=end)] for end in ("left", "right"))
    return below if side < 0 else above if side > 0 else (below + above) / 2


def _level_codes(texts, levels):
    """The position of each text among ``levels``, −1 for others."""
    place = {level: code for code, level in enumerate(levels)}
    return np.array([place.get(text, -1) for text in texts], dtype=np.intp)
