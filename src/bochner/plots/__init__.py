"""Plots in scikit-learn's Display style; matplotlib is imported inside, never with the package."""

from .fields import VectorFieldDisplay
from .landmarks import plot_landmark_maps
from .spectrum import plot_kernel_profile, plot_weights

__all__ = ["VectorFieldDisplay", "plot_kernel_profile", "plot_landmark_maps", "plot_weights"]
