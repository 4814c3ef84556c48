"""
Predictions that rise with a column
===================================

Some relations are known before there are data: a larger flat does not cost less, and a longer way to the station does not raise the rent.
A model that was fitted to few noisy rows may violate them. ``monotonic_cst`` states the directions. Predictions are then sorted along these
columns (rearrangement). The result is monotone for every row, and never farther from a monotone truth.

The table is generated, so that the truth is known: rents of flats rise with the size and fall with the distance to the station.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bochner import SpectralRegressor


def flats(n_rows, seed):
    """Sizes, distances and ages of flats."""
    rng = np.random.default_rng(seed)
    columns = {"size": rng.gamma(6, 12, n_rows), "distance": rng.uniform(0, 4, n_rows)}
    return pd.DataFrame(columns | {"age": rng.uniform(0, 80, n_rows)})


def rent(table):
    """Mean rent, monotone in size and distance, but not in age."""
    steps = 3 * np.tanh((table["size"] - 60) / 12)
    near = 3 * np.exp(-2 * table["distance"])
    return 9 + steps + near + np.cos(table["age"] / 13)


table = flats(120, seed=0)
observed = rent(table) + 2.5 * np.random.default_rng(3).normal(size=len(table))

# %%
# Both models have the same kernels. The second one sorts its predictions along two columns. Its error on the true rents of new flats is
# smaller.

plain = SpectralRegressor(random_state=0).fit(table, observed)
directions = {"size": 1, "distance": -1}
monotone = SpectralRegressor(random_state=0, monotonic_cst=directions).fit(table, observed)
new = flats(4000, seed=2)
for name, model in (("plain", plain), ("monotone", monotone)):
    print(f"{name:9} RMSE {np.sqrt(np.mean((model.predict(new) - rent(new)) ** 2)):.3f}")

# %%
# Rents of flats that differ in one column only, with bounds for nine of ten observations. Sorting removes dips. Where the plain curve
# already has the right direction, both curves are the same. The bounds are sorted, too.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained", sharey=True)
one = pd.DataFrame({"size": [70.0], "distance": [1.5], "age": [40.0]})
for axis, name, end in zip(axes, directions, (170, 4)):
    grid = one.loc[np.zeros(400, int)].assign(**{name: np.linspace(0, end, 400)})
    lower, upper = monotone.predict_interval(grid, level=0.9).T
    axis.fill_between(grid[name], lower, upper, color="#0072B2", alpha=0.15, linewidth=0)
    axis.plot(grid[name], rent(grid), "--", color="black", linewidth=1, label="truth")
    axis.plot(grid[name], plain.predict(grid), color="#D55E00", linewidth=1.5, label="plain")
    axis.plot(grid[name], monotone.predict(grid), color="#0072B2", linewidth=2, label="monotone")
    axis.plot(table[name], np.full(len(table), 0.3), "|", color="black", alpha=0.4, markersize=6)
    axis.set(xlabel=name, title=f"{name}: {'rises' if directions[name] > 0 else 'falls'}")
    axis.grid(alpha=0.3)
axes[0].set(ylabel="rent", ylim=(0, 18))
axes[0].legend(loc="upper left")
plt.show()
