"""Tabular learners with one untuned configuration each, for the arena and for tables of users: those that are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from .front_door import SpectralClassifier, SpectralRegressor
from .inputs import TableInputs

_GRID = {"C": [1.0, 10.0, 100.0], "gamma": [0.1, 0.3, 1.0]}  # gamma in units of 1 / number of columns


def installed() -> list[str]:
    """Names of the learners that can be built here."""
    return [name for name, (package, _) in _BUILDERS.items() if find_spec(package) is not None]


def build(name: str, frame: Any, labels: bool, seed: int) -> Any:
    """An unfitted learner for a frame; ``labels`` for classes, else values."""
    return _BUILDERS[name][1](frame, labels, seed)


def _front(frame, labels, seed, **parameters):
    return (SpectralClassifier if labels else SpectralRegressor)(random_state=seed, **parameters)


def _histogram_trees(frame, labels, seed):
    build = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    trees = build(categorical_features="from_dtype", random_state=seed)
    many = [column for column in _categories(frame) if frame[column].nunique() > 255]
    if not many:
        return trees
    # Of more levels than there are bins, numbers of levels.
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    coded = make_column_transformer((encoder, many), remainder="passthrough", verbose_feature_names_out=False)
    return make_pipeline(coded.set_output(transform="pandas"), trees)


def _forest(frame, labels, seed):
    build = RandomForestClassifier if labels else RandomForestRegressor
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    return make_pipeline(
        make_column_transformer((encoder, _categories(frame)), remainder="passthrough"),
        build(n_estimators=300, random_state=seed),
    )


def _support_vectors(frame, labels, seed):
    n_columns = TableInputs().fit(frame).sources_.size
    grid = {"C": _GRID["C"], "gamma": [gamma / n_columns for gamma in _GRID["gamma"]]}
    if labels:
        return make_pipeline(TableInputs(), GridSearchCV(SVC(probability=True, random_state=seed), grid, cv=3))
    search = GridSearchCV(SVR(), grid, cv=3)
    return make_pipeline(TableInputs(), TransformedTargetRegressor(search, transformer=StandardScaler()))


def _lightgbm(frame, labels, seed):
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if labels else LGBMRegressor)(random_state=seed, verbose=-1)


def _xgboost(frame, labels, seed):
    from xgboost import XGBClassifier, XGBRegressor

    return _Coded((XGBClassifier if labels else XGBRegressor)(enable_categorical=True, random_state=seed), labels)


def _catboost(frame, labels, seed):
    from catboost import CatBoostClassifier, CatBoostRegressor

    build = CatBoostClassifier if labels else CatBoostRegressor
    model = build(
        cat_features=_categories(frame), random_seed=seed, thread_count=1, verbose=0, allow_writing_files=False
    )
    return _Coded(model, labels, texts=_categories(frame))


def _xrfm(frame, labels, seed):
    from xrfm import xRFM

    machine = _HoldingOut(xRFM(random_state=seed, n_threads=1, verbose=False), labels, seed)
    scaled = (
        machine if labels else TransformedTargetRegressor(machine, transformer=StandardScaler(), check_inverse=False)
    )
    return make_pipeline(TableInputs(), _Coded(scaled, labels))


def _real_mlp(frame, labels, seed):
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    return (RealMLP_TD_Classifier if labels else RealMLP_TD_Regressor)(random_state=seed, n_threads=1)


def _categories(frame):
    return [column for column in frame.columns if str(frame[column].dtype) == "category"]


class _HoldingOut(BaseEstimator):
    """A learner that wants rows of its own to stop by: a fifth, in float32."""

    def __init__(self, model: Any, labels: bool, seed: int):
        self.model, self.labels, self.seed = model, labels, seed

    def fit(self, X: Any, y: np.ndarray) -> _HoldingOut:
        y = np.ravel(y).astype(np.int64 if self.labels else np.float32)
        few = self.labels and np.bincount(y).min() < 2
        parts = train_test_split(
            np.asarray(X, np.float32),
            y,
            test_size=0.2,
            random_state=self.seed,
            stratify=y if self.labels and not few else None,
        )
        self.fitted_ = self.model.fit(parts[0], parts[2], parts[1], parts[3])
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.ravel(self.fitted_.predict(np.asarray(X, np.float32)))

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.fitted_.predict_proba(np.asarray(X, np.float32)))


class _Coded(BaseEstimator):
    """A learner that is given classes as whole numbers, and (``texts``) categories as text without holes."""

    def __init__(self, model: Any, labels: bool, texts: list[str] | None = None):
        self.model, self.labels, self.texts = model, labels, texts

    def fit(self, X: Any, y: np.ndarray) -> _Coded:
        codes = y
        if self.labels:
            self.classes_, codes = np.unique(y, return_inverse=True)
        self.model.fit(self._read(X), codes)
        self.n_rows_ = len(y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        predicted = np.asarray(self.model.predict(self._read(X))).ravel()
        return self.classes_[predicted.astype(int)] if self.labels else predicted

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.model.predict_proba(self._read(X)))

    def _read(self, X):
        if not self.texts:
            return X
        return X.assign(**{c: X[c].astype(object).where(X[c].notna(), "missing").astype(str) for c in self.texts})


_BUILDERS: dict[str, tuple[str, Callable]] = {
    "front door": ("bochner", _front),
    "front door, trees": ("bochner", lambda frame, labels, seed: _front(frame, labels, seed, trees=True)),
    "HistGradientBoosting": ("sklearn", _histogram_trees),
    "random forest": ("sklearn", _forest),
    "tuned RBF-SVM": ("sklearn", _support_vectors),
    "LightGBM": ("lightgbm", _lightgbm),
    "XGBoost": ("xgboost", _xgboost),
    "CatBoost": ("catboost", _catboost),
    "xRFM": ("xrfm", _xrfm),
    "RealMLP": ("pytabkit", _real_mlp),
}
