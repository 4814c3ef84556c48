"""The exact kernel machine: refits, the bordered system by brute force, and conjugate gradients
against Cholesky.
"""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from selection import long_except
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

import bochner.models.kernel_machine as machine_module
from bochner import (
    Anova,
    Cauchy,
    Evidence,
    Gaussian,
    KernelMachine,
    Laplace,
    Matern,
    SpectralFeatures,
    SpectralRidge,
)
from bochner.solvers.dual_iterative import GramProducts


def data(n=60, d=3, n_outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, 1]
    noise = 0.1 * rng.normal(size=(n, n_outputs or 1))
    Y = 3.0 + signal[:, None] * np.arange(1, (n_outputs or 1) + 1) + noise
    return X, Y if n_outputs else Y[:, 0]


def bordered(machine, X, Y, weights=None):
    """(a, b) and the inverse of [[K + α/h, 1], [1ᵀ, 0]] by definition; only for tests."""
    weights = np.ones(len(X)) if weights is None else weights
    linear = np.broadcast_to(np.asarray(machine.linear, dtype=float), X.shape[1:])
    K = machine.prior_.kernel(X) + (X * linear) @ X.T / X.shape[1]
    M = np.zeros((len(X) + 1, len(X) + 1))
    M[:-1, :-1] = K + machine.alpha_ * np.diag(1 / weights)
    M[-1, :-1] = M[:-1, -1] = 1
    return np.linalg.solve(M, np.vstack([Y, np.zeros((1, Y.shape[1]))])), np.linalg.inv(M)


PRIORS = [Laplace(gamma=0.3), Anova(weight=0.8), Gaussian(gamma=0.3), Matern(nu=2.5), Cauchy()]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("alpha", [0.1, [1e-2, 0.1, 1.0]])
@pytest.mark.parametrize("linear", [0.0, [0.5, 0.0, 2.0]])
def test_coefficients_solve_the_bordered_system(prior, alpha, linear):
    X, Y = data(n_outputs=2)
    weights = np.random.default_rng(1).uniform(0.3, 3.0, len(X))
    machine = KernelMachine(prior, alpha=alpha, linear=linear).fit(X, Y, weights)
    solved, _ = bordered(machine, X, Y, weights)
    np.testing.assert_allclose(machine.expansion_.coefficients, solved[:-1], atol=1e-9)
    np.testing.assert_allclose(machine.intercept_, solved[-1], atol=1e-9)
    Z = data(7, seed=5)[0]
    slopes = np.broadcast_to(linear, 3)[:, None] / 3 * X.T @ solved[:-1]
    np.testing.assert_allclose(
        machine.predict(Z), solved[-1] + Z @ slopes + prior.kernel(Z, X) @ solved[:-1], atol=1e-9
    )


def test_without_an_intercept_it_is_scikit_learns_kernel_ridge():
    X, y = data()
    ours = KernelMachine(Gaussian(gamma=0.4), alpha=0.2, fit_intercept=False).fit(
        X, y, np.arange(1.0, 61.0)
    )
    theirs = KernelRidge(kernel="rbf", gamma=0.4, alpha=0.2).fit(X, y, np.arange(1.0, 61.0))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-10)
    assert ours.intercept_ == 0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, [1e-3, 1.0]])
@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_out_equals_refits(alpha, fit_intercept, weighted):
    X, Y = data(25, n_outputs=2)
    weights = np.random.default_rng(2).uniform(0.5, 3.0, 25) if weighted else None
    machine = KernelMachine(Anova(), alpha=alpha, linear=0.3, fit_intercept=fit_intercept).fit(
        X, Y, weights
    )
    refits = np.empty_like(Y)
    for i in range(25):
        others = np.arange(25) != i
        refit = clone(machine).set_params(alpha=machine.alpha_)
        refits[i] = refit.fit(
            X[others], Y[others], None if weights is None else weights[others]
        ).predict(X[[i]])[0]
    np.testing.assert_allclose(machine.leave_one_out(), refits, atol=1e-8)
    if not weighted and isinstance(alpha, list):
        chosen = list(machine.alphas_).index(machine.alpha_)
        assert machine.loo_errors_[chosen] == pytest.approx(np.mean((Y - refits) ** 2))
        assert chosen == np.argmin(machine.loo_errors_)


def test_a_row_of_weight_three_is_three_rows_also_in_the_choice_of_the_ridge():
    X, y = data(20)
    counts = np.random.default_rng(0).integers(0, 4, 20)
    alphas = [1e-3, 1e-2, 1e-1, 1.0]
    weighted = KernelMachine(Gaussian(), alpha=alphas).fit(X, y, counts)
    repeated = KernelMachine(Gaussian(), alpha=alphas).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    np.testing.assert_allclose(weighted.loo_errors_, repeated.loo_errors_, rtol=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-9)


def test_rows_of_weight_zero_take_no_part():
    X, y = data(30)
    weights = np.where(np.arange(30) < 20, 1.5, 0.0)
    wrong = np.where(weights > 0, y, 1e6)
    machine = KernelMachine(Laplace(gamma=0.5), alpha=0.1).fit(X, wrong, weights)
    part = KernelMachine(Laplace(gamma=0.5), alpha=0.1).fit(X[:20], y[:20], weights[:20])
    np.testing.assert_allclose(machine.predict(X), part.predict(X), atol=1e-10)
    np.testing.assert_allclose(machine.leave_one_out()[:20], part.leave_one_out(), atol=1e-10)
    np.testing.assert_allclose(machine.leave_one_out()[20:], part.predict(X[20:]), atol=1e-10)


@pytest.mark.parametrize("alpha", [0.05, [0.05, 0.5]])
def test_deviations_are_those_of_the_gaussian_process_with_a_free_intercept(alpha):
    X, Y = data(40, n_outputs=2)
    weights = np.random.default_rng(2).uniform(0.5, 3.0, 40)
    machine = KernelMachine(Matern(), alpha=alpha, linear=0.7).fit(X, Y, weights)
    solved, inverse = bordered(machine, X, Y, weights)
    Z = data(9, seed=4)[0]
    cross = np.column_stack([machine.prior_.kernel(Z, X) + 0.7 / 3 * Z @ X.T, np.ones(9)])
    variance = 1 + 0.7 / 3 * np.sum(Z**2, axis=1) - np.sum(cross @ inverse * cross, axis=1)
    noise = machine.alpha_ * np.sum((Y - solved[-1]) * solved[:-1], axis=0) / weights.sum()
    np.testing.assert_allclose(machine.noise_variance_, noise, rtol=1e-9)
    mean, deviation = machine.predict(Z, return_std=True)
    np.testing.assert_allclose(
        deviation**2, noise * (1 + variance[:, None] / machine.alpha_), rtol=1e-8
    )
    np.testing.assert_array_equal(mean, machine.predict(Z))


def test_it_is_the_limit_of_spectral_ridge():
    X, y = data(80)
    exact = KernelMachine(Gaussian(gamma=0.2), alpha=0.1).fit(X, y)
    many = SpectralRidge(
        SpectralFeatures(Gaussian(gamma=0.2), n_components=1500, random_state=0), alpha=0.1
    ).fit(X, y)
    np.testing.assert_allclose(many.predict(X), exact.predict(X), atol=0.1)
    ours, theirs = (model.predict(X, return_std=True)[1] for model in (exact, many))
    np.testing.assert_allclose(theirs, ours, rtol=0.2)


def test_sparse_rows_are_made_dense():
    X, y = data()
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (
        KernelMachine(Anova(), alpha=0.1).fit(form(X), y) for form in (np.asarray, sp.csr_matrix)
    )
    np.testing.assert_allclose(sparse.predict(sp.csr_matrix(X)), dense.predict(X), atol=1e-12)
    mean, deviation = sparse.predict(sp.csr_matrix(X), return_std=True)
    assert mean.shape == deviation.shape == (60,)


def test_float32_rows_are_solved_in_float64_and_answered_in_float32():
    X, y = data()
    single = KernelMachine(Laplace(gamma=0.5), alpha=1e-4).fit(X.astype(np.float32), y)
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    double = KernelMachine(Laplace(gamma=0.5), alpha=1e-4).fit(X, y)
    np.testing.assert_allclose(single.predict(X.astype(np.float32)), double.predict(X), atol=1e-4)


def test_jacobian_and_effects_of_the_fitted_function():
    X, y = data()
    machine = KernelMachine(Anova(), alpha=0.1, linear=0.5).fit(X, y)
    step = 1e-5 * np.eye(3)[0]
    numeric = (machine.predict(X + step) - machine.predict(X - step)) / 2e-5
    np.testing.assert_allclose(machine.jacobian(X)[:, 0], numeric, atol=1e-6)
    np.testing.assert_allclose(machine.effects(X).total()[:, 0], machine.predict(X), atol=1e-8)
    assert machine.effects(X, max_order=1).pairs.shape == (60, 0, 1)


def test_a_learned_prior_with_its_noise_and_linear_part():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8)) * np.logspace(-2, 2, 8)
    y = np.sin(2 * X[:, 3] / X[:, 3].std()) + 0.1 * rng.normal(size=200)
    learned = Evidence().learn(Anova(), X[:150], y[:150], rng)
    machine = KernelMachine(learned.prior, alpha=learned.noise, linear=learned.linear).fit(
        X[:150], y[:150]
    )
    assert machine.score(X[150:], y[150:]) > 0.95
    assert (
        machine.score(X[150:], y[150:])
        > KernelMachine().fit(X[:150], y[:150]).score(X[150:], y[150:]) + 0.2
    )


# --- conjugate gradients --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior", [Laplace(gamma=0.1), Anova(weight=0.5), Cauchy(scale=3.0)], ids=repr
)
@pytest.mark.parametrize("max_bytes", [2**31, 4 * 400 * 250])
@pytest.mark.parametrize("fit_intercept", long_except([True, False], True))
def test_conjugate_gradients_reach_what_cholesky_gives(prior, max_bytes, fit_intercept):
    X, Y = data(400, n_outputs=2)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 400)
    common = {"alpha": 0.05, "linear": 0.3, "fit_intercept": fit_intercept}
    direct = KernelMachine(prior, **common).fit(X, Y, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rough = KernelMachine(
            prior, **common, solver="cg", max_bytes=max_bytes, random_state=0
        ).fit(X, Y, weights)
        fine = KernelMachine(
            prior, **common, solver="cg", max_bytes=2 * max_bytes, tol=1e-9, random_state=0
        )
        fine.fit(X, Y, weights)
    assert (direct.solver_, rough.solver_) == ("cholesky", "cg")
    np.testing.assert_allclose(fine.predict(X), direct.predict(X), atol=1e-6 * np.abs(Y).max())
    np.testing.assert_allclose(fine.intercept_, direct.intercept_, atol=1e-6)
    # Residuals of the linear system are what tol promises: f(x_i) + α a_i / h_i − y_i, relative to
    # y.
    dual = rough.expansion_.coefficients
    residual = rough.predict(X) + 0.05 / weights[:, None] * dual - Y
    assert np.linalg.norm(residual, axis=0).max() < 4e-3 * np.linalg.norm(Y, axis=0).max()
    assert np.abs(rough.predict(X) - direct.predict(X)).max() < 2e-2 * Y.std()


def test_products_row_block_by_row_block_are_those_of_the_matrix(monkeypatch):
    X, _ = data(150)
    V = np.random.default_rng(0).normal(size=(150, 3))
    linear = np.array([0.5, 0.0, 1.0])
    whole = GramProducts(Laplace(), X, linear, 2**31)
    monkeypatch.setattr("bochner.solvers.dual_iterative._BLOCK_BYTES", 8 * 150 * 40)
    blocks = GramProducts(Laplace(), X, linear, 1)
    assert blocks.gram is None
    exact = (Laplace().kernel(X) + (X * linear) @ X.T) @ V
    np.testing.assert_allclose(whole.times(V.T), exact.T, atol=1e-11)
    np.testing.assert_allclose(blocks.times(V.T), exact.T, atol=1e-11)


def test_held_out_rows_choose_the_ridge_of_conjugate_gradients(seed):
    X, y = data(600, seed=seed)
    noisy = y + np.random.default_rng(seed).normal(size=600)
    alphas = [1e-2, 1.0, 30.0]
    iterative = KernelMachine(Gaussian(gamma=1.0), alpha=alphas, solver="cg", random_state=0).fit(
        X, noisy
    )
    direct = KernelMachine(Gaussian(gamma=1.0), alpha=alphas).fit(X, noisy)
    assert iterative.held_out_errors_.shape == (3,)
    assert iterative.alpha_ == alphas[np.argmin(iterative.held_out_errors_)]
    assert iterative.alpha_ == direct.alpha_ == 1.0
    assert np.all(np.isfinite(iterative.held_out_errors_))
    fewer = KernelMachine(
        Gaussian(gamma=1.0), alpha=[1e-4, *alphas], solver="cg", random_state=0
    ).fit(X, noisy)
    assert np.isinf(fewer.held_out_errors_[0])  # 1e-2 was worse than 1 already
    assert fewer.alpha_ == 1.0
    assert not hasattr(iterative, "loo_errors_")


def test_conjugate_gradients_keep_to_their_memory():
    X, y = data(1500)
    machine = KernelMachine(
        Laplace(gamma=0.1), alpha=0.1, solver="cg", max_bytes=2**21, random_state=0
    )
    machine.fit(X, y)  # compiles
    tracemalloc.start()
    try:
        machine.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**21  # the matrix itself, in float32, would be 9 MB


def test_too_few_steps_are_a_warning_and_the_seed_decides_the_rest():
    X, y = data(300)
    hard = KernelMachine(
        Laplace(gamma=1.0), alpha=1e-3, solver="cg", tol=1e-8, max_iterations=1, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="instead of tol=1.0e-08"):
        hard.fit(X, y)
    one, two = (KernelMachine(alpha=0.1, solver="cg", random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_many_rows_are_solved_iteratively(monkeypatch):
    monkeypatch.setattr(machine_module, "_EXACT_ROWS", 50)
    X, y = data(60)
    assert KernelMachine(alpha=0.1, random_state=0).fit(X, y).solver_ == "cg"
    assert KernelMachine(alpha=0.1).fit(X[:50], y[:50]).solver_ == "cholesky"
    assert (
        KernelMachine(alpha=0.1, max_bytes=1000, random_state=0).fit(X[:50], y[:50]).solver_ == "cg"
    )


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "error", "message"),
    [
        (KernelMachine(solver="svd"), ValueError, "solver must be one of"),
        (KernelMachine(alpha=0.0), ValueError, "alpha must be positive"),
        (KernelMachine(alpha=[]), ValueError, "empty list"),
        (KernelMachine(prior="rbf"), TypeError, "prior must be an object of SpectralPrior"),
        (KernelMachine(linear=-1.0), ValueError, "linear must be one non-negative number"),
        (KernelMachine(linear=[1.0, 2.0]), ValueError, "each of 3 columns"),
        (KernelMachine(solver="cholesky", max_bytes=1000), ValueError, "60 x 60"),
        (KernelMachine(tol=0.0), ValueError, "tol must be positive"),
    ],
)
def test_bad_parameters_say_what_is_needed(machine, error, message):
    with pytest.raises(error, match=message):
        machine.fit(*data())


def test_what_an_iterative_solution_cannot_say():
    X, y = data()
    machine = KernelMachine(alpha=0.1, solver="cg", random_state=0).fit(X, y)
    for ask in (machine.leave_one_out, lambda: machine.predict(X, return_std=True)):
        with pytest.raises(ValueError, match="Fit with solver='cholesky'"):
            ask()
    with pytest.raises(ValueError, match=r"Sparse rows are made dense.*GB"):
        KernelMachine(max_bytes=100).fit(sp.csr_matrix(X), y)
    with pytest.raises(ValueError, match="n_samples = 1"):
        KernelMachine(Gaussian()).fit(X[:1], y[:1])
    one = KernelMachine(Gaussian(), alpha=1.0).fit(X[:1], y[:1])
    assert one.predict(X)[:3] == pytest.approx(y[0])


def test_dask_arrays_come_here_up_to_one_kernel_matrix():
    array = pytest.importorskip("dask.array")
    X, y = data()
    room = 8 * len(X) ** 2
    found = KernelMachine(max_bytes=room, solver="cg", random_state=0).fit(
        array.from_array(X, chunks=(9, 1)), array.from_array(y, chunks=7)
    )
    expected = KernelMachine(max_bytes=room, solver="cg", random_state=0).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    with pytest.raises(
        TypeError, match=f"X has {len(X)} of them.*Use SpectralRidge, or raise max_bytes"
    ):
        KernelMachine(max_bytes=room - 1).fit(array.from_array(X), y)
