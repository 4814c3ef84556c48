"""Mutated tables through `bochner fit`, `predict` and `report`: some in the quick suite, five
hundred in `make test-all` and `make attack`.
"""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")
resource = pytest.importorskip("resource")

from bochner.tables.columns.written_dates import date_formats
from bochner.tables.columns.written_numbers import number_of
from bochner.tables.evaluate.findings import column_effects
from tests.hostile.attacks import Report, failures
from tests.hostile.commands import Arena, run, table_reports, without_heavy_baselines
from tests.hostile.inputs import SAME
from tests.hostile.tables import FOREIGN, Mutant, as_text, clean_table, mutants
from tests.hostile.verdicts import CLEAR, RIGHT, WRONG

_MEGABYTES = 1500


def assert_repelled(reports):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reports = list(reports)
    assert not (lost := failures(reports)), "\n".join(
        f"{one.name}: {one.attack}: {one.outcome}" for one in lost
    )
    assert len({report.outcome.kind for report in reports}) == 2
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < _MEGABYTES


@pytest.mark.long
def test_some_mutated_tables(arena):
    assert_repelled(
        Report(target, mutant.name, arena.tried(target, mutant))
        for target, mutant in mutants(3, seed=1)
    )


@pytest.mark.long
def test_five_hundred_mutated_tables(tmp_path):
    assert_repelled(table_reports(tmp_path, 500, 0))


def test_mutants_are_the_same_for_the_same_seed_and_of_different_kinds():
    first, again = (list(mutants(40)) for _ in range(2))
    assert [mutant.name for _, mutant in first] == [mutant.name for _, mutant in again]
    assert sum(a == b for a, b in zip(first, again)) > 30  # archives hold the time
    assert len({mutant.name for _, mutant in first}) == 40


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    with without_heavy_baselines():
        yield Arena(tmp_path_factory.mktemp("arena"))


@pytest.fixture(scope="module")
def prices(tmp_path_factory):
    """Return an arena with one of the two models."""
    with without_heavy_baselines():
        yield Arena(tmp_path_factory.mktemp("prices"), ["price"])


@pytest.mark.long
def test_the_arena_sees_other_numbers_and_refusals(arena):
    frame = clean_table("price")
    changed = as_text(frame.assign(size=frame["size"] + 0.01))
    assert arena.tried("price", Mutant("x", ".csv", as_text(frame), SAME)).kind == RIGHT
    assert arena.tried("price", Mutant("x", ".csv", changed, SAME)).kind == WRONG
    assert arena.tried("price", Mutant("x", ".csv", b"", SAME)).kind == WRONG
    assert arena.tried("price", Mutant("x", ".csv", b"", "finite")).kind == CLEAR


@pytest.mark.parametrize("name", ["garbage", "gzip cut in the middle"])
def test_a_refusal_is_one_line_and_writes_no_file(tmp_path, monkeypatch, name):
    ending, make, _ = FOREIGN[name]
    (tmp_path / f"table{ending}").write_bytes(make(clean_table("price"), np.random.default_rng(0)))
    monkeypatch.chdir(tmp_path)
    ran = run("fit", f"table{ending}", "--target", "price")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error.startswith("bochner: table")
    assert ran.error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"table{ending}"]


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="compares lines")
@pytest.mark.parametrize("name", ["garbage", "gzip cut in the middle"])
def test_outside_this_process_a_refusal_is_one_line_too(tmp_path, name):
    ending, make, _ = FOREIGN[name]
    (tmp_path / f"table{ending}").write_bytes(make(clean_table("price"), np.random.default_rng(0)))
    ran = subprocess.run(
        [sys.executable, "-m", "bochner", "fit", f"table{ending}", "--target", "price"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("bochner: table")
    assert ran.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"table{ending}"]


# --- what the mutants have found ------------------------------------------------------------------


def test_long_texts_are_looked_through_quickly():
    begun = time.process_time()
    assert date_formats(pd.Series(["x" * 200_000, "1," * 100_000]).to_numpy(dtype=object)) == ()
    assert number_of("a" + " " * 200_000 + "b") != number_of("1")
    assert time.process_time() - begun < 2


def test_objects_where_numbers_were_are_refused(prices, tmp_path):
    frame = clean_table("price").astype({"rooms": object})
    frame.at[3, "rooms"] = {"a": 1}
    (tmp_path / "table.jsonl").write_text(frame.to_json(orient="records", lines=True))
    ran = run("predict", str(prices.file("price", "skops")), str(tmp_path / "table.jsonl"))
    assert ran.code == 2
    assert ran.error.strip() == (
        "bochner: Column 'rooms' holds lists or objects; write one number or text in each row."
    )


def test_targets_whose_squares_overflow_are_refused(tmp_path):
    frame = clean_table("price").assign(price=lambda frame: 1e200 * frame["size"])
    (tmp_path / "table.csv").write_bytes(as_text(frame))
    ran = run(
        "fit", str(tmp_path / "table.csv"), "--target", "price", "--out", str(tmp_path / "x.skops")
    )
    assert ran.code == 2
    assert "beyond 1e+150" in ran.error


@pytest.mark.filterwarnings("error")
def test_levels_of_training_rows_alone_have_no_effect_among_held_out_ones(prices):
    from bochner import load
    from bochner.tables.evaluate.metrics import Truth

    model, frame = load(prices.file("price", "skops")), clean_table("price")
    levels = ["plain", "süß"]
    some = frame[frame["café"].isin(levels)]
    found = column_effects(
        model["model"], model["columns"].transform(some), Truth(some["price"].to_numpy())
    )
    (curve,) = [curve for curve in found.curves if curve.kind == "levels"]
    assert sorted(curve.x) == levels


def test_labels_that_end_in_a_nul_are_refused(prices):
    """NumPy drops it, and no row would be of the class."""
    frame, table = clean_table("label"), prices.folder / "nul.parquet"
    frame.assign(
        label=["a\0" if value == frame["label"].iloc[0] else "b" for value in frame["label"]]
    ).to_parquet(table)
    ran = run("fit", str(table), "--target", "label", "--out", str(prices.folder / "nul.skops"))
    assert ran.code == 2
    assert "ends in a NUL character" in ran.error
