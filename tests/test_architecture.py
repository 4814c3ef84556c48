"""Imports point down only, and heavy libraries are imported in one package each."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bochner
from bochner._estimator import Classifier

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "bochner"

# A module may import packages of lower levels, and those of its own level.
LEVELS = [
    {"_loops"},
    {"_checks", "_terminal"},
    {"data"},
    {"datasets", "losses", "measures"},
    {"_estimator"},
    {"bounds", "priors"},
    {"expansions", "operators"},
    {"learners", "solvers"},
    {"boosting", "features"},
    {"models"},
    {"tabular"},
    {"export", "plots", "tables", "testing"},
    {"cli", "demo"},
]
LEVEL_OF = {package: level for level, packages in enumerate(LEVELS) for package in packages}
ONLY_IN = {"dask": "data", "distributed": "data", "numba": "_loops"}
NEVER_AT_IMPORT = {
    *(
        "charset_normalizer",
        "matplotlib",
        "pyarrow",
        "pandas",
        "skops",
        "polars",
        "dask",
        "distributed",
        "onnx",
        "skl2onnx",
        "onnxruntime",
        "rich",
    )
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def package_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@functools.cache
def parsed(path):
    """Return the syntax tree of a file; every test reads all of them."""
    return ast.parse(path.read_text())


@functools.cache
def walked(path):
    """Return all nodes of the tree of a file."""
    return list(ast.walk(parsed(path)))


def imports(path):
    """(absolute module name, written at module level?) of each import statement."""
    package = ["bochner", *path.relative_to(PACKAGE).parts[:-1]]
    top_level = {id(statement) for statement in parsed(path).body}
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top_level
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{module}.{alias.name}", id(node) in top_level


def statements(tree):
    """Yield all statements below a node; expressions, most of a tree, are skipped."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        for statement in getattr(tree, block, ()):
            yield statement
            yield from statements(statement)


def import_faults(path):
    """Return a sentence for each import that points up."""
    here = package_of(path)
    if here in ("__init__", "__main__"):
        return []
    if here not in LEVEL_OF:
        return [f"{here} has no level yet: add it to LEVELS"]
    faults = []
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[0] != "bochner" or len(parts) < 2:
            continue
        if parts[1] not in LEVEL_OF:
            faults.append(f"{path} imports {name}, which has no level")
        elif LEVEL_OF[parts[1]] > LEVEL_OF[here]:
            faults.append(f"{path} must not import {name}, which is on a higher level")
    return faults


def library_faults(path):
    """Return a sentence for each import of a heavy library in the wrong place."""
    faults = []
    for name, at_module_level in imports(path):
        library = name.split(".")[0]
        if library in ONLY_IN and package_of(path) != ONLY_IN[library]:
            faults.append(f"{path} imports {library}; only {ONLY_IN[library]} may")
        if library in NEVER_AT_IMPORT and at_module_level:
            faults.append(f"{path} imports {library} at module level; import it inside a function")
    return faults


# Names that ask where rows live.  ``LocalRows(X)`` wraps an array and is no such question.
LOCATION_QUESTIONS = {
    *("is_remote", "is_local", "is_mapped", "in_memory", "has_cheap_access"),
    *("gathered", "map_blocks", "to_delayed", "memmap", "DaskTable"),
}
KINDS_OF_ROWS = {"LocalRows", "DaskRows"}
# Code above ``data`` that asks all the same, and the reason: "file:function", or "file" for all
# its functions.
MAY_ASK = {
    "_estimator.py:score_in_memory": "scikit-learn's score needs predictions and y as arrays",
    "solvers/choice.py:tiles_seem_enough": "a sample of the rows is read before the pass",
    "tabular/base.py": "rows on Dask are sampled before they are prepared",
}
MOST_EXCEPTIONS = 20


def location_faults(path):
    """Return "file:function" and a sentence for each place that asks where rows live."""
    if package_of(path) == "data":
        return []
    faults = []
    for function, node in with_functions(parsed(path)):
        name = question_of(node)
        if name:
            place = f"{path.relative_to(PACKAGE).as_posix()}:{function}"
            faults.append((place, f"{path}, line {node.lineno}, asks where rows live: {name}"))
    return faults


def exceptions(place):
    """Return the keys of ``MAY_ASK`` that allow a place."""
    return {place, place.partition(":")[0]} & set(MAY_ASK)


def with_functions(node, function="module"):
    """Yield all nodes of a tree with the name of the function that they are in."""
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield function, child
        yield from with_functions(child, child.name if is_function else function)


def question_of(node):
    """Return the name by which a node asks where rows live, or None; imports do not ask."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
        named = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])}
        return next(iter(sorted(named & KINDS_OF_ROWS)), None)
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    if not isinstance(name, str):
        return None
    is_question = name in LOCATION_QUESTIONS or "dask" in name.lower()
    # ``table.here()`` brings a table to memory; variables may have any name.
    return name if is_question or (name == "here" and isinstance(node, ast.Attribute)) else None


def test_imports_point_down():
    assert not [fault for path in MODULES for fault in import_faults(path)]


def test_heavy_libraries_are_imported_in_one_package_and_not_at_import_time():
    assert not [fault for path in MODULES for fault in library_faults(path)]


def test_only_data_asks_where_rows_live():
    faults = [fault for path in MODULES for fault in location_faults(path)]
    assert not [sentence for place, sentence in faults if not exceptions(place)]


def test_no_exception_is_needless():
    places = [place for path in MODULES for place, _ in location_faults(path)]
    assert set(MAY_ASK) == {key for place in places for key in exceptions(place)}
    assert len(MAY_ASK) < MOST_EXCEPTIONS


@pytest.mark.parametrize(
    ("check", "file", "line"),
    [
        (import_faults, "measures.py", "from .features import SpectralFeatures"),
        (import_faults, "nowhere.py", "import numpy"),
        (library_faults, "measures.py", "def f():\n    import dask"),
        (library_faults, "data/rows.py", "import pandas"),
        (location_faults, "measures.py", "X.map_blocks(f)"),
        (location_faults, "measures.py", "def f(rows):\n    return rows.is_local"),
        (location_faults, "measures.py", "isinstance(rows, (int, LocalRows))"),
        (location_faults, "measures.py", "values = gathered(values)"),
    ],
)
def test_faults_are_found(check, file, line, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(line + "\n")
    assert len(check(path)) == 1


def test_the_walk_sees_relative_imports():
    seen = {name for name, _ in imports(PACKAGE / "measures" / "fourier.py")}
    assert "bochner.data.as_rows" in seen
    assert "numpy" in seen


def public_estimators():
    """Return the public classes with ``fit``."""
    classes = (getattr(bochner, name) for name in bochner.__all__)
    return [one for one in classes if isinstance(one, type) and hasattr(one, "fit")]


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_estimators_have_few_base_classes(estimator):
    """Itself, one base of its family and ``Estimator``; classifiers also have ``Classifier``."""
    own = [one for one in estimator.__mro__ if one.__module__.split(".")[0] == "bochner"]
    # Before scikit-learn 1.9 an empty class stands for its own.
    own = [one for one in own if one.__name__ != "CallbackSupportMixin"]
    assert len(own) <= 3 + (Classifier in own), [one.__name__ for one in own]


@pytest.mark.long
def test_fits_pass_through_few_files():
    tool = Path(__file__).resolve().parents[1] / "tools" / "edges.py"
    done = subprocess.run([sys.executable, tool], capture_output=True, text=True, check=True)
    edges = re.findall(r"(\d+) edges \(at most (\d+) wanted\)", done.stdout)
    assert edges
    assert all(int(found) <= int(limit) for found, limit in edges), done.stdout
