"""Novelty of rows: the share of left-out training rows that are at most as far from the others."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tabular_samples import QUICK, few_waves, short_choice_of_ranks, table  # noqa: F401

from bochner import Anova, Gaussian, Laplace, Matern, SpectralClassifier, SpectralRegressor
from bochner.priors import WithCategories
from bochner.tabular.neighbors import Neighbors
from bochner.tabular.novelty import novelty_shares

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("few_waves", "short_choice_of_ranks")
RATES = np.array([0.4, 0.9, 0.3, 0.6])
PRIORS = [prior.with_rates(RATES, RATES) for prior in (Anova(), Laplace(), Gaussian(), Matern())]
every_prior = pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)


def kept_rows(prior, n=60, seed=0):
    rng = np.random.default_rng(seed)
    return Neighbors(rng.normal(size=(n, 4)), prior, np.array([0, 1, 1, 2]))


def plain_distance(prior, z, other, left_out=()):
    """The definition; only for tests."""
    mixed = np.where(np.isin([0, 1, 1, 2], left_out), other, z)
    return -np.log(prior.kernel(mixed[None], other[None])[0, 0])


@every_prior
def test_distances_are_minus_log_of_the_kernel(prior):
    neighbors, Z = kept_rows(prior), kept_rows(prior, 5, seed=1).Z
    left_out = np.zeros((5, 3), dtype=bool)
    left_out[1, 1] = left_out[2, [0, 2]] = True
    found = neighbors.distances(Z, left_out)
    wanted = [
        [plain_distance(prior, z, other, np.flatnonzero(out)) for other in neighbors.Z]
        for z, out in zip(Z, left_out)
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@every_prior
def test_novelty_is_the_share_of_left_out_rows_that_are_nearer(prior):
    neighbors, Z = kept_rows(prior), 2 * kept_rows(prior, 7, seed=1).Z
    own = []
    for i, row in enumerate(neighbors.Z):
        others = np.delete(neighbors.Z, i, axis=0)
        own.append(min(plain_distance(prior, row, other) for other in others))
    nearest = [min(plain_distance(prior, z, other) for other in neighbors.Z) for z in Z]
    wanted = [np.mean(np.array(own) <= distance) for distance in nearest]
    found = novelty_shares(neighbors, Z, np.zeros((7, 3), dtype=np.int8))[:, 0]
    np.testing.assert_allclose(found, wanted)
    assert len(set(wanted)) > 3


@pytest.mark.parametrize("n_columns", [1, 3, 6])
@pytest.mark.parametrize("prior", [Laplace(0.5), Gaussian(0.5), Anova()], ids=repr)
def test_novelty_of_rows_of_the_same_kind_is_uniform(prior, n_columns, seed):
    rng = np.random.default_rng(seed)
    levels, shares = np.array([0.1, 0.25, 0.5, 0.75, 0.9]), []
    for _ in range(25):
        neighbors = Neighbors(rng.normal(size=(150, n_columns)), prior, np.arange(n_columns))
        fresh = rng.normal(size=(150, n_columns))
        found = novelty_shares(neighbors, fresh, np.zeros(fresh.shape, dtype=np.int8))
        shares.append(np.mean(found <= levels, axis=0))
    error = np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))
    # The left-out rows have one neighbor less.
    assert np.all(np.abs(np.mean(shares, axis=0) - levels) < 4 * error + 0.01)


def test_many_columns_do_not_underflow():
    rng = np.random.default_rng(0)
    prior = Laplace(np.full(300, 5.0))
    neighbors = Neighbors(rng.normal(size=(40, 300)), prior, np.arange(300))
    fresh = np.vstack([rng.normal(size=(40, 300)), np.full((1, 300), 9.0)])
    found = novelty_shares(neighbors, fresh, np.zeros(fresh.shape, dtype=np.int8))[:, 0]
    assert 0.2 < found[:-1].mean() < 0.8
    assert found[-1] == 1
    assert np.exp(-neighbors.own_distances).max() == 0


@pytest.mark.parametrize("cls", [SpectralRegressor, SpectralClassifier])
@pytest.mark.parametrize("parameters", [{}, {"max_leaf_rows": 100}], ids=str)
def test_far_rows_are_novel_and_the_order_of_rows_does_not_count(cls, parameters):
    frame, y = table(200)
    target = y if cls is SpectralRegressor else y > 0
    model = cls(evidence=QUICK, random_state=0, **parameters).fit(frame, target)
    new = table(50, seed=1)[0]
    new.loc[:4, "size"] = 1e3
    found = model.novelty(new)
    assert found.shape == (50,)
    assert found.min() >= 0
    assert np.all(found[:5] > 0.95)
    assert np.median(found[5:]) < 0.9
    order = np.random.default_rng(0).permutation(50)
    np.testing.assert_allclose(model.novelty(new.iloc[order]), found[order])
    assert model.novelty(frame).mean() < 0.3


def test_fits_do_not_depend_on_the_order_of_few_rows():
    frame, y = table(80)
    order, new = np.random.default_rng(0).permutation(80), table(20, seed=1)[0]
    models = [
        SpectralRegressor(evidence=QUICK, random_state=0).fit(frame.iloc[rows], y[rows])
        for rows in (np.arange(80), order)
    ]
    np.testing.assert_allclose(models[0].novelty(new), models[1].novelty(new))


def test_unknown_levels_are_as_far_as_the_most_different_ones():
    """Levels in columns of their own, two levels in one column, and codes."""
    rng = np.random.default_rng(0)
    one_hot = 1.5 * np.eye(3)[rng.integers(3, size=40)]
    Z = np.column_stack([one_hot, 1.5 * (rng.random(40) < 0.5), rng.integers(30, size=40)])
    prior = WithCategories(Laplace(), [4]).with_rates(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), None)
    neighbors = Neighbors(Z, prior, np.array([0, 0, 0, 1, 2]))
    new = np.zeros((3, 5))
    new[:, 4] = 30
    left_out, unknown = ~np.eye(3, dtype=bool), np.eye(3, dtype=bool)
    distances = neighbors.distances(new, left_out, unknown)
    np.testing.assert_allclose(distances[0], 1.5 * (0.2 + 0.3))
    np.testing.assert_allclose(distances[1], 1.5 * 0.4)
    np.testing.assert_allclose(distances[2], 1.5 * 0.5)


@pytest.mark.parametrize("prior", [None, Matern()], ids=["product", "radial"])
def test_unknown_levels_are_novel_and_missing_cells_do_not_count(prior):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "town": rng.choice(["Jena", "Ulm"], 80)})
    y = frame["size"] + 3 * (frame["town"] == "Ulm")
    model = SpectralRegressor(prior, evidence=QUICK, random_state=0).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(model.novelty(frame.assign(town="Bonn")) == 1)
        assert np.all(model.novelty(frame.assign(size=np.nan)) == 0)


@pytest.mark.parametrize("method", ["novelty", "imputed_cells"])
def test_models_must_be_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(SpectralRegressor(), method)(np.zeros((2, 2)))


def test_arrays_and_partitions():
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, X[:, 0])
    new = X[:20] + 0.3
    with dask.config.set(scheduler="synchronous"):
        found = model.novelty(da.from_array(new, chunks=(7, 2))).compute()
    np.testing.assert_allclose(found, model.novelty(new))
    np.testing.assert_allclose(model.novelty(new.astype(np.float32)), found, atol=0.05)
