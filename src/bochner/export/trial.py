"""A graph is run on some rows, and must say what the model says."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from .._columns import column_kind, column_names, float_column, is_frame, is_text, table_column, text_column
from .._compute import as_dense
from ..certificates import CertifiedClassifier
from ..expansions import ExpansionModel
from ..features import SpectralFeatures
from ..front_door.base import SpectralModel
from ..harmonics import HarmonicMeasure
from ..inputs import SmoothScaler, TableInputs
from ..kernel_machine import KernelMachine
from ..landmarks import LandmarkFeatures
from ..logistic import SpectralLogistic
from ..measures import FourierMeasure
from ..ridge import OperatorKernelRidge
from ..ridge.model import RidgeModel
from .registration import kernel_expansions

_N_ROWS = 100
_TOLERANCES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}
# Of models whose own sums, of coefficients that cancel, are float32: the graph may be the more precise of the two.
_OF_SINGLE_SUMS = 1e-3


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows for a model, and the same numbers as inputs of its graph."""

    estimator: Any
    rows: Any
    inputs: dict[str, np.ndarray]
    dtype: np.dtype
    given: bool

    @classmethod
    def of(cls, estimator: Any, X: Any, dtype: np.dtype) -> Trial:
        """On the first rows of X, or on rows that are drawn."""
        rows = typical_rows(estimator, np.random.default_rng(0)) if X is None else X[:_N_ROWS]
        if not is_frame(rows):
            values = np.asarray(as_dense(rows), dtype=dtype)
            return cls(estimator, values.astype(np.float64), {"X": values}, dtype, X is not None)
        inputs, rounded = {}, {}
        for j, name in enumerate(column_names(rows)):
            column = rounded[name] = table_column(rows, j)
            if is_text(column):
                inputs[str(name)] = text_column(column)[:, None]
                continue
            inputs[str(name)] = float_column(column, str(name)).astype(dtype)[:, None]
            if column_kind(column) == "numbers" and np.asarray(column).dtype.kind == "f":
                rounded[name] = inputs[str(name)][:, 0].astype(np.float64)
        by_name = isinstance(first_step(estimator), ColumnTransformer)
        if not by_name and not any(values.dtype.kind == "O" for values in inputs.values()):
            inputs = {"X": np.concatenate(list(inputs.values()), axis=1)}
        frame: Any = type(rows)
        return cls(estimator, frame(rounded), inputs, dtype, True)

    def initial_types(self) -> list[tuple[str, Any]]:
        """Names and types of the inputs, as skl2onnx wants them."""
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

        floats = FloatTensorType if self.dtype == np.float32 else DoubleTensorType
        return [
            (name, (StringTensorType if values.dtype.kind == "O" else floats)([None, values.shape[1]]))
            for name, values in self.inputs.items()
        ]

    def compare(self, model: Any, tolerance: float | None) -> None:
        """Run the graph where onnxruntime is installed, and refuse it where it disagrees with the model."""
        try:
            import onnxruntime
        except ImportError:
            warnings.warn(
                "onnxruntime is not installed, so the graph was not tried: pip install 'bochner[onnx]'.", stacklevel=3
            )
            return
        expected = self._expected()
        try:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4  # what matters is raised
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            said = session.run(None, self.inputs)
        except Exception as error:  # of onnxruntime: whatever it cannot run is no model for anyone
            raise ValueError(f"onnxruntime cannot run the graph of {name_of(self.estimator)}: {error}") from error
        limit = self._tolerance() if tolerance is None else tolerance
        names = [output.name for output in model.graph.output]
        if said[-1].size != expected[-1].size:
            self._refuse(f"{names[-1]} have the shape {said[-1].shape} instead of {expected[-1].shape}")
        difference = _difference(said[-1], expected[-1])
        if not difference <= limit:
            self._refuse(f"{names[-1]} differ by {difference:.1e} of the largest, and {limit:.0e} is let through")
        if names[0] == "label":
            wrong = (said[0] != expected[0]) & ~_tied(expected[1], limit)
            if np.any(wrong):
                self._refuse(f"{np.sum(wrong)} of {len(wrong)} labels differ")

    def _expected(self):
        """What the model says, in the order of the outputs."""
        estimator = self.estimator
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of names of columns that an array does not have
                if is_classifier(estimator):
                    sure = (
                        estimator.predict_proba if hasattr(estimator, "predict_proba") else estimator.decision_function
                    )
                    return [estimator.predict(self.rows), np.asarray(sure(self.rows))]
                answer = estimator.predict if is_regressor(estimator) else estimator.transform
                return [np.asarray(as_dense(answer(self.rows)))]
        except ValueError as error:
            if self.given:
                raise
            raise ValueError(
                f"{name_of(estimator)} refuses rows that were drawn to try its graph ({error}). Give some: to_onnx(..., X=rows)."
            ) from error

    def _tolerance(self):
        expansions = kernel_expansions(last_step(self.estimator))
        single = any(f.coefficients.dtype == np.float32 for f in expansions)
        return _OF_SINGLE_SUMS if single else _TOLERANCES[self.dtype]

    def _refuse(self, how):
        other = " Write dtype=np.float64, or" if self.dtype == np.float32 else " Write"
        raise ValueError(
            f"The {self.dtype} graph of {name_of(self.estimator)} does not say what the model says: on {len(self.rows)} rows {how}."
            f"{other} a larger tolerance where that is precise enough."
        )


def first_step(estimator: Any) -> Any:
    """The first step of a pipeline, or the estimator itself."""
    return first_step(estimator.steps[0][1]) if isinstance(estimator, Pipeline) else estimator


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def name_of(estimator: Any) -> str:
    """Its type, of a pipeline those of its steps."""
    if isinstance(estimator, Pipeline):
        return f"Pipeline({', '.join(name_of(step) for _, step in estimator.steps)})"
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _difference(found, wanted):
    """The largest difference, relative to the largest number; infinite where missing values differ."""
    if not np.array_equal(np.isnan(found).ravel(), np.isnan(wanted).ravel()):
        return np.inf
    if wanted.size == 0:
        return 0.0
    wanted = np.asarray(wanted, np.float64)
    size = np.nanmax(np.abs(wanted))
    return float(np.nanmax(np.abs(found.reshape(wanted.shape) - wanted)) / (size if size > 0 else 1.0))


def _tied(scores, limit):
    """Rows whose two best classes are as good as equal: rounding may decide between them."""
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    best = np.sort(scores, axis=1)[:, -2:]
    return best[:, 1] - best[:, 0] <= 4 * limit * np.abs(scores).max()


# --- rows where an estimator expects them -------------------------------------------------------------------------------


@singledispatch
def typical_rows(estimator: Any, rng: np.random.Generator) -> np.ndarray:
    """Rows that a fitted estimator can say something about; standard normal ones where nothing is known of its columns."""
    return rng.normal(size=(_N_ROWS, estimator.n_features_in_))


@typical_rows.register
def _before_a_pipeline(estimator: Pipeline, rng: np.random.Generator) -> np.ndarray:
    return typical_rows(first_step(estimator), rng)


@typical_rows.register
def _some_columns(estimator: ColumnTransformer, rng: np.random.Generator) -> np.ndarray:
    if "feature_names_in_" in vars(estimator):
        raise ValueError("A ColumnTransformer takes columns by name and type. Give some rows: to_onnx(..., X=frame).")
    return rng.normal(size=(_N_ROWS, estimator.n_features_in_))


@typical_rows.register(StandardScaler)
@typical_rows.register(MinMaxScaler)
@typical_rows.register(MaxAbsScaler)
@typical_rows.register(RobustScaler)
@typical_rows.register(PowerTransformer)
@typical_rows.register(QuantileTransformer)
def _scaled_back(estimator, rng):
    return np.nan_to_num(estimator.inverse_transform(rng.uniform(size=(_N_ROWS, estimator.n_features_in_))))


@typical_rows.register
def _on_a_measure(estimator: SpectralFeatures, rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(_N_ROWS, estimator.n_features_in_))
    if isinstance(estimator.measure_, FourierMeasure):
        return rows / _typical_frequencies(estimator.measure_.frequencies)
    if isinstance(estimator.measure_, HarmonicMeasure):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@typical_rows.register
def _on_waves(estimator: ExpansionModel, rng: np.random.Generator) -> np.ndarray:
    frequencies = estimator.expansion_.frequencies
    return rng.normal(size=(_N_ROWS, frequencies.shape[1])) / _typical_frequencies(frequencies)


@typical_rows.register
def _of_a_ridge(estimator: RidgeModel, rng: np.random.Generator) -> np.ndarray:
    waves = isinstance(estimator._source, FourierMeasure)
    return _on_waves(estimator, rng) if waves else typical_rows(estimator.features_, rng)


@typical_rows.register(CertifiedClassifier)
@typical_rows.register(SpectralLogistic)
def _of_its_features(estimator: CertifiedClassifier | SpectralLogistic, rng: np.random.Generator) -> np.ndarray:
    return typical_rows(estimator.features_, rng)


def _typical_frequencies(frequencies):
    """Of each column; one where there is none."""
    if not len(frequencies):
        return np.ones(frequencies.shape[1])
    sizes = np.median(np.abs(frequencies), axis=0)
    return np.where(sizes > 0, sizes, 1.0)


@typical_rows.register
def _near_points(estimator: KernelMachine, rng: np.random.Generator) -> np.ndarray:
    return _near(estimator.expansion_.points, rng)


@typical_rows.register
def _near_fitted(estimator: OperatorKernelRidge, rng: np.random.Generator) -> np.ndarray:
    return _near(as_dense(estimator.X_fit_), rng)


@typical_rows.register
def _near_landmarks(estimator: LandmarkFeatures, rng: np.random.Generator) -> np.ndarray:
    return _near(estimator.landmarks_, rng)


def _near(points, rng):
    chosen = points[rng.integers(len(points), size=_N_ROWS)]
    return chosen + 0.1 * points.std(axis=0) * rng.normal(size=chosen.shape)


@typical_rows.register
def _standardized(estimator: SmoothScaler, rng: np.random.Generator) -> np.ndarray:
    return estimator.center_ + estimator.scale_ * rng.normal(size=(_N_ROWS, estimator.n_features_in_))


@typical_rows.register
def _of_a_table(estimator: TableInputs, rng: np.random.Generator) -> np.ndarray:
    """With missing values in columns that had some."""
    rows = rng.normal(size=(_N_ROWS, estimator.n_features_in_))
    numbers = estimator.numbers_
    center, scale = estimator.center_[: len(numbers)], estimator.scale_[: len(numbers)]
    rows[:, numbers] = (
        np.array(estimator.origins_, dtype=np.float64)
        + center
        + np.where(np.isfinite(scale), scale, 1.0) * rows[:, numbers]
    )
    rows[::7, estimator.indicators_] = np.nan
    return rows


@typical_rows.register
def _of_the_front_door(estimator: SpectralModel, rng: np.random.Generator) -> np.ndarray:
    return typical_rows(estimator.inputs_, rng)
