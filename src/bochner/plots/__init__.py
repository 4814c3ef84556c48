"""Plots in scikit-learn's Display style; matplotlib is imported inside, never with the package."""

from .game import game_evolution, plot_boundary, plot_potential, plot_weighted_points
from .sphere import plot_harmonics

__all__ = ["game_evolution", "plot_boundary", "plot_harmonics", "plot_potential", "plot_weighted_points"]
