"""Fitted models as ONNX graphs: a matrix product, a cosine, a sine and another matrix product is all it takes."""

import os
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ._files import written_whole
from .features import SpectralFeatures
from .measures import FourierMeasure

_OPSET = 17
_IR_VERSION = 9


def to_onnx(estimator: Any, path: str | os.PathLike[str] | None = None, *, dtype: Any = np.float32) -> Any:
    """An ONNX model of a fitted ``SpectralFeatures``, or of a pipeline around it, with input ``X`` and dynamic rows.

    Steps that can be exported: ``StandardScaler``, ``SpectralFeatures``, and a last linear model (anything with ``coef_`` and
    ``intercept_``).  The output is ``features``, ``prediction`` (regression) or ``scores`` (classification: the decision
    function, one column per class or one for two classes; ``classes_`` is stored in the metadata).

    With ``path`` the model is also written there: beside first, then renamed.
    """
    from onnx import TensorProto, checker, helper

    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    for step in steps:
        check_is_fitted(step)
    graph = _Graph(dtype)
    name = "X"
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if isinstance(step, StandardScaler):
            name = graph.scale(name, step)
        elif isinstance(step, SpectralFeatures):
            name = graph.features(name, step.measure_)
        elif last and hasattr(step, "coef_"):
            name = graph.linear(name, step)
        else:
            raise TypeError(
                f"{type(step).__name__} cannot be exported to ONNX here: got it as step {position + 1} of {len(steps)}; supported are "
                "StandardScaler, SpectralFeatures and a last linear model with coef_ and intercept_."
            )
    final = steps[-1]
    output = "features" if not hasattr(final, "coef_") else "scores" if is_classifier(final) else "prediction"
    graph.add("Identity", [name], output)
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    n_features = steps[0].n_features_in_
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "bochner",
            [helper.make_tensor_value_info("X", kind, ["rows", n_features])],
            [helper.make_tensor_value_info(output, kind, ["rows", None])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="bochner",
    )
    if output == "scores":
        helper.set_model_props(model, {"classes": "\n".join(map(str, final.classes_))})
    checker.check_model(model)
    if path is not None:
        with written_whole(path) as beside:
            beside.write_bytes(model.SerializeToString())
    return model


class _Graph:
    """Nodes and constants of one graph, with names that do not collide."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array):
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype=self.dtype), name))
        return name

    def add(self, operation, inputs, output=None, **attributes):
        from onnx import helper

        output = output or f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output

    def scale(self, name, scaler):
        if scaler.mean_ is not None and scaler.with_mean:
            name = self.add("Sub", [name, self.constant(scaler.mean_)])
        return self.add("Div", [name, self.constant(scaler.scale_)]) if scaler.scale_ is not None else name

    def features(self, name, measure):
        if not isinstance(measure, FourierMeasure):
            raise TypeError(f"Only Fourier measures can be exported to ONNX, got {type(measure).__name__}.")
        phases = self.add("MatMul", [name, self.constant(measure.frequencies.T)])
        root_weights = self.constant(np.sqrt(measure.weights))
        cosines = self.add("Mul", [self.add("Cos", [phases]), root_weights])
        sines = self.add("Mul", [self.add("Sin", [phases]), root_weights])
        return self.add("Concat", [cosines, sines], axis=1)

    def linear(self, name, model):
        scores = self.add("MatMul", [name, self.constant(np.atleast_2d(model.coef_).T)])
        return self.add("Add", [scores, self.constant(np.atleast_1d(model.intercept_))])
