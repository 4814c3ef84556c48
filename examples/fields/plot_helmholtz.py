"""
The Helmholtz split: sources and whirls
=======================================

Every smooth field is the sum of two parts: one flows from sources to sinks and does not rotate, the
other rotates and has no sources. ``Helmholtz`` is fitted to noisy measurements of the sum. It
splits the fitted field exactly, since each of its waves points either along its frequency or across
it.

Here the sum is generated: the gradient of hills and dips, and a whirl. The model sees only noisy
vectors of the sum.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import Gaussian, Helmholtz, OperatorRidge
from bochner.datasets import plane_potential

rng = np.random.default_rng(0)


def parts(X):
    """Return the gradient of a potential with two hills and two dips, and a whirl around (0.3, 0.3)."""
    across = np.column_stack([-(X[:, 1] - 0.3), X[:, 0] - 0.3])
    return plane_potential(X)[1] / 2, 6 * across * np.exp(
        -4 * np.sum((X - 0.3) ** 2, axis=1, keepdims=True)
    )


X = rng.uniform(-1, 1, size=(800, 2))
y = sum(parts(X)) + 0.2 * rng.normal(size=X.shape)
model = OperatorRidge(Helmholtz(Gaussian(gamma=8.0)), random_state=0).fit(X, y)

# %%
# How close are the two parts to the true ones? A field with neither sources nor whirls inside the
# square may belong to either part, and no measurement can decide to which. This explains more of
# the remaining error than the noise.

inside = X[np.abs(X).max(axis=1) < 0.8]
gradient, whirl = parts(inside)
fitted = {"gradient": model.curl_free_part(inside), "whirl": model.divergence_free_part(inside)}
for name, true in (("gradient", gradient), ("whirl", whirl)):
    share = np.mean((fitted[name] - true) ** 2) / np.mean(true**2)
    print(f"{name:9} unexplained {share:.1%}")
both = fitted["gradient"] + fitted["whirl"]
print("the parts add up to the prediction:", np.allclose(both, model.predict(inside)))

# %%
# Top: the true field and its parts. Bottom: the fitted ones. The background is the divergence of
# the part without whirls, and the curl of the part without sources.

side = np.linspace(-1, 1, 40)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
step = 1e-4


def slopes(field):
    """Return finite differences of a field: [direction, point, component]."""
    return np.stack(
        [(field(grid + step * unit) - field(grid - step * unit)) / (2 * step) for unit in np.eye(2)]
    )


fields = {
    "truth": (
        lambda X: sum(parts(X)),
        lambda X: parts(X)[0],
        lambda X: parts(X)[1],
    ),
    "fitted": (model.predict, model.curl_free_part, model.divergence_free_part),
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
