"""
Intervals that are wide where they have to be
=============================================

A prediction without its uncertainty is half of an answer. ``predict_interval`` gives the ends that a new value lies between with the probability you ask
for. They come from residuals of rows that were left out, and from how large residuals are in which part of the table, so that they are wide
where the noise is.

The data is one curve whose noise grows: a sensor that is read less and less well the hotter it gets.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpectralRegressor

rng = np.random.default_rng(0)


def measured(n_rows):
    """Temperatures and readings of the sensor."""
    heat = rng.uniform(0, 10, n_rows)
    return heat[:, None], np.sin(heat) + 0.3 * heat + (0.05 + 0.012 * heat**2) * rng.normal(
        size=n_rows
    )


X, y = measured(600)
X_test, y_test = measured(5000)
model = SpectralRegressor(random_state=0).fit(X, y)

# %%
# How often does the truth lie between the ends? At each level we count on 5000 new rows, over all of them and in the coldest and the hottest third
# apart. Intervals of one width would be right on average and wrong in both of these.

levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
places = {
    "all rows": X_test[:, 0] >= 0,
    "coldest third": X_test[:, 0] < 10 / 3,
    "hottest third": X_test[:, 0] > 20 / 3,
}
covered = {name: [] for name in places}
for level in levels:
    lower, upper = model.predict_interval(X_test, level=level).T
    inside = (lower <= y_test) & (y_test <= upper)
    for name, where in places.items():
        covered[name].append(inside[where].mean())
for name, shares in covered.items():
    print(f"{name:14}", *(f"{level:.0%}: {share:.1%}  " for level, share in zip(levels, shares)))
missed = np.abs(y_test - model.predict(X_test))
one_width = {
    name: np.mean(missed[where] < np.quantile(missed, 0.9)) for name, where in places.items()
}
print("one width for all, 90 %:", *(f"{name} {share:.1%}" for name, share in one_width.items()))

# %%
# Left: bands around the curve. Right: what was promised against what was kept. The hottest third is still a little short of its promise, the
# coldest has a little too much. Intervals of one width, as printed above, would hold every cold reading and far too few of the hot ones.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4.2), layout="constrained", width_ratios=[1.5, 1]
)
grid = np.linspace(0, 10, 300)[:, None]
for level, shade in ((0.99, 0.15), (0.9, 0.25), (0.5, 0.4)):
    lower, upper = model.predict_interval(grid, level=level).T
    left.fill_between(
        grid[:, 0], lower, upper, color="#0072B2", alpha=shade, linewidth=0, label=f"{level:.0%}"
    )
left.plot(grid, model.predict(grid), color="#0072B2", linewidth=2)
left.plot(X, y, ".", color="black", markersize=3, alpha=0.6)
left.set(xlabel="heat", ylabel="reading", title="600 readings, and intervals for new ones")
left.legend(loc="upper left")
right.plot([0.45, 1], [0.45, 1], "--", color="black", linewidth=0.8)
for (name, shares), color, marker in zip(covered.items(), ("black", "#0072B2", "#D55E00"), "os^"):
    right.plot(levels, shares, marker=marker, color=color, markersize=5, linewidth=1, label=name)
right.set(xlabel="promised", ylabel="kept on 5000 new rows", title="coverage", aspect="equal")
right.grid(alpha=0.3)
right.legend()
plt.show()
