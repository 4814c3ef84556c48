"""Intervals and probabilities of the tabular models with repeated rows and with weights."""

import numpy as np
import pytest
from selection import long_except
from sklearn.metrics import log_loss
from tabular_samples import QUICK

from bochner import Laplace, SpectralClassifier, SpectralRegressor
from bochner.data.inputs import TableInputs
from bochner.data.tables import LocalTable
from bochner.data.targets import Values
from bochner.tabular import fitting, preparation
from bochner.tabular.preparation import TableData, prepare_all_rows, prepare_columns

pd = pytest.importorskip("pandas")

# Passengers of the Titanic by class (0 is the crew), adult, male: how many died and how many
# survived (Dawson 1995).
TITANIC = {
    (1, 1, 1): (118, 57), (1, 0, 1): (0, 5), (1, 1, 0): (4, 140), (1, 0, 0): (0, 1),
    (2, 1, 1): (154, 14), (2, 0, 1): (0, 11), (2, 1, 0): (13, 80), (2, 0, 0): (0, 13),
    (3, 1, 1): (387, 75), (3, 0, 1): (35, 13), (3, 1, 0): (89, 76), (3, 0, 0): (17, 14),
    (0, 1, 1): (670, 192), (0, 1, 0): (3, 20),
}  # fmt: skip


def titanic():
    cells = np.array([(*cell, outcome) for cell in TITANIC for outcome in (0, 1)])
    counts = np.array([TITANIC[cell][outcome] for cell in TITANIC for outcome in (0, 1)])
    return cells[:, :3].astype(float), cells[:, 3], counts


def noisy(n, seed=0, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + rng.normal(size=n)


def coverage(model, seed=1, d=2):
    Z, z = noisy(4000, seed + 1000, d)
    lower, upper = model.predict_interval(Z, level=0.9).T
    return np.mean((lower <= z) & (z <= upper))


def quick(**settings):
    return SpectralRegressor(evidence=QUICK, random_state=0, **settings)


def repeated_half(X, y):
    half = len(X) // 2
    return np.vstack([X, X[:half]]), np.append(y, y[:half])


REPEATED = {
    "twice": lambda X, y: (np.tile(X, (2, 1)), np.tile(y, 2), None),
    "weight 2": lambda X, y: (X, y, np.full(len(y), 2.0)),
    "weight 1000": lambda X, y: (X, y, np.full(len(y), 1000.0)),
    "weight 0.001": lambda X, y: (X[::-1], y[::-1], np.full(len(y), 1e-3)),
}


@pytest.mark.parametrize("name", long_except(REPEATED, "twice", "weight 1000"))
def test_intervals_are_those_of_the_plain_table(name):
    repeat = REPEATED[name]
    X, y = noisy(150)
    Z, _ = noisy(50, 1)
    expected = quick().fit(X, y).predict_interval(Z)
    np.testing.assert_allclose(quick().fit(*repeat(X, y)).predict_interval(Z), expected, rtol=1e-6)


def test_intervals_above_the_exact_size_are_those_of_the_plain_table(monkeypatch):
    """Rows are merged before the way of solving is chosen."""
    monkeypatch.setattr(fitting, "LEAVE_ONE_OUT_ROWS", 100)
    X, y = noisy(160)
    Z, _ = noisy(50, 1)
    expected = quick(max_leaf_rows=200).fit(X, y).predict_interval(Z)
    frame = pd.DataFrame({"a": np.tile(X[:, 0], 2), "b": np.tile(X[:, 1], 2)})
    for rows in (np.tile(X, (2, 1)), frame):
        model = quick(max_leaf_rows=200).fit(rows, np.tile(y, 2))
        given = Z if isinstance(rows, np.ndarray) else pd.DataFrame(Z, columns=["a", "b"])
        np.testing.assert_allclose(model.predict_interval(given), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", long_except(["half", "weights", "survey"], "survey"))
def test_intervals_keep_their_coverage(kind, monkeypatch, seed):
    """The mean over leave-one-out and held-out rows; one fit of 300 rows alone has a standard error
    of .02.
    """
    rng = np.random.default_rng(seed)
    found = []
    for limit in (3500, 200):
        monkeypatch.setattr(fitting, "LEAVE_ONE_OUT_ROWS", limit)
        X, y = noisy(600, seed)
        weights = None
        if kind == "half":
            X, y = repeated_half(X, y)
        else:
            weights = (
                rng.uniform(0.5, 3, 600)
                if kind == "weights"
                else 1000 * np.exp(0.5 * rng.normal(size=600))
            )
        found.append(coverage(quick().fit(X, y, weights), seed))
    assert 0.85 < np.mean(found) < 0.95


def test_copies_among_all_prepared_rows_are_merged_and_rows_without_weight_left_out():
    X, y = noisy(5)
    inputs = TableInputs().fit(X)
    order, weights = np.array([2, 0, 1, 2, 3, 0, 4]), np.array([1.0, 2, 0, 3, 4, 5, 1])
    data = TableData(LocalTable(X[order]), Values.of(y[order]), weights)
    prepared, note = prepare_all_rows(data, inputs)
    np.testing.assert_array_equal(prepared.numbers, [0, 1, 4, 6])
    np.testing.assert_allclose(prepared.row_weights, np.array([4, 7, 4, 1]) / 4)
    np.testing.assert_array_equal(prepared.target.rows[:, 0], y[[2, 0, 3, 4]])
    np.testing.assert_array_equal(prepared.Z, inputs.transform(X[[2, 0, 3, 4]]).astype(np.float32))
    assert "2 of 7 rows repeat another row: copies" in note


@pytest.mark.long
def test_copies_of_held_out_rows_are_not_fitted(monkeypatch):
    """Rows on Dask are not merged before they are prepared."""
    X, _ = noisy(600)
    noise = np.random.default_rng(0).normal(size=600)
    order = np.random.default_rng(1).permutation(1800)
    X, noise = np.tile(X, (3, 1))[order], np.tile(noise, 3)[order]
    monkeypatch.setattr(TableData, "merge_equal_rows", lambda self, most_ties: self)
    model = quick(max_leaf_rows=300).fit(X, noise)
    assert min(one.held_out_error for one in model.members_) > 0.85


def test_ties_keep_the_log_loss_of_their_cells():
    cells, outcomes, counts = titanic()
    X, y = np.repeat(cells, counts, axis=0), np.repeat(outcomes, counts)
    frequencies = [TITANIC[tuple(row)][1] / sum(TITANIC[tuple(row)]) for row in X.astype(int)]
    best = log_loss(y, frequencies)
    assert best == pytest.approx(0.476487, abs=1e-6)
    model = SpectralClassifier(random_state=0).fit(X, y)
    assert "independent observations" in model.path_
    assert log_loss(y, model.predict_proba(X)) < best + 0.002
    present = counts > 0
    for other in (
        SpectralClassifier(random_state=0).fit(cells[present], outcomes[present], counts[present]),
        SpectralClassifier(random_state=0).fit(np.tile(X, (2, 1)), np.tile(y, 2)),
        SpectralClassifier(random_state=0).fit(X, y, np.full(len(y), 1000.0)),
    ):
        np.testing.assert_allclose(
            other.predict_proba(cells), model.predict_proba(cells), atol=1e-6
        )


def test_repeated_rows_do_not_make_probabilities_more_certain():
    X, y = noisy(200, d=3)
    Z, z = noisy(2000, 1, d=3)
    labels = y > 0
    model = SpectralClassifier(evidence=QUICK, random_state=0)
    plain = log_loss(z > 0, model.fit(X, labels).predict_proba(Z))
    for rows, own in ((np.tile(X, (2, 1)), np.tile(labels, 2)), repeated_half(X, labels)):
        model.fit(rows, own)
        assert "copies" in model.path_
        assert log_loss(z > 0, model.predict_proba(Z)) < plain + 0.02


@pytest.mark.long
@pytest.mark.parametrize("n", [4500, 12_000])
@pytest.mark.parametrize("kind", ["half", "thrice", "weights", "survey"])
def test_intervals_of_many_rows_keep_their_coverage(kind, n):
    rng = np.random.default_rng(n)
    X, y = noisy(n, n)
    weights = None
    if kind == "half":
        X, y = repeated_half(X, y)
    elif kind == "thrice":
        X, y = np.tile(X[: n // 3], (3, 1)), np.tile(y[: n // 3], 3)
    else:
        weights = (
            rng.uniform(0.5, 3, n) if kind == "weights" else 1000 * np.exp(0.5 * rng.normal(size=n))
        )
    assert 0.86 < coverage(SpectralRegressor(random_state=0).fit(X, y, weights)) < 0.94


def test_the_sample_of_many_rows_has_no_rows_without_weight(monkeypatch):
    monkeypatch.setattr(preparation, "_SAMPLE_ROWS", 100)
    X, y = noisy(400)
    weights = np.arange(400) % 2.0
    data = TableData(LocalTable(X), Values.of(y), weights)
    prepared = prepare_columns("from_dtype", data, True, 100, np.random.default_rng(0), ()).data
    assert len(prepared) == 100
    assert np.all(weights[prepared.numbers] == 1)


@pytest.mark.long
@pytest.mark.parametrize(
    "model", long_except([SpectralRegressor, SpectralClassifier], SpectralRegressor)
)
def test_more_different_rows_than_max_leaf_rows_may_be_repeated(model):
    """Copies are merged before the rows are split into leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140, 2))
    y = X[:, 0] + rng.normal(size=140)
    y = y > 0 if model is SpectralClassifier else y
    settings = {"priors": Laplace(), "max_leaf_rows": 100, "random_state": 0}
    plain = model(**settings).fit(X, y)
    twice = model(**settings).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert "140 of 280 rows repeat another row: copies" in twice.path_
    assert "repeat" not in plain.path_
    method = "predict_proba" if model is SpectralClassifier else "predict"
    np.testing.assert_allclose(getattr(twice, method)(X), getattr(plain, method)(X), rtol=1e-6)
    twice.fit(X, y)
    assert "repeat" not in twice.path_
