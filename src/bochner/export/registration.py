"""Registration with skl2onnx: our estimators, and steps that it converts in float32 only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

import bochner

from ..expansions.kernels import KernelExpansion
from ..expansions.leaves import LeafExpansion
from ..models.kernel_machine import KernelMachine
from ..models.logistic import SpectralLogistic
from ..models.ridge import OperatorKernelRidge, OperatorRidgeClassifier
from ..models.ridge.model import RidgeModel
from ..tabular.base import SpectralModel
from .estimators import class_labels, has_converter, onnx_outputs
from .graph import Graph, NotExportable

MISSING = "Export to ONNX needs {}, which is not installed: pip install 'bochner[onnx]'."
_CLASSIFIER_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
}


def register_converters() -> None:
    """Register every transformer and predictor of this library with skl2onnx.

    ``skl2onnx.to_onnx(pipeline, X)`` then converts them. ``bochner.export.to_onnx`` does not need
    this call. A second call changes nothing.

    Examples
    --------
    >>> register_converters()
    >>> import numpy as np
    >>> import skl2onnx
    >>> from bochner import SpectralFeatures
    >>> features = SpectralFeatures(n_components=3, random_state=0).fit(np.eye(4))
    >>> len(skl2onnx.to_onnx(features, np.eye(4)).graph.output)
    1
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError(MISSING.format("skl2onnx")) from None

    for estimator_type in exported_types():
        update_registered_converter(
            estimator_type,
            f"Bochner{estimator_type.__name__}",
            _set_output_types,
            _convert,
            options=_CLASSIFIER_OPTIONS if issubclass(estimator_type, ClassifierMixin) else None,
        )


def exported_types() -> list[type]:
    """Return the public classes that can be exported."""
    # Subpackages that are imported on first use may be missing.
    public = [vars(bochner).get(name) for name in bochner.__all__]
    return [one for one in public if isinstance(one, type) and has_converter(one)]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    estimator = operator.raw_operator
    graph = Graph(scope, operator, container, working_dtype(estimator, _input_dtype(operator)))
    for value, output in zip(onnx_outputs(estimator, graph), operator.outputs):
        graph.set_output(value, output)


def working_dtype(estimator: Any, dtype: Any) -> np.dtype:
    """Return the precision inside a graph whose inputs and outputs have precision ``dtype``.

    Coefficients that solve a linear system may be large and cancel: such sums are float64, unless
    the coefficients themselves are float32.
    """
    if isinstance(
        estimator, RidgeModel | OperatorRidgeClassifier | OperatorKernelRidge | SpectralLogistic
    ):
        return np.dtype(np.float64)
    if any(f.coefficients.dtype == np.float64 for f in kernel_expansions(estimator)):
        return np.dtype(np.float64)
    return np.dtype(dtype)


def kernel_expansions(estimator: Any) -> list[KernelExpansion]:
    """Return the kernel expansions of a fitted estimator."""
    if isinstance(estimator, KernelMachine):
        return [estimator.expansion_]
    if isinstance(estimator, SpectralModel):
        members = estimator.blend_.members
        in_leaves = [f for one in members if isinstance(one, LeafExpansion) for f in one.expansions]
        return [one for one in members if isinstance(one, KernelExpansion)] + in_leaves
    return []


def _input_dtype(operator):
    from skl2onnx.common.data_types import DoubleTensorType

    double = any(isinstance(variable.type, DoubleTensorType) for variable in operator.inputs)
    return np.float64 if double else np.float32


def _set_output_types(operator: Any) -> None:
    """Set types and shapes of the outputs; floats have the precision of the inputs."""
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    estimator, n_rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    floats = DoubleTensorType if _input_dtype(operator) == np.float64 else FloatTensorType
    if isinstance(estimator, ClassifierMixin):
        texts = class_labels(estimator.classes_).dtype.kind == "O"
        operator.outputs[0].type = (StringTensorType if texts else Int64TensorType)([n_rows])
    # The number of columns is not declared: it follows from the nodes.
    operator.outputs[-1].type = floats([n_rows, None])


def _convert_float32(scope, operator, container):
    """Convert a step by skl2onnx, and reject inputs in float64 and imputers that drop columns."""
    from skl2onnx.common._registration import get_converter

    step = operator.raw_operator
    # CalibratedClassifierCV reads raw scores, which are right in float64.
    raw = container.get_options(step).get("raw_scores")
    if _input_dtype(operator) == np.float64 and not raw:
        raise NotExportable(
            f"skl2onnx converts {type(step).__name__} in float32 only: write dtype=np.float32, "
            "or export the pipeline without this step."
        )
    statistics = step.statistics_ if isinstance(step, SimpleImputer) else np.zeros(0)
    if statistics.dtype.kind == "f" and np.isnan(statistics).any():
        instead = "SimpleImputer(keep_empty_features=True)"
        raise NotExportable(f"skl2onnx cannot drop empty columns: write {instead}.")
    get_converter(operator.type)(scope, operator, container)


FLOAT32_STEPS: dict[type, Any] = dict.fromkeys(
    (LinearSVC, RidgeClassifier, RidgeClassifierCV, SimpleImputer, PolynomialFeatures),
    _convert_float32,
)
