"""Gaussian process behind ``KernelMachine``: likelihood, covariances and draws by brute force; and
ridges beyond the edges of a grid.
"""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import bochner
from bochner import Evidence, Gaussian, KernelMachine, Laplace, Matern
from bochner.solvers.choice import with_further_ridges


def data(n=40, d=2, n_outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(2 * X[:, :1]) * np.arange(1, (n_outputs or 1) + 1) + 1.5
    Y = Y + 0.3 * rng.normal(size=Y.shape)
    return X, Y if n_outputs else Y[:, 0]


def covariance_of_targets(machine, X):
    """K + α of single observations, by definition."""
    linear = np.broadcast_to(machine.linear, X.shape[1]) / X.shape[1]
    return machine.prior_.kernel(X) + (X * linear) @ X.T + machine.alpha_ * np.eye(len(X))


# --- marginal likelihood --------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.2, [0.02, 0.2, 2.0]])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_outputs", [None, 3])
def test_marginal_likelihood_is_the_density_of_the_targets(alpha, fit_intercept, n_outputs):
    X, y = data(n_outputs=n_outputs)
    machine = KernelMachine(
        Gaussian(0.5), alpha=alpha, linear=0.3, fit_intercept=fit_intercept
    ).fit(X, y)
    C = covariance_of_targets(machine, X)
    columns = y.reshape(len(X), -1).T
    amplitudes = np.atleast_1d(machine.noise_variance_) / machine.alpha_
    intercepts = np.atleast_1d(machine.intercept_)
    densities = [
        multivariate_normal.logpdf(column, np.full(len(X), b), s2 * C)
        for column, b, s2 in zip(columns, intercepts, amplitudes)
    ]
    assert machine.log_marginal_likelihood_ == pytest.approx(sum(densities), rel=1e-9)
    # No other amplitude or intercept is more likely.
    for column, b, s2, density in zip(columns, intercepts, amplitudes, densities):

        def negative(numbers, column=column):
            mean = np.full(len(X), numbers[1] if fit_intercept else 0.0)
            return -multivariate_normal.logpdf(column, mean, np.exp(numbers[0]) * C)

        best = minimize(negative, [0.0, 0.0], method="Nelder-Mead", options={"fatol": 1e-9})
        assert -best.fun == pytest.approx(density, abs=1e-6)
        assert np.exp(best.x[0]) == pytest.approx(s2, rel=1e-3)
        assert not fit_intercept or best.x[1] == pytest.approx(b, abs=1e-2)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.2, [0.1, 0.2, 0.4]])
def test_marginal_likelihood_of_a_row_of_weight_three_is_that_of_three_rows(alpha, fit_intercept):
    X, y = data(20)
    counts = np.random.default_rng(1).integers(0, 4, 20)
    machine = KernelMachine(Gaussian(0.5), alpha=alpha, fit_intercept=fit_intercept)
    weighted = machine.fit(X, y, counts).log_marginal_likelihood_
    repeated = machine.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted == pytest.approx(repeated.log_marginal_likelihood_, rel=1e-8)


def test_marginal_likelihood_is_the_objective_of_evidence():
    X, y = data(60, d=1)
    X, y = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()
    learned = Evidence(n_rows=60).learn(Gaussian(), X, y, 0)
    machine = KernelMachine(
        learned.prior, alpha=learned.noise, linear=learned.linear, fit_intercept=False
    )
    likelihood = machine.fit(X, y).log_marginal_likelihood_
    constant = (1 + np.log(2 * np.pi)) / 2
    assert learned.objective == pytest.approx(-likelihood / 60 - constant, abs=1e-9)


# --- covariances and draws ------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.1, [0.01, 0.1, 1.0]])
def test_covariances_are_those_of_the_gaussian_process(alpha, fit_intercept):
    X, Y = data(n_outputs=2)
    weights = np.random.default_rng(2).uniform(0.5, 3.0, len(X))
    machine = KernelMachine(Matern(), alpha=alpha, linear=0.7, fit_intercept=fit_intercept)
    machine.fit(X, Y, weights)
    Z = data(7, seed=4)[0]
    both = np.vstack([X, Z])
    K = machine.prior_.kernel(both) + 0.35 * both @ both.T
    # A flat prior on the intercept is one of huge variance.
    K += 1e7 * fit_intercept
    noise = machine.alpha_ * np.diag(np.append(1 / weights, np.ones(7)))
    C = K + noise
    posterior = C[40:, 40:] - C[40:, :40] @ np.linalg.solve(C[:40, :40], C[:40, 40:])
    mean, covariance = machine.predict(Z, return_cov=True)
    assert covariance.shape == (7, 7, 2)
    amplitudes = machine.noise_variance_ / machine.alpha_
    np.testing.assert_allclose(covariance, posterior[:, :, None] * amplitudes, atol=1e-5)
    np.testing.assert_array_equal(mean, machine.predict(Z))
    deviations = machine.predict(Z, return_std=True)[1]
    np.testing.assert_allclose(np.einsum("iik->ik", covariance), deviations**2, rtol=1e-9)
    one = KernelMachine(Matern(), alpha=0.1).fit(X, Y[:, 0])
    assert one.predict(Z, return_cov=True)[1].shape == (7, 7)


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_draws_have_the_mean_and_the_covariances_of_the_posterior(noise, n_outputs, seed):
    X, y = data(25, n_outputs=n_outputs, seed=seed)
    machine = KernelMachine(Gaussian(0.5), alpha=0.3).fit(X, y)
    Z, n_draws = np.vstack([X[:3], X[:1], data(3, seed=seed + 10)[0]]), 4000
    mean, covariance = machine.predict(Z, return_cov=True)
    draws = machine.sample_y(Z, n_draws, seed, noise=noise)
    assert draws.shape == (*mean.shape, n_draws)
    mean, draws = mean.reshape(7, -1), draws.reshape(7, -1, n_draws)
    covariance = covariance.reshape(7, 7, -1)
    noises = np.atleast_1d(machine.noise_variance_) * (not noise)
    centered = draws - mean[:, :, None]
    for k in range(mean.shape[1]):
        expected = covariance[:, :, k] - noises[k] * np.eye(7)
        variances = np.diag(expected)
        errors = np.sqrt(variances / n_draws)
        assert np.abs(centered[:, k].mean(axis=1) / errors).max() < 5
        found = centered[:, k] @ centered[:, k].T / n_draws
        errors = np.sqrt((np.outer(variances, variances) + expected**2) / n_draws)
        assert np.abs((found - expected) / errors).max() < 5
    if n_outputs:  # outputs are independent
        products = centered[:, 0] @ centered[:, 1].T / n_draws
        scales = np.outer(centered[:, 0].std(axis=1), centered[:, 1].std(axis=1))
        assert np.abs(products / scales).max() * np.sqrt(n_draws) < 5
    if not noise:  # one function: equal rows have equal values
        np.testing.assert_allclose(draws[3], draws[0], atol=1e-6)


def test_likelihood_covariances_and_draws_are_those_of_scikit_learn():
    X, y = data(30)
    ours = KernelMachine(Gaussian(0.5), alpha=0.05, fit_intercept=False).fit(X, y)
    s2 = ours.noise_variance_ / 0.05
    kernel = ConstantKernel(s2, "fixed") * RBF(1.0, "fixed")
    theirs = GaussianProcessRegressor(kernel, alpha=ours.noise_variance_).fit(X, y)
    assert ours.log_marginal_likelihood_ == pytest.approx(theirs.log_marginal_likelihood_value_)
    Z = data(6, seed=3)[0]
    (mean, covariance), found = theirs.predict(Z, return_cov=True), ours.predict(Z, return_cov=True)
    np.testing.assert_allclose(found[0], mean, rtol=1e-8)
    # Theirs is the covariance of the function, ours that of observations.
    np.testing.assert_allclose(
        found[1], covariance + ours.noise_variance_ * np.eye(6), rtol=1e-8, atol=1e-10
    )
    assert ours.sample_y(Z, 4).shape == theirs.sample_y(Z, 4).shape == (6, 4)
    np.testing.assert_array_equal(ours.sample_y(Z), ours.sample_y(Z, random_state=0))
    assert np.any(ours.sample_y(Z) != ours.sample_y(Z, random_state=1))
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.sample_y(Z, 2), ours.sample_y(Z, 2))
    assert again.log_marginal_likelihood_ == ours.log_marginal_likelihood_


def test_covariances_and_draws_are_refused_before_any_work():
    X, y = data()
    machine = KernelMachine(alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="Write return_cov=True: the roots of its diagonal"):
        machine.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match=r"covariances of 40 rows need .* Give fewer rows"):
        machine.set_params(max_bytes=1000).sample_y(X)
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        machine.sample_y(X, 0)
    with pytest.raises(TypeError, match="noise must be True or False"):
        machine.sample_y(X, noise=None)
    iterative = KernelMachine(alpha=0.1, solver="cg", random_state=0).fit(X, y)
    for ask in (iterative.sample_y, lambda rows: iterative.predict(rows, return_cov=True)):
        with pytest.raises(ValueError, match="Covariances need a direct solution"):
            ask(X)
    assert not hasattr(iterative, "log_marginal_likelihood_")
    assert not hasattr(machine.set_params(solver="cg").fit(X, y), "log_marginal_likelihood_")


# --- ridges beyond the edges ----------------------------------------------------------------------


def test_smaller_ridges_are_tried_below_the_best():
    X, _ = data(60)
    smooth = np.sin(X[:, 0]) + X[:, 1]
    machine = KernelMachine(Gaussian(0.3), alpha=[1e-2, 1e-1]).fit(X, smooth)
    assert len(machine.alphas_) == len(machine.loo_errors_) > 3
    np.testing.assert_allclose(machine.alphas_[:4], [1e-2, 1e-1, 1e-3, 1e-4])
    assert machine.alpha_ == machine.alphas_[np.argmin(machine.loo_errors_)] < 1e-3
    residuals = smooth - machine.leave_one_out()
    assert np.mean(residuals**2) == pytest.approx(machine.loo_errors_.min(), rel=1e-6)
    exact = KernelMachine(Gaussian(0.3), alpha=machine.alpha_).fit(X, smooth)
    np.testing.assert_allclose(machine.predict(X), exact.predict(X), atol=1e-6)


def test_smaller_ridges_end_above_the_rounding_of_the_kernel_matrix():
    X, _ = data(60)
    machine = KernelMachine(Gaussian(0.3), alpha=[1e-6, 1e-5]).fit(X, np.sin(X[:, 0]))
    largest = np.linalg.eigvalsh(machine.prior_.kernel(X))[-1]
    assert 1e-10 * largest <= machine.alpha_ == machine.alphas_.min() < 1e-9 * largest


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_larger_ridges_are_tried_above_the_best(solver):
    X, _ = data(200, d=3)
    noise = np.random.default_rng(1).normal(size=200)
    machine = KernelMachine(Laplace(3.0), alpha=[1e-3, 1e-2], solver=solver, random_state=0)
    machine.fit(X, noise)
    errors = machine.loo_errors_ if solver == "cholesky" else machine.held_out_errors_
    assert len(errors) == len(machine.alphas_) <= 8
    np.testing.assert_allclose(machine.alphas_[2:4], [0.1, 1.0])
    assert machine.alpha_ == machine.alphas_[np.argmin(errors)] >= 1.0


def test_ridges_inside_the_grid_are_the_only_ones():
    X, y = data(60)
    alphas = [1e-3, 0.1, 10.0]
    machine = KernelMachine(Gaussian(0.5), alpha=alphas).fit(X, y)
    assert (machine.alpha_, list(machine.alphas_)) == (0.1, alphas)
    iterative = KernelMachine(Gaussian(0.5), alpha=[1e-3, 1e-2], solver="cg", random_state=0)
    assert list(iterative.fit(X, np.sin(X[:, 0])).alphas_) == [1e-3, 1e-2]  # not below, by cg
    assert not hasattr(KernelMachine(alpha=0.1).fit(X, y), "alphas_")


@pytest.mark.parametrize(
    ("alphas", "error_of", "smallest", "expected"),
    [
        ([1.0, 0.1], lambda a: a, 0.0, [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]),
        ([1.0, 0.1], lambda a: a, 1e-3, [1e-2, 1e-3]),
        ([1.0, 0.1], lambda a: a, 0.5, []),
        ([1.0, 0.1], lambda a: a, np.inf, []),
        ([0.1, 1.0], lambda a: 1 / a, np.inf, [1e1, 1e2, 1e3, 1e4, 1e5, 1e6]),
        ([0.1, 1.0], lambda a: 1 + 0.01 / a, 0.0, [10.0]),
        ([0.1, 1.0, 10.0], lambda a: abs(np.log(a)), 0.0, []),
        ([1.0, 0.1], lambda a: 3.0, 0.0, []),
        ([1.0, 0.1], lambda a: np.inf if a < 2 else 1.0, 0.0, [10.0]),
    ],
)
def test_further_ridges(alphas, error_of, smallest, expected):
    errors = np.array([error_of(a) for a in alphas])
    found, found_errors = with_further_ridges(np.array(alphas), errors, error_of, smallest)
    np.testing.assert_allclose(found, [*alphas, *expected])
    np.testing.assert_array_equal(found_errors, [error_of(a) for a in found])


def test_a_machine_with_one_ridge_is_saved_and_loaded_without_its_factor(tmp_path):
    X = np.linspace(0, 3, 30)[:, None]
    machine = KernelMachine(Gaussian(1.0), alpha=0.1).fit(X, np.sin(X[:, 0]))
    expected = machine.predict(X, return_std=True)
    path = tmp_path / "machine.skops"
    bochner.save(machine, path)
    assert path.stat().st_size < 20_000
    for found, wanted in zip(bochner.load(path).predict(X, return_std=True), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
