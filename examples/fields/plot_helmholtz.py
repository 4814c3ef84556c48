"""
Sources and whirls: the Helmholtz split
=======================================

Every smooth field is the sum of two: one that flows from sources to sinks and does not turn, and one that turns and has no sources. ``Helmholtz`` learns a field
from readings of its sum, and splits what it has learned exactly, since each wave of it is either along its frequency or across it.

Here the sum is generated: a gradient of hills and dips, and a whirl around another place. The model sees noisy vectors of the sum alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import Gaussian, Helmholtz, OperatorRidge
from bochner.datasets import plane_potential

rng = np.random.default_rng(0)


def parts(X):
    """The gradient of a potential with two hills and two dips, and a whirl around (0.3, 0.3)."""
    across = np.column_stack([-(X[:, 1] - 0.3), X[:, 0] - 0.3])
    return plane_potential(X)[1] / 2, 6 * across * np.exp(
        -4 * np.sum((X - 0.3) ** 2, axis=1, keepdims=True)
    )


X = rng.uniform(-1, 1, size=(800, 2))
y = sum(parts(X)) + 0.2 * rng.normal(size=X.shape)
model = OperatorRidge(Helmholtz(Gaussian(gamma=8.0)), random_state=0).fit(X, y)

# %%
# How near are the two parts to those that the sum was made of? A field that has neither sources nor whirls inside of the square may be counted to either part, and
# no reading can decide to which: that, more than the noise, is what is left unexplained of the parts here.

inside = X[np.abs(X).max(axis=1) < 0.8]
gradient, whirl = parts(inside)
found = {"gradient": model.curl_free_part(inside), "whirl": model.divergence_free_part(inside)}
for name, true in (("gradient", gradient), ("whirl", whirl)):
    share = np.mean((found[name] - true) ** 2) / np.mean(true**2)
    print(f"{name:9} unexplained {share:.1%}")
both = found["gradient"] + found["whirl"]
print("the parts add up to the prediction:", np.allclose(both, model.predict(inside)))

# %%
# The truth on top, what was learned below. Background: how much flows out of a place (the gradient), or turns around it (the whirl).

side = np.linspace(-1, 1, 40)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
step = 1e-4


def slopes(field):
    """Derivatives of a field in both directions, by differences: [direction, point, component]."""
    return np.stack(
        [(field(grid + step * unit) - field(grid - step * unit)) / (2 * step) for unit in np.eye(2)]
    )


fields = {
    "what the field was made of": (
        lambda X: sum(parts(X)),
        lambda X: parts(X)[0],
        lambda X: parts(X)[1],
    ),
    "what was learned": (model.predict, model.curl_free_part, model.divergence_free_part),
}
figure, axes = plt.subplots(2, 3, figsize=(11, 7.2), layout="constrained", sharex=True, sharey=True)
for row, (title, three) in zip(axes, fields.items()):
    for axis, field, name in zip(
        row, three, ("sum", "part without whirls", "part without sources")
    ):
        change, (u, v) = slopes(field), field(grid).T.reshape(2, 40, 40)
        if name == "part without whirls":
            color, limit = change[0, :, 0] + change[1, :, 1], 35
        else:
            color, limit = change[0, :, 1] - change[1, :, 0], 18
        if name == "sum":
            axis.set_facecolor("#f4f4f4")
        else:
            axis.pcolormesh(
                side,
                side,
                color.reshape(40, 40),
                cmap="RdBu_r",
                vmin=-limit,
                vmax=limit,
                shading="gouraud",
            )
        axis.streamplot(side, side, u, v, color="black", linewidth=0.7, arrowsize=0.8, density=1.1)
        axis.set(aspect="equal", title=name, xlim=(-1, 1), ylim=(-1, 1))
    row[0].set_ylabel(title)
plt.show()
