"""Priors of linearly mapped rows beyond the laws of the conformance suite."""

import numpy as np
import pytest

from bochner import Evidence, Gaussian, KernelMachine, Laplace
from bochner._checks import MissingMethod
from bochner.priors import WithMetric

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))


def test_the_kernel_is_that_of_mapped_rows_times_a_wave(seed):
    rng = np.random.default_rng(seed)
    matrix, mean = rng.normal(size=(3, 2)), rng.normal(size=3)
    prior = WithMetric(Laplace(gamma=0.4), matrix, mean)
    for x, z in zip(X[:10], X[10:20]):
        mapped = np.abs((x - z) @ matrix).sum()
        expected = np.exp(-0.4 * mapped) * np.cos(mean @ (x - z))
        assert prior.kernel(x[None], z[None])[0, 0] == pytest.approx(expected, rel=1e-10)


def test_a_machine_with_a_metric_is_a_machine_on_mapped_rows():
    matrix, y = RNG.normal(size=(3, 2)), X[:, 0]
    one = KernelMachine(WithMetric(Gaussian(0.5), matrix), alpha=0.1).fit(X, y)
    other = KernelMachine(Gaussian(0.5), alpha=0.1).fit(X @ matrix, y)
    np.testing.assert_allclose(one.predict(X), other.predict(X @ matrix), atol=1e-10)


def test_matrices_that_do_not_fit_are_refused():
    nan = np.full((3, 3), np.nan)
    for matrix, mean in (
        (np.eye(2), None),
        (np.eye(3), np.zeros(2)),
        (np.ones(3), None),
        (nan, None),
    ):
        with pytest.raises(ValueError, match="for each of the 3 columns"):
            WithMetric(Gaussian(0.5), matrix, mean).kernel(X)
    for matrix in (np.ones((3, 2)), np.ones((3, 3))):
        with pytest.raises(MissingMethod, match="no density"):
            WithMetric(Gaussian(0.5), matrix).log_density(X)


def test_bandwidths_are_computed_from_mapped_rows():
    matrix = RNG.normal(size=(3, 2))
    resolved = WithMetric(Gaussian("scale"), matrix).resolved(X)
    assert resolved.prior.gamma == pytest.approx(Gaussian("scale").resolved(X @ matrix).gamma)


def test_evidence_refuses_a_metric():
    for prior in (WithMetric(Gaussian(), np.eye(3)), Laplace() + WithMetric(Gaussian(), np.eye(3))):
        with pytest.raises(TypeError, match="which WithMetric does not define"):
            Evidence().learn_prior(prior, X, X[:, 0], 0)
