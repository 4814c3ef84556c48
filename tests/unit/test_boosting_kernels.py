"""The compiled kernels of the published boosters: the exponential, and losses of phases with their
derivatives.
"""

import numpy as np
import pytest

from bochner._loops.boosting_kernels import exponential, phase_losses_block


@pytest.mark.parametrize(
    ("dtype", "low", "high", "error"), [(np.float64, -700, 59, 4e-16), (np.float32, -80, 59, 3e-7)]
)
def test_compiled_exponential_is_accurate_to_rounding(dtype, low, high, error):
    x = np.linspace(low, high, 200_001).astype(dtype)
    out = np.empty_like(x)
    exponential(x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=error)


def test_phase_losses_and_derivatives(seed):
    rng = np.random.default_rng(seed)
    turns, signal, counts = rng.normal(size=300), rng.normal(size=300), rng.uniform(0, 2, size=300)
    phases = np.linspace(-3, 3, 7)

    def total(b):
        return counts @ np.exp(-signal * np.cos(np.pi * turns - b))

    sums = phase_losses_block(phases, turns, signal, counts)
    np.testing.assert_allclose(sums[0], [total(b) for b in phases], rtol=1e-12)
    np.testing.assert_allclose(
        sums[1], [(total(b + 1e-6) - total(b - 1e-6)) / 2e-6 for b in phases], atol=1e-4
    )
    second = [(total(b + 1e-4) - 2 * total(b) + total(b - 1e-4)) / 1e-8 for b in phases]
    np.testing.assert_allclose(sums[2], second, rtol=1e-3, atol=1e-2)
