"""Guarantees as pure functions that return a ``Bound``."""

from .bound import Bound
from .operator import ApproximationConstants, log_failure_probability, operator_uniform, promised_components

__all__ = ["ApproximationConstants", "Bound", "log_failure_probability", "operator_uniform", "promised_components"]
