"""Words of docstrings, comments and messages: plain terms of the field, no metaphors."""

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "src"

# Packages that are checked, as paths below ``src``.
CHECKED = [
    *(f"bochner/{name}" for name in ("_checks.py", "_loops", "_terminal", "data", "datasets")),
    "bochner/learners/evidence.py",
    "bochner/models/kernel_machine.py",
    "bochner/plots",
    "bochner/solvers/dual.py",
    "bochner/tabular",
    "bochner_papers",
]

# A regular expression, and the reason or the better words.
BANNED = {
    r"front[- ]door": "tabular model",
    r"at the door": "validation, or input",
    r"at hand": "available, or in memory",
    r"elsewhere": "name the place: Dask, a file, memory",
    r"rivals?": "baseline",
    r"twins?": "version",
    r"crews?|hired|obituar(y|ies)": "worker",
    r"is struck": "raises, or is interrupted",
    r"(is|are) no numbers?": "is not a number, NaN, overflows",
    r"(no|some|any)body|who(ever)? asks": "name the caller",
    r"wak(es?|ing) up|woken up": "starts",
    r"where (they|the rows) (are|live)": "on the workers, in memory",
    r"what (we|it) (got|tells|says)": "name the thing",
}
# A docstring begins with a verb or a noun.
OPENINGS = ("what", "where", "how", "which", "whether", "who", "whose", "as", "of")

# The runner shows these docstrings of an experiment as its rule, its caption and its reason.
SHOWN = {"verdict", "figure", "left_out"}


def files(checked):
    """Return the files of the packages, without those of tests and caches."""
    for name in checked:
        path = SOURCES / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


@functools.cache
def docstrings(path):
    """Return (line, name, docstring) of a module, its classes and its functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                found.append((node.body[0].lineno, getattr(node, "name", ""), text))
    return found


@functools.cache
def texts(path):
    """Return (line, text) of comments, docstrings and messages; names of code are not texts.

    Messages of experiments are left out: their texts are part of stored results.
    """
    comments = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    found = [(token.start[0], token.string) for token in comments if token.type == tokenize.COMMENT]
    found += [(line, text) for line, _, text in docstrings(path)]
    if "bochner_papers" not in path.parts:
        nodes = ast.walk(ast.parse(path.read_text()))
        strings = [node for node in nodes if isinstance(node, ast.Constant)]
        found += [(node.lineno, node.value) for node in strings if isinstance(node.value, str)]
    return found


def banned_words(path):
    """Return a sentence for each banned word of a file."""
    faults = {
        f"{path}, from line {line}: {match[0]!r}; write {better}"
        for line, text in texts(path)
        for pattern, better in BANNED.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", " ".join(text.split()), re.IGNORECASE)
    }
    return sorted(faults)


def bad_openings(path):
    """Return a sentence for each docstring that begins with a question word or a preposition."""
    return [
        f"{path}, line {line}: a docstring begins with {text.split()[0]!r}"
        for line, _, text in docstrings(path)
        if text.split()[0].lower().rstrip(":,") in OPENINGS
    ]


def long_summaries(path):
    """Return a sentence for each docstring whose summary has several lines."""
    return [
        f"{path}, line {line}: the summary has several lines"
        for line, name, text in docstrings(path)
        if "\n" in text.split("\n\n")[0] and not (name in SHOWN and "bochner_papers" in path.parts)
    ]


@pytest.mark.parametrize("faults", [banned_words, bad_openings, long_summaries])
def test_docstrings_comments_and_messages_have_plain_words(faults):
    assert [fault for path in files(CHECKED) for fault in faults(path)] == []


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        (banned_words, "# Rows live elsewhere."),
        (banned_words, 'f"{n} squares are no numbers"'),
        (banned_words, '"""Return the\ntwin of a block."""'),
        (bad_openings, 'def f():\n    """What is summed."""'),
        (bad_openings, '"""How: by sums."""'),
        (long_summaries, 'class A:\n    """A summary\n    of two lines.\n    """'),
    ],
)
def test_faults_are_found(faults, text, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(text + "\n")
    assert len(faults(path)) == 1


def test_names_of_code_and_shown_docstrings_may_have_any_words(tmp_path):
    path = tmp_path / "bochner_papers" / "module.py"
    path.parent.mkdir()
    path.write_text('rival = 1\n\n\ndef verdict():\n    """A rule\n    of two lines."""\n')
    assert banned_words(path) + long_summaries(path) == []
