"""What a page is drawn from: against brute force, and small."""

import json

import numpy as np
import pytest
from selection import long_except
from sklearn.metrics import roc_auc_score

pandas = pytest.importorskip("pandas")

from bochner import SpectralClassifier, SpectralRegressor, fit_table
from bochner.tables import ColumnReader
from bochner.tables.evaluate import baselines as baselines_module
from bochner.tables.evaluate import findings as findings_module
from bochner.tables.evaluate.findings import (
    class_curves,
    column_effects,
    importances,
    thinned,
    value_findings,
    worst_rows,
)
from bochner.tables.evaluate.metrics import Predicted, Truth
from bochner.tables.facts import as_json
from bochner.tabular.effects import column_importances


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    frame["word"] = rng.choice(["x", "y", "z"], 200)
    frame["y"] = (
        np.sin(2 * frame["a"])
        + frame["a"] * frame["b"]
        + (frame["word"] == "x")
        + 0.1 * rng.normal(size=200)
    )
    return frame


@pytest.fixture(scope="module")
def fitted(table):
    """A reader, what it read, and models of values, two classes and three."""
    reader = ColumnReader()
    X, y = reader.fit_transform(table.drop(columns="y"), table["y"]), table["y"].to_numpy()
    codes = np.digitize(y, np.quantile(y, [0.4, 0.8]))
    values = SpectralRegressor(random_state=0).fit(X, y)
    two = SpectralClassifier(random_state=0).fit(X, codes > 0)
    three = SpectralClassifier(random_state=0).fit(X, codes)
    return reader, X, {"values": (values, Truth(y)), "two": (two, Truth(codes > 0, np.array([False, True]), False)),
                       "three": (three, Truth(codes, np.arange(3)))}  # fmt: skip


def test_importances_are_those_of_the_front_door_with_their_spread(fitted):
    reader, X, models = fitted
    for model, _ in models.values():
        found = importances(model, reader, X)
        expected = column_importances(model.blend_, model.inputs_, model.inputs_.transform(X))
        assert [found["importance"][name] for name in X.columns] == pytest.approx(expected.tolist())
        assert sum(found["importance"].values()) == pytest.approx(1)
        assert list(found["importance"].values()) == sorted(
            found["importance"].values(), reverse=True
        )
        assert all(0 < error < 0.1 for error in found["importance_error"].values())


@pytest.mark.parametrize("kind", ["values", "two", "three"])
def test_curves_are_effects_whatever_other_columns_are(kind, fitted):
    _, X, models = fitted
    model, truth = models[kind]
    found = as_json(column_effects(model, X, truth))
    assert {"a", "word"} <= {curve["column"] for curve in found["curves"]}
    other = X.iloc[[17]]  # all other columns are those of this row

    def effect(frame, place):
        effects = model.effects(frame, max_order=1).main[0, place]
        return np.atleast_1d(
            -effects if kind == "two" else effects
        )  # the class to be found is the first one

    names = model.effects(other, max_order=1).names
    for curve in found["curves"]:
        for k in (0, len(curve["x"]) - 1):
            value = curve["x"][k]
            changed = other.copy()
            changed[curve["column"]] = (
                pandas.Categorical([value], dtype=X["word"].dtype)
                if isinstance(value, str)
                else value
            )
            expected = effect(changed, names.index(curve["column"]))
            np.testing.assert_allclose(
                [line[k] for line in curve["y"]],
                expected,
                atol=2e-4 * np.abs(curve["y"]).max() + 1e-9,
            )
    for curve in found["curves"]:
        assert (curve["band"] is None) == (kind != "values")
    assert (found["level"] is None) == (kind != "values")
    assert 0 < found["rest_share"] < 1


def test_bands_are_left_out_if_they_would_take_long(fitted, monkeypatch):
    _, X, models = fitted
    monkeypatch.setattr(findings_module, "_BAND_WORK", 1000)
    found = column_effects(models["values"][0], X, models["values"][1])
    assert found.level is None
    assert found.curves[0].band is None


def test_roc_points_enclose_the_area_and_calibration_counts_every_row():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=4000)
    score = np.clip(0.3 * y + 0.7 * rng.random(4000), 0, 1)
    truth, predicted = (
        Truth(y, np.array([0, 1]), 1),
        Predicted((score > 0.5).astype(int), np.column_stack([1 - score, score])),
    )
    found = class_curves(truth, predicted)
    false_rate, true_rate = np.array(found["roc"]).T
    assert len(false_rate) <= 100
    assert np.trapezoid(true_rate, false_rate) == pytest.approx(roc_auc_score(y, score), abs=2e-3)
    bins = np.array(found["calibration"])
    assert bins[:, 3].sum() == 4000
    assert np.average(bins[:, 0], weights=bins[:, 3]) == pytest.approx(score.mean(), rel=1e-4)
    assert np.average(bins[:, 1], weights=bins[:, 3]) == pytest.approx(y.mean(), rel=1e-4)


def test_coverage_is_the_share_of_rows_between_the_ends(fitted):
    _, X, models = fitted
    model, truth = models["values"]
    found = as_json(value_findings(model, X, truth, Predicted(model.predict(X))))["intervals"]
    low, high = model.predict_interval(X, 0.9).T
    assert found["coverage"] == np.mean((low <= truth.y) & (truth.y <= high))
    assert found["median_width"] == pytest.approx(np.median(high - low))
    assert len(found["rows"]) == 60
    assert [row[0] for row in found["rows"]] == sorted(row[0] for row in found["rows"])


def test_the_worst_rows_are_named_by_their_place_in_the_table():
    frame = pandas.DataFrame({"a": ["p", "q" * 99, "r"], "b": [1.0, 2.5, None]}, index=[4, 7, 9])
    frame = pandas.concat([frame, frame.set_axis([1, 2, 3], axis=0)]).iloc[[3, 0, 4, 1, 2, 5]]
    found = worst_rows(
        frame,
        np.array([1, 3, 4]),
        Truth(np.array([1.0, 2.0, 3.0])),
        Predicted(np.array([1.5, 2.0, 0.0])),
        ["b", "a"],
    )
    assert found.columns == ["b", "a"]
    assert found.rows[0] == [10, "3", "0", -3.0, "nan", "r"]
    assert found.rows[2][:4] == [8, "2", "2", 0.0]
    assert len(found.rows[2][5]) == 40


def test_thinning_keeps_the_ends():
    assert thinned(np.arange(1000), 7).tolist() == [0, 166, 333, 500, 666, 832, 999]
    assert thinned(np.arange(3), 7).tolist() == [0, 1, 2]


@pytest.mark.parametrize("target", long_except(["y", "word"], "y"))
def test_facts_are_plain_and_small(table, target, monkeypatch):
    monkeypatch.setattr(baselines_module, "installed", list)
    frame = pandas.concat([table] * 3, ignore_index=True)
    text = json.dumps(fit_table(frame, target).facts_, allow_nan=False)
    assert len(text) < 60_000
