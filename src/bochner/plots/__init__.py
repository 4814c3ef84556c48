"""Plots in scikit-learn's Display style; matplotlib is imported inside, never with the package."""

from .fields import VectorFieldDisplay

__all__ = ["VectorFieldDisplay"]
