"""Each wrong formula of ``tools/mutant_list.py`` has one place in the source and tests that exist."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_wrong_formula_has_one_place_and_tests(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = runpy.run_path(str(ROOT / "tools" / "mutants.py"))
    mutants = tool["MUTANTS"]
    package = ROOT / "src" / "bochner"
    sources = {file: file.read_text() for file in package.rglob("*.py")}
    places = {mutant.name: tool["place"](package, mutant, sources) for mutant in mutants}
    assert len(places) == len(mutants) > 200
    assert [f"{name}: {found}" for name, found in places.items() if isinstance(found, str)] == []
    tests = {test.partition("::")[0] for mutant in mutants for test in mutant.tests}
    assert [test for test in sorted(tests) if not (ROOT / "tests" / test).is_file()] == []
