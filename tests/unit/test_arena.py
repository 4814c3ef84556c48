"""The arena: tables of a folder, splits, fits, and the comparison of stored lines."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks import arena

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two small tables in the format of the folder."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=80), "kind": rng.choice(["a", "b", None], size=80)}
    )
    frame.loc[::9, "size"] = np.nan
    frame.assign(target=np.where(rng.random(80) < 0.4, "no", "yes")).to_parquet(
        tmp_path / "votes.parquet"
    )
    frame.assign(target=rng.normal(size=80)).to_parquet(tmp_path / "prices.parquet")
    index = [
        {"name": "votes", "task": "classification", "n": 80},
        {"name": "prices", "task": "regression", "n": 80},
    ]
    (tmp_path / "index.json").write_text(json.dumps(index))
    monkeypatch.setenv("BOCHNER_TABLES", str(tmp_path))
    return tmp_path


def test_tables_of_a_folder_keep_their_types(folder):
    frame, y, task = arena.load_table("votes")
    assert task == "classification"
    assert set(y) == {"no", "yes"}
    assert str(frame["kind"].dtype) == "category"
    assert "target" not in frame.columns
    assert arena.load_table("prices")[1].dtype == np.float64


def test_a_folder_without_an_index_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("BOCHNER_TABLES", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no index\.json"):
        arena.tables()


def test_splits_are_disjoint_stratified_and_bounded():
    y = np.repeat(["a", "b"], [30_000, 10_000])
    train, test = arena.split_rows(y, "classification", 0)
    assert len(train) == len(test) == 10_000
    assert not set(train) & set(test)
    assert np.mean(y[train] == "b") == pytest.approx(0.25, abs=0.001)


def test_fits_are_kept_as_lines_and_not_repeated(folder, monkeypatch, capsys):
    monkeypatch.setattr(arena, "installed", list)
    trees = arena.histogram_trees
    monkeypatch.setattr(arena, "LEARNERS", {arena.OURS: trees, "HistGradientBoosting": trees})
    path = folder / "lines.jsonl"
    monkeypatch.setattr(sys, "argv", ["arena.py", "--rows", "40", "--lines", str(path)])
    arena.main()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["table"] for one in lines] == ["votes", "votes", "prices", "prices"]
    assert {one["rows"] for one in lines} == {40}
    assert all(np.isfinite(one["accuracy" if one["table"] == "votes" else "r2"]) for one in lines)
    printed = capsys.readouterr().out
    assert "| HistGradientBoosting (1 + 1) | +.000 ± nan | 0/1/0 |" in printed
    arena.main()
    assert len(path.read_text().splitlines()) == 4
    assert capsys.readouterr() == (printed, "")


def lines_of(gain):
    scores = {"front door": 0.8 + gain, "CatBoost": 0.8, "LightGBM": 0.7}
    return [
        {"table": f"{quantity} {k}", "learner": learner, "rows": 90, quantity: score + 0.01 * k}
        | {"fit seconds": 2.0 if learner == "front door" else 1.0}
        for quantity in ("accuracy", "r2")
        for k in range(12)
        for learner, score in scores.items()
    ]


def test_differences_are_paired_by_table_and_rows():
    lines = lines_of(0.05)
    name, *cells, times = arena.row(lines, "CatBoost")
    assert (name, times) == ("CatBoost (12 + 12)", "×2 / ×2")
    assert cells == ["+.050 ± .000", "12/0/0", "–", "–", "+.050 ± .000 (+.050)", "12/0/0"]
    assert arena.row(lines_of(0.001), "CatBoost")[2] == "0/12/0"  # a tie is within .002
    assert arena.row(lines_of(-0.05), "CatBoost")[1:3] == ["-.050 ± .000", "0/0/12"]
    lines[0] |= {"rows": 45}
    assert arena.row(lines, "CatBoost")[0] == "CatBoost (11 + 12)"


def test_a_gain_in_log_loss_is_a_lower_one():
    lines = [
        {"table": "a", "learner": learner, "rows": 9, "log loss": loss, "fit seconds": 1.0}
        for learner, loss in (("front door", 0.3), ("CatBoost", 0.4))
    ]
    assert arena.row(lines, "CatBoost")[3:5] == ["+.100", "1/0/0"]


def test_the_documents_show_what_the_stored_lines_say():
    stored = (ROOT / "benchmarks" / "arena.jsonl").read_text()
    page = arena.page([json.loads(line) for line in stored.splitlines()])
    assert (ROOT / "benchmarks" / "arena.md").read_text() == page
    readme = [line for line in (ROOT / "README.md").read_text().splitlines() if "± ." in line]
    assert len(readme) == 4
    assert set(readme) <= set(page.splitlines())
