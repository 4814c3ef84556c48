"""
Rows that arrive in batches
===========================

Rows arrive each day and are not kept. ``partial_fit`` of the ridges is exact: after any number of
batches, the model is the one that a single ``fit`` on all rows gives, because a ridge needs only
sums over the rows. Two fits, for example from two machines, can be merged in the same way.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import Gaussian, SpectralFeatures, SpectralRidge

rng = np.random.default_rng(0)


def day(n_rows=200):
    """Return the rows of one day."""
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    return X, np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.3 * rng.normal(size=n_rows)


X_test = rng.uniform(-2, 2, size=(3000, 2))
y_test = np.sin(3 * X_test[:, 0]) * np.cos(2 * X_test[:, 1])

# %%
# Thirty days. The rows of each day are added and then deleted; the ridge is chosen again by
# generalized cross-validation from the sums. With a number for ``gamma`` and a seed, all models
# have the same frequencies, which do not depend on rows.

features = SpectralFeatures(Gaussian(gamma=2.0), n_components=100, random_state=0)
stream, days, scores = SpectralRidge(features), [], []
for _ in range(30):
    days.append(day())
    stream.partial_fit(*days[-1])
    scores.append(stream.score(X_test, y_test))

# %%
# The same rows at once, and in two halves that are merged.

X, y = (np.concatenate(part) for part in zip(*days))
whole = SpectralRidge(features, alpha=stream.alpha_).fit(X, y)
first, second = SpectralRidge(features), SpectralRidge(features)
for number, rows in enumerate(days):
    (first if number < 15 else second).partial_fit(*rows)
merged = first.merge(second)
gaps = {"fit on all rows": whole, "two halves, merged": merged}
for name, model in gaps.items():
    gaps[name] = np.abs(model.predict(X_test) - stream.predict(X_test))
    print(f"{name:19} largest difference to the stream {gaps[name].max():.1e}")
kept = sum(np.asarray(value).nbytes for value in (stream.coef_, stream.measure_.frequencies))
print(f"rows seen {len(X)}; coefficients and frequencies of the model take {kept / 1024:.0f} kB")

# %%
# Left: R² on test rows after each day. Right: the differences between predictions of the other two
# models and of the stream for 3000 rows. They are as small as rounding errors.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
left.plot(range(1, 31), scores, "o-", color="#0072B2", markersize=4)
left.set(xlabel="day (200 rows each)", ylabel="R² on test rows", title="R² after each day")
left.grid(alpha=0.3)
for (name, gap), color in zip(gaps.items(), ("#0072B2", "#D55E00")):
    right.hist(np.log10(np.maximum(gap, 1e-18)), bins=40, color=color, alpha=0.6, label=name)
right.set(
    xlabel="log₁₀ of the difference of predictions",
    ylabel="test rows",
    title="differences to the stream",
    xlim=(-19, 0),
)
right.legend()
plt.show()
