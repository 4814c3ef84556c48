"""``fit_table``: fit a tabular model, evaluate it on held-out rows, and compare it with others."""

import time
from dataclasses import dataclass, replace
from typing import Any
from warnings import catch_warnings

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._terminal.progress import stages
from .._terminal.text import one_line
from ..data import release_scratches
from ..data.unfamiliar import collect_unfamiliar
from ..tabular import SpectralClassifier, SpectralRegressor
from ..tabular.notebook import prior_in_words
from .columns.names import column_named
from .columns.reader import ColumnReader, checked_roles
from .delegation import importances_by_column, on_table_columns
from .errors import TableError
from .evaluate.baselines import baseline_models, sampled_rows
from .evaluate.copies import seen_inputs
from .evaluate.evaluation import evaluate, verdict
from .evaluate.findings import class_curves, column_effects, importances, value_findings, worst_rows
from .evaluate.metrics import MANY, TWO, Predicted, Truth, chosen_metrics
from .evaluate.splitting import GROUP, Split, SplitSpec, split_rows
from .evaluate.target import counted_labels
from .evaluate.thresholds import (
    ThresholdClassifier,
    ThresholdSpec,
    cheapest_threshold,
    out_of_sample_scores,
)
from .evaluate.usable_rows import UsableRows, usable_rows
from .facts import (
    CONSTANT,
    LEFT_OUT,
    OURS,
    ClassFacts,
    Facts,
    FileFacts,
    MemberFacts,
    RepeatedRows,
    SeenRows,
    SplitFacts,
    ThresholdFacts,
)
from .provenance import cost_since, provenance
from .read.pieces import ROWS_AT_ONCE
from .read.reading import with_unique_names
from .read.spooling import rows_of

# A class with less than this part of its equal share is rare.
_RARE = 0.2


class TableModel(Pipeline):
    """A scikit-learn pipeline of a ``ColumnReader`` and a tabular model, made by ``fit_table``.

    ``facts_`` holds the evaluation as plain JSON values. Methods of the tabular model take the
    columns of the table: ``predict_interval``, ``effects``, ``input_gradient`` and others. Their
    results are about the columns that the reader makes, ``model["columns"].sources_``.

    Parameters
    ----------
    steps : list of (name, estimator)
        The reader of columns, and the model.
    transform_input : list of str, default None
        Metadata that earlier steps transform before later ones get it.
    memory : str or joblib.Memory, default None
        Cache of fitted transformers.
    verbose : bool, default False
        If True, print the time of each step.

    Examples
    --------
    >>> from bochner.tables.columns.reader import ColumnReader
    >>> from bochner import SpectralRegressor
    >>> TableModel([("columns", ColumnReader()), ("model", SpectralRegressor())])[-1]
    SpectralRegressor()
    """

    facts_: dict[str, Any]

    predict_interval = on_table_columns("predict_interval")
    effects = on_table_columns("effects")
    input_gradient = on_table_columns("input_gradient")
    shapley = on_table_columns("shapley")
    novelty = on_table_columns("novelty")
    imputed_cells = on_table_columns("imputed_cells")

    @property
    def feature_importances_(self) -> Any:
        """Importance of each column of the table as a pandas Series, zero for those left out."""
        check_is_fitted(self)
        return importances_by_column(self)


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
    monotone: dict[str, int] | None = None,
) -> TableModel:
    """Fit ``SpectralClassifier`` or ``SpectralRegressor`` to predict one column of a pandas frame.

    A quarter of the rows is held out. The model that is returned is fitted on the other rows only:
    the certificate is a statement about exactly this model.

    Parameters
    ----------
    frame : pandas DataFrame
        The table, target included.
    target : str
        Name of the column to predict.
    task : "auto", "classification" or "regression", default "auto"
        "auto" decides by the kind and the number of different values of the target.
    seed : int, default 0
        Seed of the choice of held-out rows and of everything else that is random.
    roles : dict, default None
        Overrides the decisions of ``ColumnReader``: {"zip": "category", "day": "date",
        "number": "identifier", "old price": "drop", "size": "number"}.
    metric : str, default "auto"
        Metric of the verdict and of the comparison with other models, a name in
        ``tables.evaluate.metrics.METRICS``; "auto" is log-loss for classes and RMSE for numbers.
    threshold : None, "balanced" or "cost:FP,FN", default None
        For two classes, choose the decision threshold by cross-validation on training rows. It
        maximizes balanced accuracy, or minimizes these costs of a false positive and a false
        negative.
    split : "random", "time:COLUMN" or "group:COLUMN", default "random"
        Hold out random rows, the last rows in time, or whole groups. The column of groups is then
        not an input.
    refit : bool, default False
        Fit all rows after the evaluation. The certificate does not apply to that model.
    positive : str, default None
        Positive class, as written in the table; None selects the rarer one of two classes.
    compare : bool, default True
        If True, also fit other models; otherwise compare with a constant only.
    monotone : dict of column name to 1 or -1, default None
        Columns of numbers with which the prediction, or the probability of the positive one of two
        classes, must rise (1) or fall (-1), see ``monotonic_cst`` of ``SpectralRegressor``.

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
    frame = with_unique_names(frame)
    target = column_named(target, frame.columns)
    options = _Options.of(list(frame.columns), target, roles, split, threshold, monotone)
    rows = usable_rows(frame, target, task, options.roles, options.split.column)
    parts = split_rows(
        options.split, rows.rest, rows.y, rows.classify, seed, rows.decimal, rows.observations
    )
    truth = _truth(rows.y, parts, rows.classify, positive)
    metrics = chosen_metrics(metric, truth.kind)
    _check_evaluation(truth, target, metrics, options)
    with stages() as bar, collect_unfamiliar():  # held-out rows may have new levels
        bar.begin("reading columns")
        reader = ColumnReader(options.roles, decimal=rows.decimal)
        X_train, X_test = _read_columns(reader, rows, parts)
        if options.only_splits:
            name = options.split.column
            reader.reasons_[name] = reader.left_out_[name] = "column of the groups to hold out"
        y_train = rows.y[parts.train]
        plain = [_plain_columns(X) for X in (X_train, X_test)]
        others, notes = baseline_models(plain[0], y_train, rows.classify, seed, metrics[0])
        if not compare:
            others, notes = {CONSTANT: others[CONSTANT]}, []
        n_stages = len(others) + 2 + refit
        model: Any = (SpectralClassifier if rows.classify else SpectralRegressor)(
            random_state=seed, monotonic_cst=_constraints(options.monotone, reader, truth)
        )
        if options.threshold is not None:
            bar.begin("choosing the threshold", n_stages + 1)
            model = _with_threshold(model, reader, rows, parts, truth, options.threshold, seed)
        bar.begin("fitting bochner", n_stages)
        ours, seconds = _fit_and_predict(model, X_train, y_train, X_test, truth)
        evaluations, failures = {OURS: evaluate(ours, truth, ours, seconds)}, []
        for name, other in others.items():
            bar.begin(f"fitting {name}")
            try:
                some = sampled_rows(name, plain[0].shape, seed)
                data = (plain[0], y_train) if some is None else (plain[0].iloc[some], y_train[some])
                # Huge numbers overflow in other libraries, and their searches then stop.
                with np.errstate(all="ignore"), catch_warnings(action="ignore"):
                    predicted, seconds = _fit_and_predict(other, *data, plain[1], truth)
                evaluations[name] = evaluate(predicted, truth, ours, seconds)
            except Exception as error:  # a failure of another library is only reported
                failures.append(f"{name} is left out: {one_line(error)}")
        bar.begin("evaluating")
        details = _model_facts(model, reader, rows, parts, X_test, truth, ours, options.threshold)
        facts = Facts(
            target=target,
            seed=seed,
            metrics=metrics,
            refitted=refit,
            notes=[*rows.notes, *parts.notes, *failures, *notes],
            judged=evaluations,
            provenance=provenance(frame),
            **_row_facts(frame, rows, parts, truth, options),
            **details,
            verdict=verdict(evaluations, metrics[0], details["of_classes"], details["threshold"]),
            cost=cost_since(started),
            monotone=options.monotone or None,
        )
        if refit:
            bar.begin("fitting all rows")
            model.fit(reader.fit_transform(rows.rest), rows.y)
    fitted = TableModel([("columns", reader), ("model", model)])
    fitted.facts_ = replace(facts, cost=cost_since(started)).as_json()
    return fitted


@dataclass(frozen=True)
class _Options:
    """Checked options; ``only_splits``: the column of groups is not an input."""

    roles: dict[str, str]
    split: SplitSpec
    threshold: ThresholdSpec | None
    only_splits: bool
    monotone: dict[str, int]

    @classmethod
    def of(cls, columns, target, roles, split, threshold, monotone):
        roles = checked_roles(roles, columns)
        if target in roles:
            raise TableError(f"Column {target!r} is the target; set its kind with --task.")
        spec = SplitSpec.of(split, columns, target)
        # Later rows belong to new groups, like the held-out rows.
        only_splits = spec.kind == GROUP and spec.column not in roles
        own = {str(spec.column): "identifier"} if only_splits else {}
        of_threshold = None if threshold is None else ThresholdSpec.of(threshold)
        directions = {
            column_named(name, columns, " to be monotone in"): sign
            for name, sign in (monotone or {}).items()
        }
        return cls(own | roles, spec, of_threshold, only_splits, directions)


def _check_evaluation(truth, target, metrics, options):
    """Raise an error before any work if a metric or a threshold is not defined."""
    if options.threshold is not None and truth.kind != TWO:
        raise TableError(f"--threshold needs two classes; {target!r} has {truth.kind}.")
    if options.monotone and truth.kind == MANY:
        raise TableError(f"--monotone needs numbers or two classes; {target!r} has {truth.kind}.")
    if metrics[0] == "r2" and np.ptp(truth.y) == 0:
        raise TableError("All held-out values are equal, so R² is not defined. Use --metric rmse.")


def _read_columns(reader, rows, parts):
    """Return the columns of training rows (ordered as ``parts.train``) and held-out rows."""
    # Read in the order of the table, by which running numbers are recognized.
    in_order = np.argsort(parts.train)
    ordered = parts.train[in_order]
    X_train = reader.fit_transform(rows_of(rows.rest, ordered))
    held_out = rows_of(rows.rest, parts.test)
    X_test = reader.accept_strays(held_out).transform(held_out)
    return rows_of(X_train, np.argsort(in_order)), X_test


def _constraints(monotone, reader, truth):
    """Return the directions of columns for a model, whose second class may be the negative one."""
    for name in monotone:
        role = reader.roles_.get(name, LEFT_OUT)
        if role != "number":
            raise TableError(
                f"--monotone needs columns of numbers, but {name!r} is {role} "
                f"({reader.reasons_.get(name, 'the target')}). Leave it out, or use --numeric."
            )
    reverse = truth.classes is not None and truth.positive == truth.classes[0]
    return {name: -sign if reverse else sign for name, sign in monotone.items()} or None


def _plain_columns(X):
    """Rename columns so that LightGBM accepts them."""
    return X.set_axis([f"column {k}" for k in range(X.shape[1])], axis=1)


def _with_threshold(model, reader, rows, parts, truth, spec, seed):
    """Return a classifier with the cheapest threshold by cross-validation on training rows."""
    ordered = np.sort(parts.train)
    groups = None if parts.groups is None else parts.groups[ordered]
    y, observations = rows.y[ordered], rows.observations.take(ordered)
    frame = rows_of(rows.rest, ordered)
    scored, scores = out_of_sample_scores(
        reader, model, frame, y, truth.positive, groups, observations, seed
    )
    best = cheapest_threshold(scores, y[scored] == truth.positive, spec)
    return ThresholdClassifier(
        best, truth.positive, random_state=seed, monotonic_cst=model.monotonic_cst
    )


def _truth(y: np.ndarray, parts: Split, classify: bool, positive: str | None) -> Truth:
    """Return the held-out target; by default the rarer class is positive, the second in a tie."""
    groups = None if parts.groups is None else parts.groups[parts.test]
    if not classify:
        if positive is not None:
            raise TableError(f"--positive {positive!r} needs two classes; the target is numbers.")
        return Truth(y[parts.test], groups=groups)
    classes, _, counts = counted_labels(y)
    chosen = classes[0] if counts[0] < counts[-1] else classes[-1]
    if positive is not None:
        named = [label for label in classes if str(label) == positive]
        if len(classes) != 2 or not named:
            shown = ", ".join(repr(str(label)) for label in classes[:5])
            raise TableError(
                f"--positive must name one of two classes, got {positive!r}; the target has "
                f"{shown}{' …' if len(classes) > 5 else ''}."
            )
        chosen = named[0]
    chosen = chosen.item() if isinstance(chosen, np.generic) else chosen
    return Truth(y[parts.test], classes, chosen, groups)


def _fit_and_predict(model, X_train, y_train, X_test, truth):
    """Return predictions for the held-out rows, computed in blocks, and the seconds of the fit."""
    started = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = round(time.perf_counter() - started, 2)
    if truth.classes is None:
        values = [np.asarray(model.predict(X)) for X in _blocks(X_test)]
        return Predicted(np.concatenate(values)), seconds
    # A class without training rows has probability zero.
    columns = np.searchsorted(truth.classes, model.classes_)
    probabilities, labels, first = np.zeros((len(X_test), len(truth.classes))), [], 0
    for X in _blocks(X_test):
        shares = np.asarray(model.predict_proba(X))
        probabilities[first : first + len(X), columns] = shares
        is_ours = isinstance(model, SpectralClassifier)
        labels.append(model._labels(shares) if is_ours else np.asarray(model.predict(X)))
        first += len(X)
    return Predicted(np.concatenate(labels), probabilities), seconds


def _blocks(X):
    for rows in gen_batches(len(X), ROWS_AT_ONCE):
        yield X.iloc[rows]
        release_scratches()


# --- facts ----------------------------------------------------------------------------------------


def _row_facts(
    frame: Any, rows: UsableRows, parts: Split, truth: Truth, options: _Options
) -> dict[str, Any]:
    """Return facts on the file, its rows, and how they were split."""
    unnamed = [] if frame.attrs.get("header", True) else list(frame.columns)
    n_repeated, n_rows = rows.observations.n_repeated, len(rows.y)
    repeated = RepeatedRows(n_repeated, n_repeated / n_rows, rows.observations.are_ties)
    n_groups = None if truth.groups is None else len(np.unique(truth.groups))
    return {
        "file": FileFacts(unnamed, frame.attrs.get("sep"), frame.attrs.get("skip_rows")),
        "task": rows.task,
        "why_task": rows.why_task,
        "n_rows": n_rows,
        "n_train": len(parts.train),
        "n_test": len(parts.test),
        "n_dropped": rows.n_dropped,
        "split": SplitFacts(options.split.kind, options.split.column, n_groups),
        "identifiers": [name for name, role in options.roles.items() if role == "identifier"],
        "decimal": rows.decimal,
        "repeated": repeated if n_repeated else None,
    }


def _model_facts(
    model: Any,
    reader: ColumnReader,
    rows: UsableRows,
    parts: Split,
    X_test: Any,
    truth: Truth,
    ours: Predicted,
    threshold: ThresholdSpec | None,
) -> dict[str, Any]:
    """Return facts on the fitted model and its predictions for the held-out rows."""
    shares = importances(model, reader, X_test)
    used = [name for name, share in shares["importance"].items() if share > 0]
    roles = reader.roles_
    n_seen = seen_inputs(rows.rest, list(roles), parts.train, parts.test)
    return shares | {
        "columns": {n: [roles.get(n, LEFT_OUT), why] for n, why in reader.reasons_.items()},
        "path": model.path_,
        "members": _member_facts(model),
        "effects": column_effects(model, X_test, truth),
        "worst": worst_rows(rows.rest, parts.test, truth, ours, used),
        "of_classes": _class_facts(rows.y, truth, ours) if rows.classify else None,
        "of_values": None if rows.classify else value_findings(model, X_test, truth, ours),
        "threshold": _threshold_facts(threshold, model, truth, ours),
        "seen": SeenRows(n_seen, n_seen / len(parts.test)) if n_seen else None,
    }


def _class_facts(y, truth, ours):
    counts = counted_labels(y)[2].tolist()
    return ClassFacts(
        classes=truth.classes.tolist(),
        class_counts=counts,
        rare=min(counts) < _RARE * len(y) / len(counts),
        positive=truth.positive if truth.kind == TWO else None,
        confusion=confusion_matrix(truth.y, ours.y, labels=truth.classes).tolist(),
        **class_curves(truth, ours),
    )


def _threshold_facts(spec, model, truth, ours):
    """Return the threshold, with its mistakes on held-out rows and those of 0.5."""
    if spec is None:
        return None
    score, positive = ours.of(truth.positive, truth), truth.is_positive
    mistakes = [
        [int(np.sum((score >= at) & ~positive)), int(np.sum((score < at) & positive))]
        for at in (model.threshold, 0.5)
    ]
    return ThresholdFacts(spec.text, model.threshold, *(spec.costs or (None, None)), *mistakes)


def _member_facts(model):
    prepared = model.inputs_.get_feature_names_out()
    return [
        MemberFacts(
            name=member.name,
            weight=member.weight,
            held_out_error=member.held_out_error,
            ridge=member.ridge if np.isfinite(member.ridge) else None,
            seconds=round(member.seconds, 2),
            prior=prior_in_words(member.prior, prepared),
        )
        for member in model.members_
    ]
