"""Stateless rules `measure, X, y -> measure`."""

from .duals import project_dual
from .game_value import GameCertificate
from .harmonic_peaks import HarmonicPeaks
from .margin_game import GameReport, GameRound, MarginGame
from .peaks import AscentPeaks, CandidatePeaks, LangevinPeaks, PeakSearch, QuasiNewtonPeaks

__all__ = [
    "AscentPeaks",
    "CandidatePeaks",
    "GameCertificate",
    "GameReport",
    "GameRound",
    "HarmonicPeaks",
    "LangevinPeaks",
    "MarginGame",
    "PeakSearch",
    "QuasiNewtonPeaks",
    "project_dual",
]
