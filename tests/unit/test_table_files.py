"""Tables from files: dialects of text that are found by themselves, other formats, and one sentence
for what is no table.
"""

import bz2
import gzip
import io
import json
import lzma
import sys

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from bochner import load_table
from bochner.tables import TableError
from bochner.tables.read.dialects import TextOptions, dialect_of
from bochner.tables.read.reading import read_file, read_pieces

FRAME = pandas.DataFrame(
    {
        "größe": [1.5, -2.25, 1234.125, None],
        "stück": [1, 2, 3, 4],
        "note, free": ["a, b", 'say "hi"', "semi; colon", "line\nbreak"],
        "empty": [None, "x", None, "y"],
    }
)


def written(frame, **options):
    return frame.to_csv(index=False, **options)


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"],
)
@pytest.mark.parametrize(
    ("sep", "decimal"), [(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", "."), (",", ",")]
)
def test_dialects_are_found(tmp_path, sep, decimal, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(written(FRAME, sep=sep, decimal=decimal).encode(encoding))
    frame = load_table(path)
    pandas.testing.assert_frame_equal(frame, FRAME, check_dtype=False)
    assert frame.attrs["decimal"] == decimal


def test_windows_letters_are_read_and_late_letters_too(tmp_path):
    (tmp_path / "t.csv").write_bytes("price\n5 €\n6 €\n".encode("cp1252"))
    assert load_table(tmp_path / "t.csv")["price"].tolist() == ["5 €", "6 €"]
    late = "a,b\n" + "1,x\n" * 100_000 + "2,é\n"
    (tmp_path / "t.csv").write_bytes(late.encode("latin-1"))
    assert load_table(tmp_path / "t.csv")["b"].iloc[-1] == "é"


def test_what_is_given_overrules(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2\n3,5;4\n")
    assert list(load_table(path, sep="|").columns) == ["a;b"]
    assert load_table(path, decimal=".")["a"].tolist() == ["1,5", "3,5"]
    path.write_bytes("a\nçx\n".encode("cp850"))
    assert load_table(path, encoding="cp850")["a"].tolist() == ["çx"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "A separator is one character, got ';;'"),
        ({"decimal": "'"}, "The decimal mark is '.' or ','"),
        ({"sep": ",", "decimal": ","}, "cannot both be ','"),
        ({"encoding": "klingon"}, "There is no encoding 'klingon'"),
        (
            {"encoding": "ascii"},
            r"is not written in the encoding ASCII: byte 0 \(0xc3, in line 1\) cannot be decoded",
        ),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, message):
    (tmp_path / "t.csv").write_text("é,b\n1,2\n")
    with pytest.raises(TableError, match=message):
        load_table(tmp_path / "t.csv", **options)


def test_a_doubtful_mark_is_read_as_the_file_of_the_fit_was(tmp_path):
    options = TextOptions(doubtful_decimal=",")
    (tmp_path / "t.csv").write_text("a;b\n1,234;x\n5,678;y\n")
    assert load_table(tmp_path / "t.csv")["a"].tolist() == ["1,234", "5,678"]
    assert read_file(tmp_path / "t.csv", options)["a"].tolist() == [1.234, 5.678]
    (tmp_path / "t.csv").write_text("a;b\n1.5;x\n5.678;y\n")
    assert read_file(tmp_path / "t.csv", options)["a"].tolist() == [1.5, 5.678]


def test_values_are_carried_over_as_they_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("id,x\n007,1.50\nNA,2\n")
    ((frame, as_written),) = read_pieces(tmp_path / "t.csv", TextOptions(), verbatim=["id"])
    assert frame["x"].tolist() == [1.5, 2.0]
    assert as_written["id"].tolist() == ["007", "NA"]


def test_headers_and_lines_that_do_not_quite_fit(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2,\n3,4,\n")
    assert load_table(path).to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    path.write_text("a,b\nrow one,1,2\nrow two,3,4\n")
    frame = load_table(path)
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert frame.attrs["notes"] == [
        "Lines have one field more than the header: the first holds row names."
    ]
    path.write_text("a,a,b,a\n1,2,3,4\n")
    assert list(load_table(path).columns) == ["a", "a.1", "b", "a.2"]
    path.write_text('n, "last, first"\n1, "x, y"\n2, "z, w"\n')  # blanks before quotes
    assert load_table(path).to_dict("list") == {"n": [1, 2], "last, first": ["x, y", "z, w"]}


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_compressed_files(tmp_path, ending, kind):
    frame = FRAME.rename(columns={"note, free": "note"})
    path = tmp_path / f"t.2020.{kind}.{ending}"
    if kind == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer)
        content = buffer.getvalue()
    else:
        content = (
            written(frame) if kind == "csv" else frame.to_json(orient="records", lines=True)
        ).encode()
    path.write_bytes(compressed(content, ending))
    pandas.testing.assert_frame_equal(load_table(path), frame, check_dtype=False)


def compressed(content, ending):
    if ending != "zst":
        return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[ending](content)
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def test_damaged_compressed_files(tmp_path):
    content = gzip.compress(written(pandas.concat([FRAME] * 2000)).encode())
    (tmp_path / "t.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(TableError, match="is damaged: it cannot be decompressed"):
        load_table(tmp_path / "t.csv.gz")


def test_json_lines_and_lists(tmp_path):
    rows = [{"a": 1, "b": "x"}, {"a": 2.5, "c": "0012"}]
    for name, text in (
        ("t.jsonl", "\n".join(map(json.dumps, rows)) + "\n\n"),
        ("t.json", json.dumps(rows)),
    ):
        (tmp_path / name).write_text(text)
        frame = load_table(tmp_path / name)
        assert frame["a"].tolist() == [1, 2.5]
        assert frame["c"].tolist()[1] == "0012"
        assert frame["b"].isna().tolist() == [False, True]


def test_parquet_keeps_its_types_and_a_named_index(tmp_path):
    frame = pandas.DataFrame(
        {
            "day": pandas.to_datetime(["2020-01-01", "2020-01-02"]),
            "kind": pandas.Categorical(["b", "a"], categories=["b", "a"], ordered=True),
            "many": pandas.array([1, None], dtype="Int64"),
        }
    ).set_index("day")
    frame.to_parquet(tmp_path / "t.parquet")
    read = load_table(tmp_path / "t.parquet")
    assert list(read.columns) == ["day", "kind", "many"]
    assert read["kind"].cat.ordered
    assert str(read["day"].dtype).startswith("datetime64")


class Input:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
def test_standard_input(monkeypatch, kind):
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    lines = frame.to_json(orient="records", lines=True).encode()
    csv = written(frame, sep=";").encode()
    content = {
        "csv": csv,
        "csv.gz": gzip.compress(csv),
        "jsonl": lines,
        "parquet": buffer.getvalue(),
    }[kind]
    monkeypatch.setattr(sys, "stdin", Input(content))
    pandas.testing.assert_frame_equal(load_table("-"), frame, check_dtype=False)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.csv",
            b"a,b\n1,2\n3,4,5\n",
            r"line 3 has 3 fields, but the lines before it have 2\. Put quotes",
        ),
        ("t.csv", b"a,b\n1,2,3,4\n3,4,5,6\n", "its lines have 4 fields, but its header has 2"),
        ("t.csv", b'a,b\n1,"2\n3,4\n', "a quotation mark that opens in line 2 is never closed"),
        (
            "t.csv",
            b"PK\x03\x04 rest",
            "is not text: it is a zip archive or an Excel workbook. Save the table as CSV",
        ),
        ("t.csv", bytes(range(256)) * 20, "is not text: it holds bytes of zero"),
        ("t.csv", bytes(range(1, 256)) * 20, "is not text: it is full of control characters"),
        ("t.csv", b"PAR1 rest", "it is a Parquet file"),
        ("t.csv", b"\n\n \n", "is empty|holds no rows"),
        ("t.jsonl", b'{"a": 1}\n{"a"\n', "Line 2 of .* is not a JSON object"),
        ("t.jsonl", b'{"a": 1}\n[1]\n', "Entry 2 of .* is not a JSON object"),
        ("t.jsonl", b"", "is empty"),
        (
            "t.jsonl",
            b'{"a": "\xe9"}',
            r"is not written in the encoding UTF-8: byte 7 \(0xe9, in line 1\) cannot be decoded",
        ),
        ("t.parquet", b"PAR1", "cannot be read as Parquet"),
        ("t.parquet.gz", gzip.compress(b"nothing", mtime=0), "cannot be read as Parquet"),
        ("t.xlsx", b"", "optionally followed by .gz"),
        ("t.gz", b"", "its name must end in .csv"),
    ],
)
def test_files_that_are_no_tables_get_one_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        load_table(tmp_path / name)
    assert "C error" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dialect_is_for_text(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"are for text files; .* is Parquet"):
        load_table(tmp_path / "t.parquet", sep=";")


def test_mutated_files_are_read_or_refused_in_one_sentence(tmp_path):
    rng, sentences = np.random.default_rng(0), []
    content = written(pandas.concat([FRAME] * 5), sep=";", decimal=",").encode()
    for _ in range(300):
        mutated = bytearray(content)
        for place in rng.integers(len(mutated), size=rng.integers(1, 20)):
            mutated[place] = rng.integers(256)
        (tmp_path / "t.csv").write_bytes(bytes(mutated[: rng.integers(1, len(mutated))]))
        try:
            load_table(tmp_path / "t.csv")
        except TableError as error:
            sentences.append(str(error))
    assert 0 < len(sentences) < 300
    assert not [sentence for sentence in sentences if "C error" in sentence or "\n" in sentence]


def test_a_long_field_and_a_cut_beginning_tell_the_dialect():
    cut = ("a;b\n" + "1,5;x\n" * 10).encode()[:-3]
    assert dialect_of(cut, complete=False).separator == ";"
    assert dialect_of(b"a;b\n" + b"x" * 200_000 + b";1,5\n", complete=True).separator == ";"
    assert dialect_of("ü;b\n1,5;ü\n".encode()[:-2], complete=False).encoding == "utf-8"
