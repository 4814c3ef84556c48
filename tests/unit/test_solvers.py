"""Solvers and factorizations: what they declare, and formulas against closed forms in the space of
the kernel.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import SOLVERS
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from bochner import (
    LBFGS,
    ConjugateGradient,
    CurlFree,
    Decomposable,
    Gaussian,
    Helmholtz,
    JointDescent,
    MarginGame,
    OperatorKernelRidge,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
    SpectralRidge,
    StochasticGradient,
)
from bochner.data import as_rows
from bochner.data.targets import Values
from bochner.data.training import TrainingData
from bochner.solvers import Eigen, Solver
from bochner.solvers.direct import ridge_solution, ridge_spent
from bochner.solvers.problem import (
    CenteredRows,
    CoupledOutputs,
    DecoupledOutputs,
    RidgeProblem,
    RidgeStatistics,
)

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


def problem(n=40, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, size=(n, 2))
    field = np.stack([np.sin(X[:, 0]) + X[:, 1], np.cos(X[:, 1] * X[:, 0]) + 3.0], axis=1)
    return X, field + noise * rng.normal(size=field.shape)


def ridge_problem(outputs, measure, X, Y, intercept):
    data = TrainingData(as_rows(X), Values(Y))
    statistics = RidgeStatistics.of(measure.block(), data, np.zeros(2))
    centered = CenteredRows.of(measure, statistics, intercept)
    return RidgeProblem(statistics.centered() if intercept else statistics, centered, outputs), data


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_solver_does_what_it_declares(solver, coupled, intercept):
    X, Y = problem(60)
    kernel = CurlFree(Gaussian(0.4)) if coupled else Decomposable(Gaussian(0.4), MATRIX)
    measure = kernel.sample(6, 2, np.random.default_rng(0))
    outputs = CoupledOutputs(measure) if coupled else DecoupledOutputs.of(MATRIX)
    posed, data = ridge_problem(outputs, measure.scalar, X, Y, intercept)
    if solver.needs_rows:
        thin = RidgeStatistics.of(measure.scalar.block(), data, np.zeros(2), whole_gram=False)
        posed = RidgeProblem(thin.centered() if intercept else thin, posed.rows, outputs)
    features = measure.features(X) - (measure.features(X).mean(axis=0) if intercept else 0.0)
    targets = Y - (Y.mean(axis=0) if intercept else 0.0)
    stacked = features.reshape(-1, features.shape[2])
    theta = np.linalg.solve(
        stacked.T @ stacked + 0.7 * np.eye(stacked.shape[1]), stacked.T @ targets.ravel()
    )
    factorization = solver.init(posed, data, np.random.default_rng(0))
    found = factorization.solve(0.7).coefficients
    tolerance = {StochasticGradient: 0.3, LBFGS: 1e-5}.get(type(solver), 1e-9)
    np.testing.assert_allclose(found, measure.expand(theta), atol=tolerance * np.abs(found).max())
    if not (solver.needs_rows or isinstance(solver, ConjugateGradient | LBFGS)):
        hat = stacked @ np.linalg.solve(
            stacked.T @ stacked + 0.7 * np.eye(stacked.shape[1]), stacked.T
        )
        expected = np.trace(hat) / (60 * 2) + (1 / 60 if intercept else 0.0)
        assert factorization.mean_leverage(0.7) == pytest.approx(expected)
    else:
        assert factorization.mean_leverage(0.7) == 0.0
    assert repr(clone(solver)) == repr(solver)
    if isinstance(solver, Eigen):
        assert factorization.leave_one_out_errors(np.array([0.1, 1.0]), data).shape == (2,)


def test_many_penalties_and_ridges_below_rounding_fall_back_to_eigenvectors():
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(5, 12)), rng.normal(size=(5, 10))
    gram, right_side = rows.T @ rows, rows.T @ targets
    for penalties in (np.linspace(0.1, 2.0, 10), np.full(10, 0.3)):
        expected = np.stack(
            [
                np.linalg.solve(gram + p * np.eye(12), b)
                for p, b in zip(penalties, right_side.T, strict=True)
            ],
            axis=1,
        )
        np.testing.assert_allclose(
            ridge_solution(gram, right_side, penalties), expected, atol=1e-10
        )
        spent = sum(np.trace(gram @ np.linalg.inv(gram + p * np.eye(12))) for p in penalties)
        assert ridge_spent(gram, penalties) == pytest.approx(spent)
    tiny = ridge_solution(gram, right_side, np.full(10, 1e-18))
    np.testing.assert_allclose(rows @ tiny, targets, atol=1e-4)
    held = ridge_solution(gram, right_side, np.append(np.full(9, 0.3), np.inf))
    assert np.all(held[:, 9] == 0)


# --- variances, leverages and noise in the space of the kernel ------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_samples", [9, 70])  # fewer and more rows than features
@pytest.mark.parametrize(
    "kernel", [None, Decomposable(Gaussian(0.4), MATRIX), CurlFree(Gaussian(0.4))], ids=repr
)
def test_variance_far_from_the_data_is_that_of_a_gaussian_process(kernel, n_samples, intercept):
    """noise (1 + (k(x, x) − k_xᵀ (K + α)⁻¹ k_x) / α): where no row has been, the variance of the
    prior comes back.
    """
    X, Y = problem(n_samples)
    Z = np.concatenate([X[:3] + 0.1, X[:3] + 30.0])
    if kernel is None:
        features = SpectralFeatures(Gaussian(0.4), n_components=20, random_state=0)
        model = SpectralRidge(features, alpha=0.2, fit_intercept=intercept).fit(X, Y)
        measure = Decomposable(model.measure_, np.eye(2)).lift(model.measure_)
    else:
        model = OperatorRidge(
            kernel, n_components=20, alpha=0.2, fit_intercept=intercept, random_state=0
        ).fit(X, Y)
        measure = model.measure_
    train, test = measure.features(X), measure.features(Z)
    center = train.mean(axis=0) if intercept else 0.0
    train, test = (train - center).reshape(2 * n_samples, -1), (test - center).reshape(12, -1)
    targets = (Y - (Y.mean(axis=0) if intercept else 0.0)).ravel()
    system = train @ train.T + 0.2 * np.eye(2 * n_samples)
    unexplained = (
        (targets * (0.2 * np.linalg.solve(system, targets))).reshape(n_samples, 2).sum(axis=0)
    )
    noise = unexplained / n_samples if kernel is None else unexplained.sum() / (2 * n_samples)
    np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-7)
    across = test @ train.T
    remaining = np.sum(test**2, axis=1) - np.einsum(
        "ia,ai->i", across, np.linalg.solve(system, across.T)
    )
    share = 1 / n_samples if intercept else 0.0
    expected = np.sqrt(noise * (1 + share + remaining.reshape(6, 2) / 0.2))
    mean, deviation = model.predict(Z, return_std=True)
    np.testing.assert_allclose(deviation, expected, rtol=1e-6)
    np.testing.assert_allclose(
        mean,
        (across @ np.linalg.solve(system, targets)).reshape(6, 2)
        + (Y.mean(axis=0) if intercept else 0.0),
        atol=1e-7,
    )


# --- rows on a cluster ----------------------------------------------------------------------------


def _models():
    features = SpectralFeatures(Gaussian(0.4), n_components=8, random_state=0)
    powers = FrozenEstimator(PolynomialFeatures(2, include_bias=False).fit(np.zeros((1, 2))))
    return {
        "spectral": SpectralRidge(features, alpha=0.3),
        "polynomial": SpectralRidge(powers, alpha=0.3),
        "matrix": OperatorRidge(
            Decomposable(Gaussian(0.4), MATRIX),
            n_components=8,
            alpha=0.3,
            fit_intercept=True,
            random_state=0,
        ),
        "Helmholtz": OperatorRidge(
            Helmholtz(Gaussian(0.4)), n_components=8, alpha=0.3, random_state=0
        ),
    }


@pytest.mark.parametrize("name", _models())
def test_deviations_and_leave_one_out_stay_on_the_cluster(name):
    da = pytest.importorskip("dask.array")
    X, Y = problem(70)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 70)
    rows, targets = da.from_array(X, chunks=(25, 2)), da.from_array(Y, chunks=(30, 2))
    local = _models()[name].fit(X, Y, weights)
    spread = _models()[name].fit(rows, targets, weights)
    for found, expected in zip(
        spread.predict(rows, return_std=True), local.predict(X, return_std=True), strict=True
    ):
        assert isinstance(found, da.Array)
        np.testing.assert_allclose(found.compute(), expected, atol=1e-8)
    left_out = spread.leave_one_out(rows, targets, weights)
    assert isinstance(left_out, da.Array)
    np.testing.assert_allclose(left_out.compute(), local.leave_one_out(X, Y, weights), atol=1e-8)
    np.testing.assert_allclose(spread.leave_one_out(rows, Y, weights).compute(), left_out.compute())
    if name != "polynomial":
        np.testing.assert_allclose(spread.jacobian(rows).compute(), local.jacobian(X), atol=1e-8)


@pytest.mark.parametrize("name", _models())
def test_nan_in_targets_on_a_cluster_is_refused_or_a_missing_output(name):
    da = pytest.importorskip("dask.array")
    X, Y = problem(70)
    Y[50, 1] = np.nan
    model = _models()[name]
    for rows in (da.from_array(X, chunks=(25, 2)), X):
        if isinstance(model, OperatorRidge):  # a missing output
            predicted = model.fit(rows, da.from_array(Y, chunks=(30, 2))).predict(X)
            expected = clone(model).fit(X, Y).predict(X)
            np.testing.assert_allclose(predicted, expected, atol=1e-10)
            continue
        with pytest.raises(ValueError, match="NaN"):
            model.fit(rows, da.from_array(Y, chunks=(30, 2)))


def test_labels_and_chances_stay_on_the_cluster():
    da = pytest.importorskip("dask.array")
    X, Y = problem(90)
    for labels in (np.array(["a", "b", "c"])[np.arange(90) % 3], Y[:, 0] > 0):
        local = OperatorRidgeClassifier(n_components=8, random_state=0).fit(X, labels)
        rows = da.from_array(X, chunks=(40, 2))
        spread = OperatorRidgeClassifier(n_components=8, random_state=0).fit(
            rows, da.from_array(labels, chunks=30)
        )
        for method in ("predict", "predict_proba", "decision_function"):
            found = getattr(spread, method)(rows)
            assert isinstance(found, da.Array)
            expected = getattr(local, method)(X)
            assert found.dtype == expected.dtype
            if method == "predict":
                np.testing.assert_array_equal(found.compute(), expected)
            else:
                np.testing.assert_allclose(found.compute(), expected, atol=1e-7)


def test_the_exact_ridge_refuses_rows_that_are_elsewhere():
    da = pytest.importorskip("dask.array")
    X, Y = problem(20)
    with pytest.raises(TypeError, match="all rows at once on this machine; use OperatorRidge"):
        OperatorKernelRidge().fit(da.from_array(X), Y)


# --- expansions, defaults, refits -----------------------------------------------------------------


def test_every_ridge_on_waves_is_an_expansion():
    X, Y = problem(60)
    for name, model in _models().items():
        model.fit(X, Y)
        if name == "polynomial":
            with pytest.raises(AttributeError, match="FourierMeasure"):
                _ = model.expansion_
            continue
        np.testing.assert_allclose(model.expansion_.evaluate(X), model.predict(X))
        by_hand = model.features_.transform(X) @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(model.predict(X), by_hand, atol=1e-10)
    classifier = OperatorRidgeClassifier(random_state=0).fit(X, np.digitize(Y[:, 0], [-1, 1]))
    np.testing.assert_allclose(classifier.expansion_.evaluate(X), classifier.decision_function(X))
    with pytest.raises(NotFittedError):
        _ = SpectralRidge().expansion_
    with pytest.raises(NotFittedError):
        _ = OperatorRidgeClassifier().expansion_


def test_parameters_of_default_parts_can_be_set():
    X, Y = problem(30)
    for model in (SpectralRidge(random_state=0), OperatorRidge(n_components=7, random_state=0)):
        again = clone(model).set_params(features__n_components=5).fit(X, Y)
        assert len(again.features_.measure_) == 5
        assert model.features is None
    model = OperatorRidge(n_components=7, random_state=0).set_params(
        features__block_size=9, kernel__prior__gamma=0.7
    )
    model.fit(X, Y)
    assert (len(model.measure_), model.kernel_.prior.gamma, model.features.block_size) == (
        7,
        0.7,
        9,
    )
    assert (
        OperatorKernelRidge().set_params(kernel__prior__gamma=0.7).fit(X, Y).kernel_.prior.gamma
        == 0.7
    )
    assert OperatorRidgeClassifier().set_params(features__n_components=5).features.n_components == 5
    with pytest.raises(ValueError, match="Invalid parameter"):
        OperatorRidge().set_params(features__width=5)


def test_a_failed_refit_leaves_the_old_model():
    X, Y = problem(40)
    for model in _models().values():
        before = model.fit(X, Y).predict(X)
        with pytest.raises(ValueError):
            model.fit(X[:, :1], Y[:30])
        np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("learner", [PacBayes(beta=5.0), OptimalAlignment()], ids=repr)
def test_weights_reach_the_learner_and_the_bandwidth(learner):
    """A row of weight 2 is two rows, one of weight 0 none, also for what the learner finds."""
    X, Y = problem(80)
    counts = np.random.default_rng(0).integers(0, 4, 80)
    features = SpectralFeatures(learner=learner, n_components=10, n_candidates=60, selection="top")
    for model in (
        SpectralRidge(features, random_state=0),
        OperatorRidge(features=features, random_state=0),
    ):
        weighted = clone(model).fit(X, Y, counts.astype(float))
        repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7)


@pytest.mark.parametrize(
    "learner",
    [None, OptimalAlignment(), JointDescent(n_epochs=10), MarginGame(n_rounds=20, loss="squared")],
    ids=repr,
)
def test_whole_number_targets_are_values_to_a_regressor(learner):
    """diabetes has whole numbers for y: 214 classes to a learner that nobody tells."""
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    features = SpectralFeatures(learner=learner, n_components=60)
    for model in (SpectralRidge(features, alpha=30.0, random_state=0),):
        whole = clone(model).fit(X[:300], y[:300].astype(int)).score(X[300:], y[300:])
        real = clone(model).fit(X[:300], y[:300]).score(X[300:], y[300:])
        assert whole == pytest.approx(real, abs=1e-9)
    operator = OperatorRidge(features=features, alpha=30.0, fit_intercept=True, random_state=0)
    np.testing.assert_allclose(
        operator.fit(X, y[:, None].astype(int)).predict(X),
        operator.fit(X, y[:, None]).predict(X),
        atol=1e-7,
    )


def test_attributes_are_fresh_after_more_rows():
    X, Y = problem(60)
    kernel = Decomposable(Gaussian(0.4), "covariance")
    whole = OperatorRidge(kernel, n_components=8, alpha=1.0, random_state=0).fit(X, Y)
    parts = clone(whole).partial_fit(X[:20], Y[:20])
    assert parts.noise_variance_ != pytest.approx(whole.noise_variance_)
    parts.partial_fit(X[20:], Y[20:])
    assert parts.noise_variance_ == pytest.approx(whole.noise_variance_)
    np.testing.assert_allclose(parts.kernel_.matrix(), whole.kernel_.matrix())


def test_weights_do_not_change_rows_that_a_transformer_hands_through():
    X, Y = problem(60)
    before = X.copy()
    SpectralRidge(FunctionTransformer()).fit(X, Y, np.linspace(0.1, 2.0, 60))
    np.testing.assert_array_equal(X, before)
    sparse = SpectralRidge(FunctionTransformer(accept_sparse=True)).fit(sp.csr_matrix(X), Y)
    np.testing.assert_allclose(
        sparse.predict(sp.csr_matrix(X)), SpectralRidge(FunctionTransformer()).fit(X, Y).predict(X)
    )


def test_solvers_are_abstract_or_final():
    with pytest.raises(TypeError):
        Solver()
