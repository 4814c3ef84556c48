"""What each estimator computes, as a graph: one function a class, told by its type."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from ..boosting import FourierBoostingClassifier, FourierBoostingRegressor
from ..boosting.gbrff_base import GBRFFBase
from ..data.inputs import SmoothScaler, TableInputs
from ..features.landmarks import LandmarkFeatures
from ..features.spectral import SpectralFeatures
from ..losses import Hinge
from ..measures.fourier import FourierMeasure
from ..models.certified import CertifiedClassifier
from ..models.kernel_machine import KernelMachine
from ..models.logistic import SpectralLogistic
from ..models.operator import OperatorClassifier, OperatorRegressor
from ..models.ridge import OperatorKernelRidge, OperatorRidgeClassifier
from ..models.ridge.model import RidgeModel
from ..tabular import SpectralClassifier, SpectralRegressor
from .fields import operator_expansion
from .functions import (
    both_classes,
    expansion,
    features,
    first_largest,
    kernel,
    labels,
    link,
    softmax,
)
from .graph import Graph, NotExportable, Tensor
from .tables import blended, linked, means, prepared, smoothly_scaled


@singledispatch
def written(estimator: Any, graph: Graph) -> tuple[Tensor, ...]:
    """What an estimator says of the rows of a graph: features, predictions, or labels and
    probabilities.
    """
    raise NotExportable(
        f"{type(estimator).__name__} cannot be exported to ONNX: no graph is known for it."
    )


# --- transformers ---------------------------------------------------------------------------------


@written.register
def _spectral_features(estimator: SpectralFeatures, graph: Graph) -> tuple[Tensor, ...]:
    return (features(estimator.measure_, graph.rows, estimator.n_features_in_),)


@written.register
def _landmark_features(estimator: LandmarkFeatures, graph: Graph) -> tuple[Tensor, ...]:
    if estimator.similarity == "exact":
        return (kernel(estimator.prior_, graph.rows, estimator.landmarks_),)
    return (expansion(estimator.expansion_, graph.rows),)


@written.register
def _smooth_scaler(estimator: SmoothScaler, graph: Graph) -> tuple[Tensor, ...]:
    return (smoothly_scaled(graph.rows, estimator.center_, estimator.scale_, estimator.clip),)


@written.register
def _table_inputs(estimator: TableInputs, graph: Graph) -> tuple[Tensor, ...]:
    return (prepared(estimator, graph),)


# --- regressors -----------------------------------------------------------------------------------


@written.register
def _boosting_regressor(estimator: FourierBoostingRegressor, graph: Graph) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    predicted = link(estimator.loss_, expansion(f, graph.rows), f.n_outputs)
    return (graph.between(predicted, *estimator.target_bounds_),)


@written.register
def _operator_regressor(estimator: OperatorRegressor, graph: Graph) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    return (link(estimator.loss_, expansion(f, graph.rows), f.n_outputs),)


@written.register
def _ridge(estimator: RidgeModel, graph: Graph) -> tuple[Tensor, ...]:
    if isinstance(estimator._source, FourierMeasure):
        return (expansion(estimator.expansion_, graph.rows),)
    coefficients, intercept = np.atleast_2d(estimator.coef_).T, np.atleast_1d(estimator.intercept_)
    return (transformed(estimator.features_, graph) @ coefficients + intercept,)


@written.register
def _kernel_machine(estimator: KernelMachine, graph: Graph) -> tuple[Tensor, ...]:
    return (expansion(estimator.expansion_, graph.rows),)


@written.register
def _operator_kernel_ridge(estimator: OperatorKernelRidge, graph: Graph) -> tuple[Tensor, ...]:
    return (
        operator_expansion(estimator.kernel_, graph.rows, estimator.X_fit_, estimator.dual_coef_),
    )


@written.register
def _spectral_regressor(estimator: SpectralRegressor, graph: Graph) -> tuple[Tensor, ...]:
    Z = prepared(estimator.inputs_, graph)
    return (means(blended(estimator.blend_, Z), estimator.target_scale_, estimator.spread_, Z),)


# --- classifiers ----------------------------------------------------------------------------------


@written.register
def _boosting_classifier(
    estimator: FourierBoostingClassifier | GBRFFBase, graph: Graph
) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    scores = expansion(f, graph.rows)
    chances = link(
        estimator.loss_, scores if estimator.slope_ == 1 else estimator.slope_ * scores, f.n_outputs
    )
    if f.n_outputs > 1:
        return labels(first_largest(scores), estimator.classes_), chances
    return labels(graph.cast(scores.flat() > 0.0, np.int64), estimator.classes_), both_classes(
        chances
    )


@written.register
def _spectral_logistic(estimator: SpectralLogistic, graph: Graph) -> tuple[Tensor, ...]:
    if isinstance(estimator._source, FourierMeasure):
        scores = expansion(estimator.expansion_, graph.rows)
    else:
        scores = transformed(estimator.features_, graph) @ estimator.coef_.T + estimator.intercept_
    chances = link(estimator.loss_, scores, len(estimator.coef_))
    if len(estimator.coef_) > 1:
        return labels(first_largest(scores), estimator.classes_), chances
    return labels(graph.cast(scores.flat() > 0.0, np.int64), estimator.classes_), both_classes(
        chances
    )


@written.register
def _operator_classifier(estimator: OperatorClassifier, graph: Graph) -> tuple[Tensor, ...]:
    f = estimator.expansion_
    scores = expansion(f, graph.rows)
    chances = (
        scores if isinstance(estimator.loss_, Hinge) else link(estimator.loss_, scores, f.n_outputs)
    )
    if f.n_outputs > 1:
        return labels(first_largest(scores), estimator.classes_), chances
    codes = graph.cast(scores.flat() > 0.0, np.int64)
    return labels(codes, estimator.classes_), scores if chances is scores else both_classes(chances)


@written.register
def _operator_ridge_classifier(
    estimator: OperatorRidgeClassifier, graph: Graph
) -> tuple[Tensor, ...]:
    scores = expansion(estimator.expansion_, graph.rows)
    return labels(first_largest(scores), estimator.classes_), softmax(
        scores / estimator.temperature_
    )


@written.register
def _certified_classifier(estimator: CertifiedClassifier, graph: Graph) -> tuple[Tensor, ...]:
    columns = transformed(estimator.features_, graph)
    scores = columns @ np.atleast_2d(estimator.coef_).T + estimator.intercept_
    two = len(estimator.classes_) == 2
    codes = graph.cast(scores.flat() > 0.0, np.int64) if two else first_largest(scores)
    return labels(codes, estimator.classes_), scores


@written.register
def _spectral_classifier(estimator: SpectralClassifier, graph: Graph) -> tuple[Tensor, ...]:
    scores = blended(estimator.blend_, prepared(estimator.inputs_, graph))
    if len(estimator.classes_) == 2:
        scores = both_classes(scores)
    chances = linked(scores, estimator.link_)
    return labels(first_largest(chances), estimator.classes_), chances


# --- parts ----------------------------------------------------------------------------------------


def is_written(estimator_type: type) -> bool:
    """Whether there is a graph for estimators of this type."""
    return written.dispatch(estimator_type) is not written.dispatch(object)


def transformed(transformer: Any, graph: Graph) -> Tensor:
    """The features of any transformer: ours in this graph, others by the converter that skl2onnx
    has for them.
    """
    if is_written(type(transformer)):
        return written(transformer, graph)[0]
    from skl2onnx._parse import _parse_sklearn  # as skl2onnx itself does inside of converters

    (variable,) = _parse_sklearn(graph.scope, transformer, graph.inputs)
    return graph.cast(Tensor(graph, variable.full_name), graph.dtype)
