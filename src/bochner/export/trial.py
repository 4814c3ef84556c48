"""Comparison of a graph with its model on rows of the user."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from .._loops.arrays import as_dense
from ..data.columns import (
    column_kind,
    column_names,
    float_column,
    is_frame,
    is_text,
    table_column,
    text_column,
)
from ..tabular.imputation import filled_cells
from .registration import kernel_expansions

_N_ROWS = 100
_TOLERANCES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}
# For models that sum float32 coefficients which cancel: the graph may be more precise.
_FLOAT32_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows for a model, and the same rows as inputs of its graph."""

    estimator: Any
    rows: Any
    inputs: dict[str, np.ndarray]
    dtype: np.dtype

    @classmethod
    def of(cls, estimator: Any, X: Any, dtype: np.dtype) -> Trial:
        """Return a trial on the first rows of X, or on no rows if X is None."""
        first = step_of(estimator, 0)
        by_name = isinstance(first, ColumnTransformer)
        if X is None and by_name and hasattr(first, "feature_names_in_"):
            raise ValueError("Columns are read by name: write to_onnx(..., X=frame).")
        rows = np.empty((0, estimator.n_features_in_)) if X is None else X[:_N_ROWS]
        if not is_frame(rows):
            values = np.asarray(as_dense(rows), dtype=dtype)
            return cls(estimator, values.astype(np.float64), {"X": values}, dtype)
        inputs, rounded = {}, {}
        for j, name in enumerate(column_names(rows)):
            column = rounded[name] = table_column(rows, j)
            if is_text(column):
                inputs[str(name)] = text_column(column)[:, None]
                continue
            inputs[str(name)] = float_column(column, str(name)).astype(dtype)[:, None]
            if column_kind(column) == "numbers" and np.asarray(column).dtype.kind == "f":
                rounded[name] = inputs[str(name)][:, 0].astype(np.float64)
        if not by_name and not any(values.dtype.kind == "O" for values in inputs.values()):
            inputs = {"X": np.concatenate(list(inputs.values()), axis=1)}
        frame: Any = type(rows)
        return cls(estimator, frame(rounded), inputs, dtype)

    def initial_types(self) -> list[tuple[str, Any]]:
        """Return names and types of the inputs for skl2onnx."""
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

        floats = FloatTensorType if self.dtype == np.float32 else DoubleTensorType
        return [
            (
                name,
                (StringTensorType if values.dtype.kind == "O" else floats)([None, values.shape[1]]),
            )
            for name, values in self.inputs.items()
        ]

    def compare(self, model: Any, tolerance: float | None) -> None:
        """Run the graph and reject it if it disagrees with the model; warn if it cannot be run."""
        if not len(self.rows):
            warnings.warn(
                f"The graph of {name_of(self.estimator)} was not tried. "
                "Write to_onnx(..., X=rows) to compare it with the model.",
                stacklevel=3,
            )
            return
        try:
            import onnxruntime
        except ImportError:
            warnings.warn(
                "onnxruntime is not installed, so the graph was not tried: pip install "
                "'bochner[onnx]'.",
                stacklevel=3,
            )
            return
        expected = self._expected()
        try:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4  # errors are raised
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            # skl2onnx replaces characters of names that are neither letters nor digits.
            names = [one.name for one in model.graph.input]
            feed = dict(zip(names, self.inputs.values(), strict=True))
            outputs = session.run(None, feed)
        except Exception as error:  # onnxruntime raises errors of many types
            raise ValueError(
                f"onnxruntime cannot run the graph of {name_of(self.estimator)}: {error}"
            ) from error
        limit = self._tolerance() if tolerance is None else tolerance
        names = [output.name for output in model.graph.output]
        if outputs[-1].size != expected[-1].size:
            self._refuse(
                f"{names[-1]} have the shape {outputs[-1].shape} instead of {expected[-1].shape}"
            )
        difference = _difference(outputs[-1], expected[-1])
        if not difference <= limit:
            self._refuse(
                f"{names[-1]} differ by {difference:.1e} of the largest, and {limit:.0e} is "
                "accepted"
            )
        if names[0] == "label":
            wrong = (outputs[0] != expected[0]) & ~_tied(expected[1], limit)
            if np.any(wrong):
                self._refuse(f"{np.sum(wrong)} of {len(wrong)} labels differ")

    def _expected(self):
        """Return the results of the model, in the order of the outputs."""
        estimator = self.estimator
        with warnings.catch_warnings(), filled_cells():
            warnings.simplefilter("ignore")  # arrays have no names of columns
            if is_classifier(estimator):
                has_probabilities = hasattr(estimator, "predict_proba")
                method = "predict_proba" if has_probabilities else "decision_function"
                scores = getattr(estimator, method)(self.rows)
                return [estimator.predict(self.rows), np.asarray(scores)]
            method = estimator.predict if is_regressor(estimator) else estimator.transform
            return [np.asarray(as_dense(method(self.rows)))]

    def _tolerance(self):
        expansions = kernel_expansions(step_of(self.estimator, -1))
        single = any(f.coefficients.dtype == np.float32 for f in expansions)
        return _FLOAT32_TOLERANCE if single else _TOLERANCES[self.dtype]

    def _refuse(self, how):
        other = " Write dtype=np.float64, or" if self.dtype == np.float32 else " Write"
        raise ValueError(
            f"The {self.dtype} graph of {name_of(self.estimator)} does not agree with the model: "
            f"on {len(self.rows)} rows {how}."
            f"{other} a larger tolerance if that is precise enough."
        )


def step_of(estimator: Any, place: int) -> Any:
    """Return the first (0) or last (−1) step of a pipeline, or the estimator itself."""
    if isinstance(estimator, Pipeline):
        return step_of(estimator.steps[place][1], place)
    return estimator


def name_of(estimator: Any) -> str:
    """Return the name of the type; for a pipeline, also those of its steps."""
    if isinstance(estimator, Pipeline):
        return f"Pipeline({', '.join(name_of(step) for _, step in estimator.steps)})"
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _difference(results, expected):
    """Return the largest difference relative to the largest number; inf if NaNs differ."""
    if not np.array_equal(np.isnan(results).ravel(), np.isnan(expected).ravel()):
        return np.inf
    if expected.size == 0:
        return 0.0
    expected = np.asarray(expected, np.float64)
    size = np.nanmax(np.abs(expected))
    return float(
        np.nanmax(np.abs(results.reshape(expected.shape) - expected)) / (size if size > 0 else 1.0)
    )


def _tied(scores, limit):
    """Return a mask of rows whose two best classes are equal up to rounding."""
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    best = np.sort(scores, axis=1)[:, -2:]
    return best[:, 1] - best[:, 0] <= 4 * limit * np.abs(scores).max()
