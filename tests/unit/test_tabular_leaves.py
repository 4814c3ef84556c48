"""Tabular models of one leaf and of several: what is solved, promises, and coverage."""

import gc
import warnings
from copy import copy, deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tabular_samples import (
    few_waves,  # noqa: F401
    prepared_values,
    regression,
    short_choice_of_ranks,  # noqa: F401
)

from bochner import (
    Anova,
    Evidence,
    Laplace,
    SpectralClassifier,
    SpectralRegressor,
    load,
    save,
)
from bochner.data import maps, repetitions, tables
from bochner.data.repetitions import held_out_size
from bochner.expansions.leaves import LeafExpansion
from bochner.tabular import fitting, learning
from bochner.tabular.fitting import Leaves, leaves_together
from bochner.tabular.solving import Solved, solve_holding_out, solve_leaving_out

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("few_waves", "short_choice_of_ranks")
QUICK = Evidence(n_rows=80, n_iterations=3, standardize=False)
MODELS = [SpectralRegressor, SpectralClassifier]
both_models = pytest.mark.parametrize("cls", MODELS)


def model_of(cls, **settings):
    settings = {"priors": Anova(), "evidence": QUICK, "max_leaf_rows": 100} | settings
    return cls(random_state=0, **settings)


def data(cls, n=350, noise=0.3, seed=0):
    X, y = regression(n, noise=noise, seed=seed)
    return X, np.digitize(y, [-0.5, 0.5]) if cls is SpectralClassifier else y


def answer(model, X):
    return model.predict_proba(X) if isinstance(model, SpectralClassifier) else model.predict(X)


@cache
def fitted(cls):
    return model_of(cls).fit(*data(cls))


# --- one leaf -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n_rows, most_left_out",
    [
        (120, 3500),
        (160, 150),
        pytest.param(3600, 3500, marks=pytest.mark.long),
    ],
)
@both_models
def test_one_leaf_is_the_exact_machine_to_the_last_bit(cls, n_rows, most_left_out, monkeypatch):
    monkeypatch.setattr(fitting, "LEAVE_ONE_OUT_ROWS", most_left_out)
    seen, split, solve = {}, Leaves.of, fitting.solve_families

    def splitting(rows, prior, most_rows, rng):
        seen.update(rows=rows, rng=deepcopy(rng))
        return split(rows, prior, most_rows, rng)

    def solving(families, *arguments):
        seen.update(learned=families[0].learned)
        return solve(families, *arguments)

    monkeypatch.setattr(Leaves, "of", splitting)
    monkeypatch.setattr(fitting, "solve_families", solving)
    X, y = data(cls, n_rows)
    member = model_of(cls, max_leaf_rows=8000).fit(X, y).blend_.members[0]
    rows, rng, learned = seen["rows"], seen["rng"], seen["learned"]
    assert rows.Z.dtype == np.float64
    if n_rows <= most_left_out:
        expected = solve_leaving_out(rows, learned, cls._ridge_steps)
    else:
        rows, n_held = rows.take(rng.permutation(n_rows)), held_out_size(n_rows, 4)
        (own,) = rng.spawn(1)
        expected = solve_holding_out(rows, learned, cls._ridge_steps, n_held, own)
    for name in ("points", "coefficients", "slopes", "intercept"):
        np.testing.assert_array_equal(getattr(member, name), getattr(expected.expansion, name))
    assert repr(member.prior) == repr(learned.prior)


def test_as_many_rows_as_a_leaf_has_are_one_leaf():
    X, y = data(SpectralRegressor, 101)
    one = model_of(SpectralRegressor).fit(X[:100], y[:100])
    assert one.path_.startswith("exact: 100 different rows")
    two = model_of(SpectralRegressor).fit(X, y)
    sizes = [len(f) for f in two.blend_.members[0].expansions]
    assert sorted(sizes) == [50, 51]
    assert two.path_ == (
        "many rows: 101 different rows are more than max_leaf_rows=100, so a tree splits them into "
        "2 leaves of 50 to 51 rows, with exact kernels in each; 24 were held out to choose and to "
        "blend, then all fitted"
    )


# --- several leaves -------------------------------------------------------------------------------


@both_models
def test_each_leaf_is_solved_with_its_rows_and_its_own_rates(cls):
    model = fitted(cls)
    (member,) = [one for one in model.blend_.members if isinstance(one, LeafExpansion)]
    assert member.tree.n_leaves == 4
    Z = model.inputs_.transform(data(cls)[0]).astype(np.float32)
    leaves = member.tree.leaves(Z)
    for leaf, f in enumerate(member.expansions):
        np.testing.assert_array_equal(
            np.unique(f.points, axis=0), np.unique(Z[leaves == leaf], axis=0)
        )
    rates = [tuple(f.prior.length_scale) for f in member.expansions]
    assert len(set(rates)) == 4


def test_held_out_scores_of_leaves_are_those_of_fits_without_these_rows(monkeypatch):
    """Targets of held-out rows change the final fit, but not the dual of the inner rows."""
    seen = []
    original = fitting.leaves_together
    monkeypatch.setattr(
        fitting, "leaves_together", lambda *given: seen.append(original(*given)) or seen[-1]
    )
    leaves = []
    split = Leaves.of
    monkeypatch.setattr(Leaves, "of", lambda *given: leaves.append(split(*given)) or leaves[-1])
    X, y = data(SpectralRegressor, noise=2.0)
    model_of(SpectralRegressor).fit(X, y)
    (solved,), (own,) = seen, leaves
    held = own.held
    assert len(set(held)) == len(held) == sum(part.n_held for part in own.splits)
    np.testing.assert_array_equal(own.evaluation.Z, own.data.Z[held])
    offset = 0
    for leaf, part in enumerate(own.splits):
        n_inner = len(part.data) - part.n_held
        np.testing.assert_array_equal(
            part.data.Z[n_inner:], own.evaluation.Z[offset : offset + part.n_held]
        )
        assert np.all(own.tree.leaves(part.data.Z) == leaf)
        offset += part.n_held
    # Noise is explained where rows were fitted, not where they were held out.
    targets = own.evaluation.outputs
    left = np.mean((targets - solved.held_out) ** 2)
    assert left > 1.05 * np.mean((targets - solved.expansion.evaluate(own.evaluation.Z)) ** 2)


def test_rates_of_a_leaf_are_learned_without_its_held_out_rows(monkeypatch):
    seen, learn, leaves, split = [], fitting.learn_again, [], Leaves.of

    def learning(evidence, learned, rows, rng):
        seen.append((learned, rows.Z))
        return learn(evidence, learned, rows, rng)

    monkeypatch.setattr(fitting, "learn_again", learning)
    monkeypatch.setattr(Leaves, "of", lambda *given: leaves.append(split(*given)) or leaves[-1])
    model_of(SpectralRegressor, n_jobs=1).fit(*data(SpectralRegressor))
    (own,) = leaves
    assert len(seen) == len(own.splits) == 4
    for (learned, rows), part in zip(seen, own.splits):
        assert learned is seen[0][0]
        np.testing.assert_array_equal(rows, part.data.Z[: len(part.data) - part.n_held])
        assert len(rows) + part.n_held == len(part.data)


def test_leaves_start_from_the_shared_rates_and_make_few_steps():
    X, y = regression(300)
    rows = prepared_values(X, y[:, None])
    learned = Evidence(standardize=False).learn(Anova(), X, y, 0)
    same = learning.learn_again(
        Evidence(n_iterations=0, standardize=False), learned, rows, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(same.theta, learned.theta)
    few = learning.learn_again(
        Evidence(standardize=False, tol=0), learned, rows, np.random.default_rng(0)
    )
    assert few.n_iterations == 5
    assert not np.array_equal(few.theta, learned.theta)
    constant = prepared_values(X, np.ones((300, 1)))
    assert learning.learn_again(Evidence(), learned, constant, np.random.default_rng(0)) is learned


def test_scores_of_leaves_follow_each_other_and_ridges_have_a_geometric_mean():
    f, tree = fitted(SpectralRegressor).blend_.members[0], "the tree"
    parts = [Solved(f.expansions[k], np.full((2, 1), k), ridge) for k, ridge in enumerate((1, 4))]
    whole = leaves_together(tree, parts)
    np.testing.assert_array_equal(whole.held_out[:, 0], [0, 0, 1, 1])
    assert whole.ridge == pytest.approx(2)
    assert whole.expansion.expansions == f.expansions[:2]
    assert leaves_together(None, parts[:1]) is parts[0]


@both_models
def test_predictions_depend_on_the_rows_alone(cls):
    """Up to sums in float32, whose last digits depend on how many rows are predicted at once."""
    model, (X, _) = fitted(cls), data(cls)
    whole = answer(model, X)
    np.testing.assert_allclose(answer(model, X[::-1])[::-1], whole, atol=1e-4)
    np.testing.assert_allclose(answer(model, X[7:8]), whole[7:8], atol=1e-4)
    leaf = model.blend_.members[0].tree.leaves(model.inputs_.transform(X)) == 1
    np.testing.assert_allclose(answer(model, X[leaf]), whole[leaf], atol=1e-4)


@both_models
def test_effects_of_several_leaves_add_up(cls):
    """Kernels of leaves are summed in float32."""
    model, (X, _) = fitted(cls), data(cls)
    whole = model.predict(X) if cls is SpectralRegressor else model.decision_function(X)
    for max_order in (1, 2):
        np.testing.assert_allclose(model.effects(X, max_order).total(), whole, atol=1e-4)


@both_models
def test_gradients_inside_leaves_are_differences(cls):
    """Of the member with leaves alone, in float64."""
    model, (X, _), step = copy(fitted(cls)), data(cls), 1e-8
    member = model.blend_.members[0]
    precise = [replace(f, coefficients=np.float64(f.coefficients)) for f in member.expansions]
    alone = {"members": (replace(member, expansions=tuple(precise)),), "weights": (1.0,)}
    if cls is SpectralClassifier:
        alone["links"] = model.blend_.links[:1]
    model.blend_ = replace(model.blend_, **alone)
    gradient = model.input_gradient(X)
    for j, e in enumerate(step * np.eye(4)):
        leaves = [member.tree.leaves(model.inputs_.transform(rows)) for rows in (X + e, X, X - e)]
        inside = (leaves[0] == leaves[1]) & (leaves[1] == leaves[2])
        assert np.sum(inside) > 300
        numeric = (answer(model, X + e) - answer(model, X - e)) / (2 * step)
        np.testing.assert_allclose(gradient[inside, ..., j], numeric[inside], rtol=1e-4, atol=1e-4)


@both_models
def test_the_same_seed_gives_the_same_model_with_any_number_of_threads(cls):
    X, y = data(cls)
    again = clone(fitted(cls)).fit(X, y)
    np.testing.assert_array_equal(answer(again, X), answer(fitted(cls), X))
    for n_jobs in (1, 2):
        other = clone(fitted(cls)).set_params(n_jobs=n_jobs).fit(X, y)
        np.testing.assert_allclose(answer(other, X), answer(fitted(cls), X), atol=1e-4)
    other = clone(fitted(cls)).set_params(random_state=1).fit(X, y)
    assert np.abs(answer(other, X) - answer(fitted(cls), X)).max() > 1e-3


@both_models
def test_files_pipelines_and_frames_of_several_leaves(cls, tmp_path):
    X, y = data(cls)
    expected = answer(fitted(cls), X)
    save(fitted(cls), tmp_path / "model.bochner")
    np.testing.assert_array_equal(answer(load(tmp_path / "model.bochner"), X), expected)
    frame = pd.DataFrame(X, columns=list("abcd"))
    framed = answer(model_of(cls).fit(frame, y), frame)  # in other blocks
    np.testing.assert_allclose(framed, expected, atol=1e-4)
    piped = make_pipeline(StandardScaler(), model_of(cls)).fit(X, y)
    assert piped.score(X, y) > 0.4


def test_a_model_whose_rows_were_prepared_in_a_file_can_be_saved(tmp_path, monkeypatch):
    """It keeps a copy of the rows that it needs, not the file."""
    X, y = data(SpectralRegressor)
    monkeypatch.setattr(tables, "PREPARED_BYTES", 0)
    others = set(maps._SCRATCHES)
    model = model_of(SpectralRegressor).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), fitted(SpectralRegressor).predict(X))
    gc.collect()
    assert set(maps._SCRATCHES) <= others
    save(model, tmp_path / "model.bochner")
    loaded = load(tmp_path / "model.bochner")
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


@both_models
def test_rows_without_weight_are_as_if_they_were_absent(cls):
    X, y = data(cls)
    kept = np.arange(350) % 3 > 0
    weighted = model_of(cls).fit(X, y, kept.astype(float))
    np.testing.assert_array_equal(
        answer(weighted, X), answer(model_of(cls).fit(X[kept], y[kept]), X)
    )


@both_models
def test_only_ratios_of_weights_count(cls):
    X, y = data(cls)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=350)
    one = answer(model_of(cls).fit(X, y, weights), X)
    np.testing.assert_allclose(answer(model_of(cls).fit(X, y, 1024 * weights), X), one, atol=1e-6)
    assert np.abs(one - answer(fitted(cls), X)).max() > 1e-3


@both_models
def test_whole_weights_are_repeated_rows(cls):
    X, y = data(cls)
    counts = np.random.default_rng(0).integers(1, 4, size=350)
    repeated = np.repeat(np.arange(350), counts)
    longer = model_of(cls).fit(X[repeated], y[repeated])
    assert "copies" in longer.path_
    weighted = model_of(cls).fit(X, y, counts.astype(float))
    np.testing.assert_allclose(answer(longer, X), answer(weighted, X), atol=1e-6)


@both_models
def test_the_former_name_of_max_leaf_rows_warns_and_works(cls):
    X, y = data(cls)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = model_of(cls, max_leaf_rows=10_000, max_exact_rows=100).fit(X, y)
    said = [one for one in caught if issubclass(one.category, FutureWarning)]
    assert len(said) == 1
    assert "max_exact_rows is now called max_leaf_rows. Write max_leaf_rows=100." in str(
        said[0].message
    )
    np.testing.assert_array_equal(answer(model, X), answer(fitted(cls), X))
    with pytest.raises(ValueError, match="max_exact_rows"):
        model_of(cls, max_exact_rows=10).fit(X, y)


@both_models
def test_a_fit_that_fails_in_a_leaf_leaves_the_old_model(cls, monkeypatch):
    X, y = data(cls)
    model, calls = model_of(cls).fit(X, y), []
    before = answer(model, X)

    def fail(*given):
        calls.append(given)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return solve_holding_out(*given)

    monkeypatch.setattr(fitting, "solve_holding_out", fail)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :3], y)
    np.testing.assert_array_equal(answer(model, X), before)


@pytest.mark.parametrize("odd", [1, 30])
@pytest.mark.parametrize("cls", long_except(MODELS, SpectralRegressor))
def test_rows_that_are_almost_all_equal_can_be_fitted(cls, odd):
    rng = np.random.default_rng(0)
    X, noise = np.zeros((300, 2)), rng.normal(size=300)
    X[:odd, 0] = 1.0
    y = noise + 3 * X[:, 0]
    model = model_of(cls).fit(X, y if cls is SpectralRegressor else y > 0)
    assert np.all(np.isfinite(answer(model, X)))
    if cls is SpectralRegressor and odd == 30:
        assert model.score(X, y) > 0.3


def test_leaves_of_one_class_or_one_value_learn_no_rates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    labels = X[:, 0] + 0.05 * rng.normal(size=400) > 0.8
    model = model_of(SpectralClassifier, priors=Laplace()).fit(X, labels)
    assert model.score(X, labels) > 0.95
    values = model_of(SpectralRegressor, priors=Laplace()).fit(X, labels.astype(float))
    assert values.score(X, labels.astype(float)) > 0.7


# --- honesty --------------------------------------------------------------------------------------


def noisy(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(X[:, 0]) + rng.normal(size=n)


CHANGES = {
    "plain": lambda X, y: (X, y, None),
    "half repeated": lambda X, y: (
        np.vstack([X, X[: len(X) // 2]]), np.append(y, y[: len(y) // 2]), None
    ),
    "weight 1000": lambda X, y: (X, y, np.full(len(y), 1000.0)),
    "survey": lambda X, y: (
        X, y, 1000 * np.exp(0.5 * np.random.default_rng(len(y)).normal(size=len(y)))
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", CHANGES)
def test_intervals_of_several_leaves_keep_their_coverage(name):
    """Over eight samples of 4000 rows in leaves of 500; the z-score is that of their mean."""
    coverages = []
    for seed in range(8):
        X, y = noisy(4000, seed)
        model = SpectralRegressor(Anova(), max_leaf_rows=500, random_state=seed)
        model.fit(*CHANGES[name](X, y))
        Z, z = noisy(4000, seed + 100)
        lower, upper = model.predict_interval(Z, level=0.9).T
        coverages.append(np.mean((lower <= z) & (z <= upper)))
    # Of a finite number of held-out rows, and of rows to predict.
    n_held = 1000
    error = np.sqrt(0.9 * 0.1 * (1 / 4000 + 1 / n_held) / 8)
    assert abs(np.mean(coverages) - 0.9) / error < 4


def test_intervals_of_small_leaves_keep_their_coverage(monkeypatch, seed):
    coverages = []
    for k in range(4):
        X, y = noisy(600, 6 * seed + k)
        model = model_of(SpectralRegressor, priors=Laplace()).fit(*CHANGES["half repeated"](X, y))
        assert "tree splits them" in model.path_
        Z, z = noisy(2000, 6 * seed + k + 1000)
        lower, upper = model.predict_interval(Z, level=0.9).T
        coverages.append(np.mean((lower <= z) & (z <= upper)))
    error = np.sqrt(0.9 * 0.1 * (1 / 2000 + 1 / 150) / 4)
    assert abs(np.mean(coverages) - 0.9) / error < 4


@pytest.mark.parametrize("name", long_except(CHANGES, "half repeated"))
def test_probabilities_of_several_leaves_are_calibrated(name, seed):
    """Outcomes minus probabilities over quarters of the rows, as the mean of six fits.

    The difference of one fit with 200 held-out rows has a standard deviation of .04 to .07.
    """
    gaps, losses = [], []
    model = model_of(SpectralClassifier, priors=Laplace(), max_leaf_rows=200)
    for k in range(6):
        X, y = noisy(800, 6 * seed + k)
        rows, values, weights = CHANGES[name](X, y)
        Z, z = noisy(4000, 6 * seed + k + 1000)
        p = model.fit(rows, values > 0.5, weights).predict_proba(Z)[:, 1]
        assert "tree splits them" in model.path_
        quarters = np.array_split(np.argsort(p), 4)
        gaps.append([np.mean((z > 0.5)[part]) - np.mean(p[part]) for part in quarters])
        losses.append(log_loss(z > 0.5, p))
    assert np.all(np.abs(np.mean(gaps, axis=0)) < 4 * 0.055 / np.sqrt(6))
    assert np.mean(losses) < 0.58  # .53 with the true probabilities, .64 with that of the classes


def test_noise_is_not_explained_by_leaves(monkeypatch):
    """Held-out errors of noise that no column explains are those of its mean."""
    monkeypatch.setattr(repetitions, "_HELD_OUT", (60, 100))
    X, _ = regression(1200)
    noise = np.random.default_rng(3).normal(size=1200)
    model = model_of(SpectralRegressor, max_leaf_rows=300).fit(X, noise)
    for member in model.members_:
        assert member.held_out_error > 0.9
