"""Running ONNX graphs in tests of the export."""

import numpy as np
import pytest

TOLERANCES = {np.float32: 1e-5, np.float64: 1e-10}
both_dtypes = pytest.mark.parametrize("dtype", list(TOLERANCES), ids=lambda dtype: dtype.__name__)


def session(model):
    onnxruntime = pytest.importorskip("onnxruntime")
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def run(model, X, dtype):
    """Outputs by name, for an array or for inputs by name."""
    opened = session(model)
    inputs = X if isinstance(X, dict) else {"X": np.asarray(X, dtype=dtype)}
    return dict(zip([output.name for output in opened.get_outputs()], opened.run(None, inputs)))


def assert_close(found, expected, dtype):
    """Up to the precision of the graph, relative to the size of the output; in the type of the
    graph.
    """
    expected = np.asarray(expected, dtype=np.float64)
    assert found.dtype == dtype
    assert found.ndim == 2
    np.testing.assert_allclose(
        found.reshape(expected.shape),
        expected,
        rtol=0,
        atol=TOLERANCES[dtype] * np.abs(expected).max(),
    )


def assert_says_the_same(model, estimator, X, dtype):
    """The graph says what the estimator says, with labels of the type of its classes."""
    said = run(model, X, dtype)
    X = np.asarray(X, dtype=dtype).astype(np.float64)
    if "label" in said:
        np.testing.assert_array_equal(said["label"], estimator.predict(X))
        assert said["label"].dtype == (
            object if estimator.classes_.dtype.kind in "UO" else np.int64
        )
    for name, method in {
        "probabilities": "predict_proba",
        "scores": "decision_function",
        "prediction": "predict",
        "features": "transform",
    }.items():
        if name in said:
            assert_close(said[name], getattr(estimator, method)(X), dtype)
            return
    raise AssertionError(f"no output that is known: {list(said)}")


def graph_of(function, n_features, dtype):
    """``function(X)`` of a tensor as a model of its own: for formulas that are part of graphs."""
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from sklearn.base import BaseEstimator, TransformerMixin

    from bochner.export.graph import Graph

    class Formula(TransformerMixin, BaseEstimator):
        pass

    def shapes(operator):
        operator.outputs[0].type = type(operator.inputs[0].type)([None, None])

    def convert(scope, operator, container):
        graph = Graph(scope, operator, container, dtype)
        graph.set_output(function(graph.rows), operator.outputs[0])

    skl2onnx.update_registered_converter(Formula, "Formula", shapes, convert)
    kind = DoubleTensorType if dtype == np.float64 else FloatTensorType
    return skl2onnx.convert_sklearn(
        Formula(), initial_types=[("X", kind([None, n_features]))], target_opset=18
    )
