"""Weights of the exact operator-valued ridge, against repeated rows."""

import numpy as np
import pytest

from bochner import CurlFree, Decomposable, Gaussian, OperatorKernelRidge
from bochner.operators.output_matrix import covariance_output_matrix


def test_the_covariance_of_outputs_counts_weights_as_repeated_rows():
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(30, 2)), rng.integers(1, 9, size=30)
    Y = np.column_stack([X[:, 0], X[:, 0] + X[:, 1]]) * (1 + (counts > 4))[:, None]
    model = OperatorKernelRidge(Decomposable(Gaussian(0.5), "covariance"), alpha=1.0)
    model.fit(X, Y, counts)
    expected = covariance_output_matrix(np.cov(np.repeat(Y, counts, axis=0).T, bias=True))
    np.testing.assert_allclose(model.kernel_.matrix(), expected)


@pytest.mark.parametrize("kernel", [Decomposable(Gaussian(0.5)), CurlFree(Gaussian(0.5))], ids=repr)
def test_leave_one_out_errors_of_weighted_rows_are_those_of_refits(kernel):
    rng = np.random.default_rng(0)
    X, weights, alphas = rng.normal(size=(20, 2)), rng.uniform(0.2, 5, size=20), [0.1, 1.0]
    Y = X**2 + 0.1 * rng.normal(size=(20, 2))
    model = OperatorKernelRidge(kernel, alpha=alphas).fit(X, Y, weights)
    for alpha, error in zip(alphas, model.loo_errors_):
        one = OperatorKernelRidge(kernel, alpha=alpha)
        squares = np.empty(20)
        for i in range(20):
            kept = np.arange(20) != i
            predicted = one.fit(X[kept], Y[kept], weights[kept]).predict(X[i : i + 1])
            squares[i] = np.mean((predicted - Y[i]) ** 2)
        np.testing.assert_allclose(error, np.average(squares, weights=weights))
