"""``tools/golden.py`` finds every change of a stored result, and the file names every case."""

import json
import platform
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from registry import ESTIMATORS

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "tools" / "golden.py"


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(TOOL))


def compared(tool, old, new):
    """Return the lines that the tool prints for two results of one case, after a round trip through
    JSON.
    """
    encoded = [
        json.loads(json.dumps(tool["answers_of"](lambda result=result: result)))
        for result in (old, new)
    ]
    return tool["changes"](*encoded)


@pytest.mark.parametrize(
    "value",
    [
        np.array([0.1, np.nan, np.inf, -0.0]),
        np.array([0.1, np.nan], dtype=np.float32),
        np.array(["a", "b"]),
        np.array(["a", None], dtype=object),
        float("nan"),
        {"part": {"deep": np.arange(3)}, "other": [1, None, "x"], "rows": [[1, 2.5], [3, 4.5]]},
    ],
)
def test_equal_results_are_equal(tool, value):
    assert compared(tool, {"answer": value}, {"answer": value}) == []


def test_a_changed_last_digit_is_found(tool):
    old = np.linspace(1, 2, 5)
    new = old.copy()
    new[3] = np.nextafter(new[3], 2)
    (line,) = compared(tool, {"answer": old}, {"answer": new})
    assert (
        line
        == "answer: 1 of 5 values changed, largest difference 2.2e-16 absolute, 1.3e-16 relative"
    )
    single = old.astype(np.float32)
    (line,) = compared(tool, {"answer": single}, {"answer": np.nextafter(single, np.float32(3))})
    assert line.startswith("answer: 5 of 5 values changed")
    (line,) = compared(tool, {"answer": 0.1}, {"answer": float(np.nextafter(0.1, 1))})
    assert line.startswith("answer: 0.1 → 0.10000000000000002, largest difference 1.4e-17 absolute")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1.0, "b": 2.0}, {"a": 1.0}, "b: missing, was 2.0"),
        ({"a": 1.0}, {"a": 1.0, "b": "text"}, 'b: new, "text"'),
        ({"a": "holds"}, {"a": "cannot tell"}, 'a: "holds" → "cannot tell"'),
        ({"a": 1}, {"a": 1.0}, "a: 1 → 1.0, largest difference 0 absolute, 0 relative"),
        ({"a": 0.0}, {"a": -0.0}, "a: 0.0 → -0.0, largest difference 0 absolute, 0 relative"),
        (
            {"a": np.zeros(2)},
            {"a": np.array([0.0, np.nan])},
            "a: 1 of 2 values changed, the first one 0.0 → NaN",
        ),
        (
            {"a": np.zeros(2)},
            {"a": np.zeros(2, dtype=np.float32)},
            "a: float64 of shape (2,) → float32 of shape (2,)",
        ),
        (
            {"a": np.zeros((2, 1))},
            {"a": np.zeros(2)},
            "a: float64 of shape (2, 1) → float64 of shape (2,)",
        ),
        (
            {"a": np.array(["x", "y"])},
            {"a": np.array(["x", "z"])},
            'a: 1 of 2 values changed, the first one "y" → "z"',
        ),
    ],
)
def test_changes_in_words(tool, old, new, expected):
    assert compared(tool, old, new) == [expected]


def test_errors_are_results(tool):
    def fails():
        raise ValueError("no\n  rows")

    assert tool["answers_of"](fails) == {"error": "ValueError: no rows"}
    assert tool["answers_of"](lambda: {"part": fails, "other": 1}) == {
        "part": "ValueError: no rows",
        "other": 1,
    }


def test_files_hold_one_line_an_answer_and_all_digits(tool, tmp_path):
    values = {"b :: x": np.nextafter(0.1, 1), "a :: y": np.array([1 / 3, np.nan, -0.0])}
    answers = {
        name: dict(tool["answers_of"](lambda value=value: {"": value}))[""]
        for name, value in values.items()
    }
    path = tmp_path / "golden.json"
    tool["write_stored"]({"environment": {"Python": "3"}, "answers": answers}, path)
    assert [line[:8] for line in path.read_text().splitlines()[3:5]] == ['"a :: y"', '"b :: x"']
    read = tool["read_stored"](path)
    assert tool["changes"](read["answers"], answers) == []
    assert read["environment"] == {"Python": "3"}
    assert [file.name for file in tmp_path.iterdir()] == ["golden.json"]


def test_other_versions_are_told(tool):
    note = tool["environment_note"]({"numpy": "1"}, {"numpy": "2"})
    assert (
        note
        == "The file was written in another environment (numpy 1 → 2), so last digits may differ."
    )
    assert tool["environment_note"]({"numpy": "1"}, {"numpy": "1"}) == ""


def test_the_file_names_every_estimator_of_the_conformance_suite(tool):
    stored = {name.partition(tool["MARK"])[0] for name in tool["read_stored"]()["answers"]}
    wanted = {
        f"{group}/{tool['estimator_name'](one)}"
        for group in ("estimators", "onnx")
        for one in ESTIMATORS
    }
    message = "Run `python tools/golden.py --write estimators/ onnx/` and commit tests/golden.json"
    assert wanted - stored == set(), f"{message}: these cases have no stored results."
    gone = {name for name in stored if name.startswith(("estimators/", "onnx/"))} - wanted
    assert gone == set(), f"{message}: these cases are no longer in tests/conformance."
    assert tool["STORED"].stat().st_size < 1_000_000


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="results are stored for x86-64")
def test_one_case_again():
    done = subprocess.run(
        [sys.executable, TOOL, "losses/Squared"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 10 answers changed; 1 cases" in done.stdout
