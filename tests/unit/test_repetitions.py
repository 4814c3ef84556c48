"""Equal rows: copies are told from independent observations, and are left out and held out
together.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import (
    EarlyStopping,
    FourierBoostingClassifier,
    GBRFF2Classifier,
    KernelMachine,
    Laplace,
    OperatorKernelRidge,
    OperatorRidgeClassifier,
    SpectralRidge,
)
from bochner.data import LocalRows, column_keys
from bochner.data.repetitions import EqualRows, _common_unit, draw_held_out, equal_rows, row_keys
from bochner.data.targets import Labels, Values
from bochner.learners.evidence import Evidence
from bochner.priors import Anova


def numbers(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n)


def contingency(seed=0, n=400):
    """Six different inputs, each with both outcomes: rows are equal by chance."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 2, n)]).astype(float)
    return X, (rng.random(n) < 0.2 + 0.2 * X[:, 0]).astype(int)


def found(X, target, weights=None):
    return equal_rows(LocalRows(np.asarray(X, dtype=float)), target, weights)


# --- keys -----------------------------------------------------------------------------------------


def test_keys_are_equal_for_equal_rows_only():
    X = np.random.default_rng(0).integers(0, 3, size=(20_000, 9)).astype(float)
    keys = row_keys(LocalRows(X))
    assert len(np.unique(keys)) == len(np.unique(X, axis=0))
    _, places = np.unique(X, axis=0, return_inverse=True)
    assert len(np.unique(np.column_stack([places.ravel(), keys]), axis=0)) == len(np.unique(keys))


def test_keys_do_not_depend_on_the_container():
    X = np.random.default_rng(0).integers(-2, 3, size=(300, 5)).astype(float)
    expected = column_keys(X)
    for rows in (
        X.astype(np.float32),
        np.asfortranarray(X),
        sp.csr_matrix(X),
        np.where(X == 0, -0.0, X),
    ):
        np.testing.assert_array_equal(row_keys(LocalRows(rows)), expected)
    np.testing.assert_array_equal(row_keys(LocalRows(X, block_size=7)), expected)


# --- copies or ties -------------------------------------------------------------------------------


def test_rows_that_all_differ_are_nothing_to_talk_about():
    X, y = numbers()
    assert found(X, Values.of(y)) is None
    assert found(X, Values.of(y), np.full(len(y), 7.0)) is None


@pytest.mark.parametrize("times", [2, 3, 11])
def test_repeated_continuous_rows_are_copies(times):
    X, y = numbers()
    equal = found(np.tile(X, (times, 1)), Values.of(np.tile(y, times)))
    assert not equal.are_ties
    assert len(equal.first) == len(y)
    np.testing.assert_array_equal(equal.left_out_weights(), np.full(times * len(y), times))


def test_equal_inputs_with_different_outcomes_are_ties():
    X, y = contingency()
    equal = found(X, Labels.of(y))
    assert equal.are_ties
    assert len(equal.first) == 12
    np.testing.assert_array_equal(equal.left_out_weights(), np.ones(len(y)))


def test_discrete_inputs_of_a_continuous_target_are_copies():
    X, _ = contingency()
    y = np.random.default_rng(1).normal(size=len(X))
    half = len(X) // 2
    assert found(X, Values.of(y)) is None
    equal = found(np.vstack([X, X[:half]]), Values.of(np.append(y, y[:half])))
    assert not equal.are_ties


def test_counts_of_discrete_inputs_are_ties():
    X, _ = contingency()
    y = np.random.default_rng(1).poisson(1 + X[:, 0]).astype(float)
    assert found(X, Values.of(y)).are_ties


def test_a_few_contradicting_labels_among_copies_do_not_make_ties():
    X, y = numbers(100)
    labels = (y > 0).astype(int)
    labels_again = labels.copy()
    labels_again[:3] = 1 - labels_again[:3]
    assert not found(np.vstack([X, X]), Labels.of(np.append(labels, labels_again))).are_ties


@pytest.mark.parametrize("factor", [1.0, 0.5, 1000.0, np.pi])
def test_a_table_of_counts_is_the_table_itself(factor):
    X, y = contingency()
    cells, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    equal = found(cells[:, :2], Labels.of(cells[:, 2].astype(int)), factor * counts)
    assert equal.are_ties
    np.testing.assert_allclose(equal.totals / equal.unit, counts[equal.first])


@pytest.mark.parametrize("factor", [1.0, 3.0, 1000.0])
def test_a_constant_weight_of_ties_is_no_observation(factor):
    X, y = contingency()
    equal = found(X, Labels.of(y), np.full(len(y), factor))
    plain = found(X, Labels.of(y))
    np.testing.assert_allclose(equal.totals / equal.unit, plain.totals / plain.unit)


@pytest.mark.parametrize(
    "totals, unit",
    [([2, 4, 6], 2), ([3, 5], 1), ([1.5, 4.5], 1.5), ([7], 7), ([0.1, 0.3], 0.1), ([6, 10, 15], 1)],
)
def test_common_units(totals, unit):
    assert _common_unit(np.array(totals, dtype=float)) == pytest.approx(unit)


def test_random_weights_have_no_common_unit():
    assert _common_unit(np.random.default_rng(0).uniform(0.5, 3, size=50)) is None


# --- splits ---------------------------------------------------------------------------------------


def test_copies_are_held_out_together(seed):
    X, y = numbers(50, seed)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 50, size=200)
    X, target = X[drawn], Values.of(y[drawn])
    equal = found(X, target)
    for held in (draw_held_out(equal, 200, 40, rng), equal.with_copies(np.arange(5))):
        rest = np.setdiff1d(np.arange(200), held)
        assert min(len(held), len(rest)) > 0
        assert not set(drawn[held]) & set(drawn[rest])
    assert 30 <= len(draw_held_out(equal, 200, 40, rng)) <= 40


def test_ties_may_be_on_both_sides():
    X, y = contingency()
    equal = found(X, Labels.of(y))
    held = draw_held_out(equal, len(X), 100, np.random.default_rng(0))
    assert len(held) == 100
    np.testing.assert_array_equal(equal.with_copies(held), held)


def test_one_row_of_each_group_of_copies_may_be_drawn():
    X, y = numbers(20)
    equal = found(np.tile(X, (3, 1)), Values.of(np.tile(y, 3)))
    weights = np.append(np.zeros(20), np.ones(40))
    np.testing.assert_array_equal(np.flatnonzero(equal.first_of_copies(weights)), np.arange(20, 40))
    np.testing.assert_array_equal(np.flatnonzero(equal.first_of_copies()), np.arange(20))


@pytest.mark.parametrize("booster", [FourierBoostingClassifier, GBRFF2Classifier])
def test_boosting_holds_copies_out_together(booster, monkeypatch):
    """A few rows many times: a held-out part drawn row by row would hold out everything, or copies
    of what is learned.
    """
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), 80, axis=0)
    y = np.repeat(rng.integers(2, size=60), 80)
    order = rng.permutation(len(X))
    X, y = X[order], y[order]
    extra = {"stopping": EarlyStopping(patience=5)} if booster is FourierBoostingClassifier else {}
    model = booster(n_rounds=60, random_state=0, **extra).fit(X, y)
    # The labels are noise, so that rows which the model has not seen are not predicted with
    # certainty.
    if booster is FourierBoostingClassifier:
        assert model.n_rounds_ < 30
    else:
        assert model.slope_ < 0.3


def test_something_is_left_to_learn_from():
    X = np.repeat(np.eye(2), 50, axis=0)
    equal = found(X, Values.of(X[:, 0]))
    assert isinstance(equal, EqualRows)
    assert len(draw_held_out(equal, 100, 90, np.random.default_rng(0))) == 50


# --- ridges and machines --------------------------------------------------------------------------


def doubled(X, y):
    return np.vstack([X, X]), np.append(y, y, axis=0)


def test_a_kernel_machine_leaves_copies_out_together():
    X, y = numbers(30)
    machine = KernelMachine(Laplace(gamma=1.0), alpha=0.6)
    expected = KernelMachine(Laplace(gamma=1.0), alpha=0.3).fit(X, y).leave_one_out()
    np.testing.assert_allclose(
        machine.fit(*doubled(X, y)).leave_one_out(), np.tile(expected, 2), atol=1e-10
    )
    np.testing.assert_allclose(
        machine.fit(X, y, np.full(30, 2.0)).leave_one_out(), expected, atol=1e-10
    )


def test_a_kernel_machine_chooses_the_ridge_of_the_plain_table():
    X, y = numbers(40)
    alphas = np.logspace(-4, 2, 7)
    plain = KernelMachine(Laplace(gamma=1.0), alpha=alphas).fit(X, y)
    for model in (
        KernelMachine(Laplace(gamma=1.0), alpha=2 * alphas).fit(*doubled(X, y)),
        KernelMachine(Laplace(gamma=1.0), alpha=2 * alphas).fit(X, y, np.full(40, 2.0)),
    ):
        np.testing.assert_allclose(model.loo_errors_, plain.loo_errors_, rtol=1e-6)
        assert model.alpha_ == 2 * plain.alpha_


def test_conjugate_gradients_hold_copies_out_together():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(200, 3)), rng.normal(size=200)
    machine = KernelMachine(
        Laplace(gamma=0.3), alpha=[1e-2, 1.0, 100.0], solver="cg", random_state=0
    )
    errors = machine.fit(np.tile(X, (4, 1)), np.tile(noise, 4)).held_out_errors_
    assert machine.alpha_ == 100
    assert np.min(errors) > 0.8 * np.var(noise)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ridges_leave_copies_out_together(fit_intercept):
    X, y = numbers(40)
    settings = {"fit_intercept": fit_intercept, "random_state": 0}
    alphas = np.logspace(-3, 2, 6)
    plain = SpectralRidge(alpha=list(alphas), **settings).fit(X, y)
    again = SpectralRidge(alpha=list(2 * alphas), **settings).fit(*doubled(X, y))
    heavy = SpectralRidge(alpha=list(2 * alphas), **settings).fit(X, y, np.full(40, 2.0))
    for model in (again, heavy):
        np.testing.assert_allclose(model.loo_errors_, plain.loo_errors_, rtol=1e-6)
    expected = plain.leave_one_out(X, y)
    again = SpectralRidge(alpha=2 * plain.alpha_, **settings).fit(*doubled(X, y))
    np.testing.assert_allclose(again.leave_one_out(*doubled(X, y)), np.tile(expected, 2), atol=1e-7)


def test_an_automatic_ridge_is_relative_to_the_weights():
    X, y = numbers(60)
    plain = SpectralRidge(random_state=0).fit(X, y)
    for model in (
        SpectralRidge(random_state=0).fit(*doubled(X, y)),
        SpectralRidge(random_state=0).fit(X, y, np.full(60, 2.0)),
    ):
        chosen = [list(one.alphas_).index(one.alpha_) for one in (plain, model)]
        assert abs(chosen[0] - chosen[1]) <= 1


def test_exact_operator_ridges_leave_copies_out_together():
    X, y = numbers(30)
    Y = np.column_stack([y, y**2])
    alphas = [1e-3, 1e-1, 1.0]
    plain = OperatorKernelRidge(alpha=alphas).fit(X, Y)
    again = OperatorKernelRidge(alpha=[2 * alpha for alpha in alphas]).fit(*doubled(X, Y))
    np.testing.assert_allclose(again.loo_errors_, plain.loo_errors_, rtol=1e-6)


def test_temperatures_of_a_classifier_do_not_depend_on_copies():
    X, y = numbers(80)
    labels = (y > 0).astype(int)
    plain = OperatorRidgeClassifier(alpha=0.1, random_state=0).fit(X, labels)
    again = OperatorRidgeClassifier(alpha=0.2, random_state=0).fit(*doubled(X, labels))
    assert again.temperature_ == pytest.approx(plain.temperature_, rel=1e-6)


def test_evidence_is_that_of_the_plain_table():
    X, y = numbers(80)
    plain = Evidence().learn(Anova(), X, y, np.random.default_rng(0))
    again = Evidence().learn(Anova(), *doubled(X, y), np.random.default_rng(0))
    heavy = Evidence().learn(Anova(), X, y, np.random.default_rng(0), np.full(80, 1000.0))
    for learned in (again, heavy):
        assert learned.noise == pytest.approx(plain.noise, rel=1e-6)
        assert learned.objective == pytest.approx(plain.objective, rel=1e-8)


def test_a_copy_leaves_with_all_its_weight_and_a_tie_with_one_observation():
    X, y = numbers(5)
    rows = [0, 1, 2, 3, 4, 0, 1]
    copies = found(X[rows], Values.of(y[rows]))
    np.testing.assert_array_equal(copies.left_out_weights(), [2, 2, 1, 1, 1, 2, 2])
    X, y = contingency()
    ties = found(X, Labels.of(y))
    assert ties.are_ties
    np.testing.assert_array_equal(ties.left_out_weights(), 1)


def test_one_observation_of_repeated_rows_has_the_mean_weight():
    X, y = contingency()
    equal = found(X, Labels.of(y), np.tile([1.0, 4.0], len(X) // 2))
    assert equal.are_ties
    assert equal.unit == 2.5
