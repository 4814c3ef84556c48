"""The decomposable kernel."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .._checks import check_choice
from .base import OperatorKernel
from .output_matrix import (
    check_output_matrix,
    covariance_output_matrix,
    learned_output_matrix,
    matrix_factor,
)

_WORDS = ("covariance", "learned")


class Decomposable(OperatorKernel):
    """K(x, z) = k(x, z) A: one scalar kernel, and one matrix A of covariances between outputs.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The kernel k.
    output_matrix : array (n_outputs, n_outputs), "covariance" or "learned", default None
        A, symmetric and positive semi-definite, of any rank (``graph_output_matrix`` makes one from
        a graph of tasks). None is the identity, independent outputs; "covariance" is the covariance
        of the training outputs; "learned" maximizes their likelihood (see
        ``learned_output_matrix``). Outside of a fit, None is one output, and "covariance" and
        "learned" raise an error because there are no outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> Decomposable(Gaussian(), np.array([[2.0, 1.0], [1.0, 2.0]])).kernel([[0.0]])[0, 0]
    array([[2., 1.],
           [1., 2.]])
    """

    decomposable: ClassVar[bool] = True
    _advice: ClassVar[str] = "Its output matrix must have one row per column of y."

    def __init__(self, prior: Any = None, output_matrix: Any = None):
        self.prior = prior
        self.output_matrix = output_matrix

    def n_outputs(self, n_features: int) -> int:
        """Return the size of the output matrix."""
        return len(self.matrix())

    def matrix(self) -> np.ndarray:
        """Return A after a check."""
        if self.output_matrix is None:
            return np.eye(1)
        if isinstance(self.output_matrix, str):
            check_choice(self.output_matrix, "output_matrix", _WORDS)
            raise ValueError(
                f"output_matrix={self.output_matrix!r} needs training outputs, and there are none. "
                "Use the kernel inside OperatorRidge, or write a matrix, e.g. "
                "output_matrix=np.cov(y.T)."
            )
        return check_output_matrix(self.output_matrix)

    def check_outputs(self, n_features: int, n_outputs: int) -> None:
        """Check y if the output matrix is given as numbers."""
        if self.output_matrix is not None and not isinstance(self.output_matrix, str):
            super().check_outputs(n_features, n_outputs)

    @property
    def learns_outputs(self) -> bool:
        return isinstance(self.output_matrix, str) and self.output_matrix == "learned"

    def resolved_outputs(self, covariance: np.ndarray, spectrum: tuple | None = None) -> Self:
        """Return this kernel with its output matrix as numbers."""
        if self.output_matrix is None:
            matrix = np.eye(len(covariance))
        elif not isinstance(self.output_matrix, str):
            matrix = check_output_matrix(self.output_matrix)
        elif check_choice(self.output_matrix, "output_matrix", _WORDS) == "covariance":
            matrix = covariance_output_matrix(covariance)
        elif spectrum is None:
            raise ValueError(
                "output_matrix='learned' needs the Gram matrix of the features: there are too many "
                "of them, or the solver is StochasticGradient. Lower n_components, or write "
                "output_matrix='covariance'."
            )
        else:
            matrix = learned_output_matrix(*spectrum)[0]
        return clone(self).set_params(output_matrix=matrix)

    def factors(self, frequencies: np.ndarray) -> np.ndarray:
        """Return one factor of A for all frequencies, without eigenvectors of eigenvalue zero."""
        return matrix_factor(self.matrix())[None]

    def _gram(self, prior, X, Z):
        return prior.kernel(X, Z)[:, :, None, None] * self.matrix()

    def _onnx(self, prior, X, points, coefficients):
        return prior.onnx(X, points) @ (coefficients @ self.matrix())

    def spectral_constants(self, n_features):
        prior, at_zero = self.checked_prior(), np.zeros((1, n_features))
        hessian = prior.hessian(at_zero, at_zero, np.arange(n_features))[0, 0]
        mean_square = np.trace(hessian) / prior.kernel(at_zero)[0, 0]
        sup_norm = float(np.linalg.norm(self.kernel(at_zero)[0, 0], 2))
        return sup_norm * float(np.sqrt(mean_square)), sup_norm / np.log(2)
