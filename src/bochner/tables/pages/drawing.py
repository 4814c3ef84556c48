"""Small figures as inline SVG, and matplotlib's figures adapted to a page."""

import io
import re
from collections.abc import Sequence
from typing import Any

from .document import Markup, tag

# The label is above its bar, so that the drawing is narrow enough for a phone.
_ROW, _BAR, _NUMBER = 42, 260, 120
# Larger point clouds and contours are embedded as images, to keep pages small.
_MAX_VECTOR_POINTS = 1500


def bars(
    entries: Sequence[tuple[str, float, float | None, str]],
    *,
    alt: str,
    highlight: int | None = None,
) -> Markup:
    """Draw horizontal bars: (label, length, end of a whisker or None, text behind the bar)."""
    longest = max([max(value, whisker or 0.0) for _, value, whisker, _ in entries] + [1e-12])
    parts: list[Markup] = []
    for row, (label, value, whisker, text) in enumerate(entries):
        top, middle = _ROW * row, _ROW * row + 28
        width = end = max(_BAR * max(value, 0.0) / longest, 1.0)
        parts.append(label_text(0, top + 14, label))
        color = "var(--mark)" if highlight in (None, row) else "var(--soft)"
        parts.append(tag("rect", x=0, y=middle - 7, width=round(width, 1), height=14, fill=color))
        if whisker is not None:
            end = _BAR * whisker / longest
            parts.append(svg_line(width, middle, end, middle, stroke="currentColor"))
            parts.append(svg_line(end, middle - 5, end, middle + 5, stroke="currentColor"))
        parts.append(svg_text(max(width, end) + 8, middle + 4, text))
    return svg(_BAR + _NUMBER, _ROW * len(entries), parts, alt)


def scatter(points: list[list[float]], *, x_label: str, y_label: str, alt: str) -> Markup:
    """Draw points (x, y) with the diagonal."""
    size, margin = 340, 70  # the margin holds numbers such as 5.26e+04
    low = min(min(x, y) for x, y in points)
    high = max(max(x, y) for x, y in points)
    span = (high - low) or 1.0

    def across(value: float) -> float:
        return round(margin + size * (value - low) / span, 1)

    def up(value: float) -> float:
        return round(10 + size - size * (value - low) / span, 1)

    frame = tag("rect", x=margin, y=10, width=size, height=size, fill="none", stroke="var(--line)")
    ends = across(low), up(low), across(high), up(high)
    diagonal = svg_line(*ends, stroke="var(--soft)", stroke_dasharray="4 4")
    dots = [
        tag("circle", cx=across(x), cy=up(y), r=2.5, fill="var(--mark)", fill_opacity=0.6)
        for x, y in points
    ]
    turned = f"translate(14 {10 + size / 2}) rotate(-90)"
    words = [
        label_text(margin + size / 2, size + 44, x_label, 40, "middle"),
        tag("text", shortened(y_label, 40), transform=turned, text_anchor="middle"),
        svg_text(margin, size + 26, f"{low:.4g}"),
        svg_text(margin + size, size + 26, f"{high:.4g}", anchor="end"),
        svg_text(margin - 4, 10 + size, f"{low:.3g}", anchor="end"),
        svg_text(margin - 4, 20, f"{high:.3g}", anchor="end"),
    ]
    return svg(size + margin + 20, size + 56, [frame, diagonal, *dots, *words], alt)


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


def svg(width: float, height: float, parts: list[Markup], alt: str) -> Markup:
    """Return an image of this size with its description."""
    return tag(
        "svg", tag("title", alt), *parts, viewBox=f"0 0 {width} {height}", width=width, role="img"
    )


def svg_line(x1: float, y1: float, x2: float, y2: float, **style: Any) -> Markup:
    """Return a straight line."""
    places = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return tag("line", **{name: round(place, 1) for name, place in places.items()}, **style)


def svg_text(x: float, y: float, text: str, anchor: str = "start") -> Markup:
    """Return a text at a place."""
    return tag("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor)


def label_text(x: float, y: float, text: str, limit: int = 48, anchor: str = "start") -> Markup:
    """Return a text of at most ``limit`` characters, with the full text as a tooltip."""
    shown = shortened(text, limit)
    full = [tag("title", text)] if shown != text else []
    return tag("text", shown, *full, x=round(x, 1), y=round(y, 1), text_anchor=anchor)


def shortened(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of a text."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
