"""
Boosting with waves, round by round
===================================

``FourierBoostingRegressor`` adds one cosine wave in each round, as boosted trees add one tree. Each
round finds the wave that explains most of the remaining error. So the model is a sum of cosines and
a linear trend. This example shows how it grows.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import EarlyStopping, FourierBoostingRegressor

rng = np.random.default_rng(0)


def truth(x):
    """Return a slow wave, a fast wave for x > 3, and a trend."""
    return np.sin(1.5 * x) + 0.6 * np.sin(7 * x) * (x > 3) + 0.3 * x


X = np.sort(rng.uniform(0, 6, size=(400, 1)), axis=0)
y = truth(X[:, 0]) + 0.2 * rng.normal(size=len(X))
X_val = rng.uniform(0, 6, size=(400, 1))
y_val = truth(X_val[:, 0]) + 0.2 * rng.normal(size=len(X_val))

# %%
# Validation rows decide when to stop: the model keeps the rounds up to the best one.

model = FourierBoostingRegressor(n_rounds=100, stopping=EarlyStopping(patience=30), random_state=0)
model.fit(X, y, X_val=X_val, y_val=y_val)
print(f"{model.n_rounds_} rounds kept, R² on the validation rows {model.score(X_val, y_val):.3f}")

# %%
# Top: the sum of waves after 1, 3, 10 and all kept rounds. The dashed line is the truth. Bottom:
# the loss on training rows and on validation rows. When only the training loss still falls, further
# rounds are dropped.

grid = np.linspace(0, 6, 500)[:, None]
stages = list(model.staged_predict(grid))
figure = plt.figure(figsize=(11, 6), layout="constrained")
panels = figure.subplot_mosaic([["a", "b", "c", "d"], ["loss"] * 4], height_ratios=[1.1, 1])
for axis, rounds in zip((panels[name] for name in "abcd"), (1, 3, 10, model.n_rounds_)):
    axis.plot(X, y, ".", color="#999999", markersize=2.5)
    axis.plot(grid, truth(grid), "--", color="black", linewidth=1)
    axis.plot(grid, stages[rounds - 1], color="#0072B2", linewidth=2)
    axis.set(title=f"{rounds} round{'s' * (rounds > 1)}", xlabel="x", ylim=(-2, 4))
loss = panels["loss"]
loss.plot(
    np.arange(1, len(model.train_loss_) + 1),
    model.train_loss_,
    color="#0072B2",
    label="training rows",
)
loss.plot(
    np.arange(1, len(model.validation_loss_) + 1),
    model.validation_loss_,
    color="#D55E00",
    label="validation rows",
)
loss.axvline(model.n_rounds_, color="black", linestyle=":", linewidth=1, label="rounds kept")
loss.set(xlabel="round", ylabel="mean loss", yscale="log", xlim=(0, None))
loss.legend()
loss.grid(alpha=0.3)
plt.show()
