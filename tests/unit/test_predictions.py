"""``bochner predict``: intervals, columns that are carried over, files by their ending, cells that
are no formulas.
"""

import io
import json

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")

from selection import long_except
from sklearn.datasets import load_diabetes, load_iris
from table_samples import quick_models

import bochner
from bochner import cli
from bochner.data.tables import FRAME_BLOCK
from bochner.tables.read import pieces as pieces_module


def run(capsys, *arguments):
    code = cli.main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of numbers from a file with decimal commas, one of classes, and their tables."""
    folder = tmp_path_factory.mktemp("predict")
    frame = load_diabetes(as_frame=True).frame.iloc[:200, -5:]
    frame.insert(0, "number", [f"{k:05}" for k in range(len(frame))])
    frame.insert(1, "shop, town", np.tile(["=HYPERLINK(1)", "-5", "+cmd", "plain"], 50))
    frame.to_csv(folder / "values.csv", index=False, sep=";", decimal=",")
    iris = load_iris(as_frame=True).frame
    iris["target"] = iris["target"].map({0: "=A", 1: "B", 2: "C"})
    iris["color"] = np.tile(["red", "blue"], 75)
    iris.to_csv(folder / "classes.csv", index=False)
    for name, options in (("values", ["--id", "number", "--drop", "shop, town"]), ("classes", [])):
        table, model = str(folder / f"{name}.csv"), str(folder / f"{name}.skops")
        with quick_models():
            assert cli.main(["fit", table, "--target", "target", "--out", model, *options]) == 0
    return folder


@pytest.fixture
def values(folder):
    return folder / "values.skops", folder / "values.csv"


@pytest.fixture
def classes(folder):
    return folder / "classes.skops", folder / "classes.csv"


def test_intervals_and_kept_columns(capsys, values, tmp_path):
    out = tmp_path / "p.csv"
    options = ("--interval", 0.8, "--keep", "shop, town", "--out", out)
    code, text, _ = run(capsys, "predict", *values, *options)
    assert (code, text) == (0, "")
    frame = pandas.read_csv(out, dtype={"number": str})
    # What was said to be an identifier comes along, with its zeros.
    ends = ["lower 80 %", "upper 80 %"]
    assert list(frame.columns) == ["number", "shop, town", "predicted target", *ends]
    assert frame["number"].tolist()[:2] == ["00000", "00001"]
    model = bochner.load(values[0])
    read = model["columns"].transform(bochner.load_table(values[1]))
    np.testing.assert_allclose(frame["predicted target"], model["model"].predict(read))
    np.testing.assert_allclose(frame[ends], model["model"].predict_interval(read, 0.8))
    truth = load_diabetes().target[:200]
    assert np.mean((truth >= frame[ends[0]]) & (truth <= frame[ends[1]])) > 0.7


def test_parquet_by_its_ending_and_json(capsys, classes, tmp_path):
    out = tmp_path / "p.parquet"
    options = ("--proba", "--keep", "color,petal width (cm)", "--out", out)
    assert run(capsys, "predict", *classes, *options)[0] == 0
    frame = pandas.read_parquet(out)
    assert list(frame.columns[:3]) == ["color", "petal width (cm)", "predicted target"]
    np.testing.assert_allclose(frame.filter(like="probability").sum(axis=1), 1)
    code, text, _ = run(capsys, "predict", *classes, "--proba", "--keep", "color", "--json")
    found = json.loads(text)
    assert code == 0
    assert found["predictions"] == frame["predicted target"].tolist()
    assert found["kept"] == {"color": ["red", "blue"] * 75}
    np.testing.assert_allclose(found["probabilities"], frame.filter(like="probability"))
    assert [path.name for path in tmp_path.iterdir()] == ["p.parquet"]


def test_json_has_intervals(capsys, values):
    found = json.loads(run(capsys, "predict", *values, "--interval", 0.9, "--json")[1])
    assert found["interval"] == 0.9
    assert all(
        low < center < high for (low, high), center in zip(found["intervals"], found["predictions"])
    )
    # Of few rows the ends of a high level are infinite, which JSON has no word for.
    found = json.loads(run(capsys, "predict", *values, "--interval", 0.9999, "--json")[1])
    assert found["intervals"][0] == [None, None]


def test_cells_that_a_spreadsheet_would_run(capsys, values, classes):
    options = ["--keep", "shop, town"]
    plain = run(capsys, "predict", *values, *options)[1].splitlines()
    safe = run(capsys, "predict", *values, *options, "--safe-cells")[1].splitlines()
    assert [line.split(",")[1] for line in plain[1:5]] == ["=HYPERLINK(1)", "-5", "+cmd", "plain"]
    assert [line.split(",")[1] for line in safe[1:5]] == ["'=HYPERLINK(1)", "-5", "'+cmd", "plain"]
    assert run(capsys, "predict", *classes, "--safe-cells")[1].splitlines()[1] == "'=A"


def test_novelty_is_a_column(capsys, values):
    model = bochner.load(values[0])
    expected = model["model"].novelty(model["columns"].transform(bochner.load_table(values[1])))
    lines = run(capsys, "predict", *values, "--novelty")[1].splitlines()
    assert lines[0] == "number,predicted target,novelty"
    np.testing.assert_allclose([float(line.split(",")[2]) for line in lines[1:]], expected)
    found = json.loads(run(capsys, "predict", *values, "--novelty", "--json")[1])
    np.testing.assert_allclose(found["novelty"], expected)
    assert "novelty" not in json.loads(run(capsys, "predict", *values, "--json")[1])


def test_unseen_levels_and_words_for_numbers_are_said(capsys, classes, tmp_path):
    frame = bochner.load_table(classes[1]).head(3).astype(object)
    frame["color"] = ["green", "red", None]
    frame.loc[0, "petal width (cm)"] = "wide"
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = run(capsys, "predict", classes[0], tmp_path / "new.csv")
    assert (code, out.count("\n")) == (0, 4)
    assert err.splitlines() == [
        "Column 'petal width (cm)': 1 value(s) such as 'wide' are not numbers, read as missing.",
        "Values are missing in columns that were complete in training: 'color' (33.3 % of the "
        "rows), 'petal width (cm)' (33.3 % of "
        "the rows); levels are unknown from training: 'color': 'green' (33.3 % of the rows). "
        "Predictions for these rows are averaged over the values that similar training rows have "
        "in these cells, and intervals are wider accordingly.",
    ]


def test_dates_in_another_format_are_read_and_others_refused(capsys, tmp_path):
    rng = np.random.default_rng(0)
    times = pandas.Timestamp("2021-01-01") + pandas.to_timedelta(rng.integers(0, 700, 80), unit="D")
    frame = pandas.DataFrame(
        {"day": times.strftime("%d/%m/%Y"), "y": times.day_of_year + rng.normal(size=80)}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "t.skops"
    options = ("--target", "y", "--no-baselines", "--out", model)
    assert run(capsys, "fit", tmp_path / "t.csv", *options)[0] == 0
    expected = run(capsys, "predict", model, tmp_path / "t.csv")[1]
    frame.assign(day=times.strftime("%Y-%m-%d")).to_csv(tmp_path / "iso.csv", index=False)
    code, out, err = run(capsys, "predict", model, tmp_path / "iso.csv")
    assert (code, out) == (0, expected)
    assert "are dates written as year-month-day; in the training table, as day/month/year" in err
    for value, words in (
        ("04/25/2021", "the order of day and month is unclear"),
        ("soon", "is not a date"),
    ):
        pandas.DataFrame({"day": [value]}).to_csv(tmp_path / "new.csv", index=False)
        code, out, err = run(capsys, "predict", model, tmp_path / "new.csv")
        assert (code != 0, out) == (True, "")
        assert err.startswith(f"bochner: Column 'day' holds '{value}'")
        assert words in err


def test_a_new_file_may_be_written_otherwise(capsys, values, tmp_path):
    """The same rows with decimal points, as JSON lines, and one by one, whose marks do not tell."""
    expected = run(capsys, "predict", *values)[1]
    frame = bochner.load_table(values[1])
    frame["number"] = frame["number"].map("{:05}".format)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run(capsys, "predict", values[0], tmp_path / "t.csv")[1] == expected
    lines = [json.dumps(record) for record in frame.to_dict("records")]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert run(capsys, "predict", values[0], tmp_path / "t.jsonl")[1] == expected
    # 1,234 may be a thousand; in a file of this model it is a little more than one.
    header = values[1].read_text().splitlines()[0]
    (tmp_path / "one.csv").write_text(header + "\n" + "00000;x;0;1,234;0;0;0\n")
    small = run(capsys, "predict", values[0], tmp_path / "one.csv")[1]
    (tmp_path / "two.csv").write_text(header + "\n" + "00000;x;0;1.234;0;0;0\n")
    assert run(capsys, "predict", values[0], tmp_path / "two.csv", "--decimal", ".")[1] == small
    assert run(capsys, "predict", values[0], tmp_path / "one.csv", "--decimal", ".")[1] != small


@pytest.mark.parametrize(
    ("which", "options", "message"),
    [
        (
            "classes",
            ["--interval", "0.9"],
            "--interval is for regression; this model predicts class",
        ),
        ("values", ["--interval", "90"], "--interval must be between 0 and 1, e.g. 0.9; got 90"),
        ("values", ["--proba"], "--proba is for classification"),
        ("values", ["--keep", "nummber"], "no column 'nummber' to keep; did you mean 'number'?"),
        ("values", ["--out", "p.xlsx"], "--out must end in .csv, .parquet or .pq, got p.xlsx"),
        ("values", ["--out", "no/p.csv"], "There is no folder for the predictions: no/p.csv"),
        (
            "values",
            ["--out", "p.parquet", "--json"],
            "--json writes JSON, but p.parquet is the name of a Parquet file",
        ),
        ("values", ["--out", "p.parquet", "--safe-cells"], "--safe-cells is for CSV files"),
        ("values", ["--sep", ";;"], "A separator is one character"),
    ],
)
def test_requests_that_make_no_sense(
    capsys, folder, tmp_path, monkeypatch, which, options, message
):
    monkeypatch.chdir(tmp_path)
    files = folder / f"{which}.skops", folder / f"{which}.csv"
    code, out, err = run(capsys, "predict", *files, *options)
    said = json.loads(out)["error"] if "--json" in options else err
    assert code == 2
    assert message in said
    assert list(tmp_path.iterdir()) == []


def test_a_missing_column_is_named(capsys, classes, tmp_path):
    bochner.load_table(classes[1]).rename(columns={"color": "colour"}).to_csv(
        tmp_path / "t.csv", index=False
    )
    code, _, err = run(capsys, "predict", classes[0], tmp_path / "t.csv")
    assert code == 2
    sentence = (
        "bochner: The table lacks 'color', which the model was fitted with; did you mean 'colour'? "
    )
    assert err.startswith(f"{sentence}Its columns are 'colour', 'sepal length (cm)', ")


def test_an_interrupted_writer_leaves_no_file(capsys, values, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", interrupted)
    assert run(capsys, "predict", *values, "--out", tmp_path / "p.parquet")[0] == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", long_except(["csv", "jsonl", "parquet"], "parquet"))
def test_predictions_of_pieces_are_those_of_the_whole(capsys, classes, tmp_path, monkeypatch, kind):
    """To the last digit, with columns that are carried over, notes and dates, for files of every
    kind.
    """
    n = 5_000  # more than one block of rows
    rng = np.random.default_rng(0)
    frame = (
        bochner.load_table(classes[1])
        .drop(columns="target")
        .iloc[rng.integers(150, size=n)]
        .reset_index(drop=True)
    )
    frame["sepal width (cm)"] += rng.normal(size=n)
    frame.loc[n - 1, "color"], frame.loc[0, "color"] = "green", "pink"
    frame["code"] = [f"{k:06}" for k in range(n)]
    frame["time"] = pandas.date_range("2021-01-01", periods=n, freq="6h").where(
        np.arange(n) % 7 > 0
    )
    table = tmp_path / f"t.{kind}"
    if kind == "csv":
        frame.to_csv(table, index=False)
    elif kind == "parquet":
        frame.to_parquet(table)
    else:
        frame.assign(time=frame["time"].astype(str)).to_json(table, orient="records", lines=True)
    found = []
    for size in (10**6, FRAME_BLOCK):
        monkeypatch.setattr(pieces_module, "ROWS_AT_ONCE", size)
        monkeypatch.setattr(pieces_module, "_CELLS_AT_ONCE", 10**9)
        arguments = ["predict", classes[0], table, "--proba", "--keep", "code,time,color"]
        code, text, err = run(capsys, *arguments)
        assert (code, text.count("\n")) == (0, n + 1)
        assert err.startswith(
            "Levels are unknown from training: 'color': 'green', 'pink' (0.04 % of the rows)."
        )
        assert err.count("\n") == 1
        files = {}
        for ending in ("csv", "parquet"):
            out = tmp_path / f"p.{ending}"
            assert run(capsys, *arguments, "--out", out)[0] == 0
            files[ending] = out.read_bytes() if ending == "csv" else pandas.read_parquet(out)
        assert files["csv"].decode() == text
        found.append((text, files, run(capsys, *arguments, "--json")[1]))
    assert found[0][0] == found[1][0]
    assert found[0][2] == found[1][2]
    pandas.testing.assert_frame_equal(found[0][1]["parquet"], found[1][1]["parquet"])
    model = bochner.load(classes[0])
    # The parser of pandas 2 loses the last digit.
    read = pandas.read_csv(io.StringIO(found[0][0]), dtype=str)
    shares = read.filter(like="probability").to_numpy().astype(np.float64)
    np.testing.assert_array_equal(shares, model.predict_proba(bochner.load_table(table)))
