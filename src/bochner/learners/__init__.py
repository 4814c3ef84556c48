"""Stateless rules `measure, rows, target -> measure`."""

from .base import Learned, Learner, check_learner
from .duals import project_dual
from .equilibrium import game_equilibrium
from .game_value import GameCertificate
from .harmonic_chain import HarmonicChain
from .harmonic_peaks import HarmonicPeaks
from .joint_descent import DescentReport, JointDescent
from .margin_game import GameReport, GameRound, MarginGame
from .optimal_alignment import OptimalAlignment, divergence_ball_weights
from .pac_bayes import PacBayes, gibbs_weights
from .pac_bayes_langevin import PacBayesLangevin
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
    "HarmonicChain",
    "HarmonicPeaks",
    "JointDescent",
    "LangevinPeaks",
    "Learned",
    "Learner",
    "MarginGame",
    "OptimalAlignment",
    "PacBayes",
    "PacBayesLangevin",
    "PeakSearch",
    "QuasiNewtonPeaks",
    "check_learner",
    "divergence_ball_weights",
    "game_equilibrium",
    "gibbs_weights",
    "project_dual",
]
