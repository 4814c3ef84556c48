"""Gram matrices of float32 features in float32 tiles: as good as float64 where they are used, and
not used where they would not be.
"""

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone

from bochner import (
    CurlFree,
    Gaussian,
    OperatorRidge,
    OperatorRidgeClassifier,
    SpectralFeatures,
    SpectralRidge,
)
from bochner.data import as_rows
from bochner.data.targets import Values
from bochner.data.training import TrainingData
from bochner.solvers import choice
from bochner.solvers.direct import condition
from bochner.solvers.problem import RidgeStatistics

N_ROWS = 40_000


def data(n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, n_features)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=N_ROWS)


def sound(**parameters):
    """A ridge whose systems are well-conditioned on the rows above."""
    features = SpectralFeatures(Gaussian(0.1), n_components=15)
    return SpectralRidge(features, **{"alpha": 1.0, "random_state": 0} | parameters)


def in_float64(model, X, y, monkeypatch, **settings):
    """The same fit without tiles."""
    with monkeypatch.context() as patched:
        patched.setattr("bochner.models.ridge.model.tiles_seem_enough", lambda *arguments: False)
        return clone(model).fit(X, y, **settings)


def assert_near(found, wanted, X):
    difference = np.abs(found.predict(X) - wanted.predict(X)).max()
    assert difference <= 1e-5 * np.abs(wanted.predict(X)).max()


def sums_of(model):
    return getattr(model, "ridge_", model)._statistics


@pytest.mark.parametrize("eigenvalues", [[1.0, 2.0, 30.0], [0.0, 1.0, 1e5]])
def test_condition_is_that_of_the_eigenvalues(eigenvalues):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    matrix = (turn * eigenvalues) @ turn.T
    assert condition(matrix, 0.5) == pytest.approx(
        (max(eigenvalues) + 0.5) / (min(eigenvalues) + 0.5), rel=0.05
    )


def test_condition_is_infinite_below_rounding():
    assert condition(np.full((2, 2), 1e20), 1e-9) == np.inf
    assert condition(np.diag([8.0, 0.0]), 2.0) == pytest.approx(5.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_tiles_are_rounded_each_and_added_in_float64(weighted):
    X, y = data(3)
    X, weights = X[:3000], np.linspace(0.5, 2, 3000) if weighted else None
    features = Gaussian(0.5).sample(4, 3, np.random.default_rng(0)).block()
    rows = TrainingData(as_rows(X, 3000), Values(y[:3000, None]), weights)
    found, wanted = (
        RidgeStatistics.of(features, rows, np.zeros(1), tiled=tiled) for tiled in (True, False)
    )
    assert (found.tiled, wanted.tiled) == (True, False)
    scaled = (
        features(X)
        if weights is None
        else features(X) * np.sqrt(weights).astype(np.float32)[:, None]
    )
    tiles = [scaled[start : start + 1024] for start in range(0, 3000, 1024)]
    np.testing.assert_array_equal(
        found.gram, sum((tile.T @ tile).astype(np.float64) for tile in tiles)
    )
    assert 0 < np.abs(found.gram - wanted.gram).max() < 1e-6 * wanted.gram.max()
    for name in ("cross", "feature_sum", "target_gram", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@pytest.mark.parametrize(
    "model",
    [
        sound(),
        sound(alpha="auto"),
        sound(alpha=[0.1, 1.0, 10.0], fit_intercept=False),
        OperatorRidge(n_components=15, alpha=1.0, random_state=0),
        OperatorRidgeClassifier(n_components=15, alpha=1.0, random_state=0),
        OperatorRidge(CurlFree(Gaussian(0.1)), n_components=10, alpha=10.0, random_state=0),
    ],
    ids=["spectral", "auto", "several", "operator", "classifier", "curl-free"],
)
@pytest.mark.parametrize("weighted", long_except([False, True], True))
def test_predictions_are_those_of_float64(model, weighted, monkeypatch):
    X, y = data()
    settings = {"sample_weight": np.linspace(0.5, 2, len(X))} if weighted else {}
    y = (y > 0).astype(int) if isinstance(model, OperatorRidgeClassifier) else y
    if isinstance(model, OperatorRidge) and isinstance(model.kernel, CurlFree):
        X, y = X[:, :2], np.stack([y, y**2], axis=1)
    wanted, found = (
        in_float64(model, X, y, monkeypatch, **settings),
        clone(model).fit(X, y, **settings),
    )
    assert (sums_of(wanted).tiled, sums_of(found).tiled) == (False, True)
    if isinstance(model, OperatorRidgeClassifier):
        np.testing.assert_allclose(
            found.decision_function(X), wanted.decision_function(X), atol=1e-5
        )
        np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=1e-5)
    else:
        assert found.alpha_ == pytest.approx(wanted.alpha_, rel=1e-6)
        assert_near(found, wanted, X)


@pytest.mark.parametrize("seed", long_except(range(3), 0))
def test_the_hardest_systems_of_tiles_still_agree(seed, monkeypatch):
    """The smallest ridge for which tiles are kept: near the condition up to which they are."""
    X, y = data(3, seed)
    features = SpectralFeatures(Gaussian(0.3), n_components=30)
    conditions = []
    monkeypatch.setattr(choice, "_SLACK", np.inf)
    for alpha in np.logspace(2, -2, 9):
        model = SpectralRidge(features, alpha=alpha, random_state=seed)
        found = clone(model).fit(X, y)
        if not found._statistics.tiled:
            break
        assert_near(found, in_float64(model, X, y, monkeypatch), X)
        conditions.append(condition(found._problem().matrix, alpha))
    assert choice.LARGEST_CONDITION / 5 < max(conditions) <= choice.LARGEST_CONDITION


def test_ill_conditioned_systems_are_summed_in_float64_from_the_start(monkeypatch):
    X, y = data(2)
    model = SpectralRidge(
        SpectralFeatures(Gaussian(0.5), n_components=30), alpha=1e-4, random_state=0
    )
    passes = []
    monkeypatch.setattr(
        "bochner.models.ridge.model.RidgeStatistics.of", _counted(passes, RidgeStatistics.of)
    )
    found = clone(model).fit(X, y)
    assert passes == [False]
    assert not found._statistics.tiled


def test_where_the_guess_was_wrong_the_sums_are_made_again(monkeypatch):
    X, y = data(2)
    model = SpectralRidge(
        SpectralFeatures(Gaussian(0.5), n_components=30), alpha=1e-4, random_state=0
    )
    wanted, passes = in_float64(model, X, y, monkeypatch), []
    monkeypatch.setattr(choice, "_SLACK", np.inf)
    monkeypatch.setattr(
        "bochner.models.ridge.model.RidgeStatistics.of", _counted(passes, RidgeStatistics.of)
    )
    found = clone(model).fit(X, y)
    assert passes == [True, False]
    np.testing.assert_array_equal(found.coef_, wanted.coef_)


def _counted(passes, original):
    def of(features, rows, shift, **settings):
        if len(rows.rows) == N_ROWS:  # not some of them, for a guess
            passes.append(settings.get("tiled", False))
        return original(features, rows, shift, **settings)

    return of


def test_few_rows_float64_rows_and_float64_features_have_no_tiles():
    X, y = data()
    assert not sound().fit(X[:30_000], y[:30_000])._statistics.tiled
    assert not sound().fit(X.astype(np.float64), y)._statistics.tiled
    from sklearn.preprocessing import FunctionTransformer

    double = FunctionTransformer(lambda X: X.astype(np.float64))
    assert not SpectralRidge(double, alpha=1.0).fit(X, y)._statistics.tiled
    assert SpectralRidge(FunctionTransformer(), alpha=1.0).fit(X, y)._statistics.tiled


def test_rows_elsewhere_and_rows_in_parts_agree(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = data()
    whole = sound().fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    mapped = sound().fit(np.load(tmp_path / "rows.npy", mmap_mode="r"), y)
    np.testing.assert_array_equal(mapped.coef_, whole.coef_)
    assert mapped._statistics.tiled
    # Rows that cannot be read again are summed in float64.
    parts = sound()
    for rows in (slice(0, 35_000), slice(35_000, None)):
        parts.partial_fit(X[rows], y[rows])
    assert not parts._statistics.tiled
    assert_near(parts, whole, X)
    there = sound().fit(da.from_array(X, chunks=(9000, -1)), da.from_array(y, chunks=7000))
    assert there._statistics.tiled
    assert_near(there, whole, X)
    # What was summed in tiles says so ever after.
    both = sound().fit(X, y).merge(sound().partial_fit(X[:1000], y[:1000]))
    again = sound().fit(X, y).partial_fit(X[:1000], y[:1000])
    assert both._statistics.tiled
    assert again._statistics.tiled
    assert_near(both, again, X)


def test_weighted_rows_of_a_cluster_are_summed_in_tiles_too():
    da = pytest.importorskip("dask.array")
    X, y = data()
    weights = np.linspace(0.5, 2, len(X))
    there = [da.from_array(part, chunks=9000) for part in (X, y, weights)]
    found = sound().fit(*there)
    assert found._statistics.tiled
    assert_near(found, sound().fit(X, y, weights), X)


def test_rows_that_no_worker_can_hold_are_summed_in_float64(monkeypatch):
    """A look at some of them, to know whether tiles will do, would read them once more."""
    da = pytest.importorskip("dask.array")
    X, y = data()
    monkeypatch.setattr("bochner.data.dask.rows.has_room", lambda n_bytes: False)
    with pytest.warns(UserWarning, match="no room to keep them"):
        found = sound(alpha=[0.1, 1.0]).fit(da.from_array(X, chunks=(9000, -1)), y)
    assert not found._statistics.tiled


def test_a_later_ridge_that_is_too_small_for_tiles_is_said():
    X, y = data(2)
    model = SpectralRidge(
        SpectralFeatures(Gaussian(0.5), n_components=30), alpha=1e3, random_state=0
    ).fit(X, y)
    assert model._statistics.tiled
    model.set_params(alpha=1e-4).partial_fit(X[:10], y[:10])
    with pytest.warns(UserWarning, match="too coarse for alpha=0.0001"):
        model.predict(X[:2])
