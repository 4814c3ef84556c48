"""
A robot arm: learned kernels and trees on a smooth function
===========================================================

How far is the hand of a robot from its target, given the angles of its joints? The answer is a smooth function in which every column
interacts with every other one. Trees approximate it by boxes and need many rows. A learned kernel approximates it by smooth functions.

A well-known table of this kind is kin40k, which has to be downloaded. Here the table is computed: an arm of eight joints in space, and the
distance of its hand from a fixed point.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from bochner import SpectralRegressor


def distance_of_hand(angles):
    """Return the distance of the end of an arm from (1, 0.5, 0.5); joints turn about z and y in turn."""
    n_rows, n_joints = angles.shape
    turned, hand = np.tile(np.eye(3), (n_rows, 1, 1)), np.zeros((n_rows, 3))
    for joint in range(n_joints):
        cos, sin, rotation = (
            np.cos(angles[:, joint]),
            np.sin(angles[:, joint]),
            np.zeros((n_rows, 3, 3)),
        )
        first, second, fixed = (0, 1, 2) if joint % 2 == 0 else (0, 2, 1)
        rotation[:, first, first] = rotation[:, second, second] = cos
        rotation[:, first, second], rotation[:, second, first], rotation[:, fixed, fixed] = (
            -sin,
            sin,
            1,
        )
        turned = turned @ rotation
        hand += turned[:, :, 0] / n_joints
    return np.linalg.norm(hand - [1.0, 0.5, 0.5], axis=1)


rng = np.random.default_rng(0)
X = rng.uniform(-np.pi / 2, np.pi / 2, size=(4000, 8))
y = distance_of_hand(X) + 0.005 * rng.normal(size=len(X))
X_test, y_test = X[2000:], y[2000:]

# %%
# We fit three models with their defaults to more and more rows. The error is the root mean squared error of the distance, as a share of its
# standard deviation.

sizes = [150, 300, 600, 1200, 2000]
models = {
    "random forest": RandomForestRegressor(random_state=0),
    "boosted trees": HistGradientBoostingRegressor(random_state=0),
    "SpectralRegressor": SpectralRegressor(random_state=0),
}
errors = {name: [] for name in models}
for name, model in models.items():
    for size in sizes:
        missed = model.fit(X[:size], y[:size]).predict(X_test) - y_test
        errors[name].append(np.sqrt(np.mean(missed**2)) / y_test.std())
    print(f"{name:18}", *(f"{error:.3f}" for error in errors[name]))

# %%
# Left: both axes are logarithmic, so a straight line is an error that falls like a power of the number of rows. Right: the distances of test
# rows, and their predictions by boosted trees and by kernels from 2000 rows.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
looks = {
    "random forest": ("#999999", "s"),
    "boosted trees": ("#D55E00", "^"),
    "SpectralRegressor": ("#0072B2", "o"),
}
for name, (color, marker) in looks.items():
    left.plot(sizes, errors[name], marker=marker, color=color, label=name)
left.set(
    xscale="log",
    yscale="log",
    xlabel="training rows",
    ylabel="error / standard deviation",
    title="the same rows for all",
)
left.set_xticks(sizes, [str(size) for size in sizes])
left.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
left.minorticks_off()
left.grid(alpha=0.3)
left.legend()
for name in ("boosted trees", "SpectralRegressor"):
    right.scatter(
        y_test,
        models[name].predict(X_test),
        s=5,
        color=looks[name][0],
        alpha=0.5,
        linewidths=0,
        label=name,
    )
right.plot([y.min(), y.max()], [y.min(), y.max()], color="black", linewidth=0.8)
right.set(
    xlabel="distance", ylabel="predicted distance", title="2000 training rows", aspect="equal"
)
right.legend(markerscale=3)
plt.show()
