"""Measures over frequencies: each of them is a kernel."""

from .fourier import FourierMeasure, concatenate
from .harmonic import HarmonicMeasure, arc_cosine_kernel, spherical_harmonics

__all__ = [
    "FourierMeasure",
    "HarmonicMeasure",
    "arc_cosine_kernel",
    "concatenate",
    "spherical_harmonics",
]
