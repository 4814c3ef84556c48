"""Fitted functions: sums of waves or of kernels."""

from .kernels import KernelExpansion
from .waves import Expansion

__all__ = ["Expansion", "KernelExpansion"]
