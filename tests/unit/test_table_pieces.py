"""Reading in pieces is reading as a whole: same columns, types and values, whatever is decided by a
value that comes late.
"""

import io
import json

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import messy_samples as messy
from selection import long_except

from bochner import load_table
from bochner.data.tables import FRAME_BLOCK
from bochner.tables import ColumnReader
from bochner.tables.read import pieces
from bochner.tables.read.dialects import TextOptions
from bochner.tables.read.reading import read_pieces

N, ALL = 60, 50_000


def late_values():
    """Columns whose type one late value decides, and some that all values decide."""
    whole = list(range(N))
    columns = {
        "hole": [*whole[:-3], None, 5, 6],
        "fraction": [*whole[:-1], 2.5],
        "word": [*whole[:-1], "n/a!"],
        "zeros": [f"{k:03}" for k in whole],
        "truth": [True, False] * (N // 2),
        "truth with a hole": [*[True, False] * (N // 2 - 1), None, True],
        "truth and a number": [*[True, False] * (N // 2 - 1), 1, True],
        "late": [None] * (N - 2) + ["a", "b"],
        "late number": [None] * (N - 2) + [1, 2],
        "late truth": [None] * (N - 2) + [True, False],
        "early": ["a", "b"] + [None] * (N - 2),
        "never": [None] * N,
        "huge and a fraction": [*[2**53 + 1] * (N - 1), 0.5],
        "huge and a hole": [*[2**53 + 1] * (N - 1), None],
        "beyond": [*whole[:-1], 2**63 + 5],
        "beyond and below": [-1, *whole[1:-1], 2**63 + 5],
        "far beyond": [*whole[:-1], 2**65],
        "infinite": [*map(float, whole[:-1]), float("inf")],
    }
    return columns


def text_of(columns):
    frame = pandas.DataFrame(
        {name: pandas.Series(values, dtype=object) for name, values in columns.items()}
    )
    return frame.to_csv(index=False)


def messy_text(rng):
    """As people write: money, thousands, words among numbers, truths, dates, identifiers."""
    values = np.round(rng.normal(size=N) * 1e5, 2)
    days = pandas.Series(
        pandas.to_datetime("2021-01-01") + pandas.to_timedelta(rng.integers(900, size=N), "D")
    )
    frame = pandas.DataFrame({
        "money": messy.money(values),
        "many": messy.thousands(values),
        "words": messy.mixed(values, rng),
        "yes": messy.truths(values > 0, rng),
        "day": days.dt.strftime("%d/%m/%Y"),
        "hole": np.where(rng.random(N) < 0.3, np.nan, values),
        **messy.identifiers(N, rng),
    })  # fmt: skip
    return frame.to_csv(index=False)


@pytest.fixture
def tables(tmp_path):
    """Files of all kinds, by their names."""
    columns = late_values()
    plain = {
        name: values
        for name, values in columns.items()
        if "beyond" not in name and "infinite" not in name
    }
    records = [dict(zip(plain, row)) for row in zip(*plain.values())]
    for record in records[: N // 2]:
        del record["late"]
    typed = pandas.DataFrame({
        "int8": pandas.array([*range(N - 1), None], dtype="Int8"),
        "small": np.arange(N, dtype=np.int16),
        "single": np.linspace(0, 1, N, dtype=np.float32),
        "level": pandas.Categorical(["a"] * (N - 2) + ["c", "b"], categories=["c", "b", "a"], ordered=True),
        "time": pandas.Series(pandas.date_range("2021-01-01", periods=N, freq="7h")).where(np.arange(N) > 10),
        "zoned": pandas.date_range("2021-01-01", periods=N, freq="7h", tz="UTC"),
        "text": [*["x", None] * (N // 2)],
        "list": [[1, 2]] * N,
        "truth": [*[True, False] * (N // 2 - 1), None, True],
    })  # fmt: skip
    (tmp_path / "late.csv").write_text(text_of(columns))
    (tmp_path / "messy.csv").write_text(messy_text(np.random.default_rng(0)))
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "list.json").write_text(json.dumps(records))
    typed.to_parquet(tmp_path / "typed.parquet", row_group_size=7)
    typed.set_index("single").to_parquet(tmp_path / "indexed.parquet")
    typed.rename_axis("counted").to_parquet(tmp_path / "counted.parquet")
    return sorted(tmp_path.iterdir())


@pytest.mark.parametrize("size", long_except([1, 7, N - 1], 7))
def test_pieces_are_the_whole(tables, monkeypatch, size):
    for path in tables:
        monkeypatch.setattr(pieces, "ROWS_AT_ONCE", ALL)
        whole = load_table(path)
        ((_, written),) = read_pieces(path, TextOptions(), verbatim=["zeros", "money"])
        monkeypatch.setattr(pieces, "ROWS_AT_ONCE", size)
        read = load_table(path)
        # Whole numbers beyond all types of NumPy are objects for pandas, and texts in pieces; both
        # are read by their digits.
        whole = whole.assign(
            **{name: whole[name].map(str) for name in whole.columns if name == "far beyond"}
        )
        pandas.testing.assert_frame_equal(read, whole)
        assert read.attrs == whole.attrs
        parts = list(read_pieces(path, TextOptions(), verbatim=["zeros", "money"]))
        assert max(len(part) for part, _ in parts) <= (size if "counted" not in path.name else N), (
            path.name
        )
        pandas.testing.assert_frame_equal(
            pandas.concat([part for part, _ in parts], ignore_index=True), whole
        )
        joined = pandas.concat([part for _, part in parts], ignore_index=True)
        pandas.testing.assert_frame_equal(joined.map(in_words), written.map(in_words))


def in_words(value):
    """Return the text of a cell; pandas 2 mixes None and NaN in columns of texts."""
    return "None" if str(value) == "nan" else str(value)


def test_columns_are_decided_alike(tables, monkeypatch):
    for path in tables:
        reasons = []
        for size in (ALL, 7):
            monkeypatch.setattr(pieces, "ROWS_AT_ONCE", size)
            reasons.append(ColumnReader().fit(load_table(path)).reasons_)
        assert reasons[0] == reasons[1]


@pytest.mark.long
def test_random_columns_are_alike(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    cells = ["1", "2.5", "", "NA", "True", "false", "x", " 7", "007", "1e3", "-4", "1,5", "inf", "9007199254740993"]  # fmt: skip
    for k in range(30):
        some = rng.choice(cells, size=rng.integers(1, 5), replace=False)
        table = pandas.DataFrame(
            {f"c{j}": rng.choice(some, size=12) for j in range(3)} | {"last": "z"}
        )
        (tmp_path / "t.csv").write_text(table.to_csv(index=False))
        monkeypatch.setattr(pieces, "ROWS_AT_ONCE", ALL)
        whole = load_table(tmp_path / "t.csv")
        monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 1 + k % 5)
        pandas.testing.assert_frame_equal(load_table(tmp_path / "t.csv"), whole)


def test_wide_tables_have_short_pieces_of_whole_blocks():
    sizes = [pieces.rows_at_once(n_columns) for n_columns in (1, 20, 90, 10_000, 10**9)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size % FRAME_BLOCK == 0 for size in sizes)
    assert sizes[-1] == FRAME_BLOCK


def test_standard_input_is_read_as_often_as_needed(monkeypatch):
    class Input:
        buffer = io.BytesIO(text_of(late_values()).encode())

    monkeypatch.setattr("sys.stdin", Input)
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 7)
    assert load_table("-").shape == (N, len(late_values()))
