"""SpectralLogistic: scikit-learn's coefficients from row sums, wherever rows and labels are."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad
from selection import long_except
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bochner import Gaussian, PacBayes, SpectralFeatures, SpectralLogistic
from bochner.data import LocalRows
from bochner.data.targets import Labels
from bochner.solvers import newton
from bochner.solvers.newton import SoftmaxProblem, class_code, without_constant

FEATURES = SpectralFeatures(Gaussian(0.5), n_components=15, random_state=0)


def problem(n_classes, n_rows=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    y = np.clip(
        np.floor(1.5 * np.sin(X[:, 0]) + X[:, 1] / 2 + n_classes / 2 + rng.normal(size=n_rows)),
        0,
        n_classes - 1,
    )
    return X, np.array([f"class {int(k)}" for k in y])


def scikit(C, X, y, weights=None, **keywords):
    return LogisticRegression(
        C=C, tol=1e-10, max_iter=1000, solver="newton-cholesky", **keywords
    ).fit(X, y, weights)


@pytest.mark.parametrize("n_classes", long_except([2, 3, 7], 2, 3))
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_coefficients_are_those_of_scikit_learn(n_classes, C, fit_intercept, class_weight):
    X, y = problem(n_classes)
    weights = np.random.default_rng(1).uniform(0, 3, size=len(X))
    model = SpectralLogistic(
        FEATURES, C=C, fit_intercept=fit_intercept, class_weight=class_weight
    ).fit(X, y, weights)
    there = scikit(
        C,
        model.features_.transform(X),
        y,
        weights,
        fit_intercept=fit_intercept,
        class_weight=class_weight,
    )
    np.testing.assert_allclose(model.coef_, there.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, there.intercept_, atol=1e-6)
    np.testing.assert_allclose(
        model.predict_proba(X), there.predict_proba(model.features_.transform(X)), atol=1e-7
    )
    np.testing.assert_array_equal(model.predict(X), there.predict(model.features_.transform(X)))
    assert model.n_iter_ <= (8 if n_classes < 7 else 12)  # of seven classes one has a few rows


@pytest.mark.parametrize(("limits", "kind"), [((1, 1, 4096), "shared"), ((1, 1, 1), "diagonal")])
def test_large_problems_by_conjugate_gradients(monkeypatch, limits, kind):
    X, y = problem(4)
    whole = SpectralLogistic(FEATURES).fit(X, y)
    for name, limit in zip(
        ("MOST_UNKNOWNS", "MOST_PRODUCTS", "_MOST_COLUMNS"), limits, strict=True
    ):
        monkeypatch.setattr(newton, name, limit)
    seen = []
    original = SoftmaxProblem._kind.fget
    monkeypatch.setattr(
        SoftmaxProblem, "_kind", property(lambda self: seen.append(original(self)) or seen[-1])
    )
    found = SpectralLogistic(FEATURES).fit(X, y)
    assert set(seen) == {kind}
    np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradient_and_hessian_are_derivatives(n_classes):
    X, y = problem(n_classes, n_rows=40)
    rng, labels, code = np.random.default_rng(2), Labels.of(y), class_code(n_classes)
    weights = rng.uniform(0, 2, size=40)
    shape = 3, len(code)

    def design(block):
        return without_constant(np.sin, block)

    given = SoftmaxProblem(
        LocalRows(X, 7), labels.codes, weights, design, code, np.array([1.0, 2.0, 0.0]), 1.7
    )
    W = rng.normal(size=shape)
    value, gradient = (
        (lambda w: given.at(w.reshape(shape)).value),
        (lambda w: given.at(w.reshape(shape)).gradient.ravel()),
    )
    assert check_grad(value, gradient, W.ravel()) < 1e-5
    step = 1e-6 * np.eye(W.size)
    slopes = np.array([(gradient(W.ravel() + e) - gradient(W.ravel() - e)) / 2e-6 for e in step])
    reached = given.at(W)
    moved = given.step(reached, damping=0.3)
    held = slopes + 0.3 * np.eye(W.size)
    np.testing.assert_allclose(
        held @ moved.ravel(), -reached.gradient.ravel(), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_classes_that_can_be_told_apart_converge(n_classes, C):
    X, _ = problem(2, n_rows=300)
    y = np.digitize(X[:, 0], [-0.3, 0.4][: n_classes - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = SpectralLogistic(FEATURES, C=C).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert C < 10 or model.score(X, y) == 1


def test_too_few_passes_are_told():
    X, y = problem(3)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 passes"):
        assert SpectralLogistic(FEATURES, C=1e4, max_iter=2).fit(X, y).n_iter_ == 2


def test_columns_themselves():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(FEATURES, SpectralLogistic(FunctionTransformer(), C=10.0)).fit(X, y)
    inside = SpectralLogistic(FEATURES, C=10.0).fit(X, y)
    np.testing.assert_allclose(model[-1].coef_, inside.coef_, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X), inside.predict_proba(X), atol=1e-9)
    sparse = SpectralLogistic(FunctionTransformer(accept_sparse=True)).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, scikit(1.0, X, y).coef_, atol=1e-6)
    with pytest.raises(AttributeError, match="sum of waves"):
        sparse.jacobian(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_jacobian_is_the_slope_of_the_scores(n_classes):
    X, y = problem(n_classes)
    model = SpectralLogistic(FEATURES).fit(X, y)
    step = np.array([0.0, 1e-6, 0.0])
    slopes = (model.decision_function(X + step) - model.decision_function(X - step)) / 2e-6
    np.testing.assert_allclose(model.jacobian(X)[..., 1], slopes, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_and_labels_on_a_cluster_stay_there(n_classes, weighted, monkeypatch):
    da = pytest.importorskip("dask.array")
    X, y = problem(n_classes)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)) if weighted else None
    expected = SpectralLogistic(FEATURES, C=10.0).fit(X, y, weights)
    there_X, there_y = da.from_array(X, chunks=(170, 2)), da.from_array(y, chunks=230)
    gathered = []
    original = da.Array.compute
    monkeypatch.setattr(
        da.Array, "compute", lambda self, **kw: gathered.append(self.size) or original(self, **kw)
    )
    model = SpectralLogistic(FEATURES, C=10.0).fit(there_X, there_y, weights)
    assert max(gathered, default=0) < len(X) / 2
    monkeypatch.undo()
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-10)
    for method in ("predict", "predict_proba", "decision_function"):
        answer = getattr(model, method)(there_X)
        assert isinstance(answer, da.Array)
        here = getattr(expected, method)(X)
        assert answer.dtype == here.dtype
        if method == "predict":
            np.testing.assert_array_equal(answer.compute(), here)
        else:
            np.testing.assert_allclose(answer.compute(), here, atol=1e-9)


def test_bad_labels_on_a_cluster_are_refused():
    da = pytest.importorskip("dask.array")
    X, _ = problem(2)
    rows = da.from_array(X, chunks=(100, 3))
    y = np.zeros(len(X))
    with pytest.raises(ValueError, match="only 1 class"):
        SpectralLogistic(FEATURES).fit(rows, da.from_array(y, chunks=100))
    y[5], y[7] = 1, np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        SpectralLogistic(FEATURES).fit(rows, da.from_array(y, chunks=100))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SpectralLogistic(FEATURES).fit(rows, da.from_array(y[1:], chunks=100))


def test_labels_teach_the_features():
    X, y = problem(3)
    features = SpectralFeatures(
        Gaussian(0.5), PacBayes(), n_components=10, n_candidates=100, random_state=0
    )
    model = SpectralLogistic(features).fit(X, y)
    alone = features.fit(X, y)
    np.testing.assert_allclose(model.measure_.frequencies, alone.measure_.frequencies)


@pytest.mark.long
def test_the_features_of_all_rows_are_never_held(tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 60_000
    np.save(tmp_path / "X.npy", rng.normal(size=(n_rows, 4)).astype(np.float32))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    y = (np.sin(X[:, 0]) > X[:, 1]).astype(int)
    features = SpectralFeatures(Gaussian(0.5), n_components=100, random_state=0)
    SpectralLogistic(features).fit(X[:1000], y[:1000])  # compiles
    tracemalloc.start()
    model = SpectralLogistic(features).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6 < n_rows * 200 * 4  # bytes of the features
    assert model.predict_proba(X).dtype == np.float32
    in_memory = SpectralLogistic(features).fit(np.array(X), y)
    np.testing.assert_allclose(model.coef_, in_memory.coef_, atol=1e-10)


@pytest.mark.parametrize(
    "bad",
    [{"C": 0}, {"C": "much"}, {"tol": 0}, {"max_iter": 0}, {"fit_intercept": 1}, {"features": 3}],
)
def test_bad_parameters_are_refused(bad):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
        SpectralLogistic(**bad).fit(X, y)


@pytest.mark.parametrize(
    ("n_classes", "C", "coarse"), [(2, 1.0, False), (4, 1.0, False), (2, 1e5, True), (4, 1e5, True)]
)
def test_curvature_in_float32_tiles_costs_no_digits(n_classes, C, coarse, monkeypatch):
    X, y = problem(n_classes, n_rows=3000)
    X = X.astype(np.float32)
    found, tiled = [], []
    original = newton._sums_block

    def seen(design, code, coefficients, kind, in_tiles, *arguments):
        tiled.append(in_tiles)
        return original(design, code, coefficients, kind, in_tiles, *arguments)

    monkeypatch.setattr(newton, "_sums_block", seen)
    found.append(SpectralLogistic(FEATURES, C=C).fit(X, y))
    assert tiled[0]
    # Where rounding would turn a step, the pass is made again, and all later ones, in float64.
    assert tiled[-1] != coarse
    monkeypatch.setattr(SoftmaxProblem, "_in_tiles", property(lambda self: False))
    found.append(SpectralLogistic(FEATURES, C=C).fit(X, y))
    assert not tiled[-1]
    np.testing.assert_allclose(
        found[0].coef_, found[1].coef_, rtol=1e-6, atol=1e-6 * np.abs(found[1].coef_).max()
    )
    assert abs(found[0].n_iter_ - found[1].n_iter_) <= 1


def test_curvature_of_a_tile_is_rounded_and_added_in_float64():
    A = np.random.default_rng(0).normal(size=(50, 3))
    weights = np.linspace(0, 1, 50)
    exact = A.T @ (weights[:, None] * A)
    assert newton._gram(A, weights, np.float32).dtype == np.float32
    np.testing.assert_allclose(newton._gram(A, weights, np.float32), exact, atol=1e-5)
    np.testing.assert_allclose(newton._gram(A, weights, np.float64), exact, atol=1e-12)
