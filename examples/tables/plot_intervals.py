"""
Prediction intervals that adapt to the noise
============================================

``predict_interval`` returns bounds that contain a new value with the probability you choose. They are computed from residuals of rows that
were left out. The size of residuals may depend on the row, so intervals are wide where the noise is large.

The data is one curve whose noise grows: the readings of a sensor that gets less precise with heat.
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
# How often do intervals contain the new value? We count this for 5000 new rows at each level: for all of them, for the coldest third and for
# the hottest third. Intervals of one width would be right on average, but wrong in both thirds.

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
# Left: intervals around the curve. Right: coverage against the level. The hottest third is covered a little less often than stated, the
# coldest a little more often. As printed above, intervals of one width contain every cold reading, and far too few of the hot ones.

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
right.set(xlabel="level", ylabel="coverage of 5000 new rows", title="coverage", aspect="equal")
right.grid(alpha=0.3)
right.legend()
plt.show()
