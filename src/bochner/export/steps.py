"""Steps of scikit-learn that skl2onnx converts in float32 only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

from .graph import NotExportable
from .registration import input_dtype


def _convert_float32(scope, operator, container):
    """Convert a step by skl2onnx, and reject inputs in float64 and imputers that drop columns."""
    from skl2onnx.common._registration import get_converter

    step = operator.raw_operator
    # CalibratedClassifierCV reads raw scores, which are right in float64.
    raw = container.get_options(step).get("raw_scores")
    if input_dtype(operator) == np.float64 and not raw:
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
