"""
Why is this flat expensive? Exact Shapley values of one row
===========================================================

A model predicts rents from a few columns. The Shapley values of a row split its prediction among the columns: they add up to the difference
between this prediction and the mean prediction. For d columns their definition has 2^d terms, so for most models they are estimated from
samples. The kernels of ``SpectralRegressor`` are products over columns. So the sum is an integral of a polynomial, which a few nodes of a
quadrature compute to the last digits.

The flats are generated. Rents rise with the floor if there is a lift, and fall with it otherwise, so floor and lift share one effect.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bochner import SpectralRegressor
from bochner.plots import plot_shapley

rng = np.random.default_rng(0)
n_flats = 800
flats = pd.DataFrame(
    {
        "size": rng.gamma(9.0, 7.0, n_flats).round(),
        "floor": rng.integers(0, 9, n_flats),
        "lift": rng.choice(["yes", "no"], n_flats),
        "year": rng.integers(1890, 2024, n_flats),
        "district": rng.choice(["north", "center", "harbor"], n_flats, p=[0.5, 0.3, 0.2]),
        "pets": rng.choice(["yes", "no"], n_flats),
    }
)


def rent(flats):
    """Return the rent without noise."""
    with_lift = np.where(flats["lift"] == "yes", 1.0, -1.0)
    place = flats["district"].map({"north": 9.0, "center": 15.0, "harbor": 12.0}).astype(float)
    age = np.cos((flats["year"] - 1890) / 134 * 2 * np.pi)  # old and new ones are preferred
    return place * flats["size"] + 25 * with_lift * flats["floor"] + 90 * age


model = SpectralRegressor(random_state=0).fit(flats, rent(flats) + rng.normal(0, 30, n_flats))

# %%
# The values of all flats: one row for each flat, one column for each column of the table. ``pets`` has no effect on the rent.

values = model.shapley(flats)
print(values)
for name, size in values.strongest():
    print(f"{name:10} {size:6.1f}")

# %%
# One flat. The bars lead from the base value, the mean prediction over the background, to the prediction for this flat.

high = flats.index[(flats["floor"] == 8) & (flats["lift"] == "yes")][0]
figure = plot_shapley(values, row=high)

# %%
# The values of the floor, one dot for each flat. With a lift they rise with the floor, and without one they fall. Floor and lift share their
# joint effect, so each has half of it: 12.50 instead of 25 for each floor.

figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for lift, color in (("yes", "#D55E00"), ("no", "#0072B2")):
    rows = (flats["lift"] == lift).to_numpy()
    floors = flats["floor"][rows] + rng.uniform(-0.2, 0.2, rows.sum())
    axis.plot(floors, values.values[rows, 1], ".", color=color, markersize=4, label=f"lift: {lift}")
axis.axhline(0, color="black", linewidth=0.8)
axis.set(xlabel="floor", ylabel="Shapley value of the floor")
axis.legend()
axis.grid(alpha=0.3)
plt.show()
