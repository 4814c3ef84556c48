"""
Rows with missing cells, and rows unlike the training rows
==========================================================

New rows may lack values in columns that were complete in training. Predictions are then averages over the values of similar training rows,
and bounds become wider if the missing value matters.

``novelty`` shows how far a row lies outside the training rows.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from bochner import SpectralRegressor

rng = np.random.default_rng(0)


def houses(n_rows):
    """Area, rooms (which depend on the area) and distance to the center; price."""
    area = rng.lognormal(4.5, 0.35, n_rows)
    rooms = np.maximum(1, np.round(area / 28 + 0.6 * rng.normal(size=n_rows)))
    distance = rng.uniform(0, 20, n_rows)
    price = 3 * area + 12 * rooms + 150 * np.exp(-distance / 4) + 10 * rng.normal(size=n_rows)
    return np.column_stack([area, rooms, distance]), price


X, y = houses(500)
X_test, y_test = houses(3000)
model = SpectralRegressor(random_state=0).fit(X, y)

# %%
# Blank one column of the test rows at a time. The number of rooms follows from the area, so a missing value hardly matters. The distance to
# the center does not follow from other columns.

names = ["complete", "no area", "no rooms", "no distance", "a quarter of all cells"]
tables = [X_test] + [X_test.copy() for _ in names[1:]]
for j in range(3):
    tables[j + 1][:, j] = np.nan
tables[4][rng.random(X_test.shape) < 0.25] = np.nan
widths, shares = [], []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the warning that names these columns
    for name, table in zip(names, tables):
        lower, upper = model.predict_interval(table, level=0.9).T
        widths.append(np.mean(upper - lower))
        shares.append(np.mean((lower <= y_test) & (y_test <= upper)))
        print(f"{name:23} width {widths[-1]:5.0f}   coverage {shares[-1]:.1%}")

# %%
# Left: bounds contain the price about as often as stated, and get as wide as this needs. Right: for new rows of the same kind, novelty is
# uniform between 0 and 1. For houses 20 km farther from the center it is near 1.

far = X_test.copy()
far[:, 2] += 20
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.0), layout="constrained")
bars = left.barh(names[::-1], widths[::-1], color="#0072B2", alpha=0.7)
left.bar_label(bars, [f"coverage {share:.1%}" for share in shares[::-1]], padding=4)
left.set(xlabel="mean width of intervals at level 0.9", xlim=(0, 1.5 * max(widths)))
bins = np.linspace(0, 1, 21)
for label, rows, color in (
    ("like the training rows", X_test, "#0072B2"),
    ("20 km farther", far, "#D55E00"),
):
    weights = np.full(len(rows), 1 / len(rows))
    right.hist(model.novelty(rows), bins, weights=weights, color=color, alpha=0.6, label=label)
right.set(xlabel="novelty", ylabel="share of rows", yscale="log")
right.legend(loc="upper left")
plt.show()
