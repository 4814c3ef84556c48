"""Members of the tabular models: leave-one-out, conjugate gradients, waves, trees."""

import inspect
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from selection import long_except
from sklearn.base import clone
from tabular_samples import LEARNED, QUICK, prepared_values, problem, refit, regression

from bochner import Anova, Gaussian, Laplace, SpectralClassifier, SpectralRegressor
from bochner.data import LocalRows, repetitions, tables
from bochner.data.inputs import TableInputs
from bochner.data.targets import Labels, Values
from bochner.data.training import TrainingData
from bochner.expansions.waves import Expansion
from bochner.learners.evidence import Evidence, LearnedPrior
from bochner.losses import Logistic, Multinomial, Squared
from bochner.solvers.dual import InverseSystem, Solution
from bochner.tabular import fitting, solving, waves
from bochner.tabular.learning import choose_rank_encoding, learning_rows
from bochner.tabular.preparation import Preparation, PreparedData
from bochner.tabular.solving import (
    expansion_of,
    learned_gram,
    solve_holding_out,
    solve_leaving_out,
)
from bochner.tabular.waves import WaveMember, solve_descending

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    "prior", [Anova(weight=0.7), Laplace(gamma=0.3), Gaussian(gamma=0.4)], ids=repr
)
def test_leave_one_out_scores_are_those_of_refits(prior):
    parts = problem()
    learned = LearnedPrior(prior, 0.05, np.full(3, 0.3), 0.0, 0)
    solved = solve_leaving_out(parts, learned, 4)
    for i in (0, 7, 39):
        rest = parts.take(np.delete(np.arange(40), i))
        dual, intercept = refit(rest, learned, solved.ridge, rest.row_weights)
        expected = learned_gram(learned, parts.Z[[i]], rest.Z) @ dual + intercept
        np.testing.assert_allclose(solved.held_out[[i]], expected, atol=1e-8)
    dual, intercept = refit(parts, learned, solved.ridge, parts.row_weights)
    np.testing.assert_allclose(
        solved.expansion.evaluate(parts.Z),
        learned_gram(learned, parts.Z) @ dual + intercept,
        atol=1e-8,
    )


def test_a_row_is_left_out_with_all_its_weight():
    parts = problem(weighted=True)
    solved = solve_leaving_out(parts, LEARNED, 4)
    others = np.arange(1, len(parts.Z))
    inner = parts.take(others)
    dual, intercept = refit(inner, LEARNED, solved.ridge, inner.row_weights)
    expected = learned_gram(LEARNED, parts.Z[[0]], inner.Z) @ dual + intercept
    np.testing.assert_allclose(solved.held_out[[0]], expected, atol=1e-8)


def test_of_three_equal_observations_one_is_left_out():
    parts = problem(weighted=True)
    parts = replace(parts, observations=parts.row_counts)
    solved = solve_leaving_out(parts, LEARNED, 4)
    i = int(np.flatnonzero(parts.row_counts == 3)[0])
    fewer = parts.row_counts.copy()
    fewer[i] -= 1
    costs = parts.row_weights / parts.row_counts
    dual, intercept = refit(parts, LEARNED, solved.ridge, fewer * costs)
    expected = learned_gram(LEARNED, parts.Z[[i]], parts.Z) @ dual + intercept
    np.testing.assert_allclose(solved.held_out[[i]], expected, atol=1e-8)


def test_slopes_of_left_out_residuals_are_their_differences():
    parts = problem(weighted=True)
    gram = learned_gram(LEARNED, parts.Z)

    def left_out(ridge):
        return InverseSystem(gram, parts.row_weights, ridge).solve(parts.outputs, parts.row_counts)

    step = 1e-4
    numeric = (
        left_out(0.2 * np.exp(step))[0].left_out - left_out(0.2 * np.exp(-step))[0].left_out
    ) / (2 * step)
    np.testing.assert_allclose(left_out(0.2)[1], numeric, atol=1e-7)


def test_single_precision_differs_by_rounding_only():
    parts = problem()
    gram = learned_gram(LEARNED, parts.Z)
    double, single = (
        InverseSystem(g, parts.row_weights, 0.1).solve(parts.outputs, parts.row_counts)[0]
        for g in (gram, gram.astype("f4"))
    )
    np.testing.assert_allclose(single.left_out, double.left_out, atol=1e-4)
    with pytest.raises(np.linalg.LinAlgError):
        InverseSystem(np.ones((30, 30)), np.ones(30), 1e-20)


def test_the_ridge_has_a_smaller_left_out_error_than_its_neighbors():
    parts = problem(80)
    far = LearnedPrior(LEARNED.prior, 30.0, LEARNED.linear, 0.0, 0)  # far too strong
    solved = solve_leaving_out(parts, far, 8)
    assert solved.ridge < 3

    def error(ridge):
        learned = LearnedPrior(LEARNED.prior, ridge, LEARNED.linear, 0.0, 0)
        return np.mean((solve_leaving_out(parts, learned, 0).held_out - parts.outputs) ** 2)

    assert error(solved.ridge) <= error(solved.ridge * 10) * 1.001
    assert error(solved.ridge) <= error(solved.ridge / 10) * 1.01


def test_conjugate_gradients_agree_with_the_direct_solution(seed, monkeypatch):
    monkeypatch.setattr(solving, "_TOL", (1e-4, 1e-4))
    parts = problem(300, seed=seed)
    held_out = solve_holding_out(parts, LEARNED, 0, 60, np.random.default_rng(0))
    inner = parts.take(np.arange(240))
    dual, intercept = refit(inner, LEARNED, held_out.ridge, inner.row_weights)
    expected = learned_gram(LEARNED, parts.Z[240:], inner.Z) @ dual + intercept
    np.testing.assert_allclose(held_out.held_out, expected, atol=5e-3, rtol=2e-3)
    dual, intercept = refit(parts, LEARNED, held_out.ridge, parts.row_weights)
    np.testing.assert_allclose(
        held_out.expansion.evaluate(parts.Z),
        learned_gram(LEARNED, parts.Z) @ dual + intercept,
        atol=5e-3,
        rtol=2e-3,
    )


def reference_functions():
    """Return the functions in the docstring of ``solve_holding_out``."""
    _, _, code = inspect.getdoc(solve_holding_out).partition("::\n\n")
    functions = {"np": np}
    exec(textwrap.dedent(code), functions)
    return functions


@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_solutions_are_those_of_the_reference_in_the_docstring(
    weighted, seed, monkeypatch
):
    monkeypatch.setattr(solving, "_TOL", (1e-4, 1e-4))
    parts, n_held = problem(300, weighted, seed), 60
    solved = solve_holding_out(parts, LEARNED, 4, n_held, np.random.default_rng(0))
    start = solve_leaving_out(parts.take(np.arange(240)), LEARNED, 4).ridge
    ridges = start * np.sqrt(10) ** np.arange(-4, 3)
    gram = learned_gram(LEARNED, parts.Z)
    ridge, scores, (dual, intercept) = reference_functions()["hold_out"](
        gram, parts.outputs, parts.row_weights, n_held, ridges
    )
    assert solved.ridge == pytest.approx(ridge)
    np.testing.assert_allclose(solved.held_out, scores, atol=5e-3, rtol=2e-3)
    np.testing.assert_allclose(
        solved.expansion.evaluate(parts.Z), gram @ dual + intercept, atol=5e-3, rtol=2e-3
    )


def test_random_sums_choose_a_ridge_for_many_outputs_and_all_are_solved(monkeypatch):
    parts = problem(300)
    many = prepared_values(parts.Z, np.tile(parts.outputs, 6) * np.linspace(0.5, 2, 12))
    found = solve_holding_out(many, LEARNED, 4, 60, np.random.default_rng(0))
    monkeypatch.setattr(solving, "_MOST_OUTPUTS", 100)
    each = solve_holding_out(many, LEARNED, 4, 60, np.random.default_rng(0))
    assert found.held_out.shape == (60, 12)
    assert abs(np.log10(found.ridge / each.ridge)) < 0.51
    # A ridge half a decade away costs five percent here.
    assert np.mean((found.held_out - many.outputs[240:]) ** 2) < 1.1 * np.mean(
        (each.held_out - many.outputs[240:]) ** 2
    )


def test_held_out_scores_of_the_members_are_those_of_refits(monkeypatch):
    """With the priors and ridges of the whole fit."""
    X, y = regression(40)
    seen = {}
    original = SpectralRegressor._blend

    def watched(self, members, held_out, evaluation, rng):
        seen.update(parts=evaluation, members=members, scores=held_out)
        return original(self, members, held_out, evaluation, rng)

    monkeypatch.setattr(SpectralRegressor, "_blend", watched)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)
    parts = seen["parts"]
    for i in (0, 11):
        rest = parts.take(np.delete(np.arange(len(parts.Z)), i))
        reports = zip(model.members_, seen["members"], seen["scores"], strict=True)
        for member, solved, scores in reports:
            dual, intercept = refit(rest, solved.learned, member.ridge, rest.row_weights)
            gram = learned_gram(solved.learned, parts.Z[[i]], rest.Z)
            np.testing.assert_allclose(scores[[i]], gram @ dual + intercept, atol=1e-6)


def test_copies_are_merged_into_one_row_of_their_summed_weight():
    Z = np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0], [1.0, 1.0]])
    prepared, _ = PreparedData.merged(
        Z, Values.of([0.5, 1.5, 0.5, 1.0]), np.array([1.0, 2.0, 3.0, 3.0]), 100
    )
    np.testing.assert_array_equal(prepared.Z, [[0, 1], [1, 1], [2, 1]])
    np.testing.assert_allclose(prepared.row_counts, np.array([2, 3, 4]) / 3)
    assert prepared.observations is None


@pytest.mark.parametrize("most_ties, counts", [(100, [2, 3, 1, 3]), (3, np.ones(9))])
def test_ties_are_merged_into_counts_if_few_rows_remain(most_ties, counts):
    Z = np.repeat([[0.0], [1.0]], [5, 4], axis=0)
    labels = Labels.of([0, 1, 1, 1, 0, 1, 0, 1, 1])
    prepared, equal = PreparedData.merged(Z, labels, np.ones(9), most_ties)
    assert equal.are_ties
    np.testing.assert_array_equal(prepared.row_counts, counts)
    assert (prepared.observations is None) == (most_ties == 3)


def ranks_chosen(values, y, counts=None):
    X = values[:, None] if values.ndim == 1 else values
    inputs = TableInputs().fit(X)
    target = Labels.of(y) if y.dtype == bool else Values.of(y)
    counts = np.ones(len(X)) if counts is None else counts
    generator = np.random.default_rng(0)
    data = PreparedData(inputs.transform(X), target, counts)
    given = Preparation(inputs, data, tables.LocalTable(X), "")
    return choose_rank_encoding(given, generator).inputs.ranks


def test_evidence_chooses_between_numbers_and_ranks(seed):
    rng = np.random.default_rng(seed)
    crowded = rng.lognormal(sigma=2.5, size=700)
    waves = np.sin(12 * np.argsort(np.argsort(crowded)) / 700)
    assert ranks_chosen(crowded, waves) == 0.5
    assert ranks_chosen(crowded, waves > 0) == 0.5
    even = rng.normal(size=700)
    assert ranks_chosen(even, np.sin(3 * even)) == 0.0
    assert ranks_chosen(crowded, np.ones(700)) == 0.0  # nothing to tell by
    assert (
        ranks_chosen(rng.integers(0, 2, size=(700, 3)).astype(float), waves) == 0.0
    )  # no ranks to speak of


def test_a_model_with_ranks_predicts_and_differentiates(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.lognormal(sigma=2.5, size=300), rng.normal(size=300)])
    y = np.sin(12 * np.argsort(np.argsort(X[:, 0])) / 300) + X[:, 1]
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[::2], y[::2])
    assert model.inputs_.ranks == 0.5
    assert model.score(X[1::2], y[1::2]) > 0.9
    order = rng.permutation(150)
    np.testing.assert_allclose(
        SpectralRegressor(evidence=QUICK, random_state=0)
        .fit(X[::2][order], y[::2][order])
        .predict(X),
        model.predict(X),
    )
    rows, step = X[1:20:2], 1e-6
    for j in range(2):
        moved = np.where(np.arange(2) == j, step, 0.0)
        difference = (model.predict(rows + moved) - model.predict(rows - moved)) / (2 * step)
        np.testing.assert_allclose(
            model.input_gradient(rows)[:, j], difference, rtol=1e-3, atol=1e-3
        )


def test_families_learn_from_all_rows_or_from_rows_of_their_own():
    evidence, rng = Evidence(n_rows=20), np.random.default_rng(0)
    for rows in learning_rows(evidence, 20, 3, rng):
        np.testing.assert_array_equal(rows, np.arange(20))
    first, second = learning_rows(evidence, 60, 2, rng)
    assert len(set(first)) == len(set(second)) == 20
    assert not np.array_equal(first, second)


def test_many_rows_are_solved_by_conjugate_gradients(monkeypatch):
    monkeypatch.setattr(fitting, "LEAVE_ONE_OUT_ROWS", 200)
    monkeypatch.setattr(repetitions, "_HELD_OUT", (60, 100))
    X, y = regression(500)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:400], y[:400])
    assert "conjugate gradients" in model.path_
    assert model.score(X[400:], y[400:]) > 0.8
    assert len(model.spread_.scores) == 66
    classes = SpectralClassifier(evidence=QUICK, random_state=0).fit(X[:400], y[:400] > 0)
    assert classes.score(X[400:], y[400:] > 0) > 0.8


def test_an_expansion_of_a_solution_carries_the_linear_part():
    parts = problem()
    dual, intercept = refit(parts, LEARNED, 0.1, parts.row_weights)
    function = expansion_of(LEARNED, parts.Z, Solution(dual, intercept), np.float64)
    np.testing.assert_allclose(
        function.evaluate(parts.Z), learned_gram(LEARNED, parts.Z) @ dual + intercept, atol=1e-10
    )


def test_a_residual_of_the_stated_size_adds_a_few_percent_to_the_error_at_most(monkeypatch):
    def errors():
        for sample in range(4):
            parts = problem(300, seed=sample)
            found = solve_holding_out(parts, LEARNED, 6, 60, np.random.default_rng(0))
            yield np.mean((found.held_out - parts.outputs[240:]) ** 2)

    loose = list(errors())
    monkeypatch.setattr(solving, "_TOL", (1e-6, 1e-6))
    assert np.mean(np.log(loose) - np.log(list(errors()))) < 0.05


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Multinomial()])
def test_waves_have_the_derivatives_of_what_they_predict(loss):
    rng = np.random.default_rng(0)
    n_outputs = 3 if isinstance(loss, Multinomial) else 1
    parts = (
        rng.normal(size=(5, 4)),
        rng.normal(size=(5, n_outputs)),
        rng.normal(size=(5, n_outputs)),
    )
    member = WaveMember(
        Expansion(*parts, rng.normal(size=n_outputs), rng.normal(size=(4, n_outputs))), loss
    )
    Z, step = rng.normal(size=(6, 4)), 1e-6
    for j, e in enumerate(step * np.eye(4)):
        numeric = (member.evaluate(Z + e) - member.evaluate(Z - e)) / (2 * step)
        np.testing.assert_allclose(member.jacobian(Z)[:, :, j], numeric, atol=1e-7)


def target_from(first, second, is_first):
    """The first target where ``is_first``, the second one for other rows."""
    if isinstance(first, Labels):
        return replace(first, codes=np.where(is_first, first.codes, second.codes))
    return Values(np.where(is_first[:, None], first.rows, second.rows))


@pytest.mark.parametrize("labels", long_except([0, 2, 3], 0))
def test_waves_descend_over_the_rows_that_take_part(labels, monkeypatch):
    monkeypatch.setattr(waves, "_EPOCHS", (3, 12))
    X, y = regression(4500, noise=0.1)
    if labels:
        codes = np.digitize(y, np.quantile(y, np.arange(1, labels) / labels))
        target = Labels(np.arange(labels), codes)
        opposite = Labels(np.arange(labels), labels - 1 - codes)
    else:
        target, opposite = Values(y[:, None]), Values(-y[:, None])
    # The descent sees the first 2000 rows, the next 500 evaluate it. As many rows as these have the
    # opposite target and no weight.
    kept = np.arange(4500) < 2000
    wrong = target_from(target, opposite, np.arange(4500) < 2500)
    evaluation = PreparedData(X, target, np.ones(4500)).take(np.arange(2000, 2500))
    learned = Evidence(n_rows=200, standardize=False).learn(
        Anova(), X[:200], y[:200], np.random.default_rng(0)
    )
    solved = solve_descending(
        TrainingData(LocalRows(X), wrong, kept.astype(float)),
        learned,
        evaluation,
        np.random.default_rng(0),
    )
    np.testing.assert_allclose(solved.held_out, solved.expansion.evaluate(evaluation.Z))
    spread = np.mean((evaluation.outputs - evaluation.outputs.mean(axis=0)) ** 2)
    # Twelve epochs are few for labels.
    most = 0.8 if labels else 0.5
    assert np.mean((solved.held_out - evaluation.outputs) ** 2) < most * spread
    if labels:
        assert solved.held_out.min() >= 0
        assert solved.held_out.max() <= 1


def test_targets_of_excluded_rows_change_nothing(monkeypatch):
    monkeypatch.setattr(waves, "_EPOCHS", (2, 3))
    monkeypatch.setattr(waves, "_FEW_WAVES", 16)
    X, y = regression(700, noise=0.1)
    kept = np.arange(700) < 400
    evaluation = prepared_values(X[400:500], y[400:500, None])
    learned = Evidence(n_rows=100, n_iterations=3, standardize=False).learn(
        Anova(), X[:100], y[:100], 0
    )
    plain, other = (
        solve_descending(
            TrainingData(LocalRows(X), Values(Y[:, None]), kept.astype(float)),
            learned,
            evaluation,
            np.random.default_rng(0),
        )
        for Y in (y, np.where(kept, y, 5.0))
    )
    np.testing.assert_array_equal(other.held_out, plain.held_out)


@pytest.mark.long
def test_more_rows_than_a_leaf_takes_all_count(tmp_path, monkeypatch):
    X, y = regression(3000, noise=0.3)
    X_test, y_test = regression(500, seed=1, noise=0.0)
    model = SpectralRegressor(evidence=QUICK, max_leaf_rows=300, random_state=0).fit(X, y)
    assert "3000 different rows are more than max_leaf_rows=300" in model.path_
    few = SpectralRegressor(evidence=QUICK, random_state=0).fit(X[:300], y[:300])
    assert model.score(X_test, y_test) > few.score(X_test, y_test) + 0.01
    assert {m.name for m in model.members_} >= {"anova", "waves"}
    X_new, y_new = regression(1000, seed=2, noise=0.3)
    low, high = model.predict_interval(X_new, level=0.9).T
    assert 0.85 < np.mean((low < y_new) & (y_new < high)) < 0.95
    # the same from a memory map, with rows that are prepared in a file, and from a frame
    np.save(tmp_path / "X.npy", X)
    mapped = clone(model).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    np.testing.assert_allclose(mapped.predict(X[:50]), model.predict(X[:50]), rtol=1e-5, atol=1e-5)
    monkeypatch.setattr(tables, "PREPARED_BYTES", 0)
    filed = clone(model).fit(X, y)
    assert abs(filed.score(X_test, y_test) - model.score(X_test, y_test)) < 0.01  # other batches
    monkeypatch.undo()
    frame = pd.DataFrame(X, columns=list("abcd"))
    framed = clone(model).fit(frame, y)
    np.testing.assert_allclose(
        framed.predict(frame[:50]), model.predict(X[:50]), rtol=1e-3, atol=1e-3
    )


def test_many_labeled_rows_are_classified(monkeypatch):
    monkeypatch.setattr(waves, "_FEW_WAVES", 128)
    monkeypatch.setattr(waves, "_EPOCHS", (3, 8))
    X, y = regression(1500)
    labels = np.digitize(y, [-0.5, 0.5])
    model = SpectralClassifier(
        evidence=QUICK, max_leaf_rows=200, class_weight="balanced", random_state=0
    )
    model.fit(X, labels)
    X_test, y_test = regression(500, seed=1)
    assert model.score(X_test, np.digitize(y_test, [-0.5, 0.5])) > 0.8
    assert "many rows" in model.path_


@pytest.mark.long
def test_trees_are_a_member_where_asked_for(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    steps = np.floor(2 * X[:, 0]) % 2 + (X[:, 1] > 0.3) * (X[:, 2] > 0)
    labels = np.digitize(steps, [0.5, 1.5])
    model = SpectralClassifier(evidence=QUICK, trees=True, random_state=0).fit(
        X[:400], labels[:400]
    )
    assert [m.name for m in model.members_][-1] == "trees"
    assert model.members_[-1].weight > 0.1
    assert model.score(X[400:], labels[400:]) > 0.8
    with pytest.raises(TypeError, match="trees=False"):
        model.input_gradient(X[:3])
    total = model.effects(X[:5], 1).total()
    np.testing.assert_allclose(total, model.decision_function(X[:5]), atol=1e-8)
    two = SpectralClassifier(evidence=QUICK, trees=True, random_state=0).fit(
        X[:400], labels[:400] > 0
    )
    assert two.score(X[400:], labels[400:] > 0) > 0.8
    values = SpectralRegressor(evidence=QUICK, trees=True, random_state=0).fit(
        X[:400], np.column_stack([steps, X[:, 0]])[:400]
    )
    assert values.score(X[400:], np.column_stack([steps, X[:, 0]])[400:]) > 0.7
    many = SpectralRegressor(evidence=QUICK, trees=True, max_leaf_rows=100, random_state=0).fit(
        X[:400], steps[:400]
    )
    assert many.members_[-1].name == "trees"
    with pytest.raises(TypeError, match="trees must be"):
        SpectralRegressor(trees="yes").fit(X, steps)
