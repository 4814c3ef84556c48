"""The ridge that "auto" takes: by leave-one-out on all rows or some, by sums where rows are gone."""

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from bochner import (
    CurlFree,
    Decomposable,
    Gaussian,
    Helmholtz,
    KernelMachine,
    OperatorKernelRidge,
    OperatorRidge,
    OperatorRidgeClassifier,
    SpectralFeatures,
    SpectralRidge,
)
from bochner.solvers import Cholesky, ConjugateGradient, Eigen, StochasticGradient

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
KERNELS = {
    "matrix": Decomposable(Gaussian(0.4), MATRIX),
    "learned": Decomposable(Gaussian(0.4), "learned"),
    "curl-free": CurlFree(Gaussian(0.4)),
    "Helmholtz": Helmholtz(Gaussian(0.4), curl_share=0.3),
}


def problem(n_samples, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_samples, 2))
    Y = np.stack([np.cos(X[:, 0]) * X[:, 1], np.sin(X[:, 0])], axis=1)
    return X, Y + noise * rng.normal(size=Y.shape)


def spectral(**parameters):
    return SpectralRidge(
        SpectralFeatures(Gaussian(0.4), n_components=30, random_state=0), **parameters
    )


def operator(kernel, **parameters):
    return OperatorRidge(kernel, n_components=30, random_state=0, **parameters)


def _enlarged(X):
    return 1e4 * X


def ridges_of_all_kinds():
    yield "spectral", spectral()
    for name, kernel in KERNELS.items():
        yield name, operator(kernel)
        if name != "learned":
            yield f"exact {name}", OperatorKernelRidge(kernel)


ALL = dict(ridges_of_all_kinds())


@pytest.mark.parametrize("weighted", long_except([False, True], True))
@pytest.mark.parametrize("name", ALL)
def test_auto_takes_the_ridge_whose_refits_without_a_row_err_least(name, weighted):
    X, Y = problem(15)
    counts = np.random.default_rng(1).integers(1, 3, 15).astype(float) if weighted else np.ones(15)
    model = clone(ALL[name]).fit(X, Y, counts if weighted else None)
    assert len(model.alphas_) == 25
    assert model.alpha_ == model.alphas_[np.argmin(model.loo_errors_)]
    if name == "learned":
        return  # its matrix is learned again by each refit
    for number in (3, int(np.argmin(model.loo_errors_)), 20):
        single = clone(ALL[name]).set_params(alpha=model.alphas_[number])
        errors = [
            np.mean(
                (Y[i] - clone(single).fit(X, Y, counts * (np.arange(15) != i)).predict(X[[i]])[0])
                ** 2
            )
            for i in range(15)
        ]
        np.testing.assert_allclose(
            model.loo_errors_[number], np.average(errors, weights=counts), rtol=1e-5
        )


@pytest.mark.parametrize("name", ALL)
def test_the_ridges_of_auto_are_relative_to_the_mean_kernel(name):
    X, Y = problem(40)
    model = clone(ALL[name]).fit(X, Y)
    if name == "spectral":
        features = model.features_.transform(X)
        scale = np.mean(np.sum((features - features.mean(axis=0)) ** 2, axis=1))
    elif name.startswith("exact"):
        scale = np.mean([np.diag(model.kernel_.kernel(x[None])[0, 0]) for x in X])
    else:
        scale = np.mean(np.sum(model.measure_.spread(model.features_.transform(X)) ** 2, axis=2))
    np.testing.assert_allclose(model.alphas_, scale * np.logspace(2, -6, 25), rtol=1e-9)


def test_other_units_of_the_features_give_the_same_function():
    X, Y = problem(60)
    plain = SpectralRidge(FunctionTransformer()).fit(X, Y)
    larger = SpectralRidge(FunctionTransformer(_enlarged)).fit(X, Y)
    assert larger.alpha_ == pytest.approx(1e8 * plain.alpha_)
    np.testing.assert_allclose(larger.predict(X), plain.predict(X), rtol=1e-7)


@pytest.mark.parametrize("name", ALL)
def test_weights_are_repetitions_for_auto(name):
    X, Y = problem(40)
    counts = np.random.default_rng(1).integers(0, 4, 40)
    repeated = np.repeat(np.arange(40), counts)
    weighted = clone(ALL[name]).fit(X, Y, counts.astype(float))
    longer = clone(ALL[name]).fit(X[repeated], Y[repeated])
    assert weighted.alpha_ == pytest.approx(longer.alpha_)
    np.testing.assert_allclose(weighted.predict(X), longer.predict(X), atol=1e-7)


def test_auto_streams_over_dask_rows_and_blocks():
    da = pytest.importorskip("dask.array")
    X, Y = problem(300)
    for model in (spectral(), operator(KERNELS["matrix"]), operator(KERNELS["curl-free"])):
        local = clone(model).fit(X, Y)
        spread = clone(model).fit(
            da.from_array(X, chunks=(70, 2)), da.from_array(Y, chunks=(90, 2))
        )
        np.testing.assert_allclose(spread.loo_errors_, local.loo_errors_, rtol=1e-6)
        assert spread.alpha_ == pytest.approx(local.alpha_)
        iterative = clone(model).set_params(solver=ConjugateGradient())
        spread = clone(iterative).fit(
            da.from_array(X, chunks=(70, 2)), da.from_array(Y, chunks=(90, 2))
        )
        assert spread.alpha_ == pytest.approx(iterative.fit(X, Y).alpha_)


@pytest.mark.parametrize("intercept", long_except([False, True], True))
@pytest.mark.parametrize("name", ["matrix", "curl-free"])
def test_after_partial_fit_the_choice_is_by_generalized_cross_validation(name, intercept):
    X, Y = problem(20)
    model = (
        operator(KERNELS[name], fit_intercept=intercept)
        .partial_fit(X[:8], Y[:8])
        .partial_fit(X[8:], Y[8:])
    )
    assert model.alpha_ == model.alphas_[np.argmin(model.gcv_errors_)]
    assert not hasattr(model, "loo_errors_")
    for number in (0, 8, 15):
        single = operator(KERNELS[name], alpha=model.alphas_[number], fit_intercept=intercept).fit(
            X, Y
        )
        zero = np.zeros(Y.shape)
        trace = 0.0
        for i, a in np.ndindex(*Y.shape):  # the hat matrix, column by column
            one = zero.copy()
            one[i, a] = 1.0
            trace += clone(single).fit(X, one).predict(X)[i, a]
        expected = np.mean((Y - single.predict(X)) ** 2) / (1 - trace / Y.size) ** 2
        assert model.gcv_errors_[number] == pytest.approx(expected, rel=1e-6)
    whole = operator(KERNELS[name], alpha=model.alpha_, fit_intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    "solver", [Cholesky(), ConjugateGradient(), StochasticGradient(n_epochs=2)], ids=repr
)
@pytest.mark.parametrize("name", ["matrix", "curl-free"])
def test_solvers_without_eigenvectors_choose_on_some_rows(name, solver, monkeypatch):
    X, Y = problem(90)
    weights = np.random.default_rng(0).integers(0, 3, 90).astype(float)
    exact = operator(KERNELS[name], solver=Eigen(), fit_intercept=True).fit(X, Y, weights)
    model = operator(KERNELS[name], solver=solver, fit_intercept=True).fit(X, Y, weights)
    np.testing.assert_allclose(model.alphas_, exact.alphas_)
    np.testing.assert_allclose(model.loo_errors_[:18], exact.loo_errors_[:18], rtol=1e-4)
    monkeypatch.setattr("bochner.solvers.direct._SOME_EQUATIONS", 60)
    fewer = operator(KERNELS[name], solver=solver, fit_intercept=True).fit(X, Y, weights)
    assert 0 < np.abs(fewer.loo_errors_[10] / exact.loo_errors_[10] - 1) < 0.5


def test_noise_raises_the_ridge_and_clean_data_lower_it():
    chosen = [spectral().fit(*problem(300, noise)).alpha_ for noise in (0.0, 0.1, 1.0)]
    assert chosen[0] < 1e-3 < chosen[1] < chosen[2]


@pytest.mark.parametrize(
    "model",
    [spectral(), operator(KERNELS["curl-free"]), OperatorKernelRidge(KERNELS["matrix"])],
    ids=repr,
)
def test_nothing_to_choose_by_takes_the_largest_ridge(model):
    X = np.random.default_rng(0).normal(size=(20, 2))
    constant = clone(model).fit(X, np.zeros((20, 2)))
    assert constant.alpha_ == constant.alphas_[0] == constant.alphas_.max()
    same = clone(model).fit(np.ones((5, 2)), np.arange(10.0).reshape(5, 2))
    assert np.all(np.isfinite(same.predict(X)))


def test_auto_is_the_default_of_ridges_and_no_word_of_the_kernel_machine():
    for model in (
        SpectralRidge(),
        OperatorRidge(),
        OperatorRidgeClassifier(),
        OperatorKernelRidge(),
    ):
        assert model.alpha == "auto"
    assert (
        SpectralRidge().set_params(features__block_size=9).features.n_components
        == OperatorRidge().n_components
        == 500
    )
    with pytest.raises(TypeError, match="alpha must be a number"):
        KernelMachine(alpha="auto").fit(*problem(20))


def test_rows_of_a_heavy_class_are_left_out_whole():
    X, Y = problem(30)
    labels = np.where(Y[:, 0] > 0, "heavy", "light")
    counts = np.random.default_rng(0).integers(1, 3, 30).astype(float)
    costs = np.where(labels == "heavy", 50.0, 0.2)
    settings = {"kernel": Decomposable(Gaussian(0.4)), "n_components": 20, "random_state": 0}
    class_weight = {"heavy": 50.0, "light": 0.2}
    model = OperatorRidgeClassifier(**settings, class_weight=class_weight).fit(X, labels, counts)
    targets = model.code_.T[np.searchsorted(model.classes_, labels)]
    for number in (5, 10):
        single = OperatorRidge(**settings, alpha=model.ridge_.alphas_[number])
        residuals = [
            (
                targets[i]
                - clone(single)
                .fit(X, targets, costs * counts * (np.arange(30) != i))
                .predict(X[[i]])
            )
            ** 2
            for i in range(30)
        ]
        expected = np.average(np.ravel(residuals), weights=costs * counts)
        assert model.ridge_.loo_errors_[number] == pytest.approx(expected, rel=1e-6)
    one = {**settings, "alpha": 0.1}
    weighted = OperatorRidgeClassifier(**one).fit(X, labels, counts * costs)
    by_class = OperatorRidgeClassifier(**one, class_weight=class_weight).fit(X, labels, counts)
    np.testing.assert_allclose(by_class.predict_proba(X), weighted.predict_proba(X), rtol=1e-9)
