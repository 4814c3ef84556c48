"""What the pages show can be run: Python blocks in order, one namespace a page; options of
`bochner`, targets of `make`.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from selection import long_except

from bochner import cli
from bochner_papers.runner import catalog as _catalog

ROOT = Path(__file__).resolve().parents[1]
BUILT = {"_build", "generated", "gallery"}  # what `make docs` leaves behind
WRITTEN = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if not BUILT & set(page.relative_to(ROOT).parts)
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN]
FENCE = re.compile(r"^```(\w*|\{[^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PLACEHOLDERS = {"NAME", "all"}


def blocks(page, *languages):
    """(line, text) of the fenced blocks in one of these languages."""
    text = page.read_text()
    found = [
        (text[: fence.start()].count("\n") + 2, *fence.groups()) for fence in FENCE.finditer(text)
    ]
    return [(line, code) for line, language, code in found if language in languages]


def commands(page):
    """Lines of shell blocks and commands within sentences, without comments."""
    text = page.read_text()
    lines = [
        line for _, block in blocks(page, "", "sh", "shell", "bash") for line in block.splitlines()
    ]
    inside = re.findall(r"`((?:bochner|make) [^`\n]+)`", FENCE.sub("", text))
    return [words for line in [*lines, *inside] if (words := shlex.split(line, comments=True))]


def name_of(page):
    return str(page.relative_to(ROOT))


def with_python():
    return [page for page in PAGES if blocks(page, "python", "py")]


def test_the_pages_are_found():
    names = {name_of(page) for page in with_python()}
    assert {"README.md", "docs/three_lines.md", "docs/command.md", "docs/extending.md"} <= names
    assert not any(BUILT & set(Path(name).parts) for name in names)
    assert ["bochner", "reproduce", "all", "--scale", "smoke"] in commands(
        ROOT / "docs" / "reproducing.md"
    )
    assert {("make", "demo"), ("make", "test")} <= set(map(tuple, commands(ROOT / "README.md")))


@pytest.fixture
def customers(tmp_path):
    """The table that the pages speak of, in the folder where they run."""
    rng = np.random.default_rng(0)
    n_rows = 160
    age, zips = rng.integers(18, 80, n_rows), rng.choice(["10115", "20095", "80331"], n_rows)
    churn = np.where(age + 10 * rng.normal(size=n_rows) > 50, "yes", "no")
    lines = [
        f"{k},{a},{z},{c}" for k, a, z, c in zip(rng.normal(size=n_rows).round(3), age, zips, churn)
    ]
    (tmp_path / "customers.csv").write_text("\n".join(["balance,age,zip,churn", *lines]) + "\n")


@pytest.mark.parametrize(
    "page",
    long_except(with_python(), *(ROOT / page for page in ("README.md", "docs/three_lines.md"))),
    ids=name_of,
)
def test_python_on_a_page_runs(page, tmp_path, monkeypatch, customers):
    for library in ("pandas", "skops", "matplotlib"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for line, code in blocks(page, "python", "py"):
        # As many empty lines in front as the page has, so that a traceback names its line.
        exec(compile("\n" * (line - 1) + code, name_of(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_on_a_page_exist(page):
    parser = cli._parser()
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for program, *arguments in commands(page):
        if program == "make":
            assert {word for word in arguments if "=" not in word} <= targets, f"make {arguments}"
        elif program == "bochner":
            if len(arguments) == 1:  # a command that is spoken of, not called
                with pytest.raises(SystemExit, match=r"^0$"):
                    parser.parse_args([*arguments, "--help"])
                continue
            parsed = parser.parse_args(arguments)
            if arguments[0] in ("list", "reproduce"):
                named = {name for name in parsed.names if not name.endswith(".py")}
                assert named - PLACEHOLDERS <= set(_catalog.discover()[0]), parsed.names


@pytest.mark.parametrize(
    "line", ["bochner fit --goal x", "bochner nonsense x", "make nothing", "bochner list no_such"]
)
def test_mistakes_in_commands_are_seen(line, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"```\n{line}\n```\n")
    with pytest.raises((AssertionError, cli.UsageError)):
        test_commands_on_a_page_exist(page)
