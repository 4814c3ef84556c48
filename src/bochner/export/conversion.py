"""Conversion of fitted estimators to ONNX models."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._checks import check_positive
from .._terminal.files import written_whole
from ..tables.columns.reader import ColumnReader
from .graph import NotExportable
from .registration import FLOAT32_STEPS, MISSING, register_converters
from .trial import Trial, name_of, step_of

# Old enough for most runtimes, and the first that all converters of skl2onnx know.
_OPSETS = {"": 18, "ai.onnx.ml": 3}


def to_onnx(
    estimator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    X: Any = None,
    dtype: Any = np.float32,
    tolerance: float | None = None,
) -> Any:
    """Convert a fitted estimator, or a pipeline of ours and scikit-learn's, to an ONNX model.

    A classifier has the outputs ``label`` and ``probabilities``; without ``predict_proba``, the
    second one is ``scores``, its decision function. A regressor has ``prediction``, a transformer
    ``features``. Labels are texts or int64 of shape (rows,), numbers have the shape (rows,
    columns), and ``classes`` in the metadata names the columns of probabilities.

    Ridges and kernels sum in float64, because large coefficients cancel. Kernels need memory for
    rows x points numbers: run many rows in parts. Tabular models average over similar training rows
    if cells are missing in columns that were complete in training. Their graphs fill such cells
    with medians, and are compared with models that do so.

    skl2onnx converts the steps of scikit-learn. A step that cannot be converted raises an error.
    With ``X``, so does a graph whose outputs differ from those of the model. Without ``X``, a
    warning says that the graph was not tried.

    Parameters
    ----------
    estimator : a fitted estimator or pipeline
        The estimator to convert.
    path : str or path, default None
        File to which the model is written, completely or not at all.
    X : array or frame, default None
        Rows on which the graph is compared with the model; the first hundred are used. The graph
        has one input ``X`` of numbers, with dates in days. If a frame holds texts, or a
        ColumnTransformer is the first step, the graph has one input per column. Missing texts are
        "missing". In names, characters other than letters and digits become "_".
    dtype : numpy.float32 or numpy.float64, default numpy.float32
        Type of inputs and outputs.
    tolerance : float, default None
        Accepted difference from the model, relative to the largest number of an output. None is
        1e-5 for float32 and 1e-10 for float64. For kernel machines of many rows, whose float32
        coefficients have larger rounding errors, it is 1e-3.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bochner import FourierBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = FourierBoostingClassifier(n_rounds=10, random_state=0)
    >>> model = make_pipeline(StandardScaler(), booster).fit(X, y)
    >>> [output.name for output in to_onnx(model, X=X).graph.output]
    ['label', 'probabilities']
    """
    for library in ("onnx", "skl2onnx"):
        try:
            __import__(library)
        except ImportError:
            raise ImportError(MISSING.format(library)) from None
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    if tolerance is not None:
        check_positive(tolerance, "tolerance")
    check_is_fitted(estimator)
    register_converters()
    _check_steps(estimator)
    trial = Trial.of(estimator, X, dtype)
    model = _converted(estimator, trial, _output_names(estimator))
    trial.compare(model, tolerance)
    if path is not None:
        with written_whole(path) as beside:
            beside.write_bytes(model.SerializeToString())
    return model


def _check_steps(estimator):
    """Raise an error for types that skl2onnx has no converter for."""
    from skl2onnx._supported_operators import sklearn_operator_name_map

    if isinstance(estimator, Pipeline):
        parts = [step for _, step in estimator.steps]
    elif isinstance(estimator, FeatureUnion):
        parts = [part for _, part in estimator.transformer_list]
    elif isinstance(estimator, ColumnTransformer):
        parts = [part for _, part, _ in estimator.transformers_]
    else:
        parts = []
        if isinstance(estimator, ColumnReader):
            raise NotExportable(
                "ColumnReader reads numbers and dates from texts, which ONNX cannot. Export the "
                "tabular model: to_onnx(model[-1], X=model[:-1].transform(frame)). The inputs of "
                "its graph are the columns that ColumnReader makes."
            )
        if type(estimator) not in sklearn_operator_name_map:
            raise NotExportable(
                f"{type(estimator).__name__} cannot be exported to ONNX: neither bochner nor "
                "skl2onnx has a converter for it."
            )
    for part in parts:
        if part is not None and not isinstance(part, str):  # "passthrough", "drop"
            _check_steps(part)


def _output_names(estimator):
    if is_classifier(estimator):
        # For some parameters scikit-learn's classifiers have no method predict_proba.
        return ["label", "probabilities" if hasattr(estimator, "predict_proba") else "scores"]
    if is_regressor(estimator):
        return ["prediction"]
    if get_tags(estimator).transformer_tags is not None:
        return ["features"]
    raise NotExportable(
        f"{type(estimator).__name__} is neither a classifier nor a regressor nor a transformer, so "
        "its outputs have no names. Write skl2onnx.to_onnx(...) instead."
    )


def _converted(estimator, trial, names):
    import skl2onnx
    from onnx import checker, helper

    last = step_of(estimator, -1)
    # skl2onnx has no option "zipmap" for LinearSVC.
    options = {} if isinstance(last, LinearSVC) else {"zipmap": False}
    try:
        model = skl2onnx.convert_sklearn(
            estimator,
            name=f"bochner {type(estimator).__name__}",
            initial_types=trial.initial_types(),
            final_types=[(name, None) for name in names],
            options={id(last): options} if is_classifier(last) else None,
            target_opset=_OPSETS,
            custom_conversion_functions=FLOAT32_STEPS,
        )
    except NotExportable:
        raise
    except Exception as error:  # skl2onnx raises errors of many types
        reason = (str(error).splitlines() or [type(error).__name__])[0][:300]
        raise NotExportable(f"{name_of(estimator)} cannot be exported to ONNX: {reason}") from error
    if names[-1] == "scores" and len(estimator.classes_) == 2:
        _keep_one_column(model, 0 if isinstance(last, SVC | NuSVC) else -1)
    if names[0] == "label":
        helper.set_model_props(model, {"classes": "\n".join(map(str, estimator.classes_))})
    checker.check_model(model)
    return model


def _keep_one_column(model, column):
    """Keep the decision function s of the scores (−s, s), or (s, −s) for SVC."""
    from onnx import TensorProto, helper, numpy_helper

    for node in model.graph.node:
        node.output[:] = ["both_scores" if name == "scores" else name for name in node.output]
    kept = numpy_helper.from_array(np.array([column], dtype=np.int64), "kept_column")
    model.graph.initializer.append(kept)
    model.graph.node.append(
        helper.make_node("Gather", ["both_scores", "kept_column"], ["scores"], axis=1)
    )
    kind = model.graph.output[1].type.tensor_type.elem_type or TensorProto.FLOAT
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("scores", kind, [None, 1]))
