"""HTML documents that need nothing but themselves; every text is escaped unless it is ``Markup``."""

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
    """HTML that is already safe; made by ``tag`` alone."""

    __slots__ = ()


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; children that are not ``Markup`` are escaped, attributes always (``class_``
    stands for ``class``).

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
    return Markup(
        "".join(
            child if isinstance(child, Markup) else html.escape(str(child)) for child in children
        )
    )


def table(
    columns: list[Any], rows: list[list[Any]], *, caption: str, stacked: bool = False
) -> Markup:
    """A table whose columns sort when their heading is pressed.

    A cell is text, a number, a mean with its spread, or a tuple of what is shown and the number to
    sort by. On a narrow screen the table scrolls sideways, or, when ``stacked``, the cells of a row
    stand below each other.
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
    grid = tag(
        "table",
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_=kind,
        aria_label=caption,
    )
    # A caption element would be as narrow as the table, and scroll away with it.
    return tag(
        "div", tag("p", caption, class_="soft"), tag("div", grid, class_="wide", tabindex="0")
    )


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
