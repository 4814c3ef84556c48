"""Rows of files: read in pieces, once a pass, with the sums, maps and draws of the same rows in memory."""

import sys
import tracemalloc

import numpy as np
import pytest

from bochner import Gaussian, SpectralFeatures, SpectralLogistic, SpectralRidge, open_rows
from bochner._compute import Block, LocalRows, as_rows, file_rows
from bochner._compute.file_rows import FileRows

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_ROWS = 1000
KINDS = ["parquet", "csv", "tsv"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(file_rows, "STREAMED_BYTES", 2**13)  # 341 rows of three numbers


def numbers(dtype=np.float64):
    return np.round(np.random.default_rng(0).normal(size=(N_ROWS, 3)), 3).astype(dtype)


def stored(folder, kind, X, y=None):
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]} | ({} if y is None else {"label": y})
    path = folder / f"table.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table(columns), path, row_group_size=270)
    else:
        mark = "\t" if kind == "tsv" else ","
        lines = [mark.join(map(str, row)) for row in zip(*(column.tolist() for column in columns.values()))]
        path.write_text("\n".join([mark.join(columns), *lines]) + "\n")
    return path


@every_kind
def test_sums_maps_and_rows_are_those_in_memory(kind, tmp_path):
    X = numbers()
    rows, here = open_rows(stored(tmp_path, kind, X)), LocalRows(X)
    assert rows.shape == X.shape
    assert rows.dtype == np.float64
    signal = np.arange(N_ROWS, dtype=float)
    block = Block(lambda x, s: (x.T @ x, s @ x))
    for found, expected in zip(rows.sum(block, signal), here.sum(block, signal), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    numbered = np.array([0, 5, 269, 270, 998, 999])
    np.testing.assert_array_equal(rows.take(numbered), X[numbered])
    np.testing.assert_array_equal(rows.sample(50), here.sample(50))

    def double(x, s, out):
        out[...] = 2 * x + s[:, None]

    np.testing.assert_array_equal(rows.map(double, 3, signals=[signal]), 2 * X + signal[:, None])
    with pytest.raises(ValueError, match="out has shape"):
        rows.map(double, 3, out=np.empty((2, 3)), signals=[signal])


@every_kind
def test_batches_hold_each_row_once(kind, tmp_path):
    X = numbers()
    rows = open_rows(stored(tmp_path, kind, X))
    kept = np.arange(N_ROWS) % 3 > 0
    seen = []
    for block, places, numbered in rows.batches(64, np.random.default_rng(0), kept):
        assert len(numbered) <= 64
        np.testing.assert_array_equal(block[places], X[numbered])
        seen.extend(numbered.tolist())
    assert sorted(seen) == np.flatnonzero(kept).tolist()
    np.save(tmp_path / "X.npy", X)
    mapped = LocalRows(np.load(tmp_path / "X.npy", mmap_mode="r"))
    there = [numbered for _, _, numbered in mapped.batches(64, np.random.default_rng(0), kept)]
    np.testing.assert_array_equal(seen, np.concatenate(there))


def test_columns_types_and_targets(tmp_path):
    X = numbers(np.float32)
    labels = np.where(X[:, 0] > 0, "up", "down")
    path = stored(tmp_path, "parquet", X, labels)
    rows = open_rows(path, target="label")
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.y, labels)
    np.testing.assert_array_equal(open_rows(path, ["c", "a"]).take(np.arange(9)), X[:9, [2, 0]])
    mixed = tmp_path / "mixed.parquet"
    parquet.write_table(pa.table({"whole": [1, 2], "flag": [True, False], "half": np.float32([0.5, 1.5])}), mixed)
    np.testing.assert_array_equal(open_rows(mixed).take(np.arange(2)), [[1, 1, 0.5], [2, 0, 1.5]])


@every_kind
def test_models_are_those_of_memory(kind, tmp_path):
    X = numbers()
    y = np.where(np.sin(2 * X[:, 0]) > X[:, 1], "in", "out")
    rows = open_rows(stored(tmp_path, kind, X, y), target="label")
    model = SpectralLogistic(SpectralFeatures(n_components=20), random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    model.fit(rows, rows.y)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-10)
    assert model.score(rows, y) == np.mean(model.predict(X) == y)


def test_numpy_files_are_mapped(tmp_path):
    np.save(tmp_path / "X.npy", numbers())
    rows = open_rows(tmp_path / "X.npy")
    assert isinstance(rows, LocalRows)
    assert not rows.in_memory
    with pytest.raises(ValueError, match="no column names"):
        open_rows(tmp_path / "X.npy", ["a"])


def test_one_pass_reads_the_file_once(tmp_path, monkeypatch):
    rows = open_rows(stored(tmp_path, "parquet", numbers()))
    passes = []
    original = FileRows._pieces
    monkeypatch.setattr(FileRows, "_pieces", lambda self: passes.append(1) or original(self))
    features = SpectralFeatures(Gaussian(0.5), n_components=10, random_state=0).fit(rows)
    assert len(passes) == 0
    features.transform(rows)
    assert len(passes) == 1
    SpectralRidge(features, alpha=1.0).fit(rows, numbers()[:, 0])
    assert len(passes) == 2


def test_the_file_is_never_whole_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(file_rows, "STREAMED_BYTES", 2**20)
    n_rows = 300_000
    table = pa.table({f"x{j}": np.random.default_rng(j).normal(size=n_rows) for j in range(10)})
    parquet.write_table(table, tmp_path / "table.parquet", row_group_size=20_000)
    del table
    features = SpectralFeatures(Gaussian(0.1), n_components=4, random_state=0)
    rows = open_rows(tmp_path / "table.parquet")
    SpectralRidge(features, alpha=1.0).fit(np.zeros((9, 10)), np.zeros(9))
    tracemalloc.start()
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    peaks = []
    block = Block(lambda x: (peaks.append(pool.bytes_allocated() - before), x.sum(axis=0))[1])
    rows.sum(block)
    SpectralRidge(features, alpha=1.0).fit(rows, np.zeros(n_rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak + max(peaks) < 15e6 < n_rows * 10 * 8


@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_missing_numbers_are_named(bad, tmp_path):
    values = [1.0] * 700
    values[650] = bad
    parquet.write_table(pa.table({"a": [0.5] * 700, "b": values}), tmp_path / "t.parquet")
    kind = "infinity" if bad == np.inf else "NaN"
    with pytest.raises(
        ValueError, match=f"contains {kind}: first in column 'b', in row .* from row .* of t.parquet on"
    ):
        SpectralRidge(alpha=1.0, random_state=0).fit(open_rows(tmp_path / "t.parquet"), np.zeros(700))


def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, monkeypatch):
    X = numbers()
    path = stored(tmp_path, "parquet", X, np.full(N_ROWS, "text"))
    with pytest.raises(ValueError, match=r"'label' of table\.parquet does not hold numbers"):
        open_rows(path)
    with pytest.raises(ValueError, match=r"no column 'z'; its columns are 'a', 'b', 'c', 'label'\."):
        open_rows(path, ["a", "z"])
    with pytest.raises(TypeError, match=r"Write columns=\['a'\]"):
        open_rows(path, "a")
    with pytest.raises(ValueError, match=r"reads \.csv, .*got 'table.xls'"):
        open_rows("table.xls")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        open_rows(tmp_path / "none.csv")
    with pytest.raises(TypeError, match="must name a file"):
        open_rows(X)
    with pytest.raises(ValueError, match="No target was named"):
        _ = open_rows(path, ["a"]).y
    with pytest.raises(TypeError, match="read in pieces"):
        np.asarray(open_rows(path, ["a"]))
    (tmp_path / "broken.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=r"broken\.parquet is no Parquet file"):
        open_rows(tmp_path / "broken.parquet")
    (tmp_path / "late.csv").write_text("a,b\n" + "1,2\n" * 400_000 + "1,oops\n")
    with pytest.raises(ValueError, match=r"Column 'b' of late\.csv does not hold numbers"):
        open_rows(tmp_path / "late.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow, which is not installed: pip install 'bochner\[table\]'"):
        open_rows(path)


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path):
    X = numbers()
    rows = open_rows(stored(tmp_path, "csv", X))
    assert len(rows) == N_ROWS
    stored(tmp_path, "csv", X[:900])
    with pytest.raises(ValueError, match="had 1000 rows and now has 900"):
        rows.assert_all_finite()


def test_rows_of_a_file_are_rows(tmp_path):
    rows = open_rows(stored(tmp_path, "csv", numbers()))
    assert as_rows(rows) is rows


def test_an_empty_file_is_refused(tmp_path):
    parquet.write_table(pa.table({"a": np.zeros(0)}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet has no rows"):
        open_rows(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"t\.csv has no rows"):
        open_rows(tmp_path / "t.csv")
