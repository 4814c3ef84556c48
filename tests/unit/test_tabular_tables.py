"""Tables as they are: frames, missing values, sparse rows, weights, storage."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from tabular_samples import QUICK, regression, table

from bochner import SpectralClassifier, SpectralRegressor

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def regressor():
    X, y = table()
    return SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    X, y = table()
    return SpectralClassifier(evidence=QUICK, random_state=0).fit(X, np.digitize(y, [0.0, 1.5]))


def test_frames_of_pandas_and_polars_give_the_same(regressor):
    pl = pytest.importorskip("polars")
    X, y = table()
    other = clone(regressor).fit(pl.from_pandas(X), y)
    np.testing.assert_allclose(other.predict(pl.from_pandas(X)), regressor.predict(X), rtol=1e-6)
    assert list(other.feature_names_in_) == list(X.columns)


def test_tables_with_all_kinds_of_columns_are_learned(regressor):
    X, y = table(seed=1)
    assert regressor.score(X[X["kind"].notna()], y[X["kind"].notna()]) > 0.7


def test_missing_values_and_sparse_rows_of_arrays():
    X, y = regression()
    X = np.round(X)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    dense = clone(model).fit(X, y)
    sparse = clone(model).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X))
    X[::5, 1] = np.nan
    assert np.all(np.isfinite(clone(model).fit(X, y).predict(X)))
    with pytest.raises(ValueError, match=r"100000 x 100000 numbers are 80.0 GB"):
        model.fit(sp.csr_array((100_000, 100_000)), np.zeros(100_000))


def test_the_order_of_rows_and_their_repetition_do_not_matter():
    X, y = regression(50)
    labels = np.where(y > 0, "yes", "no")
    rng = np.random.default_rng(0)
    for model, target in (
        (SpectralRegressor(evidence=QUICK, random_state=0), y),
        (SpectralClassifier(evidence=QUICK, random_state=0), labels),
    ):
        weights = rng.integers(0, 4, size=50)
        repeated = rng.permutation(np.repeat(np.arange(50), weights))
        weighted = clone(model).fit(X, target, sample_weight=weights)
        longer = clone(model).fit(X[repeated], target[repeated])
        answer = "predict" if target is y else "predict_proba"
        np.testing.assert_array_equal(getattr(weighted, answer)(X), getattr(longer, answer)(X))


def test_weights_below_one_are_relative():
    X, y = regression(50)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    equal = clone(model).fit(X, y, sample_weight=np.full(50, 1 / 50))
    np.testing.assert_allclose(equal.predict(X), clone(model).fit(X, y).predict(X), rtol=1e-6)


def test_class_weights_move_probabilities_to_the_rare_class():
    X, y = make_classification(300, 4, weights=[0.9], flip_y=0.1, random_state=0)
    plain, balanced = (
        SpectralClassifier(evidence=QUICK, class_weight=w, random_state=0).fit(X, y)
        for w in (None, "balanced")
    )
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1
    by_hand = SpectralClassifier(evidence=QUICK, class_weight={0: 1.0, 1: 1.0}, random_state=0).fit(
        X, y
    )
    np.testing.assert_allclose(by_hand.predict_proba(X), plain.predict_proba(X))


def test_a_model_of_a_table_survives_being_saved(classifier, tmp_path):
    pytest.importorskip("skops.io")
    from bochner import load, save

    X, _ = table()
    save(classifier, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert repr(again.members_) == repr(classifier.members_)
