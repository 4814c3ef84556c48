import numpy as np
from own_samples import use_prior_everywhere
from scipy import special, stats

from bochner.priors import RadialPrior


class StudentKernel(RadialPrior):  # k(x, z) = (1 + r²)⁻², r = ‖x − z‖ / length_scale
    _spread = stats.chi(df=4).ppf

    def _profile(self, q):
        return (1 + q) ** -2.0

    def _slopes(self, q):
        return -2 * (1 + q) ** -3.0, 6 * (1 + q) ** -4.0

    def log_density(self, frequencies):
        q, slope, volume = self._scaled_frequencies(frequencies)
        s, p = np.sqrt(q), 2 - frequencies.shape[1] / 2
        value = volume + np.log(2 * (s / 2) ** p * special.kv(p, s) * (4 * np.pi) ** (p - 2))
        return value, -(special.kv(p - 1, s) / special.kv(p, s) / s)[:, None] * slope / 2


def test_a_prior_of_ones_own_does_everything():
    use_prior_everywhere(StudentKernel("scale"))
