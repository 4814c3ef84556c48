"""
Fit a file that is larger than memory
=====================================

``open_rows`` opens a file as ``X``. The numbers are copied once: up to 32 MiB into memory, and more
into a temporary file that is mapped into memory. This example writes 150 000 rows to a CSV file and
fits a logistic regression on random features. The matrix of features is never stored. The time
grows with the number of rows, but the memory does not.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from bochner import Gaussian, SpectralFeatures, SpectralLogistic, open_rows

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.csv"


def probability(X):
    """Return the probability of the second class: a spiral with two arms."""
    angle, radius = np.arctan2(X[:, 1], X[:, 0]), np.linalg.norm(X, axis=1)
    return 1 / (1 + np.exp(-4 * np.sin(2 * angle + 3 * radius)))


with path.open("w") as file:
    file.write("east,north,label\n")
    for _ in range(15):
        X = rng.normal(size=(10_000, 2)).round(4)
        labels = rng.random(len(X)) < probability(X)
        file.writelines(
            f"{east},{north},{'yes' if label else 'no'}\n"
            for (east, north), label in zip(X, labels)
        )
print(f"{path.stat().st_size / 1e6:.1f} MB on disk")

# %%
# Newton's method needs a few passes over the rows. ``tracemalloc`` measures the largest memory of
# the arrays during the fit. The features of all rows would take 480 MB.

tracemalloc.start()
rows = open_rows(path, ["east", "north"], target="label")
model = SpectralLogistic(
    SpectralFeatures(Gaussian(gamma=3.0), n_components=200, random_state=0), C=100
)
model.fit(rows, rows.y)
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
new = rng.normal(size=(20_000, 2))
true = probability(new)
predicted = model.predict_proba(new)[:, 1]
print(
    f"peak of the fit {peak / 1e6:.0f} MB; mean error of the probabilities {np.abs(predicted - true).mean():.3f}"
)

# %%
# Left: the true probabilities, with which the labels were drawn. Middle: the probabilities of the
# model. Right: both on new points.

side = np.linspace(-3, 3, 150)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
for axis, values, title in (
    (axes[0], probability(grid), "truth"),
    (axes[1], model.predict_proba(grid)[:, 1], "fitted to the file"),
):
    image = axis.pcolormesh(
        side, side, values.reshape(150, 150), cmap="RdBu_r", vmin=0, vmax=1, rasterized=True
    )
    axis.set(title=title, xlabel="east", ylabel="north", aspect="equal")
figure.colorbar(image, ax=axes[1], label="probability of yes")
axes[2].hexbin(true, predicted, gridsize=40, bins="log", cmap="Blues", extent=(0, 1, 0, 1))
axes[2].plot([0, 1], [0, 1], "--", color="black", linewidth=0.8)
axes[2].set(xlabel="true probability", ylabel="predicted probability", title="20 000 new points")
folder.cleanup()
plt.show()
