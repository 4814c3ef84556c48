"""Files of a finished experiment: page, CSV, JSON and figure; and an index of all pages."""

import csv
import io
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from bochner._terminal.files import write_whole, written_whole
from bochner._terminal.text import cell_number, cell_text
from bochner.tables.pages.document import (
    Markup,
    bullets,
    document,
    folded,
    joined,
    section,
    table,
    tag,
)

from .text import duration, of_earlier_code, published_text, skipped_because, work_done

_VERDICT_STYLES = {"holds": "holds", "does not hold": "fails", "cannot tell": "open"}
_VERDICT_ORDER = {"does not hold": 0, "cannot tell": 1, "holds": 2}
_MAX_OPEN_ROWS = (
    15  # a longer table of averages is folded where the paper's table or a figure says the same
)
_MAX_RESULT_ROWS = 2000
# Larger point clouds and contours are embedded as images, to keep pages small.
_MAX_VECTOR_POINTS = 1500


def write_experiment(summary: dict[str, Any], out: Path, figure: Any = None) -> Path:
    """Write ``<name>.<scale>`` as .html, .csv, .json and .svg; return the path of the page."""
    out.mkdir(parents=True, exist_ok=True)
    stem = f"{summary['experiment']}.{summary['scale']}"
    picture = Markup("")
    if figure is not None:
        svg = matplotlib_svg(figure)
        write_whole(out / f"{stem}.svg", svg)
        drawing = tag("div", with_alt(svg, figure_alt(figure)), tabindex="0")
        picture = tag("figure", drawing, tag("figcaption", summary["caption"]), class_="light")
    # JSON knows neither NaN nor infinity.
    strict = json.loads(json.dumps(summary), parse_constant=lambda _: None)
    write_whole(out / f"{stem}.json", json.dumps(strict, indent=1) + "\n")
    _write_csv(summary["results"], out / f"{stem}.csv")
    page = out / f"{stem}.html"
    write_whole(page, experiment_page(summary, picture, stem))
    return page


def experiment_page(summary: dict[str, Any], picture: Markup, stem: str) -> str:
    """Return the page of one experiment."""
    reasons_why = summary["why"].split("; ")
    verdict = tag(
        "div",
        tag("b", summary["verdict"].capitalize()),
        bullets(reasons_why) if len(reasons_why) > 1 else tag("div", summary["why"]),
        tag("div", f"Rule: {summary['rule']}", class_="soft") if summary["rule"] else "",
        class_=f"verdict {_VERDICT_STYLES[summary['verdict']]}",
    )
    work = work_done(summary) + (" on one core" if summary["seconds"] else "")
    environment = " · ".join(f"{name} {value}" for name, value in summary["environment"].items())
    averages = _averages(summary["table"])
    n_rows = len(summary["table"]["rows"])
    if n_rows > _MAX_OPEN_ROWS and (summary["published"] or picture):
        averages = folded(f"{n_rows} rows: mean and spread of every setting", averages)
    failures = [
        joined(
            [
                tag("code", json.dumps(entry["case"])),
                " ",
                entry["error"],
                tag("pre", entry.get("trace", "")),
            ]
        )
        for entry in summary["failed"]
    ]
    endings = {"CSV": "csv", "JSON": "json", "raw lines": "jsonl"}
    links = [tag("a", name, href=f"{stem}.{ending}") for name, ending in endings.items()]
    return document(
        f"{summary['experiment']} · {summary['scale']}",
        tag("p", tag("a", "All experiments", href="index.html"), class_="soft"),
        tag("h1", summary["paper"]),
        tag("p", tag("b", "Claim. "), summary["claim"]),
        verdict,
        section("Published and ours", _comparison(summary["published"])),
        section("Figure", picture),
        section(
            "Comparisons",
            joined(
                [
                    table(t["columns"], t["rows"], caption=t["caption"])
                    for t in summary["comparisons"]
                ]
            ),
        ),
        section("Results", averages),
        section("Deviations from the paper's protocol", bullets(summary["deviations"])),
        section(
            "What was tried", tag("p", summary["tried"]) if summary.get("tried") else Markup("")
        ),
        section("Skipped", bullets(skipped_because(summary))),
        section("Failed", bullets(failures)),
        section(
            "How it was made",
            tag("pre", tag("code", summary["command"])),
            tag("p", f"{work}."),
            bullets([f"{note}." for note in of_earlier_code(summary)]),
            # Results may be older, or of another machine.
            tag("p", f"This page was written {summary['date']} by {environment}.", class_="soft"),
        ),
        section("All results", _all_results(summary["results"])),
        tag("p", Markup(" · ".join(links)), class_="soft"),
    )


def write_index(out: Path) -> Path:
    """Write a page over every experiment whose JSON file is in ``out``."""
    summaries = []
    for path in sorted(out.glob("*.*.json")):
        with suppress(ValueError):  # a file of something else
            summary = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(summary, dict) and {"experiment", "verdict", "claim"} <= summary.keys():
                summaries.append(summary)
    rows = [
        [
            joined(
                [
                    tag("a", s["experiment"], href=f"{s['experiment']}.{s['scale']}.html"),
                    tag("small", s["paper"]),
                ]
            ),
            (_badge(s["verdict"]), str(_VERDICT_ORDER[s["verdict"]])),
            s["claim"],
            s["scale"],
            (f"{s['n_finished']} of {s['n_cases']}", s["n_finished"]),
            (duration(s["seconds"]) if s["seconds"] else "–", s["seconds"]),
        ]
        for s in summaries
    ]
    columns = ["experiment", "verdict", "claim", "scale", "cases", "work"]
    counts = {
        verdict: sum(summary["verdict"] == verdict for summary in summaries)
        for verdict in _VERDICT_STYLES
    }
    page = document(
        "Experiments of bochner",
        tag("h1", "The papers' tables and figures, rebuilt"),
        tag("p", *[_badge(verdict, f"{count} × {verdict}") for verdict, count in counts.items()]),
        table(columns, rows, caption="Press a heading to sort", stacked=True),
    )
    write_whole(out / "index.html", page)
    return out / "index.html"


def _badge(verdict: str, text: str | None = None) -> Markup:
    return tag("span", text or verdict, class_=f"badge {_VERDICT_STYLES[verdict]}")


def _comparison(comparison: dict[str, Any] | None) -> Markup:
    if not comparison:
        return Markup("")
    rows = []
    for row in comparison["rows"]:
        both = [
            joined([cell_text(cell["ours"]), tag("small", published_text(cell))])
            for cell in row["cells"]
        ]
        rows.append([row["name"], *zip(both, (cell_number(cell["ours"]) for cell in row["cells"]))])
    caption = f"{comparison['quantity']}: ours, and below it the published number"
    source = tag(
        "p", f"Source: {comparison['source']}. {comparison.get('note', '')}", class_="soft"
    )
    grid = table([comparison["row"], *comparison["columns"]], rows, caption=caption)
    return joined([grid, source] if rows else [source])


def _averages(averages: dict[str, Any]) -> Markup:
    if not averages["rows"]:
        return Markup("")
    counts = [cell["n"] for row in averages["rows"] for cell in row if isinstance(cell, dict)]
    caption = "One run of each setting"
    if counts:
        several = (
            str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        )
        caption = f"Mean ± standard deviation over {several} repetitions"
    same = [
        f"{key} {cell_text(value)}" for key, value in averages["fixed"].items() if value is not None
    ]
    caption += f"; {', '.join(same)}" if same else ""
    return table(averages["columns"], averages["rows"], caption=caption)


def _all_results(results: list[dict[str, Any]]) -> Markup:
    columns, rows = _flat(results[:_MAX_RESULT_ROWS])
    if not rows:
        return Markup("")
    shown = [[f"{len(v)} values" if isinstance(v, list | dict) else v for v in row] for row in rows]
    caption = f"{len(rows)} of {len(results)} cases"
    return folded(caption, table(columns, shown, caption=caption))


def _flat(results: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    entries = [entry["result"] | entry["case"] for entry in results]
    columns = list(
        dict.fromkeys(
            key for entry in results for part in ("case", "result") for key in entry[part]
        )
    )
    return columns, [[entry.get(column) for column in columns] for entry in entries]


def _write_csv(results: list[dict[str, Any]], path: Path) -> None:
    columns, rows = _flat(results)
    with written_whole(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(
            [json.dumps(v) if isinstance(v, list | dict) else v for v in row] for row in rows
        )


def matplotlib_svg(figure: Any) -> str:
    """Return a matplotlib figure as an SVG element, without comments and metadata."""
    import matplotlib

    for axes in figure.axes:
        for collection in axes.collections:
            if _vector_points(collection) > _MAX_VECTOR_POINTS:
                collection.set_rasterized(True)
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "bochner"}):
        figure.savefig(buffer, format="svg", dpi=110, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    for pattern in (r"<!--.*?-->", r"<metadata>.*?</metadata>"):
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    return text


def _vector_points(collection: Any) -> int:
    """Estimate the points that SVG needs; markers of different sizes are each drawn in full."""
    vertices = sum(len(path.vertices) for path in collection.get_paths())
    n_markers = len(collection.get_offsets())
    varied = hasattr(collection, "get_sizes") and len(collection.get_sizes()) > 1
    return vertices * n_markers if varied else vertices + n_markers


def figure_alt(figure: Any) -> str:
    """Describe a matplotlib figure by its titles, axes and curves."""
    sentences = [figure.get_suptitle()] if figure.get_suptitle() else []
    for axes in figure.axes:
        words = []
        if axes.get_xlabel() or axes.get_ylabel():
            names = axes.get_ylabel() or "values", axes.get_xlabel() or "position"
            words.append(" against ".join(names))
        labels = axes.get_legend_handles_labels()[1]
        if labels:
            words.append("for " + ", ".join(dict.fromkeys(labels)))
        sentences.append(": ".join(filter(None, [axes.get_title(), " ".join(words)])))
    distinct = dict.fromkeys(sentence.replace("\n", " ") for sentence in sentences if sentence)
    return ". ".join(distinct) or "Figure"


def with_alt(svg: str, alt: str) -> Markup:
    """Return an SVG element with its description."""
    label = tag("title", alt)
    head, _, rest = svg.partition(">")
    return Markup(f'{head} role="img">{label}{rest}')
