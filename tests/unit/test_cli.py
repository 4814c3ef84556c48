"""The command: exit codes, one-sentence errors, JSON, interruption."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from table_samples import quick_models

import bochner
from bochner import cli
from bochner_papers.runner import listing as _listing


@pytest.fixture(scope="module", autouse=True)
def quick_fits():
    with quick_models():
        yield


def run(capsys, *arguments):
    code = cli.main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def fit_b(capsys, folder, out="m.skops"):
    """Fit the column b of t.csv."""
    return run(capsys, "fit", folder / "t.csv", "--target", "b", "--out", folder / out)


def process(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-m", "bochner", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["reproduce"], "required: NAME"),
        (["reproduce", "no_such_table"], "There is no experiment 'no_such_table'"),
        (["reproduce", "rff_sampling", "--jobs", "0"], "must be a number of at least 1, got '0'"),
        (["reproduce", "rff_sampling", "--scale", "huge"], "invalid choice: 'huge'"),
        (["fit", "absent.csv", "--target", "y"], "There is no file absent.csv"),
        (["fit", "absent.csv"], "required: --target"),
        (["predict", "absent.skops", "absent.csv"], "There is no model file absent.skops"),
        (["report", "absent.skops"], "There is no model file absent.skops"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("bochner: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_errors_as_json(capsys):
    code, out, err = run(capsys, "report", "absent.skops", "--json")
    assert (code, err) == (2, "")
    assert json.loads(out) == {"error": "There is no model file absent.skops."}
    code, out, _ = run(capsys, "report", "--json")
    assert code == 2
    assert "MODEL" in json.loads(out)["error"]


def test_debug_shows_the_traceback():
    with pytest.raises(ValueError, match="There is no model file"):
        cli.main(["report", "absent.skops", "--debug"])


def test_an_error_that_nobody_foresaw_says_its_kind(capsys, monkeypatch):
    def surprising(*_):
        raise KeyError("lost\nkey")

    monkeypatch.setattr(_listing, "listing", surprising)
    code, _, err = run(capsys, "list")
    assert code == 2
    assert err == "bochner: KeyError: 'lost\\nkey' (--debug shows where)\n"


def test_a_folder_that_is_not_there_is_named_before_any_work(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    code, _, err = fit_b(capsys, tmp_path, out="no/m.skops")
    assert code == 2
    assert "There is no folder for the model file" in err


def test_help_and_version(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    assert "reproduce" in out
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert bochner.__version__ in capsys.readouterr().out


def test_the_list_tells_claims_data_and_cases(capsys, monkeypatch):
    code, one, _ = run(capsys, "list", "rff_sampling")
    assert code == 0
    assert "Claim: At equal numbers of frequencies" in one
    assert "Rule: Holds when both beat iid" in one
    assert "gbrff" not in one
    code, _, err = run(capsys, "list", "nonsense")
    assert code == 2
    assert "There is no experiment 'nonsense'" in err
    entries = json.loads(run(capsys, "list", "--json")[1])
    monkeypatch.setattr(_listing, "listing", lambda *_: entries)  # again, as text
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert "rff_sampling" in out
    assert "At equal numbers of frequencies" in out
    assert out.count("\n") < 110
    (entry,) = [entry for entry in entries if entry["experiment"] == "rff_sampling"]
    assert entry["cases"]["smoke"] == 18
    for entry in entries:
        assert "unusable" not in entry, entry


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n", "holds no rows"),
        (b"a,b\n1,x\n", "has 1 row(s) with a target; at least 20 are needed"),
        ("caf\xe9,b\n1,\xe9\n".encode("latin-1"), "has 1 row(s)"),
        (b"a,c\n1,2\n", "has no column 'b'"),
    ],
)
def test_tables_that_cannot_be_fitted_end_with_code_2(capsys, tmp_path, content, message):
    pytest.importorskip("pandas")
    (tmp_path / "t.csv").write_bytes(content)
    code, _, err = fit_b(capsys, tmp_path)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "m.skops").exists()


def test_missing_data_is_said_in_the_list():
    entry = {
        "experiment": "x",
        "paper": "p",
        "claim": "c",
        "rule": "r",
        "left_out": "the last, a day.",
        "deviations": ["d1", "d2"],
        "data": {"mnist": "OpenML", "farm": "nowhere", "wine": "scikit-learn"},
        "cases": {"smoke": 1, "quick": 2, "paper": 3},
    }
    here = entry | {"data": {"wine": "file", "mnist": "cache"}}
    unusable = {"experiment": "y", "unusable": "needs z"}
    short = " ".join(_listing.listing_text([entry, here, unusable]).split())
    assert "Data: 3 sets, 1 here (wine), 1 by --download, 1 need BOCHNER_DATA." in short
    cases = "Cases: 1 at scale smoke, 2 at scale quick, 3 at scale paper"
    assert f"Data: 2 sets, here. {cases}." in short
    assert "cannot be used: needs z" in short
    full = " ".join(_listing.entry_text(entry).split())
    assert "Data from scikit-learn: wine Data missing, --download fetches them: mnist" in full
    assert "Data missing, set BOCHNER_DATA: farm" in full
    assert full.endswith(cases)
    assert (
        "Rule: r Deviation: d1 Deviation: d2 Left out at scale paper, unless --whole asks for it: "
        "the last, a day." in full
    )


@pytest.mark.usefixtures("workers_in_process")
def test_reproduce_writes_results_pages_and_json(capsys, tmp_path):
    out = tmp_path / "out"
    command = ("reproduce", "rff_sampling", "--scale", "smoke", "--out", out)
    code, text, _ = run(capsys, *command, "--jobs", "1")
    assert code == 0
    assert "Verdict: " in text
    names = {path.name for path in out.iterdir()}
    assert {f"rff_sampling.smoke.{kind}" for kind in ("jsonl", "json", "csv", "html")} | {
        "index.html"
    } <= names
    assert (out / "rff_sampling.smoke.csv").read_text().count("\n") == 19
    (summary,) = json.loads(run(capsys, *command, "--json")[1])
    assert summary["n_finished"] == 18
    assert summary["environment"]["numpy"]
    lines = (out / "rff_sampling.smoke.jsonl").read_text().splitlines()
    assert all(json.loads(line)["seconds"] > 0 for line in lines)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_control_c_leaves_a_resumable_state_and_exit_code_130(tmp_path):
    out = tmp_path / "out"
    running = process(
        *("reproduce", "rff_sampling", "--scale", "paper", "--out", str(out), "--jobs", "1"),
        start_new_session=True,
        # A shell's background jobs start with the signal ignored, and their children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    path = out / "rff_sampling.paper.jsonl"
    deadline = time.monotonic() + 120
    while not (path.is_file() and path.read_bytes().count(b"\n") >= 2):
        assert running.poll() is None, running.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: the whole group
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "the same command continues with the others" in err
    assert "Traceback" not in err
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_control_c_ends_a_fit_without_a_model_file(capsys, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    monkeypatch.setattr(cli, "fit_table", interrupted)
    code, _, err = fit_b(capsys, tmp_path)
    assert (code, err) == (130, "Interrupted.\n")
    assert not (tmp_path / "m.skops").exists()


def test_the_demo_is_called(monkeypatch):
    import types

    called = []
    demo = types.ModuleType("bochner.demo")
    demo.main = lambda as_json: called.append(as_json) or 0
    monkeypatch.setitem(sys.modules, "bochner.demo", demo)
    assert cli.main(["demo"]) == 0
    assert cli.main(["demo", "--json"]) == 0
    assert called == [False, True]


def test_fit_predict_and_report_from_files(capsys, tmp_path, monkeypatch):
    pytest.importorskip("skops")
    pandas = pytest.importorskip("pandas")
    from sklearn.datasets import load_iris

    monkeypatch.chdir(tmp_path)
    frame = load_iris(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "A", 1: "B", 2: "C"})
    frame.to_csv("iris.csv", index=False)
    code, out, _ = run(capsys, "fit", "iris.csv", "--target", "target")
    assert code == 0
    assert "Model: iris.skops" in out
    assert "certified" in out
    assert "so every score is leave-one-out" in out
    code, out, _ = run(capsys, "predict", "iris.skops", "iris.csv", "--proba")
    lines = out.splitlines()
    assert lines[0] == "predicted target,probability of A,probability of B,probability of C"
    assert len(lines) == 151
    run(capsys, "predict", "iris.skops", "iris.csv", "--out", "p.csv")
    assert (pandas.read_csv("p.csv")["predicted target"] == frame["target"]).mean() > 0.9
    text = run(capsys, "predict", "iris.skops", "iris.csv", "--json")[1]
    assert set(json.loads(text)["predictions"]) == {"A", "B", "C"}
    assert run(capsys, "predict", "iris.skops", "iris.csv", "--proba", "--json")[0] == 0
    code, out, _ = run(capsys, "report", "iris.skops")
    assert (code, out) == (0, "Page: iris.html\n")
    assert "Held-out error" in (tmp_path / "iris.html").read_text()
    assert json.loads(run(capsys, "report", "iris.skops", "--json")[1])["target"] == "target"


def test_probabilities_of_numbers_are_refused_in_one_sentence(capsys, tmp_path, monkeypatch):
    pytest.importorskip("skops")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{k},{k / 2 + 0.25}\n" for k in range(40)))
    code, out, _ = run(capsys, "fit", "t.csv", "--target", "y", "--json")
    facts = json.loads(out)
    assert (code, facts["model"], facts["task"]) == (0, "t.skops", "regression")
    assert facts["verdict"]["kind"] in ("holds", "open")
    code, _, err = run(capsys, "predict", "t.skops", "t.csv", "--proba")
    assert (code, err) == (
        2,
        "bochner: --proba is for classification; this model predicts numbers.\n",
    )
    code, out, _ = run(capsys, "predict", "t.skops", "t.csv")
    assert (code, len(out.splitlines())) == (0, 41)


def test_a_model_is_judged_as_asked_and_the_page_says_by_what_command(
    capsys, tmp_path, monkeypatch
):
    pytest.importorskip("skops")
    pytest.importorskip("pandas")
    from bochner.tables.evaluate import baselines

    monkeypatch.setattr(baselines, "installed", list)
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{k % 17},{k % 23},p{k % 12},{'yes' if (k % 17) + (k % 5) > 16 else 'no'}\n"
        for k in range(120)
    ]
    (tmp_path / "t.csv").write_text("a,b,person,found\n" + "".join(lines))
    options = "--metric average-precision --threshold cost:1,5 --split group:person --refit"
    code, out, _ = run(capsys, "fit", "t.csv", "--target", "found", *options.split())
    assert code == 0
    for words in (
        "worse in average precision",
        "'yes' is predicted if",
        "whole groups of 'person' (3)",
        "fitted again",
    ):
        assert words in out
    assert run(capsys, "predict", "t.skops", "t.csv")[1].splitlines()[0] == "person,predicted found"
    run(capsys, "report", "t.skops")
    shown = (tmp_path / "t.html").read_text()
    assert (
        "bochner fit t.csv --target found --metric average-precision --threshold cost:1,5" in shown
    )
    assert "ROC curve" in shown
    for wrong, message in (
        (["--metric", "mad"], "invalid choice: 'mad'"),
        (["--threshold", "x"], "--threshold must be balanced"),
    ):
        code, _, err = run(capsys, "fit", "t.csv", "--target", "found", *wrong)
        assert code == 2
        assert message in err


def test_the_option_no_rivals_is_the_old_name_of_no_baselines(capsys, tmp_path, monkeypatch):
    compared = []

    def fit_table(*arguments, compare, **keywords):
        compared.append(compare)
        raise ValueError("stop")

    monkeypatch.setattr("bochner.cli.fit_table", fit_table)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    warning = "Write --no-baselines: from bochner 0.4 on, --no-rivals is not accepted.\n"
    for options, before in (([], ""), (["--no-baselines"], ""), (["--no-rivals"], warning)):
        cli.main(["fit", "t.csv", "--target", "y", *options])
        assert capsys.readouterr().err == f"{before}bochner: stop\n"
    assert compared == [True, False, False]
    with pytest.raises(SystemExit):
        cli.main(["fit", "--help"])
    shown = capsys.readouterr().out
    assert "--no-baselines" in shown
    assert "--no-rivals" not in shown


def test_the_command_knows_every_metric():
    """They are written out: the module of arguments is on a lower level than tables."""
    pytest.importorskip("pandas")
    from bochner.tables.evaluate.metrics import METRICS

    for name in METRICS:
        options = cli._parser().parse_args(["fit", "t.csv", "--target", "y", "--metric", name])
        assert options.metric == name


def test_columns_are_said_to_be_something(capsys, tmp_path, monkeypatch):
    pytest.importorskip("skops")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{k % 7},{k % 3},{20200101 + k % 28},{k % 5},k{k},{k / 2 + 0.25}\n" for k in range(60)
    ]
    (tmp_path / "t.csv").write_text('zip,"a,b",day,age,key,y\n' + "".join(lines))
    options = "--categorical zip --drop a,b --date=day --numeric age --id key --json"
    code, out, _ = run(capsys, "fit", "t.csv", "--target", "y", *options.split())
    columns = json.loads(out)["columns"]
    assert code == 0
    assert {name: role for name, (role, _) in columns.items()} == {
        "zip": "category",
        "a,b": "left out",
        "day": "date",
        "age": "number",
        "key": "left out",
    }
    code, out, _ = run(capsys, "fit", "t.csv", "--target", "y", "--drop", "zip,age")
    assert code == 0
    assert "Left out: 'zip', as requested." in out
    assert "Left out: 'age', as requested." in out
    assert (
        "Read: 'day', dates written as yearmonthday: trend in days, sine and cosine of weekday."
        in out
    )
    for said, message in (
        (["--drop", "zap"], "The table has no column 'zap' to drop; did you mean 'zip'?"),
        (["--drop", "zip", "--id", "zip"], "Column 'zip' has two roles, drop and identifier"),
        (["--drop", "y"], "Column 'y' is the target"),
    ):
        code, _, err = run(capsys, "fit", "t.csv", "--target", "y", *said)
        assert code == 2
        assert message in err


@pytest.mark.parametrize(
    ("table", "model"), [("a/b.csv", "b"), ("x.y.csv.gz", "x.y"), ("-", "model"), ("t.zst", "t")]
)
def test_a_model_has_the_name_of_its_table(table, model):
    assert cli._model_name(table) == f"{model}.skops"


OWN = """
from beside import CLAIM
PAPER = "Table 1 of nobody"
def cases(scale):
    return [{"n": n} for n in (1, 2)]
def run(case, rng):
    return {"square": case["n"] ** 2, "draw": rng.random()}
def verdict(results):
    return "holds", f"{len(results)} squares"
"""


@pytest.mark.parametrize("workers", ["in process", pytest.param("spawned", marks=pytest.mark.long)])
def test_an_experiment_of_ones_own_is_a_file(workers, capsys, tmp_path, request):
    if workers == "in process":
        request.getfixturevalue("workers_in_process")
    own, out = tmp_path / "own.py", tmp_path / "out"
    own.write_text(OWN)
    (tmp_path / "beside.py").write_text('CLAIM = "Squares are squares."')
    command = ("reproduce", own, "--scale", "smoke", "--out", out, "--jobs", "2", "--json")
    code, text, _ = run(capsys, *command)
    assert code == 0
    assert json.loads(text)[0]["verdict"] == "holds"
    lines = [json.loads(line) for line in (out / "own.smoke.jsonl").read_text().splitlines()]
    assert sorted(line["result"]["square"] for line in lines) == [1, 4]
    run(capsys, *command)
    assert len((out / "own.smoke.jsonl").read_text().splitlines()) == 2, (
        "finished cases are not run again"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.py", None, "There is no file"),
        ("rff_sampling.py", OWN, "has the name of an experiment of bochner"),
        ("half.py", "CLAIM = 1", "is not an experiment: it lacks PAPER, cases, run, verdict"),
    ],
)
def test_other_files_are_not_experiments(capsys, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    code, _, error = run(capsys, "reproduce", str(tmp_path / name), "--out", str(tmp_path / "out"))
    assert code != 0
    assert message in error
