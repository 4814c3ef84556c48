"""Plots of the Shapley values of one row."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import Evidence, SpectralRegressor
from bochner.plots import plot_shapley
from bochner.tabular import ShapleyValues

pytest.importorskip("matplotlib")
pd = pytest.importorskip("pandas")


def example(n_outputs=0):
    rng = np.random.default_rng(0)
    axis = [n_outputs] if n_outputs else []
    data = pd.DataFrame(rng.normal(size=(4, 5)), columns=list("abcde"))
    data["b"] = ["a very long text of a cell", "x", "y", "z"]
    return ShapleyValues(
        rng.normal(size=(4, 5, *axis)),
        rng.normal(size=(4, *axis)),
        data,
        tuple("abcde"),
        np.zeros((4, *axis)),
        "prediction",
        tuple(f"y{k}" for k in range(n_outputs)),
    )


def bars(figure):
    axis = figure.axes[0]
    starts, sizes = zip(*((bar.get_x(), bar.get_width()) for bar in axis.patches))
    return [text.get_text() for text in axis.get_yticklabels()], np.array(starts), np.array(sizes)


def test_bars_lead_from_the_base_value_to_the_output():
    values = example()
    names, starts, sizes = bars(plot_shapley(values, row=2, n_strongest=3))
    own = values.values[2]
    order = np.argsort(-np.abs(own))
    for name, j in zip(names, order[:3]):
        assert name.startswith(f"{values.names[j]} = ")
    assert names[3] == "all other columns (2)"
    np.testing.assert_allclose(sizes, [*own[order[:3]], own[order[3:]].sum()])
    np.testing.assert_allclose(starts[0], values.base_values[2])
    np.testing.assert_allclose(starts[1:], (starts + sizes)[:-1])
    np.testing.assert_allclose((starts + sizes)[-1], values.total()[2])


def test_a_rest_has_a_bar_of_its_own():
    values = example()
    values.rest[:] = 0.25
    names, _, sizes = bars(plot_shapley(values, row=-1))
    assert names[-1] == "not split by columns"
    assert sizes[-1] == 0.25
    assert len(names) == 6
    assert "b = z" in names


def test_one_of_several_outputs_is_drawn():
    values = example(3)
    for output, name in ((-1, "y2"), (1, "y1")):
        figure = plot_shapley(values, row=0, output=output)
        assert f"prediction of {name}" in figure.axes[0].get_xlabel()
        _, starts, sizes = bars(figure)
        np.testing.assert_allclose((starts + sizes)[-1], values.total()[0, output])
    assert "b = a very long text of…" in bars(figure)[0]


def test_a_model_is_explained_at_one_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = SpectralRegressor(evidence=Evidence(n_rows=60, n_iterations=2), random_state=0)
    model = make_pipeline(StandardScaler(), model).fit(X, X[:, 0])
    names, _, sizes = bars(plot_shapley(model, X, row=-2))
    row = model[0].transform(X)[-2:-1]
    own = model[-1].shapley(row).values[0]
    np.testing.assert_allclose(sizes, own[np.argsort(-np.abs(own))])
    assert names[0] == f"x0 = {row[0, 0]:.4g}"


def test_wrong_arguments_are_refused():
    values = example()
    with pytest.raises(ValueError, match="one of the 4 rows, got 4"):
        plot_shapley(values, row=4)
    with pytest.raises(ValueError, match="have their rows, but X was given"):
        plot_shapley(values, values.data)
    model = SpectralRegressor().fit(np.arange(20.0)[:, None], np.arange(20.0))
    with pytest.raises(ValueError, match=r"Write plot_shapley\(model, X\)"):
        plot_shapley(model)
    with pytest.raises(TypeError, match="plot_shapley draws a fitted SpectralClassifier"):
        plot_shapley(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]), [[0.0]])
