"""What is published: contents of wheel and sdist, metadata, and the words beside them; `make
test-all` builds and installs both.
"""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bochner

ROOT = Path(__file__).resolve().parents[1]
_SPEC = importlib.util.spec_from_file_location("dist_tool", ROOT / "tools" / "dist.py")
dist = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(dist)

ABOUT = {"bochner-1.dist-info/entry_points.txt", "bochner-1.dist-info/licenses/LICENSE"}


def test_the_sources_have_what_is_no_python():
    found = dist.sources()
    assert {
        "bochner/py.typed",
        "bochner/tables/pages/page.css",
        "bochner/datasets/catalog.toml",
        "bochner_papers/published/pbrff_table1.json",
        "bochner/__init__.py",
    } <= found
    assert not [name for name in found if "__pycache__" in name]


def test_a_good_wheel_has_no_faults_and_others_have():
    wanted = {"bochner/a.py", "bochner/py.typed"}
    assert dist.wheel_faults(wanted | ABOUT, wanted) == []
    assert dist.wheel_faults(wanted | ABOUT | {"tests/a.py"}, wanted) == [
        "does not belong there: tests/a.py"
    ]
    assert dist.wheel_faults({"bochner/a.py"} | ABOUT, wanted) == ["missing: bochner/py.typed"]
    assert dist.wheel_faults(wanted, wanted) == [
        "missing: the command bochner",
        "missing: the license",
    ]


def test_a_good_sdist_has_no_faults_and_others_have():
    wanted = {"bochner/a.py"}
    inside = {"src/bochner/a.py", "tests/t.py", "examples/e.py", "docs/d.md", *dist.ALWAYS}
    assert dist.sdist_faults({f"bochner-1/{name}" for name in inside}, wanted) == []
    for name in inside:
        less = {f"bochner-1/{one}" for one in inside if one != name}
        assert len(dist.sdist_faults(less, wanted)) == 1, name
    more = {f"bochner-1/{name}" for name in inside | {"src/bochner/__pycache__/a.pyc"}}
    assert dist.sdist_faults(more, wanted) == [
        "does not belong there: src/bochner/__pycache__/a.pyc"
    ]


def test_versions_agree():
    latest = re.search(
        r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d|unreleased)\)$",
        (ROOT / "CHANGELOG.md").read_text(),
        re.M,
    )
    cited = (ROOT / "CITATION.cff").read_text()
    assert latest[1] == bochner.__version__
    assert f'version: "{bochner.__version__}"' in cited
    assert latest[2] in ("unreleased", re.search(r'^date-released: "(.*)"$', cited, re.M)[1])


def test_every_python_that_is_promised_is_in_the_matrix_of_the_workflow():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = re.findall(
        r"Programming Language :: Python :: (3\.\d+)", " ".join(project["classifiers"])
    )
    assert promised[0] == project["requires-python"].removeprefix(">=")
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert [version for version in promised if f'"{version}"' not in workflow] == []
    for target in re.findall(r"make ([a-z-]+)", workflow):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), target


@pytest.mark.long
def test_wheel_and_sdist_work_in_an_empty_environment(tmp_path):
    for library in ("build", "twine"):
        pytest.importorskip(library)
    command = [sys.executable, str(ROOT / "tools" / "dist.py"), "--out", str(tmp_path), "--no-demo"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert re.search(
        rf"bochner-{re.escape(bochner.__version__)}-py3-none-any.whl: \d+ kB", run.stdout
    )
