"""Choice of the solver of a ridge, by its structure and its size."""

from typing import Any

from .._checks import refuse_class
from .base import Solver
from .direct import Cholesky, Eigen
from .iterative import ConjugateGradient

# Up to this many unknowns (or scalar features) a matrix of all pairs of them is formed: 128 MB.
DENSE_LIMIT = 4096


def matrix_fits(n_unknowns: int) -> bool:
    """Return True if a matrix of all pairs of this many features or unknowns is formed."""
    return n_unknowns <= DENSE_LIMIT


def rows_are_few(solver: Solver | None, n_rows: int, n_columns: int) -> bool:
    """Return True if the Gram matrix of the rows is the smaller one and gives the eigensystem."""
    return isinstance(solver, Eigen | None) and n_rows < min(n_columns, DENSE_LIMIT)


def check_solver(solver: Any) -> None:
    """Raise an error unless ``solver`` is None or a solver with valid parameters."""
    refuse_class(solver, "solver")
    if solver is not None and not isinstance(solver, Solver):
        raise TypeError(
            "solver must be None (an automatic choice) or an object: Eigen(), Cholesky(), "
            f"ConjugateGradient(), LBFGS() or StochasticGradient(), got {solver!r}."
        )
    if solver is not None:
        solver.check_parameters()


def chosen_solver(
    asked: Solver | None,
    n_alphas: int,
    n_columns: int,
    n_unknowns: int,
    *,
    few_rows: bool,
    bounded: bool = True,
) -> Solver:
    """Return the solver for ``n_columns`` scalar features and ``n_unknowns`` rows of M.

    A matrix that would be too large is refused, unless ``bounded=False``.
    """
    dense = few_rows or not bounded or (matrix_fits(n_columns) and matrix_fits(n_unknowns))
    solver = asked
    if solver is None:
        direct = Eigen() if few_rows or n_alphas > 1 else Cholesky()
        solver = direct if dense else ConjugateGradient()
    too_large = not matrix_fits(n_columns) or n_unknowns > 4 * DENSE_LIMIT
    if solver.needs_matrix and not dense and too_large:
        raise ValueError(
            f"{solver!r} forms a matrix of all pairs of {max(n_columns, n_unknowns)} unknowns, "
            f"{8e-9 * max(n_columns, n_unknowns) ** 2:.1f} GB. Write solver=ConjugateGradient(), "
            "or lower n_components."
        )
    return solver
