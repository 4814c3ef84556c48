"""What the site promises, without building it: each public name is on it, pages are reachable, its
own tools do what they say.
"""

import inspect
import re
import runpy
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bochner import (
    CurlFree,
    Eigen,
    Evidence,
    Gaussian,
    KernelMachine,
    Laplace,
    OperatorRidge,
    PacBayes,
    Sinc,
    SpectralClassifier,
    SpectralFeatures,
    SpectralRidge,
    spherical_harmonics,
)
from bochner.datasets.catalog import CATALOG
from tests.test_documentation import PUBLIC
from tests.test_documentation_code import BUILT, PAGES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)


def tool(path):
    return SimpleNamespace(**runpy.run_path(str(ROOT / path)))


def referenced():
    """Names on the page of the reference, with their modules."""
    module, names = None, []
    for line in (DOCS / "api" / "index.rst").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   (\w+)$", line):
            names.append(f"{module}.{found[1]}")
    return names


def test_every_public_name_is_in_the_reference_once():
    names = referenced()
    assert sorted(names) == sorted(set(names))
    assert set(PUBLIC) <= set(names)
    for name in set(names) - set(PUBLIC):  # of subpackages without a copy at the top level
        module, _, short = name.rpartition(".")
        assert short in import_module(module).__all__


def test_every_page_is_in_one_table_of_contents():
    written = {page for page in DOCS.rglob("*.md") if not BUILT & set(page.relative_to(DOCS).parts)}
    led_to = [
        found
        for page in written
        for block in TOCTREE.findall(page.read_text())
        for entry in block.split("\n")
        if entry and not entry.startswith(":")
        for found in page.parent.glob(f"{entry}.md")
        if found != page and not BUILT & set(found.relative_to(DOCS).parts)
    ]
    assert sorted(led_to) == sorted(written - {DOCS / "index.md"})


def test_the_readme_says_what_is_true():
    text = (ROOT / "README.md").read_text()
    assert "five papers" not in text
    assert "every theorem" not in text
    assert len(text.splitlines()) < 90, "a stranger has one minute"
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link


def test_files_named_on_pages_exist():
    for page in PAGES:
        for name in re.findall(r"`([\w/]+\.py)`", page.read_text()):
            if name.startswith("path/"):
                continue
            found = [ROOT / name, *(ROOT / "tests").rglob(name), ROOT / "src" / "bochner" / name]
            assert any(one.exists() for one in found), f"{page.name}: {name}"


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="b.html#there">b</a><a href="#here">a</a><img src="c.png">'
    )
    (tmp_path / "b.html").write_text(
        '<p id="there"><a href="a.html#gone">a</a><a href="https://example.org/x">x</a>'
    )
    n_pages, wrong = tool("tools/check_site.py").broken(tmp_path)
    assert n_pages == 2
    assert [(str(page), link) for page, link in wrong] == [
        ("a.html", "c.png"),
        ("b.html", "a.html#gone"),
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("|x| and a_ of ``|y|``", r"\|x\| and a\_ of ``|y|``"),
        ("w_j cos(ω_j·x) * 2", r"w_j cos(ω_j·x) \* 2"),
        (":math:`|x|_2`", ":math:`|x|_2`"),
    ],
)
def test_plain_text_of_docstrings_stays_plain(line, shown):
    assert tool("docs/_extensions/plain_docstrings.py").escaped(line) == shown


def test_doctests_and_entries_of_docstrings_are_not_escaped():
    lines = [
        "a_ is |x|",
        "",
        "classes_ : the |labels|",
        ">>> a_ | b_",
        "",
        ".. math:: |x|",
        "",
        "|z|",
    ]
    tool("docs/_extensions/plain_docstrings.py").escape(None, "class", "name", None, None, lines)
    assert lines == [
        r"a\_ is \|x\|",
        "",
        r"classes_ : the \|labels\|",
        ">>> a_ | b_",
        "",
        ".. math:: |x|",
        "",
        r"\|z\|",
    ]


def test_the_page_of_figures_takes_the_larger_scale(tmp_path):
    for name in ("one.quick.svg", "one.paper.svg", "two.quick.svg"):
        (tmp_path / name).write_text("<svg/>")
    words = {"claim": "It holds.", "paper": "Someone 2020", "caption": "Errors.", "deviations": []}
    experiments = {name: SimpleNamespace(words=words) for name in ("two", "one", "without")}
    text = tool("docs/_extensions/atlas_figures.py").page(tmp_path, experiments)
    assert re.findall(r"results/(\S+)\)", text) == ["one.paper.svg", "two.quick.svg"]
    assert "without" not in text


def test_summaries_of_properties_have_no_substitutions():
    """numpydoc copies them into tables of attributes, where |a| refers to a definition of a."""
    summaries = [
        f"{name}.{attribute}: {(member.__doc__ or '').partition(chr(10))[0]}"
        for name, thing in PUBLIC.items()
        if isinstance(thing, type)
        for attribute, member in inspect.getmembers(thing, lambda m: isinstance(m, property))
    ]
    assert len(summaries) > 100
    assert [summary for summary in summaries if re.search(r"\|\S+\|", summary)] == []


def test_formulas_on_pages_can_be_written_as_mathml():
    pytest.importorskip("sphinx")
    as_mathml = tool("docs/_extensions/mathml.py")._as_mathml
    formulas = [
        formula
        for page in PAGES
        for formula in re.findall(
            r"\$([^$\n]+)\$", re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
        )
    ]
    assert len(formulas) > 100
    for formula in formulas:
        assert "<math" in as_mathml(formula, block=False)


ROWS = np.random.default_rng(0).normal(size=(20, 3))
MESSAGES = {
    "Input X contains NaN": lambda: SpectralFeatures().fit(np.where(ROWS > 1, np.nan, ROWS)),
    "Input y contains NaN, but ... needs every output of every row": lambda: SpectralRidge().fit(
        ROWS, np.where(ROWS > 1, np.nan, ROWS)
    ),
    "learner must be an object, got the class ...": lambda: SpectralFeatures(learner=PacBayes).fit(
        ROWS, ROWS[:, 0]
    ),
    "gamma='scale' is computed from data, but none were given": lambda: Gaussian("scale").kernel(
        ROWS
    ),
    "Unknown label type: y is continuous": lambda: SpectralClassifier().fit(ROWS, ROWS[:, 0]),
    "... needs at least 2 classes, but y has only 1 class": lambda: SpectralClassifier().fit(
        ROWS, [1] * 20
    ),
    "Spherical harmonics need unit rows": lambda: spherical_harmonics(ROWS, 2),
    "CurlFree needs a prior whose frequencies have a finite variance": lambda: CurlFree(
        Laplace()
    ).kernel(ROWS),
    "... forms a matrix of all pairs of ... unknowns": lambda: OperatorRidge(
        CurlFree(Gaussian()), n_components=40_000, solver=Eigen()
    ).fit(ROWS, ROWS),
    "Evidence of": lambda: Evidence().learn(Sinc(), ROWS, ROWS[:, 0], np.random.default_rng(0)),
    "The split into effects of": lambda: (
        KernelMachine(Gaussian()).fit(ROWS, ROWS[:, 0]).effects(ROWS)
    ),
    "Got two priors": lambda: OperatorRidge(
        CurlFree(Gaussian()), features=SpectralFeatures(Gaussian(2.0))
    ).fit(ROWS, ROWS),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_the_page_of_errors_quotes_them(message):
    assert f"| `{message}` |" in (DOCS / "errors.md").read_text()
    with pytest.raises(
        (ValueError, TypeError), match="^" + ".*".join(map(re.escape, message.split("...")))
    ):
        MESSAGES[message]()


def test_the_page_on_data_names_every_set_and_its_files():
    page = (DOCS / "data.md").read_text()
    for name, entry in CATALOG.items():
        assert f"`{name}`" in page
        for file in entry.recipe.files:
            assert any(f"`{one}`" in page for one in file.split("|")) or name == "mnist", file
