"""Charts as inline SVG, in the colors of the page."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .document import Markup, tag

# The margin on the left holds numbers such as 5.26e+04.
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 22, 14, 46
# Curves differ in color and in stroke, for prints in gray.
_COLORS = ("var(--mark)", "var(--bad)", "var(--good)", "var(--open)")
_STROKES = (None, "6 3", "2 3", "8 3 2 3")
# Lengths are divided by this at least.
_TINY = 1e-300

Points = Sequence[Sequence[float]]


class Axes:
    """A frame with two scales; parts are added and drawn together."""

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        width: int = 268,
        height: int = 230,
    ):
        self.x_range, self.y_range = _widened(*x_range), _widened(*y_range)
        self.width, self.height = width, height
        self.parts: list[Markup] = []

    def across(self, x: float) -> float:
        """Return the place of a number from left to right."""
        low, high = self.x_range
        return round(_LEFT + self.width * (x - low) / (high - low), 1)

    def up(self, y: float) -> float:
        """Return the place of a number from top to bottom."""
        low, high = self.y_range
        return round(_TOP + self.height - self.height * (y - low) / (high - low), 1)

    def curve(self, points: Points, k: int = 0) -> None:
        """Add a line through the points in the k-th style."""
        path = " ".join(f"{self.across(x)},{self.up(y)}" for x, y in points)
        self.parts.append(tag("polyline", points=path, **_style(k), fill="none"))

    def area(self, points: Points) -> None:
        """Add a filled polygon."""
        path = " ".join(f"{self.across(x)},{self.up(y)}" for x, y in points)
        self.parts.append(tag("polygon", points=path, fill="var(--mark)", fill_opacity=0.2))

    def line(
        self,
        start: Sequence[float],
        end: Sequence[float],
        color: str = "var(--soft)",
        dashed: bool = True,
    ) -> None:
        """Add a straight line between two places."""
        places = (self.across(start[0]), self.up(start[1]), self.across(end[0]), self.up(end[1]))
        stroke = "4 4" if dashed else None
        self.parts.append(svg_line(*places, stroke=color, stroke_dasharray=stroke))

    def dots(self, points: Points, color: str = "var(--mark)", radius: float = 2.5) -> None:
        """Add a dot at each point."""
        for x, y in points:
            place = {"cx": self.across(x), "cy": self.up(y)}
            self.parts.append(tag("circle", **place, r=radius, fill=color, fill_opacity=0.65))

    def drawn(
        self,
        title: str,
        x_label: str,
        y_label: str,
        alt: str,
        x_ends: tuple[str, str] | None = None,
    ) -> Markup:
        """Return the frame, the parts, the ends of both axes and their labels."""
        right, bottom = _LEFT + self.width, _TOP + self.height
        size = {"width": self.width, "height": self.height}
        frame = tag("rect", x=_LEFT, y=_TOP, **size, fill="none", stroke="var(--line)")
        ends = x_ends or (f"{self.x_range[0]:.4g}", f"{self.x_range[1]:.4g}")
        turned = f"translate(14 {_TOP + self.height / 2}) rotate(-90)"
        words = [
            label_text(_LEFT, 14, title, 44),
            label_text(_LEFT + self.width / 2, bottom + 34, x_label, 44, "middle"),
            tag("text", shortened(y_label, 36), transform=turned, text_anchor="middle"),
            svg_text(_LEFT, bottom + 16, ends[0]),
            svg_text(right, bottom + 16, ends[1], anchor="end"),
            svg_text(_LEFT - 4, bottom, f"{self.y_range[0]:.3g}", anchor="end"),
            svg_text(_LEFT - 4, _TOP + 10, f"{self.y_range[1]:.3g}", anchor="end"),
        ]
        return svg(right + _RIGHT, bottom + _BOTTOM, [frame, *self.parts, *words], alt)


def _style(k):
    return {"stroke": _COLORS[k % 4], "stroke_dasharray": _STROKES[k % 4], "stroke_width": 2}


def _widened(low, high):
    """Return ends that are finite and differ."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.0, 1.0
    margin = max(0.5, 1e-9 * abs(low))  # half a unit is lost in the rounding of huge numbers
    return (low, high) if high > low else (low - margin, high + margin)


def curves(
    lines: Sequence[Points],
    *,
    title: str,
    x_label: str,
    y_label: str,
    alt: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    guide: Points = (),
    band: Sequence[float] | None = None,
) -> Markup:
    """Draw lines in different styles, and a dashed line through the points of ``guide``.

    ``band`` are half-widths of a band around the first line.
    """
    ends = []
    if band is not None:
        ends = [[(x, y + side * half) for (x, y), half in zip(lines[0], band)] for side in (-1, 1)]
    xs = [x for line in (*lines, guide) for x, _ in line]
    ys = [y for line in (*lines, guide, *ends) for _, y in line]
    axes = Axes(x_range or (min(xs), max(xs)), y_range or (min(ys), max(ys)))
    if ends:
        axes.area([*ends[0], *reversed(ends[1])])
    for start, end in pairwise(guide):
        axes.line(start, end)
    for k, line in enumerate(lines):
        axes.curve(line, k)
    return axes.drawn(title, x_label, y_label, alt)


def calibration(bins: Sequence[Sequence[float]], *, title: str, alt: str) -> Markup:
    """Draw observed frequency against predicted probability, with two standard errors."""
    axes = Axes((0, 1), (0, 1))
    axes.line((0, 0), (1, 1))
    for predicted, share, error, _ in bins:
        low, high = max(share - 2 * error, 0.0), min(share + 2 * error, 1.0)
        axes.line((predicted, low), (predicted, high), color="var(--mark)", dashed=False)
    axes.dots([(predicted, share) for predicted, share, *_ in bins], radius=4)
    return axes.drawn(title, "predicted probability", "observed frequency", alt)


def scatter(points: Points, *, x_label: str, y_label: str, alt: str) -> Markup:
    """Draw points (x, y) with the diagonal."""
    low, high = min(map(min, points)), max(map(max, points))
    axes = Axes((low, high), (low, high), width=340, height=340)
    axes.line((low, low), (high, high))
    axes.dots(points)
    return axes.drawn("Predictions", x_label, y_label, alt)


def residuals(points: Points, *, x_label: str, alt: str) -> Markup:
    """Draw errors against predictions, from points of true and predicted values."""
    placed = [(predicted, true - predicted) for true, predicted in points]
    far = max([abs(error) for _, error in placed] + [_TINY])
    axes = Axes((min(x for x, _ in placed), max(x for x, _ in placed)), (-far, far))
    axes.line((axes.x_range[0], 0), (axes.x_range[1], 0))
    axes.dots(placed)
    return axes.drawn("Errors", x_label, "true minus predicted", alt)


def intervals(rows: Points, *, y_label: str, alt: str) -> Markup:
    """Draw rows (predicted, lower, upper, true); true values outside their interval are red."""
    low = min(min(row) for row in rows)
    high = max(max(row) for row in rows)
    axes = Axes((-0.5, len(rows) - 0.5), (low, high), width=620)
    for place, (predicted, lower, upper, true) in enumerate(rows):
        axes.line((place, lower), (place, upper), dashed=False)
        axes.dots([(place, predicted)], color="var(--soft)", radius=1.5)
        color = "var(--mark)" if lower <= true <= upper else "var(--bad)"
        axes.dots([(place, true)], color=color, radius=3)
    x_label = "held-out rows, in order of their prediction"
    return axes.drawn("Intervals", x_label, y_label, alt, x_ends=("", ""))


def bars(entries: Sequence[tuple[str, float, float, str]], *, alt: str) -> Markup:
    """Draw horizontal bars: (label, length, end of a whisker, text behind the bar)."""
    # A label is above its bar, so that the drawing is narrow enough for a phone.
    row, longest_bar = 42, 260
    longest = max(whisker for _, _, whisker, _ in entries)
    parts: list[Markup] = []
    for k, (label, value, whisker, text) in enumerate(entries):
        top, middle = row * k, row * k + 28
        width, end = max(longest_bar * value / longest, 1.0), longest_bar * whisker / longest
        size = {"width": round(width, 1), "height": 14}
        parts.append(label_text(0, top + 14, label))
        parts.append(tag("rect", x=0, y=middle - 7, **size, fill="var(--mark)"))
        parts.append(svg_line(width, middle, end, middle, stroke="currentColor"))
        parts.append(svg_line(end, middle - 5, end, middle + 5, stroke="currentColor"))
        parts.append(svg_text(max(width, end) + 8, middle + 4, text))
    return svg(longest_bar + 120, row * len(entries), parts, alt)


def levels(
    names: Sequence[str],
    heights: Sequence[float],
    *,
    title: str,
    alt: str,
    errors: Sequence[float] | None = None,
) -> Markup:
    """Draw bars to the left and right of zero, each below its name, with ± ``errors`` as text."""
    spreads = [""] * len(names) if errors is None else [f" ± {error:.2g}" for error in errors]
    row, width, longest = 34, 340, 80 if errors is None else 50
    far = max([abs(height) for height in heights] + [_TINY])
    parts = [label_text(0, 14, title, 44)]
    for k, (name, height, spread) in enumerate(zip(names, heights, spreads)):
        top, length = 26 + row * k, max(abs(height) / far * longest, 1.0)
        parts.append(label_text(0, top + 10, name, 40))
        start = 170 - (length if height < 0 else 0)
        size = {"x": round(start, 1), "y": top + 15, "width": round(length, 1), "height": 10}
        parts.append(tag("rect", **size, fill="var(--mark)"))
        end, anchor = (start - 6, "end") if height < 0 else (start + length + 6, "start")
        parts.append(svg_text(end, top + 24, f"{height:+.3g}{spread}", anchor=anchor))
    parts.append(svg_line(170, 38, 170, 26 + row * len(names), stroke="currentColor"))
    return svg(width, 30 + row * len(names), parts, alt)


def heat_map(
    cells: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    x_label: str,
    y_label: str,
    alt: str,
    numbers: bool,
    shade: Any = None,
) -> Markup:
    """Draw a grid, rows from the top: blue above zero, red below, with or without ``numbers``.

    ``shade`` holds the numbers to color by, None for the cells themselves.
    """
    shade = cells if shade is None else shade
    far = max([abs(cell) for row in shade for cell in row] + [_TINY])
    size = max(14, min(44, 360 // max(len(columns), len(rows), 1)))
    longest = 7 * max(len(name) for name in columns)  # approximate width of names
    narrowest = 34 if numbers and len(columns) <= 14 else 22
    width = max(size, narrowest, min(longest + 8, 90) if len(columns) <= 5 else 0)
    left, top, height = 96, 42, size * len(rows)
    parts = [label_text(0, 14, title, 60)]
    for i, row in enumerate(cells):
        middle = top + size * (i + 0.5) + 4
        parts.append(label_text(left - 6, middle, rows[i], 12, "end"))
        for j, cell in enumerate(row):
            place = {"x": left + width * j, "y": top + size * i, "width": width, "height": size}
            style = {
                "fill": "var(--mark)" if shade[i][j] >= 0 else "var(--bad)",
                "fill_opacity": round(0.75 * (abs(shade[i][j]) / far), 3),
                "stroke": "var(--line)",
            }
            words = tag("title", f"{rows[i]}, {columns[j]}: {cell:.4g}")
            parts.append(tag("rect", words, **place, **style))
            if numbers and cell:
                parts.append(svg_text(left + width * (j + 0.5), middle, f"{cell:g}", "middle"))
    step = 1 if numbers else math.ceil(longest / width)
    for j in range(0, len(columns), step):
        x, limit = left + width * (j + 0.5), max(2, width * step // 7)
        parts.append(label_text(x, top + height + 16, columns[j], limit, "middle"))
    bottom = top + height + 36
    parts.append(label_text(left + width * len(columns) / 2, bottom, x_label, 44, "middle"))
    parts.append(label_text(0, top - 10, y_label, 30))
    return svg(max(left + width * len(columns) + 30, 300), bottom + 12, parts, alt)


def legend(names: Sequence[str]) -> Markup:
    """Return the styles of several curves; nothing for a single one."""
    if len(names) < 2:
        return Markup("")
    entries = []
    for k, name in enumerate(names):
        line = tag("line", x1=0, y1=6, x2=28, y2=6, **_style(k))
        stroke = tag("svg", line, width=30, height=12, aria_hidden="true")
        entries.append(tag("span", stroke, " ", name, class_="key"))
    return tag("p", *entries, class_="soft")


def forest(
    entries: Sequence[tuple[str, float, float, str]],
    *,
    x_label: str,
    alt: str,
    far: Sequence[str] = (),
) -> Markup:
    """Draw differences from zero with two standard errors: (label, difference, error, text).

    Entries whose label is in ``far`` do not stretch the axis; beyond its end they are arrows.
    """
    row, left, width, right = 40, 8, 330, 150
    near = [entry for entry in entries if entry[0] not in far] or list(entries)
    low = min([0.0] + [value - 2 * error for _, value, error, _ in near])
    high = max([0.0] + [value + 2 * error for _, value, error, _ in near])
    low, high = _widened(low, high)

    def across(value: float) -> float:
        return round(left + width * (min(max(value, low), high) - low) / (high - low), 1)

    bottom = row * len(entries) + 16
    parts: list[Markup] = []
    for k, (label, value, error, text) in enumerate(entries):
        middle, zero, place = row * k + 28, across(0), across(value)
        color = "var(--good)" if value > 0 else "var(--bad)"
        color = "var(--soft)" if abs(value) <= 2 * error else color
        parts.append(label_text(0, row * k + 14, label))
        dashed = {"stroke": "var(--mark)", "stroke_dasharray": "4 4"}
        parts.append(svg_line(zero, middle - 10, zero, middle + 10, **dashed))
        if low <= value <= high:
            ends = across(value - 2 * error), across(value + 2 * error)
            parts.append(svg_line(ends[0], middle, ends[1], middle, stroke=color, stroke_width=2))
            parts.append(tag("circle", cx=place, cy=middle, r=5, fill=color))
        else:
            back = place - 10 * (1 if value > high else -1)
            corners = f"{place},{middle} {back},{middle - 5} {back},{middle + 5}"
            parts.append(tag("polygon", points=corners, fill=color))
        parts.append(svg_text(left + width + 12, middle + 4, text))
    parts.append(svg_text(left, bottom, f"{low:.3g}"))
    parts.append(svg_text(left + width, bottom, f"{high:.3g}", anchor="end"))
    parts.append(label_text(left + width / 2, bottom, x_label, 36, "middle"))
    return svg(left + width + right, bottom + 8, parts, alt)


# --- parts ----------------------------------------------------------------------------------------


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
