"""Methods that only serve as comparisons in the experiments; labels are −1 and +1, no part of the public interface."""

from .boosted_svr import BoostedKernelRegression
from .greedy_features import GreedyFourierFeatures
from .random_landmarks import RandomLandmarks

__all__ = ["BoostedKernelRegression", "GreedyFourierFeatures", "RandomLandmarks"]
