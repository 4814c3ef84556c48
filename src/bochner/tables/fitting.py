"""A model for a table: the front door fitted on one part, judged on a part it has not seen, rivals beside it."""

import time
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from .._columns import float_column
from .._text import one_line
from ..experiments._untuned import build, installed
from ..front_door import SpectralClassifier, SpectralRegressor
from ..front_door.notebook import prior_in_words
from ..inputs import TableInputs
from .columns import ColumnReader, checked_roles
from .judging import judged, verdict
from .reading import TableError, with_different_names
from .target import labels_of, split_target, task_of
from .written_numbers import POINT

MIN_ROWS = 20
_MIN_CLASS = 4
_HELD_OUT = 0.25
_SVM_ROWS = 5000
_POINTS_SHOWN = 400


class TableModel(Pipeline):
    """A scikit-learn pipeline of a ``ColumnReader`` and the front door, with ``facts_`` on how ``fit_table`` judged it (plain JSON values).

    Made by ``fit_table``; the parameters are those of ``sklearn.pipeline.Pipeline``.

    Parameters
    ----------
    steps : list of (name, estimator)
        The reader of columns, and the model.
    transform_input : list of str, default None
        Metadata that earlier steps transform before later ones get it.
    memory : str or joblib.Memory, default None
        Where fitted transformers are kept.
    verbose : bool, default False
        Whether the time of each step is printed.

    Examples
    --------
    >>> from bochner.tables.columns import ColumnReader
    >>> from bochner import SpectralRegressor
    >>> TableModel([("columns", ColumnReader()), ("model", SpectralRegressor())])[-1]
    SpectralRegressor()
    """

    facts_: dict[str, Any]


def fit_table(
    frame: Any, target: str, task: str = "auto", seed: int = 0, roles: dict[str, str] | None = None
) -> TableModel:
    """Fit ``SpectralClassifier`` or ``SpectralRegressor`` to predict one column of a pandas frame.

    A quarter of the rows is held out.  The model that is returned is fitted on the rest only: the certificate is a statement about
    exactly this model.

    Parameters
    ----------
    frame : pandas DataFrame
        The table, target included.
    target : str
        Name of the column to predict.
    task : "auto", "classification" or "regression", default "auto"
        "auto" decides by the kind and the number of different values of the target.
    seed : int, default 0
        Decides which rows are held out, and everything else that is random.
    roles : dict, default None
        Overrules what ``ColumnReader`` makes of columns: {"zip": "category", "day": "date", "number": "identifier", "old price": "drop",
        "size": "number"}.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> x = np.linspace(0, 6, 120)
    >>> model = fit_table(pd.DataFrame({"x": x, "y": np.sin(x)}), "y")
    >>> model.facts_["task"], model.facts_["n_test"]
    ('regression', 30)
    """
    frame = with_different_names(frame)
    if target in (roles or {}):
        raise TableError(f"Column {target!r} is the target; its role is said by the task.")
    checked_roles(roles, list(frame.columns))
    decimal = frame.attrs.get("decimal", POINT)
    rest, values, n_dropped = split_target(frame, target, decimal)
    guessed, why = task_of(values)
    task = guessed if task == "auto" else task
    if len(values) < MIN_ROWS:
        raise TableError(f"The table has {len(values)} row(s) with a target; at least {MIN_ROWS} are needed.")
    classify = task == "classification"
    y = labels_of(values) if classify else _numbers(values, target)
    notes = list(frame.attrs.get("notes", []))
    notes += [f"{n_dropped} rows without a target were left out."] if n_dropped else []
    if classify:
        rare = _rare_classes(y, target)
        notes += [f"Class {str(label)!r} has fewer than {_MIN_CLASS} rows, which are left out." for label in rare]
        rest, y = rest.loc[~np.isin(y, rare)], y[~np.isin(y, rare)]
    strata = y if classify else None
    train, test = train_test_split(np.arange(len(y)), test_size=_HELD_OUT, random_state=seed, stratify=strata)
    reader = ColumnReader(roles, task=task, decimal=decimal, random_state=seed)
    # In their order in the table, by which a running number is known.
    in_order = np.argsort(train)
    X_train = reader.fit_transform(rest.iloc[train[in_order]], y[train[in_order]]).iloc[np.argsort(in_order)]
    X_test = reader.transform(rest.iloc[test])
    front_door: Any = (SpectralClassifier if classify else SpectralRegressor)(random_state=seed)
    # Rivals get numbers for names: LightGBM refuses brackets and colons.
    plain = [X.set_axis([f"column {k}" for k in range(X.shape[1])], axis=1) for X in (X_train, X_test)]
    ours, seconds = _held_out(front_door, X_train, y[train], X_test)
    entries = {"bochner": judged(ours, y[test], ours, classify) | seconds}
    for name, rival in _rivals(plain[0], len(train), classify, seed).items():
        try:
            predicted, seconds = _held_out(rival, plain[0], y[train], plain[1])
            entries[name] = judged(predicted, y[test], ours, classify) | seconds
        except Exception as error:  # a rival that cannot take these columns is no reason to have no model
            notes.append(f"{name} is left out: {one_line(error)}")
    facts = {
        "target": target,
        "task": task,
        "why_task": f"{target!r}: {why}" if task == guessed else "asked for",
        "n_rows": len(y),
        "n_train": len(train),
        "n_test": len(test),
        "n_dropped": n_dropped,
        "seed": seed,
        "columns": {name: [reader.roles_.get(name, "left out"), reason] for name, reason in reader.reasons_.items()},
        "numeric": [name for name, role in reader.roles_.items() if role == "number"],
        "dates": [name for name, role in reader.roles_.items() if role == "date"],
        "categorical": [name for name, role in reader.roles_.items() if role == "category"],
        "left_out": reader.left_out_,
        "identifiers": [name for name, role in (roles or {}).items() if role == "identifier"],
        "decimal": decimal,
        "notes": notes,
        "judged": entries,
    } | _learned(front_door, reader)
    if classify:
        facts["classes"] = front_door.classes_.tolist()
        facts["confusion"] = confusion_matrix(y[test], ours, labels=front_door.classes_).tolist()
    else:
        facts["points"] = np.column_stack([y[test], ours])[:_POINTS_SHOWN].tolist()
    model = TableModel([("columns", reader), ("model", front_door)])
    model.facts_ = facts | {"verdict": verdict(facts)}
    return model


def _held_out(model, X_train, y_train, X_test):
    """Predictions for the held-out rows, and the seconds that the fit took."""
    started = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = round(time.perf_counter() - started, 2)
    return np.asarray(model.predict(X_test)), {"seconds": seconds}


def _numbers(values, target):
    try:
        y = float_column(values, target)
    except ValueError:
        raise TableError(
            f"Column {target!r} holds text, so it cannot be a regression target; write --task classification."
        ) from None
    if not np.all(np.isfinite(y)):
        raise TableError(f"Column {target!r} holds infinite values.")
    return y


def _rare_classes(y, target):
    """Classes that are too small to fit and to judge with."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise TableError(f"Column {target!r} has one class only ({str(classes[0])!r}): there is nothing to tell apart.")
    if np.sum(counts >= _MIN_CLASS) < 2:
        raise TableError(
            f"Column {target!r} has {len(classes)} classes in {len(y)} rows, too many to learn: at least two classes need "
            f"{_MIN_CLASS} rows each. If the target is a number, write --task regression."
        )
    return classes[counts < _MIN_CLASS]


def _rivals(X, n_train, classify, seed):
    """Other models as their users would run them; trees take the columns as they are."""
    linear = LogisticRegression(max_iter=1000) if classify else Ridge()
    rivals = {"linear": make_pipeline(TableInputs(), linear)}
    if n_train <= _SVM_ROWS:
        machine = SVC() if classify else TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        rivals["RBF-SVM"] = make_pipeline(TableInputs(), machine)
    else:
        landmarks = Nystroem(n_components=300, random_state=seed)
        rivals["Nyström + linear"] = make_pipeline(TableInputs(), landmarks, linear)
    rivals["HistGradientBoosting"] = build("HistGradientBoosting", X, classify, seed)
    if "LightGBM" in installed():  # threads that wait for each other would cost it more than they bring
        rivals["LightGBM"] = build("LightGBM", X, classify, seed).set_params(n_jobs=1)
    return rivals | {"constant": DummyClassifier() if classify else DummyRegressor()}


def _learned(model, reader):
    """What the front door says of itself: the path it took, the families with their weights, the columns of the table that matter."""
    prepared = model.inputs_.get_feature_names_out()
    shares = dict.fromkeys(reader.roles_, 0.0)
    for made, share in zip(model.inputs_.names_, model.feature_importances_.tolist()):
        shares[reader.sources_[made]] += share
    members = [(m.name, m.weight, m.held_out_error, prior_in_words(m.prior, prepared)) for m in model.members_]
    headings = ("name", "weight", "held_out_error", "prior")
    return {
        "path": model.path_,
        "members": [dict(zip(headings, member)) for member in members],
        "importance": dict(sorted(shares.items(), key=lambda item: (-item[1], item[0]))),
    }
