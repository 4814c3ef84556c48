"""What a page shows of the held-out rows, as plain numbers: curves, effects, importances,
intervals, rows predicted worst.
"""

from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from ...tabular import SpectralClassifier, SpectralRegressor
from ...tabular.effects import column_changes
from ..columns.reader import ColumnReader
from ..read.reading import needed
from .metrics import NUMBERS, TWO, Predicted, Truth, row_log_losses

_POINTS, _CURVE_POINTS, _BINS, _INTERVALS = 400, 100, 10, 60
_EFFECTS, _EFFECT_ROWS, _EFFECT_POINTS, _LEVELS, _OUTPUTS = 6, 300, 60, 12, 4
_GRID = 13
# Rows times points of a kernel times pairs of prepared columns: beyond, effects of pairs would take
# more than a few seconds.
_PAIR_WORK = 2e9
_IMPORTANCE_ROWS = 256
_WORST, _WORST_COLUMNS, _CELL = 8, 5, 40
_LEVEL = 0.9

FrontDoor = SpectralClassifier | SpectralRegressor


def thinned(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the rows, evenly spread, with the first and the last."""
    return (
        rows
        if len(rows) <= most
        else rows[np.unique(np.linspace(0, len(rows) - 1, most).round().astype(int))]
    )


def class_curves(truth: Truth, predicted: Predicted) -> dict[str, Any]:
    """ROC and precision-recall curves of the positive one of two classes, and how often what is
    said to be likely happens.

    Calibration is that of the positive class, of more classes that of the most probable one.
    """
    if truth.kind != TWO:
        assert predicted.probabilities is not None
        said = predicted.probabilities.max(axis=1)
        assert truth.classes is not None
        return {
            "calibration": _calibration(
                said, truth.classes[predicted.probabilities.argmax(axis=1)] == truth.y
            )
        }
    found, score = truth.y == truth.positive, predicted.of(truth.positive, truth)
    false_rate, true_rate, _ = roc_curve(found, score)
    precision, recall, _ = precision_recall_curve(found, score)
    return {
        "roc": _plain(thinned(np.column_stack([false_rate, true_rate]), _CURVE_POINTS)),
        # The last point is no threshold's.
        "precision_recall": _plain(
            thinned(np.column_stack([recall, precision])[:-1], _CURVE_POINTS)
        ),
        "calibration": _calibration(score, found),
    }


def _calibration(said, happened):
    """[mean of what was said, share that happened, its standard error, rows] for rows in order of
    what was said.
    """
    order = np.argsort(said, kind="stable")
    bins = []
    for rows in np.array_split(order, max(2, min(_BINS, len(said) // 15))):
        share = happened[rows].mean()
        # With one more of each, so that a bin of one kind is not certain.
        smooth = (happened[rows].sum() + 1) / (len(rows) + 2)
        bins.append(
            [said[rows].mean(), share, np.sqrt(smooth * (1 - smooth) / len(rows)), len(rows)]
        )
    return _plain(bins)


def value_findings(
    model: SpectralRegressor, X: Any, truth: Truth, predicted: Predicted
) -> dict[str, Any]:
    """Points of true and predicted values, and intervals with the share of held-out rows that they
    cover.
    """
    ends = np.asarray(model.predict_interval(X, _LEVEL))
    inside = (ends[:, 0] <= truth.y) & (truth.y <= ends[:, 1])
    covered = float(inside.mean())
    widths = ends[:, 1] - ends[:, 0]
    rows = np.flatnonzero(np.isfinite(widths))
    rows = thinned(rows[np.argsort(predicted.y[rows], kind="stable")], _INTERVALS)
    shown = thinned(np.arange(len(truth.y)), _POINTS)
    return {
        "points": _plain(np.column_stack([truth.y, predicted.y])[shown]),
        "intervals": {
            "level": _LEVEL,
            "coverage": covered,
            "coverage_error": float(np.sqrt(covered * (1 - covered) / len(inside))),
            "median_width": float(np.median(widths)) if len(rows) else None,
            "rows": _plain(np.column_stack([predicted.y, ends, truth.y])[rows]),
        },
    }


def importances(model: FrontDoor, reader: ColumnReader, X: Any) -> dict[str, Any]:
    """Shares of columns of the table in all changes of the scores, largest first, and their
    standard errors over held-out rows.

    As ``feature_importances_``: c_ij = ‖f(x_i) − f(x_i with column j of another row)‖², share_j =
    Σ_i c_ij / Σ_ij c_ij.
    """
    rows = thinned(np.arange(len(X)), _IMPORTANCE_ROWS)
    Z = model.inputs_.transform(X.iloc[rows])
    names = list(reader.roles_)
    changes = np.zeros((len(Z), len(names)))
    sources = np.array([names.index(reader.sources_[made]) for made in model.inputs_.names_])[
        model.inputs_.sources_
    ]
    for k, squares in column_changes(model.blend_, sources, Z):
        changes[:, k] = np.sum(squares, axis=1)
    total = changes.sum(axis=1)
    shares = changes.mean(axis=0) / total.mean() if total.any() else np.zeros(len(names))
    influence = (changes - np.outer(total, shares)) / (total.mean() or 1.0)
    errors = np.sqrt(np.sum(influence**2, axis=0) / (len(Z) * max(len(Z) - 1, 1)))
    order = sorted(range(len(names)), key=lambda k: (-shares[k], names[k]))
    return {
        "importance": {names[k]: float(shares[k]) for k in order},
        "importance_error": {names[k]: float(errors[k]) for k in order},
    }


def column_effects(model: FrontDoor, X: Any, truth: Truth) -> dict[str, Any]:
    """The strongest effects of single columns as curves, and the strongest pair as a map; of
    classes on their scores.
    """
    rows = X.iloc[thinned(np.arange(len(X)), _EFFECT_ROWS)]
    n_points, n_columns = max(one.n_points for one in model.members_), len(model.inputs_.sources_)
    order = 2 if len(rows) * n_points * n_columns**2 / 2 <= _PAIR_WORK else 1
    try:
        found = model.effects(rows, max_order=order)
    except TypeError as error:  # no member that is a product over columns
        return {"outputs": [], "curves": [], "pair": None, "why_none": str(error).split(". ")[0]}
    outputs, pick = _outputs(model, truth)
    main = pick(found.main)
    strengths = main.std(axis=0).mean(axis=1)
    strongest = [j for j in np.argsort(-strengths, kind="stable")[:_EFFECTS] if strengths[j] > 0]
    curves = [
        _curve(rows[found.names[j]], main[:, j]) | {"column": found.names[j]} for j in strongest
    ]
    pair = None
    if order == 2 and len(found.pair_names):
        spread = pick(found.pairs).std(axis=0)
        best, output = np.unravel_index(np.argmax(spread), spread.shape)
        if spread[best, output] > 0:
            pair = _pair_map(
                model, rows, found.pair_names[best], int(best), pick, outputs, int(output)
            )
    return {"outputs": outputs, "curves": curves, "pair": pair, "why_none": None}


def _outputs(model, truth):
    """What effects are on, and how these are taken from an array of effects, with the outputs last."""
    if truth.classes is None:
        return ["prediction"], lambda effects: effects[..., None]
    if len(model.classes_) == 2:
        sign = 1 if model.classes_[1] == truth.positive else -1
        return [f"score of {truth.positive}"], lambda effects: sign * effects[..., None]
    counts = [int(np.sum(truth.y == label)) for label in model.classes_]
    places = np.sort(np.argsort(-np.array(counts), kind="stable")[:_OUTPUTS])
    return [f"score of {model.classes_[k]}" for k in places], lambda effects: effects[..., places]


def _is_category(column):
    return str(column.dtype) == "category"


def _curve(column, effect):
    """Values that occur, and the effect at each, for each output."""
    if _is_category(column):
        levels = _grid(column)
        values = [str(level)[:_CELL] for level in levels]
        means = [effect[(column == level).to_numpy()].mean(axis=0) for level in levels]
        heights = np.reshape(means, (len(levels), effect.shape[1]))
        return {"kind": "levels", "x": values, "y": _plain(heights.T)}
    numbers = np.asarray(column, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(numbers))
    places, first = np.unique(numbers[known], return_index=True)
    shown = thinned(np.arange(len(places)), _EFFECT_POINTS)
    return {
        "kind": "numbers",
        "x": _plain(places[shown]),
        "y": _plain(effect[known][first[shown]].T),
    }


def _pair_map(model, rows, names, place, pick, outputs, output):
    """The effect of two columns together on a grid; it is a function of these two alone, so all
    others may be anything.
    """
    grids = [_grid(rows[name]) for name in names]
    if min(len(grid) for grid in grids) < 2:
        return None
    a, b = np.meshgrid(*(np.arange(len(grid)) for grid in grids), indexing="ij")
    pandas = needed("pandas")
    frame = rows.iloc[np.zeros(a.size, dtype=int)].reset_index(drop=True)
    for name, grid, codes in zip(names, grids, (a.ravel(), b.ravel())):
        values = [grid[code] for code in codes]
        frame[name] = (
            pandas.Categorical(values, dtype=rows[name].dtype)
            if _is_category(rows[name])
            else values
        )
    effects = pick(model.effects(frame, max_order=2).pairs)[:, place, output].reshape(a.shape)
    shown = [[str(v)[:_CELL] if isinstance(v, str) else float(v) for v in grid] for grid in grids]
    return {
        "columns": list(names),
        "x": shown[0],
        "y": shown[1],
        "z": _plain(effects),
        "output": outputs[output],
    }


def _grid(column):
    """Places that occur: the most frequent levels, or distinct numbers, or quantiles of many."""
    if _is_category(column):  # levels of the training rows alone count here as nothing
        return [level for level in column.value_counts().index[:_LEVELS] if (column == level).any()]
    numbers = np.asarray(column, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    distinct = np.unique(numbers)
    return (
        distinct
        if len(distinct) <= _GRID
        else np.unique(np.quantile(numbers, np.linspace(0.02, 0.98, _GRID)))
    ).tolist()


def worst_rows(
    frame: Any, held_out: np.ndarray, truth: Truth, predicted: Predicted, columns: list[str]
) -> dict[str, Any]:
    """Held-out rows of the frame with the largest loss: their place in the table (from 1), truth,
    prediction, and values of some columns as texts.

    Behind the prediction stands the probability that the true class was given, or the error. The
    index of the frame says the places.
    """
    classify = truth.kind != NUMBERS
    losses = row_log_losses(truth, predicted) if classify else np.abs(predicted.y - truth.y)
    rows = np.argsort(-losses, kind="stable")[:_WORST]
    columns = columns[:_WORST_COLUMNS]
    cells = [
        [
            _text(truth.y[i]),
            _text(predicted.y[i]),
            float(np.exp(-losses[i]) if classify else predicted.y[i] - truth.y[i]),
        ]
        + [_text(frame[name].iloc[held_out[i]]) for name in columns]
        for i in rows
    ]
    return {
        "columns": columns,
        "rows": [[int(frame.index[held_out[i]]) + 1, *row] for i, row in zip(rows, cells)],
    }


def _text(value):
    value = value.item() if isinstance(value, np.generic) else value
    return (f"{value:.6g}" if isinstance(value, float) else str(value))[:_CELL]


def _plain(values):
    """Lists of numbers with as many digits as a picture needs."""
    return np.vectorize(lambda x: float(f"{x:.5g}"), otypes=[float])(
        np.asarray(values, dtype=np.float64)
    ).tolist()
