"""
Trend and season: sums and products of priors
=============================================

Priors can be added and multiplied: ``p + q`` is a kernel for sums of two functions, ``p * q`` for
functions with the properties of both. For a smooth trend plus a season that slowly changes its
shape, write ``Gaussian() + Periodic(period=1.0) * Gaussian()``. ``Evidence`` learns the lengths and
the weights of all parts; nothing else is tuned.

The series is generated to be similar to that of carbon dioxide on Mauna Loa: monthly means over 40
years, a rising trend, and a growing season.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import Evidence, Gaussian, KernelMachine
from bochner.expansions import KernelExpansion
from bochner.priors import Periodic

rng = np.random.default_rng(0)
years = np.arange(0, 40, 1 / 12)
season = (1 + 0.02 * years) * (
    2.8 * np.sin(2 * np.pi * years) + 0.8 * np.cos(4 * np.pi * years + 0.5)
)
level = 315 + 0.8 * years + 0.012 * years**2 + season
level = level + 0.25 * rng.normal(size=len(years))
X, seen = years[:, None], years < 28

# %%
# The models are fitted to 28 years and predict the next 12. One smooth kernel treats the season as
# noise; the sum of two parts continues it. Each model also has a linear part, which is learned,
# too.

priors = {
    "one Gaussian kernel": Gaussian(),
    "trend + season": Gaussian() + Periodic(period=1.0),
    "trend + season × decay": Gaussian() + Periodic(period=1.0) * Gaussian(),
}
models = {}
for name, prior in priors.items():
    learned = Evidence().learn(prior, X[seen], level[seen], rng=0)
    model = KernelMachine(learned.prior, alpha=learned.noise, linear=learned.linear)
    models[name] = model.fit(X[seen], level[seen])
    missed = model.predict(X[~seen]) - level[~seen]
    print(
        f"{name:24} error {np.sqrt(np.mean(missed**2)):.2f} ppm, evidence {-learned.objective:.2f}"
    )

# %%
# The fitted function is a sum of kernels, and each kernel is a sum of two parts. So the
# coefficients with one part of the kernel give this part of the function. The learned lengths show
# how fast each part changes.

best = models["trend + season × decay"]
decay = best.prior_.right.prior.right
print(f"trend:  length {1 / np.sqrt(2 * best.prior_.left.gamma[0]):.0f} years")
print(f"season: changes its shape over {1 / np.sqrt(2 * decay.gamma[0]):.0f} years")
whole = best.expansion_
part = KernelExpansion(
    best.prior_.right, whole.points, whole.coefficients, 0 * whole.slopes, 0 * whole.intercept
)
seasonal = part.evaluate(X)[:, 0]

# %%
# Left: the forecast with two standard deviations of new measurements, and the forecast of one
# kernel. Right: the season minus its mean over the year, in the first and the last year of the
# training data, and ten years later.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(12, 4.2), layout="constrained", width_ratios=[1.9, 1]
)
mean, deviation = best.predict(X, return_std=True)
left.plot(years[seen], level[seen], ".", color="black", markersize=2.5, label="training data")
left.plot(years[~seen], level[~seen], ".", color="#999999", markersize=3.5, label="later data")
left.plot(years, models["one Gaussian kernel"].predict(X), color="#D55E00", label="one kernel")
left.plot(years, mean, color="#0072B2", linewidth=1, label="trend + season × decay")
left.fill_between(
    years, mean - 2 * deviation, mean + 2 * deviation, color="#0072B2", alpha=0.25, linewidth=0
)
left.axvline(28, color="black", linestyle=":", linewidth=1)
left.set(xlim=(18, 40), ylim=(328, 382), xlabel="year", ylabel="ppm", title="12 years ahead")
left.legend(loc="upper left")
for start, color in ((0, "#999999"), (27, "#56B4E9"), (37, "#0072B2")):
    one = (years >= start) & (years < start + 1)
    swing = seasonal[one] - seasonal[one].mean()
    right.plot(12 * (years[one] - start), swing, "o-", color=color, label=f"year {start}")
right.set(xlabel="month", ylabel="ppm", title="the season alone")
right.axhline(0, color="black", linewidth=0.6)
right.legend()
plt.show()
