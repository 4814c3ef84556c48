"""Predictions for rows with missing cells or unknown levels are means over similar training rows."""

import functools
import warnings

import numpy as np
import pytest
from scipy.stats import norm
from tabular_samples import QUICK, few_waves, short_choice_of_ranks  # noqa: F401

import bochner
from bochner import Anova, Gaussian, Laplace, Matern, SpectralClassifier, SpectralRegressor
from bochner.data import tables
from bochner.data.inputs import TableInputs
from bochner.data.unfamiliar import MISSING, UNKNOWN
from bochner.tabular import imputation
from bochner.tabular.imputation import completed_rows, filled_cells
from bochner.tabular.neighbors import Neighbors

pd = pytest.importorskip("pandas")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Values are missing"),
    pytest.mark.filterwarnings("ignore:Levels are unknown"),
    pytest.mark.usefixtures("few_waves", "short_choice_of_ranks"),
]


def table(n=120, seed=0):
    """Two correlated numbers, one with holes, a category and one of many levels; and a target."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "size": size,
            "weight": size + 0.5 * rng.normal(size=n),
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "kind": rng.choice(["a", "b", "c"], n),
            "shop": rng.choice([f"s{k}" for k in range(25)], n),
        }
    )
    y = frame["size"] + 2 * (frame["kind"] == "b") + 0.2 * rng.normal(size=n)
    return frame, y.to_numpy()


def with_gaps(n=40, seed=1):
    """New rows, half of which have cells that training rows do not have."""
    frame, _ = table(n, seed)
    frame.loc[::4, "size"] = np.nan
    frame.loc[::4, "kind"] = "new"
    frame.loc[2::4, "shop"] = None
    frame.loc[1::8, "holes"] = np.nan  # training rows lack values there, too
    return frame


KINDS = {
    "values": lambda y: y,
    "a long tail": np.exp,
    "two outputs": lambda y: np.column_stack([y, -(y**2)]),
    "two classes": lambda y: np.where(y > 0.5, "high", "low"),
    "three classes": lambda y: np.digitize(y, [0.0, 1.5]),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@functools.cache
def fitted(kind, **parameters):
    frame, y = table()
    cls = SpectralClassifier if "classes" in kind else SpectralRegressor
    return cls(evidence=QUICK, random_state=0, **parameters).fit(frame, KINDS[kind](y))


def answers(model, X):
    """Everything that a model predicts for rows."""
    if isinstance(model, SpectralClassifier):
        methods = (model.predict_proba, model.decision_function, model.scores)
        return [method(X) for method in (*methods, model.predict, model.predict_log_proba)]
    return [model.predict(X), *model.predict(X, return_std=True), model.predict_interval(X)]


def plain_donors(neighbors, z, marks):
    """The definition, row by row; only for tests: kernels of other columns, one after another."""
    free = marks[neighbors.sources] == 0
    distances = []
    for other in neighbors.Z:
        mixed = np.where(free, z, other)  # no difference in the marked columns
        distances.append(-neighbors.prior.kernel(mixed[None], other[None])[0, 0])
    return set(np.argsort(distances, kind="stable")[: imputation.N_DONORS].tolist())


def plain_rows(model, frame, i):
    """The completed rows of one row; only for tests."""
    z, marks = (part[0] for part in model.inputs_.transform_marked(frame.iloc[[i]], False))
    rows = []
    for number in plain_donors(model._neighbors, z, marks):
        row = z.copy()
        for column, source in enumerate(model.inputs_.sources_):
            if marks[source]:
                row[column] = model._neighbors.Z[number, column]
        rows.append(row)
    return np.array(rows)


# --- unfamiliar cells -----------------------------------------------------------------------------


def test_marks_of_a_table_by_hand():
    frame = pd.DataFrame(
        {
            "full": [1.0, 2.0, 3.0, 4.0],
            "holes": [1.0, np.nan, 3.0, 4.0],
            "kind": ["a", "b", "c", "a"],
            "gaps": ["u", None, "v", "v"],
            "same": [5.0] * 4,
        }
    )
    new = pd.DataFrame(
        {
            "full": [np.nan, 1.0, np.inf],
            "holes": [np.nan, 1.0, 2.0],
            "kind": ["a", None, "z"],
            "gaps": [None, "w", "u"],
            "same": [np.nan, 5.0, 6.0],
        }
    )
    marks = TableInputs().fit(frame).transform_marked(new, True)[1]
    wanted = np.zeros((3, 5))
    wanted[[0, 2], 0] = MISSING
    wanted[1, 2], wanted[2, 2], wanted[1, 3] = MISSING, UNKNOWN, UNKNOWN
    np.testing.assert_array_equal(marks, wanted)


@every_kind
def test_imputed_cells_are_counted_without_a_warning(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells = fitted(kind).imputed_cells(with_gaps())
    assert cells.dtype.kind == "i"
    np.testing.assert_array_equal(cells, np.tile([2, 0, 1, 0], 10))


# --- complete rows --------------------------------------------------------------------------------


@every_kind
def test_complete_rows_do_not_change_by_a_bit(kind):
    model, frame = fitted(kind), with_gaps()
    complete = model.imputed_cells(frame) == 0
    with filled_cells():
        before = answers(model, frame)
    for found, filled in zip(answers(model, frame), before):
        np.testing.assert_array_equal(found[complete], filled[complete])


def test_complete_rows_of_arrays_and_sparse_rows_do_not_change_by_a_bit():
    sp = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) * (rng.random((90, 3)) < 0.7)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, X[:, 0] + X[:, 1])
    X[::3, 0] = np.nan
    for rows in (X, X.astype(np.float32), sp.csr_array(X)):
        with filled_cells():
            before = model.predict_interval(rows)
        after = model.predict_interval(rows)
        np.testing.assert_array_equal(after[1::3], before[1::3])
        assert np.all(after[::3, 1] - after[::3, 0] > before[::3, 1] - before[::3, 0])
        assert after.dtype == before.dtype


# --- donors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [Anova(), Laplace(), Gaussian(), Matern(nu=1.5)], ids=repr)
def test_donors_are_the_nearest_rows_in_all_other_columns(prior):
    frame, y = table()
    model = SpectralRegressor(prior, evidence=QUICK, random_state=0).fit(frame, y)
    gaps = with_gaps(16)
    Z, marks = model.inputs_.transform_marked(gaps, False)
    numbers = imputation.donors(model._neighbors, Z, marks).T
    for i in np.flatnonzero(marks.any(axis=1)):
        assert set(numbers[i].tolist()) == plain_donors(model._neighbors, Z[i], marks[i])


def test_all_marked_cells_of_a_row_come_from_the_same_donor():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(50, 4))
    neighbors = Neighbors(Z, Laplace(), np.array([0, 1, 1, 2]))
    marks = np.array([[0, 2, 1], [0, 0, 0], [1, 1, 1]])
    rows = completed_rows(neighbors, np.full((3, 4), 7.0), marks)
    assert rows.shape == (16, 3, 4)
    assert np.all(rows[:, 1] == 7)
    assert np.all(rows[:, 0, 0] == 7)
    known = {tuple(row) for row in Z}
    assert all(tuple(row) in known for row in rows[:, 2])
    assert all(tuple(row[1:]) in {one[1:] for one in known} for row in rows[:, 0])
    assert len({tuple(row) for row in rows[:, 2]}) == 16


@pytest.mark.parametrize("kind", ["values", "a long tail", "two outputs"])
def test_values_are_means_over_donors_and_bounds_include_their_spread(kind):
    model, frame = fitted(kind), with_gaps()
    means, deviations = model.predict(frame, return_std=True)
    bounds = model.predict_interval(frame, 0.8)
    scale = model.target_scale_
    for i in (0, 2):
        rows = plain_rows(model, frame, i)
        of_donors = np.array([model._means(row[None])[0] for row in rows])
        own = np.array([model._deviations(row[None])[0] for row in rows])
        variance = (own**2).mean(axis=0) + of_donors.var(axis=0, ddof=1)
        np.testing.assert_allclose(means[i], np.squeeze(of_donors.mean(axis=0)))
        np.testing.assert_allclose(deviations[i], np.squeeze(np.sqrt(variance)))
        center = np.array([model.blend_.evaluate(row[None])[0] for row in rows])
        reach = np.mean([model.spread_.sizes(row[None])[0] for row in rows], axis=0)
        reach = reach * model.spread_.reach(0.8)
        half = np.sqrt(reach**2 + (norm.ppf(0.9) * center.std(axis=0, ddof=1)) ** 2)
        for end, side in enumerate((-1, 1)):
            wanted = scale.backward(center.mean(axis=0) + side * half)
            np.testing.assert_allclose(bounds[i, ..., end], np.squeeze(wanted))
    np.testing.assert_array_equal(model.predict(frame), means)


@pytest.mark.parametrize("kind", ["two classes", "three classes"])
def test_probabilities_are_means_over_donors(kind):
    model, frame = fitted(kind), with_gaps()
    shares, scores = model.predict_proba(frame), model.scores(frame)
    for i in (0, 2):
        rows = plain_rows(model, frame, i)
        wanted = np.mean([model.blend_.probabilities(row[None])[0] for row in rows], axis=0)
        np.testing.assert_allclose(shares[i], wanted)
        own = np.mean([model.blend_.evaluate(row[None])[0] for row in rows], axis=0)
        np.testing.assert_allclose(scores[i], [1 - own[0], own[0]] if len(own) == 1 else own)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_log_proba(frame), np.log(shares))
    logs = np.log(shares)
    wanted = logs[:, 1] - logs[:, 0] if kind == "two classes" else logs
    np.testing.assert_allclose(model.decision_function(frame), wanted, atol=1e-12)
    assert model.predict(frame).tolist() == model.classes_[shares.argmax(axis=1)].tolist()


@pytest.mark.parametrize("parameters", [{"trees": True}, {"max_leaf_rows": 100}], ids=str)
@pytest.mark.parametrize("kind", ["values", "three classes"])
def test_trees_and_leaves_are_averaged_too(kind, parameters):
    model, frame = fitted(kind, **parameters), with_gaps(8)
    found = answers(model, frame)[0]
    function = model._means if kind == "values" else model.blend_.probabilities
    for i in (0, 2):
        np.testing.assert_allclose(
            found[i], np.squeeze(function(plain_rows(model, frame, i)).mean(axis=0)), rtol=1e-5
        )


def test_few_training_rows_and_rows_without_any_value():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 2))
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, X[:, 0])
    empty = np.full((2, 2), np.nan)
    np.testing.assert_allclose(model.predict(empty), model.predict(X).mean())
    assert np.all(np.isfinite(model.predict_interval(empty, 0.5)))
    assert model.imputed_cells(empty).tolist() == [2, 2]


# --- the same everywhere --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["a long tail", "three classes"])
def test_blocks_and_partitions_give_the_same(kind, monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    dask = pytest.importorskip("dask")
    model, frame = fitted(kind), with_gaps()
    whole = answers(model, frame)
    monkeypatch.setattr(tables, "FRAME_BLOCK", 7)
    monkeypatch.setattr(imputation, "_ROWS_AT_ONCE", 3)
    with dask.config.set(scheduler="synchronous"):
        parts = answers(model, dd.from_pandas(frame, npartitions=3))
        np.testing.assert_array_equal(
            model.imputed_cells(dd.from_pandas(frame, npartitions=3)).compute(),
            model.imputed_cells(frame),
        )
        for one, part, block in zip(whole, parts, answers(model, frame)):
            if one.dtype.kind == "f":
                np.testing.assert_allclose(part.compute(), one, atol=1e-10)
                np.testing.assert_allclose(block, one, atol=1e-10)


@pytest.mark.parametrize("kind", ["a long tail", "three classes"])
def test_model_files_keep_the_training_rows(kind, tmp_path):
    model, frame = fitted(kind), with_gaps()
    bochner.save(model, tmp_path / "model.skops")
    stored = bochner.load(tmp_path / "model.skops")
    for found, wanted in zip(answers(stored, frame), answers(model, frame)):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(stored.novelty(frame), model.novelty(frame))


def test_repeated_observations_are_kept_as_often_as_they_occur():
    X = np.repeat(np.arange(6.0), 5)[:, None]
    y = np.tile([0, 0, 0, 1, 1], 6)  # the same inputs with different outcomes
    model = SpectralClassifier(evidence=QUICK, random_state=0).fit(X, y)
    kept = model._neighbors.Z[:, 0]
    assert np.unique(kept, return_counts=True)[1].tolist() == [5] * 6


# --- coverage -------------------------------------------------------------------------------------


def simulated(n, seed):
    """Three correlated columns, of which two have influence."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    X = 0.7 * common + 0.7 * rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)


def coverages(n, n_new, seed, **parameters):
    """Share of new rows within bounds of level .9, and R²: medians, and averages over donors."""
    model = SpectralRegressor(random_state=seed, **parameters).fit(*simulated(n, seed))
    X, y = simulated(n_new, seed + 1000)
    X[np.random.default_rng(seed).random(X.shape) < 0.25] = np.nan

    def results():
        lower, upper = model.predict_interval(X).T
        return np.mean((lower <= y) & (y <= upper)), model.score(X, y)

    with filled_cells():
        filled = results()
    return np.array([filled, results()])


def test_bounds_of_incomplete_rows_hold():
    before, after = coverages(150, 2000, 0, priors=Gaussian(), evidence=QUICK)
    assert 0.86 < after[0] < 0.95
    assert before[0] < 0.75
    assert after[1] > before[1] + 0.02


@pytest.mark.long
def test_coverage_of_incomplete_rows_over_training_tables():
    shares = np.array([coverages(200, 1000, seed)[1, 0] for seed in range(12)])
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    assert abs(shares.mean() - 0.9) < 0.015 + 4 * error


def test_monotone_predictions_stay_monotone_if_other_cells_are_missing():
    """Donors must not depend on the column along which predictions rise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=150)
    model = SpectralRegressor(evidence=QUICK, monotonic_cst=[1, 0, 0], random_state=0).fit(X, y)
    rows = np.column_stack([np.linspace(-1.2, 1.2, 60), np.full(60, np.nan), np.full(60, 0.3)])
    with pytest.warns(UserWarning, match="averaged"):
        means, bounds = model.predict(rows), model.predict_interval(rows)
    assert np.diff(means).min() >= 0
    assert np.diff(bounds, axis=0).min() >= 0
    assert np.ptp(means) > 0.5
    assert np.all(bounds[:, 0] < means)
    assert np.all(means < bounds[:, 1])
