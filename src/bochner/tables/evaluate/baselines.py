"""Untuned models of other libraries, with which ours is compared.

They get the columns as they were read: numbers, dates as days and parts of the calendar, categories
with all their levels. Identifiers and free text are left out for every model.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from ..columns.column_kinds import is_category
from ..facts import CONSTANT
from .target import counted_labels

# Above this number of rows, landmarks replace the exact support vector machine.
_SVM_ROWS = 5000
# CatBoost grows a thousand trees with a number per class in each leaf: beyond this number of rows
# times classes a fit takes minutes.
_CATBOOST_WORK = 100_000
# Three hundred columns of landmarks for all rows would need more memory than everything else.
NYSTROEM, _NYSTROEM_ROWS = "Nyström + linear", 100_000
# Other libraries hold their rows in memory, some several times: beyond this number of cells they
# are fitted on a sample of the rows.
_MAX_CELLS = 2**25


def baseline_models(
    X: Any, y: np.ndarray, classify: bool, seed: int, metric: str
) -> tuple[dict[str, Any], list[str]]:
    """Return unfitted models for the columns of a table, and notes on those that are left out.

    ``X`` holds floats and pandas categories. The last model is a constant.
    """
    notes = []
    n_classes = len(counted_labels(y)[0]) if classify else 1
    linear: Any = LogisticRegression(max_iter=1000) if classify else Ridge()
    models = {"linear": make_pipeline(_numeric_columns(), linear)}
    if len(y) <= _SVM_ROWS:
        models["RBF-SVM"] = make_pipeline(_numeric_columns(), _support_vectors(y, classify))
    else:
        landmarks = Nystroem(n_components=300, random_state=seed)
        models[NYSTROEM] = make_pipeline(_numeric_columns(), landmarks, linear)
        most = _most_rows("others", X.shape[1])
        if len(y) > most:
            notes.append(
                f"Other models need all rows in memory: they are fitted on {most} of the {len(y)} "
                "rows."
            )
        if len(y) > _NYSTROEM_ROWS:
            most = _most_rows(NYSTROEM, X.shape[1])
            notes.append(f"{NYSTROEM} is fitted on {most} of the {len(y)} rows.")
    models["HistGradientBoosting"] = histogram_trees(X, classify, seed)
    if "LightGBM" in installed():
        models["LightGBM"] = lightgbm(X, classify, seed)
    if "CatBoost" in installed():
        if len(y) * n_classes <= _CATBOOST_WORK:
            models["CatBoost"] = catboost(X, classify, seed)
        else:
            work = f"{len(y)} rows x {n_classes} classes" if classify else f"{len(y)} rows"
            notes.append(
                f"CatBoost is left out: {work} are more than {_CATBOOST_WORK}, a fit would take "
                "minutes."
            )
    # The best constant for the metric.
    number = DummyRegressor(strategy="median" if metric == "mae" else "mean")
    return models | {CONSTANT: DummyClassifier() if classify else number}, notes


def installed() -> list[str]:
    """Return the names of the other libraries that are installed."""
    return [name for name in ("LightGBM", "CatBoost") if find_spec(name.lower()) is not None]


def histogram_trees(X: Any, classify: bool, seed: int) -> Any:
    """Return scikit-learn's boosted trees; columns with more levels than bins become numbers."""
    build = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    trees = build(categorical_features="from_dtype", random_state=seed)
    many = [column for column in _categories(X) if X[column].nunique() > 255]
    if not many:
        return trees
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    coded = make_column_transformer(
        (encoder, many), remainder="passthrough", verbose_feature_names_out=False
    )
    return make_pipeline(coded.set_output(transform="pandas"), trees)


def lightgbm(X: Any, classify: bool, seed: int) -> Any:
    """Return LightGBM's model on one thread; several threads would wait for each other."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if classify else LGBMRegressor)(random_state=seed, n_jobs=1, verbose=-1)


def catboost(X: Any, classify: bool, seed: int) -> Any:
    """Return CatBoost's model on all threads, with categories as text."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    build, texts = CatBoostClassifier if classify else CatBoostRegressor, _categories(X)
    options = {"thread_count": -1, "verbose": 0, "allow_writing_files": False}
    return _WithTexts(build(cat_features=texts, random_seed=seed, **options), classify, texts)


def _categories(X):
    return [column for column in X.columns if is_category(X[column])]


class _WithTexts(BaseEstimator):
    """A model that gets classes as integers, and the columns ``texts`` as complete text."""

    def __init__(self, model: Any, classify: bool, texts: list[str]):
        self.model, self.classify, self.texts = model, classify, texts

    def fit(self, X: Any, y: np.ndarray) -> "_WithTexts":
        codes = y
        if self.classify:
            self.classes_, codes = np.unique(y, return_inverse=True)
        self.model.fit(self._read(X), codes)
        return self

    def predict(self, X: Any) -> np.ndarray:
        predicted = np.asarray(self.model.predict(self._read(X))).ravel()
        return self.classes_[predicted.astype(int)] if self.classify else predicted

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.model.predict_proba(self._read(X)))

    def _read(self, X):
        cells = X[self.texts].astype(object).where(X[self.texts].notna(), "missing")
        return X.assign(**cells.astype(str))


def _numeric_columns():
    """Return the usual preparation: impute and scale numbers, one-hot encode categories."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    levels = OneHotEncoder(handle_unknown="ignore")
    return make_column_transformer(
        (numbers, make_column_selector(dtype_exclude="category")),
        (levels, make_column_selector(dtype_include="category")),
    )


def _most_rows(name, n_columns):
    most = _MAX_CELLS // n_columns
    return min(most, _NYSTROEM_ROWS) if name == NYSTROEM else most


def sampled_rows(name: str, shape: tuple[int, int], seed: int) -> np.ndarray | None:
    """Return a sample of the training rows if all would need too much memory, else None."""
    most = _most_rows(name, shape[1])
    if name == CONSTANT or shape[0] <= most:
        return None
    return np.sort(np.random.default_rng(seed).choice(shape[0], most, replace=False))


def _support_vectors(y, classify):
    """Return a support vector machine; probabilities are Platt's, from cross-validated scores."""
    if not classify:
        return TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    folds = min(3, int(counted_labels(y)[2].min()))
    return CalibratedClassifierCV(SVC(), cv=folds, ensemble=False) if folds >= 2 else SVC()
