"""Details of held-out rows for the page: curves, effects, importances, intervals."""

from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from ...tabular import SpectralRegressor
from ...tabular.effects import column_changes, has_bands
from ..columns.column_kinds import is_category
from ..columns.reader import ColumnReader
from ..delegation import source_places
from ..facts import Curve, Effects, IntervalFacts, ValueFacts, WorstRows
from .metrics import NUMBERS, TWO, Predicted, Truth, row_log_losses

# Numbers of things that a figure shows: points of a scatter plot and of a curve, bins, intervals.
_POINTS, _CURVE_POINTS, _BINS, _INTERVALS = 400, 100, 10, 60
# Numbers of effects, of points or levels of each, and of outputs.
_EFFECTS, _EFFECT_POINTS, _LEVELS, _OUTPUTS = 6, 60, 12, 4
# Fewest and most rows at which effects are computed; rows times kernels times columns that take a
# few seconds; and the same times the training rows for bands.
_EFFECT_ROWS, _EFFECT_WORK, _BAND_WORK = (60, 300), 1e8, 2e10
_IMPORTANCE_ROWS = 256
# Rows and columns of the table of largest errors, and characters of a cell.
_WORST, _WORST_COLUMNS, _CELL = 8, 5, 40
_LEVEL = 0.9


def thinned(rows: np.ndarray, most: int) -> np.ndarray:
    """Return at most ``most`` rows, evenly spread, with the first and the last."""
    if len(rows) <= most:
        return rows
    return rows[np.unique(np.linspace(0, len(rows) - 1, most).round().astype(int))]


def class_curves(truth: Truth, predicted: Predicted) -> dict[str, Any]:
    """Return calibration, and for two classes the ROC and precision-recall curves.

    Calibration is that of the positive class, or of the most probable one of several classes.
    """
    if truth.kind != TWO:
        assert predicted.probabilities is not None
        assert truth.classes is not None
        right = truth.classes[predicted.probabilities.argmax(axis=1)] == truth.y
        return {"calibration": _calibration(predicted.probabilities.max(axis=1), right)}
    score = predicted.of(truth.positive, truth)
    false_rate, true_rate, _ = roc_curve(truth.is_positive, score)
    precision, recall, _ = precision_recall_curve(truth.is_positive, score)
    curves = {
        "roc": np.column_stack([false_rate, true_rate]),
        "precision_recall": np.column_stack([recall, precision])[:-1],  # the last has no threshold
    }
    plain = {name: _plain(thinned(curve, _CURVE_POINTS)) for name, curve in curves.items()}
    return plain | {"calibration": _calibration(score, truth.is_positive)}


def _calibration(predicted, happened):
    """Return [mean probability, observed frequency, its standard error, rows] of each bin."""
    order = np.argsort(predicted, kind="stable")
    bins = []
    for rows in np.array_split(order, max(2, min(_BINS, len(predicted) // 15))):
        share = happened[rows].mean()
        # One more row of each kind, so that a bin of one kind has an error above zero.
        smooth = (happened[rows].sum() + 1) / (len(rows) + 2)
        error = np.sqrt(smooth * (1 - smooth) / len(rows))
        bins.append([predicted[rows].mean(), share, error, len(rows)])
    return _plain(bins)


def value_findings(
    model: SpectralRegressor, X: Any, truth: Truth, predicted: Predicted
) -> ValueFacts:
    """Return points of true and predicted values, and intervals with their coverage."""
    ends = np.asarray(model.predict_interval(X, _LEVEL))
    inside = (ends[:, 0] <= truth.y) & (truth.y <= ends[:, 1])
    covered = float(inside.mean())
    widths = ends[:, 1] - ends[:, 0]
    rows = np.flatnonzero(np.isfinite(widths))
    rows = thinned(rows[np.argsort(predicted.y[rows], kind="stable")], _INTERVALS)
    shown = thinned(np.arange(len(truth.y)), _POINTS)
    return ValueFacts(
        points=_plain(np.column_stack([truth.y, predicted.y])[shown]),
        intervals=IntervalFacts(
            level=_LEVEL,
            coverage=covered,
            coverage_error=float(np.sqrt(covered * (1 - covered) / len(inside))),
            median_width=float(np.median(widths)) if len(rows) else None,
            rows=_plain(np.column_stack([predicted.y, ends, truth.y])[rows]),
        ),
    )


def importances(model: Any, reader: ColumnReader, X: Any) -> dict[str, dict[str, float]]:
    """Return shares of columns in all changes of the scores, largest first, and standard errors.

    As ``feature_importances_``: c_ij = ‖f(x_i) − f(x_i with column j of another row)‖², share_j =
    Σ_i c_ij / Σ_ij c_ij.
    """
    rows = thinned(np.arange(len(X)), _IMPORTANCE_ROWS)
    Z = model.inputs_.transform(X.iloc[rows])
    names = list(reader.roles_)
    changes = np.zeros((len(Z), len(names)))
    sources = source_places(model.inputs_, reader, names)
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


def column_effects(model: Any, X: Any, truth: Truth) -> Effects | None:
    """Return the strongest effects of columns as curves, with bands if these take little time.

    Models with monotone columns have no effects.
    """
    if model.monotonic_cst is not None:
        return None
    n_columns = len(model.inputs_.names_)
    points = [one.n_points for one in model.members_ if one.weight > 0]
    n_rows = int(_EFFECT_WORK / (sum(points) * n_columns))
    rows = X.iloc[thinned(np.arange(len(X)), int(np.clip(n_rows, *_EFFECT_ROWS)))]
    is_quick = len(rows) * n_columns * sum(points) * max(points) <= _BAND_WORK
    level = _LEVEL if is_quick and has_bands(model._quantity("auto")) else None
    effects = model.effects(rows, max_order=1, level=level)
    outputs, pick = _outputs(model, truth)
    main, band = pick(effects.main), None
    strengths = main.std(axis=0).mean(axis=1)
    curves = []
    for j in np.argsort(-strengths, kind="stable")[:_EFFECTS]:
        if strengths[j] > 0:
            band = None if effects.bands is None else effects.bands.main[:, j]
            curves.append(_curve(effects.names[j], rows[effects.names[j]], main[:, j], band))
    return Effects(outputs, curves, level, effects.rest_share)


def _outputs(model, truth):
    """Return names of outputs, and a function that moves them to the last axis of effects."""
    if truth.classes is None:
        return ["prediction"], lambda effects: effects[..., None]
    if len(model.classes_) == 2:
        sign = 1 if model.classes_[1] == truth.positive else -1
        return [f"log-odds of {truth.positive}"], lambda effects: sign * effects[..., None]
    counts = [int(np.sum(truth.y == label)) for label in model.classes_]
    places = np.sort(np.argsort(-np.array(counts), kind="stable")[:_OUTPUTS])
    names = [f"log-probability of {model.classes_[k]}" for k in places]
    return names, lambda effects: effects[..., places]


def _curve(name, column, effect, band):
    """Return values that occur, and the effect at each, for each output."""
    if is_category(column):
        levels = [one for one in column.value_counts().index[:_LEVELS] if (column == one).any()]
        first = [int(np.flatnonzero((column == level).to_numpy())[0]) for level in levels]
        kind, x = "levels", [str(level)[:_CELL] for level in levels]
    else:
        numbers = np.asarray(column, dtype=np.float64)
        finite = np.flatnonzero(np.isfinite(numbers))
        places, where = np.unique(numbers[finite], return_index=True)
        shown = thinned(np.arange(len(places)), _EFFECT_POINTS)
        first = finite[where[shown]]
        kind, x = "numbers", _plain(places[shown])
    return Curve(
        kind, x, _plain(effect[first].T), name, None if band is None else _plain(band[first])
    )


def worst_rows(
    frame: Any, held_out: np.ndarray, truth: Truth, predicted: Predicted, columns: list[str]
) -> WorstRows:
    """Return held-out rows with the largest loss and some of their values as texts.

    A row holds its number in the table (from 1, by the index of the frame), truth and prediction.
    Then follow the probability of the true class or the error, and values of columns.
    """
    classify = truth.kind != NUMBERS
    losses = row_log_losses(truth, predicted) if classify else np.abs(predicted.y - truth.y)
    columns = columns[:_WORST_COLUMNS]
    rows = []
    for i in np.argsort(-losses, kind="stable")[:_WORST]:
        loss = float(np.exp(-losses[i]) if classify else predicted.y[i] - truth.y[i])
        values = [_text(frame[name].iloc[held_out[i]]) for name in columns]
        number = int(frame.index[held_out[i]]) + 1
        rows.append([number, _text(truth.y[i]), _text(predicted.y[i]), loss, *values])
    return WorstRows(columns, rows)


def _text(value):
    value = value.item() if isinstance(value, np.generic) else value
    return (f"{value:.6g}" if isinstance(value, float) else str(value))[:_CELL]


def _plain(values):
    """Return lists of numbers with the digits that a figure needs."""
    rounded = np.vectorize(lambda x: float(f"{x:.5g}"), otypes=[float])
    return rounded(np.asarray(values, dtype=np.float64)).tolist()
