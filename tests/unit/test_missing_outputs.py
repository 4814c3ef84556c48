"""Operator-valued models with partly observed outputs, against dense systems of the observed entries."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from bochner import (
    LBFGS,
    Cholesky,
    ConjugateGradient,
    CurlFree,
    Decomposable,
    Eigen,
    Gaussian,
    Helmholtz,
    OperatorKernelRidge,
    OperatorRegressor,
    OperatorRidge,
    PacBayes,
    SpectralFeatures,
    SpectralRidge,
    StochasticGradient,
    load,
    save,
)
from bochner.losses import Huber, Poisson, Quantile, Squared
from bochner.solvers.partial import PartialOutputs

MATRIX = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, 0.0], [0.3, 0.0, 0.7]])
KERNELS = {
    "identity": Decomposable(Gaussian(gamma=0.4)),
    "matrix": Decomposable(Gaussian(gamma=0.4), MATRIX),
    "low rank": Decomposable(Gaussian(gamma=0.4), np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0])),
    "curl-free": CurlFree(Gaussian(gamma=0.4)),
    "Helmholtz": Helmholtz(Gaussian(gamma=0.4), curl_share=0.3),
}


def problem(n=30, seed=0, share=0.5):
    """Rows of three inputs, three outputs with offsets, and weights; half of the outputs are missing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, size=(n, 3))
    Y = np.stack([np.sin(X[:, 0]) + X[:, 1], np.cos(X[:, 1] * X[:, 2]), X[:, 0] * X[:, 2] - 1], 1)
    Y += 0.2 * rng.normal(size=Y.shape)
    Y[rng.random(Y.shape) < share] = np.nan
    Y[np.isnan(Y).all(axis=1), 0] = 0.3  # each row has an output
    return X, Y, rng.integers(1, 4, size=n).astype(float)


def ridge(kernel, **parameters):
    return OperatorRidge(kernel, **{"n_components": 8, "random_state": 0, **parameters})


def dense_fit(model, X, Y, weights, alpha, intercept):
    """θ and b of the stacked equations of the observed entries, one row for each."""
    row, output = np.nonzero(~np.isnan(Y))
    A = model.measure_.features(X)[row, output]
    ones = np.eye(Y.shape[1])[output] if intercept else np.zeros((len(row), 0))
    A = np.column_stack([A, ones])
    penalties = np.append(np.full(A.shape[1] - ones.shape[1], alpha), np.zeros(ones.shape[1]))
    H = A.T @ (weights[row, None] * A) + np.diag(penalties)
    solution = np.linalg.solve(H, A.T @ (weights[row] * Y[row, output]))
    constants = solution[len(solution) - ones.shape[1] :] if intercept else np.zeros(Y.shape[1])
    return lambda Z: model.measure_.features(Z) @ solution[: len(H) - ones.shape[1]] + constants


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_ridge_is_the_dense_solution_of_the_observed_entries(name, intercept):
    X, Y, weights = problem()
    Z = problem(7, seed=1)[0]
    model = ridge(KERNELS[name], alpha=0.1, fit_intercept=intercept).fit(X, Y, weights)
    expected = dense_fit(model, X, Y, weights, 0.1, intercept)(Z)
    np.testing.assert_allclose(model.predict(Z), expected, atol=1e-9)
    regressor = OperatorRegressor(
        KERNELS[name], n_components=8, random_state=0, alpha=0.1, fit_intercept=intercept, tol=1e-9
    )
    np.testing.assert_allclose(regressor.fit(X, Y, weights).predict(Z), expected, atol=1e-7)


@pytest.mark.parametrize("solver", [Eigen(), Cholesky(), ConjugateGradient(), LBFGS()], ids=repr)
def test_solvers_agree(solver):
    X, Y, weights = problem()
    for kernel in (KERNELS["matrix"], KERNELS["Helmholtz"]):
        model = ridge(kernel, alpha=0.3, fit_intercept=True, solver=solver).fit(X, Y, weights)
        expected = dense_fit(model, X, Y, weights, 0.3, True)(X)
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["matrix", "Helmholtz"])
def test_leave_one_out_leaves_out_a_row_with_all_its_outputs(name):
    X, Y, _ = problem(14)
    Y[:, 1] = np.nan
    Y[[3, 8], 1] = [0.5, 1.0]
    Y[np.isnan(Y).all(axis=1), 0] = 0.3
    alphas = [0.05, 1.0]
    models = (
        ridge(KERNELS[name], alpha=alphas, fit_intercept=True),
        ridge(KERNELS[name], alpha=alphas),
        OperatorKernelRidge(KERNELS[name], alpha=alphas),
    )
    for model in models:
        model.fit(X, Y)
        for index, alpha in enumerate(alphas):
            single = clone(model).set_params(alpha=alpha)
            refits = np.array(
                [single.fit(X[k], Y[k]).predict(X[~k])[0] for k in ~np.eye(14, dtype=bool)]
            )
            assert model.loo_errors_[index] == pytest.approx(np.nanmean((Y - refits) ** 2))
        if isinstance(model, OperatorRidge):
            left_out = model.leave_one_out(X, Y)
            assert np.array_equal(np.isnan(left_out), np.isnan(Y))


@pytest.mark.parametrize("name", KERNELS)
def test_exact_machine_is_the_system_of_the_observed_entries(name):
    X, Y, weights = problem()
    Z, seen = problem(7, seed=1)[0], ~np.isnan(Y).ravel()
    for alpha in (0.3, [0.3, 1e6]):
        model = OperatorKernelRidge(KERNELS[name], alpha=alpha).fit(X, Y, weights)
        gram = model.kernel_.kernel(X).transpose(0, 2, 1, 3).reshape(90, 90)
        across = model.kernel_.kernel(Z, X).transpose(0, 2, 1, 3).reshape(21, 90)
        noise = np.diag(0.3 / np.repeat(weights, 3)[seen])
        duals = np.linalg.solve(gram[np.ix_(seen, seen)] + noise, Y.ravel()[seen])
        assert model.alpha_ == 0.3
        np.testing.assert_allclose(model.predict(Z).ravel(), across[:, seen] @ duals, atol=1e-9)


def test_an_output_of_a_single_row_does_not_decide_between_ridges():
    X, Y, _ = problem()
    Y[:, 2] = np.nan
    Y[5, 2] = 7.0
    model = ridge(KERNELS["identity"], alpha=[0.01, 0.3, 100.0], fit_intercept=True).fit(X, Y)
    without = clone(model).fit(X, Y[:, :2])
    np.testing.assert_allclose(
        model.loo_errors_ * np.sum(~np.isnan(Y)), without.loo_errors_ * np.sum(~np.isnan(Y[:, :2]))
    )
    np.testing.assert_allclose(model.predict(X)[:, 2], 7.0)


@pytest.mark.parametrize("name", KERNELS)
def test_the_diagonal_of_a_solver_is_that_of_the_matrix(name):
    measure = KERNELS[name].resolved_outputs(np.eye(3)).sample(5, 3, 0)
    roots = np.random.default_rng(0).normal(size=(3, 12, 10))
    gram = roots.transpose(0, 2, 1) @ roots  # one for each output
    outputs = PartialOutputs(measure)
    diagonal = outputs.diagonal(np.einsum("aii->ai", gram))
    np.testing.assert_allclose(diagonal[:, 0], np.diag(outputs.matrix(gram)), rtol=1e-12)


def test_some_rows_choose_the_ridge_of_an_iterative_solver():
    X, Y, weights = problem()
    parameters = {"alpha": [0.01, 0.3, 100.0], "fit_intercept": True}
    for kernel in (KERNELS["matrix"], KERNELS["Helmholtz"]):
        direct = ridge(kernel, **parameters).fit(X, Y, weights)
        iterative = ridge(kernel, solver=ConjugateGradient(), **parameters).fit(X, Y, weights)
        np.testing.assert_allclose(iterative.loo_errors_, direct.loo_errors_)
        np.testing.assert_allclose(iterative.predict(X), direct.predict(X), atol=1e-5)


def test_random_features_approach_the_exact_machine():
    X, Y, _ = problem(40)
    kernel = KERNELS["curl-free"]
    exact = OperatorKernelRidge(kernel, alpha=0.5).fit(X, Y).predict(X)
    errors = [
        np.mean((ridge(kernel, alpha=0.5, n_components=D).fit(X, Y).predict(X) - exact) ** 2)
        for D in (30, 200)
    ]
    assert errors[1] < 0.4 * errors[0]
    assert errors[1] < 0.1 * exact.var()


@pytest.mark.parametrize(
    "model",
    [
        ridge(None, alpha=0.2, fit_intercept=True),
        OperatorKernelRidge(Decomposable(Gaussian(gamma=0.4)), alpha=0.2),
        *(
            OperatorRegressor(loss=loss, n_components=8, random_state=0, alpha=0.2, tol=1e-8)
            for loss in (Squared(), Huber(np.full(3, 0.3)), Quantile(0.7), Poisson())
        ),
    ],
    ids=repr,
)
def test_independent_outputs_are_separate_fits_of_the_observed_rows(model):
    X, Y, weights = problem(40)
    positive = isinstance(getattr(model, "loss", None), Poisson)
    Y = np.abs(Y) if positive else Y
    kernel = Decomposable(Gaussian(gamma=0.4))
    together = clone(model).set_params(kernel=kernel).fit(X, Y, weights).predict(X)
    for output in range(3):
        seen = ~np.isnan(Y[:, output])
        single = clone(model).set_params(kernel=kernel)
        if isinstance(getattr(model, "loss", None), Huber):
            single.set_params(loss=Huber(np.array([0.3])))
        alone = single.fit(X[seen], Y[seen, output], weights[seen]).predict(X)
        tolerance = 2e-3 if isinstance(getattr(model, "loss", None), Quantile) else 1e-6
        np.testing.assert_allclose(together[:, output], alone, atol=tolerance)


@pytest.mark.parametrize("loss", [Squared(), Huber(np.array([0.2, 0.3, 0.4])), Poisson()], ids=repr)
def test_regressor_minimizes_the_loss_of_the_observed_entries(loss):
    X, Y, weights = problem(25)
    Y = np.abs(Y)
    model = OperatorRegressor(
        KERNELS["matrix"], loss, n_components=4, random_state=0, alpha=0.5, tol=1e-9
    ).fit(X, Y, weights)
    features, seen = model.measure_.features(X), ~np.isnan(Y)

    def objective(unknowns):
        scores = features @ unknowns[:-3] + unknowns[-3:]
        entries = 0.5 * (scores - Y) ** 2
        if isinstance(loss, Huber):
            size = np.abs(scores - Y)
            entries = np.where(size <= loss.delta, entries, loss.delta * (size - loss.delta / 2))
        if isinstance(loss, Poisson):
            entries = np.exp(scores) - Y * scores
        return weights @ np.where(seen, entries, 0.0).sum(1) + 0.25 * unknowns[:-3] @ unknowns[:-3]

    found = minimize(objective, np.zeros(features.shape[2] + 3), options={"gtol": 1e-7})
    expected = loss.link(features @ found.x[:-3] + found.x[-3:])
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-4)


MODELS = {
    "ridge": ridge(KERNELS["matrix"], fit_intercept=True),
    "field": ridge(KERNELS["Helmholtz"], alpha=[0.1, 1.0]),
    "covariance": ridge(Decomposable(output_matrix="covariance"), fit_intercept=True),
    "exact": OperatorKernelRidge(Decomposable(output_matrix="covariance")),
    "exact field": OperatorKernelRidge(KERNELS["curl-free"]),
    "regressor": OperatorRegressor(KERNELS["matrix"], n_components=8, random_state=0),
    "Huber": OperatorRegressor(
        KERNELS["identity"], Huber(np.full(3, 0.1)), n_components=8, random_state=0
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_row_without_outputs_is_no_row_and_weights_are_repetitions(name):
    X, Y, weights = problem(20)
    model = clone(MODELS[name])
    expected = model.fit(X, Y, weights).predict(X)
    more = np.vstack([X, [[9.0, 9.0, 9.0], [8.0, 8.0, 8.0]]])
    missing = np.vstack([Y, np.full(3, np.nan), [np.nan, 5.0, np.nan]])
    weighted = clone(model).fit(more, missing, np.append(weights, [2.0, 0.0]))
    np.testing.assert_allclose(weighted.predict(X), expected, atol=1e-6)
    times = weights.astype(int)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(repeated.predict(X), expected, atol=1e-6)
    complete = np.nan_to_num(Y, nan=0.4)
    dropped = clone(model).fit(X, complete).predict(X)
    unlabelled = np.vstack([complete, np.full((2, 3), np.nan)])
    np.testing.assert_allclose(clone(model).fit(more, unlabelled).predict(X), dropped, atol=1e-12)


@pytest.mark.parametrize("name", ["ridge", "regressor"])
def test_blocks_and_dask_sum_to_the_same_model(name):
    array = pytest.importorskip("dask.array")
    X, Y, weights = problem(60)
    whole = clone(MODELS[name]).fit(X, Y, weights).predict(X)
    features = SpectralFeatures(n_components=8, block_size=7)
    blocks = clone(MODELS[name]).set_params(features=features).fit(X, Y, weights)
    np.testing.assert_allclose(blocks.predict(X), whole, atol=1e-8)
    remote = clone(MODELS[name]).fit(array.from_array(X, chunks=(25, 3)), Y, weights)
    np.testing.assert_allclose(remote.predict(X), whole, atol=1e-8)


def test_deviations_and_leverages_are_those_of_the_observed_entries():
    X, Y, weights = problem(40)
    model = ridge(KERNELS["matrix"], alpha=0.3, fit_intercept=True).fit(X, Y, weights)
    row, output = np.nonzero(~np.isnan(Y))
    A = np.column_stack([model.measure_.features(X)[row, output], np.eye(3)[output]])
    penalties = np.append(np.full(A.shape[1] - 3, 0.3), np.zeros(3))
    root = np.sqrt(weights[row])[:, None]
    H = (root * A).T @ (root * A) + np.diag(penalties)
    leverage = np.trace(np.linalg.solve(H, (root * A).T @ (root * A)))
    assert model.mean_leverage() == pytest.approx(leverage / weights[row].sum())
    residual = Y[row, output] - A @ np.linalg.solve(H, (root * A).T @ (root[:, 0] * Y[row, output]))
    # y·(y − f) around the means: the residuals of the weighted rows sum to zero for each output
    noise = np.sum(weights[row] * Y[row, output] * residual) / weights[row].sum()
    assert model.noise_variance_ == pytest.approx(noise)
    _, deviations = model.predict(X[:4], return_std=True)
    B = np.concatenate(
        [model.measure_.features(X[:4]), np.broadcast_to(np.eye(3), (4, 3, 3))], axis=2
    )
    variances = noise * (1 + np.einsum("ipk,kl,ipl->ip", B, np.linalg.inv(H), B))
    np.testing.assert_allclose(deviations**2, variances, rtol=1e-8)


def test_covariance_is_that_of_filled_outputs_with_the_observed_variances():
    X, Y, weights = problem(200)
    model = OperatorKernelRidge(Decomposable(output_matrix="covariance"), alpha=1.0)
    matrix = model.fit(X, Y, weights).kernel_.matrix()
    columns = [(column, ~np.isnan(column)) for column in Y.T]
    means = [np.average(column[seen], weights=weights[seen]) for column, seen in columns]
    expected = np.empty((3, 3))
    for a in range(3):
        for b in range(3):
            both = ~np.isnan(Y[:, a] + Y[:, b])
            products = (Y[both, a] - means[a]) * (Y[both, b] - means[b])
            totals = weights @ ~np.isnan(Y[:, [a, b]])
            expected[a, b] = weights[both] @ products / np.sqrt(totals.prod())
    scale = np.trace(expected) / 3
    expected = 0.999 * expected / scale + 0.001 * np.eye(3)
    np.testing.assert_allclose(matrix, expected, atol=1e-12)
    # Pairwise correlations that contradict each other have no common covariance.
    Y = np.full((60, 3), np.nan)
    signal = np.random.default_rng(0).normal(size=60)
    for start, (a, b, sign) in zip((0, 20, 40), ((0, 1, 1), (1, 2, 1), (0, 2, -1)), strict=True):
        rows = slice(start, start + 20)
        Y[rows, a], Y[rows, b] = signal[rows], sign * signal[rows]
    matrix = model.fit(problem(60)[0], Y).kernel_.matrix()
    assert np.linalg.eigvalsh(matrix)[0] > 0


def test_coupling_finds_missing_outputs_of_outputs_that_go_together():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(120, 1))
    signal = np.sin(2 * X[:, 0])
    Y = np.column_stack([signal, 0.8 * signal]) + 0.1 * rng.normal(size=(120, 2))
    gap = X[:, 0] > 0
    errors = {}
    for matrix in (None, "covariance"):
        model = ridge(Decomposable(Gaussian(1.0), matrix), n_components=50, fit_intercept=True)
        missing = np.where(gap[:, None] & [True, False], np.nan, Y)
        errors[matrix] = np.mean((model.fit(X, missing).predict(X) - Y)[gap, 0] ** 2)
    assert errors["covariance"] < 0.3 * errors[None]


def test_what_is_refused():
    X, Y, _ = problem()
    with pytest.raises(
        ValueError, match="OperatorRidge, OperatorRegressor and OperatorKernelRidge"
    ):
        SpectralRidge().fit(X, Y)
    for model in (ridge(None), OperatorKernelRidge(), OperatorRegressor()):
        with pytest.raises(ValueError, match="Column 1 of y has no observed value"):
            model.fit(X, np.where(np.arange(3) == 1, np.nan, Y))
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, Y[:, 0])
        with pytest.raises(ValueError, match="infinity"):
            model.fit(X, np.where(np.isnan(Y), np.inf, Y))
    for model in (ridge(None), OperatorKernelRidge()):
        learned = clone(model).set_params(kernel=Decomposable(output_matrix="learned"))
        with pytest.raises(ValueError, match=r"output_matrix='learned' .* y contains NaN"):
            learned.fit(X, Y)
    with pytest.raises(ValueError, match=r"StochasticGradient.* y contains NaN"):
        ridge(None, solver=StochasticGradient()).fit(X, Y)
    with pytest.raises(ValueError, match=r"PacBayes.* y contains NaN"):
        ridge(None, features=SpectralFeatures(learner=PacBayes())).fit(X, Y)
    with pytest.raises(ValueError, match="Lower n_components, or write OperatorRegressor"):
        ridge(None, n_components=5000).fit(X, Y)
    with pytest.raises(ValueError, match="need every output"):
        ridge(None).partial_fit(X, Y)
    fitted = ridge(KERNELS["matrix"]).fit(X, Y)
    with pytest.raises(ValueError, match="need every output"):
        fitted.partial_fit(X, np.nan_to_num(Y))
    with pytest.raises(ValueError, match="need every output"):
        ridge(KERNELS["matrix"]).fit(X, np.nan_to_num(Y)).merge(fitted)
    with pytest.raises(ValueError, match="more than max_bytes"):
        OperatorKernelRidge(max_bytes=1000).fit(X, Y)


def test_a_saved_model_predicts_the_same(tmp_path):
    pytest.importorskip("skops")
    X, Y, _ = problem()
    for name in ("ridge", "regressor", "exact"):
        model = clone(MODELS[name]).fit(X, Y)
        save(model, tmp_path / "model.skops")
        np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))
