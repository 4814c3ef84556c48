"""Formulas as nodes of an ONNX graph: a tensor knows +, −, ·, / and @, and a graph writes each
down.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np


class NotExportable(TypeError):
    """What has no graph, by name."""


class Tensor:
    """The result of a node, by its name; arithmetic with tensors, arrays and numbers adds further
    nodes.
    """

    __array_ufunc__ = None  # so that ``array - tensor`` is ours and not NumPy's

    def __init__(self, graph: Graph, name: str):
        self.graph = graph
        self.name = name

    def __add__(self, other: Any) -> Tensor:
        return self.graph.node("Add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return self.graph.node("Add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return self.graph.node("Mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return self.graph.node("Mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return self.graph.node("Div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self.graph.node("Div", other, self)

    def __matmul__(self, other: np.ndarray) -> Tensor:
        # One column times one row is a plain product.  As a MatMul, onnxruntime would join it with
        # a scaling of that column before it, and keep the scale in float32 only.  (So never scale
        # the result of a MatMul by a number either: scale the matrix.)
        return self.graph.node("Mul" if len(other) == 1 else "MatMul", self, other)

    def __neg__(self) -> Tensor:
        return self.graph.node("Neg", self)

    def __lt__(self, other: Any) -> Tensor:
        return self.graph.node("Less", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return self.graph.node("Greater", self, other)

    def columns(self, indices: Any) -> Tensor:
        """Some columns, in the order of ``indices``."""
        return self.graph.node("Gather", self, np.asarray(indices, dtype=np.int64), axis=1)

    def flat(self) -> Tensor:
        """One column as a vector."""
        return self.graph.node("Reshape", self, np.array([-1], dtype=np.int64))

    def row_sums(self) -> Tensor:
        """Σ over the last axis, which is kept for two axes: (n, m) gives (n, 1), (n, l, m) gives
        (n, l).
        """
        return self.graph.node("ReduceSum", self, np.array([-1], dtype=np.int64), keepdims=1)


class Graph:
    """Nodes and constants of one estimator, written into the container of skl2onnx; floats are of
    one precision.
    """

    def __init__(self, scope: Any, operator: Any, container: Any, dtype: Any):
        self.scope = scope
        self.container = container
        self.inputs = list(operator.inputs)
        self.dtype = np.dtype(dtype)

    # --- what goes in -----------------------------------------------------------------------------

    @cached_property
    def rows(self) -> Tensor:
        """All inputs side by side, (n_samples, n_features)."""
        if not any(self.holds_texts(k) for k in range(len(self.inputs))):
            parts = [self._input(k) for k in range(len(self.inputs))]
            return parts[0] if len(parts) == 1 else self.beside(parts)
        names = [variable.raw_name for k, variable in enumerate(self.inputs) if self.holds_texts(k)]
        raise NotExportable(
            f"The rows of this estimator are numbers, but the inputs {', '.join(names)} hold "
            "texts: encode them in a step before."
        )

    def numbers(self, columns: Any) -> Tensor:
        """Some columns of the inputs, where others may hold texts."""
        if len(self.inputs) == 1:
            return self.rows.columns(columns)
        return self.beside([self._input(int(j)) for j in columns])

    def holds_texts(self, k: int) -> bool:
        """Whether the input at place k is a tensor of strings."""
        from skl2onnx.common.data_types import StringTensorType

        return isinstance(self.inputs[k].type, StringTensorType)

    def _input(self, k):
        return self.cast(Tensor(self, self.inputs[k].full_name), self.dtype)

    # --- nodes ------------------------------------------------------------------------------------

    def node(self, operation: str, *inputs: Any, domain: str = "", **attributes: Any) -> Tensor:
        """A node of an operation on tensors, arrays and numbers."""
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
        """The name of an array of numbers (floats in the precision of the graph) or of texts."""
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
        """In another type of numbers."""
        from onnx import helper

        return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def give(self, value: Tensor, output: Any) -> None:
        """The value of one of the outputs that skl2onnx expects, in its type."""
        from skl2onnx.common.data_types import StringTensorType, guess_proto_type

        name = self.scope.get_unique_operator_name("bochner_output")
        if isinstance(output.type, StringTensorType):
            self.container.add_node("Identity", [value.name], [output.full_name], name=name)
        else:
            to = guess_proto_type(output.type)
            self.container.add_node("Cast", [value.name], [output.full_name], name=name, to=to)

    # --- short words ------------------------------------------------------------------------------

    def beside(self, parts: Sequence[Tensor]) -> Tensor:
        """Columns of several tensors side by side."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)

    def between(self, value: Any, lowest: Any, highest: Any) -> Tensor:
        """min(max(value, lowest), highest)."""
        return self.node("Min", self.node("Max", value, lowest), highest)

    def where(self, condition: Tensor, value: Any, otherwise: Any) -> Tensor:
        """One value where a condition holds, another elsewhere."""
        return self.node("Where", condition, value, otherwise)

    def exp(self, value: Tensor) -> Tensor:
        return self.node("Exp", value)

    def sqrt(self, value: Tensor) -> Tensor:
        return self.node("Sqrt", value)

    def absolute(self, value: Tensor) -> Tensor:
        return self.node("Abs", value)
