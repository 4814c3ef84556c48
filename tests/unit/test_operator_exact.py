"""OperatorKernelRidge against the (n p) x (n p) system, and scikit-learn's KernelRidge."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from bochner import CurlFree, Decomposable, DivergenceFree, Gaussian, Helmholtz, OperatorKernelRidge

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
KERNELS = {
    "identity": Decomposable(Gaussian(gamma=0.4)),
    "matrix": Decomposable(Gaussian(gamma=0.4), MATRIX),
    "low rank": Decomposable(Gaussian(gamma=0.4), np.outer([1.0, 2.0], [1.0, 2.0])),
    "curl-free": CurlFree(Gaussian(gamma=0.4)),
    "divergence-free": DivergenceFree(Gaussian(gamma=0.4)),
    "Helmholtz": Helmholtz(Gaussian(gamma=0.4), 0.3),
}


def problem(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1]], axis=1) + 0.1 * rng.normal(size=(n, 2))


@pytest.mark.parametrize("name", KERNELS)
def test_solution_is_that_of_the_whole_kronecker_system(name):
    X, Y = problem()
    Z, _ = problem(7, seed=1)
    for alpha in (0.3, [0.3, 1e6]):
        model = OperatorKernelRidge(KERNELS[name], alpha=alpha).fit(X, Y)
        gram = model.kernel_.kernel(X).transpose(0, 2, 1, 3).reshape(50, 50)
        coefficients = np.linalg.solve(gram + 0.3 * np.eye(50), Y.ravel())
        expected = model.kernel_.kernel(Z, X).transpose(0, 2, 1, 3).reshape(14, 50) @ coefficients
        assert model.alpha_ == 0.3
        np.testing.assert_allclose(model.predict(Z).ravel(), expected, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_leave_one_out_is_that_of_n_refits(name):
    X, Y = problem(12)
    model = OperatorKernelRidge(KERNELS[name], alpha=[0.05, 1.0]).fit(X, Y)
    for index, alpha in enumerate((0.05, 1.0)):
        single = OperatorKernelRidge(KERNELS[name], alpha=alpha)
        refits = [clone(single).fit(X[k], Y[k]).predict(X[~k])[0] for k in ~np.eye(12, dtype=bool)]
        assert model.loo_errors_[index] == pytest.approx(np.mean((Y - refits) ** 2), rel=1e-8)


def test_the_identity_is_scikit_learns_kernel_ridge():
    X, Y = problem(40)
    ours = OperatorKernelRidge(Decomposable(Gaussian(gamma=0.7)), alpha=0.2).fit(X, Y)
    theirs = KernelRidge(kernel="rbf", gamma=0.7, alpha=0.2).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-10)


def test_words_for_the_output_matrix_work_here_too():
    X, Y = problem(40)
    for word in ("covariance", "learned"):
        model = OperatorKernelRidge(Decomposable(Gaussian("scale"), word), alpha=0.1).fit(X, Y)
        assert np.trace(model.kernel_.matrix()) == pytest.approx(2)
        assert model.score(X, Y) > 0.5


def test_sizes_beyond_the_limit_are_refused_before_anything_is_allocated():
    X, Y = np.zeros((20000, 2)), np.zeros((20000, 2))
    with pytest.raises(ValueError, match="20000 x 20000"):
        OperatorKernelRidge(KERNELS["identity"]).fit(X, Y)
    with pytest.raises(ValueError, match="40000 x 40000"):
        OperatorKernelRidge(KERNELS["curl-free"]).fit(X, Y)


@pytest.mark.parametrize(
    ("kernel", "Y", "error", "message"),
    [
        (
            CurlFree(Gaussian()),
            np.ones((25, 3)),
            ValueError,
            "2 outputs on these points, but y has 3",
        ),
        (
            Decomposable(Gaussian(), MATRIX),
            np.ones((25, 3)),
            ValueError,
            "2 outputs on these points, but y has 3",
        ),
        (CurlFree(Gaussian()), np.ones(25), ValueError, "2 outputs on these points, but y has 1"),
        (Gaussian(), np.ones((25, 2)), TypeError, "kernel must be an object of OperatorKernel"),
    ],
)
def test_bad_input_is_named(kernel, Y, error, message):
    with pytest.raises(error, match=message):
        OperatorKernelRidge(kernel).fit(problem()[0], Y)


@pytest.mark.parametrize("alpha", [0.3, [0.05, 0.3, 1.0]], ids=str)
@pytest.mark.parametrize("name", [*KERNELS, "covariance", "learned", "median"])
def test_weights_are_repetitions_and_choose_the_same_ridge(name, alpha):
    X, Y = problem(20)
    words = {name: Decomposable(Gaussian("scale"), name) for name in ("covariance", "learned")}
    kernel = (KERNELS | words | {"median": CurlFree(Gaussian("median"))})[name]
    counts = np.random.default_rng(4).integers(0, 4, size=20)
    repeated = np.repeat(np.arange(20), counts)
    weighted = OperatorKernelRidge(kernel, alpha=alpha).fit(X, Y, counts)
    longer = OperatorKernelRidge(kernel, alpha=alpha).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(weighted.predict(X), longer.predict(X), atol=1e-7)
    if not np.isscalar(alpha):
        np.testing.assert_allclose(weighted.loo_errors_, longer.loo_errors_, rtol=1e-6)
    assert len(weighted.dual_coef_) == np.count_nonzero(counts)
