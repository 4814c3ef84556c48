"""Imports point down only, and heavy libraries stay behind their doors."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "bochner"

# A module may import rooms of lower floors, and siblings of its own floor.
FLOORS = [
    {"_compute"},
    {
        "_validation",
        "datasets",
        "_progress",
        "_random",
        "_files",
        "_text",
        "_defaults",
        "_deprecations",
        "_state",
        "_callbacks",
        "_columns",
        "_given_targets",
        "_environment",
        "_unfamiliar",
    },
    {"measures", "expansions", "harmonics"},
    {
        *("alignment", "priors", "bounds", "targets", "losses", "wave_gradients"),
        *("repetitions", "observations", "row_draws", "scoring"),
    },
    {"operators", "learners", "descent", "solvers", "evidence", "kernel_expansions", "kernel_systems"},
    {
        *("features", "landmarks", "boosting", "ridge", "certificates", "landmark_choice", "tuning"),
        *("inputs", "blending", "kernel_machine", "logistic", "operator_models"),
    },
    {"front_door"},
    {"untuned"},
    {"plots", "export", "experiments", "tables", "pages", "storage"},
    {"cli", "demo"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
DOORS = {"dask": "_compute", "distributed": "_compute", "numba": "_compute"}
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


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path):
    """(absolute module name, written at module level?) of each import statement."""
    tree = ast.parse(path.read_text())
    package = ["bochner", *path.relative_to(PACKAGE).parts[:-1]]
    top_level = {id(node) for statement in tree.body for node in ast.walk(statement) if _is_import(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top_level
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{module}.{alias.name}", id(node) in top_level


def _is_import(statement):
    return isinstance(statement, ast.Import | ast.ImportFrom)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    here = room_of(path)
    if here in ("__init__", "__main__"):
        return
    assert here in FLOOR_OF, f"{here} has no floor yet: add it to FLOORS"
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[0] != "bochner" or len(parts) < 2:
            continue
        there = parts[1]
        assert there in FLOOR_OF, f"{path} imports {name}, which has no floor"
        assert FLOOR_OF[there] <= FLOOR_OF[here], f"{here} must not import {there}: it is on a higher floor"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_stay_behind_their_doors(path):
    for name, at_module_level in imports(path):
        library = name.split(".")[0]
        if library in DOORS:
            assert room_of(path) == DOORS[library], f"only {DOORS[library]} may import {library}"
        if library in NEVER_AT_IMPORT:
            assert not at_module_level, f"{library} must be imported inside a function"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_compute_knows_where_rows_live(path):
    """No name of Dask in the code of other rooms (texts may speak of it), nor a question about where rows are."""
    if room_of(path) == "_compute":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        names = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "module")]
        for name in names:
            if isinstance(name, str):
                assert "dask" not in name.lower(), f"{path} names {name}"
                assert name not in ("map_blocks", "to_delayed", "memmap"), f"{path} names {name}"


def test_the_walk_sees_relative_imports():
    seen = {name for name, _ in imports(PACKAGE / "measures.py")}
    assert "bochner._compute.as_rows" in seen
    assert "numpy" in seen
