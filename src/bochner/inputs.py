"""Columns of real tables as numbers that a kernel can use: clipped, filled in, categories beside them."""

import sys
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from ._validation import check_count, check_positive

# Indicators of one category would be the others' negative; a column that says nothing new is left out.
_DROP = "if_binary"


class SmoothScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardized columns whose far values are drawn in: z / √(1 + (z / clip)²) with z = (x − mean) / deviation.

    Near the mean it is the usual standardization; no value leaves ±clip, so that one wrong number in a column (a million where
    others are below a hundred) does not decide a linear part or flatten a kernel.  The deviation is that of the middle half of
    the values where that is far smaller than the usual one: a single wild value would otherwise shrink all others to one point.
    A column of two values has them ``gap`` apart, whatever their shares; a constant column becomes zero.

    Parameters
    ----------
    clip : float, default 3.0
    gap : float, default 1.5

    Attributes
    ----------
    center_, scale_ : (n_features,), z = (x − center_) / scale_

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Mean and deviation of each column."""
        check_positive(self.clip, "clip")
        check_positive(self.gap, "gap")
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for j in range(X.shape[1]):
            center[j], scale[j] = _center_and_scale(X[:, j].astype(np.float64), self.gap)
        self.center_, self.scale_ = center, scale
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Clipped columns in the dtype of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        with np.errstate(over="ignore"):  # a huge number far outside becomes infinite, and then ±clip
            z = (X - self.center_) / self.scale_
            return (self.clip * _unit_sigmoid(z / self.clip)).astype(X.dtype, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _center_and_scale(values, gap):
    low, high = values.min(), values.max()
    if not high > low:
        return low, 1.0
    if np.all((values == low) | (values == high)):
        return values.mean(), (high - low) / gap
    size = max(abs(low), abs(high))
    center, deviation = values.mean(), size * np.std(values / size)  # squares of huge numbers are no numbers
    quartiles = np.quantile(values, [0.25, 0.5, 0.75])
    robust = (quartiles[2] - quartiles[0]) / 1.349  # the deviation, for a normal law
    if 0 < robust < deviation / 10:
        return quartiles[1], robust
    return (center, deviation) if deviation > 0 else (low, 1.0)


def _unit_sigmoid(z):
    """z / √(1 + z²), ±1 at infinity."""
    return np.sign(z) / np.sqrt(1 + 1 / np.where(z == 0, np.inf, z) ** 2)


class TableInputs(TransformerMixin, BaseEstimator):
    """A table as it is, numbers, categories, booleans and missing values, as one matrix of floats for kernel models.

    Numbers: the median for missing values, with an indicator column where training rows lacked some, then ``SmoothScaler``.
    Categories: one column a level, ``gap`` or zero; levels beyond the ``max_levels`` most frequent ones share a column, and a
    level that was not seen while fitting counts as one of those, or as none.  Columns without a single value are left out.

    Parameters
    ----------
    categorical_features : "from_dtype", or a list of column names or numbers
        "from_dtype" takes text, categories and objects of a pandas or polars frame; arrays of numbers have none.
    max_levels : int, default 50
    clip, gap : float, default 3.0 and 1.5

    Attributes
    ----------
    columns_ : the fitted ColumnTransformer
    n_features_in_, feature_names_in_

    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 2.0, None, 4.0], "kind": ["a", "b", "c", "a"]})
    >>> TableInputs().fit(table).get_feature_names_out().tolist()
    ['size', 'missingindicator_size', 'kind_a', 'kind_b', 'kind_c']
    """

    def __init__(
        self, categorical_features: Any = "from_dtype", *, max_levels: int = 50, clip: float = 3.0, gap: float = 1.5
    ):
        self.categorical_features = categorical_features
        self.max_levels = max_levels
        self.clip = clip
        self.gap = gap

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians, scales and levels."""
        check_count(self.max_levels, "max_levels", minimum=2)
        table = self._table(X, reset=True)
        categorical = self._categorical(table)
        apart_from = set(categorical)
        numeric = [name for name in _names(table) if name not in apart_from and _has_values(table, name)]
        if not numeric and not categorical:
            raise ValueError("No column of the table has a value; give at least one that has.")
        numbers = make_pipeline(
            FunctionTransformer(_as_floats, feature_names_out="one-to-one"),
            SimpleImputer(strategy="median", add_indicator=True),
            SmoothScaler(self.clip, self.gap),
        )
        levels = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=self.max_levels,
            drop=_DROP,
            sparse_output=False,
            dtype=np.float64,
        )
        apart = FunctionTransformer(_times, kw_args={"factor": float(self.gap)}, feature_names_out="one-to-one")
        steps = [
            ("numbers", numbers, numeric),
            (
                "categories",
                make_pipeline(FunctionTransformer(_as_text, feature_names_out="one-to-one"), levels, apart),
                categorical,
            ),
        ]
        self.columns_ = ColumnTransformer(steps, verbose_feature_names_out=False).fit(table)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(n_samples, n_columns) floats."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        with warnings.catch_warnings():  # levels that were not seen while fitting are nothing to worry about here
            warnings.filterwarnings("ignore", message="Found unknown categories")
            return np.asarray(self.columns_.transform(table), dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: a number's own, ``missingindicator_`` of it, and one for each level."""
        check_is_fitted(self)
        return self.columns_.get_feature_names_out(input_features)

    def _table(self, X, reset):
        """A frame as it is; anything else as an array of floats, missing values allowed."""
        if not is_frame(X):
            if self._listed():
                return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
            return validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset)
        _check_feature_names(self, X, reset=reset)
        if reset:
            self.n_features_in_ = X.shape[1]
        if X.shape[0] == 0:
            raise ValueError("The table has 0 rows; give at least one.")
        return X

    def _listed(self):
        return not isinstance(self.categorical_features, str) and len(self.categorical_features) > 0

    def _categorical(self, table):
        if isinstance(self.categorical_features, str):
            if self.categorical_features != "from_dtype":
                raise ValueError(
                    f"categorical_features must be 'from_dtype' or a list of columns, got {self.categorical_features!r}."
                )
            return [name for name in _names(table) if is_frame(table) and _is_text(table[name])]
        strangers = [name for name in self.categorical_features if name not in _names(table)]
        if strangers:
            raise ValueError(f"categorical_features names {strangers}, but the columns are {_names(table)[:20]}.")
        return list(self.categorical_features)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars frame; asked without importing either."""
    frames = [getattr(sys.modules.get(name), "DataFrame", None) for name in ("pandas", "polars")]
    return isinstance(X, tuple(frame for frame in frames if frame is not None))


def _names(table):
    return list(table.columns) if is_frame(table) else list(range(table.shape[1]))


def _is_text(column):
    """Whether a column of a frame holds text, categories or objects rather than numbers, truth values or dates."""
    kind = str(column.dtype).lower()
    return kind.startswith(("object", "str", "category", "categorical", "enum", "utf8"))


def _as_floats(table):
    """Numbers, truth values and dates (in days) as floats, missing values as NaN; infinite ones count as missing."""
    if not is_frame(table):
        return table
    columns = [_float_column(table[name]) for name in _names(table)]
    return np.column_stack(columns) if columns else np.empty((table.shape[0], 0))


def _has_values(table, name):
    column = _float_column(table[name] if is_frame(table) else table[:, name])
    return not np.all(np.isnan(column))


def _float_column(column):
    values = np.asarray(column)
    if values.dtype.kind in "Mm":
        days = (
            values.astype("datetime64[s]" if values.dtype.kind == "M" else "timedelta64[s]").astype(np.float64) / 86400
        )
        return np.where(np.isnat(values), np.nan, days)
    if values.dtype.kind == "O":  # nullable numbers
        values = np.array([np.nan if _is_missing(value) else float(value) for value in values])
    values = values.astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _is_missing(value):
    """None, NaN, NaT, or pandas' own NA, which is equal to nothing and no truth value."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _as_text(table):
    """Values of any type as text, missing ones as a level of their own; a frame with the same names."""
    columns = [
        _text_column(np.asarray(table[name] if is_frame(table) else table[:, name], dtype=object))
        for name in _names(table)
    ]
    array = np.column_stack(columns) if columns else np.empty((table.shape[0], 0), dtype=object)
    if not is_frame(table):
        return array
    return type(table)({name: array[:, k] for k, name in enumerate(_names(table))})


def _text_column(values):
    return np.array(["missing" if _is_missing(value) else str(value) for value in values], dtype=object)


def _times(X, factor):
    return X * factor
