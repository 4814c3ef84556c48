"""One factor of the kernel for each category with many levels: closed form, slopes, models."""

import functools

import numpy as np
import pytest
from export_samples import TOLERANCES, assert_close, both_dtypes, run
from tabular_samples import few_waves, short_choice_of_ranks  # noqa: F401

from bochner import (
    Anova,
    Evidence,
    Gaussian,
    KernelMachine,
    Laplace,
    Matern,
    SpectralClassifier,
    SpectralRegressor,
    TableInputs,
    load,
    save,
)
from bochner.data import LocalRows
from bochner.data.targets import Labels
from bochner.data.training import TrainingData
from bochner.expansions.leaves import LeafTree, column_scales
from bochner.learners.evidence import LearnedPrior
from bochner.priors import WithCategories
from bochner.tabular import preparation, waves
from bochner.tabular.imputation import filled_cells
from bochner.tabular.preparation import PreparedData
from bochner.tabular.waves import solve_descending

pd = pytest.importorskip("pandas")

GAP, N_LEVELS = 1.5, 60
RATES, WEIGHTS = np.array([0.4, 0.9, 0.3, 0.6]), np.array([0.5, 2.0, 1.0, 3.0])
FACTORS = {
    "anova": lambda t, w: (1 + w * (1 + np.sqrt(3) * t) * np.exp(-np.sqrt(3) * t)) / (1 + w),
    "laplace": lambda t, w: np.exp(-t),
    "gaussian": lambda t, w: np.exp(-(t**2) / 2),
}
FAMILIES = {"anova": Anova(), "laplace": Laplace(), "gaussian": Gaussian()}
CATEGORIES = (1, 3)
every_family = pytest.mark.parametrize("family", FAMILIES)


def prior_of(family, rates=RATES, weights=WEIGHTS):
    return WithCategories(FAMILIES[family], CATEGORIES).with_rates(rates, weights)


def rows(n, seed=0, n_levels=4):
    """Numbers, and codes of two categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, CATEGORIES] = rng.integers(n_levels, size=(n, 2))
    return X


def plain_kernel(family, x, z, rates=RATES, weights=WEIGHTS):
    """The definition, column by column; only for tests."""
    value = 1.0
    for j in range(len(x)):
        distance = GAP * (x[j] != z[j]) if j in CATEGORIES else abs(x[j] - z[j])
        value *= FACTORS[family](rates[j] * distance, weights[j])
    return value


def plain_gram(family, X, Z, *parameters):
    return np.array([[plain_kernel(family, x, z, *parameters) for z in Z] for x in X])


# --- the kernel -----------------------------------------------------------------------------------


@every_family
def test_the_closed_form_is_the_product_of_factors(family):
    X, Z = rows(23), rows(9, seed=1)
    prior = prior_of(family)
    np.testing.assert_allclose(prior.kernel(X, Z), plain_gram(family, X, Z), rtol=1e-12)
    np.testing.assert_allclose(prior.kernel(X), plain_gram(family, X, X), rtol=1e-12)


@every_family
def test_matrices_in_float32_and_of_many_rows(family):
    X, prior = rows(333), prior_of(family)
    single = X.astype(np.float32)
    expected = prior.kernel(X, X.copy())
    np.testing.assert_allclose(prior.kernel(X), expected, atol=1e-12)
    lower = np.tril(prior.lower_gram(single))
    assert lower.dtype == np.float32
    np.testing.assert_allclose(lower, np.tril(expected), atol=1e-5)


@every_family
def test_only_codes(family):
    X = rows(20)[:, list(CATEGORIES)]
    prior = WithCategories(FAMILIES[family], (0, 1))
    shares = prior.kernel([[0, 0]], [[1, 0], [0, 1]])[0]
    different = X[:, None] != X
    np.testing.assert_allclose(prior.kernel(X), np.prod(shares**different, axis=2), rtol=1e-12)


@every_family
@both_dtypes
def test_slopes_are_those_of_finite_differences(family, dtype):
    X, step = rows(150), 1e-5
    pull = np.random.default_rng(2).normal(size=(150, 150))
    pull = pull + pull.T
    prior, given = prior_of(family), X.astype(dtype)
    found = prior.gram_slopes(given, prior.lower_gram(given), pull.astype(dtype))
    assert (found[1] is None) == (family != "anova")

    def total(*changes):
        changed = (p * np.exp(c) for p, c in zip((RATES, WEIGHTS), changes))
        return np.sum(pull * prior_of(family, *changed).kernel(X))

    for k, own in enumerate(found):
        for j in range(0 if own is None else 4):
            changes = np.zeros((2, 4))
            changes[k, j] = step
            expected = (total(*changes) - total(*-changes)) / (2 * step)
            atol = 1e-3 if dtype == np.float64 else 0.1
            assert own[j] == pytest.approx(expected, rel=1e-4, abs=atol)


def test_one_column_for_each_level_with_a_shared_rate():
    """Two rows of different levels differ in two columns by the gap."""
    X, rate, n_levels = rows(40), 0.3, 4
    columns = [GAP * (X[:, [j]] == np.arange(n_levels)) for j in CATEGORIES]
    one_hot = np.hstack([X[:, [0, 2]], *columns])
    expected = Laplace(gamma=rate).kernel(one_hot)
    rates = np.where(np.isin(np.arange(4), CATEGORIES), 2 * rate, rate)
    prior = WithCategories(Laplace(gamma=rates), CATEGORIES)
    np.testing.assert_allclose(prior.kernel(X), expected, rtol=1e-12)


def test_codes_have_no_order():
    X, Z, y = rows(80), rows(30, seed=1), np.random.default_rng(3).normal(size=80)
    names = np.random.default_rng(4).permutation(4)
    predictions = []
    for relabel in (lambda codes: codes, lambda codes: names[codes.astype(int)]):
        own, new = X.copy(), Z.copy()
        own[:, CATEGORIES], new[:, CATEGORIES] = (relabel(some[:, CATEGORIES]) for some in (X, Z))
        predictions.append(KernelMachine(prior_of("anova")).fit(own, y).predict(new))
    np.testing.assert_allclose(*predictions, rtol=1e-12)


@every_family
def test_derivatives_are_zero_along_codes(family):
    X, Z = rows(7), rows(5, seed=1)
    coefficients = np.random.default_rng(2).normal(size=(5, 2))
    prior, step = prior_of(family), 1e-6
    gradient = prior.gradient(X, Z, coefficients)
    for j in range(4):
        moved = step * np.eye(4)[j] * (j not in CATEGORIES)
        above, below = (prior.kernel(X + s * moved, Z) @ coefficients for s in (1, -1))
        np.testing.assert_allclose(gradient[:, :, j], (above - below) / (2 * step), atol=1e-7)


def test_priors_without_column_factors_are_refused():
    with pytest.raises(TypeError, match="product over columns"):
        WithCategories(Matern(), [0]).kernel([[0.0]])


# --- evidence -------------------------------------------------------------------------------------


def effects_of_levels(n=240, n_levels=12, noise=0.1, seed=0):
    """Rows of a number and a code, and a target in which each level has its own effect."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_levels, size=n)
    X = np.column_stack([rng.normal(size=n), codes])
    effect = np.random.default_rng(7).normal(size=n_levels)
    return X, np.sin(X[:, 0]) + effect[codes] + noise * rng.normal(size=n)


@every_family
@pytest.mark.parametrize("standardize", [True, False])
def test_evidence_learns_a_factor_and_no_slope(family, standardize):
    X, y = effects_of_levels()
    X = np.column_stack([np.random.default_rng(1).permutation(X[:, 1]), X])
    prior = WithCategories(FAMILIES[family], (0, 2))
    learned = Evidence(standardize=standardize).learn(prior, X, y, 0)
    assert isinstance(learned.prior, WithCategories)
    assert learned.linear[1] > 0
    assert learned.linear[[0, 2]].tolist() == [0, 0]
    falls = 1 - learned.prior.kernel([[0, 0, 0]], [[1, 0, 0], [0, 0, 1]])[0]
    assert falls[1] > 3 * falls[0]


def test_evidence_does_not_depend_on_the_codes():
    X, y = effects_of_levels(n=150)
    other = X.copy()
    other[:, 1] = 1000 * (X[:, 1] % 5) + X[:, 1]
    prior = WithCategories(Anova(), (1,))
    one, two = (Evidence(n_iterations=5).learn(prior, some, y, 0) for some in (X, other))
    assert one.objective == pytest.approx(two.objective, rel=1e-8)


def test_another_family_starts_from_the_factors():
    X, y = effects_of_levels()
    anova = Evidence().learn(WithCategories(Anova(), (1,)), X, y, 0)
    prior = WithCategories(Laplace(), (1,))
    few = Evidence(n_iterations=1)
    begun, cold = few.learn(prior, X, y, 0, start=anova), few.learn(prior, X, y, 0)
    assert begun.objective < cold.objective


# --- TableInputs ----------------------------------------------------------------------------------


def frame_of_levels(n=300, n_levels=N_LEVELS, seed=0):
    """A frame of a number, a category of many levels and one of three, and a target."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_levels, size=n)
    frame = pd.DataFrame(
        {
            "shop": np.array([f"shop {code:03d}" for code in codes], dtype=object),
            "size": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], size=n),
        }
    )
    effect = np.random.default_rng(7).normal(size=n_levels)
    y = effect[codes] + 0.5 * frame["size"] + (frame["kind"] == "b") + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


def test_categories_of_many_levels_are_one_column():
    frame = frame_of_levels()[0]
    frame.loc[::10, "shop"] = None
    inputs = TableInputs(code_levels=10).fit(frame)
    names = ["size", "shop", "kind_a", "kind_b", "kind_c"]
    assert inputs.get_feature_names_out().tolist() == names
    assert inputs.code_columns_.tolist() == [1]
    assert inputs.sources_.tolist() == [1, 0, 2, 2, 2]
    Z = inputs.transform(frame)
    texts = frame["shop"].fillna("missing").to_numpy()
    for code, level in enumerate(sorted(set(texts))):
        np.testing.assert_array_equal(Z[:, 1] == code, texts == level)
    plain = TableInputs().fit(frame)
    assert plain.code_columns_.size == 0
    first = len(plain.sources_) - 3
    np.testing.assert_array_equal(Z[:, 2:], plain.transform(frame)[:, first:])


def test_unknown_levels_share_a_code_of_their_own():
    frame = frame_of_levels()[0]
    inputs = TableInputs(code_levels=10).fit(frame)
    strange = frame.head(3).assign(shop=["new", "another", None])
    known = set(inputs.transform(frame)[:, 1])
    codes = inputs.transform(strange)[:, 1]
    assert np.ptp(codes) == 0
    assert codes[0] not in known
    np.testing.assert_array_equal(inputs.transform_part(strange)[:, 1], codes)


def test_few_levels_keep_their_columns():
    frame = frame_of_levels()[0]
    n_levels = frame["shop"].nunique()
    assert len(TableInputs(code_levels=n_levels - 1).fit(frame).code_columns_) == 1
    assert len(TableInputs(code_levels=n_levels).fit(frame).code_columns_) == 0
    with pytest.raises(ValueError, match="code_levels"):
        TableInputs(code_levels=1).fit(frame)


# --- tabular models -------------------------------------------------------------------------------

QUICK = {"evidence": Evidence(n_rows=200, n_iterations=6, standardize=False), "random_state": 0}


@functools.cache
def fitted(cls):
    frame, y = frame_of_levels()
    y = np.digitize(y, [-0.5, 0.5]) if cls is SpectralClassifier else y
    return cls(**QUICK).fit(frame, y)


every_model = pytest.mark.parametrize("cls", [SpectralRegressor, SpectralClassifier])


def outputs(model, frame):
    return (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(frame)


def new_rows(n=50, n_unknown=5):
    frame = frame_of_levels(n, seed=9)[0]
    frame.loc[: n_unknown - 1, "shop"] = "unknown"
    return frame


def test_strong_effects_of_200_levels():
    frame, y = frame_of_levels(1500, 200)
    test, truth = frame_of_levels(500, 200, seed=1)
    model = SpectralRegressor(**QUICK).fit(frame, y)
    assert [type(one.prior) for one in model.members_] == 3 * [WithCategories]
    assert [one.name for one in model.members_] == ["anova", "laplace", "gaussian"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "CODE_LEVELS", None)
        one_hot = SpectralRegressor(**QUICK).fit(frame, y)
    assert model.score(test, truth) > max(0.9, one_hot.score(test, truth) + 0.1)


def test_names_of_levels_do_not_matter():
    frame, y = frame_of_levels()
    test = new_rows(n_unknown=0)
    shuffled = np.random.default_rng(1).permutation(N_LEVELS)
    names = {f"shop {k:03d}": f"place {shuffled[k]:03d}" for k in range(N_LEVELS)}
    other = SpectralRegressor(**QUICK).fit(frame.replace({"shop": names}), y)
    found = other.predict(test.replace({"shop": names}))
    np.testing.assert_allclose(found, fitted(SpectralRegressor).predict(test), atol=1e-3)


@every_model
def test_an_unknown_level_is_like_no_other(cls):
    model, frame = fitted(cls), new_rows(3, n_unknown=0)
    frame["size"], frame["kind"] = 0.0, "a"
    frame["shop"] = ["unknown", "shop without rows", "shop 000"]
    with pytest.warns(UserWarning, match="unknown from training"):
        one, two, other = outputs(model, frame)
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 0.01


@every_model
def test_model_files_keep_codes(cls, tmp_path):
    pytest.importorskip("skops.io")
    model, frame = fitted(cls), new_rows(n_unknown=0)
    save(model, tmp_path / "model.skops")
    stored = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(outputs(stored, frame), outputs(model, frame))
    assert repr(stored.members_[0].prior) == repr(model.members_[0].prior)


@every_model
@both_dtypes
@pytest.mark.filterwarnings("ignore:Levels are unknown")
def test_graphs_encode_levels(cls, dtype):
    pytest.importorskip("skl2onnx")
    from bochner.export import to_onnx

    model, frame = fitted(cls), new_rows()
    frame["size"] = frame["size"].astype(dtype).astype(float)
    given = {
        "shop": frame[["shop"]].to_numpy(object),
        "size": frame[["size"]].to_numpy(dtype),
        "kind": frame[["kind"]].to_numpy(object),
    }
    graph = run(to_onnx(model, X=frame, dtype=dtype), given, dtype)
    with filled_cells():  # graphs do not average over training rows
        expected = outputs(model, frame)
    if cls is SpectralRegressor:
        assert_close(graph["prediction"], expected, dtype)
    else:
        found = graph["probabilities"]
        np.testing.assert_allclose(found, expected, atol=10 * TOLERANCES[dtype])


@every_model
@pytest.mark.filterwarnings("ignore:Levels are unknown")
def test_frames_on_dask_give_the_same_predictions(cls):
    dd = pytest.importorskip("dask.dataframe")
    model, frame = fitted(cls), new_rows()
    found = outputs(model, dd.from_pandas(frame, npartitions=3)).compute()
    np.testing.assert_allclose(found, outputs(model, frame), atol=1e-10)


def test_effects_add_up():
    model, frame = fitted(SpectralRegressor), new_rows(n_unknown=0)
    effects = model.effects(frame)
    np.testing.assert_allclose(effects.total(), model.predict(frame), atol=1e-8)
    sizes = dict(effects.strongest())
    assert sizes["shop"] > sizes["kind"] > 0
    assert model.feature_importances_.argmax() == 0


def test_derivatives_by_numbers():
    model, frame = fitted(SpectralRegressor), new_rows(10, n_unknown=0)
    gradient, step = model.input_gradient(frame), 1e-5
    above, below = (model.predict(frame.assign(size=frame["size"] + s * step)) for s in (1, -1))
    np.testing.assert_allclose(gradient[:, 1], (above - below) / (2 * step), rtol=0.02, atol=1e-3)
    assert np.isnan(gradient[:, [0, 2]]).all()


def test_priors_of_distances_keep_one_column_for_each_level():
    frame, y = frame_of_levels()
    model = SpectralRegressor(priors=(Laplace(), Matern()), **QUICK).fit(frame, y)
    assert model.inputs_.code_columns_.size == 0
    assert isinstance(model.members_[0].prior, Laplace)


# --- leaves and waves -----------------------------------------------------------------------------


def test_leaves_split_codes_last():
    prior = prior_of("laplace")
    X = rows(400, n_levels=1000)
    scales = column_scales(prior, 4)
    tree, _ = LeafTree.grown(X, scales, 100)
    assert set(tree.columns[tree.columns >= 0]) <= {0, 2}
    X[:, [0, 2]] = 0.0
    tree, leaves = LeafTree.grown(X, scales, 100)
    assert set(tree.columns[tree.columns >= 0]) <= set(CATEGORIES)
    assert max(map(len, leaves)) <= 100


@pytest.mark.usefixtures("few_waves", "short_choice_of_ranks")
def test_a_large_table_in_leaves():
    frame, y = frame_of_levels(700)
    model = SpectralRegressor(max_leaf_rows=250, **QUICK).fit(frame, y)
    test, truth = frame_of_levels(200, seed=5)
    assert model.score(test, truth) > 0.8


@pytest.mark.usefixtures("few_waves", "short_choice_of_ranks")
def test_a_large_table_on_dask():
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    frame, y = frame_of_levels(700)
    frame = frame.sort_values("shop", ignore_index=True)
    model = SpectralRegressor(max_leaf_rows=250, **QUICK)
    expected = model.fit(frame, y).predict(frame)
    with dask.config.set(scheduler="synchronous"):
        model.fit(dd.from_pandas(frame, npartitions=4), y)
    assert model.inputs_.code_columns_.tolist() == [1]
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-3)


def test_waves_keep_their_frequencies_along_codes(monkeypatch):
    monkeypatch.setattr(waves, "_FEW_WAVES", 64)
    X, y = effects_of_levels(n=400)
    learned = LearnedPrior(WithCategories(Anova(), (1,)), 0.1, np.zeros(2), 0.0, 0)
    labels = Labels.of(y > 0, 400)
    data = TrainingData(LocalRows(X.astype(np.float32)), labels, np.ones(400))
    evaluation = PreparedData(X[:100], labels.take(np.arange(100)), np.ones(100))
    rng = np.random.default_rng(0)
    solved = solve_descending(data, learned, evaluation, rng)
    drawn = learned.prior.sample(64, 2, np.random.default_rng(0)).frequencies
    own = solved.expansion.expansion.frequencies
    np.testing.assert_array_equal(own[:, 1], drawn[:, 1].astype(np.float32))
    assert np.any(own[:, 0] != drawn[:, 0].astype(np.float32))
    assert solved.expansion.expansion.slopes[1] == 0
