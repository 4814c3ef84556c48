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
    titles = [axis.get_title() for axis in axes if axis.get_visible()]
    assert titles[0] == "much"
    assert set(titles) == {"much", "kind", "little"}
    curve = axes[0].lines[0]
    order = np.argsort(table["much"])
    np.testing.assert_array_equal(curve.get_xdata(), table["much"].to_numpy()[order])
    np.testing.assert_allclose(
        curve.get_ydata(), model.effects(table, 1).main[order, 1], atol=1e-12
    )
    bars = axes[titles.index("kind")].patches
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
