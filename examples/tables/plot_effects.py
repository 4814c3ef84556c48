"""
What makes a house expensive: effects of columns with confidence bands
======================================================================

``effects`` splits the predictions of a model into a constant, one curve for each column, one surface for each pair of columns, and a rest.
The parts add up to the prediction of every row. The effects are centered partial dependence of the whole model. Regressors can also compute
confidence bands for them.

The table is generated and resembles the California housing data: districts between a coast and a desert, two cities, incomes, ages of
houses. So we know the true effects.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bochner import SpectralRegressor

rng = np.random.default_rng(0)
n_rows = 800
east, north = rng.uniform(0, 10, n_rows), rng.uniform(0, 10, n_rows)
sea = np.where(east + rng.normal(0, 1, n_rows) < 1.5, "yes", "no")
columns = {"income": rng.gamma(4.0, 1.0, n_rows), "age": rng.uniform(1, 52, n_rows)}
columns |= {"rooms": rng.normal(5.4, 1.1, n_rows), "east": east, "north": north, "sea view": sea}
table = pd.DataFrame(columns)

cities = 1.6 * np.exp(-((east - 3) ** 2 + (north - 2.5) ** 2) / 3)
cities += 1.2 * np.exp(-((east - 5.5) ** 2 + (north - 8) ** 2) / 4)
truths = {
    "income": 1.4 * np.tanh((table["income"] - 3) / 2),  # more income, up to a point
    "age": 0.25 * np.cos(table["age"] / 52 * 2 * np.pi),  # new and old houses are liked
    "rooms": 0 * table["rooms"],
}
price = sum(truths.values()) + 0.5 * (sea == "yes") + cities + rng.normal(0, 0.3, n_rows)

# %%
# Fit a model, and compute its effects. ``strongest`` lists them by their standard deviation over the rows.

model = SpectralRegressor(random_state=0).fit(table, price)
effects = model.effects(table[::2], level=0.9, pairs=[("east", "north")])
for name, size in effects.strongest(5):
    print(f"{name:15} {size:.2f}")
print("they add up to the prediction:", np.allclose(effects.total(), model.predict(table[::2])))

# %%
# Top: the effects of three columns with bands of 90 %, and the true effects as dashed lines. Bottom: the true prices around the two cities,
# the effects of both coordinates and their pair, and the effect of a view of the sea, which truly adds 0.5.

figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), layout="constrained")
for axis, (name, truth) in zip(axes[0], truths.items()):
    place, rows = effects.names.index(name), np.argsort(table[name].to_numpy()[::2])
    values, effect = table[name].to_numpy()[::2][rows], effects.main[rows, place]
    half = effects.bands.main[rows, place]
    axis.fill_between(values, effect - half, effect + half, color="#0072B2", alpha=0.25)
    axis.plot(values, effect, color="#0072B2", linewidth=2, label="effect")
    truth = (truth - truth.mean()).to_numpy()[::2][rows]
    axis.plot(values, truth, "--", color="black", linewidth=1, label="truth")
    axis.set(ylim=(-1.9, 1.3), xlabel=name)
    axis.grid(alpha=0.3)
axes[0, 0].set_ylabel("change of the price")
axes[0, 0].legend()

east_and_north = [effects.names.index(name) for name in ("east", "north")]
place = effects.main[:, east_and_north].sum(axis=1) + effects.pairs[:, 0]
for axis, values, title in (
    (axes[1, 0], (cities - cities.mean())[::2], "truth: two cities"),
    (axes[1, 1], place, "effects of east, north and their pair"),
):
    colors = {"c": values, "cmap": "RdBu_r", "vmin": -1.6, "vmax": 1.6}
    dots = axis.scatter(east[::2], north[::2], s=14, linewidths=0, **colors)
    axis.set(title=title, xlabel="east", ylabel="north", aspect="equal")
figure.colorbar(dots, ax=axes[1, 1])
view, first = effects.names.index("sea view"), [list(sea[::2]).index(x) for x in ("no", "yes")]
heights, errors = effects.main[first, view], effects.bands.main[first, view]
bars = axes[1, 2].bar(["no", "yes"], heights, color="#0072B2", width=0.5, yerr=errors, capsize=4)
axes[1, 2].set(xlabel="sea view", ylabel="change of the price")
axes[1, 2].axhline(0, color="black", linewidth=0.8)
plt.show()
