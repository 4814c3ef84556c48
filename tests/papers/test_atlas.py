"""The atlas: complete, made from stored lines alone, and the same on the page as in the results."""

import json
from pathlib import Path

import pytest

from bochner.cli import main
from bochner_papers.runner import atlas as _atlas
from bochner_papers.runner.atlas import ENTRIES, atlas, atlas_markdown, atlas_text, page_with_atlas
from bochner_papers.runner.catalog import choose, discover
from bochner_papers.runner.reproduction import result_path

ROOT = Path(__file__).resolve().parents[2]
FEW = ("gbrff_figure1", "gbrff_figure4", "gbrff_table2")


@pytest.fixture
def few_entries(monkeypatch):
    """An atlas of three experiments and of the rows without one: cases of all experiments take a
    second to list.
    """
    entries = [entry for entry in ENTRIES if entry.experiment in (*FEW, None)]
    monkeypatch.setattr(_atlas, "ENTRIES", entries)
    _atlas._experiments.cache_clear()
    yield entries
    _atlas._experiments.cache_clear()


def test_every_table_and_figure_of_the_four_papers_has_a_row():
    items = {
        (entry.paper.split()[0].rstrip(","), item)
        for entry in ENTRIES
        for item in _single(entry.item)
    }
    expected = {("Letarte", f"Figure {k}") for k in range(1, 7)} | {
        ("Letarte", f"Table {k}") for k in (1, 2)
    }
    expected |= {("Brault", f"Figure {k}") for k in (1, 2, 3)}
    expected |= {("Gautheron", f"Figure {k}") for k in range(1, 6)} | {
        ("Gautheron", f"Table {k}") for k in (1, 2)
    }
    expected |= {("Bullins", "Figure 1"), ("Bullins", "Table 1")}
    assert expected <= items
    assert {entry.experiment for entry in ENTRIES if entry.experiment} == set(discover()[0])


def _single(item):
    """Figures 2, 6 are Figure 2 and Figure 6."""
    kind, _, numbers = item.partition(" ")
    return [f"{kind.removesuffix('s')} {number}" for number in numbers.split(", ")]


@pytest.mark.long
def test_the_page_is_what_the_results_say():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    made = page_with_atlas(page, atlas(ROOT / "results"))
    assert page == made, "run python -m bochner_papers.runner.atlas docs/results.md results"


@pytest.mark.usefixtures("few_entries")
def test_rows_tell_scale_verdict_and_older_lines(tmp_path):
    experiment = choose(["gbrff_figure1"])[0]
    cases = experiment.cases("quick")
    sources = [experiment.source] * (len(cases) - 3) + ["older"] * 2 + [None]
    lines = [
        {"case": case, "result": {"accuracies": [0.5, 0.9]}}
        | ({"source": source} if source else {})
        for case, source in zip(cases, sources)
    ]
    path = result_path(tmp_path, "gbrff_figure1", "quick")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = [row for row in atlas(tmp_path) if row["experiment"] == "gbrff_figure1"]
    assert (row["scale"], row["verdict"], row["n_older"]) == ("quick", "does not hold", 3)
    assert f"3 of {len(cases)} lines of an earlier version" in atlas_markdown([row])
    assert "does not hold" in atlas_text([row])
    # A whole quick scale says more than a part of the paper's; a whole paper's scale more than
    # both.
    paper = result_path(tmp_path, "gbrff_figure1", "paper")
    paper.write_text(json.dumps(lines[0]) + "\n")
    assert {row["scale"] for row in atlas(tmp_path) if row["experiment"] == "gbrff_figure1"} == {
        "quick"
    }
    paper.write_text(path.read_text())
    assert {row["scale"] for row in atlas(tmp_path) if row["experiment"] == "gbrff_figure1"} == {
        "paper"
    }


@pytest.mark.usefixtures("few_entries")
def test_a_papers_scale_counts_as_whole_without_what_its_experiment_leaves_out(
    tmp_path, monkeypatch
):
    experiment = choose(["gbrff_figure1"])[0]

    def left_out(case):
        """The first seed, a day."""
        return case["seed"] == 0

    monkeypatch.setattr(experiment.module, "left_out", left_out, raising=False)
    records = [
        {"case": case, "result": {"accuracies": [0.5, 0.9]}, "source": experiment.source}
        for case in experiment.cases("paper")
    ]
    for scale, n_lines in (("quick", len(records)), ("paper", len(records) - 2)):
        lines = [json.dumps(record) + "\n" for record in records[:n_lines]]
        result_path(tmp_path, "gbrff_figure1", scale).write_text("".join(lines))
    assert records[-1]["case"]["seed"] == 0  # left-out cases are listed last
    row = _row_of("gbrff_figure1", tmp_path)
    assert row["scale"] == "quick"  # one more is missing than is left out
    with result_path(tmp_path, "gbrff_figure1", "paper").open("a") as file:
        file.write(json.dumps(records[-2]) + "\n")
    row = _row_of("gbrff_figure1", tmp_path)
    assert row["scale"] == "paper"
    assert (
        f"{len(records) - 1} of {len(records)} cases (left out: The first seed, a day)"
        in atlas_markdown([row])
    )


def _row_of(name, out):
    (row,) = [row for row in atlas(out) if row["experiment"] == name]
    return row


def test_the_command_prints_rows_for_people_and_machines(tmp_path, capsys, few_entries):
    assert main(["atlas", "--out", str(tmp_path)]) == 0
    assert "Gautheron et al. 2020" in capsys.readouterr().out
    assert main(["atlas", "--out", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == len(few_entries)
    assert all(row["verdict"] is None for row in rows)
    assert main(["atlas", "--out", str(tmp_path), "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| | claim |")


@pytest.mark.long
@pytest.mark.usefixtures("few_entries")
def test_pages_of_stored_results_are_written_and_nothing_is_run(tmp_path, capsys, monkeypatch):
    assert main(["atlas", "--out", str(tmp_path), "--pages"]) != 0
    assert (
        f"{tmp_path} holds no finished results. Write bochner reproduce NAME"
        in capsys.readouterr().err
    )
    for name in ("gbrff_figure4.paper.jsonl", "gbrff_table2.quick.jsonl"):
        (tmp_path / name).write_bytes((ROOT / "results" / name).read_bytes())
    monkeypatch.setattr("bochner_papers.runner.reproduction.run_tasks", None)
    assert main(["atlas", "--out", str(tmp_path), "--pages", "--json"]) == 0
    said = capsys.readouterr()
    assert f"Index of all pages: {tmp_path / 'index.html'}" in said.err
    verdicts = {row["experiment"]: row["verdict"] for row in json.loads(said.out) if row["verdict"]}
    assert set(verdicts) == {"gbrff_figure4", "gbrff_table2"}
    pages = {page.name for page in tmp_path.glob("*.html")}
    assert pages == {"index.html", "gbrff_figure4.paper.html", "gbrff_table2.quick.html"}
    assert all(
        f'href="{page}"' in (tmp_path / "index.html").read_text() for page in pages - {"index.html"}
    )


@pytest.mark.usefixtures("few_entries")
def test_a_figure_that_fails_on_stored_results_is_told(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    name = "gbrff_figure1"
    (tmp_path / f"{name}.paper.jsonl").write_bytes(
        (ROOT / "results" / f"{name}.paper.jsonl").read_bytes()
    )
    monkeypatch.setattr(choose([name])[0].module, "figure", lambda results: 1 / 0)
    assert main(["atlas", "--out", str(tmp_path), "--pages"]) == 1
    assert "division by zero" in (tmp_path / f"{name}.paper.html").read_text()


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="has no place for the atlas"):
        page_with_atlas("# Nothing", [])
