"""The fingerprint covers what an experiment's ``run`` uses, and is the same on every Python."""

import hashlib

import pytest

import bochner
from bochner_papers.runner.catalog import discover
from bochner_papers.runner.fingerprint import run_fingerprint, token_lines

PROTOCOL = """
from .baselines import Baseline as Other
LIMIT = 3
def split(n):
    return n + LIMIT
def judged(n):
    return n > 0
class Tuned(Other):
    pass
"""
BASELINES = """
class Baseline:
    strength = 1
class Unused:
    strength = 1
"""
SHARING = """
from . import protocol as protocol
from .protocol import Tuned
PAPER, CLAIM = "Table 0", "Words."
def cases(scale):
    return [{"n": 1}]
def run(case, rng):
    return {"n": protocol.split(case["n"]), "strength": Tuned.strength}
def verdict(results):
    return ("holds" if protocol.judged(results[0][1]["n"]) else "does not hold"), "Why."
"""


@pytest.fixture
def fingerprint(tmp_path, monkeypatch):
    """Return a function that writes three files of a package and returns the fingerprint of one."""
    package = f"sharinglab_{abs(hash(str(tmp_path)))}"
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    def of(protocol=PROTOCOL, baselines=BASELINES, experiment=SHARING, version="1"):
        for name, text in (("protocol", protocol), ("baselines", baselines), ("one", experiment)):
            (folder / f"{name}.py").write_text(text)
        return run_fingerprint(f"{package}.one", version)

    return of


def test_the_fingerprint_covers_what_run_reaches_and_the_version_of_the_library(fingerprint):
    now = fingerprint()
    assert fingerprint() == now
    kept = (
        ("protocol", PROTOCOL, "n > 0", "n > 1"),
        ("protocol", PROTOCOL, "return n + LIMIT", "return n + LIMIT  # a comment"),
        ("protocol", PROTOCOL, "return n + LIMIT", "return n   +  LIMIT\n\n"),
        (
            "baselines",
            BASELINES,
            "class Unused:\n    strength = 1",
            "class Unused:\n    strength = 2",
        ),
        ("experiment", SHARING, "Words.", "Others."),
        ("experiment", SHARING, '"Why."', '"Because."'),
        ("experiment", SHARING, '{"n": 1}', '{"n": 2}'),
        (
            "experiment",
            SHARING,
            "def run(case, rng):",
            'def run(case, rng):\n    """Documented."""',
        ),
    )
    for part, text, old, new in kept:
        assert old in text
        assert fingerprint(**{part: text.replace(old, new)}) == now, new
    told = (
        ("protocol", PROTOCOL, "LIMIT = 3", "LIMIT = 4"),
        ("protocol", PROTOCOL, "n + LIMIT", "n - LIMIT"),
        (
            "protocol",
            PROTOCOL,
            "class Tuned(Other):\n    pass",
            "class Tuned(Other):\n    depth = 2",
        ),
        (
            "baselines",
            BASELINES,
            "class Baseline:\n    strength = 1",
            "class Baseline:\n    strength = 2",
        ),
        ("experiment", SHARING, "Tuned.strength", "Tuned.strength + 1"),
    )
    for part, text, old, new in told:
        assert old in text
        assert fingerprint(**{part: text.replace(old, new)}) != now, new
    assert fingerprint(version="2") != now


def test_experiments_that_share_a_protocol_are_told_apart_and_known():
    sources = {name: experiment.source for name, experiment in discover()[0].items()}
    assert "unknown" not in sources.values()
    assert len(set(sources.values())) == len(sources)


def test_the_version_is_that_of_the_library_that_runs(monkeypatch):
    before = discover()[0]["rff_sampling"].source
    assert before == run_fingerprint("bochner_papers.rff_sampling", bochner.__version__)
    monkeypatch.setattr(bochner, "__version__", "99.0")
    assert discover()[0]["rff_sampling"].source != before


F_STRINGS = """
@cached  # a comment
def f(a: int, *, b=1_0) -> str:
    '''A docstring.'''

    t = f"{a!r:>{b}} {{x}} {f'{b + 1}'} \u00e9" rf'\\d{a=}'
    u = ("one" f"{a:.2f}"
         "two",)
    v = f'''
    many {
    a} lines'''; w = 1 if a else \\
      2
    return t + u + v
"""


def test_tokens_are_the_same_on_every_version_of_python():
    lines = list(token_lines(F_STRINGS))
    assert lines[3] == (7, '4 u = ( "one" f"{a:.2f}" "two" , ) \n')
    assert hashlib.sha256(repr(lines).encode()).hexdigest()[:12] == "8ca0d8a3296d"
