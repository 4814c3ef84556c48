"""HTML documents that need nothing but themselves; every text is escaped unless it is ``Markup``."""

import base64
import hashlib
import html
from typing import Any

from .._text import cell_number, cell_text, is_number


class Markup(str):
    """HTML that is already safe; made by ``tag`` alone."""

    __slots__ = ()


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; children that are not ``Markup`` are escaped, attributes always (``class_`` stands for ``class``).

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Any) -> Markup:
    """Children one after the other, escaped where needed."""
    return Markup("".join(child if isinstance(child, Markup) else html.escape(str(child)) for child in children))


def table(columns: list[Any], rows: list[list[Any]], *, caption: str, stacked: bool = False) -> Markup:
    """A table whose columns sort when their heading is pressed.

    A cell is text, a number, a mean with its spread, or a tuple of what is shown and the number to sort by.  On a narrow
    screen the table scrolls sideways, or, when ``stacked``, the cells of a row stand below each other.
    """
    cells = [[cell if isinstance(cell, tuple) else (_shown(cell), cell_number(cell)) for cell in row] for row in rows]
    kinds = ["number" if any(is_number(row[k][1]) for row in cells) else None for k in range(len(columns))]
    head = [
        tag("th", tag("button", column, type="button"), scope="col", aria_sort="none", class_=kind)
        for column, kind in zip(columns, kinds)
    ]
    names = [("th", "row"), *[("td", None)] * len(columns)]
    body = [
        tag("tr", *[
            tag(name, shown, scope=scope, data_value=value, class_=kind)
            for (shown, value), kind, (name, scope) in zip(row, kinds, names)
        ])
        for row in cells
    ]  # fmt: skip
    kind = "sortable stacked" if stacked else "sortable"
    grid = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_=kind, aria_label=caption)
    # A caption element would be as narrow as the table, and scroll away with it.
    return tag("div", tag("p", caption, class_="soft"), tag("div", grid, class_="wide", tabindex="0"))


def _shown(cell: Any) -> str:
    return cell if isinstance(cell, Markup) else cell_text(cell)


def section(title: str, *children: Any) -> Markup:
    """A headed part of a page; nothing when it has no content."""
    kept = [child for child in children if child != ""]
    return tag("section", tag("h2", title), *kept) if kept else Markup("")


def bullets(items: list[Any]) -> Markup:
    """A list, or nothing."""
    return tag("ul", *[tag("li", item) for item in items]) if items else Markup("")


def folded(title: str, content: Markup) -> Markup:
    """Content that opens when its title is pressed."""
    return tag("details", tag("summary", title), content) if content else content


def facts(pairs: dict[str, Any]) -> Markup:
    """Names and values."""
    return tag("dl", *[joined([tag("dt", key), tag("dd", value)]) for key, value in pairs.items()])


def document(title: str, *children: Any) -> str:
    """A whole page.  Its policy lets no script run but the one below, and nothing be fetched."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<main>{joined(children)}</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #ffffff; --card: #f4f6f9; --line: #d5dbe3;
  --good: #17693a; --bad: #a32020; --open: #7a5b00; --mark: #2457a6; --shade: #0003; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5; --paper: #12161c; --card: #1c222b;
  --line: #343d4a; --good: #6fcf97; --bad: #ff8a80; --open: #f0c85a; --mark: #8ab4f8; --shade: #fff4; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 1.8rem 0 .5rem; }
a { color: var(--mark); }
p, li, dd { overflow-wrap: anywhere; }
.soft, figcaption { color: var(--soft); font-size: .9rem; }
.verdict { border-left: .4rem solid var(--open); background: var(--card); padding: .7rem 1rem; margin: 1rem 0;
  overflow-wrap: anywhere; }
.verdict b, .badge { font-weight: 700; color: var(--open); }
.verdict ul { margin: .2rem 0; padding-left: 1.2rem; }
.verdict.holds { border-color: var(--good); } .verdict.holds b, .badge.holds { color: var(--good); }
.verdict.fails { border-color: var(--bad); } .verdict.fails b, .badge.fails { color: var(--bad); }
.badge { display: inline-block; border: 1px solid; border-radius: 1rem; padding: 0 .6rem; margin-right: .4rem;
  font-size: .85rem; white-space: nowrap; }
.beside { display: flex; flex-wrap: wrap; gap: 0 3rem; align-items: flex-start; } .beside > * { max-width: 100%; }
/* The shades at the edges tell that a wide table goes on; the covers scroll with it and hide them at its ends. */
.wide { overflow-x: auto; max-width: 100%; background:
  linear-gradient(to right, var(--paper) 1rem, transparent) left / 2rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 1rem, transparent) right / 2rem 100% no-repeat local,
  linear-gradient(to right, var(--shade), transparent) left / .8rem 100% no-repeat scroll,
  linear-gradient(to left, var(--shade), transparent) right / .8rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
p.soft { margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; vertical-align: top; max-width: 28rem;
  overflow-wrap: break-word; }
tbody th { font-weight: 600; } tbody .number { text-align: right; white-space: nowrap; }
thead th { border-bottom-width: 2px; vertical-align: bottom; } thead .number { text-align: right; }
thead button { all: unset; cursor: pointer; font-weight: 600; }
thead button:focus-visible { outline: 2px solid var(--mark); }
th[aria-sort=ascending] button::after { content: " \\25B2"; } th[aria-sort=descending] button::after { content: " \\25BC"; }
small { display: block; color: var(--soft); font-size: .8rem; font-weight: 400; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; display: block; }
figure.light > div { overflow-x: auto; background: #ffffff; color: #000000; border-radius: .4rem; }
dl { display: grid; grid-template-columns: fit-content(40%) 1fr; gap: .15rem 1rem; margin: 0; } dt { color: var(--soft); } dd { margin: 0; }
pre { overflow-x: auto; background: var(--card); padding: .7rem; font-size: .85rem; } code { font-size: .9em; }
summary { cursor: pointer; color: var(--mark); }
svg text { fill: currentColor; font: 12px system-ui, sans-serif; }
@media (max-width: 40rem) {
  figure.light svg { max-width: none; width: 44rem; }
  th, td { padding: .3rem .5rem; }
  .stacked tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  .stacked th, .stacked td { display: block; border: 0; padding: .1rem 0; max-width: none; }
  .stacked thead th { display: inline-block; margin-right: 1rem; }
  .stacked td:nth-last-child(-n+3) { display: inline-block; color: var(--soft); margin-right: 1rem; }
}
"""

_SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(other => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const body = table.tBodies[0];
    [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)], [p, q] = [Number(x), Number(y)];
      const numbers = x !== "" && y !== "" && !Number.isNaN(p) && !Number.isNaN(q);
      return (up ? 1 : -1) * (numbers ? p - q : x.localeCompare(y, "en"));
    }).forEach(row => body.append(row));
  }));
}
"""
