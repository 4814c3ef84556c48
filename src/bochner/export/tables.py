"""Columns of tables, and the tabular models, as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.inputs import TableInputs
from ..tabular.blending import Blend, Mixture, ProbabilityLink
from ..tabular.scales import Spread, TargetScale
from ..tabular.trees import TreeMember
from ..tabular.waves import WaveMember
from .graph import Graph, NotExportable, Tensor

# Beyond this, z / √(1 + z²) is ±1 to the last digit; squares are still finite in float32.
_FAR = 1e8


def smoothly_scaled(values: Tensor, center: np.ndarray, scale: np.ndarray, clip: float) -> Tensor:
    """Return z / √(1 + (z / clip)²) with z = (x − center) / scale."""
    z = values.graph.clip((values - center) / (scale * clip), -_FAR, _FAR)
    return clip * z / np.sqrt(1.0 + z * z)


def prepared(inputs: TableInputs, graph: Graph) -> Tensor:
    """Return ``TableInputs.transform``; missing numbers are NaN, missing texts are "missing"."""
    if len(inputs.ordered_):
        names = ", ".join(inputs.names_[j] for j in inputs.ordered_)
        raise NotExportable(
            f"TableInputs reads the texts of {names} as numbers, which ONNX cannot. Give these "
            "columns as numbers."
        )
    parts = []
    if len(inputs.numbers_):
        parts.append(_numbers(inputs, graph))
    if len(inputs.indicators_):
        parts.append(
            graph.where(_is_finite(graph.numbers(inputs.indicators_)), 0.0, float(inputs.gap))
        )
    for encoding in inputs._encodings():
        parts.append(_level_columns(inputs, graph, *encoding))
    return graph.concat(parts)


def _is_finite(values):
    graph = values.graph
    return graph.node(
        "Not", graph.node("Or", graph.node("IsNaN", values), graph.node("IsInf", values))
    )


def _numbers(inputs, graph):
    n_numbers = len(inputs.numbers_)
    values = graph.numbers(inputs.numbers_)
    if any(inputs.origins_):
        values = values - np.array(inputs.origins_, dtype=np.float64)
    values = graph.where(_is_finite(values), values, inputs.medians_[:n_numbers])
    scaled = smoothly_scaled(
        values, inputs.center_[:n_numbers], inputs.scale_[:n_numbers], inputs.clip
    )
    if not inputs.ranks > 0:
        return scaled
    columns = []
    for k in range(n_numbers):
        column = scaled.columns([k])
        if inputs._ranked(k):
            rank = np.sqrt(12) * (_share_below(values.columns([k]), *inputs.knots_[k]) - 0.5)
            column = column + float(inputs.ranks) * (rank - column)
        columns.append(column)
    return graph.concat(columns)


def _share_below(column, places, shares):
    """Return ``np.interp``: the sum over intervals of the share of each below the value."""
    left, right = places[:-1], places[1:]
    below = (column.graph.clip(column, left, right) - left) / (right - left)
    return below @ np.diff(shares)[:, None] + shares[0]


def _level_columns(inputs, graph, j, levels, others, coded):
    j = int(j)
    if len(graph.inputs) == 1 or not graph.holds_texts(j):
        raise NotExportable(
            f"TableInputs reads column {inputs.names_[j]!r} as a category, which needs an input of "
            "texts: give X as a frame in which that column is text, or leave the column out."
        )
    codes = graph.node(
        "LabelEncoder",
        Tensor(graph, graph.inputs[j].full_name),
        domain="ai.onnx.ml",
        keys_strings=[str(level) for level in levels],
        values_int64s=list(range(len(levels))),
        default_int64=len(levels) if coded else -1,
    )
    if coded:
        return graph.cast(codes, graph.dtype)
    columns = np.arange(-1 if others else 0, len(levels), dtype=np.int64)
    columns = np.roll(columns, -1) if others else columns  # the column of all others is the last
    return graph.where(graph.node("Equal", codes, columns[None]), float(inputs.gap), 0.0)


def blended(blend: Blend, Z: Tensor) -> Tensor:
    """Return Σ_m weights[m] members[m](z)."""
    parts = [weight * _member(member, Z) for weight, member in zip(blend.weights, blend.members)]
    return sum(parts[1:], parts[0])


def _member(member: Any, Z: Tensor) -> Tensor:
    if isinstance(member, TreeMember):
        raise NotExportable(
            "Trees among the members cannot be exported to ONNX. Fit with trees=False."
        )
    if isinstance(member, WaveMember):
        return member.loss.onnx(member.expansion.onnx(Z), member.expansion.n_outputs)
    return member.onnx(Z)


def mixed(blend: Mixture, Z: Tensor) -> Tensor:
    """Return Σ_m weights[m] links[m](members[m](z))."""
    parts = []
    for weight, member, link in zip(blend.weights, blend.members, blend.links):
        scores = _member(member, Z)
        if len(link.shifts) == 2:
            scores = Z.graph.concat([1.0 - scores, scores])
        parts.append(weight * linked(scores, link))
    return sum(parts[1:], parts[0])


def linked(scores: Tensor, probability_link: ProbabilityLink) -> Tensor:
    """Return softmax(slope · log max(score, floor) + shifts)."""
    logs = np.log(scores.graph.node("Max", scores, float(probability_link.floor)))
    return softmax(probability_link.slope * logs + probability_link.shifts)


def softmax(scores: Tensor) -> Tensor:
    """Return the softmax of each row."""
    return scores.graph.node("Softmax", scores, axis=1)


def means(center: Tensor, scale: TargetScale, spread: Spread, Z: Tensor) -> Tensor:
    """Return predictions on the user's scale; on a logarithmic scale, means over residuals."""
    if scale.kind == "identity":
        return scale.center + scale.unit * center
    graph, quantiles = center.graph, spread.quantiles().T  # of the one output
    sizes = quantiles
    if spread.log_size is not None:
        sizes = np.exp(spread.log_size.onnx(Z)) * quantiles
    within = graph.clip(center + sizes, scale.lowest - 0.5, scale.highest + 0.5)
    bent = scale.center + scale.unit * within
    if scale.kind == "log":
        around = np.exp(graph.node("Min", bent, 700.0)) - scale.shift
    else:
        furthest = 700.0 - max(0.0, np.log(scale.width))
        bent = graph.clip(bent, -furthest, furthest)
        around = scale.shift + scale.width / 2 * (np.exp(bent) - np.exp(-bent))
    return around.row_sums() / float(quantiles.shape[1])
