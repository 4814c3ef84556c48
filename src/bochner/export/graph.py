"""Formulas as nodes of an ONNX graph: arithmetic on tensors adds nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


class NotExportable(TypeError):
    """Error for estimators and functions without an ONNX graph."""


# The functions of NumPy that have a node.
_NODES = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.divide: "Div",
    np.power: "Pow",
    np.negative: "Neg",
    np.less: "Less",
    np.greater: "Greater",
    np.exp: "Exp",
    np.log: "Log",
    np.sqrt: "Sqrt",
    np.cos: "Cos",
    np.sin: "Sin",
    np.absolute: "Abs",
}


class Tensor(NDArrayOperatorsMixin):
    """The output of a node; arithmetic with tensors, arrays and numbers adds further nodes.

    The functions of NumPy that have a node (``np.exp``, ``np.cos``, …) accept tensors, too.
    """

    def __init__(self, graph: Graph, name: str):
        self.graph = graph
        self.name = name

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Tensor:
        if function not in _NODES or method != "__call__":
            raise _no_node(function)
        if function is np.power and not isinstance(inputs[1], Tensor) and inputs[1] == 2:
            return self.graph.node("Mul", self, self)
        return self.graph.node(_NODES[function], *inputs)

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise _no_node(function)

    def __matmul__(self, other: np.ndarray) -> Tensor:
        # One column times one row is a plain product.  As a MatMul, onnxruntime would join it with
        # a scaling of that column before it, and keep the scale in float32 only.  (So never scale
        # the result of a MatMul by a number either: scale the matrix.)
        return self.graph.node("Mul" if len(other) == 1 else "MatMul", self, other)

    def squared_distances(self, points: np.ndarray, rates: np.ndarray) -> Tensor:
        """Return Σ_j (r_j (x_j − z_j))² by differences: products would cancel near the points."""
        squares = [u * u for u in self.scaled_differences(points, rates)]
        return sum(squares[1:], squares[0])

    def scaled_differences(self, points: np.ndarray, rates: np.ndarray) -> list[Tensor]:
        """Return r_j (x_j − z_j) for each column j, (n_samples, n_points).

        One tensor a column, so that none is larger. Both sides are centered, so that an offset
        costs no digits.
        """
        center = points.mean(axis=0, dtype=np.float64)
        scaled, others = (self - center) * rates, (points - center) * rates
        return [scaled.columns([j]) - others[:, j][None] for j in range(points.shape[1])]

    def columns(self, indices: Any) -> Tensor:
        """Select columns, in the order of ``indices``."""
        return self.graph.node("Gather", self, np.asarray(indices, dtype=np.int64), axis=1)

    def flat(self) -> Tensor:
        """Return one column as a vector."""
        return self.graph.node("Reshape", self, np.array([-1], dtype=np.int64))

    def row_sums(self) -> Tensor:
        """Sum over the last axis, which is kept: (n, m) gives (n, 1)."""
        return self.graph.node("ReduceSum", self, np.array([-1], dtype=np.int64), keepdims=1)


def _no_node(function):
    return NotExportable(
        f"{function.__name__} has no node in ONNX: define the method `onnx` without it."
    )


class Graph:
    """Nodes and constants of one estimator in the container of skl2onnx, in one precision."""

    def __init__(self, scope: Any, operator: Any, container: Any, dtype: Any):
        self.scope = scope
        self.container = container
        self.inputs = list(operator.inputs)
        self.dtype = np.dtype(dtype)

    @cached_property
    def rows(self) -> Tensor:
        """The concatenated inputs, (n_samples, n_features)."""
        if not any(self.holds_texts(k) for k in range(len(self.inputs))):
            parts = [self._input(k) for k in range(len(self.inputs))]
            return parts[0] if len(parts) == 1 else self.concat(parts)
        names = [variable.raw_name for k, variable in enumerate(self.inputs) if self.holds_texts(k)]
        raise NotExportable(
            f"This estimator needs numbers, but the inputs {', '.join(names)} hold texts: encode "
            "them in a step before."
        )

    def numbers(self, columns: Any) -> Tensor:
        """Return some columns of the inputs; other columns may hold texts."""
        if len(self.inputs) == 1:
            return self.rows.columns(columns)
        return self.concat([self._input(int(j)) for j in columns])

    def holds_texts(self, k: int) -> bool:
        """Return True if input k is a tensor of strings."""
        from skl2onnx.common.data_types import StringTensorType

        return isinstance(self.inputs[k].type, StringTensorType)

    def _input(self, k):
        return self.cast(Tensor(self, self.inputs[k].full_name), self.dtype)

    def node(self, operation: str, *inputs: Any, domain: str = "", **attributes: Any) -> Any:
        """Add a node for an operation on tensors, arrays and numbers."""
        names = [
            value.name if isinstance(value, Tensor) else self.constant(value) for value in inputs
        ]
        output = self.scope.get_unique_variable_name(f"bochner_{operation.lower()}")
        name = self.scope.get_unique_operator_name(f"bochner_{operation}")
        self.container.add_node(
            operation, names, [output], op_domain=domain, name=name, **attributes
        )
        return Tensor(self, output)

    def constant(self, value: Any) -> str:
        """Add an array of numbers (floats in the precision of the graph) or texts, by name."""
        from onnx import TensorProto, numpy_helper

        array = np.asarray(value)
        if array.dtype.kind == "f" or (array.ndim == 0 and array.dtype.kind == "i"):
            array = array.astype(self.dtype)
        name = self.scope.get_unique_variable_name("bochner_constant")
        if array.dtype.kind in "OU":
            texts = [str(text).encode() for text in array.ravel()]
            self.container.add_initializer(name, TensorProto.STRING, list(array.shape), texts)
        else:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
            self.container.add_initializer(name, tensor.data_type, list(array.shape), tensor)
        return name

    def cast(self, value: Tensor, dtype: Any) -> Tensor:
        """Convert a tensor to another type of numbers."""
        from onnx import helper

        return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def set_output(self, value: Tensor, output: Any) -> None:
        """Assign a tensor to an output of skl2onnx, in the type of that output."""
        from skl2onnx.common.data_types import StringTensorType, guess_proto_type

        name = self.scope.get_unique_operator_name("bochner_output")
        if isinstance(output.type, StringTensorType):
            self.container.add_node("Identity", [value.name], [output.full_name], name=name)
        else:
            to = guess_proto_type(output.type)
            self.container.add_node("Cast", [value.name], [output.full_name], name=name, to=to)

    def concat(self, parts: Sequence[Tensor]) -> Tensor:
        """Concatenate the columns of several tensors."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)

    def clip(self, value: Any, lowest: Any, highest: Any) -> Any:
        """Return min(max(value, lowest), highest)."""
        return self.node("Min", self.node("Max", value, lowest), highest)

    def where(self, condition: Tensor, value: Any, otherwise: Any) -> Tensor:
        """Return ``value`` where the condition holds, else ``otherwise``."""
        return self.node("Where", condition, value, otherwise)
