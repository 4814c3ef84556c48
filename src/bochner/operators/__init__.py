"""Operator-valued kernels: K(x, z) is a matrix, and functions have several related outputs."""

from ..data.simplex import simplex_code
from .approximation import (
    approximation_constants,
    estimator_variance,
    largest_error,
    suggest_n_components,
    variance_bound,
)
from .base import OperatorKernel
from .custom import CustomKernel
from .decomposable import Decomposable
from .measure import OperatorMeasure
from .output_matrix import graph_output_matrix, learned_output_matrix
from .sums import KernelSum
from .vector_field import CurlFree, DivergenceFree, Helmholtz, VectorFieldKernel

__all__ = [
    "CurlFree",
    "CustomKernel",
    "Decomposable",
    "DivergenceFree",
    "Helmholtz",
    "KernelSum",
    "OperatorKernel",
    "OperatorMeasure",
    "VectorFieldKernel",
    "approximation_constants",
    "estimator_variance",
    "graph_output_matrix",
    "largest_error",
    "learned_output_matrix",
    "simplex_code",
    "suggest_n_components",
    "variance_bound",
]
