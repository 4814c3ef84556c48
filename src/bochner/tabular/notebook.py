"""HTML of a fitted model for notebooks: members, path and importances of columns."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .._terminal.text import number_text
from ..priors import SpectralPrior
from .effects import column_importances
from .members import Members

# Number of columns that are named for a prior, and of bars of importances.
_NAMED, _BARS = 3, 8
# Kernel evaluations times columns that take a second or two.
_AFFORDABLE_WORK = 2e9
# With fewer rows, importances are not shown.
_FEWEST_ROWS = 16

# Colors are those of the page, so that it is readable on light and dark backgrounds.
_STYLE = """<style>
.bochner-model {font-family: sans-serif; font-size: 0.85em; line-height: 1.4; margin: 0.6em 0;
  max-width: 60em; overflow-x: auto}
.bochner-model table {border-collapse: collapse; margin: 0.3em 0 0.8em}
.bochner-model th, .bochner-model td {padding: 0.15em 0.9em 0.15em 0; text-align: left;
  vertical-align: top; background: none; color: inherit}
.bochner-model th {font-weight: 600; border-bottom: 1px solid currentColor}
.bochner-model .number {text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap}
.bochner-model .bar {background: currentColor; opacity: 0.45; height: 0.75em; margin-top: 0.25em;
  min-width: 1px; border-radius: 2px}
.bochner-model .track {width: 12em}
</style>"""


_HEADS = {
    "member": "",
    "weight": "number",
    "held-out error": "number",
    "seconds": "number",
    "learned prior, lengths in standard deviations": "",
}


def model_html(
    members: Members, path: str, importances: np.ndarray | None, names: list[str], prepared: Any
) -> str:
    """Return a table of members, the path, and bars of importances; all text is escaped."""
    rows = "".join(
        f"<tr><td>{escape(m.name)}</td>"
        + "".join(
            f'<td class="number">{_number(value)}</td>'
            for value in (m.weight, m.held_out_error, m.seconds)
        )
        + f"<td>{escape(prior_in_words(m.prior, prepared))}</td></tr>"
        for m in members
    )
    heads = "".join(f'<th class="{kind}">{head}</th>' for head, kind in _HEADS.items())
    return (
        f'{_STYLE}<div class="bochner-model"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        f"<p>{escape(path)}</p>{_bars(importances, names)}</div>"
    )


def _bars(importances, names):
    if importances is None:
        return f"<p>{len(names)} columns: see <code>feature_importances_</code>.</p>"
    order = np.argsort(-importances, kind="stable")
    order = order[importances[order] > 0][:_BARS]
    if not len(order):
        return ""
    largest = importances[order[0]]
    rows = "".join(
        f'<tr><td>{escape(names[j])}</td><td class="number">{importances[j]:.1%}</td>'
        '<td class="track"><div class="bar" '
        f'style="width:{100 * importances[j] / largest:.0f}%"></div></td></tr>'
        for j in order
    )
    of_all = f", {len(order)} of {len(names)}" if len(order) < len(names) else ""
    head = f'<tr><th colspan="3">importance of columns{of_all}</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def prior_in_words(prior: SpectralPrior | None, prepared: Any) -> str:
    """Describe a learned prior by its most important prepared columns; None is for trees.

    Important columns have the largest weights or, in families without weights, the shortest
    lengths.
    """
    if prior is None:
        return "histogram trees, no prior"
    kernel: Any = prior.compiled(len(prepared))
    if kernel is None:  # a sum or a product, or a prior of the user
        return f"{type(prior).__name__} of {len(prepared)} columns"
    weights, rates = kernel.weights, kernel.rates
    order = np.argsort(-(rates if weights is None else weights), kind="stable")[:_NAMED]
    lengths = [f"length {_number(1 / rates[j])}" for j in order]
    if weights is not None:
        shares = weights / (1 + weights)
        lengths = [f"share {shares[j]:.0%}, {length}" for j, length in zip(order, lengths)]
    columns = ", ".join(f"{prepared[j]} ({length})" for j, length in zip(order, lengths))
    more = f" and {len(prepared) - len(order)} more" if len(prepared) > len(order) else ""
    return ("mostly " if weights is not None else "shortest along ") + columns + more


def quick_importances(blend: Any, inputs: Any, rows: np.ndarray) -> np.ndarray | None:
    """Return importances over as many rows as take a second or two; None if 16 take longer."""
    n_points = sum(len(member) for member in blend.members)
    cost = n_points * len(inputs.sources_) * (len(np.unique(inputs.sources_)) + 1)
    affordable = min(len(rows), int(_AFFORDABLE_WORK / max(cost, 1)))
    if affordable < min(_FEWEST_ROWS, len(rows)):
        return None
    return column_importances(blend, inputs, rows[:: -(-len(rows) // affordable)])


def _number(value):
    return number_text(float(value), digits=3)
