"""A prior of one's own, the Student-t kernel (1 + r²)⁻², does everything that ours do."""

import numpy as np
from own_samples import use_prior_everywhere
from scipy.special import gammaincinv, kv

from bochner.priors import RadialPrior
from bochner.testing import check_prior


class StudentKernel(RadialPrior):
    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    def _spread(self, uniform):
        return np.sqrt(2 * gammaincinv(2.0, uniform))

    def _profile(self, q):
        return (1 + q) ** -2.0

    def _slopes(self, q):
        return -2 * (1 + q) ** -3.0, 6 * (1 + q) ** -4.0

    def log_density(self, frequencies):
        q, slope, volume = self._scaled_frequencies(frequencies)
        s, d, p = np.sqrt(q), frequencies.shape[1], 2 - frequencies.shape[1] / 2
        value = volume + np.log(2) - d / 2 * np.log(4 * np.pi) + p * np.log(s / 2)
        return value + np.log(kv(p, s)), (-kv(p - 1, s) / kv(p, s) / (2 * s))[:, None] * slope


def test_a_prior_of_ones_own_does_everything():
    check_prior(StudentKernel(1.3))
    use_prior_everywhere(StudentKernel("scale"))
