"""Shapley values against sums over all subsets of columns, and their laws."""

import sys
from functools import cache
from math import factorial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from selection import long_except

from bochner import Anova, Gaussian, Laplace, SpectralClassifier, SpectralRegressor
from bochner.expansions import shapley as sums
from bochner.expansions.kernels import KernelExpansion
from bochner.expansions.leaves import LeafExpansion
from bochner.expansions.shapley import shapley_contributions
from bochner.expansions.waves import Expansion
from bochner.learners import Evidence
from bochner.priors import Matern
from bochner.tabular import waves as waves_of_tables
from bochner.tabular.replacing import column_groups
from bochner.tabular.shapley import ShapleyValues, _leaves, _sum_of_products

QUICK = Evidence(n_rows=80, n_iterations=2, standardize=False)


def subset_values(f, Z, background, groups):
    """The definition, subset by subset."""
    d = len(groups)
    values = np.zeros((len(Z), d, f(Z[:1]).shape[1]))
    for r, z in enumerate(Z):
        means = []
        for subset in range(2**d):
            rows = background.copy()
            for g in range(d):
                if subset >> g & 1:
                    rows[:, groups[g]] = z[groups[g]]
            means.append(f(rows).mean(axis=0))
        for g in range(d):
            for subset in range(2**d):
                size = bin(subset).count("1")
                if not subset >> g & 1:
                    share = factorial(size) * factorial(d - size - 1) / factorial(d)
                    values[r, g] += share * (means[subset | 1 << g] - means[subset])
    return values


def table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    frame["few"] = rng.choice(["x", "y", "z"], n_rows)
    frame["many"] = rng.integers(0, 30, n_rows).astype(str)
    frame["same"] = 1.0
    score = np.sin(2 * frame["a"]) + frame["b"] * (frame["few"] == "x") + 0.1 * frame["c"]
    frame.loc[::9, "b"] = np.nan
    return frame, score + 0.3 * rng.normal(size=n_rows)


@cache
def fitted(name):
    X, y = table(260)
    classes = np.digitize(y, [-0.5, 0.7]).astype(str)
    kind, target, parameters = {
        "values": (SpectralRegressor, y, {}),
        "trees": (SpectralRegressor, y, {"trees": True}),
        "leaves": (SpectralRegressor, y, {"max_leaf_rows": 100}),
        "two outputs": (SpectralRegressor, np.column_stack([y, X["a"] ** 2]), {}),
        "long tail": (SpectralRegressor, np.exp(3 * y), {}),
        "three classes": (SpectralClassifier, classes, {}),
        "two classes, leaves": (SpectralClassifier, classes == "1", {"max_leaf_rows": 100}),
    }[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waves_of_tables, "_FEW_WAVES", 32)
        patch.setattr(waves_of_tables, "_EPOCHS", (2, 2))
        return kind(evidence=QUICK, random_state=0, **parameters).fit(X, target), X


NAMES = [
    "values", "trees", "leaves", "two outputs", "long tail", "three classes", "two classes, leaves"
]  # fmt: skip


def explained(model, X):
    """The output that is explained, (n_rows, n_outputs)."""
    if isinstance(model, SpectralClassifier):
        scores = model.scores(X)
        return scores[:, 1:] if scores.shape[1] == 2 else scores
    unit, center, _ = model._scores_scale()
    return center + unit * model.blend_.evaluate(model.inputs_.transform(X))


def with_outputs(values, model):
    return values[..., None] if model._scores_scale()[2] else values


@pytest.mark.parametrize("name", long_except(NAMES, "values", "leaves", "three classes"))
def test_values_are_sums_over_all_subsets_of_columns(name):
    model, X = fitted(name)
    X, n_background = X[100:103], 5
    result = model.shapley(X, background=n_background)
    Z, blend = model.inputs_.transform(X), model.blend_
    used, groups = column_groups(model.inputs_)
    unit = model._scores_scale()[0]
    expected = np.zeros((len(X), X.shape[1], blend.evaluate(Z).shape[1]))
    kinds = {type(member) for member in blend.members}
    assert (waves_of_tables.WaveMember in kinds) == ("leaves" in name)
    parts = _leaves(blend, Z, model._background, n_background)
    for inside, _, background in parts:
        for weight, member in zip(blend.weights, blend.members):
            if _sum_of_products(getattr(member, "expansions", (member,))[0]) is not None:
                own = subset_values(member.evaluate, Z[inside], background, groups)
                expected[np.ix_(inside, used)] += unit * weight * own
    values = with_outputs(result.values, model)
    np.testing.assert_allclose(values, expected, atol=3e-5 * np.abs(expected).max())
    assert not np.any(values[:, list(X.columns).index("same")])


@pytest.mark.parametrize("name", long_except(NAMES, "values", "two outputs", "trees"))
def test_values_base_and_rest_add_up_to_the_explained_output(name):
    model, X = fitted(name)
    result = model.shapley(X[:20], background=9)
    output = explained(model, X[:20])
    np.testing.assert_allclose(with_outputs(result.total(), model), output, atol=3e-5)
    if name in ("values", "leaves", "two outputs"):
        predictions = model.predict(X[:20]).reshape(20, -1)
        np.testing.assert_allclose(
            with_outputs(result.total(), model), predictions, atol=3e-5 * np.abs(predictions).max()
        )
    assert (np.abs(result.rest).max() > 1e-3) == (name in ("trees", "two classes, leaves"))
    assert np.any(result.rest) == (name in ("trees", "two classes, leaves"))


def test_members_without_a_product_kernel_are_the_rest():
    model, X = fitted("values")
    Z, rows = model.inputs_.transform(X[:4]), model._background
    whole = model.shapley(X[:4])
    member = model.blend_.members[0]
    other = KernelExpansion(
        Matern(), member.points, member.coefficients, member.slopes, member.intercept
    )
    blend, changed = model.blend_, SpectralRegressor()
    changed.__dict__.update(model.__dict__)
    changed.blend_ = type(blend)((*blend.members, other), (*blend.weights, 0.5))
    result = changed.shapley(X[:4])
    np.testing.assert_array_equal(result.values, whole.values)
    background = next(_leaves(blend, Z, rows, 64))[2]
    deviation = other.evaluate(Z) - other.evaluate(background).mean(axis=0)
    unit = model.target_scale_.unit[0]
    np.testing.assert_allclose(result.rest, 0.5 * unit * deviation[:, 0])
    np.testing.assert_allclose(result.total()[:, None], explained(changed, X[:4]))
    assert f"rest {result.share_of_rest():.0%}" in repr(result)


def kernels(prior, d, n_points=30, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    return KernelExpansion(
        prior,
        rng.normal(size=(n_points, d)),
        rng.normal(size=(n_points, n_outputs)),
        rng.normal(size=(d, n_outputs)),
        rng.normal(size=n_outputs),
    )


def waves(d, n_waves=30, n_outputs=2, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    cosine, sine = rng.normal(size=(2, n_waves, n_outputs))
    frequencies = scale * rng.normal(size=(n_waves, d))
    return Expansion(frequencies, cosine, sine, np.zeros(n_outputs), rng.normal(size=(d, 2)))


GROUPS = [np.array([0]), np.array([3, 1]), np.array([2]), np.array([4]), np.array([5])]
FUNCTIONS = {
    "anova": lambda d: kernels(Anova(weight=np.linspace(0, 3, d)), d),
    "laplace": lambda d: kernels(Laplace(gamma=0.7), d),
    "gaussian": lambda d: kernels(Gaussian(gamma=0.3), d),
    "waves": waves,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_contributions_are_sums_over_all_subsets_of_groups(name):
    f, rng = FUNCTIONS[name](6), np.random.default_rng(1)
    X, background = rng.normal(size=(4, 6)), rng.normal(size=(3, 6))
    X[0, 2] = background[1, 2]
    expected = subset_values(f.evaluate, X, background, GROUPS)
    values = shapley_contributions(f, X, background, GROUPS)
    np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["laplace", "waves"])
def test_blocks_of_terms_and_rows_change_nothing(name, monkeypatch):
    f = kernels(Laplace(0.2), 3, 150) if name != "waves" else waves(3, 150)
    rng = np.random.default_rng(1)
    X, background, groups = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), np.arange(3)[:, None]
    whole = shapley_contributions(f, X, background, groups)
    monkeypatch.setattr(sums, "_ROWS", 2)
    monkeypatch.setattr(sums, "_FACTOR_BYTES", 1)
    np.testing.assert_allclose(
        shapley_contributions(f, X, background, groups), whole, atol=1e-12, rtol=0
    )


@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("name", ["laplace", "anova", "waves"])
def test_few_nodes_are_as_accurate_as_exact_ones(name, scale, monkeypatch):
    d, rng = 61, np.random.default_rng(2)
    f = {
        "laplace": lambda: kernels(Laplace(gamma=scale), d),
        "anova": lambda: kernels(Anova(weight=scale, length_scale=0.2), d),
        "waves": lambda: waves(d, scale=scale),
    }[name]()
    X, background = rng.normal(size=(3, d)), rng.normal(size=(4, d))
    groups = np.arange(d)[:, None]
    values = shapley_contributions(f, X, background, groups)
    sizes, _, nodes, weights = sums._quadrature(d, name == "waves")
    assert sizes[0] == 1
    assert sizes[-1] == 31
    assert np.all(np.diff(sizes) > 0)
    exact = sizes, np.full(len(sizes), -1.0), nodes, weights
    monkeypatch.setattr(sums, "_quadrature", lambda *_: exact)
    expected = shapley_contributions(f, X, background, groups)
    np.testing.assert_allclose(values, expected, rtol=0, atol=2e-12)


def test_a_limit_of_a_rule_bounds_its_error():
    """A product of equal factors 1 - s t has a known integral."""
    d = 200
    sizes, limits, nodes, weights = sums._quadrature(d, False)
    assert np.all(np.diff(limits) > 0)
    for k in np.flatnonzero((limits > 0) & (limits < d)):
        share = limits[k] / d
        integral = -np.expm1((d + 1) * np.log1p(-share)) / (share * (d + 1))
        sum_ = weights[k, : sizes[k]] @ (1 - share * nodes[k, : sizes[k]]) ** d
        assert abs(sum_ - integral) < 2e-14


def test_symmetric_columns_have_equal_values():
    f, rng = kernels(Laplace(gamma=0.5), 4), np.random.default_rng(1)
    swapped = [2, 1, 0, 3]
    both = KernelExpansion(
        f.prior,
        np.concatenate([f.points, f.points[:, swapped]]),
        np.concatenate([f.coefficients, f.coefficients]),
        f.slopes + f.slopes[swapped],
        f.intercept,
    )
    background = rng.normal(size=(5, 4))
    background = np.concatenate([background, background[:, swapped]])
    X = rng.normal(size=(3, 4))
    X[:, 2] = X[:, 0]
    values = shapley_contributions(both, X, background, np.arange(4)[:, None])
    np.testing.assert_allclose(values[:, 0], values[:, 2], atol=1e-12)
    assert np.abs(values[:, 0] - values[:, 1]).min() > 1e-3


def test_columns_without_effect_have_value_zero():
    f = kernels(Anova(weight=[1.0, 0.0, 2.0]), 3)
    f = KernelExpansion(f.prior, f.points, f.coefficients, 0 * f.slopes, f.intercept)
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    background[:, 2] = X[0, 2]
    values = shapley_contributions(f, X, background, np.arange(3)[:, None])
    assert not values[:, 1].any()
    assert not values[0, 2].any()
    assert values[1:, 2].all()


def test_a_linear_function_has_slopes_times_deviations():
    f = kernels(Laplace(), 4)
    f = KernelExpansion(f.prior, f.points, 0 * f.coefficients, f.slopes, f.intercept)
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(5, 4)), rng.normal(size=(3, 4))
    values = shapley_contributions(f, X, background, [np.array([0, 2]), np.array([1, 3])])
    parts = (X - background.mean(axis=0))[:, :, None] * f.slopes
    np.testing.assert_allclose(values[:, 0], parts[:, 0] + parts[:, 2], atol=1e-12)
    np.testing.assert_allclose(values[:, 1], parts[:, 1] + parts[:, 3], atol=1e-12)


def test_the_background_is_at_most_as_many_rows_as_asked_for():
    model, X = fitted("values")
    Z, rows = model.inputs_.transform(X), model._background
    assert len(rows) > 100
    for n_background in (1, 7, 1000):
        ((inside, _, background),) = _leaves(model.blend_, Z, rows, n_background)
        assert len(background) == min(n_background, len(rows))
        assert len(np.unique(background, axis=0)) == len(background)
        assert len(inside) == len(Z)
    np.testing.assert_array_equal(
        model.shapley(X[:3]).values, model.shapley(X[:3], background=64).values
    )


def test_the_background_of_a_row_is_in_its_leaf():
    model, X = fitted("leaves")
    Z, rows = model.inputs_.transform(X), model._background
    tree = next(m for m in model.blend_.members if isinstance(m, LeafExpansion)).tree
    assert tree.n_leaves > 2
    for of_leaf in (rows, rows[:1]):
        found = list(_leaves(model.blend_, Z, of_leaf, 20))
        np.testing.assert_array_equal(
            np.sort(np.concatenate([one[0] for one in found])), range(260)
        )
        for inside, _, background in found:
            leaves = np.append(tree.leaves(Z[inside]), tree.leaves(background))
            assert len(np.unique(leaves)) == 1
            assert len(background) == 20


def test_outputs_are_named():
    X = table(260)[0]
    for name, output, names in (
        ("values", "prediction", ()),
        ("two outputs", "prediction", ("0", "1")),
        ("three classes", "score", ("0", "1", "2")),
        ("two classes, leaves", "score of True", ()),
    ):
        model, _ = fitted(name)
        result = model.shapley(X[:2], background=3)
        assert (result.output, result.output_names) == (output, names)
        assert result.values.shape == (2, 6, *([len(names)] if names else []))
    tail, _ = fitted("long tail")
    assert tail.target_scale_.kind != "identity"
    assert tail.shapley(X[:2]).output.startswith(("log(y", "asinh((y − "))


def example(n_outputs=0):
    rng = np.random.default_rng(0)
    axis = [n_outputs] if n_outputs else []
    return ShapleyValues(
        rng.normal(size=(4, 3, *axis)),
        rng.normal(size=(4, *axis)),
        pd.DataFrame({"a": [1.0, 2, 3, 4], "b": list("wxyz"), "c": 0}, index=[5, 6, 7, 8]),
        ("a", "b", "c"),
        np.zeros((4, *axis)),
        "prediction",
        tuple(map(str, range(n_outputs))),
    )


def test_values_as_a_frame():
    one, two = example(), example(2)
    assert repr(one) == "ShapleyValues(4 rows, 3 columns, prediction, rest 0%)"
    assert one.to_frame().index.tolist() == [5, 6, 7, 8]
    np.testing.assert_array_equal(one.to_frame()["b"], one.values[:, 1])
    np.testing.assert_array_equal(two.to_frame()["1", "b"], two.values[:, 1, 1])
    name, size = one.strongest(1)[0]
    means = np.abs(one.values).mean(axis=0)
    assert name == "abc"[means.argmax()]
    assert size == means.max()
    assert len(two.strongest()) == 3


def test_values_for_shap(monkeypatch):
    stub = SimpleNamespace(
        Explanation=lambda values, **others: SimpleNamespace(values=values, **others)
    )
    monkeypatch.setitem(sys.modules, "shap", stub)
    one = example()
    explanation = one.to_shap()
    assert explanation.feature_names == ["a", "b", "c"]
    assert explanation.data[1].tolist() == [2.0, "x", 0]
    np.testing.assert_array_equal(explanation.values, one.values)
    one.rest[:] = 1.0
    explanation = one.to_shap()
    assert explanation.feature_names[-1] == "(rest)"
    np.testing.assert_allclose(
        explanation.values.sum(axis=1) + explanation.base_values, one.total()
    )
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        one.to_shap()


@pytest.mark.parametrize(("background", "error"), [(0, ValueError), (2.5, TypeError)])
def test_a_background_must_be_a_number_of_rows(background, error):
    with pytest.raises(error, match="background must be"):
        fitted("values")[0].shapley(table(3)[0], background=background)
