"""The gallery: each example has a title, a story, small data of its own and a picture at its end;
run whole by `make test-all`.
"""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(GALLERY.rglob("*.py"))
# Downloads, and what a build of the gallery does not have.
FORBIDDEN = re.compile(r"\bfetch_\w+|__file__|BOCHNER_DATA|BOCHNER_TABLES|urllib|requests\.")
# Runs an example as the gallery does, without a screen, and asks what it drew.
RUN = """
import runpy, sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
runpy.run_path(sys.argv[1], run_name="__main__")
drawn = [axes for number in plt.get_fignums() for axes in plt.figure(number).axes if axes.has_data()]
sys.exit(0 if drawn else "no picture")
"""


def name_of(path):
    return str(path.relative_to(GALLERY))


def faults(text):
    """What is wrong with the form of an example, in words."""
    tree = ast.parse(text)
    title, underline, *_ = (ast.get_docstring(tree) or "\n").split("\n") + [""]
    found = []
    if not title or underline != "=" * len(title):
        found.append("its docstring must begin with a title underlined by as many =")
    if len((ast.get_docstring(tree) or "").split()) < 30:
        found.append("its docstring must tell what is shown and why")
    if ast.unparse(tree.body[-1]) != "plt.show()":
        found.append("its last line must be plt.show()")
    if "\n# %%\n# " not in text:
        found.append("it has no text between its code: write a comment after # %%")
    if word := FORBIDDEN.search(text):
        found.append(f"it needs more than this repository and scikit-learn: {word[0]}")
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "bochner"
        ):
            room = importlib.import_module(node.module)
            found += [
                f"{node.module} has no {alias.name}"
                for alias in node.names
                if not hasattr(room, alias.name)
            ]
            private = [
                alias.name for alias in node.names if f"{node.module}.{alias.name}".count("._")
            ]
            found += [f"{name} is private" for name in private]
    return found


def test_the_gallery_is_there():
    assert len(EXAMPLES) >= 18
    assert all(path.name.startswith("plot_") for path in EXAMPLES), (
        "sphinx-gallery runs plot_*.py only"
    )
    folders = {GALLERY, *(path.parent for path in EXAMPLES)}
    assert all((folder / "GALLERY_HEADER.rst").is_file() for folder in folders)
    assert len({path.name for path in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_an_example_has_the_form_of_the_gallery(path):
    assert not faults(path.read_text())


GOOD = (
    '"""\nA title\n=======\n\n'
    + "word " * 40
    + '\n"""\n\nimport matplotlib.pyplot as plt\n\n# %%\n# Text.\n\nplt.show()\n'
)


@pytest.mark.parametrize(
    ("text", "wrong", "fault"),
    [
        ("=======", "====", "title"),
        ("word " * 40, "word", "what is shown"),
        ("plt.show()", "plt.plot([1, 2])", "last line"),
        ("# %%\n# Text.\n", "", "no text"),
        ("# %%", "from sklearn.datasets import fetch_openml\n\n# %%", "fetch_openml"),
        ("# %%", "from bochner import Nothing\n\n# %%", "has no Nothing"),
        ("# %%", "from bochner import _random\n\n# %%", "private"),
    ],
)
def test_mistakes_of_form_are_seen(text, wrong, fault):
    assert not faults(GOOD)
    assert text in GOOD
    assert fault in " ".join(faults(GOOD.replace(text, wrong)))


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_an_example_runs_and_draws(path, tmp_path):
    for library in ("matplotlib", "pandas", "distributed", "onnxruntime", "skl2onnx"):
        pytest.importorskip(library)
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert not list(tmp_path.iterdir()), "an example leaves no files behind"
