"""
Rows on a Dask cluster
======================

A Dask array takes the place of ``X``; nothing else changes. The workers compute sums over their
rows, and only these sums are sent to the client. For 150 frequencies this is a matrix of 300 by
300, for any number of rows. Predictions are lazy Dask arrays.

The cluster of this example is two threads of this machine. The code is the same for two hundred
machines.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from bochner import Gaussian, SpectralFeatures, SpectralRidge

client = Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)

# %%
# 120 000 rows in 12 partitions are generated on the workers. The target is a smooth function with
# noise.

X = da.random.default_rng(0).uniform(-2, 2, size=(120_000, 3), chunks=(10_000, 3))
noise = da.random.default_rng(1).normal(size=len(X), chunks=10_000)
signal = da.sin(2 * X[:, 0]) * da.cos(X[:, 1]) + 0.3 * X[:, 2] ** 2
y = signal + 0.5 * noise

features = SpectralFeatures(Gaussian(gamma=0.5), n_components=150, random_state=0)
model = SpectralRidge(features).fit(X, y)
prediction = model.predict(X)
print(type(prediction).__name__, prediction.shape, "in", prediction.npartitions, "partitions")
print(
    f"R² against the signal without noise: {1 - float(((prediction - signal) ** 2).mean() / signal.var()):.5f}"
)

# %%
# The model is the one that a NumPy array gives. To check this, the rows are moved to this machine
# once.

rows, values = X.compute(), y.compute()
local = SpectralRidge(features).fit(rows, values)
difference = np.abs(local.predict(rows[:5000]) - prediction[:5000].compute())
print(f"largest difference of predictions: {difference.max():.1e}")

# %%
# The error falls with the number of rows. The signal without noise is known, so the error can be
# measured far below the noise. Only the last point needs all partitions.

sizes = [1000, 4000, 15_000, 40_000, 120_000]
errors = []
for size in sizes:
    part = SpectralRidge(features).fit(X[:size], y[:size])
    errors.append(float(da.sqrt(((part.predict(X[:20_000]) - signal[:20_000]) ** 2).mean())))

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
left.loglog(sizes, errors, "o-", color="#0072B2", label="root mean square error")
left.loglog(
    sizes,
    errors[0] * np.sqrt(sizes[0] / np.array(sizes)),
    "--",
    color="black",
    linewidth=0.8,
    label="proportional to 1/√rows",
)
left.set(xlabel="rows on the cluster", ylabel="error", title="more rows, less error")
left.grid(alpha=0.3)
left.legend()
line = np.column_stack([np.linspace(-2, 2, 200), np.zeros(200), np.zeros(200)])
near = rows[(np.abs(rows[:, 1]) < 0.1) & (np.abs(rows[:, 2]) < 0.3)]
targets_near = values[(np.abs(rows[:, 1]) < 0.1) & (np.abs(rows[:, 2]) < 0.3)]
right.plot(
    near[:, 0], targets_near, ".", color="#999999", markersize=2.5, label="rows near the cut"
)
right.plot(
    line[:, 0], model.predict(line), color="#0072B2", linewidth=2, label="model of 120 000 rows"
)
right.plot(line[:, 0], np.sin(2 * line[:, 0]), "--", color="black", linewidth=1, label="signal")
right.set(xlabel="first column, the others zero", ylabel="target", title="a cut through the model")
right.legend()
client.close()
plt.show()
