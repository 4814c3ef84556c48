"""Self-contained HTML documents; every text is escaped unless it is ``Markup``."""

import base64
import hashlib
import html
from importlib.resources import files
from typing import Any

from ..._terminal.text import cell_number, cell_text, is_number

_STYLE, _SCRIPT = (
    (files(__package__) / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
)


class Markup(str):
    """HTML that is already safe; made by ``tag`` only."""

    __slots__ = ()


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element; attributes are escaped, and so are children other than ``Markup``.

    ``class_`` stands for ``class``.

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
    """Concatenate children, and escape those that are not ``Markup``."""
    return Markup(
        "".join(one if isinstance(one, Markup) else html.escape(str(one)) for one in children)
    )


def table(
    columns: list[Any], rows: list[list[Any]], *, caption: str, stacked: bool = False
) -> Markup:
    """Return a table that is sorted by a click on a heading.

    A cell is text, a number, a mean with its spread, or a tuple of its text and the number to sort
    by. On a narrow screen the table scrolls sideways, or, if ``stacked``, the cells of a row are
    below each other.
    """
    cells = [
        [cell if isinstance(cell, tuple) else (_shown(cell), cell_number(cell)) for cell in row]
        for row in rows
    ]
    kinds = [
        "number" if any(is_number(row[k][1]) for row in cells) else None
        for k in range(len(columns))
    ]
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
    parts = tag("thead", tag("tr", *head)), tag("tbody", *body)
    grid = tag("table", *parts, class_=kind, aria_label=caption)
    # A caption element would be as narrow as the table, and scroll with it.
    scrolled = tag("div", grid, class_="wide", tabindex="0")
    return tag("div", tag("p", caption, class_="soft"), scrolled)


def _shown(cell: Any) -> str:
    return cell if isinstance(cell, Markup) else cell_text(cell)


def section(title: str, *children: Any) -> Markup:
    """Return a part of a page with a heading; nothing if it has no content."""
    kept = [child for child in children if child != ""]
    return tag("section", tag("h2", title), *kept) if kept else Markup("")


def bullets(items: list[Any]) -> Markup:
    """Return a list, or nothing."""
    return tag("ul", *[tag("li", item) for item in items]) if items else Markup("")


def folded(title: str, content: Markup) -> Markup:
    """Return content that opens with a click on its title."""
    return tag("details", tag("summary", title), content) if content else content


def name_list(values: dict[str, Any]) -> Markup:
    """Return a list of names and values."""
    return tag("dl", *[joined([tag("dt", key), tag("dd", value)]) for key, value in values.items()])


def document(title: str, *children: Any) -> str:
    """Return a whole page, whose policy allows only its own script and no requests."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<main>{joined(children)}</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )
