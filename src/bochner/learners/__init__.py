"""Stateless rules `measure, X, y -> measure`."""

from .duals import project_dual
from .equilibrium import game_equilibrium
from .game_value import GameCertificate
from .harmonic_peaks import HarmonicPeaks
from .joint_descent import DescentReport, JointDescent
from .margin_game import GameReport, GameRound, MarginGame
from .optimal_alignment import OptimalAlignment, divergence_ball_weights
from .pac_bayes import PacBayes, gibbs_weights
from .peaks import AscentPeaks, CandidatePeaks, LangevinPeaks, PeakSearch, QuasiNewtonPeaks
from .reweighting import AlignmentLearner, AlignmentReport

__all__ = [
    "AlignmentLearner",
    "AlignmentReport",
    "AscentPeaks",
    "CandidatePeaks",
    "DescentReport",
    "GameCertificate",
    "GameReport",
    "GameRound",
    "HarmonicPeaks",
    "JointDescent",
    "LangevinPeaks",
    "MarginGame",
    "OptimalAlignment",
    "PacBayes",
    "PeakSearch",
    "QuasiNewtonPeaks",
    "divergence_ball_weights",
    "game_equilibrium",
    "gibbs_weights",
    "project_dual",
]
