"""
What makes a house dear: exact effects of columns
=================================================

A prediction is worth more if one sees what it is made of. The product kernels of the blend split exactly: a constant, one curve for each
column, one surface for each pair of columns, and a rest, which add up to the prediction of every row, to the last digits. Nothing is
sampled. Here we take one product kernel, ``priors=Anova()``, instead of a blend of three, so that little is left to the rest.

The classic table for this is California housing, which has to be fetched from the internet. This one is made here in its likeness:
districts between a coast and a desert, two cities, incomes, ages of houses. We know how the prices were made, so we can see whether the
effects tell the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bochner import Anova, SpectralRegressor

rng = np.random.default_rng(0)
n_rows = 1500
east, north = rng.uniform(0, 10, n_rows), rng.uniform(0, 10, n_rows)
table = pd.DataFrame(
    {
        "income": rng.gamma(4.0, 1.0, n_rows),
        "age": rng.uniform(1, 52, n_rows),
        "rooms": rng.normal(5.4, 1.1, n_rows),
        "east": east,
        "north": north,
        "sea view": np.where(east + rng.normal(0, 1, n_rows) < 1.5, "yes", "no"),
    }
)


def city(x, y):
    """How much nearness to one of two cities adds."""
    return 1.6 * np.exp(-((x - 3) ** 2 + (y - 2.5) ** 2) / 3) + 1.2 * np.exp(
        -((x - 5.5) ** 2 + (y - 8) ** 2) / 4
    )


price = (
    1.4 * np.tanh((table["income"] - 3) / 2)  # more income, up to a point
    + 0.25
    * np.cos(
        table["age"] / 52 * 2 * np.pi
    )  # new and old houses are liked, those in between less so
    + 0.5 * (table["sea view"] == "yes")
    + city(east, north)
    + rng.normal(0, 0.3, n_rows)
)

# %%
# Fit, and ask. ``strongest`` lists effects by how much they vary over the rows; ``rooms`` has no effect, and a pair does.

model = SpectralRegressor(priors=Anova(), random_state=0).fit(table, price)
effects = model.effects(table)
for name, size in effects.strongest(6):
    print(f"{name:15} {size:.2f}")
print("they add up to the prediction:", np.allclose(effects.total(), model.predict(table)))

# %%
# Three columns as curves with what the prices were made with, dashed, and the two coordinates with their pair as a map. The cities are where we
# put them. (Dashed curves and maps are shifted to have mean zero, as effects have.)

figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), layout="constrained")
truths = {
    "income": 1.4 * np.tanh((table["income"] - 3) / 2),
    "age": 0.25 * np.cos(table["age"] / 52 * 2 * np.pi),
    "rooms": 0 * table["rooms"],
}
for axis, (name, truth) in zip(axes[0], truths.items()):
    order = np.argsort(table[name].to_numpy())
    values = table[name].to_numpy()[order]
    effect = effects.main[order, effects.names.index(name)]
    axis.plot(values, effect - effect.mean(), color="#0072B2", linewidth=2, label="effect")
    axis.plot(
        values,
        (truth - truth.mean()).to_numpy()[order],
        "--",
        color="black",
        linewidth=1,
        label="truth",
    )
    axis.set(title=name, ylim=(-1.9, 1.3), xlabel=name)
    axis.grid(alpha=0.3)
axes[0, 0].set_ylabel("effect on the price")
axes[0, 0].legend()

place = effects.main[:, effects.names.index("east")] + effects.main[:, effects.names.index("north")]
place = place + effects.pairs[:, effects.pair_names.index(("east", "north"))]
truth = city(east, north)
limit = 1.6
for axis, values, title in (
    (axes[1, 0], truth - truth.mean(), "truth: two cities"),
    (axes[1, 1], place - place.mean(), "effects of east, north and their pair"),
):
    dots = axis.scatter(
        east, north, c=values, cmap="RdBu_r", vmin=-limit, vmax=limit, s=14, linewidths=0
    )
    axis.set(title=title, xlabel="east", ylabel="north", aspect="equal")
figure.colorbar(dots, ax=axes[1, 1])
view = effects.main[:, effects.names.index("sea view")]
levels = ["no", "yes"]
bars = axes[1, 2].bar(
    levels,
    [view[table["sea view"] == level].mean() for level in levels],
    color="#0072B2",
    width=0.5,
)
axes[1, 2].bar_label(bars, fmt="%+.2f")
axes[1, 2].set(title="sea view (made with a step of 0.5)", ylim=(-0.2, 0.6))
axes[1, 2].axhline(0, color="black", linewidth=0.8)
plt.show()
