"""Ridge regression on measures: scalar, operator-valued, and exact for comparison."""

from .classifier import OperatorRidgeClassifier
from .exact import OperatorKernelRidge
from .operator import OperatorRidge
from .spectral import SpectralRidge

__all__ = ["OperatorKernelRidge", "OperatorRidge", "OperatorRidgeClassifier", "SpectralRidge"]
