"""Plots of effects: the strongest columns, each against its own values."""

import numpy as np
import pytest

from bochner import Anova, Evidence, SpectralRegressor
from bochner.plots import plot_effects

pytest.importorskip("matplotlib")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=["little", "much", "none"])
    table["kind"] = rng.choice(["a", "b"], size=120)
    y = (
        3 * np.sin(table["much"])
        + 0.5 * table["little"]
        + 2 * (table["kind"] == "b")
        + 0.05 * rng.normal(size=120)
    )
    model = SpectralRegressor(
        Anova(), Evidence(n_rows=120, n_iterations=8, standardize=False), random_state=0
    )
    return model.fit(table, y), table


def test_the_strongest_effects_are_drawn_in_order(fitted):
    model, table = fitted
    axes = plot_effects(model, table, n_strongest=3).axes
    labels = [axis.get_xlabel() for axis in axes if axis.get_visible()]
    assert labels[0] == "much"
    assert set(labels) == {"much", "kind", "little"}
    curve = axes[0].lines[0]
    order = np.argsort(table["much"])
    np.testing.assert_array_equal(curve.get_xdata(), table["much"].to_numpy()[order])
    np.testing.assert_allclose(
        curve.get_ydata(), model.effects(table, 1).main[order, 1], atol=1e-12
    )
    bars = axes[labels.index("kind")].patches
    assert len(bars) == 2
    assert bars[1].get_height() > bars[0].get_height()


def test_columns_of_an_array_are_found_by_number(fitted):
    _, table = fitted
    X = table[["little", "much"]].to_numpy()
    model = SpectralRegressor(
        Anova(), Evidence(n_rows=60, n_iterations=3, standardize=False), random_state=0
    )
    axes = plot_effects(model.fit(X, np.sin(X[:, 1])), X, n_strongest=1).axes
    np.testing.assert_array_equal(axes[0].lines[0].get_xdata(), np.sort(X[:, 1]))


def test_bands_are_drawn_around_the_effects_and_the_rest_is_stated(fitted):
    model, table = fitted
    figure = plot_effects(model, table, n_strongest=3, level=0.9)
    curve, band = figure.axes[0].lines[0], figure.axes[0].collections[0]
    effects = model.effects(table, 1, level=0.9)
    order = np.argsort(table["much"])
    lower = (effects.main - effects.bands.main)[order, 1]
    np.testing.assert_allclose(band.get_paths()[0].vertices[:, 1].min(), lower.min())
    np.testing.assert_allclose(curve.get_ydata(), effects.main[order, 1])
    assert figure.get_supylabel() == "change of the prediction"
    assert "with 90% confidence bands" in figure.get_suptitle()
    assert f"leave {effects.rest_share:.0%} of its variance unexplained" in figure.get_suptitle()


def test_numbers_with_two_values_are_drawn_as_bars(fitted):
    _, table = fitted
    flags = np.where(table["kind"] == "b", 2.0, 1.0)
    X = pd.DataFrame({"flag": flags, "much": table["much"]})
    evidence = Evidence(n_rows=60, n_iterations=3)
    model = SpectralRegressor(Anova(), evidence, random_state=0).fit(X, flags + X["much"])
    axes = {axis.get_xlabel(): axis for axis in plot_effects(model, X).axes}
    assert [text.get_text() for text in axes["flag"].get_xticklabels()] == ["1.0", "2.0"]
    assert len(axes["flag"].patches) == 2
    assert len(axes["much"].patches) == 0
