"""Members of tabular models: names, blends, reported errors, effects, trees and residuals."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from tabular_samples import LEARNED, QUICK, prepared_values, problem, regression

from bochner import Anova, Laplace, SpectralClassifier, SpectralRegressor
from bochner.data.targets import Labels
from bochner.learners.evidence import LearnedPrior
from bochner.tabular.blending import Blend
from bochner.tabular.learning import family_names
from bochner.tabular.preparation import PreparedData
from bochner.tabular.scales import Spread
from bochner.tabular.solving import solve_leaving_out
from bochner.tabular.trees import TreeMember, cross_fitted_trees


class _Constant:
    def __init__(self, value):
        self.value = value

    def evaluate(self, Z):
        return np.full((len(Z), 1), self.value)


def test_families_that_occur_twice_are_numbered_from_one():
    assert family_names((Anova(), Laplace(), Anova())) == ["anova 1", "laplace", "anova 2"]


def test_a_blend_is_the_weighted_sum_of_its_members():
    blend = Blend((_Constant(1.0), _Constant(10.0)), (0.25, 0.5))
    np.testing.assert_array_equal(blend.evaluate(np.zeros((2, 3))), [[5.25], [5.25]])


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_labels_that_no_column_explains_have_a_held_out_error_of_one(share):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.random(200) < share
    model = SpectralClassifier(Laplace(), QUICK, random_state=0).fit(X, y)
    assert model.members_[0].held_out_error == pytest.approx(1, abs=0.1)


def test_trees_predict_held_out_rows_without_having_seen_them():
    parts = problem(80, weighted=True)
    held = np.arange(5, 80, 4)
    held_out = cross_fitted_trees(parts, held, np.random.default_rng(3)).held_out
    seed = int(np.random.default_rng(3).integers(2**31))
    others = TreeMember.fitted(parts.take(np.delete(np.arange(80), held)), seed)
    np.testing.assert_array_equal(held_out, others.evaluate(parts.Z[held]))


def test_trees_of_labels_are_those_of_scikit_learn_with_weights():
    rng = np.random.default_rng(0)
    Z, weights = rng.normal(size=(200, 2)), rng.integers(1, 9, size=200).astype(float)
    codes = (Z[:, 0] + rng.normal(size=200) > 0).astype(int)
    parts = PreparedData(Z, Labels(np.arange(2), codes), weights)
    grown = TreeMember.fitted(parts, seed=0)
    expected = HistGradientBoostingClassifier(random_state=0).fit(Z, codes, sample_weight=weights)
    np.testing.assert_allclose(grown.evaluate(Z)[:, 0], expected.predict_proba(Z)[:, 1])


def test_quantiles_of_residuals_count_weights_as_repeated_rows():
    rng = np.random.default_rng(0)
    scores, counts = rng.normal(size=(50, 2)), rng.integers(1, 6, size=50)
    weighted = Spread(scores, counts.astype(float), None).quantiles()
    repeated = Spread(np.repeat(scores, counts, axis=0), np.ones(counts.sum()), None).quantiles()
    np.testing.assert_array_equal(weighted, repeated)


def test_residuals_are_divided_by_sizes_of_fits_without_their_row():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 3))
    residuals = rng.normal(size=(300, 1)) * np.exp(2 * np.sin(Z[:, :1]))
    spread = Spread.of(Z, residuals, np.ones(300), LEARNED, rng)
    typical = np.sqrt(np.mean(residuals**2))
    logs = np.log(np.maximum(np.abs(residuals), 0.01 * typical))
    noisy = LearnedPrior(LEARNED.prior, 10.0, LEARNED.linear, 0.0, 0)
    left_out = solve_leaving_out(prepared_values(Z, logs), noisy, 6).held_out
    np.testing.assert_allclose(spread.scores, residuals / np.exp(left_out))


def test_deviations_and_intervals_are_in_units_of_the_target():
    X, y = regression(60)
    model = SpectralRegressor(Laplace(), QUICK, random_state=0)
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X, 100 * y)
    for ours, theirs in zip(plain.predict(X, return_std=True), scaled.predict(X, return_std=True)):
        np.testing.assert_allclose(100 * ours, theirs, rtol=1e-6)
    ends, wider = plain.predict_interval(X), scaled.predict_interval(X)
    np.testing.assert_allclose(100 * ends, wider, rtol=1e-6)
    # In this order: the lower and the upper end, at equal distances from the prediction.
    np.testing.assert_allclose(ends.mean(axis=1), plain.predict(X))
    assert np.all(ends[:, 0] < ends[:, 1])
