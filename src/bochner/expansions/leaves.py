"""A tree that splits many rows into leaves, and functions with one sum of kernels for each leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..priors import SpectralPrior
from .kernels import KernelExpansion

# Rows of a node from which its split is chosen.
_SPLIT_ROWS = 20_000
# The smaller side of a split has at least this share of the rows, if some column allows it.
_SMALLEST_SIDE = 0.1
# Neither side of a split has fewer rows: a leaf needs rows to fit and rows to hold out.
_FEWEST_ROWS = 20
# Factor of the scales of codes, which split rows only if no other column varies.
_CODES_LAST = 1e-6
# Distance, in standard deviations, over which the fall of the kernel along a column is measured.
# Over a longer one, the kernels along all fast columns would be near zero.
_SHORT_DISTANCE = 0.1


@dataclass(frozen=True, eq=False)
class LeafTree:
    """Binary tree over prepared columns, whose leaves are numbered from left to right.

    Parameters
    ----------
    columns : array (n_nodes,)
        The column that splits a node, −1 for a leaf. Node 0 is the root.
    thresholds : array (n_nodes,), float32
        Rows go right if their column is larger.
    children : array (n_nodes, 2)
        The nodes on the left and on the right; the number of the leaf, twice, for a leaf.
    """

    columns: np.ndarray
    thresholds: np.ndarray
    children: np.ndarray

    @classmethod
    def grown(
        cls, Z: np.ndarray, scales: np.ndarray, most_rows: int
    ) -> tuple[LeafTree, list[np.ndarray]]:
        """Split rows Z until each leaf has at most ``most_rows``; return also the rows of leaves.

        A node is split at the median of the column that varies most, in units of ``scales``. A leaf
        has more rows only if no column with a scale can split off 20 of them.
        """
        nodes: list[tuple[int, float, int, int]] = []
        leaves: list[np.ndarray] = []
        # Nodes that are not split yet: number of the node, and its rows.
        left = [(0, np.arange(len(Z)))]
        nodes.append((-1, 0.0, 0, 0))
        while left:
            node, numbers = left.pop()
            split = None
            if len(numbers) > most_rows:
                split = _best_split(Z[numbers[:: -(-len(numbers) // _SPLIT_ROWS)]], scales)
            if split is None:
                nodes[node] = (-1, 0.0, len(leaves), len(leaves))
                leaves.append(numbers)
                continue
            column, threshold = split
            is_right = Z[numbers, column] > threshold
            children = len(nodes), len(nodes) + 1
            nodes[node] = (column, float(threshold), *children)
            nodes += 2 * [(-1, 0.0, 0, 0)]
            # The left node is on top, so that leaves are numbered from left to right.
            left += [(children[1], numbers[is_right]), (children[0], numbers[~is_right])]
        table = np.array(nodes)
        tree = cls(
            table[:, 0].astype(np.intp),
            np.array([threshold for _, threshold, _, _ in nodes], dtype=np.float32),
            table[:, 2:].astype(np.intp),
        )
        return tree, leaves

    @property
    def n_leaves(self) -> int:
        return int(np.sum(self.columns < 0))

    def leaves(self, Z: np.ndarray) -> np.ndarray:
        """Return the number of the leaf of each row."""
        nodes, rows = np.zeros(len(Z), dtype=np.intp), np.arange(len(Z))
        while len(rows):
            columns = self.columns[nodes[rows]]
            rows, columns = rows[columns >= 0], columns[columns >= 0]
            values = Z[rows, columns].astype(np.float32)
            is_right = values > self.thresholds[nodes[rows]]
            nodes[rows] = self.children[nodes[rows], is_right.astype(np.intp)]
        return self.children[nodes, 0]

    def conditions(self, leaf: int) -> list[tuple[int, np.float32, bool]]:
        """Return column, threshold and side (True: right) of each split on the path to a leaf."""
        is_leaf = (self.columns < 0) & (self.children[:, 0] == leaf)
        node, path = int(np.flatnonzero(is_leaf)[0]), []
        while node:
            parent = np.flatnonzero((self.columns >= 0) & np.any(self.children == node, axis=1))[0]
            is_right = bool(self.children[parent, 1] == node)
            path.append((int(self.columns[parent]), self.thresholds[parent], is_right))
            node = int(parent)
        return path

    def onnx(self, Z: Any) -> list:
        """Return one tensor for each leaf: True for the rows of the tensor Z inside."""
        graph, leaves = Z.graph, []
        inside: dict[int, Any] = {0: graph.node("Not", self._onnx_is_right(Z, 0, np.inf))}
        for node in range(len(self.columns)):
            mask = inside.pop(node)
            if self.columns[node] < 0:
                leaves.append((self.children[node, 0], mask))
                continue
            is_right = self._onnx_is_right(Z, self.columns[node], self.thresholds[node])
            left, right = self.children[node]
            inside[left] = graph.node("And", mask, graph.node("Not", is_right))
            inside[right] = graph.node("And", mask, is_right)
        return [mask for _, mask in sorted(leaves, key=lambda leaf: leaf[0])]

    def _onnx_is_right(self, Z, column, threshold):
        # Rows are rounded to float32, as in ``leaves``.
        graph, values = Z.graph, Z.columns([column]).flat()
        rounded = graph.cast(graph.cast(values, np.float32), graph.dtype)
        return graph.node("Greater", rounded, float(threshold))


def _best_split(sample: np.ndarray, scales: np.ndarray) -> tuple[int, np.float32] | None:
    """Return a column and a threshold, or None if no column has enough rows on both sides."""
    spreads = scales * sample.std(axis=0, dtype=np.float64)
    best, largest_side = None, (_FEWEST_ROWS - 0.5) / len(sample)
    for column in np.argsort(-spreads, kind="stable"):
        if not spreads[column] > 0:
            break
        threshold, share = _middle(np.sort(sample[:, column]))
        if share > largest_side:
            best, largest_side = (int(column), threshold), share
            if share >= _SMALLEST_SIDE:
                break
    return best


def _middle(values: np.ndarray) -> tuple[np.float32, float]:
    """Return the threshold that splits sorted values most evenly, and the smaller share."""
    n_rows = len(values)
    # The middle value may occur many times: cut before or after all of them.
    cuts = [int(np.searchsorted(values, values[n_rows // 2], side)) for side in ("left", "right")]
    cut = min(cuts, key=lambda cut: abs(cut - n_rows / 2))
    if cut in (0, n_rows):
        return np.float32(values[0]), 0.0
    below, above = np.float32(values[cut - 1]), np.float32(values[cut])
    middle = np.float32((np.float64(below) + np.float64(above)) / 2)
    return (middle if middle < above else below), min(cut, n_rows - cut) / n_rows


def column_scales(prior: SpectralPrior, n_columns: int) -> np.ndarray:
    """Return how fast the kernel falls along each column, (n_columns,).

    The scale of column j is √(1 − k(0, h e_j)) / h for a short distance h. For ``Anova`` it is
    about proportional to rate · √weight. Codes have no order: their scales are tiny.
    """
    steps = _SHORT_DISTANCE * np.eye(n_columns)
    falls = 1 - prior.kernel(steps, np.zeros((1, n_columns)))[:, 0] / prior._mass()
    scales = np.sqrt(np.maximum(falls, 0.0)) / _SHORT_DISTANCE
    scales[list(prior.categories)] *= _CODES_LAST
    return scales


@dataclass(frozen=True, eq=False)
class LeafExpansion:
    """f(z) = f_l(z), l the leaf of z: one kernel expansion for each leaf of a tree."""

    tree: LeafTree
    expansions: tuple[KernelExpansion, ...]

    def __len__(self) -> int:
        return sum(map(len, self.expansions))

    @property
    def prior(self) -> SpectralPrior:
        """The prior of the first leaf; those of other leaves have the same type."""
        return self.expansions[0].prior

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores, (n_samples, n_outputs)."""
        return self._by_leaf(Z, lambda f, rows: f.evaluate(rows))

    def jacobian(self, Z: np.ndarray, side: int = 0) -> np.ndarray:
        """Return ∂f/∂z, (n_samples, n_outputs, n_columns); see ``KernelExpansion.jacobian``."""
        return self._by_leaf(Z, lambda f, rows: f.jacobian(rows, side))

    def onnx(self, Z: Any) -> Any:
        """Return f as a tensor of the ONNX graph of the tensor Z, each row in its leaf."""
        graph = Z.graph
        values: Any = None
        for f, is_inside in zip(self.expansions, self.tree.onnx(Z), strict=True):
            numbers = graph.node("Transpose", graph.node("NonZero", is_inside))
            own = f.onnx(graph.node("Compress", Z, is_inside, axis=0))
            if values is None:
                values = Z @ np.zeros((f.points.shape[1], f.n_outputs))
            values = graph.node("ScatterND", values, numbers, own)
        return values

    def _by_leaf(self, Z, function: Callable):
        leaves = self.tree.leaves(Z)
        order = np.argsort(leaves, kind="stable")
        stops = np.cumsum(np.bincount(leaves, minlength=len(self.expansions)))
        values: Any = None
        for f, rows in zip(self.expansions, np.split(order, stops[:-1]), strict=True):
            if not len(rows):
                continue
            own = function(f, Z[rows])
            values = np.empty((len(Z), *own.shape[1:]), own.dtype) if values is None else values
            values[rows] = own
        return function(self.expansions[0], Z) if values is None else values
