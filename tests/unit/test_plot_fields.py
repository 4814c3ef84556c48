"""VectorFieldDisplay: what is drawn is what the model says."""

import numpy as np
import pytest
from selection import long_except

pytest.importorskip("matplotlib")

from bochner import CurlFree, Decomposable, DivergenceFree, Gaussian, Helmholtz, OperatorRidge
from bochner.plots import VectorFieldDisplay


def field(n=150):
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    return X, np.stack([-X[:, 1], X[:, 0]], axis=1)


@pytest.fixture(scope="module")
def model_of_the_plane():
    X, Y = field()
    return OperatorRidge(Helmholtz(Gaussian(1.0)), n_components=30, alpha=1e-3, random_state=0).fit(
        X, Y
    )


@pytest.mark.parametrize(
    "background",
    long_except(
        ["divergence", "curl", "speed", "scalar_potential", None], "divergence", "scalar_potential"
    ),
)
def test_grid_shows_the_models_own_values(background, model_of_the_plane):
    X, Y = field()
    model = model_of_the_plane
    display = VectorFieldDisplay.from_estimator(model, X, Y, background=background, n_grid=12)
    rows = display.grid.reshape(-1, 2)
    np.testing.assert_allclose(display.field.reshape(-1, 2), model.predict(rows))
    if background in ("divergence", "curl", "scalar_potential"):
        np.testing.assert_allclose(display.color.ravel(), getattr(model, background)(rows))
    assert len(display.axes_[1].collections) >= 1
    assert (display.grid.min(), display.grid.max()) == (X.min(), X.max()) or np.ptp(
        display.grid
    ) > 1.5


@pytest.mark.long
def test_a_field_in_time_is_drawn_at_one_moment():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    Y = np.stack([np.sin(X[:, 2]) + X[:, 1], -X[:, 0]], axis=1)
    kernel = DivergenceFree(Gaussian(1.0), coordinates=[0, 1])
    model = OperatorRidge(kernel, n_components=30, random_state=0).fit(X, Y)
    early, late = (
        VectorFieldDisplay.from_estimator(
            model, X, Y, at=[0, 0, moment], background="curl", n_grid=8
        )
        for moment in (-1.0, 1.0)
    )
    assert np.abs(early.field - late.field).max() > 0.1


def test_fields_that_are_not_in_the_plane_are_refused():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    model = OperatorRidge(CurlFree(Gaussian(0.5)), n_components=10, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="2 directions"):
        VectorFieldDisplay.from_estimator(model, X, Y)
    plain = OperatorRidge(Decomposable(Gaussian(0.5)), n_components=10, random_state=0).fit(
        X, Y[:, :2]
    )
    with pytest.raises(ValueError, match="2 directions and 2 outputs, got 3"):
        VectorFieldDisplay.from_estimator(plain, X, Y[:, :2])
