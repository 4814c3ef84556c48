"""Solvers of ridge problems: parameter objects that say what they need, and factorizations that
answer for any ridge.
"""

from .base import Solver
from .direct import Cholesky, Eigen
from .iterative import LBFGS, ConjugateGradient, StochasticGradient

__all__ = ["LBFGS", "Cholesky", "ConjugateGradient", "Eigen", "Solver", "StochasticGradient"]
