"""Small figures as inline SVG, and matplotlib's figures made fit for a page."""

import io
import re
from collections.abc import Sequence
from typing import Any

from .document import Markup, tag

# A label stands above its bar, so that the drawing is narrow enough for a phone.
_ROW, _BAR, _NUMBER = 42, 260, 120
# Point clouds and contours larger than this are embedded as images: a page of megabytes helps
# nobody.
_MAX_VECTOR_POINTS = 1500


def bars(
    entries: Sequence[tuple[str, float, float | None, str]],
    *,
    alt: str,
    highlight: int | None = None,
) -> Markup:
    """Horizontal bars: (label, length, end of a whisker or None, text behind the bar); all alike,
    or one highlighted.
    """
    longest = max([max(value, whisker or 0.0) for _, value, whisker, _ in entries] + [1e-12])
    parts: list[Markup] = []
    for row, (label, value, whisker, text) in enumerate(entries):
        top, middle = _ROW * row, _ROW * row + 28
        width = max(_BAR * max(value, 0.0) / longest, 1.0)
        end = width
        parts.append(svg_text(0, top + 14, shortened(label), full=label))
        color = "var(--mark)" if highlight in (None, row) else "var(--soft)"
        parts.append(tag("rect", x=0, y=middle - 7, width=round(width, 1), height=14, fill=color))
        if whisker is not None:
            end = _BAR * whisker / longest
            for x1, x2, y1, y2 in (
                (width, end, middle, middle),
                (end, end, middle - 5, middle + 5),
            ):
                place = {"x1": x1, "x2": x2, "y1": y1, "y2": y2}
                parts.append(
                    tag("line", stroke="currentColor", **{k: round(v, 1) for k, v in place.items()})
                )
        parts.append(svg_text(max(width, end) + 8, middle + 4, text))
    return svg(_BAR + _NUMBER, _ROW * len(entries), parts, alt)


def scatter(points: list[list[float]], *, x_label: str, y_label: str, alt: str) -> Markup:
    """Points (x, y) with the diagonal on which both agree."""
    size, margin = 340, 70  # the margin holds numbers such as 5.26e+04
    low = min(min(x, y) for x, y in points)
    high = max(max(x, y) for x, y in points)
    span = (high - low) or 1.0

    def across(value: float) -> float:
        return round(margin + size * (value - low) / span, 1)

    def up(value: float) -> float:
        return round(10 + size - size * (value - low) / span, 1)

    frame = tag("rect", x=margin, y=10, width=size, height=size, fill="none", stroke="var(--line)")
    diagonal = tag(
        "line",
        x1=across(low),
        y1=up(low),
        x2=across(high),
        y2=up(high),
        stroke="var(--soft)",
        stroke_dasharray="4 4",
    )
    dots = [
        tag("circle", cx=across(x), cy=up(y), r=2.5, fill="var(--mark)", fill_opacity=0.6)
        for x, y in points
    ]
    words = [
        svg_text(
            margin + size / 2, size + 44, shortened(x_label, 40), anchor="middle", full=x_label
        ),
        tag(
            "text",
            shortened(y_label, 40),
            transform=f"translate(14 {10 + size / 2}) rotate(-90)",
            text_anchor="middle",
        ),
        svg_text(margin, size + 26, f"{low:.4g}"),
        svg_text(margin + size, size + 26, f"{high:.4g}", anchor="end"),
        svg_text(margin - 4, 10 + size, f"{low:.3g}", anchor="end"),
        svg_text(margin - 4, 20, f"{high:.3g}", anchor="end"),
    ]
    return svg(size + margin + 20, size + 56, [frame, diagonal, *dots, *words], alt)


def matplotlib_svg(figure: Any) -> str:
    """A matplotlib figure as an SVG element, without prologue, comments and metadata; text as
    outlines.
    """
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
    """About how many points an SVG spends on a collection: markers of many sizes are each drawn in
    full.
    """
    vertices = sum(len(path.vertices) for path in collection.get_paths())
    n_markers = len(collection.get_offsets())
    varied = hasattr(collection, "get_sizes") and len(collection.get_sizes()) > 1
    return vertices * n_markers if varied else vertices + n_markers


def figure_alt(figure: Any) -> str:
    """Words for those who cannot see a matplotlib figure: titles, axes and curves."""
    sentences = [figure.get_suptitle()] if figure.get_suptitle() else []
    for axes in figure.axes:
        words = [axes.get_title()]
        if axes.get_xlabel() or axes.get_ylabel():
            words.append(
                f"{axes.get_ylabel() or 'values'} against {axes.get_xlabel() or 'position'}"
            )
        labels = axes.get_legend_handles_labels()[1]
        if labels:
            words.append("for " + ", ".join(dict.fromkeys(labels)))
        sentences.append(": ".join(filter(None, [words[0], " ".join(words[1:])])))
    return (
        ". ".join(dict.fromkeys(sentence.replace("\n", " ") for sentence in sentences if sentence))
        or "Figure"
    )


def with_alt(svg: str, alt: str) -> Markup:
    """An SVG element with its description."""
    label = tag("title", alt)
    head, _, rest = svg.partition(">")
    return Markup(f'{head} role="img">{label}{rest}')


def svg(width: float, height: float, parts: list[Markup], alt: str) -> Markup:
    """An image of this size, with words for those who cannot see it."""
    return tag(
        "svg", tag("title", alt), *parts, viewBox=f"0 0 {width} {height}", width=width, role="img"
    )


def svg_text(
    x: float, y: float, text: str, anchor: str = "start", full: str | None = None
) -> Markup:
    """Words at a place; ``full`` is told when they are pointed at."""
    more = [tag("title", full)] if full is not None and full != text else []
    return tag("text", text, *more, x=round(x, 1), y=round(y, 1), text_anchor=anchor)


def shortened(text: str, limit: int = 48) -> str:
    """At most so many characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
