"""Solvers of ridge problems: parameter objects, and factorizations that solve any ridge."""

from .base import Solver
from .direct import Cholesky, Eigen
from .iterative import LBFGS, ConjugateGradient, StochasticGradient

__all__ = ["LBFGS", "Cholesky", "ConjugateGradient", "Eigen", "Solver", "StochasticGradient"]
