"""Interruptions of every iterative estimator: some in the quick suite, two hundred each in `make
test-all`.
"""

import signal

import pytest

from tests.conformance.registry import ITERATIVE
from tests.hostile.interruptions import interruptions

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="needs timers that send signals"
)


def assert_stopped(estimator, n_times):
    outcomes = interruptions(estimator, n_times)
    assert set(outcomes) <= {"stopped", "finished before"}
    assert outcomes["stopped"] >= max(1, n_times / 20)


# One estimator of each kind of iteration; all of them are among the long tests.
QUICK = (
    "SpectralRegressor",
    "KernelMachine",
    "OperatorRidge, StochasticGradient",
    "FourierBoostingClassifier",
    "GBRFF2Classifier",
    "SpectralFeatures, MarginGame",
)


@pytest.mark.parametrize("name", QUICK)
def test_some_interruptions(name):
    assert_stopped(ITERATIVE[name], 4)


@pytest.mark.long
@pytest.mark.parametrize("name", ITERATIVE)
def test_many_interruptions(name):
    assert_stopped(ITERATIVE[name], 200)
