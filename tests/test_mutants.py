"""The wrong formulas of ``tools/mutant_list.py`` fit the source of today, so that ``make mutants`` plants each of them."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_wrong_formula_can_be_planted_and_has_tests_to_notice_it(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = runpy.run_path(str(ROOT / "tools" / "mutants.py"))
    mutants = tool["MUTANTS"]
    places = {mutant.name: tool["place"](ROOT / "src" / "bochner", mutant) for mutant in mutants}
    assert len(places) == len(mutants) > 200
    assert [f"{name}: {found}" for name, found in places.items() if isinstance(found, str)] == []
    tests = {test.partition("::")[0] for mutant in mutants for test in mutant.tests}
    assert [test for test in sorted(tests) if not (ROOT / "tests" / test).is_file()] == []
