"""Fitted models as ONNX graphs: a matrix product, a cosine, a sine and another matrix product is all it takes."""

import os
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ._files import written_whole
from .expansions import Expansion, ExpansionModel
from .features import SpectralFeatures
from .measures import FourierMeasure

_OPSET = 17
_IR_VERSION = 9


def to_onnx(estimator: Any, path: str | os.PathLike[str] | None = None, *, dtype: Any = np.float32) -> Any:
    """An ONNX model of a fitted estimator of ours, or of a pipeline with one, with input ``X`` and dynamic rows.

    What can be exported: every predictor whose scores are an ``Expansion`` (boosting, ridges, their classifiers); ``SpectralFeatures``;
    ``StandardScaler`` before them; and a last linear model of scikit-learn.  The output is ``features``, ``prediction`` (regression)
    or ``scores`` (classification: the decision function, one column per class or one for two classes; ``classes_`` is stored in
    the metadata).  Anything else is refused.

    With ``path`` the model is also written there, whole or not at all.
    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ImportError("Export to ONNX needs onnx, which is not installed: pip install 'bochner[onnx]'.") from None

    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    for step in steps:
        check_is_fitted(step)
    graph = _Graph(dtype)
    name = "X"
    for position, step in enumerate(steps):
        name = _exported(graph, name, step, position + 1, len(steps))
    final = steps[-1]
    output = "scores" if is_classifier(final) else "features" if hasattr(final, "transform") else "prediction"
    graph.add("Identity", [name], output)
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "bochner",
            [helper.make_tensor_value_info("X", kind, ["rows", steps[0].n_features_in_])],
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


def _exported(graph, name, step, position, n_steps):
    """The node that holds what this step makes of the node ``name``; told by its type, never by what attributes it happens to have."""
    if isinstance(step, StandardScaler):
        return graph.scale(name, step)
    if isinstance(step, SpectralFeatures) and isinstance(step.measure_, FourierMeasure):
        return graph.features(name, step.measure_)
    if position == n_steps:
        if isinstance(step, ExpansionModel):
            return graph.add(step.score_link, [graph.expansion(name, step.score_expansion())])
        if isinstance(step, LinearModel | LinearClassifierMixin):
            return graph.linear(name, np.atleast_2d(step.coef_).T, np.atleast_1d(step.intercept_))
    raise TypeError(
        f"{type(step).__name__} cannot be exported to ONNX here: got it as step {position} of {n_steps}; supported are StandardScaler, "
        "SpectralFeatures on frequencies, and at the end a model that is a sum of waves or a linear model of scikit-learn."
    )


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

    def waves(self, name, frequencies):
        """cos(ω_j·x), then sin(ω_j·x)."""
        angles = self.add("MatMul", [name, self.constant(frequencies.T)])
        return self.add("Concat", [self.add("Cos", [angles]), self.add("Sin", [angles])], axis=1)

    def features(self, name, measure):
        return self.add(
            "Mul", [self.waves(name, measure.frequencies), self.constant(np.sqrt(np.tile(measure.weights, 2)))]
        )

    def expansion(self, name, f: Expansion):
        waves = self.waves(name, f.frequencies)
        scores = self.linear(waves, np.concatenate([f.cosine, f.sine]), f.intercept)
        if f.slopes is None:
            return scores
        return self.add("Add", [scores, self.add("MatMul", [name, self.constant(f.slopes)])])

    def linear(self, name, coefficients, intercept):
        return self.add("Add", [self.add("MatMul", [name, self.constant(coefficients)]), self.constant(intercept)])
