"""Solvers of ridge problems: parameter objects that say what they need, and factorizations that answer for any ridge."""

from .base import CenteredRows, Factorization, RidgeProblem, Solution, Solver, feature_block
from .choice import check_solver, chosen_solver, matrix_fits, rows_are_few
from .direct import Cholesky, Eigen, EigenFactorization
from .iterative import LBFGS, ConjugateGradient, StochasticGradient
from .outputs import CoupledOutputs, DecoupledOutputs, Outputs
from .statistics import RidgeStatistics, TrainingRows
from .systems import Eigensystem, left_out_residuals, ridge_solution
