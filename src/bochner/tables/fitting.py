"""A model for a table: the front door fitted on one part, judged on a part it has not seen, rivals
beside it.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from .._terminal.progress import stages
from .._terminal.text import one_line
from ..data import release_scratches
from ..data.unfamiliar import collect_unfamiliar
from ..tabular import SpectralClassifier, SpectralRegressor
from ..tabular.notebook import prior_in_words
from .columns.names import column_named
from .columns.reader import ColumnReader, checked_roles
from .evaluate.baselines import CONSTANT, rivals, sampled_rows
from .evaluate.copies import seen_inputs
from .evaluate.evaluation import judged, verdict
from .evaluate.findings import class_curves, column_effects, importances, value_findings, worst_rows
from .evaluate.metrics import TWO, Predicted, Truth, chosen_metrics
from .evaluate.splitting import GROUP, Split, SplitWish, split_rows
from .evaluate.target import counted_labels
from .evaluate.thresholds import (
    ThresholdClassifier,
    ThresholdWish,
    cheapest_threshold,
    out_of_sample_scores,
)
from .evaluate.usable_rows import usable_rows
from .provenance import cost_since, provenance
from .read.pieces import ROWS_AT_ONCE
from .read.reading import TableError, with_different_names
from .read.spooling import rows_of

_GROUPS = "the groups that rows are held out by"
_RARE = 0.2  # a class with a smaller part of its equal share is rare


class TableModel(Pipeline):
    """A scikit-learn pipeline of a ``ColumnReader`` and the front door, with ``facts_`` on how
    ``fit_table`` judged it (plain JSON values).

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
    >>> from bochner.tables.columns.reader import ColumnReader
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
    positive: str | None = None,
    compare: bool = True,
) -> TableModel:
    """Fit ``SpectralClassifier`` or ``SpectralRegressor`` to predict one column of a pandas frame.

    A quarter of the rows is held out. The model that is returned is fitted on the rest only: the
    certificate is a statement about exactly this model.

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
        Overrules what ``ColumnReader`` makes of columns: {"zip": "category", "day": "date",
        "number": "identifier", "old price": "drop", "size": "number"}.
    metric : str, default "auto"
        What the verdict and the comparison with rivals go by, a name in ``tables.metrics.METRICS``;
        "auto" is log-loss for classes and RMSE for numbers.
    threshold : None, "balanced" or "cost:FP,FN", default None
        Of two classes, predict the rarer one from a probability on that suits balanced accuracy or
        these costs, chosen on training rows by models that have not seen them.
    split : "random", "time:COLUMN" or "group:COLUMN", default "random"
        Hold out rows at random, the last ones in time, or whole groups, whose column is then no
        input.
    refit : bool, default False
        Fit all rows after judging; nothing is certified about that model.
    positive : str, default None
        Of two classes the one to be found, as it is written; None is the rarer one.
    compare : bool, default True
        Fit rivals too, beside a constant.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> x = np.linspace(0, 6, 120)
    >>> model = fit_table(pd.DataFrame({"x": x, "y": np.sin(x)}), "y")
    >>> model.facts_["task"], model.facts_["n_test"]
    ('regression', 30)
    """
    started = time.perf_counter()
    frame = with_different_names(frame)
    target = column_named(target, frame.columns)
    wishes = _Wishes.of(list(frame.columns), target, roles, split, threshold)
    rows = usable_rows(frame, target, task, wishes.roles, wishes.split.column)
    parts = split_rows(
        wishes.split, rows.rest, rows.y, rows.classify, seed, rows.decimal, rows.observations
    )
    truth = _truth(rows.y, parts, rows.classify, positive)
    metrics = chosen_metrics(metric, truth.kind)
    _check_judging(truth, target, metrics, wishes)
    notes = [*rows.notes, *parts.notes]
    with stages() as bar, collect_unfamiliar():  # held-out rows may have levels of their own
        bar.begin("reading columns")
        reader = ColumnReader(wishes.roles, task=rows.task, decimal=rows.decimal, random_state=seed)
        X_train, X_test = _read_columns(reader, rows, parts)
        if wishes.split_only:
            reader.reasons_[wishes.split.column] = reader.left_out_[wishes.split.column] = _GROUPS
        y_train = rows.y[parts.train]
        plain = [_plain_columns(reader, X) for X in (X_train, X_test)]
        others, of_others = rivals(plain[0], y_train, rows.classify, seed, metrics[0])
        others = others if compare else {CONSTANT: others[CONSTANT]}
        n_left = len(others) + 2 + (wishes.threshold is not None) + refit
        front_door: Any = (SpectralClassifier if rows.classify else SpectralRegressor)(
            random_state=seed
        )
        if wishes.threshold is not None:
            bar.begin("choosing the threshold", n_left)
            front_door = _with_threshold(
                front_door, reader, rows, parts, truth, wishes.threshold, seed
            )
        bar.begin("fitting bochner", n_left - (wishes.threshold is not None))
        ours, seconds = _held_out(front_door, X_train, y_train, X_test, truth)
        entries = {"bochner": judged(ours, truth, ours) | seconds}
        for name, rival in others.items():
            bar.begin(f"fitting {name}")
            try:
                some = sampled_rows(name, plain[0].shape, seed)
                fitted = (
                    (plain[0], y_train) if some is None else (plain[0].iloc[some], y_train[some])
                )
                with np.errstate(all="ignore"):  # huge numbers overflow in other libraries
                    predicted, seconds = _held_out(rival, *fitted, plain[1], truth)
                entries[name] = judged(predicted, truth, ours) | seconds
            except (
                Exception
            ) as error:  # a rival that cannot take these columns is no reason to have no model
                notes.append(f"{name} is left out: {one_line(error)}")
        bar.begin("judging")
        facts = {
            "target": target,
            "task": rows.task,
            "why_task": rows.why_task,
            "n_rows": len(rows.y),
            "n_train": len(parts.train),
            "n_test": len(parts.test),
            "n_dropped": rows.n_dropped,
            "seed": seed,
            "repeated": _repeated(rows.observations),
            "seen": _seen(reader, rows, parts),
            "split": {
                "kind": wishes.split.kind,
                "column": wishes.split.column,
                "n_groups": _n_groups(truth),
            },
            "metrics": metrics,
            "refitted": refit,
            "identifiers": [name for name, role in wishes.roles.items() if role == "identifier"],
            "decimal": rows.decimal,
            "file": _of_file(frame),
            "notes": notes + (of_others if compare else []),
            "judged": entries,
            "threshold": None,
        }
        facts |= _of_columns(reader) | _learned(front_door) | provenance(frame)
        facts |= _of_held_out(front_door, reader, rows, parts, X_test, truth, ours)
        if wishes.threshold is not None:
            facts["threshold"] = _of_threshold(wishes.threshold, front_door.threshold, truth, ours)
        if refit:
            bar.begin("fitting all rows")
            front_door.fit(reader.fit_transform(rows.rest, rows.y), rows.y)
    model = TableModel([("columns", reader), ("model", front_door)])
    model.facts_ = facts | {"verdict": verdict(facts), "cost": cost_since(started)}
    return model


@dataclass(frozen=True)
class _Wishes:
    """What was asked for, checked against the names of the columns."""

    roles: dict[str, str]
    split: SplitWish
    threshold: ThresholdWish | None
    split_only: bool

    @classmethod
    def of(cls, columns, target, roles, split, threshold):
        roles = checked_roles(roles, columns)
        if target in roles:
            raise TableError(f"Column {target!r} is the target; its role is said by the task.")
        wish = SplitWish.of(split, columns, target)
        wanted = None if threshold is None else ThresholdWish.of(threshold)
        # Held-out rows, like later ones, are of groups that were never seen.
        split_only = wish.kind == GROUP and wish.column not in roles
        own = {str(wish.column): "identifier"} if split_only else {}
        return cls(own | roles, wish, wanted, split_only)


def _check_judging(truth, target, metrics, wishes):
    """What cannot be judged or chosen is refused before any work."""
    if wishes.threshold is not None and truth.kind != TWO:
        raise TableError(f"A threshold is for two classes; {target!r} has {truth.kind}.")
    if metrics[0] == "r2" and np.ptp(truth.y) == 0:
        raise TableError(
            "The held-out values are all the same, so there is no R²; write --metric rmse."
        )


def _read_columns(reader, rows, parts):
    """The columns for a model of the rows that are fitted, in the order of ``parts.train``, and of
    those held out.
    """
    # Read in their order in the table, by which a running number is known.
    in_order = np.argsort(parts.train)
    ordered = parts.train[in_order]
    X_train = rows_of(
        reader.fit_transform(rows_of(rows.rest, ordered), rows.y[ordered]), np.argsort(in_order)
    )
    held_out = rows_of(rows.rest, parts.test)
    return X_train, reader.accept_strays(held_out).transform(held_out)


def _plain_columns(reader, X):
    """Return the columns for other models: without means of the target, and with names that
    LightGBM accepts.
    """
    X = X.drop(columns=reader.mean_columns_)
    return X.set_axis([f"column {k}" for k in range(X.shape[1])], axis=1)


def _repeated(observations):
    """Return the facts on rows that repeat another row, None if there are none."""
    if observations.n_repeated == 0:
        return None
    n_repeated, n_rows = observations.n_repeated, len(observations.numbers)
    return {"n_rows": n_repeated, "share": n_repeated / n_rows, "are_ties": observations.are_ties}


def _seen(reader, rows, parts):
    """Return the facts on held-out rows whose inputs also occur among the training rows, None if
    there are none.
    """
    n_seen = seen_inputs(rows.rest, list(reader.roles_), parts.train, parts.test)
    return {"n_rows": n_seen, "share": n_seen / len(parts.test)} if n_seen else None


def _with_threshold(front_door, reader, rows, parts, truth, wish, seed):
    """Return the model with the cheapest threshold for training rows, by models that have not seen
    them.
    """
    ordered = np.sort(parts.train)
    groups = None if parts.groups is None else parts.groups[ordered]
    y, observations = rows.y[ordered], rows.observations.take(ordered)
    seen, scores = out_of_sample_scores(
        reader,
        front_door,
        rows_of(rows.rest, ordered),
        y,
        truth.positive,
        groups,
        observations,
        seed,
    )
    best = cheapest_threshold(scores, y[seen] == truth.positive, wish)
    return ThresholdClassifier(best, truth.positive, random_state=seed)


def _of_file(frame):
    """Return what ``predict`` needs to read other text files like the one of the fit."""
    unnamed = [] if frame.attrs.get("header", True) else list(frame.columns)
    return {
        "unnamed": unnamed,
        "sep": frame.attrs.get("sep"),
        "skip_rows": frame.attrs.get("skip_rows"),
    }


def _of_columns(reader):
    """As what each column was read, and why."""
    roles = reader.roles_
    return {
        "columns": {
            name: [roles.get(name, "left out"), reason] for name, reason in reader.reasons_.items()
        },
        "numeric": [name for name, role in roles.items() if role == "number"],
        "dates": [name for name, role in roles.items() if role == "date"],
        "categorical": [name for name, role in roles.items() if role == "category"],
        "left_out": reader.left_out_,
    }


def _of_held_out(front_door, reader, rows, parts, X_test, truth, ours):
    """What the held-out rows show of the model: importances, effects, rows predicted worst, curves
    or intervals.
    """
    facts = importances(front_door, reader, X_test)
    facts["effects"] = column_effects(front_door, X_test, truth)
    columns = [name for name, share in facts["importance"].items() if share > 0]
    facts["worst"] = worst_rows(rows.rest, parts.test, truth, ours, columns)
    if rows.classify:
        return facts | _of_classes(rows.y, truth, ours) | class_curves(truth, ours)
    return facts | value_findings(front_door, X_test, truth, ours)


def _truth(y: np.ndarray, parts: Split, classify: bool, positive: str | None = None) -> Truth:
    """Of two classes the rarer one is to be found, of two equally rare ones the second, unless one
    is named.
    """
    groups = None if parts.groups is None else parts.groups[parts.test]
    if not classify:
        if positive is not None:
            raise TableError(
                f"The class to be found, {positive!r}, is for two classes; the target is numbers."
            )
        return Truth(y[parts.test], groups=groups)
    classes, _, counts = counted_labels(y)
    found = classes[0] if counts[0] < counts[-1] else classes[-1]
    if positive is not None:
        named = [label for label in classes if str(label) == positive]
        if len(classes) != 2 or not named:
            known = ", ".join(repr(str(label)) for label in classes[:5])
            raise TableError(
                f"The class to be found is one of two; {positive!r} is not one of two classes: "
                f"{known}{' …' if len(classes) > 5 else ''}."
            )
        found = named[0]
    return Truth(
        y[parts.test], classes, found.item() if isinstance(found, np.generic) else found, groups
    )


def _n_groups(truth):
    return None if truth.groups is None else len(np.unique(truth.groups))


def _held_out(model, X_train, y_train, X_test, truth):
    """Predictions for the held-out rows, some at a time, and the seconds that the fit took."""
    started = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = {"seconds": round(time.perf_counter() - started, 2)}
    if truth.classes is None:
        return Predicted(
            np.concatenate([np.asarray(model.predict(X)) for X in _blocks(X_test)])
        ), seconds
    # A class that no training row has gets no probability.
    columns = np.searchsorted(truth.classes, model.classes_)
    probabilities, labels, first = np.zeros((len(X_test), len(truth.classes))), [], 0
    for X in _blocks(X_test):
        shares = np.asarray(model.predict_proba(X))
        probabilities[first : first + len(X), columns] = shares
        labels.append(
            model._labels(shares)
            if isinstance(model, SpectralClassifier)
            else np.asarray(model.predict(X))
        )
        first += len(X)
    return Predicted(np.concatenate(labels), probabilities), seconds


def _blocks(X):
    for rows in gen_batches(len(X), ROWS_AT_ONCE):
        yield X.iloc[rows]
        release_scratches()


def _of_classes(y, truth, ours):
    """How many rows there are of each class, and how the held-out ones were predicted."""
    counts = counted_labels(y)[2].tolist()
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
    facts = {
        "asked": wish.text,
        "value": value,
        "false_positive_cost": None,
        "false_negative_cost": None,
    }
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
