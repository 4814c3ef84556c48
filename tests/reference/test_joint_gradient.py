"""The gradient of joint descent against finite differences of the loss it descends."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from threadpoolctl import threadpool_limits

from bochner.boosting.joint import CHUNK, JointEpochs, Standardization, WaveParameters, _Chunk, _plain
from bochner.boosting.losses import Exponential, Huber, Logistic, Multinomial, Poisson, Squared

LOSSES = [Logistic(), Exponential(), Squared(), Huber(np.array([0.7])), Poisson(), Multinomial()]


def problem(loss, rng, n_rows=40):
    n_outputs = 3 if isinstance(loss, Multinomial) else 1
    X = rng.normal(size=(n_rows, 4))
    if n_outputs == 3:
        targets = np.eye(3)[rng.integers(3, size=n_rows)]
    elif isinstance(loss, Logistic | Exponential):
        targets = rng.choice([-1.0, 1.0], size=(n_rows, 1))
    else:
        targets = rng.poisson(2.0, size=(n_rows, 1)).astype(float)
    parameters = WaveParameters(5, 4, n_outputs, np.float64)
    parameters.vector[...] = 0.5 * rng.normal(size=len(parameters.vector))
    return X, targets, parameters


def scores_of(parameters, Z):
    angles = Z @ parameters.frequencies.T
    waves = np.cos(angles) @ parameters.cosine + np.sin(angles) @ parameters.sine
    return parameters.intercept + Z @ parameters.slopes + waves


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("use_slopes", [True, False])
def test_gradient_is_the_derivative_of_the_weighted_loss(loss, use_slopes, seed):
    rng = np.random.default_rng(seed)
    X, targets, parameters = problem(loss, rng)
    if not use_slopes:
        parameters.slopes[...] = 0
    standardization = Standardization(rng.normal(size=4), rng.uniform(0.5, 2, size=4))
    picked = rng.permutation(len(X))[:25]
    Z, weights = standardization.apply(X[picked], np.float64), rng.uniform(size=(25, 1))

    def total(vector):
        moved = parameters.empty_like()
        moved.vector[...] = vector
        return float(weights[:, 0] @ loss.values(targets[picked], scores_of(moved, Z)))

    numeric = parameters.empty_like()
    numeric.vector[...] = approx_fprime(parameters.vector, total, 1e-6)
    if not use_slopes:
        numeric.slopes[...] = 0
    chunk = _Chunk(parameters, loss, use_slopes)
    for source in (X, X.astype(np.float32), np.asfortranarray(X), sp.csr_matrix(X)):
        found = chunk.compute(*_plain(source, picked, standardization, np.float64), targets[picked], weights)
        np.testing.assert_allclose(found, numeric.vector, atol=2e-5 * max(1, np.abs(numeric.vector).max()))


@pytest.mark.parametrize("loss", [Logistic(), Squared()], ids=repr)
def test_epochs_do_not_depend_on_the_number_of_threads(loss):
    rng = np.random.default_rng(0)
    X, targets, start = problem(loss, rng, n_rows=3 * CHUNK + 100)
    results = []
    for n_threads in (1, 2):
        parameters = WaveParameters(5, 4, 1)
        parameters.vector[...] = start.vector
        with threadpool_limits(n_threads, user_api="blas"):
            JointEpochs(loss, 2, 2 * CHUNK).run(
                parameters, Standardization(np.zeros(4), np.ones(4)), X, targets.astype(np.float32), None, None, True,
                np.random.default_rng(1), lambda epoch: False,
            )  # fmt: skip
        results.append(parameters.vector.copy())
    np.testing.assert_array_equal(*results)
    assert np.all(results[0] != start.vector.astype(np.float32))
