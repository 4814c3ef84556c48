"""An operator-valued kernel of one's own, k(x, z) A with a fixed matrix A, does everything that ours do."""

import numpy as np
from own_samples import use_kernel_everywhere

from bochner import Gaussian
from bochner.operators import OperatorKernel
from bochner.testing import check_operator_kernel

SHARED = np.array([[2.0, 0.5], [0.5, 1.0]])


class Coupled(OperatorKernel):
    def __init__(self, prior=None):
        self.prior = prior

    def n_outputs(self, n_features):
        return 2

    def factors(self, frequencies):
        return np.linalg.cholesky(SHARED)[None]

    def _gram(self, prior, X, Z):
        return prior.kernel(X, Z)[:, :, None, None] * SHARED

    def _onnx(self, prior, X, points, coefficients):
        return prior.onnx(X, points) @ (coefficients @ SHARED)

    def second_moment(self, differences):
        zero = np.zeros((1, differences.shape[1]))
        return self._gram(self.scalar_prior(), differences, zero)[:, 0] @ SHARED


def test_an_operator_kernel_of_ones_own_does_everything():
    check_operator_kernel(Coupled(Gaussian(0.4)))
    use_kernel_everywhere(Coupled())
