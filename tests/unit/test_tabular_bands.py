"""Confidence bands of effects: the posterior against its definition, and simulated coverage."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtri

from bochner import Anova, Evidence, Gaussian, SpectralRegressor, load, save
from bochner.expansions.dependence import GroupValues
from bochner.tabular.bands import EffectPosterior
from bochner.tabular.replacing import column_groups

pd = pytest.importorskip("pandas")
QUICK = Evidence(n_rows=80, n_iterations=2, standardize=False)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "kind": rng.choice(["x", "y", "z"], 60)})
    X["many"] = rng.integers(0, 25, 60).astype(str)
    y = np.sin(X["a"]) + (X["kind"] == "x") + 0.3 * rng.normal(size=60)
    model = SpectralRegressor(evidence=QUICK, random_state=0)
    return model.fit(X, y, sample_weight=rng.uniform(0.5, 2, 60)), X, y


def brute_deviation(f, system, points, weights):
    """Return the posterior deviation of Σ_p weights_p f(points_p), by the kernel of all points."""
    n_rows, n_columns = f.points.shape

    def kernel(X, Z):
        return f.prior.kernel(X, Z) + (X * system.linear / n_columns) @ Z.T

    K = kernel(f.points, f.points)
    matrix = np.ones((n_rows + 1, n_rows + 1))
    matrix[:n_rows, :n_rows] = K + np.diag(system.ridge / system.row_weights)
    matrix[n_rows, n_rows] = 0
    cross = np.append(weights @ kernel(points, f.points), weights.sum())
    variance = weights @ kernel(points, points) @ weights - cross @ np.linalg.solve(matrix, cross)
    y = K @ f.coefficients + (system.ridge / system.row_weights)[:, None] * f.coefficients
    return np.sqrt(variance * np.sum(y * f.coefficients) / n_rows)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_deviations_are_those_of_the_posterior(fitted, number):
    model, X, _ = fitted
    f, system = model.blend_.members[number], model._systems[number]
    _, groups = column_groups(model.inputs_)
    Z, values = model._background[::4], model.inputs_.transform(X[:3])
    own = GroupValues.of(values, groups)
    posterior = EffectPosterior(f, system, Z, own)

    def replaced(row, *chosen):
        rows = Z.copy()
        for g in chosen:
            rows[:, groups[g]] = values[row, groups[g]]
        return rows

    each = np.ones(len(Z)) / len(Z)
    for row in range(3):
        for g in range(3):
            points = np.vstack([replaced(row, g), Z])
            expected = brute_deviation(f, system, points, np.concatenate([each, -each]))
            assert posterior.main(g)[own.codes[g][row], 0] == pytest.approx(expected, rel=1e-5)
        for g, h in combinations(range(3), 2):
            points = np.vstack([replaced(row, *chosen) for chosen in ((g, h), (g,), (h,), ())])
            expected = brute_deviation(
                f, system, points, np.concatenate([each, -each, -each, each])
            )
            assert posterior.pair(g, h)[row, 0] == pytest.approx(expected, rel=1e-5)


def test_bands_add_the_deviations_of_all_members_in_units_of_y(fitted):
    model, X, y = fitted
    effects = model.effects(X[:4], level=0.8, pairs=[("many", "a")])
    own = GroupValues.of(model.inputs_.transform(X[:4]), column_groups(model.inputs_)[1])
    main, pair = 0.0, 0.0
    for weight, f, system in zip(model.blend_.weights, model.blend_.members, model._systems):
        posterior = EffectPosterior(f, system, model._background, own)
        main = main + weight * posterior.main(1)[own.codes[1], 0]
        pair = pair + weight * posterior.pair(2, 0)[:, 0]
    reach = ndtri(0.9) * model.target_scale_.unit
    np.testing.assert_allclose(effects.bands.main[:, 1], reach * main)
    np.testing.assert_allclose(effects.bands.pairs[:, 0], reach * pair)
    assert effects.bands.level == 0.8
    assert effects.bands.main.shape == effects.main.shape
    assert effects.bands.pairs.shape == effects.pairs.shape
    # Shifted and rescaled targets have shifted and rescaled effects.
    other = SpectralRegressor(evidence=QUICK, random_state=0)
    other.fit(X, 7 + 100 * y)
    plain = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        other.effects(X[:4], level=0.8).bands.main,
        100 * plain.effects(X[:4], level=0.8).bands.main,
        rtol=1e-4,
    )


def test_bands_of_several_outputs_and_of_a_saved_model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([X[:, 0], 10 * X[:, 1]]) + rng.normal(size=(60, 2))
    model = SpectralRegressor((Anova(), Gaussian()), QUICK, random_state=0).fit(X, Y)
    effects = model.effects(X[:5], level=0.9)
    assert effects.bands.main.shape == (5, 2, 2)
    assert effects.bands.pairs.shape == (5, 1, 2)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").effects(X[:5], level=0.9)
    np.testing.assert_array_equal(again.bands.main, effects.bands.main)
    np.testing.assert_array_equal(again.pairs, effects.pairs)


# --- coverage -------------------------------------------------------------------------------------


def additive(X):
    return np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] + 0.5 * np.abs(X[:, 2])


def interacting(X):
    return additive(X) + X[:, 0] * X[:, 1] + X[:, 1] * np.tanh(X[:, 2])


def rough(X):
    """One interaction is far from the smoothness that the kernel learns from the others."""
    return np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] + X[:, 0] * X[:, 1] + 0.6 * np.cos(X[:, 1] * X[:, 2])


def coverage(truth, n_rows, n_columns, noise, seed):
    """Return the shares of main effects and of pairs inside their bands of 0.9, over 30 rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    model = SpectralRegressor(random_state=seed).fit(X, truth(X) + noise * rng.normal(size=n_rows))
    values, names = rng.normal(size=(30, n_columns)), model.inputs_.names_
    places = list(combinations(range(3), 2))
    pairs = [(names[j], names[k]) for j, k in places]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        effects = model.effects(values, level=0.9, pairs=pairs)
    prepared = model.inputs_.transform(X)
    nearest = np.abs(prepared[:, None] - model._background).sum(axis=2).argmin(axis=0)
    background = X[nearest]

    def dependence(columns):
        means = []
        for value in values:
            replaced = background.copy()
            replaced[:, columns] = value[columns]
            means.append(truth(replaced).mean())
        return np.array(means)

    constant, singles = truth(background).mean(), [dependence([j]) for j in range(n_columns)]
    main = np.stack(singles, axis=1) - constant
    both = [dependence([j, k]) - singles[j] - singles[k] + constant for j, k in places]
    return (
        np.mean(np.abs(effects.main - main) <= effects.bands.main),
        np.mean(np.abs(effects.pairs - np.stack(both, axis=1)) <= effects.bands.pairs),
    )


def test_bands_cover_the_true_effects_of_a_small_table():
    shares = np.array([coverage(interacting, 150, 3, 0.5, seed) for seed in range(3)])
    main, pairs = shares.mean(axis=0)
    assert main > 0.75
    assert pairs > 0.7


def test_copies_and_the_scale_of_weights_do_not_change_bands():
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(80, 3)), rng.normal(size=(4, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=80)

    def bands(*data):
        model = SpectralRegressor(evidence=QUICK, random_state=0).fit(*data)
        found = model.effects(rows, level=0.9).bands
        return np.hstack([found.main, found.pairs])

    plain = bands(X, y)
    np.testing.assert_allclose(bands(np.tile(X, (2, 1)), np.tile(y, 2)), plain, rtol=1e-10)
    np.testing.assert_allclose(bands(X, y, np.full(80, 1000.0)), plain, rtol=1e-10)


def test_merged_ties_count_as_observations_in_the_variance():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 2)).astype(float)
    y = X[:, 0] + rng.integers(0, 3, size=200)
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(X, y)
    f, system = model.blend_.members[0], model._systems[0]
    assert system.row_weights.sum() == 200
    assert len(f.points) < 20
    own = GroupValues.of(model.inputs_.transform(X[:3]), column_groups(model.inputs_)[1])
    found = EffectPosterior(f, system, model._background, own).variance
    # The definition, for all 200 rows: with the intercept b that the model has.
    Z, z = model.inputs_.transform(X), model.target_scale_.forward(y[:, None])
    K = f.prior.kernel(Z, Z) + Z * (system.linear / Z.shape[1]) @ Z.T
    inverse = np.linalg.inv(K + system.ridge * np.eye(200))
    flat = inverse.sum(axis=1)
    whole = inverse - np.outer(flat, flat) / flat.sum()
    np.testing.assert_allclose(found, np.diag(z.T @ whole @ z) / 200, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    ("truth", "n_rows", "n_columns", "noise", "least", "most"),
    [
        (additive, 200, 3, 0.3, 0.85, 1),
        (additive, 400, 8, 1.0, 0.85, 1),
        (interacting, 200, 3, 0.3, 0.85, 0.95),
        (interacting, 200, 3, 1.0, 0.85, 0.95),
        (interacting, 400, 8, 0.3, 0.85, 0.95),
        (interacting, 1000, 5, 0.5, 0.85, 0.95),
        (rough, 200, 3, 0.3, 0.75, 0.95),
        (rough, 1000, 5, 0.5, 0.75, 0.95),
    ],
)
def test_bands_cover_the_true_effects(truth, n_rows, n_columns, noise, least, most):
    """Bands of pairs without effect are too wide, those of rough interactions too narrow."""
    shares = np.array([coverage(truth, n_rows, n_columns, noise, seed) for seed in range(16)])
    (main, pairs), errors = shares.mean(axis=0), shares.std(axis=0) / 4
    assert 0.85 - 2 * errors[0] < main < 0.95 + 2 * errors[0]
    assert least - 2 * errors[1] < pairs < most + 2 * errors[1]
