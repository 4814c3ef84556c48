"""OperatorRidge against dense solves, refits, streams and finite differences."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from selection import long_except
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from bochner import (
    LBFGS,
    Cholesky,
    ConjugateGradient,
    CurlFree,
    Decomposable,
    DivergenceFree,
    Eigen,
    Gaussian,
    HarmonicMeasure,
    Helmholtz,
    Matern,
    OperatorKernelRidge,
    OperatorRidge,
    SpectralFeatures,
    StochasticGradient,
    graph_output_matrix,
)
from bochner.learners.alignment import potential
from bochner.learners.base import Learned, Learner

MATRIX = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, 0.0], [0.3, 0.0, 0.7]])
LOW_RANK = np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0])
KERNELS = {
    "identity": Decomposable(Gaussian(gamma=0.4)),
    "matrix": Decomposable(Gaussian(gamma=0.4), MATRIX),
    "low rank": Decomposable(Gaussian(gamma=0.4), LOW_RANK),
    "curl-free": CurlFree(Gaussian(gamma=0.4)),
    "divergence-free": DivergenceFree(Gaussian(gamma=0.4)),
    "Helmholtz": Helmholtz(Gaussian(gamma=0.4), curl_share=0.3),
}


def problem(n=40, seed=0, noise=0.3):
    """A smooth field in space with noise; three inputs, three outputs, one of them with an offset."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, size=(n, 3))
    field = np.stack(
        [np.sin(X[:, 0]) + X[:, 1], np.cos(X[:, 1] * X[:, 2]), X[:, 0] * X[:, 2] - 1.0], axis=1
    )
    return X, field + noise * rng.normal(size=field.shape)


def dense_prediction(model, X, Y, Z, alpha, weights=None, intercept=False):
    """θ from the stacked (n p) x (2 D p') matrix, as the paper writes it; only for tests."""
    weights = np.ones(len(X)) if weights is None else weights
    Psi = model.measure_.features(X)
    target = Y.copy()
    test = model.measure_.features(Z)
    shift = 0.0
    if intercept:
        mean_features, mean_targets = (
            np.average(Psi, axis=0, weights=weights),
            np.average(Y, axis=0, weights=weights),
        )
        Psi, target, test, shift = (
            Psi - mean_features,
            Y - mean_targets,
            test - mean_features,
            mean_targets,
        )
    root = np.sqrt(weights)
    stacked = (root[:, None, None] * Psi).reshape(-1, Psi.shape[2])
    right = (root[:, None] * target).ravel()
    theta = np.linalg.solve(
        stacked.T @ stacked + alpha * np.eye(stacked.shape[1]), stacked.T @ right
    )
    return test @ theta + shift


DENSE_SOLVERS = {
    "default": None,
    "Eigen": Eigen(),
    "Cholesky": Cholesky(),
    "ConjugateGradient": ConjugateGradient(tol=1e-13),
    "LBFGS": LBFGS(tol=1e-11),
}
# Fewer and more rows than features.
DENSE_CASES = long_except(
    list(itertools.product(KERNELS, DENSE_SOLVERS, [12, 60], [False, True])),
    *itertools.product(KERNELS, ["default"], [12, 60], [True]),
    *itertools.product(["matrix"], DENSE_SOLVERS, [60], [False]),
)


@pytest.mark.parametrize("case", DENSE_CASES, ids=str)
def test_solution_is_that_of_the_dense_normal_equations(case):
    name, solver, n_samples, intercept = case
    solver = DENSE_SOLVERS[solver]
    X, Y = problem(n_samples)
    Z, _ = problem(9, seed=1)
    weights = np.random.default_rng(2).uniform(0.2, 2, n_samples)
    model = OperatorRidge(
        KERNELS[name],
        n_components=10,
        alpha=0.3,
        solver=solver,
        fit_intercept=intercept,
        random_state=0,
    )
    for row_weights in (None, weights):
        model.fit(X, Y, row_weights)
        expected = dense_prediction(model, X, Y, Z, 0.3, row_weights, intercept)
        # L-BFGS stops where the objective no longer changes in double precision: half of the digits
        # of the solution.
        np.testing.assert_allclose(
            model.predict(Z), expected, atol=1e-6 if isinstance(solver, LBFGS) else 1e-8
        )


@pytest.mark.parametrize("name", ["matrix", "curl-free"])
def test_features_beyond_a_gram_matrix_are_solved_by_passes_over_the_rows(name, monkeypatch):
    import bochner.solvers.choice as module

    X, Y = problem(60)
    settings = {"n_components": 10, "alpha": 0.3, "fit_intercept": True, "random_state": 0}
    expected = OperatorRidge(KERNELS[name], **settings).fit(X, Y).predict(X)
    monkeypatch.setattr(module, "DENSE_LIMIT", 8)
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    assert isinstance(OperatorRidge(KERNELS[name], **settings).fit(X, Y).solver_, ConjugateGradient)
    for solver in (ConjugateGradient(tol=1e-12), LBFGS(tol=1e-12)):
        model = OperatorRidge(KERNELS[name], solver=solver, **settings).fit(X, Y)
        assert model.solver_ is solver
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-7)
    weighted = OperatorRidge(KERNELS[name], solver=ConjugateGradient(tol=1e-12), **settings).fit(
        X, Y, weights
    )
    np.testing.assert_allclose(
        weighted.predict(X), dense_prediction(weighted, X, Y, X, 0.3, weights, True), atol=1e-7
    )
    chosen = OperatorRidge(KERNELS[name], **settings | {"alpha": [1.0, 0.3]}).fit(X, Y)
    assert len(chosen.loo_errors_) == 2
    assert isinstance(chosen.solver_, ConjugateGradient)
    with pytest.raises(ValueError, match=r"partial_fit (keeps|chooses)"):
        OperatorRidge(KERNELS[name], **settings | {"alpha": "auto"}).partial_fit(X, Y)
    with pytest.raises(ValueError, match="Lower n_components"):
        model.predict(X, return_std=True)


@pytest.mark.parametrize("intercept", long_except([False, True], True))
@pytest.mark.parametrize("n_samples", long_except([9, 30], 9))
@pytest.mark.parametrize("name", KERNELS)
def test_leave_one_out_is_that_of_n_refits(name, n_samples, intercept):
    X, Y = problem(n_samples)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, n_samples)
    model = OperatorRidge(
        KERNELS[name], n_components=8, alpha=[0.05, 0.7], fit_intercept=intercept, random_state=0
    ).fit(X, Y, weights)
    errors = []
    for alpha in (0.05, 0.7):
        single = OperatorRidge(
            KERNELS[name], n_components=8, alpha=alpha, fit_intercept=intercept, random_state=0
        ).fit(X, Y, weights)
        without_row = np.empty_like(Y)
        for i in range(n_samples):
            this = np.arange(n_samples) == i
            other = clone(single).fit(X[~this], Y[~this], weights[~this])
            without_row[i] = other.predict(X[[i]])[0]
        np.testing.assert_allclose(single.leave_one_out(X, Y, weights), without_row, atol=1e-8)
        errors.append(np.average(np.mean((Y - without_row) ** 2, axis=1), weights=weights))
    np.testing.assert_allclose(model.loo_errors_, errors, rtol=1e-8)
    assert model.alpha_ == (0.05, 0.7)[np.argmin(errors)]


@pytest.mark.parametrize("name", KERNELS)
def test_weights_and_repeated_rows_choose_the_same_ridge(name):
    X, Y = problem(30)
    counts = np.random.default_rng(4).integers(0, 4, size=30)
    repeated = np.repeat(np.arange(30), counts)
    ridge = OperatorRidge(
        KERNELS[name], n_components=8, alpha=[0.05, 0.7, 3.0], fit_intercept=True, random_state=0
    )
    weighted, longer = clone(ridge).fit(X, Y, counts), clone(ridge).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(weighted.loo_errors_, longer.loo_errors_, rtol=1e-7)
    np.testing.assert_allclose(weighted.predict(X), longer.predict(X), atol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_partial_fit_is_exact_whatever_the_batches(name):
    X, Y = problem(50)
    settings = {"n_components": 10, "alpha": 0.3, "fit_intercept": True, "random_state": 0}
    whole = OperatorRidge(KERNELS[name], **settings).fit(X, Y)
    streamed = OperatorRidge(KERNELS[name], **settings)
    for rows in (slice(0, 7), slice(7, 8), slice(8, 50)):
        streamed.partial_fit(X[rows], Y[rows])
        streamed.predict(X[:1])  # asking early must not change the end
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=1e-9)
    np.testing.assert_allclose(streamed.intercept_, whole.intercept_, atol=1e-9)
    np.testing.assert_allclose(
        streamed.predict(X, return_std=True)[1], whole.predict(X, return_std=True)[1], rtol=1e-6
    )
    after_fit = (
        OperatorRidge(KERNELS[name], **settings).fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    )
    np.testing.assert_allclose(after_fit.predict(X), whole.predict(X), atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_merged_fits_are_the_fit_of_all_rows(name):
    X, Y = problem(50)
    settings = {"n_components": 10, "alpha": 0.3, "fit_intercept": True, "random_state": 0}
    whole = OperatorRidge(KERNELS[name], **settings).fit(X, Y)
    first, second = (
        OperatorRidge(KERNELS[name], **settings).fit(X[rows], Y[rows])
        for rows in (slice(20), slice(20, 50))
    )
    first.merge(second)
    np.testing.assert_allclose(first.coef_, whole.coef_, atol=1e-9)
    np.testing.assert_allclose(first.predict(X), whole.predict(X), atol=1e-9)
    np.testing.assert_allclose(first.noise_variance_, whole.noise_variance_, rtol=1e-8)
    third = OperatorRidge(Decomposable(Gaussian(gamma=0.4), np.diag([1.0, 2.0, 3.0])), **settings)
    with pytest.raises(ValueError, match="different features"):
        first.merge(third.fit(X, Y))


@pytest.mark.parametrize("word", ["covariance", "learned"])
def test_matrices_from_the_outputs_follow_the_stream(word):
    X, Y = problem(60)
    kernel = Decomposable(Gaussian(gamma=0.4), word)
    whole = OperatorRidge(kernel, n_components=10, alpha=1.0, random_state=0).fit(X, Y)
    streamed = OperatorRidge(kernel, n_components=10, alpha=1.0, random_state=0).partial_fit(
        X[:20], Y[:20]
    )
    early = streamed.predict(X[:2])
    streamed.partial_fit(X[20:], Y[20:])
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), atol=1e-7)
    np.testing.assert_allclose(streamed.kernel_.matrix(), whole.kernel_.matrix(), atol=1e-7)
    assert np.abs(early - streamed.predict(X[:2])).max() > 1e-6
    np.testing.assert_allclose(np.trace(whole.kernel_.matrix()), 3)


def test_blocks_threads_sparse_and_dask_change_nothing():
    da = pytest.importorskip("dask.array")
    X, Y = problem(70)
    for name in ("matrix", "Helmholtz"):
        settings = {"n_components": 10, "alpha": 0.3, "fit_intercept": True, "random_state": 0}
        whole = OperatorRidge(KERNELS[name], **settings).fit(X, Y)
        blocks = (
            OperatorRidge(KERNELS[name], **settings).set_params(features__block_size=9).fit(X, Y)
        )
        np.testing.assert_allclose(blocks.predict(X), whole.predict(X), atol=1e-9)
        sparse = OperatorRidge(KERNELS[name], **settings).fit(sp.csr_matrix(X), Y)
        np.testing.assert_allclose(sparse.predict(sp.csr_matrix(X)), whole.predict(X), atol=1e-9)
        rows, targets = da.from_array(X, chunks=(25, 3)), da.from_array(Y, chunks=(30, 3))
        spread = OperatorRidge(KERNELS[name], **settings).fit(rows, targets)
        np.testing.assert_allclose(spread.predict(rows).compute(), whole.predict(X), atol=1e-9)


def test_float32_in_float32_out():
    X, Y = problem(60)
    for kernel in KERNELS.values():
        model = OperatorRidge(kernel, n_components=20, alpha=0.1, random_state=0)
        exact = model.fit(X, Y).predict(X)
        single = model.fit(X.astype(np.float32), Y).predict(X.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, exact, atol=2e-3)


@pytest.mark.parametrize(
    "name", long_except(["matrix", "curl-free", "divergence-free"], "curl-free")
)
def test_random_features_approach_the_exact_ridge_like_one_over_root_d(name):
    """The mean squared distance to the exact solution must fall like 1/D: z-score of the fitted
    exponent.
    """
    X, Y = problem(60)
    Z, _ = problem(40, seed=3)
    exact = OperatorKernelRidge(KERNELS[name], alpha=30.0).fit(X, Y).predict(Z)
    sizes = np.array([40, 160, 640])
    logs = np.empty((3, 12))
    for i, size in enumerate(sizes):
        for seed in range(12):
            model = OperatorRidge(
                KERNELS[name], n_components=int(size), alpha=30.0, random_state=seed
            ).fit(X, Y)
            logs[i, seed] = np.log(np.sqrt(np.mean((model.predict(Z) - exact) ** 2)))
    slopes = np.polyfit(np.log(sizes), logs, 1)[0]
    assert abs(slopes.mean() + 0.5) < 4 * slopes.std(ddof=1) / np.sqrt(12) + 0.03


@pytest.mark.parametrize("name", KERNELS)
def test_ridges_below_rounding_still_interpolate(name):
    """A Cholesky factor may not exist; the answer must be finite and close to the data all the
    same.
    """
    X, Y = problem(20, noise=0.0)
    X = np.concatenate([X, X[:5]])  # repeated rows make the Gram matrix singular
    Y = np.concatenate([Y, Y[:5]])
    model = OperatorRidge(
        KERNELS[name], n_components=60, alpha=1e-15, fit_intercept=True, random_state=0
    ).fit(X, Y)
    assert np.all(np.isfinite(model.predict(X)))
    if name in ("identity", "matrix", "Helmholtz"):
        assert model.score(X, Y) > 0.999


@pytest.mark.parametrize(
    "case",
    long_except(
        list(itertools.product(["matrix", "curl-free", "Helmholtz"], [False, True])),
        ("matrix", False),
        ("Helmholtz", True),
    ),
    ids=str,
)
def test_stochastic_descent_comes_near_the_solution(case, seed):
    name, intercept = case
    X, Y = problem(400, seed)
    settings = {"n_components": 10, "alpha": 4.0, "fit_intercept": intercept, "random_state": seed}
    direct = OperatorRidge(KERNELS[name], **settings).fit(X, Y)
    descent = OperatorRidge(KERNELS[name], solver=StochasticGradient(n_epochs=200), **settings).fit(
        X, Y
    )

    def risk(model, alpha=4.0):
        """Objective without the shared part: residuals and the norm of the smallest θ that gives f."""
        theta = np.linalg.lstsq(_expansion(model.measure_), model.coef_.T.ravel(), rcond=None)[0]
        return np.sum((model.predict(X) - Y) ** 2) + alpha * theta @ theta

    assert risk(descent) < 1.01 * risk(direct)


def _expansion(measure):
    return np.stack([measure.expand(row).ravel() for row in np.eye(measure.n_columns)], axis=1)


@pytest.mark.parametrize("intercept", long_except([False, True], True))
@pytest.mark.parametrize(
    "n_samples", [9, 60]
)  # fewer rows than columns: some directions were never seen
@pytest.mark.parametrize("name", KERNELS)
def test_deviation_is_that_of_the_dense_posterior(name, n_samples, intercept):
    """noise · (1 + diag Ψ(x)(ΨᵀΨ + αI)⁻¹Ψ(x)ᵀ), and 1/n for the intercept; noise yᵀ(y − Ψθ)/(np)."""
    X, Y = problem(n_samples)
    Z, _ = problem(7, seed=1)
    model = OperatorRidge(
        KERNELS[name], n_components=10, alpha=0.3, fit_intercept=intercept, random_state=0
    ).fit(X, Y)
    Psi, test, target = model.measure_.features(X), model.measure_.features(Z), Y
    if intercept:
        Psi, test, target = Psi - Psi.mean(axis=0), test - Psi.mean(axis=0), Y - Y.mean(axis=0)
    stacked = Psi.reshape(-1, Psi.shape[2])
    inverse = np.linalg.inv(stacked.T @ stacked + 0.3 * np.eye(stacked.shape[1]))
    noise = (
        target.ravel()
        @ (target.ravel() - stacked @ inverse @ stacked.T @ target.ravel())
        / target.size
    )
    own = np.einsum("ija,ab,ijb->ij", test, inverse, test) + (1 / n_samples if intercept else 0)
    assert model.noise_variance_ == pytest.approx(noise, rel=1e-6)
    np.testing.assert_allclose(
        model.predict(Z, return_std=True)[1], np.sqrt(noise * (1 + own)), rtol=1e-6
    )


def test_predictive_deviation_is_calibrated(seed):
    """On data drawn from the model itself, standardized errors have variance one."""
    rng = np.random.default_rng(seed)
    X, Z = rng.uniform(-1, 1, size=(150, 2)), rng.uniform(-2, 2, size=(500, 2))
    for kernel in (
        Decomposable(Gaussian(gamma=0.5), MATRIX[:2, :2]),
        CurlFree(Gaussian(gamma=0.5)),
    ):
        ratios = []
        for child in rng.spawn(20):
            measure = kernel.sample(15, 2, child)
            theta = child.normal(size=measure.n_columns)
            noise = 0.3

            def observe(points, child=child, measure=measure, theta=theta, noise=noise):
                return measure.features(points) @ theta + noise * child.normal(
                    size=(len(points), 2)
                )

            lifted = clone(kernel).set_params(prior=measure.scalar)
            model = OperatorRidge(lifted, alpha=noise**2).fit(X, observe(X))
            mean, std = model.predict(Z, return_std=True)
            ratios.append(np.mean(((observe(Z) - mean) / std) ** 2))
        ratios = np.array(ratios)
        assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / np.sqrt(len(ratios))


def test_deviation_grows_away_from_the_data():
    X, Y = problem(50)
    for kernel in KERNELS.values():
        model = OperatorRidge(kernel, n_components=30, alpha=0.1, random_state=0).fit(X, Y)
        near, far = model.predict(X, return_std=True)[1], model.predict(X + 20, return_std=True)[1]
        assert np.mean(far) > np.mean(near)


class FourierPeaks(Learner):
    """A small learner: weights in proportion to the power of the outputs at each frequency."""

    def _learn(self, measure, rows, target, rng, weights):
        power = potential(measure, rows, target.rows - target.rows.mean(axis=0))
        return Learned(measure.reweighted(power / power.sum()), None)


class Harmonics(Learner):
    """Leaves frequencies for the sphere."""

    def _learn(self, measure, rows, target, rng, weights):
        return Learned(HarmonicMeasure(np.array([[1, 0]]), np.ones(1)), None)


def test_measures_without_frequencies_are_refused():
    X, Y = problem(20)
    with pytest.raises(TypeError, match=r"Harmonics\(\) gives a HarmonicMeasure"):
        OperatorRidge(features=SpectralFeatures(learner=Harmonics())).fit(X, Y)


@pytest.mark.parametrize(
    "kernel", [CurlFree(Gaussian(0.4)), DivergenceFree(Gaussian(0.4)), Decomposable(Gaussian(0.4))]
)
def test_a_learned_scalar_measure_works_inside_every_kernel(kernel):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    wave = 3.0 * X[:, 0] + 1.0 * X[:, 1]
    direction = np.array([3.0, 1.0]) if isinstance(kernel, CurlFree) else np.array([-1.0, 3.0])
    Y = np.cos(wave)[:, None] * direction + 0.1 * rng.normal(size=(300, 2))
    plain = OperatorRidge(kernel, n_components=30, alpha=1.0, random_state=0).fit(X[:200], Y[:200])
    features = SpectralFeatures(learner=FourierPeaks(), n_components=30, n_candidates=2000)
    learned = OperatorRidge(kernel, features=features, alpha=1.0, random_state=0).fit(
        X[:200], Y[:200]
    )
    assert len(learned.measure_) == 30
    assert learned.score(X[200:], Y[200:]) > plain.score(X[200:], Y[200:])
    if isinstance(kernel, CurlFree):
        assert np.abs(learned.curl(X)).max() < 1e-10
    # The same measure inside the exact ridge: both know the same kernel.
    again = clone(kernel).set_params(prior=learned.measure_.scalar)
    exact = OperatorKernelRidge(again, alpha=1.0).fit(X[:200], Y[:200])
    np.testing.assert_allclose(exact.predict(X[200:]), learned.predict(X[200:]), atol=1e-8)


def test_pac_bayes_on_vector_targets_then_curl_free():
    """The pseudo-posterior over frequencies, learned from a vector field, inside a kernel of
    gradients.
    """
    pac_bayes = pytest.importorskip("bochner.learners.pac_bayes")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 3))
    direction = np.array([3.0, 1.0, -2.0])
    Y = np.cos(X @ direction)[:, None] * direction + 0.1 * rng.normal(size=X.shape)
    settings = {"alpha": 0.1, "random_state": 0}
    plain = OperatorRidge(CurlFree(Gaussian(1.0)), n_components=50, **settings).fit(
        X[:400], Y[:400]
    )
    features = SpectralFeatures(
        learner=pac_bayes.PacBayes(beta=10.0), n_components=50, n_candidates=2000
    )
    learned = OperatorRidge(CurlFree(Gaussian(1.0)), features=features, **settings).fit(
        X[:400], Y[:400]
    )
    assert np.abs(learned.curl(X)).max() < 1e-10
    assert 1 - learned.score(X[400:], Y[400:]) < 0.5 * (1 - plain.score(X[400:], Y[400:]))


def test_coupled_outputs_help_when_they_share_noise_free_structure(seed):
    """Outputs that are copies of one function: the learned and the covariance matrix beat
    independent outputs.
    """
    rng = np.random.default_rng(seed)
    X, Z = rng.uniform(-2, 2, size=(80, 2)), rng.uniform(-2, 2, size=(500, 2))
    loadings = np.array([1.0, -0.8, 0.6, 0.9, -1.1])

    def truth(points):
        return (np.sin(2 * points[:, 0]) * np.cos(points[:, 1]))[:, None] * loadings

    Y = truth(X) + 0.7 * rng.normal(size=(80, 5))
    alphas = np.logspace(-3, 2, 11)

    def error(matrix):
        model = OperatorRidge(
            Decomposable(Gaussian(0.7), matrix), n_components=150, alpha=alphas, random_state=0
        )
        return np.mean((model.fit(X, Y).predict(Z) - truth(Z)) ** 2)

    independent = error(None)
    assert error("covariance") < independent
    assert error("learned") < 0.85 * independent


def test_a_graph_of_tasks_pulls_neighbors_together():
    X, Y = problem(40)
    chain = np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    near = OperatorRidge(
        Decomposable(Gaussian(0.4), graph_output_matrix(100 * chain, ridge=1.0)),
        alpha=0.5,
        random_state=0,
    ).fit(X, Y)
    free = OperatorRidge(
        Decomposable(Gaussian(0.4), graph_output_matrix(0 * chain, ridge=1.0)),
        alpha=0.5,
        random_state=0,
    ).fit(X, Y)

    def gap(model):
        outputs = model.predict(X)
        return np.mean((outputs[:, 0] - outputs[:, 1]) ** 2)

    assert gap(near) < 0.01 * gap(free)


def test_same_seed_same_fit_and_pickle_keeps_it():
    X, Y = problem(40)
    model = OperatorRidge(CurlFree(Gaussian("scale")), n_components=20, random_state=7)
    one, two = clone(model).fit(X, Y), clone(model).fit(X, Y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))
    search = GridSearchCV(
        model, {"kernel__prior__gamma": [0.1, 1.0], "alpha": [0.1, 1.0]}, cv=2
    ).fit(X, Y)
    assert set(search.best_params_) == {"kernel__prior__gamma", "alpha"}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"kernel": CurlFree(Gaussian()), "Y": np.ones((20, 2))},
            ValueError,
            "3 outputs on these points, but y has 2",
        ),
        (
            {"kernel": Decomposable(Gaussian(), np.eye(2))},
            ValueError,
            "2 outputs on these points, but y has 3",
        ),
        ({"kernel": Decomposable(Gaussian(), -np.eye(3))}, ValueError, "positive semi-definite"),
        ({"kernel": Decomposable(Gaussian(), "cov")}, ValueError, "must be one of"),
        ({"kernel": Gaussian()}, TypeError, "kernel must be an object of OperatorKernel"),
        ({"features": Gaussian()}, TypeError, "features must be an object of SpectralFeatures"),
        (
            {"kernel": CurlFree(Gaussian()), "features": SpectralFeatures(Matern())},
            ValueError,
            "two priors",
        ),
        (
            {"kernel": CurlFree(Gaussian()), "Y": np.ones(20)},
            ValueError,
            "3 outputs on these points, but y has 1",
        ),
        ({"Y": np.ones((20, 1, 1))}, ValueError, "one column per output|dim 3"),
        ({"Y": np.full((20, 3), np.nan)}, ValueError, "NaN"),
        ({"Y": np.ones((19, 3))}, ValueError, "inconsistent numbers of samples"),
        ({"Y": None}, ValueError, "requires y"),
        ({"alpha": -1.0}, ValueError, "alpha must be positive"),
        ({"alpha": 0}, ValueError, "alpha must be positive"),
        ({"alpha": []}, ValueError, "empty list"),
        ({"alpha": [1.0, -1.0]}, ValueError, "alpha must be positive"),
        ({"alpha": "best"}, ValueError, 'alpha must be "auto"'),
        ({"solver": "newton"}, TypeError, "solver must be None"),
        ({"solver": ConjugateGradient(tol=0.0)}, ValueError, "tol must be positive"),
        ({"n_components": 0}, ValueError, "n_components"),
        (
            {"solver": StochasticGradient(), "kernel": Decomposable(Gaussian(), "learned")},
            ValueError,
            "learned",
        ),
        ({"weights": -np.ones(20)}, ValueError, "[Nn]egative"),
        ({"weights": np.zeros(20)}, ValueError, "non-zero|nothing to learn from"),
    ],
)
def test_bad_input_is_named(change, error, message):
    X, Y = problem(20)
    change = dict(change)
    Y, weights = change.pop("Y", Y), change.pop("weights", None)
    with pytest.raises(error, match=message):
        OperatorRidge(**change).fit(X, Y, weights)


def test_misuse_after_and_between_fits_is_named():
    X, Y = problem(20)
    with pytest.raises(NotFittedError):
        OperatorRidge().predict(X)
    with pytest.raises(ValueError, match="in earlier calls it had 3 columns"):
        OperatorRidge(random_state=0).partial_fit(X, Y).partial_fit(X, Y[:, :2])
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        OperatorRidge(solver=ConjugateGradient(max_iter=1), random_state=0).fit(X, Y)


def test_one_dimensional_targets_give_one_dimensional_answers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    vector = OperatorRidge(n_components=10, alpha=[0.1, 1.0], random_state=0).fit(X, y)
    column = OperatorRidge(n_components=10, alpha=[0.1, 1.0], random_state=0).fit(X, y[:, None])
    for method in ("predict", "jacobian"):
        np.testing.assert_array_equal(getattr(vector, method)(X), getattr(column, method)(X)[:, 0])
    np.testing.assert_array_equal(
        vector.leave_one_out(X, y), column.leave_one_out(X, y[:, None])[:, 0]
    )
    exact = OperatorKernelRidge().fit(X, y).predict(X)
    np.testing.assert_array_equal(exact, OperatorKernelRidge().fit(X, y[:, None]).predict(X)[:, 0])
