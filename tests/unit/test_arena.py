"""The arena: tables of a folder, splits, paired comparisons and the verdict; no learner is fitted here but the quickest."""

import json

import numpy as np
import pytest

from bochner import untuned
from bochner.experiments import _tables, arena
from bochner.experiments._comparisons import time_ratio

pd = pytest.importorskip("pandas")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two small tables in the format of the folder."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "kind": rng.choice(["a", "b", None], size=80)})
    frame.loc[::9, "size"] = np.nan
    frame.assign(target=np.where(rng.random(80) < 0.4, "no", "yes")).to_parquet(tmp_path / "votes.parquet")
    frame.assign(target=rng.normal(size=80)).to_parquet(tmp_path / "prices.parquet")
    index = [{"name": "votes", "task": "classification", "n": 80}, {"name": "prices", "task": "regression", "n": 80}]
    (tmp_path / "index.json").write_text(json.dumps(index))
    monkeypatch.setenv("BOCHNER_TABLES", str(tmp_path))
    _tables.tables.cache_clear()
    yield tmp_path
    _tables.tables.cache_clear()


def test_tables_of_a_folder_keep_their_types(folder):
    frame, y, task = _tables.load_table("votes")
    assert task == "classification"
    assert set(y) == {"no", "yes"}
    assert str(frame["kind"].dtype) == "category"
    assert "target" not in frame.columns
    assert _tables.load_table("prices")[1].dtype == np.float64


def test_a_folder_without_an_index_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("BOCHNER_TABLES", str(tmp_path))
    _tables.tables.cache_clear()
    with pytest.raises(FileNotFoundError, match=r"no index\.json"):
        _tables.tables()
    _tables.tables.cache_clear()


def test_splits_are_disjoint_stratified_and_bounded():
    y = np.repeat(["a", "b"], [30_000, 10_000])
    train, test = _tables.split_rows(y, "classification", 0)
    assert len(train) == len(test) == 10_000
    assert not set(train) & set(test)
    assert np.mean(y[train] == "b") == pytest.approx(0.25, abs=0.001)


@pytest.mark.parametrize("method", ["HistGradientBoosting", "random forest"])
@pytest.mark.parametrize("table", ["votes", "prices"])
def test_a_rival_runs_on_categories_and_missing_values(folder, method, table):
    result = arena.run({"table": table, "split": 0, "method": method}, np.random.default_rng(0))
    assert all(np.isfinite(value) for value in result.values())
    assert ("accuracy" in result) == (table == "votes")
    assert result["share of categories"] == 0.5


def test_every_installed_learner_has_cases(folder):
    assert {case["method"] for case in arena.cases("paper")} == set(untuned.installed())
    assert {case["table"] for case in arena.cases("quick")} == {"votes", "prices"}


def results(gain, n_tables=12):
    scores = {"front door": 0.8 + gain, "CatBoost": 0.8, "LightGBM": 0.7}
    return [
        (
            {"table": f"{quantity} {k}", "split": split, "method": method},
            {
                quantity: score + 0.01 * k,
                "fit seconds": 1.0,
                "predict seconds": 1.0,
                "rows": 900 if k < 3 else 5000,
                "share of categories": 0.25 * (k % 4),
            },
        )
        for quantity in ("accuracy", "r2")
        for k in range(n_tables)
        for split in range(2)
        for method, score in scores.items()
    ]


def test_differences_are_paired_by_table():
    found = arena.paired(results(0.05), "accuracy", "CatBoost")
    assert found["tables"] == found["wins"] == 12
    assert found["mean"] == pytest.approx(0.05)
    assert found["standard error"] == pytest.approx(0, abs=1e-12)
    assert arena.paired(results(0.001), "r2", "CatBoost")["ties"] == 12
    assert arena.paired(results(0.05), "r2", "nobody") is None
    assert arena.mean_ranks(results(0.05), "r2") == {"front door": 1.0, "CatBoost": 2.0, "LightGBM": 3.0}
    assert time_ratio(results(0.05), "CatBoost", "r2") == 1.0


def test_the_verdict_follows_the_differences():
    assert arena.verdict(results(0.05))[0] == "holds"
    assert arena.verdict(results(-0.05))[0] == "does not hold"
    verdict, why = arena.verdict(results(0.05, n_tables=4))
    assert verdict == "cannot tell"
    assert "+0.0500" in why


def test_tables_compare_with_every_learner_and_with_the_mark_by_kind_of_table():
    beside, by_kind = arena.tables_shown(results(0.05))  # nobody has run the one with trees
    rows = {row[0]: row[1:] for row in beside["rows"]}
    assert rows["accuracy − CatBoost"] == [12, "+0.0500 ± 0.0000", "+0.0500", "12/0/0", "1", "1"]
    assert rows["r2 − LightGBM"][1] == "+0.1500 ± 0.0000"
    assert rows["log loss − CatBoost"][0] == 0  # nobody has measured it
    kinds = {row[0]: row[1] for row in by_kind["rows"]}
    assert [kinds[f"r2, {kind}"] for kind in ("below 1000 rows", "1000 to 4000 rows", "above 4000 rows")] == [3, 0, 9]
    assert [kinds[f"r2, {kind} categories"] for kind in ("no", "some", "mostly")] == [3, 6, 3]
    assert all(len(row) == len(table["columns"]) for table in (beside, by_kind) for row in table["rows"])


def test_the_figure_draws_every_rival():
    pytest.importorskip("matplotlib").use("Agg")
    chart = arena.figure(results(0.05))
    assert [label.get_text() for label in chart.axes[0].get_yticklabels()] == ["CatBoost", "LightGBM"]
