"""A model for a table: the front door fitted on one part, judged on a part it has not seen, rivals beside it."""

import time
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from .._columns import float_column
from .._progress import stages
from .._text import one_line
from ..front_door import SpectralClassifier, SpectralRegressor
from ..front_door.notebook import prior_in_words
from .columns import ColumnReader, checked_roles
from .findings import class_curves, column_effects, importances, value_findings, worst_rows
from .judging import judged, verdict
from .metrics import TWO, Predicted, Truth, chosen_metrics
from .provenance import provenance
from .reading import TableError, with_different_names
from .rivals import rivals
from .splitting import GROUP, Split, SplitWish, split_rows
from .target import labels_of, split_target, task_of
from .thresholds import ThresholdClassifier, ThresholdWish, cheapest_threshold, out_of_sample_scores
from .written_numbers import POINT

MIN_ROWS = 20
_MIN_CLASS = 4
_LARGEST = 1e150
_RARE = 0.2  # a class with a smaller part of its equal share is rare


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
    frame: Any,
    target: str,
    task: str = "auto",
    seed: int = 0,
    roles: dict[str, str] | None = None,
    *,
    metric: str = "auto",
    threshold: str | None = None,
    split: str = "random",
    refit: bool = False,
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
    metric : str, default "auto"
        What the verdict and the comparison with rivals go by, a name in ``tables.metrics.METRICS``; "auto" is log-loss for classes and
        RMSE for numbers.
    threshold : None, "balanced" or "cost:FP,FN", default None
        Of two classes, predict the rarer one from a probability on that suits balanced accuracy or these costs, chosen on training rows
        by models that have not seen them.
    split : "random", "time:COLUMN" or "group:COLUMN", default "random"
        Hold out rows at random, the last ones in time, or whole groups, whose column is then no input.
    refit : bool, default False
        Fit all rows after judging; nothing is certified about that model.

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
    attributes = frame.attrs
    frame = frame.set_axis(range(len(frame)), axis=0)
    if target in (roles or {}):
        raise TableError(f"Column {target!r} is the target; its role is said by the task.")
    checked_roles(roles, list(frame.columns))
    wish = SplitWish.of(split, list(frame.columns), target)
    wanted = None if threshold is None else ThresholdWish.of(threshold)
    split_only = wish.kind == GROUP and wish.column not in (roles or {})
    if split_only:  # held-out rows, like later ones, are of groups that were never seen
        roles = {str(wish.column): "identifier"} | (roles or {})
    decimal = attributes.get("decimal", POINT)
    rest, values, n_dropped = split_target(frame, target, decimal)
    guessed, why = task_of(values)
    task = guessed if task == "auto" else task
    if len(values) < MIN_ROWS:
        raise TableError(f"The table has {len(values)} row(s) with a target; at least {MIN_ROWS} are needed.")
    classify = task == "classification"
    y = labels_of(values) if classify else _numbers(values, target)
    notes = list(attributes.get("notes", []))
    notes += [f"{n_dropped} rows without a target were left out."] if n_dropped else []
    if classify:
        rare = _rare_classes(y, target)
        notes += [f"Class {str(label)!r} has fewer than {_MIN_CLASS} rows, which are left out." for label in rare]
        rest, y = rest.loc[~np.isin(y, rare)], y[~np.isin(y, rare)]
    parts = split_rows(wish, rest, y, classify, seed, decimal)
    train, test, notes = parts.train, parts.test, notes + parts.notes
    truth = _truth(y, parts, classify)
    metrics = chosen_metrics(metric, truth.kind)
    if wanted is not None and truth.kind != TWO:
        raise TableError(f"A threshold is for two classes; {target!r} has {truth.kind}.")
    if metrics[0] == "r2" and np.ptp(truth.y) == 0:
        raise TableError("The held-out values are all the same, so there is no R²; write --metric rmse.")
    with stages() as bar:
        bar.begin("reading columns")
        reader = ColumnReader(roles, task=task, decimal=decimal, random_state=seed)
        # In their order in the table, by which a running number is known.
        in_order = np.argsort(train)
        ordered = train[in_order]
        X_train = reader.fit_transform(rest.iloc[ordered], y[ordered]).iloc[np.argsort(in_order)]
        X_test = reader.transform(rest.iloc[test])
        if split_only:
            reader.reasons_[wish.column] = reader.left_out_[wish.column] = "the groups that rows are held out by"
        # Rivals get numbers for names: LightGBM refuses brackets and colons.
        plain = [X.set_axis([f"column {k}" for k in range(X.shape[1])], axis=1) for X in (X_train, X_test)]
        others, left_out = rivals(plain[0], y[train], classify, seed, metrics[0])
        notes += left_out
        n_left = len(others) + 2 + (wanted is not None) + refit
        front_door: Any = (SpectralClassifier if classify else SpectralRegressor)(random_state=seed)
        if wanted is not None:
            bar.begin("choosing the threshold", n_left)
            groups = None if parts.groups is None else parts.groups[ordered]
            rows, scores = out_of_sample_scores(
                reader, front_door, rest.iloc[ordered], y[ordered], truth.positive, groups, seed
            )
            best = cheapest_threshold(scores, y[ordered][rows] == truth.positive, wanted)
            front_door = ThresholdClassifier(best, truth.positive, random_state=seed)
        bar.begin("fitting bochner", n_left - (wanted is not None))
        ours, seconds = _held_out(front_door, X_train, y[train], X_test, truth)
        entries = {"bochner": judged(ours, truth, ours) | seconds}
        for name, rival in others.items():
            bar.begin(f"fitting {name}")
            try:
                predicted, seconds = _held_out(rival, plain[0], y[train], plain[1], truth)
                entries[name] = judged(predicted, truth, ours) | seconds
            except Exception as error:  # a rival that cannot take these columns is no reason to have no model
                notes.append(f"{name} is left out: {one_line(error)}")
        bar.begin("judging")
        facts = {
            "target": target,
            "task": task,
            "why_task": f"{target!r}: {why}" if task == guessed else "asked for",
            "n_rows": len(y),
            "n_train": len(train),
            "n_test": len(test),
            "n_dropped": n_dropped,
            "seed": seed,
            "split": {"kind": wish.kind, "column": wish.column, "n_groups": _n_groups(truth)},
            "metrics": metrics,
            "refitted": refit,
            "columns": {
                name: [reader.roles_.get(name, "left out"), reason] for name, reason in reader.reasons_.items()
            },
            "numeric": [name for name, role in reader.roles_.items() if role == "number"],
            "dates": [name for name, role in reader.roles_.items() if role == "date"],
            "categorical": [name for name, role in reader.roles_.items() if role == "category"],
            "left_out": reader.left_out_,
            "identifiers": [name for name, role in (roles or {}).items() if role == "identifier"],
            "decimal": decimal,
            "notes": notes,
            "judged": entries,
            "threshold": None,
        }
        facts |= _learned(front_door) | importances(front_door, reader, X_test) | provenance(frame)
        facts["effects"] = column_effects(front_door, X_test, truth)
        columns = [name for name, share in facts["importance"].items() if share > 0]
        facts["worst"] = worst_rows(rest.iloc[test], rest.index.to_numpy()[test], truth, ours, columns)
        if classify:
            facts |= _of_classes(y, truth, ours) | class_curves(truth, ours)
            if wanted is not None:
                facts["threshold"] = _of_threshold(wanted, best, truth, ours)
        else:
            facts |= value_findings(front_door, X_test, truth, ours)
        if refit:
            bar.begin("fitting all rows")
            front_door.fit(reader.fit_transform(rest, y), y)
    model = TableModel([("columns", reader), ("model", front_door)])
    model.facts_ = facts | {"verdict": verdict(facts)}
    return model


def _truth(y: np.ndarray, parts: Split, classify: bool) -> Truth:
    """Of two classes the rarer one is to be found, of two equally rare ones the second."""
    groups = None if parts.groups is None else parts.groups[parts.test]
    if not classify:
        return Truth(y[parts.test], groups=groups)
    classes, counts = np.unique(y, return_counts=True)
    positive = classes[0] if counts[0] < counts[-1] else classes[-1]
    return Truth(y[parts.test], classes, positive.item() if isinstance(positive, np.generic) else positive, groups)


def _n_groups(truth):
    return None if truth.groups is None else len(np.unique(truth.groups))


def _held_out(model, X_train, y_train, X_test, truth):
    """Predictions for the held-out rows, and the seconds that the fit took."""
    started = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = {"seconds": round(time.perf_counter() - started, 2)}
    predicted = np.asarray(model.predict(X_test))
    if truth.classes is None:
        return Predicted(predicted), seconds
    # A class that no training row has gets no probability.
    probabilities = np.zeros((len(X_test), len(truth.classes)))
    probabilities[:, np.searchsorted(truth.classes, model.classes_)] = model.predict_proba(X_test)
    return Predicted(predicted, probabilities), seconds


def _numbers(values, target):
    try:
        y = float_column(values, target)
    except ValueError:
        raise TableError(
            f"Column {target!r} holds text, so it cannot be a regression target; write --task classification."
        ) from None
    if not np.all(np.isfinite(y)):
        raise TableError(f"Column {target!r} holds infinite values.")
    if np.abs(y).max() > _LARGEST:
        raise TableError(
            f"Column {target!r} holds numbers beyond {_LARGEST:g}, whose squares overflow; write it in other units."
        )
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


def _of_classes(y, truth, ours):
    """How many rows there are of each class, and how the held-out ones were predicted."""
    counts = [int(np.sum(y == label)) for label in truth.classes]
    return {
        "classes": truth.classes.tolist(),
        "class_counts": counts,
        "rare": min(counts) < _RARE * len(y) / len(counts),
        "positive": truth.positive if truth.kind == TWO else None,
        "confusion": confusion_matrix(truth.y, ours.y, labels=truth.classes).tolist(),
    }


def _of_threshold(wish, value, truth, ours):
    """What was asked, what was chosen, and the mistakes on held-out rows, beside those at one half."""
    found, score = truth.y == truth.positive, ours.of(truth.positive, truth)
    facts = {"asked": wish.text, "value": value, "false_positive_cost": None, "false_negative_cost": None}
    if wish.costs is not None:
        facts["false_positive_cost"], facts["false_negative_cost"] = wish.costs
    for name, at in (("mistakes", value), ("mistakes_at_half", 0.5)):
        facts[name] = [int(np.sum((score >= at) & ~found)), int(np.sum((score < at) & found))]
    return facts


def _learned(model):
    """What the front door says of itself: the path it took, and the families with their weights."""
    prepared = model.inputs_.get_feature_names_out()
    members = [
        {
            "name": m.name,
            "weight": m.weight,
            "held_out_error": m.held_out_error,
            "ridge": m.ridge if np.isfinite(m.ridge) else None,
            "seconds": round(m.seconds, 2),
            "prior": prior_in_words(m.prior, prepared),
        }
        for m in model.members_
    ]
    return {"path": model.path_, "members": members}
