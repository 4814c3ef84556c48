"""
A prior of your own: a weekly kernel
====================================

A prior is a distribution of frequencies together with the kernel that it defines. A Gaussian kernel
is not suited for a signal that repeats every week, since it is zero between days that are a week
apart. This prior has a few lines. It can then be used like all others: it can be sampled, it has an
exact kernel, and it works in ridges, pipelines and grids.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtri

from bochner import Gaussian, KernelMachine, ProductPrior, SpectralFeatures, SpectralRidge


class Weekly(ProductPrior):
    """Kernel of functions that repeat every week and change slowly.

    k(δ) = exp(−(drift δ)²/2) · (1 + 2 Σ cos(2π k δ / 7)) / 31, δ in days. Frequencies are
    2π k / 7 for k = −15 … 15, plus N(0, drift²).
    """

    _bandwidth = "drift"

    def __init__(self, drift=0.02):
        self.drift = drift

    def _quantile(self, uniform):
        """Return a coordinate in units of the drift: uniform numbers choose k and the normal part."""
        line = np.minimum(np.floor(31 * uniform), 30)
        around = np.clip(31 * uniform - line, 1e-9, 1 - 1e-9)
        return 2 * np.pi * (line - 15) / 7 / self.drift + ndtri(around)

    def _factor(self, differences):
        weeks = differences / self.drift / 7
        return (
            np.exp(-(differences**2) / 2)
            * (1 + 2 * sum(np.cos(2 * np.pi * k * weeks) for k in range(1, 16)))
            / 31
        )

    def _from_length(self, length):
        return 1 / length


# %%
# Sampler and kernel must belong together: the mean kernel of many draws is the closed form.

prior = Weekly(drift=0.02)
rng = np.random.default_rng(0)
days = np.linspace(0, 28, 600)[:, None]
closed = prior.kernel(days, np.zeros((1, 1)))[:, 0]
sampled = prior.sample(20_000, 1, rng).kernel(days, np.zeros((1, 1)))[:, 0]
print(
    f"largest difference of sampled and closed kernel: {np.abs(sampled - closed).max():.3f} (20 000 frequencies)"
)

# %%
# Eight weeks of hourly measurements of a load, which is lower on weekends. The models predict two
# more weeks.

hours = np.arange(0, 70, 1 / 24)[:, None]
weekend = (hours[:, 0] % 7) > 5
load = np.sin(2 * np.pi * hours[:, 0]) * np.where(weekend, 0.4, 1.0) - 0.5 * weekend
load = load + 0.15 * rng.normal(size=len(load))
seen = hours[:, 0] < 56
models = {
    "Gaussian kernel": KernelMachine(Gaussian(gamma=5.0)),
    "Weekly, exact": KernelMachine(prior),
    "Weekly, 300 frequencies": SpectralRidge(
        SpectralFeatures(prior, n_components=300, sampling="qmc", random_state=0)
    ),
}
forecasts = {}
for name, model in models.items():
    forecasts[name] = model.fit(hours[seen], load[seen]).predict(hours)
    missed = forecasts[name][~seen] - load[~seen]
    print(f"{name:24} R² of the next two weeks: {1 - np.mean(missed**2) / load[~seen].var():.2f}")

# %%
# Left: the kernel is large for the same hour of other weeks, and slowly decreases. Right: the last
# week of the training data, and the forecasts.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(12, 4), layout="constrained", width_ratios=[1, 1.6]
)
left.plot(days, sampled, color="#E69F00", linewidth=3, label="20 000 draws")
left.plot(days, closed, color="#0072B2", linewidth=1, label="closed form")
left.set(xlabel="days apart", ylabel="kernel", title="kernel: draws and closed form")
left.legend()
right.plot(hours, load, ".", color="#999999", markersize=2.5)
right.axvline(56, color="black", linestyle=":", linewidth=1)
for name, color in (("Gaussian kernel", "#D55E00"), ("Weekly, exact", "#0072B2")):
    right.plot(hours, forecasts[name], color=color, linewidth=1.4, label=name)
right.set(xlabel="day", ylabel="load", title="forecast of two weeks", xlim=(49, 70))
right.legend(loc="lower left")
plt.show()
