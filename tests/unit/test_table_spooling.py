"""Large tables lie in temporary files: the same frames, columns, models and pages as in memory, and
little memory beside.
"""

import gc
import subprocess
import sys

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import messy_samples as messy
from table_samples import quick_models

from bochner import fit_table, load_table
from bochner.data.maps import _SCRATCHES, is_mapped
from bochner.tables.read import pieces, spooling

N = 300


def table(rng, n_rows=N):
    numbers = rng.normal(size=(n_rows, 3))
    days = pandas.Series(
        pandas.to_datetime("2021-01-01") + pandas.to_timedelta(rng.integers(900, size=n_rows), "D")
    )
    return pandas.DataFrame({
        "x": numbers[:, 0],
        "hole": np.where(rng.random(n_rows) < 0.2, np.nan, numbers[:, 1]),
        "whole": rng.integers(100, size=n_rows),
        "truth": rng.random(n_rows) < 0.5,
        "truth with a hole": pandas.Series(rng.random(n_rows) < 0.5, dtype=object).where(rng.random(n_rows) < 0.9),
        "money": messy.money(1000 * numbers[:, 2]),
        "day": days.dt.strftime("%d/%m/%Y"),
        "time": days,
        "zoned": days.dt.tz_localize("UTC"),
        "kind": np.array(["a", "b", "é", ""])[rng.integers(4, size=n_rows)],
        "city": [f"city {k}" for k in rng.integers(80, size=n_rows)],
        "level": pandas.Categorical.from_codes(rng.integers(-1, 3, size=n_rows), ["low", "middle", "high"], ordered=True),
        "id": np.arange(n_rows),
        "y": numbers[:, 0] + np.sin(2 * numbers[:, 2]) + 0.1 * rng.normal(size=n_rows),
    })  # fmt: skip


@pytest.fixture
def everything_large(monkeypatch):
    def switch(large=True):
        monkeypatch.setattr(spooling, "HELD_CELLS", 0 if large else 2**60)

    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 64)
    return switch


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_files_are_read_alike(tmp_path, everything_large, ending):
    path = tmp_path / f"table{ending}"
    frame = table(np.random.default_rng(0))
    if ending == ".csv":
        frame.to_csv(path, index=False)
    elif ending == ".parquet":
        frame.to_parquet(path, row_group_size=50)
    else:
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    everything_large(False)
    held = load_table(path)
    everything_large()
    spooled = load_table(path)
    pandas.testing.assert_frame_equal(spooled, held)
    assert spooled.attrs == held.attrs
    assert is_mapped(spooled["x"].to_numpy())
    assert not is_mapped(held["x"].to_numpy())
    if ending == ".parquet":
        assert is_mapped(spooled["level"].array._codes)
    texts = spooled["city"].array
    if hasattr(texts, "_pa_array"):  # of pandas 3: in a file, not in memory
        letters = texts._pa_array.chunk(0).buffers()[2].address
        maps = [one for one in _SCRATCHES.values() if one.dtype == np.uint8]
        assert any(0 <= letters - one.ctypes.data < one.nbytes for one in maps)


def test_rows_are_taken_alike(everything_large):
    frame = table(np.random.default_rng(1)).set_axis(range(100, 100 + N), axis=0)
    frame.attrs["decimal"] = ","
    numbers = np.random.default_rng(2).permutation(N)[:77]
    everything_large()
    some = spooling.rows_of(frame, numbers)
    pandas.testing.assert_frame_equal(some, frame.iloc[numbers])
    assert some.attrs == {"decimal": ","}
    assert is_mapped(some["whole"].to_numpy())
    assert spooling.rows_of(frame, numbers[:0]).shape == (0, frame.shape[1])


@pytest.mark.parametrize(
    ("target", "options"),
    [
        pytest.param("y", {}, marks=pytest.mark.long),
        pytest.param("y", {"split": "time:day", "refit": True}, marks=pytest.mark.long),
        pytest.param("truth", {"split": "group:whole"}, marks=pytest.mark.long),
        pytest.param(
            "truth", {"threshold": "balanced", "split": "group:whole"}, marks=pytest.mark.long
        ),
        pytest.param("kind", {"roles": {"money": "category"}}, marks=pytest.mark.long),
    ],
)
def test_models_are_alike(everything_large, target, options):
    """Missing targets, rare classes, means of the target: all that takes rows."""
    frame = table(np.random.default_rng(3), 160)
    frame.loc[5:9, "y"] = np.nan
    frame["kind"] = frame["kind"].astype(object).mask(frame.index < 3, "rare").replace("", None)
    facts = []
    for large in (False, True):
        everything_large(large)
        with quick_models():
            model = fit_table(frame, target, compare=False, **options)
        told = {
            name: fact
            for name, fact in model.facts_.items()
            if name not in ("cost", "made", "members")
        }
        for entry in told["judged"].values():
            entry.pop("seconds")
        facts.append(told | {"predictions": model.predict(frame.head(50)).tolist()})
    assert facts[0] == facts[1]
    del model
    gc.collect()  # columns of dates are in a reference cycle of pandas 2
    assert not list(_SCRATCHES.values())


@pytest.mark.long
def test_others_get_a_sample_of_a_large_table(monkeypatch):
    from bochner.tables.evaluate import baselines

    monkeypatch.setattr(baselines, "_MAX_CELLS", 400)
    monkeypatch.setattr(baselines, "_SVM_ROWS", 50)
    model = fit_table(table(np.random.default_rng(4))[["x", "hole", "whole", "money", "y"]], "y")
    assert (
        "Other models need all rows in memory: they are fitted on 100 of the 225 rows."
        in model.facts_["notes"]
    )
    assert {"linear", "constant"} <= model.facts_["judged"].keys()
    assert len(baselines.sampled_rows("linear", (225, 4), 0)) == 100
    assert baselines.sampled_rows("linear", (100, 4), 0) is None
    assert baselines.sampled_rows("constant", (225, 4), 0) is None


def test_a_full_disk_is_one_sentence(monkeypatch):
    """Behind a map it would end the process, so room is asked for before."""
    resource = pytest.importorskip("resource")
    from bochner.data import scratch

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # bytecode would be cut off
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(
            OSError, match=r"a temporary file needs .* GB; let TMPDIR name a folder with more room"
        ):
            scratch((10_000,), np.float64, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


PEAK = """
import sys
from bochner.tables.read import spooling
spooling.HELD_CELLS = 0
from bochner import load_table
from bochner.tables.columns.reader import ColumnReader
from bochner.tables.provenance import peak_bytes
ColumnReader().fit_transform(load_table(sys.argv[1]))
before = peak_bytes()
frame = ColumnReader().fit_transform(load_table(sys.argv[2]))
print(peak_bytes() - before, frame.shape[0])
"""


@pytest.mark.long
def test_reading_columns_takes_memory_for_one_of_them(tmp_path):
    n_rows, n_columns = 400_000, 60
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({f"x{k}": rng.normal(size=n_rows) for k in range(n_columns)})
    paths = [tmp_path / "small.parquet", tmp_path / "large.parquet"]
    for path, part in zip(paths, [frame.head(50_000), frame]):
        part.to_parquet(path, row_group_size=20_000)
    said = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, paths)], capture_output=True, text=True, check=True
    )
    grown, n_read = map(int, said.stdout.split())
    assert n_read == n_rows
    assert (
        grown < 0.7 * 8 * n_rows * n_columns
    )  # some pieces of them; all would be twice the numbers and more
