"""Stateless rules `measure, X, y -> measure`."""

from .optimal_alignment import OptimalAlignment, divergence_ball_weights
from .pac_bayes import PacBayes, gibbs_weights
from .reweighting import AlignmentLearner, AlignmentReport

__all__ = [
    "AlignmentLearner",
    "AlignmentReport",
    "OptimalAlignment",
    "PacBayes",
    "divergence_ball_weights",
    "gibbs_weights",
]
