"""Feature maps: waves with learned frequencies, and similarities to landmarks."""

from .landmarks import LandmarkFeatures
from .spectral import SpectralFeatures

__all__ = ["LandmarkFeatures", "SpectralFeatures"]
