"""Predictions of each estimator as a graph: one function per class."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from ..boosting import FourierBoostingClassifier, FourierBoostingRegressor
from ..boosting.gbrff_base import GBRFFBase
from ..data.inputs import SmoothScaler, TableInputs
from ..features.landmarks import LandmarkFeatures
from ..features.spectral import SpectralFeatures
from ..measures.fourier import FourierMeasure
from ..models.certified import CertifiedClassifier
from ..models.kernel_machine import KernelMachine
from ..models.logistic import SpectralLogistic
from ..models.operator import OperatorClassifier, OperatorRegressor
from ..models.ridge import OperatorKernelRidge, OperatorRidgeClassifier
from ..models.ridge.model import RidgeModel
from ..tabular import SpectralClassifier, SpectralRegressor
from ..tabular.directions import refuse_monotone
from .graph import Graph, NotExportable, Tensor
from .tables import blended, means, mixed, prepared, smoothly_scaled, softmax


@singledispatch
def onnx_outputs(estimator: Any, graph: Graph) -> tuple[Tensor, ...]:
    """Return the features or predictions for the rows of a graph, or labels and probabilities."""
    raise NotExportable(
        f"{type(estimator).__name__} cannot be exported to ONNX: it has no converter."
    )


# --- transformers ---------------------------------------------------------------------------------


@onnx_outputs.register
def _spectral_features(estimator: SpectralFeatures, graph: Graph) -> tuple[Tensor, ...]:
    return (estimator.measure_.onnx_features(graph.rows, estimator.n_features_in_),)


@onnx_outputs.register
def _landmark_features(estimator: LandmarkFeatures, graph: Graph) -> tuple[Tensor, ...]:
    if estimator.similarity == "exact":
        return (estimator.prior_.onnx(graph.rows, estimator.landmarks_),)
    return (estimator.expansion_.onnx(graph.rows),)


@onnx_outputs.register
def _smooth_scaler(estimator: SmoothScaler, graph: Graph) -> tuple[Tensor, ...]:
    return (smoothly_scaled(graph.rows, estimator.center_, estimator.scale_, estimator.clip),)


@onnx_outputs.register
def _table_inputs(estimator: TableInputs, graph: Graph) -> tuple[Tensor, ...]:
    return (prepared(estimator, graph),)


# --- regressors -----------------------------------------------------------------------------------


@onnx_outputs.register
def _boosting_regressor(estimator: FourierBoostingRegressor, graph: Graph) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    predicted = estimator.loss_.onnx(f.onnx(graph.rows), f.n_outputs)
    return (graph.clip(predicted, *estimator.target_bounds_),)


@onnx_outputs.register
def _operator_regressor(estimator: OperatorRegressor, graph: Graph) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    return (estimator.loss_.onnx(f.onnx(graph.rows), f.n_outputs),)


@onnx_outputs.register
def _ridge(estimator: RidgeModel, graph: Graph) -> tuple[Tensor, ...]:
    if isinstance(estimator._source, FourierMeasure):
        return (estimator.expansion_.onnx(graph.rows),)
    coefficients, intercept = np.atleast_2d(estimator.coef_).T, np.atleast_1d(estimator.intercept_)
    return (transformed(estimator.features_, graph) @ coefficients + intercept,)


@onnx_outputs.register
def _kernel_machine(estimator: KernelMachine, graph: Graph) -> tuple[Tensor, ...]:
    return (estimator.expansion_.onnx(graph.rows),)


@onnx_outputs.register
def _operator_kernel_ridge(estimator: OperatorKernelRidge, graph: Graph) -> tuple[Tensor, ...]:
    return (estimator.kernel_.onnx(graph.rows, estimator.X_fit_, estimator.dual_coef_),)


@onnx_outputs.register
def _spectral_regressor(estimator: SpectralRegressor, graph: Graph) -> tuple[Tensor, ...]:
    refuse_monotone(estimator, "An ONNX graph", NotExportable)
    Z = prepared(estimator.inputs_, graph)
    return (means(blended(estimator.blend_, Z), estimator.target_scale_, estimator.spread_, Z),)


# --- classifiers ----------------------------------------------------------------------------------


@onnx_outputs.register
def _boosting_classifier(
    estimator: FourierBoostingClassifier | GBRFFBase, graph: Graph
) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    scores = f.onnx(graph.rows)
    scaled = scores if estimator.slope_ == 1 else estimator.slope_ * scores
    return _classified(estimator, scores, estimator.loss_.onnx(scaled, f.n_outputs), f.n_outputs)


@onnx_outputs.register
def _spectral_logistic(estimator: SpectralLogistic, graph: Graph) -> tuple[Tensor, ...]:
    if isinstance(estimator._source, FourierMeasure):
        scores = estimator.expansion_.onnx(graph.rows)
    else:
        scores = transformed(estimator.features_, graph) @ estimator.coef_.T + estimator.intercept_
    probabilities = estimator.loss_.onnx(scores, len(estimator.coef_))
    return _classified(estimator, scores, probabilities, len(estimator.coef_))


@onnx_outputs.register
def _operator_classifier(estimator: OperatorClassifier, graph: Graph) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    scores = f.onnx(graph.rows)
    return _classified(estimator, scores, estimator.loss_.onnx(scores, f.n_outputs), f.n_outputs)


@onnx_outputs.register
def _ridge_classifier(estimator: OperatorRidgeClassifier, graph: Graph) -> tuple[Tensor, ...]:
    scores = estimator.expansion_.onnx(graph.rows)
    return labels(first_largest(scores), estimator.classes_), softmax(
        scores / estimator.temperature_
    )


@onnx_outputs.register
def _certified_classifier(estimator: CertifiedClassifier, graph: Graph) -> tuple[Tensor, ...]:
    columns = transformed(estimator.features_, graph)
    scores = columns @ np.atleast_2d(estimator.coef_).T + estimator.intercept_
    return _classified(estimator, scores, scores, len(np.atleast_2d(estimator.coef_)))


@onnx_outputs.register
def _spectral_classifier(estimator: SpectralClassifier, graph: Graph) -> tuple[Tensor, ...]:
    refuse_monotone(estimator, "An ONNX graph", NotExportable)
    probabilities = mixed(estimator.blend_, prepared(estimator.inputs_, graph))
    return labels(first_largest(probabilities), estimator.classes_), probabilities


def _classified(estimator, scores, probabilities, n_outputs):
    """Return labels by the sign or the largest score, and probabilities or scores."""
    if n_outputs > 1:
        return labels(first_largest(scores), estimator.classes_), probabilities
    graph = scores.graph
    codes = graph.cast(scores.flat() > 0.0, np.int64)
    if probabilities is not scores:
        probabilities = graph.concat([1.0 - probabilities, probabilities])
    return labels(codes, estimator.classes_), probabilities


def has_converter(estimator_type: type) -> bool:
    """Return True if estimators of this type have a converter."""
    return onnx_outputs.dispatch(estimator_type) is not onnx_outputs.dispatch(object)


def transformed(transformer: Any, graph: Graph) -> Tensor:
    """Return the features of a transformer, by our converter or by that of skl2onnx."""
    if has_converter(type(transformer)):
        return onnx_outputs(transformer, graph)[0]
    from skl2onnx._parse import _parse_sklearn  # as skl2onnx itself does inside of converters

    (variable,) = _parse_sklearn(graph.scope, transformer, graph.inputs)
    return graph.cast(Tensor(graph, variable.full_name), graph.dtype)


def first_largest(columns: Tensor) -> Tensor:
    """Return the index of the largest column of each row, the first one of ties."""
    return columns.graph.node("ArgMax", columns, axis=1, keepdims=0)


def labels(codes: Tensor, classes: np.ndarray) -> Tensor:
    """Return the class of each code."""
    return codes.graph.node("Gather", class_labels(classes), codes)


def class_labels(classes: np.ndarray) -> np.ndarray:
    """Return classes in a type that ONNX has for labels: texts or int64."""
    if classes.dtype.kind in "biu" or (
        classes.dtype.kind == "f" and np.all(classes == np.round(classes))
    ):
        return classes.astype(np.int64)
    if all(isinstance(label, str) for label in classes):
        return classes.astype(object)
    raise NotExportable(
        f"Labels of an ONNX graph are texts or whole numbers, got {list(classes[:3])}. Encode them."
    )
