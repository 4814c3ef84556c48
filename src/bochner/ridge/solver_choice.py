"""Which solver fits a ridge, by its kernel and its size."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._validation import check_choice
from ..operators import Decomposable, OperatorKernel
from ..operators.output_matrix import check_output_matrix, covariance_output_matrix, learned_output_matrix
from .eigen import Eigensystem
from .statistics import RidgeStatistics

# Up to this many unknowns (or scalar features) a matrix of all pairs of them is formed: 128 MB.
DENSE_LIMIT = 4096
SOLVERS = ("auto", "eigen", "cholesky", "cg", "lbfgs", "sgd")


def gram_fits(n_columns: int) -> bool:
    """Whether the Gram matrix of this many scalar features is formed."""
    return n_columns <= DENSE_LIMIT


def rows_are_few(n_rows: int, n_columns: int) -> bool:
    """Whether the eigensystem comes from the rows' own Gram matrix, which is the smaller one."""
    return n_rows < min(n_columns, DENSE_LIMIT)


def choose_solver(asked: str, kernel: OperatorKernel, n_columns: int, n_unknowns: int) -> str:
    """The solver for ``n_columns`` scalar features and ``n_unknowns`` parameters, or a refusal that names the size."""
    if asked == "auto":
        if not gram_fits(n_columns):
            return "cg"
        if isinstance(kernel, Decomposable):
            return "eigen"
        return "cholesky" if n_unknowns <= DENSE_LIMIT else "cg"
    if asked in ("eigen", "cholesky") and not gram_fits(n_columns):
        raise ValueError(
            f"solver={asked!r} forms a matrix of all pairs of {n_columns} features, more than {DENSE_LIMIT}. "
            "Write solver='cg', or lower n_components."
        )
    if asked == "cholesky" and n_unknowns > 4 * DENSE_LIMIT:
        raise ValueError(
            f"solver='cholesky' with {n_unknowns} unknowns needs {8e-9 * n_unknowns**2:.0f} GB. Write solver='auto'."
        )
    return asked


def refuse_several(solver: str, n_alphas: int) -> None:
    """Iterative solvers take one ridge."""
    if solver in ("cg", "lbfgs", "sgd"):
        raise ValueError(
            f"solver={solver!r} takes one alpha, got {n_alphas}: choosing between them needs a factorization, which is made up to "
            f"{DENSE_LIMIT} unknowns. Give one alpha, or lower n_components."
        )


def check_output_count(kernel: OperatorKernel, n_features: int, n_outputs: int) -> None:
    """The kernel's outputs against the columns of y, where the kernel knows them before the fit."""
    if isinstance(kernel, Decomposable):
        if kernel.output_matrix is None or isinstance(kernel.output_matrix, str):
            return
        advice = "Its output matrix must have one row per column of y."
    else:
        advice = (
            "A vector field has one output per direction: give coordinates=[...] with one column of X for each column of y, or "
            "write Decomposable."
        )
    expected = kernel.n_outputs(n_features)
    if expected != n_outputs:
        raise ValueError(
            f"{type(kernel).__name__} has {expected} outputs on these points, but y has {n_outputs} columns. {advice}"
        )


def is_learned(asked: Any) -> bool:
    """Whether the output matrix is to be learned."""
    return isinstance(asked, str) and asked == "learned"


def numeric_output_matrix(
    asked: Any, covariance: np.ndarray, statistics: RidgeStatistics | None, system: Eigensystem | None
) -> np.ndarray:
    """The output matrix as numbers: given, identity, covariance of the outputs, or learned from the sums."""
    if asked is None:
        return np.eye(len(covariance))
    if not isinstance(asked, str):
        return check_output_matrix(asked)
    check_choice(asked, "output_matrix", ("covariance", "learned"))
    if asked == "covariance":
        return covariance_output_matrix(covariance)
    if system is None or statistics is None:
        raise ValueError(
            f"output_matrix='learned' needs the Gram matrix of the features, up to {DENSE_LIMIT} of them, and no solver='sgd'. "
            "Lower n_components, or write output_matrix='covariance'."
        )
    return learned_output_matrix(system.values, system.projections, statistics.target_gram, statistics.weight)[0]
