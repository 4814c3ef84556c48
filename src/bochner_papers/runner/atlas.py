"""Atlas: one row for each table and figure of the papers, from stored results."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bochner._terminal.text import aligned

from .catalog import Experiment, ExperimentError, choose
from .reproduction import Progress, drawn, result_path, summarize
from .store import ResultFile, finished_records
from .text import cases_done

LETARTE = "Letarte, Morvant and Germain 2019"
BRAULT = "Brault, Heinonen and d'Alché-Buc 2016"
GAUTHERON = "Gautheron et al. 2020"
BULLINS = "Bullins, Zhang and Zhang 2018"
BEYOND = "Beyond the papers"
_LONGEST = 700


@dataclass(frozen=True)
class Entry:
    """Table or figure of a paper, its printed numbers, and our experiment, if any."""

    paper: str
    item: str
    published: str
    experiment: str | None = None
    remark: str = ""


ENTRIES = (
    Entry(LETARTE, "Table 1", "PB below RBF on 6 of 7 sets", "pbrff_table1"),
    Entry(
        LETARTE,
        "Table 2",
        "sizes of seven data sets",
        remark="The same rows, columns and splits, tested (`tests/papers/test_pbrff.py`), but for "
        "ads, of which we have the 1966 distinct rows.",
    ),
    Entry(LETARTE, "Figures 1, 4", "five landmarks of two toy sets, as pictures", "pbrff_figure1"),
    Entry(LETARTE, "Figures 2, 6", "curves of seven sets, one split", "pbrff_figure2"),
    Entry(LETARTE, "Figures 3, 5", "curves of seven sets, one split", "pbrff_figure3"),
    Entry(BRAULT, "Figure 1", "curves", "orff_figure1"),
    Entry(BRAULT, "Figure 2", "curves", "orff_figure2"),
    Entry(BRAULT, "Figure 3", "curves", "orff_figure3"),
    Entry(
        GAUTHERON,
        "Table 1",
        "sizes and signs of 16 data sets",
        remark="The same, tested (`tests/papers/test_gbrff_experiments.py`), but for the sign of "
        "vehicle: the table prints van as −1, the authors' code and we take it as +1.",
    ),
    Entry(GAUTHERON, "Table 2", "GBRFF2: mean 89.1 %, rank 2.19 of six", "gbrff_table2"),
    Entry(GAUTHERON, "Figure 1", "100 % after 10 rounds", "gbrff_figure1"),
    Entry(
        GAUTHERON,
        "Figure 2",
        "GBRFF1 about 1 point above PBRFF below 25 landmarks",
        "gbrff_figure2",
    ),
    Entry(GAUTHERON, "Figure 3", "bars", "gbrff_figure3"),
    Entry(GAUTHERON, "Figure 4", "curves up to 1000 s", "gbrff_figure4"),
    Entry(GAUTHERON, "Figure 5", "boundaries and curves", "gbrff_figure5"),
    Entry(
        BULLINS,
        "Figure 1",
        "windmill 99.3 % (RBF 92.1), sphere 99.1 % on 29 harmonics (arc-cosine 95.1)",
        "nsrf_figure1",
    ),
    Entry(
        BULLINS, "Table 1", "an image; about 100 features above 5000 of the others", "nsrf_table1"
    ),
    Entry(BEYOND, "sampling", "–", "rff_sampling"),
    Entry(BEYOND, "certificates", "–", "risk_certificates"),
    Entry(BEYOND, "several outputs", "–", "orff_real"),
    Entry(BEYOND, "missing outputs", "–", "orff_missing"),
    Entry(BEYOND, "regression", "–", "fourier_boosting_regression"),
)


def atlas(out: Path) -> list[dict[str, Any]]:
    """Return the state of each table and figure, as dictionaries in the papers' order."""
    return [_row(entry, out) for entry in ENTRIES]


def _row(entry: Entry, out: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"paper": entry.paper, "item": entry.item, "published": entry.published}
    row |= {
        "experiment": entry.experiment,
        "claim": "",
        "scale": None,
        "verdict": None,
        "tried": "",
    }
    if entry.experiment is None:
        return row | {"why": entry.remark, "n_cases": 0, "n_finished": 0, "n_older": 0}
    experiment = _experiments()[entry.experiment]
    row["claim"] = experiment.module.CLAIM
    shown = shown_summary(experiment, out)
    if shown is None:
        return row | {"why": "Not run.", "n_cases": 0, "n_finished": 0, "n_older": 0}
    kept = ("scale", "verdict", "why", "n_cases", "n_finished", "n_left_out", "left_out", "tried")
    return row | {key: shown[key] for key in kept} | {"n_older": shown["n_of_earlier_code"]}


@cache
def _experiments() -> dict[str, Experiment]:
    named = [entry.experiment for entry in ENTRIES if entry.experiment]
    return {experiment.name: experiment for experiment in choose(named)}


def stored_summary(experiment: Experiment, scale: str, out: Path) -> dict[str, Any] | None:
    """Return the summary of stored results, None if there are none; nothing is run or written."""
    store = ResultFile(result_path(out, experiment.name, scale))
    store.finished = finished_records(store.path)
    progress = Progress(experiment, scale, store)
    return summarize(progress) if progress.records() else None


def shown_summary(experiment: Experiment, out: Path) -> dict[str, Any] | None:
    """Return the summary that the atlas shows, None if nothing was run.

    It is of the paper's scale where all of that was run that is not left out with a reason: a part
    of it says less than the whole of a smaller one.
    """
    found = [
        summary
        for scale in ("paper", "quick")
        if (summary := stored_summary(experiment, scale, out))
    ]
    whole = [one for one in found if one["n_finished"] + one["n_left_out"] == one["n_cases"]]
    return next(iter(whole or found), None)


def write_pages(out: Path) -> tuple[Path, int]:
    """Write the page of every row with results in ``out``, and their index; nothing is run.

    Returns the index and how many figures or rules failed.
    """
    from .pages import write_experiment, write_index

    experiments = _experiments().values()
    shown = [
        (experiment, summary)
        for experiment in experiments
        if (summary := shown_summary(experiment, out))
    ]
    if not shown:
        raise ExperimentError(
            f"{out} holds no finished results. Write bochner reproduce NAME --out {out} first."
        )
    for experiment, summary in shown:
        write_experiment(summary, out, drawn(experiment, summary))
    return write_index(out), sum(len(summary["failed"]) for _, summary in shown)


_BEGIN, _END = "<!-- bochner atlas -->", "<!-- end of bochner atlas -->"


def page_with_atlas(page: str, rows: list[dict[str, Any]]) -> str:
    """Return a page with the table between its two marks replaced by that of ``rows``."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(
            f"The page has no place for the atlas; it needs the lines {_BEGIN} and {_END}."
        )
    return f"{before}{_BEGIN}\n{atlas_markdown(rows)}\n{_END}{after}"


def atlas_text(rows: list[dict[str, Any]]) -> str:
    """Return a line for each table or figure, then the reasons of open and failed claims."""
    lines = []
    for row in rows:
        cases = f"{row['n_finished']}/{row['n_cases']}" if row["n_cases"] else "–"
        older = str(row["n_older"]) if row["n_older"] else ""
        name = row["experiment"] or "–"
        lines.append(
            [
                row["paper"],
                row["item"],
                name,
                row["scale"] or "–",
                row["verdict"] or "–",
                cases,
                older,
            ]
        )
    parts = [
        aligned(
            ["paper", "table or figure", "experiment", "scale", "verdict", "cases", "older"], lines
        ),
        "",
    ]
    for row in rows:
        if row["verdict"] not in ("holds", None):
            parts.append(f"{row['experiment']} ({row['verdict']}): {_shortened(row['why'])}")
            parts += [f"  Tried: {row['tried']}"] if row["tried"] else []
    return "\n".join(parts)


def atlas_markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table of ``docs/results.md``, and what was tried for claims that do not hold."""
    lines = ["| | claim | published | ours | verdict | why |", "|---|---|---|---|---|---|"]
    paper = ""
    for row in rows:
        if row["paper"] != paper:
            paper = row["paper"]
            lines.append(f"| **{paper}** | | | | | |")
        name = f"{row['item']}" + (f", `{row['experiment']}`" if row["experiment"] else "")
        cells = [
            name,
            row["claim"],
            row["published"],
            _ours(row),
            row["verdict"] or "–",
            _shortened(row["why"]),
        ]
        lines.append(
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        )
    tried = [
        f"- `{row['experiment']}` ({row['verdict']}): {row['tried']}"
        for row in rows
        if row["verdict"] not in ("holds", None) and row["tried"]
    ]
    return "\n".join(
        [*lines, "", "What was tried where a claim does not hold or cannot be told:", "", *tried]
    )


def _ours(row: dict[str, Any]) -> str:
    if not row["scale"]:
        return "–"
    missing = f", {cases_done(row)}" if row["n_finished"] < row["n_cases"] else ""
    older = (
        f", {row['n_older']} of {row['n_finished']} lines of an earlier version"
        if row["n_older"]
        else ""
    )
    return f"scale {row['scale']}{missing}{older}"


def _shortened(text: str) -> str:
    """Return the leading parts of a reason that fit."""
    kept = ""
    for part in _parts(text):
        if kept and len(kept) + len(part) > _LONGEST:
            return f"{kept.rstrip('; ')}; …"
        kept += part
    return kept


def _parts(text: str) -> Iterable[str]:
    *before, last = text.split("; ")
    return [*(f"{part}; " for part in before), last]


if __name__ == "__main__":  # python -m bochner_papers.runner.atlas docs/results.md results
    _page = Path(sys.argv[1])
    _page.write_text(
        page_with_atlas(_page.read_text(encoding="utf-8"), atlas(Path(sys.argv[2]))),
        encoding="utf-8",
    )
