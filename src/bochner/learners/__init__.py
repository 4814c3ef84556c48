"""Stateless rules `measure, X, y -> measure`."""

from .duals import project_dual
from .equilibrium import game_equilibrium
from .game_value import GameCertificate
from .harmonic_peaks import HarmonicPeaks
from .joint_descent import DescentReport, JointDescent
from .margin_game import GameReport, GameRound, MarginGame
from .peaks import AscentPeaks, CandidatePeaks, LangevinPeaks, PeakSearch, QuasiNewtonPeaks

__all__ = [
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
    "PeakSearch",
    "QuasiNewtonPeaks",
    "game_equilibrium",
    "project_dual",
]
