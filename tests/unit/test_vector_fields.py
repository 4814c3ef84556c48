"""Derivatives and parts of fitted fields: exact laws for any weights, and finite differences."""

import numpy as np
import pytest

import bochner
from bochner import (
    CurlFree,
    Decomposable,
    DivergenceFree,
    Gaussian,
    Helmholtz,
    Matern,
    OperatorRidge,
    ProductPrior,
)


def fitted(kernel, n_features=3, n_outputs=None, seed=0, **settings):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(60, n_features))
    Y = 10 * rng.normal(
        size=(60, n_outputs or n_features)
    )  # pure noise: the laws hold for any weights
    return OperatorRidge(kernel, n_components=40, alpha=1e-2, random_state=seed, **settings).fit(
        X, Y
    ), X


def finite_differences(function, X, step=1e-5):
    columns = []
    for shift in step * np.eye(X.shape[1]):
        columns.append((function(X + shift) - function(X - shift)) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("n_features", [2, 3, 5])
@pytest.mark.parametrize("prior", [Gaussian(gamma=0.5), Matern(nu=2.5)])
def test_structure_of_the_jacobian_is_exact(prior, n_features, seed):
    model, X = fitted(CurlFree(prior), n_features, seed=seed)
    jacobian = model.jacobian(X)
    scale = np.abs(jacobian).max()
    assert scale > 1
    assert np.abs(jacobian - jacobian.transpose(0, 2, 1)).max() < 1e-10 * scale
    assert np.abs(model.curl(X)).max() < 1e-10 * scale
    model, X = fitted(DivergenceFree(prior), n_features, seed=seed)
    assert (
        np.abs(np.trace(model.jacobian(X), axis1=1, axis2=2)).max()
        < 1e-10 * np.abs(model.jacobian(X)).max()
    )
    assert np.abs(model.divergence(X)).max() < 1e-10 * np.abs(model.jacobian(X)).max()


@pytest.mark.parametrize(
    "kernel",
    [
        CurlFree(Gaussian(0.5)),
        DivergenceFree(Gaussian(0.5)),
        Helmholtz(Gaussian(0.5), 0.4),
        Decomposable(Gaussian(0.5)),
    ],
)
@pytest.mark.parametrize("n_features", [2, 3, 4])
def test_derivatives_agree_with_finite_differences(kernel, n_features):
    model, X = fitted(kernel, n_features)
    numeric = finite_differences(model.predict, X)
    np.testing.assert_allclose(model.jacobian(X), numeric, atol=1e-6 * np.abs(numeric).max())
    np.testing.assert_allclose(
        model.divergence(X), np.trace(numeric, axis1=1, axis2=2), atol=1e-6 * np.abs(numeric).max()
    )
    twist = numeric - numeric.transpose(0, 2, 1)
    expected = twist
    if n_features == 2:
        expected = twist[:, 1, 0]
    if n_features == 3:
        expected = np.stack([twist[:, 2, 1], twist[:, 0, 2], twist[:, 1, 0]], axis=1)
    np.testing.assert_allclose(model.curl(X), expected, atol=1e-6 * np.abs(numeric).max())


@pytest.mark.parametrize("intercept", [False, True])
def test_the_potential_has_the_field_as_its_gradient(intercept):
    model, X = fitted(CurlFree(Gaussian(0.5)), fit_intercept=intercept)
    gradient = finite_differences(model.scalar_potential, X)
    field = model.predict(X)
    np.testing.assert_allclose(gradient, field, atol=1e-6 * np.abs(field).max())


@pytest.mark.parametrize("intercept", [False, True])
def test_helmholtz_parts_add_up_and_are_what_they_are_called(intercept):
    model, X = fitted(Helmholtz(Gaussian(0.5), 0.4), fit_intercept=intercept)
    along, across = model.curl_free_part(X), model.divergence_free_part(X)
    np.testing.assert_allclose(along + across, model.predict(X), atol=1e-12 * np.abs(along).max())
    assert np.abs(across).max() > 0.1
    slopes = finite_differences(model.curl_free_part, X)
    np.testing.assert_allclose(slopes, slopes.transpose(0, 2, 1), atol=1e-6 * np.abs(slopes).max())
    slopes = finite_differences(model.divergence_free_part, X)
    assert np.abs(np.trace(slopes, axis1=1, axis2=2)).max() < 1e-6 * np.abs(slopes).max()
    gradient = finite_differences(model.scalar_potential, X)
    np.testing.assert_allclose(gradient, along, atol=1e-6 * np.abs(along).max())


def test_helmholtz_recovers_the_parts_of_a_known_field():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3000, 2))

    def parts(points):
        x, y = points.T
        gradient = np.stack([np.cos(x), -np.sin(y)], axis=1)
        rotation = np.stack([np.cos(y), np.cos(x)], axis=1) * 0.7
        return gradient, rotation

    gradient, rotation = parts(X)
    model = OperatorRidge(
        Helmholtz(Gaussian(0.5)), n_components=300, alpha=1e-3, random_state=0
    ).fit(X, gradient + rotation)
    inner = X[np.abs(X).max(axis=1) < 1.5]
    gradient, rotation = parts(inner)

    def unexplained(found, truth):
        found, truth = (
            found - found.mean(axis=0),
            truth - truth.mean(axis=0),
        )  # a harmonic constant may go to either part
        return np.mean((found - truth) ** 2) / np.mean(truth**2)

    assert unexplained(model.curl_free_part(inner), gradient) < 0.05
    assert unexplained(model.divergence_free_part(inner), rotation) < 0.05


def test_fields_in_time_differentiate_in_space():
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(-2, 2, size=(80, 3)), rng.normal(size=(80, 2))
    curl_free = OperatorRidge(
        CurlFree(Gaussian(0.5), coordinates=[2, 0]), n_components=40, random_state=0
    ).fit(X, Y)
    jacobian = curl_free.jacobian(X)
    assert jacobian.shape == (80, 2, 3)
    np.testing.assert_allclose(jacobian[:, 0, 0], jacobian[:, 1, 2], atol=1e-10)
    assert np.abs(curl_free.curl(X)).max() < 1e-10
    slopes = finite_differences(curl_free.scalar_potential, X)
    np.testing.assert_allclose(slopes[:, [2, 0]], curl_free.predict(X), atol=1e-6)
    divergence_free = OperatorRidge(
        DivergenceFree(Gaussian(0.5), coordinates=[2, 0]), n_components=40, random_state=0
    ).fit(X, Y)
    assert np.abs(divergence_free.divergence(X)).max() < 1e-10
    assert np.abs(divergence_free.jacobian(X)).max() > 0.01


def test_fields_that_are_none_are_refused():
    model, X = fitted(Decomposable(Gaussian(0.5)), 3, n_outputs=2)
    with pytest.raises(ValueError, match="one output per direction"):
        model.divergence(X)
    with pytest.raises(ValueError, match="Only vector-field kernels"):
        model.scalar_potential(X)
    with pytest.raises(ValueError, match="Only vector-field kernels"):
        model.curl_free_part(X)


class Triangle(ProductPrior):
    """A prior of one's own, for which no second derivatives are known."""

    _bandwidth = "bandwidth"

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def _quantile(self, uniform):
        return np.where(uniform < 0.5, np.sqrt(2 * uniform) - 1, 1 - np.sqrt(2 - 2 * uniform))

    def _factor(self, differences):
        return np.sinc(differences / (2 * np.pi)) ** 2


def test_the_error_for_a_prior_without_second_derivatives_names_what_works():
    rng = np.random.default_rng(0)
    X, kernel = rng.normal(size=(5, 2)), CurlFree(Triangle())
    with pytest.raises(NotImplementedError, match=r"of Triangle.* needs the method") as error:
        kernel.kernel(X)
    advised = ("OperatorRidge", "CurlFree", "Gaussian", "Matern")
    assert all(name in str(error.value) and hasattr(bochner, name) for name in advised)
    assert ".register" not in str(error.value)
    assert kernel.sample(1000, 2, rng).kernel(X).shape == (5, 5, 2, 2)
