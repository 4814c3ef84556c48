"""The cost model's arithmetic, by numbers worked out by hand; and the exponent of the large files."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def loaded(name, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def model(monkeypatch):
    return loaded("cost_model", monkeypatch)


def record(name, rows, cpu, threads=1, **more):
    return {"name": name, "rows": rows, "columns": 20, "threads": threads, "cpu": cpu} | more


FLOOR = "floor: one sum of all numbers"
RIDGE = "SpectralRidge, 100 frequencies"


def test_rates_are_the_line_through_the_two_largest_sizes(model):
    records = [
        record("a", 10**5, 9.0),
        record("a", 10**6, 3.0),
        record("a", 5 * 10**6, 11.0),
        record("a", 10**7, 1.0, 2),
    ]
    assert model.rates(records, "a", 20) == pytest.approx((2e-6, 1.0))
    assert model.rates(records[:1], "a", 20) == pytest.approx((9e-5, 0.0))
    # A cost that grew less than in proportion to nothing, or faster than the rows, has no constant.
    assert model.rates([record("a", 10, 1.0), record("a", 100, 20.0)], "a", 20) == pytest.approx(
        (0.2, 0.0)
    )
    assert model.rates(
        [record("a", 10, 1.0), record("a", 20, 9.0, failed="x")], "a", 20
    ) == pytest.approx((0.1, 0.0))
    with pytest.raises(
        ValueError,
        match=r"no fit 'b' on one thread with 20 columns. Run python benchmarks/large_files.py",
    ):
        model.rates(records, "b", 20)


def test_a_ridge_by_hand(model):
    """1 µs a row, 100 ns to read one; at 100 columns and 200 frequencies a row takes 208 000 flops
    in place of 48 000.
    """
    records = [record(RIDGE, 10**6, 1.0), record(RIDGE, 10**7, 10.0), record(FLOOR, 10**6, 0.1)]
    ridge = model.LEARNERS["ridge"]
    assert ridge.flops(20, 100) == 100 * 80 + 40_000
    assert ridge.flops(100, 200) == 200 * 240 + 160_000
    found = model.cost(ridge, records, 1e9, 100, 200, model.Cluster(64, 16, 1e10))
    assert found.compute == pytest.approx(1000 * 208 / 48 / (64 * 16 * 0.8))  # 5.29
    assert found.memory == pytest.approx(4e11 / (8e8 * 1024))  # 80 bytes in 100 ns
    assert found.network == pytest.approx(
        2 * 6 * 8 * 8 * 400**2 / 1e10
    )  # 1.28 MB, six levels, both ways
    assert found.tasks == pytest.approx(0.096)
    assert found.constant == 0.0
    assert found.total == pytest.approx(5.2896 + 0.0123 + 0.096, rel=1e-3)
    assert found.bottleneck == "compute"


def test_steps_wait_for_each_other(model):
    """30 epochs of 512 steps, whose parameters are 4 · 2000 · 102 bytes."""
    name = "JointDescent, one epoch"
    records = [record(name, 10**6, 1.5), record(name, 10**7, 10.5), record(FLOOR, 10**6, 0.1)]
    found = model.cost(
        model.LEARNERS["joint descent, 30 epochs"],
        records,
        1e9,
        100,
        2000,
        model.Cluster(64, 16, 1e10),
    )
    assert found.constant == pytest.approx(0.5)
    assert found.tasks == pytest.approx(30 * 512 * 0.04)
    assert found.network == pytest.approx(30 * 512 * 12 * 8 * 816_000 / 1e10)
    # 600 d D / 100 flops for projections and 80 a wave: 6 · 100 · 2000 + 80 · 2000 for 6 · 20 · 100
    # + 80 · 100.
    assert found.compute == pytest.approx(1e9 * 30 * 1e-6 * (1_360_000 / 20_000) / (64 * 16 * 0.8))


def test_tables_are_written_between_their_marks(model):
    text = model.PAGE.read_text()
    for name in ("large files", "cost model"):
        text = model.between(text, name, f"the table of {name}")
    assert "<!-- large files -->\n\nthe table of large files\n\n<!-- end of large files -->" in text
    assert text.count("the table of") == 2


def test_boosting_has_waves_of_its_own(model):
    boosting = model.LEARNERS["boosting"]
    assert boosting.flops(20, 100) == boosting.flops(20, 2000) == 20_000
    assert boosting.travels(100, 2000) == 40_800


def test_one_node_has_no_network_and_the_table_names_bottlenecks(
    model, tmp_path, monkeypatch, capsys
):
    names = [learner.measured for learner in model.LEARNERS.values()]
    records = [
        record(name, rows, 1e-6 * rows) for name in [*names, FLOOR] for rows in (10**6, 10**7)
    ]
    assert (
        model.cost(
            model.LEARNERS["ridge"], records, 1e6, 20, 100, model.Cluster(1, 2, 1e10)
        ).network
        == 0
    )
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps({"measured": records}))
    monkeypatch.setattr(sys, "argv", ["cost_model.py", "--measured", str(kept), "--nodes", "2"])
    model.main()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4 + len(model.LEARNERS)
    assert all(
        line.split("|")[-2].strip() in ("compute", "memory", "network", "tasks")
        for line in printed[4:]
    )
    monkeypatch.setattr(sys, "argv", ["cost_model.py", "--measured", str(tmp_path / "none.json")])
    with pytest.raises(SystemExit, match=r"Run python benchmarks/large_files\.py first"):
        model.main()


def test_exponents_and_measurements_that_are_kept(monkeypatch, tmp_path):
    files = loaded("large_files", monkeypatch)
    assert files.exponent([(1e4, 9.0), (1e5, 1.0), (1e6, 11.0), (1e7, 1000.0)]) == pytest.approx(
        1.5
    )
    assert files.exponent([(1e4, 1.0), (1e5, 9.0)]) is None
    kept = files.Kept(tmp_path / "kept.json")
    key = {"name": "LightGBM", "rows": 10, "columns": 20, "threads": 1}
    assert kept.find(**key) is None
    kept.add({"failed": "no"}, **key)
    kept.add({"seconds": 2.0, "cpu": 3.0, "growth": 1e6, "growth_with_pages": 2e6}, **key)
    again = files.Kept(tmp_path / "kept.json")
    assert len(again.records) == 1
    assert again.find(**key)["cpu"] == 3.0
    assert "| LightGBM | 1e+01 | 2.00 |  | 5 | 300000000 | 1 | 2 |  |" in files.page(
        again.records, 20
    )


def test_the_summary_has_seconds_on_two_threads_and_the_memory_of_the_largest_fit(monkeypatch):
    files = loaded("large_files", monkeypatch)
    records = [
        {"name": "LightGBM", "rows": rows, "columns": 20, "threads": 2, "seconds": 1.0, "growth": g}
        for rows, g in ((10**7, 5e6), (10**5, 3e6))
    ]
    records.append(records[0] | {"threads": 1, "seconds": 9.0, "growth": 9e9})
    assert files.summary(records, 20).splitlines()[2:] == ["| LightGBM | 1.00 |  | 1.00 | 5 |"]
