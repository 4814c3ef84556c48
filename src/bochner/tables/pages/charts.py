"""Charts on two axes as inline SVG: curves, points, intervals, bars of levels, heat maps; their
colors follow the page.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .document import Markup, tag
from .drawing import shortened, svg, svg_text

# The margin on the left holds numbers such as 5.26e+04.
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 22, 14, 46
# Several curves differ in color and in their strokes: prints are gray.
_COLORS = ("var(--mark)", "var(--bad)", "var(--good)", "var(--open)")
_STROKES = (None, "6 3", "2 3", "8 3 2 3")

Points = Sequence[Sequence[float]]


class Axes:
    """A frame in which numbers have places; parts are added and drawn together."""

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
        """Where a number stands from left to right."""
        low, high = self.x_range
        return round(_LEFT + self.width * (x - low) / (high - low), 1)

    def up(self, y: float) -> float:
        """Where a number stands from the bottom up."""
        low, high = self.y_range
        return round(_TOP + self.height - self.height * (y - low) / (high - low), 1)

    def curve(self, points: Points, k: int = 0) -> None:
        """A line through the points, in the k-th color."""
        path = " ".join(f"{self.across(x)},{self.up(y)}" for x, y in points)
        style = {
            "stroke": _COLORS[k % 4],
            "stroke_dasharray": _STROKES[k % 4],
            "stroke_width": 2,
            "fill": "none",
        }
        self.parts.append(tag("polyline", points=path, **style))

    def line(
        self,
        start: Sequence[float],
        end: Sequence[float],
        color: str = "var(--soft)",
        dashed: bool = True,
    ) -> None:
        """A straight line between two places."""
        places = {
            "x1": self.across(start[0]),
            "y1": self.up(start[1]),
            "x2": self.across(end[0]),
            "y2": self.up(end[1]),
        }
        self.parts.append(
            tag("line", **places, stroke=color, stroke_dasharray="4 4" if dashed else None)
        )

    def dots(self, points: Points, color: str = "var(--mark)", radius: float = 2.5) -> None:
        """A dot at each point."""
        for x, y in points:
            self.parts.append(
                tag(
                    "circle",
                    cx=self.across(x),
                    cy=self.up(y),
                    r=radius,
                    fill=color,
                    fill_opacity=0.65,
                )
            )

    def drawn(
        self,
        title: str,
        x_label: str,
        y_label: str,
        alt: str,
        x_ends: tuple[str, str] | None = None,
    ) -> Markup:
        """The frame, the parts, the ends of both axes and what they are."""
        left, right, bottom = _LEFT, _LEFT + self.width, _TOP + self.height
        frame = tag(
            "rect",
            x=left,
            y=_TOP,
            width=self.width,
            height=self.height,
            fill="none",
            stroke="var(--line)",
        )
        ends = x_ends or (f"{self.x_range[0]:.4g}", f"{self.x_range[1]:.4g}")
        turned = f"translate(14 {_TOP + self.height / 2}) rotate(-90)"
        words = [
            svg_text(left, 14, shortened(title, 44), full=title),
            svg_text(
                left + self.width / 2,
                bottom + 34,
                shortened(x_label, 44),
                anchor="middle",
                full=x_label,
            ),
            tag("text", shortened(y_label, 36), transform=turned, text_anchor="middle"),
            svg_text(left, bottom + 16, ends[0]),
            svg_text(right, bottom + 16, ends[1], anchor="end"),
            svg_text(left - 4, bottom, f"{self.y_range[0]:.3g}", anchor="end"),
            svg_text(left - 4, _TOP + 10, f"{self.y_range[1]:.3g}", anchor="end"),
        ]
        return svg(right + _RIGHT, bottom + _BOTTOM, [frame, *self.parts, *words], alt)


def _widened(low, high):
    """Ends that differ."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.0, 1.0
    return (low, high) if high > low else (low - 0.5, high + 0.5)


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
) -> Markup:
    """Lines through points, each in a color and stroke of its own, and a dashed line through the
    points of ``guide``.
    """
    xs = [x for line in (*lines, guide) for x, _ in line]
    ys = [y for line in (*lines, guide) for _, y in line]
    axes = Axes(x_range or (min(xs), max(xs)), y_range or (min(ys), max(ys)))
    for start, end in pairwise(guide):
        axes.line(start, end)
    for k, line in enumerate(lines):
        axes.curve(line, k)
    return axes.drawn(title, x_label, y_label, alt)


def calibration(bins: Sequence[Sequence[float]], *, title: str, alt: str) -> Markup:
    """What was said against what happened, with two standard errors up and down; on the diagonal
    both agree.
    """
    axes = Axes((0, 1), (0, 1))
    axes.line((0, 0), (1, 1))
    for said, share, error, _ in bins:
        low, high = max(share - 2 * error, 0.0), min(share + 2 * error, 1.0)
        axes.line((said, low), (said, high), color="var(--mark)", dashed=False)
    axes.dots([(said, share) for said, share, *_ in bins], radius=4)
    return axes.drawn(title, "probability that was given", "share that happened", alt)


def residuals(points: Points, *, x_label: str, alt: str) -> Markup:
    """Errors against predictions, from points of true and predicted values."""
    placed = [(predicted, true - predicted) for true, predicted in points]
    far = max([abs(error) for _, error in placed] + [1e-300])
    axes = Axes((min(x for x, _ in placed), max(x for x, _ in placed)), (-far, far))
    axes.line((axes.x_range[0], 0), (axes.x_range[1], 0))
    axes.dots(placed)
    return axes.drawn("What is left", x_label, "true minus predicted", alt)


def intervals(rows: Points, *, y_label: str, alt: str) -> Markup:
    """Rows (predicted, lower, upper, true) side by side: a bar for each interval, a dot for the
    truth, in red where it is outside.
    """
    low = min(min(row) for row in rows)
    high = max(max(row) for row in rows)
    axes = Axes((-0.5, len(rows) - 0.5), (low, high), width=620)
    for place, (predicted, lower, upper, true) in enumerate(rows):
        axes.line((place, lower), (place, upper), color="var(--soft)", dashed=False)
        axes.dots([(place, predicted)], color="var(--soft)", radius=1.5)
        axes.dots(
            [(place, true)],
            color="var(--mark)" if lower <= true <= upper else "var(--bad)",
            radius=3,
        )
    return axes.drawn(
        "Intervals", "held-out rows, in order of their prediction", y_label, alt, x_ends=("", "")
    )


def levels(names: Sequence[str], heights: Sequence[float], *, title: str, alt: str) -> Markup:
    """Bars to the left and right of zero, one for each name, which stands above it."""
    row, width = 34, 340
    far = max([abs(height) for height in heights] + [1e-300])
    parts = [svg_text(0, 14, shortened(title, 44), full=title)]
    for k, (name, height) in enumerate(zip(names, heights)):
        top, length = 26 + row * k, max(abs(height) / far * 80, 1.0)
        parts.append(svg_text(0, top + 10, shortened(name, 40), full=name))
        start = 170 - (length if height < 0 else 0)
        parts.append(
            tag(
                "rect",
                x=round(start, 1),
                y=top + 15,
                width=round(length, 1),
                height=10,
                fill="var(--mark)",
            )
        )
        end = start - 6 if height < 0 else start + length + 6
        parts.append(
            svg_text(end, top + 24, f"{height:+.3g}", anchor="end" if height < 0 else "start")
        )
    parts.append(
        tag("line", x1=170, x2=170, y1=38, y2=26 + row * len(names), stroke="currentColor")
    )
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
    """A grid, rows from the top: blue above zero, red below, the stronger the further; with the
    ``numbers`` themselves or without.

    ``shade`` are numbers to color by, where these are others than the cells.
    """
    shown = cells if shade is None else shade
    far = max([abs(cell) for row in shown for cell in row] + [1e-300])
    size = max(14, min(44, 360 // max(len(columns), len(rows), 1)))
    longest = 7 * max(len(name) for name in columns)  # about so wide are names
    width = max(
        size,
        34 if numbers and len(columns) <= 14 else 22,
        min(longest + 8, 90) if len(columns) <= 5 else 0,
    )
    left, top = 96, 42
    parts = [svg_text(0, 14, shortened(title, 60), full=title)]
    for i, row in enumerate(cells):
        if size >= 14:
            parts.append(
                svg_text(
                    left - 6,
                    top + size * (i + 0.5) + 4,
                    shortened(rows[i], 12),
                    anchor="end",
                    full=rows[i],
                )
            )
        for j, cell in enumerate(row):
            strength = abs(shown[i][j]) / far
            color = "var(--mark)" if shown[i][j] >= 0 else "var(--bad)"
            place = {"x": left + width * j, "y": top + size * i, "width": width, "height": size}
            words = tag("title", f"{rows[i]}, {columns[j]}: {cell:.4g}")
            parts.append(
                tag(
                    "rect",
                    words,
                    **place,
                    fill=color,
                    fill_opacity=round(0.75 * strength, 3),
                    stroke="var(--line)",
                )
            )
            if numbers and cell:
                parts.append(
                    svg_text(
                        left + width * (j + 0.5),
                        top + size * (i + 0.5) + 4,
                        f"{cell:g}",
                        anchor="middle",
                    )
                )
    step = 1 if numbers else math.ceil(longest / width)
    for j in range(0, len(columns), step):
        name = shortened(columns[j], max(2, width * step // 7))
        parts.append(
            svg_text(
                left + width * (j + 0.5),
                top + size * len(rows) + 16,
                name,
                anchor="middle",
                full=columns[j],
            )
        )
    bottom = top + size * len(rows) + 36
    parts.append(
        svg_text(
            left + width * len(columns) / 2,
            bottom,
            shortened(x_label, 44),
            anchor="middle",
            full=x_label,
        )
    )
    parts.append(svg_text(0, top - 10, shortened(y_label, 30), full=y_label))
    return svg(max(left + width * len(columns) + 30, 300), bottom + 12, parts, alt)


def legend(names: Sequence[str]) -> Markup:
    """Which color and stroke is whose; nothing for a single one."""
    if len(names) < 2:
        return Markup("")
    entries = []
    for k, name in enumerate(names):
        style = {"stroke": _COLORS[k % 4], "stroke_dasharray": _STROKES[k % 4], "stroke_width": 2}
        stroke = tag(
            "svg",
            tag("line", x1=0, y1=6, x2=28, y2=6, **style),
            width=30,
            height=12,
            aria_hidden="true",
        )
        entries.append(tag("span", stroke, " ", name, class_="key"))
    return tag("p", *entries, class_="soft")


def forest(
    entries: Sequence[tuple[str, float, float, str]],
    *,
    x_label: str,
    alt: str,
    far: Sequence[str] = (),
) -> Markup:
    """Differences to zero: a dot with two standard errors to both sides for each (label,
    difference, standard error, text).

    The labels in ``far`` do not stretch the axis: where they lie beyond its end, an arrow points
    there.
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
        middle = row * k + 28
        color = (
            "var(--soft)"
            if abs(value) <= 2 * error
            else "var(--good)"
            if value > 0
            else "var(--bad)"
        )
        parts.append(svg_text(0, row * k + 14, shortened(label), full=label))
        zero = {"x1": across(0), "x2": across(0), "y1": middle - 10, "y2": middle + 10}
        parts.append(tag("line", **zero, stroke="var(--mark)", stroke_dasharray="4 4"))
        if low <= value <= high:
            ends = {
                "x1": across(value - 2 * error),
                "x2": across(value + 2 * error),
                "y1": middle,
                "y2": middle,
            }
            parts.append(tag("line", **ends, stroke=color, stroke_width=2))
            parts.append(tag("circle", cx=across(value), cy=middle, r=5, fill=color))
        else:
            tip, side = across(value), 1 if value > high else -1
            corners = (
                f"{tip},{middle} {tip - 10 * side},{middle - 5} {tip - 10 * side},{middle + 5}"
            )
            parts.append(tag("polygon", points=corners, fill=color))
        parts.append(svg_text(left + width + 12, middle + 4, text))
    parts += [
        svg_text(left, bottom, f"{low:.3g}"),
        svg_text(left + width, bottom, f"{high:.3g}", anchor="end"),
    ]
    parts.append(
        svg_text(left + width / 2, bottom, shortened(x_label, 36), anchor="middle", full=x_label)
    )
    return svg(left + width + right, bottom + 8, parts, alt)
