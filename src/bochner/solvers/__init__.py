"""Solvers of ridge problems: parameter objects, and factorizations that solve any ridge."""

from .direct import Cholesky, Eigen
from .iterative import LBFGS, ConjugateGradient, StochasticGradient
from .problem import Solver

__all__ = ["LBFGS", "Cholesky", "ConjugateGradient", "Eigen", "Solver", "StochasticGradient"]
