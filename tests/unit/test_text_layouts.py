"""Text files as people save them: preambles, missing headers, encodings, and one reader for all
of them.
"""

import gzip
import io
import re

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from bochner import load_table, open_rows
from bochner.cli import main
from bochner.tables import TableError
from bochner.tables.columns.names import column_named
from bochner.tables.read import sources
from bochner.tables.read.dialects import TextOptions, Training, dialect_of
from bochner.tables.read.encodings import encoding_of, undecodable_byte
from bochner.tables.read.reading import read_file

NO_HEADER = "The file has no line of column names; its columns are called column_1 to column_{} (--header reads the first line as names)."


@pytest.fixture
def saved(tmp_path):
    def save(text, name="t.csv", encoding="utf-8"):
        (tmp_path / name).write_bytes(text.encode(encoding))
        return tmp_path / name

    return save


def notes_of(frame):
    return frame.attrs.get("notes", [])


# --- lines before the header ---


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        (
            "Report of sales\nExported 2021-01-01\n\na,b,c\n1,2,x\n3,4,y\n",
            "2 lines .* 'Report of sales', 'Exported",
        ),
        ("Report;;\n;;\na;b;c\n1;2;x\n3;4;y\n", "1 line .* 'Report;;'"),
        (
            "Exported by;Bob;\nAt;2020;\na;b;c\n1;2;x\n3;4;y\n",
            "2 lines .* 'Exported by;Bob;', 'At;2020;'",
        ),
        (
            "# made by a program\n\n# twice\na,b,c\n1,2,x\n3,4,y\n",
            "2 lines .* '# made by a program', '# twice'",
        ),
        ('"A title, in quotes"\na,b,c\n1,2,x\n3,4,y\n', "1 line .* '\"A title, in quotes\"'"),
        (
            "1\n2\n3\n4\na,b,c\n1,2,x\n3,4,y\n" + "5,6,z\n" * 5,
            "4 lines .* '1', '2', '3' and 1 more",
        ),
    ],
)
def test_lines_before_the_header_are_skipped_and_reported(saved, text, skipped):
    frame = load_table(saved(text))
    assert frame.columns.tolist() == ["a", "b", "c"]
    assert frame.iloc[:2].to_dict("list") == {"a": [1, 3], "b": [2, 4], "c": ["x", "y"]}
    assert len(notes_of(frame)) == 1
    assert re.match(f"Skipped {skipped}", notes_of(frame)[0])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("# x y z\n1 2 3\n4 5 6\n", ["x", "y", "z"]),
        ("#id,a\n1,2\n3,4\n", ["id", "a"]),
        ("#,name,hp\n1,ivy,45\n2,oak,60\n", ["#", "name", "hp"]),
        ("#name,city\nBob,Paris\nAl,Rome\n", ["name", "city"]),
    ],
)
def test_a_comment_may_hold_the_names(saved, text, names):
    frame = load_table(saved(text))
    assert frame.columns.tolist() == names
    assert len(frame) == 2
    assert notes_of(frame) == []


def test_lines_with_separators_are_not_taken_for_a_preamble(saved):
    with pytest.raises(TableError, match="its lines have 4 fields, but its header has 2"):
        load_table(saved("name,comment\nBob,hi\nAl,a,b,c\nX,d,e,f\n"))
    with pytest.raises(TableError, match="line 2 has more fields than the 2 names of columns"):
        load_table(saved("a,b\n1,2,3\n1,2\n4,5\n3,4\n"))
    with pytest.raises(TableError, match="line 6 has 3 fields, but the lines before it have 2"):
        load_table(saved("A title\n\na,b\n1,2\n3,4\n5,6,7\n8,9\n8,9\n"))


def test_skip_rows_and_header_overrule(saved):
    path = saved("x,y\njunk\n1,2\n3,4\n")
    assert load_table(path, skip_rows=2, header=False).to_dict("list") == {
        "column_1": [1, 3],
        "column_2": [2, 4],
    }
    assert load_table(path, skip_rows=2, header=True).to_dict("list") == {"1": [3], "2": [4]}
    assert load_table(saved("1,2\n3,4\n5,6\n"), header=True).columns.tolist() == ["1", "2"]
    assert load_table(saved("a,b\n1,2\n"), header=False).shape == (2, 2)
    with pytest.raises(TableError, match="at least 0, got -1"):
        load_table(path, skip_rows=-1)


# --- a missing header ---


@pytest.mark.parametrize(
    ("text", "n_columns"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n4.7,3.2,virginica\n", 3),
        ("1,2,3\n4,5,6\n7,8,9\n", 3),
        ("2020-01-01,x\n2020-01-02,y\n2020-01-03,z\n", 2),
        ("Bob,2020\nAl,2021\nXi,2022\n", 2),
        ("?,1.5,a\n2,2.5,b\n3,3.5,c\n", 3),
        ("p,x,s\n" + "e,x,s\ne,b,s\np,x,y\ne,x,s\ne,x,y\np,b,y\n", 3),
    ],
)
def test_a_missing_header_is_noticed(saved, text, n_columns):
    frame = load_table(saved(text))
    assert frame.columns.tolist() == [f"column_{k}" for k in range(1, n_columns + 1)]
    assert len(frame) == text.count("\n")
    assert notes_of(frame) == [NO_HEADER.format(n_columns)]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("country,1990,1991,1992", "FR,1.5,2,3"),
        ("0,1,2", "1.5,2.5,3"),
        ("1,2,3,4,5", "1.5,2,3,1,1"),
        ("name,2020", "Bob,5.5"),
        ("name,2020-01,2020-02", "Bob,5.5,7"),
        ("name,city", "Bob,Paris"),
        ("age,n/a,3", "5,6,7"),
        (",x,y", "1,2,3"),
    ],
)
def test_plausible_names_are_names(saved, header, row):
    frame = load_table(saved(f"{header}\n{row}\n{row}1\n"))
    assert [name if "Unnamed" not in name else "" for name in frame.columns] == header.split(",")
    assert notes_of(frame) == []


# --- separators ---


@pytest.mark.parametrize("first", ["sep=;", "SEP=;\r", '"sep=;"', "sep=;;;"])
def test_a_line_that_names_the_separator(saved, first):
    frame = load_table(saved(f"{first}\na;b,c\n1,5;2\n2,5;3\n"))
    assert frame.to_dict("list") == {"a": [1.5, 2.5], "b,c": [2, 3]}


def test_runs_of_spaces_separate(saved):
    housing = " 0.00632  18.00   2.310  0\n 0.02731   0.00   7.070  0\n 0.02729   0.00   7.070  1\n"
    assert load_table(saved(housing, "housing.data"))["column_1"].tolist() == [
        0.00632,
        0.02731,
        0.02729,
    ]
    cars = '18.0   8   130.0    70\t"chevrolet chevelle"\n15.0   8   ?   70\t"buick skylark 320"\n'
    frame = load_table(saved(cars + cars, "auto-mpg.data"))
    assert frame["column_5"].tolist()[:2] == ["chevrolet chevelle", "buick skylark 320"]
    assert frame["column_1"].tolist()[:2] == [18.0, 15.0]
    named = load_table(saved("x  y kind\n1,5 2\ta\n3,5 4  b  \n"))
    assert named.to_dict("list") == {"x": [1.5, 3.5], "y": [2, 4], "kind": ["a", "b"]}
    assert load_table(saved("a b\n1  2\n"), sep=" ").to_dict("list") == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("full name\nJohn Smith\nMary Ann\n", ["full name"]),
        ("full name\tage\nJohn Smith\t5\nMary Ann\t6\n", ["full name", "age"]),
        ("a time,b c\n2020-01-01 12:00,5\n2020-01-02 12:00,6\n", ["a time", "b c"]),
    ],
)
def test_spaces_within_values_do_not_separate(saved, text, names):
    assert load_table(saved(text)).columns.tolist() == names


def test_decimal_commas_in_every_field_without_a_header(saved):
    frame = load_table(saved("1,5;2,5\n3,5;-4,25\n0,5;6,0\n"))
    assert frame.to_dict("list") == {"column_1": [1.5, 3.5, 0.5], "column_2": [2.5, -4.25, 6.0]}
    frame = load_table(saved("x,a;b,y\nz,c;d,w\nx,a;c,w\n"), header=False)
    assert frame.shape == (3, 3)


def test_decimal_commas_of_a_single_column(saved):
    assert load_table(saved("price\n1,5\n2,5\n-3,25\n"))["price"].tolist() == [1.5, 2.5, -3.25]


# --- names ---


def test_names_lose_blanks_at_both_ends(saved, tmp_path):
    frame = load_table(saved(" a , b,a\n1,2,3\n2,3,4\n"))
    assert frame.columns.tolist() == ["a", "b", "a.1"]
    pandas.DataFrame({" a ": [1.0]}).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text('{" a ": 1}\n')
    for name in ("t.parquet", "t.jsonl"):
        assert load_table(tmp_path / name).columns.tolist() == ["a"]
        assert open_rows(tmp_path / name, [" a"]).take(np.arange(1)).tolist() == [[1.0]]


def test_all_columns_are_listed_with_similar_ones_first():
    columns = [f"x{k}" for k in range(30)] + ["Price"]
    with pytest.raises(
        TableError,
        match=r"no column 'prize'; did you mean 'Price'\? Its columns are 'Price', 'x0', .*'x29'\.",
    ):
        column_named("prize", columns)
    assert column_named(" Price ", columns) == "Price"


# --- encodings ---

TEXTS = {
    "cp1252": "name,city\nJosé,São Paulo\nZoë,Köln\nFrançois,Orléans\n",
    "cp1250": "jméno,město\nJiří,Plzeň\nŘehoř,České Budějovice\nŽofie,Brno\n",
    "cp1251": "имя,город\nИван,Москва\nОльга,Казань\n",
    "cp932": "名前,都市\n太郎,東京\n花子,大阪\n次郎,名古屋\n",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_encodings_are_detected_and_reported(saved, encoding):
    frame = load_table(saved(TEXTS[encoding], encoding=encoding))
    expected = pandas.read_csv(io.StringIO(TEXTS[encoding]))
    pandas.testing.assert_frame_equal(frame, expected)
    assert notes_of(frame)[0].startswith("The text is encoded in ")
    assert notes_of(load_table(saved(TEXTS[encoding]))) == []


def test_letters_that_come_late_decide(saved):
    frame = load_table(saved("a,b\n" + "1,x\n" * 100_000 + TEXTS["cp1251"], encoding="cp1251"))
    assert frame["b"].iloc[-1] == "Казань"
    assert "Windows-1251" in notes_of(frame)[0]


def test_damaged_utf8_is_refused_with_its_place(saved):
    text = "a,b\n" + "1,größe\n" * 60_000
    content = text.encode() + b"2,\xe9t\xe9\n"
    path = saved("")
    path.write_bytes(content)
    place = len(content) - 4
    message = rf"is not written in the encoding UTF-8: byte {place} \(0xe9, in line 60002\) cannot be decoded\. Give"
    with pytest.raises(TableError, match=message):
        load_table(path)
    assert load_table(path, encoding="cp1252")["b"].iloc[-1] == "été"


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "utf-16"])
def test_the_first_byte_that_cannot_be_decoded(encoding, monkeypatch):
    from bochner.tables.read import encodings

    monkeypatch.setattr(encodings, "_CHUNK", 7)
    content = "名前,都市\n".encode(encoding) * 20
    assert undecodable_byte(io.BytesIO(content), encoding) is None
    bad = (
        content
        + {"utf-8": b"\xff", "cp932": b"\x81\xff", "utf-16": b"\x00\xdc"}[encoding]
        + content
    )
    assert undecodable_byte(io.BytesIO(bad), encoding)[0] == len(content)


def test_few_letters_are_western():
    assert [encoding_of(text.encode("cp1252"), True) for text in ("5 €", "a,é", "größe;stück")] == [
        "cp1252"
    ] * 3
    assert encoding_of("5\x81ü".encode("latin-1"), True) == "latin-1"


# --- one reader for all ---


LAYOUTS = {
    "plain.csv": "a,b\n1.5,2\n2.5,3\n",
    "german.csv": "a;b\n1,5;2\n2,5;3\n",
    "preamble.txt": "A report\n\na\tb\n1.5\t2\n2.5\t3\n",
    "marked.csv": "sep=;\n a ; b\n1,5;2\n2,5;3\n",
    "spaces.data": "# a b\n 1.5   2\n 2.5   3\n",
    "closed.csv": "a;b\n1,5;2;\n2,5;3;\n",
    "rownames.csv": "a,b\nfirst,1.5,2\nsecond,2.5,3\n",
    "lines.jsonl": '{"a": 1.5, "b": 2}\n{"a": 2.5, "b": 3}\n',
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_open_rows_reads_what_load_table_reads(tmp_path, name, packed, encoding):
    encoding = "utf-8" if name == "lines.jsonl" else encoding
    content = LAYOUTS[name].encode(encoding)
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    frame, rows = load_table(path), open_rows(path, ["b"], target="a")
    assert frame.to_dict("list") == {"a": [1.5, 2.5], "b": [2, 3]}
    np.testing.assert_array_equal(rows.take(np.arange(2)), [[2.0], [3.0]])
    np.testing.assert_array_equal(rows.y, [1.5, 2.5])
    assert rows.notes == notes_of(frame)


def test_open_rows_takes_the_options_of_load_table(saved):
    path = saved("junk\n1 5|2\n", encoding="utf-16-le")
    options = {"sep": "|", "encoding": "utf-16-le", "skip_rows": 1, "header": False}
    assert open_rows(path, ["column_2"], **options).take(np.arange(1)).tolist() == [[2.0]]
    with pytest.raises(ValueError, match=r"Column 'column_1' of t\.csv does not hold numbers"):
        open_rows(path, **options)


def test_labels_of_rows_in_a_file(saved):
    text = "x,label\n1,a\n2,\n3,7\n"
    assert open_rows(saved(text), target="label").y.tolist() == ["a", None, "7"]
    assert open_rows(saved("x,label\n1,0\n2,1\n3,0\n"), target="label").y.tolist() == [0, 1, 0]


# --- lines without an end ---


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl.gz"])
def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 2**21)
    n_read = []
    original = sources._LimitedLines.readinto
    monkeypatch.setattr(
        sources._LimitedLines,
        "readinto",
        lambda self, buffer: n_read.append(len(buffer)) or original(self, buffer),
    )
    content = (b'{"a": 1}\n{"b": "' if "json" in name else b"a,b\n1,2\n") + b"x" * 2**24
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(TableError, match="has a line of more than 2 MiB"):
        load_table(tmp_path / name)
    assert sum(n_read) < 2**22


def test_wide_tables_have_all_of_their_names(saved):
    names = [f"column {'with a long name ' * 20} {k}" for k in range(1000)]  # 350 kB
    frame = load_table(saved(",".join(names) + "\n" + ",".join(["1"] * 1000) + "\n"))
    assert frame.columns.tolist() == names
    assert frame.shape == (1, 1000)


# --- predictions read new files like that of the fit ---


def test_new_files_are_read_like_the_one_of_the_fit():
    unnamed = Training(("column_2", "column_3"), ("column_1", "column_2", "column_3"), "column_1")
    options = TextOptions(training=unnamed)
    assert dialect_of(b"x,5\n", True, options).names == ("column_2", "column_3")
    assert dialect_of(b"1,x,5\n", True, options).names == ("column_1", "column_2", "column_3")
    assert dialect_of(b"column_3,column_2\n1,x\n", True, options).names == ("column_3", "column_2")
    named = TextOptions(training=Training(("1", "7")))
    found = dialect_of(b"of 2020,,\n1,7,x\n5,6,7\n2,3,4\n", True, named)
    assert (found.names, found.n_lines) == (("1", "7", "x"), 2)
    skipped = TextOptions(
        training=Training(("column_1",), ("column_1", "column_2"), "column_2", skip_rows=1)
    )
    assert dialect_of(b"8,9\n1,2\n", True, skipped).n_lines == 0
    assert dialect_of(b"8\n1,2\n", True, skipped).n_lines == 1


def test_the_command_reports_and_repeats_what_it_did(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2)).round(3)
    lines = [f"{a};{b};{2 * a:.3f}".replace(".", ",") for a, b in x]
    (tmp_path / "t.csv").write_text("\n".join(["A report", *lines]) + "\n")
    options = ["--no-baselines", "--out", "m.skops"]
    assert main(["fit", "t.csv", "--target", " column_3 ", *options]) == 0
    out = capsys.readouterr().out
    skipped = "Skipped 1 line before the first row: 'A report'."
    assert skipped in out
    assert NO_HEADER.format(3) in out
    (tmp_path / "new.csv").write_text("0,5;0,25\n")
    assert main(["predict", "m.skops", "new.csv"]) == 0
    predicted = capsys.readouterr().out.splitlines()
    assert abs(float(predicted[1]) - 1) < 0.2
    assert main(["predict", "m.skops", "t.csv", "--json"]) == 0
    captured = capsys.readouterr()
    assert skipped in captured.err
    assert captured.out.count(",") == 59  # between 60 predictions
    assert main(["fit", "t.csv", "--target", "colunm_3", *options]) == 2
    similar = "no column 'colunm_3'; did you mean 'column_3'? Its columns are 'column_3', "
    assert similar in capsys.readouterr().err
    assert main(["fit", "t.csv", "--target", "column_3", "--skip-rows", "x", *options]) == 2
    assert read_file(tmp_path / "t.csv", TextOptions(skip_rows=2, header=False)).shape == (59, 3)
