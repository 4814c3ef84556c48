"""SpectralClassifier and SpectralRegressor: formulas against refits, tables as they are, messages."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from bochner import Anova, Evidence, Gaussian, Laplace, Matern, Sinc, SpectralClassifier, SpectralRegressor
from bochner._compute import LocalRows
from bochner.evidence import LearnedPrior
from bochner.front_door import solving
from bochner.front_door.base import merged
from bochner.front_door.solving import (
    Problem,
    expansion_of,
    learned_gram,
    solve_holding_out,
    solve_leaving_out,
)
from bochner.front_door.streaming import Stream, solve_streaming
from bochner.front_door.target_scales import TargetScale, other_scales
from bochner.kernel_systems import InverseSystem

pd = pytest.importorskip("pandas")
QUICK = Evidence(n_rows=150, n_iterations=6, standardize=False)


def regression(n=120, d=4, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n)


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], size=n),
            "flag": rng.random(n) < 0.3,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    y = frame["size"] + 2 * (frame["kind"] == "b") - frame["flag"] + 0.1 * rng.normal(size=n)
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "kind"] = None
    return frame, y.to_numpy()


# --- formulas ---------------------------------------------------------------------------------------------------------


def problem(n=40, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(Z[:, 0]), Z[:, 1] ** 2]) + 0.1 * rng.normal(size=(n, 2))
    counts = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    costs = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    return Problem(Z, Y, counts, costs)


LEARNED = LearnedPrior(Anova(weight=[1.0, 0.5, 0.2]), 0.05, np.full(3, 0.3), 0.0, 0)


def refit(parts, learned, ridge, weights):
    """The ridge with a free intercept by one big linear system; only for tests."""
    n = len(parts.Z)
    K = learned_gram(learned, parts.Z) + np.diag(ridge / weights)
    whole = np.block([[K, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(whole, np.vstack([parts.Y, np.zeros((1, parts.Y.shape[1]))]))
    return solved[:-1], solved[-1]


@pytest.mark.parametrize("prior", [Anova(weight=0.7), Laplace(gamma=0.3), Gaussian(gamma=0.4)], ids=repr)
def test_leave_one_out_scores_are_those_of_refits(prior):
    parts = problem()
    learned = LearnedPrior(prior, 0.05, np.full(3, 0.3), 0.0, 0)
    solved = solve_leaving_out(parts, learned, 4)
    for i in (0, 7, 39):
        rest = parts.take(np.delete(np.arange(40), i))
        dual, intercept = refit(rest, learned, solved.ridge, rest.weights)
        expected = learned_gram(learned, parts.Z[[i]], rest.Z) @ dual + intercept
        np.testing.assert_allclose(solved.held_out[[i]], expected, atol=1e-8)
    dual, intercept = refit(parts, learned, solved.ridge, parts.weights)
    np.testing.assert_allclose(
        solved.expansion.evaluate(parts.Z), learned_gram(learned, parts.Z) @ dual + intercept, atol=1e-8
    )


def test_a_row_that_counts_three_times_is_left_out_once():
    parts = problem(weighted=True)
    solved = solve_leaving_out(parts, LEARNED, 4)
    i = int(np.flatnonzero(parts.counts == 3)[0])
    fewer = parts.counts.copy()
    fewer[i] -= 1
    dual, intercept = refit(parts, LEARNED, solved.ridge, fewer * parts.costs)
    expected = learned_gram(LEARNED, parts.Z[[i]], parts.Z) @ dual + intercept
    np.testing.assert_allclose(solved.held_out[[i]], expected, atol=1e-8)


def test_slopes_of_left_out_residuals_are_their_differences():
    parts = problem(weighted=True)
    gram = learned_gram(LEARNED, parts.Z)

    def left_out(ridge):
        return InverseSystem(gram, parts.weights, ridge).solve(parts.Y, parts.counts)

    step = 1e-4
    numeric = (left_out(0.2 * np.exp(step))[0].unit_out - left_out(0.2 * np.exp(-step))[0].unit_out) / (2 * step)
    np.testing.assert_allclose(left_out(0.2)[1], numeric, atol=1e-7)


def test_single_precision_differs_by_rounding_only():
    parts = problem()
    gram = learned_gram(LEARNED, parts.Z)
    double, single = (
        InverseSystem(g, parts.weights, 0.1).solve(parts.Y, parts.counts)[0] for g in (gram, gram.astype("f4"))
    )
    np.testing.assert_allclose(single.unit_out, double.unit_out, atol=1e-4)
    with pytest.raises(np.linalg.LinAlgError):
        InverseSystem(np.ones((30, 30)), np.ones(30), 1e-20)


def test_the_ridge_has_a_smaller_left_out_error_than_its_neighbors():
    parts = problem(80)
    far = LearnedPrior(LEARNED.prior, 30.0, LEARNED.linear, 0.0, 0)  # far too strong
    solved = solve_leaving_out(parts, far, 8)
    assert solved.ridge < 3

    def error(ridge):
        learned = LearnedPrior(LEARNED.prior, ridge, LEARNED.linear, 0.0, 0)
        return np.mean((solve_leaving_out(parts, learned, 0).held_out - parts.Y) ** 2)

    assert error(solved.ridge) <= error(solved.ridge * 10) * 1.001
    assert error(solved.ridge) <= error(solved.ridge / 10) * 1.01


def test_conjugate_gradients_agree_with_the_direct_solution(seed):
    parts = problem(300, seed=seed)
    held_out = solve_holding_out(parts, LEARNED, 0, 60, np.random.default_rng(0))
    inner = parts.take(np.arange(240))
    dual, intercept = refit(inner, LEARNED, held_out.ridge, inner.weights)
    expected = learned_gram(LEARNED, parts.Z[240:], inner.Z) @ dual + intercept
    np.testing.assert_allclose(held_out.held_out, expected, atol=5e-3, rtol=2e-3)
    dual, intercept = refit(parts, LEARNED, held_out.ridge, parts.weights)
    np.testing.assert_allclose(
        held_out.expansion.evaluate(parts.Z), learned_gram(LEARNED, parts.Z) @ dual + intercept, atol=5e-3, rtol=2e-3
    )


def test_random_sums_choose_a_ridge_for_many_outputs_and_all_are_solved(monkeypatch):
    parts = problem(300)
    many = Problem(parts.Z, np.tile(parts.Y, 6) * np.linspace(0.5, 2, 12), parts.counts, parts.costs)
    found = solve_holding_out(many, LEARNED, 4, 60, np.random.default_rng(0))
    monkeypatch.setattr(solving, "_MOST_OUTPUTS", 100)
    each = solve_holding_out(many, LEARNED, 4, 60, np.random.default_rng(0))
    assert found.held_out.shape == (60, 12)
    assert abs(np.log10(found.ridge / each.ridge)) < 0.51
    assert np.mean((found.held_out - many.Y[240:]) ** 2) < 1.05 * np.mean((each.held_out - many.Y[240:]) ** 2)


def test_the_blends_held_out_scores_are_those_of_refits(monkeypatch):
    """With the priors, ridges and weights of the whole fit."""
    X, y = regression(40)
    seen = {}
    original = SpectralRegressor._fit_members

    def watched(self, priors, parts, rows, learned, *others):
        seen.update(parts=parts, learned=learned, scores=original(self, priors, parts, rows, learned, *others)[0])
        return seen["scores"], np.arange(len(parts.Z))

    monkeypatch.setattr(SpectralRegressor, "_fit_members", watched)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)
    parts = seen["parts"]
    for i in (0, 11):
        rest = parts.take(np.delete(np.arange(len(parts.Z)), i))
        expected = 0.0
        for member, learned in zip(model.members_, seen["learned"]):
            dual, intercept = refit(rest, learned, member.ridge, rest.weights)
            expected += member.weight * (learned_gram(learned, parts.Z[[i]], rest.Z) @ dual + intercept)
        np.testing.assert_allclose(seen["scores"][[i]], expected, atol=1e-6)


def test_equal_rows_are_one_row_that_counts_more():
    Z = np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    rows, counts = merged(Z, np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(Z[rows], [[0, 1], [2, 1], [2, 1]])
    np.testing.assert_array_equal(counts, [2, 4, 4])


# --- what a model says ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def regressor():
    X, y = table()
    return SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    X, y = table()
    return SpectralClassifier(evidence=QUICK, random_state=0).fit(X, np.digitize(y, [0.0, 1.5]))


def test_effects_add_up_to_the_prediction_and_are_named(regressor, classifier):
    X, _ = table()
    effects = regressor.effects(X[:30])
    np.testing.assert_allclose(effects.total(), regressor.predict(X[:30]), atol=1e-8)
    assert effects.names == ("size", "kind", "flag", "day")
    assert effects.main.shape == (30, 4)
    assert effects.pair_names[0] == ("size", "kind")
    assert {effects.strongest(3)[k][0] for k in range(3)} == {"size", "kind", "flag"}
    of_classes = classifier.effects(X[:30], max_order=1)
    np.testing.assert_allclose(of_classes.total(), classifier.scores(X[:30]), atol=1e-8)
    assert of_classes.pairs.shape == (30, 0, 3)


def test_main_effects_of_an_additive_target_are_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    model = SpectralRegressor(Anova(), random_state=0).fit(X, y)
    effects = model.effects(X[:100])
    for j, truth in enumerate([np.sin(2 * X[:100, 0]), X[:100, 1] ** 2]):
        assert np.corrcoef(effects.main[:, j], truth)[0, 1] > 0.99
    assert np.std(effects.rest) + np.std(effects.pairs) < 0.1 * np.std(y)


def test_effects_of_two_classes_are_those_of_the_second():
    X, y = make_classification(150, 4, random_state=0)
    model = SpectralClassifier(evidence=QUICK, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.effects(X[:9]).total(), model.scores(X[:9])[:, 1], atol=1e-8)
    with pytest.raises(TypeError, match="priors=Anova"):
        SpectralClassifier(Gaussian(), evidence=QUICK).fit(X, y).effects(X)


def test_jacobians_are_differences_of_prepared_inputs(regressor, classifier):
    X, _ = table()
    Z = regressor.inputs_.transform(X[:5])
    step = 1e-5
    slopes = regressor.jacobian(X[:5])
    assert slopes.shape == Z.shape
    unit = regressor.target_scale_.unit
    for j in range(2):
        moved = np.eye(Z.shape[1])[j] * step
        numeric = unit * (regressor.blend_.evaluate(Z + moved) - regressor.blend_.evaluate(Z - moved)) / (2 * step)
        np.testing.assert_allclose(slopes[:, j], numeric[:, 0], atol=1e-3)
    assert classifier.jacobian(X[:5]).shape == (5, 3, Z.shape[1])


def test_importances_are_the_printed_formula_and_find_the_columns(regressor):
    importances = regressor.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1)
    assert importances[3] < 0.02
    points = regressor._some_rows
    others = np.roll(points, len(points) // 2, axis=0)
    changed = points.copy()
    changed[:, 0], changed[:, 3] = others[:, 0], others[:, 3]  # the number and whether it is missing
    assert list(regressor.inputs_.get_feature_names_out()[[0, 3]]) == ["size", "missingindicator_size"]
    change = np.sum((regressor.blend_.evaluate(changed) - regressor.blend_.evaluate(points)) ** 2)
    total = 0.0
    for j in range(4):
        swapped = np.where(regressor.inputs_.sources_ == j, others, points)
        total += np.sum((regressor.blend_.evaluate(swapped) - regressor.blend_.evaluate(points)) ** 2)
    assert importances[0] == pytest.approx(change / total)


def test_three_of_thirty_columns_are_told_apart(seed):
    X, y = make_friedman1(250, 30, random_state=seed)
    X, y = X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    model = SpectralRegressor(random_state=0).fit(X, y)
    assert model.feature_importances_[:3].sum() > 0.9
    weights = model.members_[0].prior.weight
    assert weights[3:].max() < weights[:3].min()


def test_members_print_as_a_table_and_go_into_a_frame(regressor):
    text = repr(regressor.members_)
    assert text.splitlines()[0].split()[:3] == ["name", "weight", "held_out_error"]
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["anova", "laplace", "gaussian"]
    frame = pd.DataFrame(regressor.members_)
    assert frame["weight"].sum() == pytest.approx(1)
    assert "leave-one-out" in regressor.path_


# --- probabilities and intervals --------------------------------------------------------------------------------------


def test_probabilities_are_calibrated_and_beat_shares():
    X, y = make_classification(700, 6, n_informative=4, flip_y=0.2, random_state=1)
    model = SpectralClassifier(evidence=QUICK, random_state=0).fit(X[:300], y[:300])
    probabilities = model.predict_proba(X[300:])
    assert log_loss(y[300:], probabilities) < 0.6
    sure = probabilities.max(axis=1)
    assert abs(np.mean(model.predict(X[300:]) == y[300:]) - sure.mean()) < 0.06


def test_nearly_separable_classes_get_steep_probabilities():
    X, y = load_iris(return_X_y=True)
    model = SpectralClassifier(random_state=0).fit(X[y < 2], y[y < 2])
    assert model.predict_proba(X[y < 2]).max(axis=1).min() > 0.99


@pytest.mark.parametrize("heteroscedastic", [False, True])
def test_intervals_cover_as_often_as_they_say(heteroscedastic):
    covered, n = 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, size=(600, 2))
        deviation = 0.05 + 0.4 * (X[:, 1] > 0) if heteroscedastic else 0.3
        y = np.sin(2 * X[:, 0]) + deviation * rng.normal(size=600)
        model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:200], y[:200])
        low, high = model.predict_interval(X[200:], level=0.8).T
        inside = (low <= y[200:]) & (y[200:] <= high)
        covered, n = covered + inside.sum(), n + len(inside)
        if heteroscedastic:
            wide = X[200:, 1] > 0
            assert np.median((high - low)[wide]) > 2 * np.median((high - low)[~wide])
            _, std = model.predict(X[200:], return_std=True)
            assert np.median(std[wide]) > 2 * np.median(std[~wide])
    # 200 training rows set the level only up to 3 %; beyond that a binomial law decides.
    assert binomtest(int(covered), n, 0.8 + 0.03, alternative="less").pvalue < 1 - 1e-4
    assert 0.75 < covered / n < 0.86


def test_an_interval_of_too_few_rows_is_infinite():
    X, y = regression(9)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)
    assert np.all(np.isinf(model.predict_interval(X, level=0.99)))
    assert np.all(np.isfinite(model.predict_interval(X, level=0.5)))
    with pytest.raises(ValueError, match="level must lie"):
        model.predict_interval(X, level=90)


# --- targets ----------------------------------------------------------------------------------------------------------


def test_a_lognormal_target_is_fitted_by_its_logarithm_and_predicted_by_its_mean(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 2))
    y = np.exp(1.5 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * rng.normal(size=1200))
    truth = np.exp(1.5 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.7**2 / 2)
    model = SpectralRegressor(random_state=0).fit(X[:400], y[:400])
    assert model.target_scale_.kind == "log"
    predicted = model.predict(X[400:])
    assert np.mean(predicted) == pytest.approx(np.mean(truth[400:]), rel=0.15)
    # On a logarithmic scale, a median would lie 0.245 below the mean.
    assert abs(np.median(np.log(predicted / truth[400:]))) < 0.12
    low, high = model.predict_interval(X[400:], level=0.9).T
    assert np.all(low > 0)
    assert 0.84 < np.mean((low <= y[400:]) & (y[400:] <= high)) < 0.96
    assert np.all(model.predict(X[400:], return_std=True)[1] > 0)
    effects = model.effects(X[:5])
    np.testing.assert_allclose(
        effects.total(),
        model.blend_.evaluate(model.inputs_.transform(X[:5]))[:, 0] * model.target_scale_.unit
        + model.target_scale_.center,
        atol=1e-8,
    )


def test_a_normal_target_is_left_as_it_is():
    X, y = regression()
    assert SpectralRegressor(evidence=QUICK, random_state=0).fit(X, np.exp(0.1 * y)).target_scale_.kind == "identity"


@pytest.mark.parametrize("kind", ["identity", "log", "asinh"])
def test_scales_are_inverted_and_their_slope_is_a_difference(kind, seed):
    Y = np.random.default_rng(seed).lognormal(size=(50, 1))
    scale = TargetScale.of(Y, np.ones(50), kind, 0.3, 2.0)
    z = scale.forward(Y)
    np.testing.assert_allclose(scale.backward(z), Y)
    assert z.mean() == pytest.approx(0, abs=1e-12)
    assert z.std() == pytest.approx(1)
    numeric = np.log((scale.forward(Y + 1e-6) - scale.forward(Y - 1e-6)) / 2e-6).mean()
    assert scale.mean_log_slope(Y, np.ones(50)) == pytest.approx(numeric, abs=1e-6)


def test_other_scales_are_for_long_tails_only(seed):
    rng = np.random.default_rng(seed)
    ones = np.ones(300)
    assert other_scales(rng.normal(size=(300, 1)), ones) == []
    assert other_scales(rng.lognormal(size=(300, 2)), ones) == []
    assert [s.kind for s in other_scales(rng.lognormal(size=(300, 1)), ones)] == ["log"]
    assert [s.kind for s in other_scales(rng.standard_cauchy(size=(300, 1)), ones)] == ["asinh"]
    assert other_scales(np.full((300, 1), 7.0), ones) == []


@pytest.mark.parametrize("size", [1e-250, 1e-9, 1e9, 1e250])
def test_units_of_columns_and_targets_do_not_matter(size):
    X, y = regression(60)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    plain = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(
        clone(model).fit(size * X, size * y).predict(size * X) / size, plain, rtol=1e-4, atol=1e-4
    )


def test_several_outputs_are_fitted_at_once():
    X, y = regression()
    Y = np.column_stack([y, 100 - 3 * y, np.full(len(y), 5.0)])
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, Y)
    predicted, std = model.predict(X, return_std=True)
    assert predicted.shape == std.shape == Y.shape
    np.testing.assert_allclose(predicted[:, 1], 100 - 3 * predicted[:, 0], atol=1e-6)
    np.testing.assert_allclose(predicted[:, 2], 5.0, atol=1e-6)
    assert model.predict_interval(X[:3]).shape == (3, 3, 2)
    assert model.effects(X[:3]).main.shape == (3, 4, 3)
    assert model.jacobian(X[:3]).shape == (3, 3, 4)


# --- tables as they are -----------------------------------------------------------------------------------------------


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
        SpectralClassifier(evidence=QUICK, class_weight=w, random_state=0).fit(X, y) for w in (None, "balanced")
    )
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1
    by_hand = SpectralClassifier(evidence=QUICK, class_weight={0: 1.0, 1: 1.0}, random_state=0).fit(X, y)
    np.testing.assert_allclose(by_hand.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_rows_are_enough(n):
    X, y = regression(n)
    assert np.all(np.isfinite(SpectralRegressor(random_state=0).fit(X, y).predict(X)))
    labels = np.arange(n) % 2
    assert np.all(np.isfinite(SpectralClassifier(random_state=0).fit(X, labels).predict_proba(X)))


def test_more_columns_than_rows_duplicates_constants_and_empty_columns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 100)), rng.normal(size=20)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    assert np.all(np.isfinite(clone(model).fit(X, y).predict(X)))
    same = np.ones((20, 3))
    np.testing.assert_allclose(clone(model).fit(same, y).predict(same), y.mean(), atol=1e-6)
    np.testing.assert_allclose(clone(model).fit(X, np.full(20, 3.0)).predict(X), 3.0)
    holes = np.column_stack([X[:, 0], np.full(20, np.nan), np.ones(20)])
    np.testing.assert_allclose(
        clone(model).fit(holes, y).predict(holes), clone(model).fit(X[:, :1], y).predict(X[:, :1]), rtol=1e-6
    )
    labels = np.arange(20) % 3
    single = labels.copy()
    single[0] = 9  # a class of one row
    classes = SpectralClassifier(evidence=QUICK, random_state=0).fit(X, single)
    np.testing.assert_allclose(classes.predict_proba(X).sum(axis=1), 1)
    assert list(classes.classes_) == [0, 1, 2, 9]
    np.testing.assert_allclose(
        SpectralClassifier(evidence=QUICK, random_state=0).fit(same, labels).predict_proba(same)[0],
        np.bincount(labels) / 20,
        atol=0.05,
    )


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([0.0, np.nan] * 10)}, "NaN"),
        ({"y": np.array([0.0, np.inf] * 10)}, "infinity"),
        ({"y": np.zeros(7)}, "inconsistent"),
        ({"X": np.ones((1, 2)), "y": np.ones(1)}, "at least 2 rows"),
        ({"X": np.full((20, 2), np.inf)}, "infinity"),
        ({"y": None}, "None"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_bad_data_is_refused_with_a_reason(change, message):
    data = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": np.arange(20.0)} | change
    for model in (SpectralRegressor(), SpectralClassifier()):
        with pytest.raises(ValueError, match=message):
            model.fit(**data)
        with pytest.raises(NotFittedError):
            model.predict(data["X"])


def test_one_class_and_values_are_refused_by_the_classifier():
    X, y = regression(20)
    with pytest.raises(ValueError, match="only 1 class: 'a'"):
        SpectralClassifier().fit(X, ["a"] * 20)
    with pytest.raises(ValueError, match="SpectralRegressor"):
        SpectralClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"priors": ()}, "priors is empty"),
        ({"priors": (1,)}, "priors must be priors"),
        ({"priors": Sinc()}, "Evidence learns"),
        ({"priors": Matern(nu=2.2)}, "Evidence learns"),
        ({"evidence": 5}, "evidence must be"),
        ({"categorical_features": "all"}, "from_dtype"),
        ({"max_exact_rows": 0}, "max_exact_rows"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = regression(20)
    with pytest.raises((TypeError, ValueError), match=message):
        SpectralRegressor(**parameters).fit(X, y)


def test_columns_that_changed_are_named(regressor):
    X, _ = table()
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(X.drop(columns="kind"))
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(X.assign(new=1.0))
    with pytest.raises(ValueError, match="'size' is taken as numbers, but holds values such as 'large'"):
        regressor.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match="'kind' held categories such as 'a'"):
        regressor.predict(X.assign(kind=3.5))
    assert np.all(np.isfinite(regressor.predict(X.assign(kind="unseen"))))


def test_a_model_of_a_table_survives_skops(classifier, tmp_path):
    skops = pytest.importorskip("skops.io")
    from bochner.storage import trusted_types

    X, _ = table()
    skops.dump(classifier, tmp_path / "model.skops")
    again = skops.load(tmp_path / "model.skops", trusted=trusted_types(tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert repr(again.members_) == repr(classifier.members_)


def test_many_rows_are_solved_by_conjugate_gradients(monkeypatch):
    from bochner.front_door import base

    monkeypatch.setattr(base, "_LEAVE_ONE_OUT_ROWS", 200)
    monkeypatch.setattr(base, "_HELD_OUT", (60, 100))
    X, y = regression(500)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:400], y[:400])
    assert "conjugate gradients" in model.path_
    assert model.score(X[400:], y[400:]) > 0.8
    assert len(model.spread_.scores) == 66
    classes = SpectralClassifier(evidence=QUICK, random_state=0).fit(X[:400], y[:400] > 0)
    assert classes.score(X[400:], y[400:] > 0) > 0.8


def test_an_expansion_of_a_solution_carries_the_linear_part():
    parts = problem()
    dual, intercept = refit(parts, LEARNED, 0.1, parts.weights)
    from bochner.kernel_systems import Solution

    function = expansion_of(LEARNED, parts.Z, Solution(dual, intercept), np.float64)
    np.testing.assert_allclose(
        function.evaluate(parts.Z), learned_gram(LEARNED, parts.Z) @ dual + intercept, atol=1e-10
    )


# --- many rows --------------------------------------------------------------------------------------------------------


def test_landmarks_over_a_stream_are_the_ridge_of_all_rows():
    parts = problem(200, weighted=True)
    judge = problem(50, seed=1)
    landmarks = parts.Z[:30]
    stream = Stream(LocalRows(parts.Z, block_size=7), np.asarray, parts.Y, parts.weights)
    solved = solve_streaming(stream, landmarks, LEARNED, judge)
    features = np.column_stack([learned_gram(LEARNED, parts.Z, landmarks), np.ones(200)])
    penalty = np.zeros((31, 31))
    penalty[:-1, :-1] = learned_gram(LEARNED, landmarks)
    weighted = features.T * parts.weights
    coefficients = np.linalg.solve(weighted @ features + solved.ridge * penalty, weighted @ parts.Y)
    at_judge = np.column_stack([learned_gram(LEARNED, judge.Z, landmarks), np.ones(50)])
    np.testing.assert_allclose(solved.expansion.evaluate(judge.Z), at_judge @ coefficients, atol=2e-4)
    np.testing.assert_allclose(solved.held_out, solved.expansion.evaluate(judge.Z), atol=1e-4)


def test_more_rows_than_an_exact_kernel_takes_all_count(tmp_path):
    X, y = regression(3000, noise=0.3)
    X_test, y_test = regression(500, seed=1, noise=0.0)
    model = SpectralRegressor(evidence=QUICK, max_exact_rows=300, random_state=0).fit(X, y)
    assert "300 landmarks fitted to all rows" in model.path_
    assert "max_exact_rows=300" in model.path_
    few = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:300], y[:300])
    assert model.score(X_test, y_test) > few.score(X_test, y_test) + 0.01
    assert {m.name for m in model.members_} >= {"anova", "anova landmarks"}
    low, high = model.predict_interval(X[:1000], level=0.9).T
    assert 0.85 < np.mean((low < y[:1000]) & (y[:1000] < high)) < 0.95
    # the same from a memory map and from a frame
    np.save(tmp_path / "X.npy", X)
    mapped = clone(model).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    np.testing.assert_allclose(mapped.predict(X[:50]), model.predict(X[:50]), rtol=1e-5, atol=1e-5)
    frame = pd.DataFrame(X, columns=list("abcd"))
    framed = clone(model).fit(frame, y)
    np.testing.assert_allclose(framed.predict(frame[:50]), model.predict(X[:50]), rtol=1e-3, atol=1e-3)


def test_many_labeled_rows_are_classified():
    X, y = regression(2000)
    labels = np.digitize(y, [-0.5, 0.5])
    model = SpectralClassifier(evidence=QUICK, max_exact_rows=200, class_weight="balanced", random_state=0)
    model.fit(X, labels)
    X_test, y_test = regression(500, seed=1)
    assert model.score(X_test, np.digitize(y_test, [-0.5, 0.5])) > 0.8
    assert "many rows" in model.path_


def test_a_zero_outside_the_learning_rows_does_not_spoil_a_logarithm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.exp(2 * X[:, 0] + 0.3 * rng.normal(size=400))
    y[7] = 0.0
    model = SpectralRegressor(evidence=Evidence(100, 5, standardize=False), random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))


# --- trees ------------------------------------------------------------------------------------------------------------


def test_trees_are_a_member_where_asked_for(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    steps = np.floor(2 * X[:, 0]) % 2 + (X[:, 1] > 0.3) * (X[:, 2] > 0)
    labels = np.digitize(steps, [0.5, 1.5])
    model = SpectralClassifier(evidence=QUICK, trees=True, random_state=0).fit(X[:400], labels[:400])
    assert [m.name for m in model.members_][-1] == "trees"
    assert model.members_[-1].weight > 0.1
    assert model.score(X[400:], labels[400:]) > 0.8
    with pytest.raises(TypeError, match="trees=False"):
        model.jacobian(X[:3])
    np.testing.assert_allclose(model.effects(X[:5], 1).total(), model.scores(X[:5]), atol=1e-8)
    two = SpectralClassifier(evidence=QUICK, trees=True, random_state=0).fit(X[:400], labels[:400] > 0)
    assert two.score(X[400:], labels[400:] > 0) > 0.8
    values = SpectralRegressor(evidence=QUICK, trees=True, random_state=0).fit(
        X[:400], np.column_stack([steps, X[:, 0]])[:400]
    )
    assert values.score(X[400:], np.column_stack([steps, X[:, 0]])[400:]) > 0.7
    many = SpectralRegressor(evidence=QUICK, trees=True, max_exact_rows=100, random_state=0).fit(X[:400], steps[:400])
    assert many.members_[-1].name == "trees"
    with pytest.raises(TypeError, match="trees must be"):
        SpectralRegressor(trees="yes").fit(X, steps)
