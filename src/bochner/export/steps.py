"""Steps of scikit-learn whose converters in skl2onnx know no float64, written here."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

from .functions import first_largest, labels
from .graph import Graph
from .registration import input_dtype


def _linear_scores(scope, operator, container):
    """Linear classifiers without probabilities: the label and the decision function."""
    classifier = operator.raw_operator
    if container.get_options(classifier, {"raw_scores": False})["raw_scores"]:  # asked for by another converter
        return _by_skl2onnx(scope, operator, container)
    graph = Graph(scope, operator, container, input_dtype(operator))
    scores = graph.rows @ np.atleast_2d(classifier.coef_).T + np.atleast_1d(classifier.intercept_)
    two = len(classifier.classes_) == 2
    codes = graph.cast(scores.flat() > 0.0, np.int64) if two else first_largest(scores)
    graph.give(labels(codes, classifier.classes_), operator.outputs[0])
    graph.give(scores, operator.outputs[1])


def _imputed(scope, operator, container):
    """A statistic in place of NaN; columns without a statistic are left out."""
    imputer = operator.raw_operator
    graph = Graph(scope, operator, container, input_dtype(operator))
    numeric = imputer.statistics_.dtype.kind == "f" and np.isscalar(imputer.missing_values)
    texts = any(graph.holds_texts(k) for k in range(len(graph.inputs)))
    if texts or not numeric or not np.isnan(imputer.missing_values) or imputer.add_indicator:
        return _by_skl2onnx(scope, operator, container)
    kept = np.flatnonzero(~np.isnan(imputer.statistics_))
    values = graph.rows.columns(kept)
    graph.give(graph.where(graph.node("IsNaN", values), imputer.statistics_[kept], values), operator.outputs[0])


def _monomials(scope, operator, container):
    """Each monomial is a product of as many columns as the degree; a column of ones stands for those that are missing."""
    powers = operator.raw_operator.powers_
    graph = Graph(scope, operator, container, input_dtype(operator))
    n_features, degree = powers.shape[1], max(int(powers.sum(axis=1).max()), 1)
    ones = 0.0 * graph.rows.columns([0]) + 1.0
    columns = graph.beside([graph.rows, ones])
    lists = [np.repeat(np.arange(n_features), power) for power in powers]
    places = np.array([np.pad(list_, (0, degree - len(list_)), constant_values=n_features) for list_ in lists])
    product = columns.columns(places[:, 0])
    for k in range(1, degree):
        product = product * columns.columns(places[:, k])
    graph.give(product, operator.outputs[0])


def _by_skl2onnx(scope, operator, container):
    from skl2onnx.common._registration import get_converter

    get_converter(operator.type)(scope, operator, container)


STEPS_IN_FLOAT64: dict[type, Any] = {
    LinearSVC: _linear_scores,
    RidgeClassifier: _linear_scores,
    RidgeClassifierCV: _linear_scores,
    SimpleImputer: _imputed,
    PolynomialFeatures: _monomials,
}
