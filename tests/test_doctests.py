"""Examples in docstrings print what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
EXAMPLES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>>" in path.read_text()
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted
    assert not results.failed, "see the report above"
