"""Learners: stateless rules ``measure, rows, target -> Learned(measure, report)``."""

from ..data.targets import TargetSimilarity
from .alignment import alignment_losses, alignment_losses_and_gradient, potential
from .base import AlignmentLearner, AlignmentReport, Learned, Learner, check_learner
from .chain import Chain
from .descent.joint_descent import DescentReport, JointDescent
from .evidence import Evidence, LearnedPrior
from .game.duals import project_dual
from .game.equilibrium import game_equilibrium
from .game.exhaustive import CandidatePeaks, HarmonicPeaks
from .game.harmonic_chain import HarmonicChain
from .game.margin_game import GameReport, GameRound, MarginGame
from .game.peaks import AscentPeaks, LangevinPeaks, PeakSearch, QuasiNewtonPeaks
from .game.value import GameCertificate
from .optimal_alignment import OptimalAlignment, divergence_ball_weights
from .pac_bayes import PacBayes, gibbs_weights
from .pac_bayes_gaussian import PacBayesGaussian
from .pac_bayes_langevin import PacBayesLangevin

__all__ = [
    "AlignmentLearner",
    "AlignmentReport",
    "AscentPeaks",
    "CandidatePeaks",
    "Chain",
    "DescentReport",
    "Evidence",
    "GameCertificate",
    "GameReport",
    "GameRound",
    "HarmonicChain",
    "HarmonicPeaks",
    "JointDescent",
    "LangevinPeaks",
    "Learned",
    "LearnedPrior",
    "Learner",
    "MarginGame",
    "OptimalAlignment",
    "PacBayes",
    "PacBayesGaussian",
    "PacBayesLangevin",
    "PeakSearch",
    "QuasiNewtonPeaks",
    "TargetSimilarity",
    "alignment_losses",
    "alignment_losses_and_gradient",
    "check_learner",
    "divergence_ball_weights",
    "game_equilibrium",
    "gibbs_weights",
    "potential",
    "project_dual",
]
