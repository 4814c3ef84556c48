import numpy as np
from own_samples import use_kernel_everywhere

from bochner.operators import OperatorKernel


class Coupled(OperatorKernel):
    shared = np.array([[2.0, 0.5], [0.5, 1.0]])  # A of K(x, z) = k(x, z) A

    def factors(self, frequencies):
        return np.linalg.cholesky(self.shared)[None]

    def _gram(self, prior, X, Z):
        return prior.kernel(X, Z)[:, :, None, None] * self.shared

    def _onnx(self, prior, X, points, coefficients):
        return prior.onnx(X, points) @ (coefficients @ self.shared)

    def second_moment(self, differences):
        return self.kernel(differences, 0 * differences[:1])[:, 0] @ self.shared


def test_an_operator_kernel_of_ones_own_does_everything():
    use_kernel_everywhere(Coupled())
