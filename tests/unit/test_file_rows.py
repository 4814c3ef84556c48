"""Rows of files: copied once into an array or a memory map, which holds the numbers of the file and
goes with the rows.
"""

import shutil
import sys
from collections import namedtuple

import numpy as np
import pytest
from selection import long_except
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import (
    Gaussian,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRidge,
    load_table,
    open_rows,
)
from bochner.data import LocalRows, as_rows
from bochner.data.maps import _SCRATCHES, is_mapped
from bochner.tables.read import pieces, streaming

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_ROWS = 1000
KINDS = ["parquet", "csv", "tsv"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Files are read in four pieces and copied into a memory map."""
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 300)
    monkeypatch.setattr(streaming, "_HELD_BYTES", 0)


def numbers(dtype=np.float64):
    return np.round(np.random.default_rng(0).normal(size=(N_ROWS, 3)), 3).astype(dtype)


def stored(folder, kind, X, y=None):
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]} | ({} if y is None else {"label": y})
    path = folder / f"table.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table(columns), path, row_group_size=270)
    else:
        mark = "\t" if kind == "tsv" else ","
        lines = [
            mark.join(map(str, row))
            for row in zip(*(column.tolist() for column in columns.values()))
        ]
        path.write_text("\n".join([mark.join(columns), *lines]) + "\n")
    return path


@every_kind
def test_rows_are_a_memory_map_of_the_numbers(kind, tmp_path):
    X = numbers()
    rows = open_rows(stored(tmp_path, kind, X))
    assert isinstance(rows, LocalRows)
    assert as_rows(rows) is rows
    assert (rows.shape, rows.names, rows.notes) == (X.shape, ["a", "b", "c"], [])
    assert is_mapped(rows.source)
    assert is_mapped(np.asarray(rows))
    assert not is_mapped(np.array(rows))
    np.testing.assert_array_equal(np.asarray(rows), X)


def test_few_numbers_stay_in_memory(tmp_path, monkeypatch):
    X = numbers()
    path = stored(tmp_path, "csv", X)
    for n_bytes in (X.nbytes - 1, X.nbytes):
        monkeypatch.setattr(streaming, "_HELD_BYTES", n_bytes)
        assert open_rows(path).in_memory == (n_bytes == X.nbytes)


def test_columns_types_and_targets(tmp_path):
    X = numbers(np.float32)
    labels = np.where(X[:, 0] > 0, "up", "down")
    path = stored(tmp_path, "parquet", X, labels)
    rows = open_rows(path, target="label")
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.y, labels)
    np.testing.assert_array_equal(open_rows(path, ["c", "a", "c"], target="a"), X[:, [2, 0, 2]])
    mixed = tmp_path / "mixed.parquet"
    parquet.write_table(
        pa.table({"whole": [1, 2], "flag": [True, False], "half": np.float32([0.5, 1.5])}), mixed
    )
    np.testing.assert_array_equal(open_rows(mixed), [[1, 1, 0.5], [2, 0, 1.5]])
    for kind, expected in (("boolean", [True, None]), ("Int64", [1, np.nan]), ("str", ["a", None])):
        pd.DataFrame({"x": [1, 2], "y": pd.Series([expected[0], None], dtype=kind)}).to_parquet(
            mixed
        )
        np.testing.assert_array_equal(open_rows(mixed, target="y").y, np.array(expected))


@pytest.mark.parametrize("n_rows", [200, N_ROWS])
def test_parquet_files_have_the_columns_of_load_table(n_rows, tmp_path):
    """An index without a name is no column, one with a name is; nullable numbers are numbers."""
    frame = pd.DataFrame({"a": np.arange(n_rows) / 7, " b ": pd.array(np.arange(n_rows), "Int64")})
    for name, expected in (("day", ["day", "a", "b"]), (None, ["a", "b"])):
        frame.set_axis(pd.Index(np.arange(n_rows)[::-1] * 2, name=name)).to_parquet(
            tmp_path / "t.parquet"
        )
        rows = open_rows(tmp_path / "t.parquet")
        assert rows.names == load_table(tmp_path / "t.parquet").columns.tolist() == expected
        np.testing.assert_array_equal(rows, load_table(tmp_path / "t.parquet").to_numpy(np.float64))
    np.testing.assert_array_equal(
        open_rows(tmp_path / "t.parquet", ["a"], target="b").y, np.arange(n_rows)
    )
    twice = pa.Table.from_arrays(
        [pa.array(np.zeros(n_rows)), pa.array(np.ones(n_rows))], names=["a", "a "]
    )
    parquet.write_table(twice, tmp_path / "t.parquet")
    np.testing.assert_array_equal(open_rows(tmp_path / "t.parquet", ["a.1"]), np.ones((n_rows, 1)))


@pytest.mark.parametrize("kind", long_except(KINDS, "csv"))
def test_models_are_those_of_memory(kind, tmp_path):
    X = numbers()
    y = np.where(np.sin(2 * X[:, 0]) > X[:, 1], "in", "out")
    rows = open_rows(stored(tmp_path, kind, X, y), target="label")
    model = SpectralLogistic(SpectralFeatures(n_components=20), random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    model.fit(rows, rows.y)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-10)
    assert model.score(rows, y) == np.mean(model.predict(X) == y)
    scaled = make_pipeline(StandardScaler(), SpectralRidge(random_state=0))
    np.testing.assert_array_equal(
        scaled.fit(rows, X[:, 0]).predict(rows),
        scaled.fit(np.array(X), X[:, 0]).predict(np.array(X)),
    )


def test_numpy_files_are_mapped(tmp_path):
    np.save(tmp_path / "X.npy", numbers())
    rows = open_rows(tmp_path / "X.npy")
    assert isinstance(rows, LocalRows)
    assert not rows.in_memory
    with pytest.raises(ValueError, match="no column names"):
        open_rows(tmp_path / "X.npy", ["a"])


def test_the_file_is_not_read_after_opening(tmp_path):
    path = stored(tmp_path, "parquet", numbers(), np.arange(N_ROWS))
    rows = open_rows(path, target="label")
    path.unlink()
    features = SpectralFeatures(Gaussian(0.5), n_components=10, random_state=0)
    model = SpectralRidge(features, alpha=1.0).fit(rows, rows.y)
    np.testing.assert_array_equal(model.predict(rows), model.predict(numbers()))


def test_each_piece_is_copied_once(tmp_path, monkeypatch):
    read, shown, typed, track = [], [], pieces._typed, streaming.track
    monkeypatch.setattr(
        pieces, "_typed", lambda piece, *rest: read.append(len(piece)) or typed(piece, *rest)
    )
    monkeypatch.setattr(
        streaming, "track", lambda items, *words: shown.extend(words) or track(items, *words)
    )
    open_rows(stored(tmp_path, "csv", numbers(), np.arange(N_ROWS)), target="label")
    assert read == [300, 300, 300, 100]
    assert shown == ["copying table.csv", 4]


def test_the_copy_goes_with_the_rows(tmp_path, monkeypatch):
    """Nor is anything left of a copy that an error or a user has ended."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    path, before = stored(tmp_path, "csv", numbers()), len(_SCRATCHES)
    rows = open_rows(path)
    assert len(_SCRATCHES) == before + 1
    assert list((tmp_path / "scratch").iterdir()) == []
    del rows
    assert len(_SCRATCHES) == before

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(streaming, "release_scratches", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_rows(path)
    assert len(_SCRATCHES) == before


def test_a_disk_without_room_is_refused_before_the_copy(tmp_path, monkeypatch):
    path = stored(tmp_path, "csv", numbers())
    monkeypatch.setattr(
        shutil, "disk_usage", lambda folder: namedtuple("Usage", "free")(8 * 3 * N_ROWS - 1)
    )
    monkeypatch.setattr(streaming, "_pieces", lambda *arguments: pytest.fail("a copy has begun"))
    with pytest.raises(
        OSError, match=r"file needs 2\.4e-05 GB, and .* has 2\.4e-05 GB; let TMPDIR name a folder"
    ):
        open_rows(path)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="pages are counted by /proc")
def test_large_files_are_never_whole_in_memory(tmp_path, monkeypatch):
    """Pages of the map are given back after each piece."""
    resident, release = [], streaming.release_scratches

    def counted():
        release()
        with open("/proc/self/smaps_rollup") as file:
            resident.append(
                sum(int(line.split()[1]) for line in file if line.startswith(("Shared", "Private")))
            )

    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 4096)
    monkeypatch.setattr(streaming, "release_scratches", counted)
    columns = {f"x{j}": np.random.default_rng(j).normal(size=400_000) for j in range(10)}
    parquet.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=20_000)
    del columns
    rows = open_rows(tmp_path / "table.parquet")
    assert max(resident) - resident[0] < 16_000 < rows.source.nbytes / 1024


@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_missing_numbers_are_named(bad, tmp_path):
    values = [1.0] * 700
    values[650] = bad
    table = pd.DataFrame(
        {"a": [0.5] * 700, "b": pd.Series(values, dtype="Float64" if bad is None else None)}
    )
    table.to_parquet(tmp_path / "t.parquet")
    kind = "infinity" if bad == np.inf else "NaN"
    with pytest.raises(
        ValueError, match=f"contains {kind}: first in column 'b', in row 650 of t.parquet, counted"
    ):
        open_rows(tmp_path / "t.parquet")


def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, monkeypatch):
    X = numbers()
    path = stored(tmp_path, "parquet", X, np.full(N_ROWS, "text"))
    with pytest.raises(ValueError, match=r"'label' of table\.parquet does not hold numbers"):
        open_rows(path)
    with pytest.raises(
        ValueError, match=r"no column 'z'; its columns are 'a', 'b', 'c', 'label'\."
    ):
        open_rows(path, ["a", "z"])
    with pytest.raises(ValueError, match=r"table\.parquet has no column of features left"):
        open_rows(path, [])
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
    (tmp_path / "broken.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=r"broken\.parquet cannot be read as Parquet: "):
        open_rows(tmp_path / "broken.parquet")
    (tmp_path / "late.csv").write_text("a,b\n" + "1,2\n" * 4000 + "1,oops\n")
    with pytest.raises(ValueError, match=r"Column 'b' of late\.csv does not hold numbers"):
        open_rows(tmp_path / "late.csv")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(
        ValueError,
        match=r"need.* pyarrow.*, which is not installed: pip install 'bochner\[table\]'",
    ):
        open_rows(path)


@pytest.mark.parametrize("n_rows", [900, 1100])
def test_a_file_that_changes_meanwhile_is_noticed(n_rows, tmp_path, monkeypatch):
    path = stored(tmp_path, "csv", numbers())

    def changed(shape, *rest):
        stored(tmp_path, "csv", np.ones((n_rows, 3)))
        return np.empty(shape)

    monkeypatch.setattr(streaming, "scratch", changed)
    with pytest.raises(
        ValueError,
        match=f"had 1000 rows and now has {n_rows}: its file was changed while it was read",
    ):
        open_rows(path)


def test_an_empty_file_is_refused(tmp_path):
    parquet.write_table(pa.table({"a": np.zeros(0)}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,b\n")
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(ValueError, match=rf"{name} holds no rows"):
            open_rows(tmp_path / name)
