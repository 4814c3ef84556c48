"""Other models as their users would run them, each with probabilities of classes.

They get the columns of the table as they were read: numbers, dates as days and parts of the calendar, categories
with all their levels.  Identifiers and free text are left out for every model, and no other model gets the means
of the target that ``ColumnReader`` adds for ours.
"""

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from ..untuned import build, installed
from .target import counted_labels

_SVM_ROWS = 5000
# CatBoost grows a thousand trees with a number for each class in each leaf: beyond so many rows times classes that is minutes.
_CATBOOST_WORK = 100_000
_CALIBRATION_FOLDS = 3
CONSTANT = "constant"
# What is fitted on a sample of the rows: three hundred columns of landmarks would take more memory than all else.
NYSTROEM, _NYSTROEM_ROWS = "Nyström + linear", 100_000
# What others hold in memory, some of it several times: beyond so many cells they get a sample of the rows.
_RIVAL_CELLS = 2**25


def rivals(X: Any, y: np.ndarray, classify: bool, seed: int, metric: str) -> tuple[dict[str, Any], list[str]]:
    """Return unfitted models for the columns of a table, and notes on those that are left out.

    ``X`` holds floats and pandas categories; a constant is among the models.
    """
    notes = []
    n_classes = len(counted_labels(y)[0]) if classify else 1
    linear: Any = LogisticRegression(max_iter=1000) if classify else Ridge()
    found = {"linear": make_pipeline(_numeric_columns(), linear)}
    if len(y) <= _SVM_ROWS:
        found["RBF-SVM"] = make_pipeline(_numeric_columns(), _support_vectors(y, classify))
    else:
        landmarks = Nystroem(n_components=300, random_state=seed)
        found[NYSTROEM] = make_pipeline(_numeric_columns(), landmarks, linear)
        most = _most_rows("others", X.shape[1])
        if len(y) > most:
            notes.append(f"Other models hold their rows in memory: they are fitted on {most} of the {len(y)} rows.")
        if len(y) > _NYSTROEM_ROWS:
            notes.append(f"{NYSTROEM} is fitted on {_most_rows(NYSTROEM, X.shape[1])} of the {len(y)} rows.")
    found["HistGradientBoosting"] = build("HistGradientBoosting", X, classify, seed)
    if "LightGBM" in installed():  # threads that wait for each other would cost it more than they bring
        found["LightGBM"] = build("LightGBM", X, classify, seed).set_params(n_jobs=1)
    if "CatBoost" in installed():
        if len(y) * n_classes <= _CATBOOST_WORK:
            found["CatBoost"] = build("CatBoost", X, classify, seed).set_params(model__thread_count=-1)
        else:
            work = f"{len(y)} rows x {n_classes} classes" if classify else f"{len(y)} rows"
            notes.append(f"CatBoost is left out: {work} are more than {_CATBOOST_WORK}, which would take it minutes.")
    # The best constant for what is measured.
    number = DummyRegressor(strategy="median" if metric == "mae" else "mean")
    return found | {CONSTANT: DummyClassifier() if classify else number}, notes


def _numeric_columns():
    """Return the usual preparation for models of numbers: impute and scale numbers, one column for each level."""
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore")
    return make_column_transformer(
        (numbers, make_column_selector(dtype_exclude="category")),
        (levels, make_column_selector(dtype_include="category")),
    )


def _most_rows(name, n_columns):
    most = _RIVAL_CELLS // n_columns
    return min(most, _NYSTROEM_ROWS) if name == NYSTROEM else most


def sampled_rows(name: str, shape: tuple[int, int], seed: int) -> np.ndarray | None:
    """The training rows that a rival is fitted on, None for all: a sample where these take too much memory."""
    most = _most_rows(name, shape[1])
    if name == CONSTANT or shape[0] <= most:
        return None
    return np.sort(np.random.default_rng(seed).choice(shape[0], most, replace=False))


def _support_vectors(y, classify):
    """The machine has no probabilities of its own: Platt's, from scores of rows left out."""
    if not classify:
        return TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    smallest = int(counted_labels(y)[2].min())
    folds = min(_CALIBRATION_FOLDS, smallest)
    return CalibratedClassifierCV(SVC(), cv=folds, ensemble=False) if folds >= 2 else SVC()
