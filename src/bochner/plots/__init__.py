"""Plots in scikit-learn's Display style; matplotlib is imported inside, never with the package."""

from .boosting import plot_rounds
from .effects import plot_effects
from .fields import VectorFieldDisplay
from .game import game_evolution, plot_boundary, plot_potential, plot_weighted_points
from .landmarks import plot_landmark_maps
from .shapley import plot_shapley
from .spectrum import plot_kernel_profile, plot_spectrum, plot_weights
from .sphere import plot_harmonics

__all__ = [
    "VectorFieldDisplay",
    "game_evolution",
    "plot_boundary",
    "plot_effects",
    "plot_harmonics",
    "plot_kernel_profile",
    "plot_landmark_maps",
    "plot_potential",
    "plot_rounds",
    "plot_shapley",
    "plot_spectrum",
    "plot_weighted_points",
    "plot_weights",
]
