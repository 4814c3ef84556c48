"""
Several outputs that help each other
====================================

Three metals are measured in the soil, one of them with much noise. If the metals occur together,
the others help to predict this one. This example compares three models: one for each metal alone,
``SpectralRegressor`` for all metals, and ``Decomposable(output_matrix="learned")``, which learns
how the outputs are related.

The data are generated: two hidden layers of the soil, and three metals that are mixtures of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import Decomposable, Gaussian, OperatorRidge, SpectralRegressor

rng = np.random.default_rng(0)
frequencies, phases = rng.normal(0, 3.5, size=(2, 12, 2)), rng.uniform(0, 2 * np.pi, size=(2, 12))
mixing = np.array([[1.0, 0.9, 0.1], [0.0, 0.5, 1.0]])


def metals(X):
    """Return three mixtures of two random smooth functions, (n, 3)."""
    layers = np.cos(np.einsum("nd,lkd->nlk", X, frequencies) + phases).sum(axis=2) / np.sqrt(6)
    return layers @ mixing


X = rng.uniform(0, 1, size=(150, 2))
y = metals(X) + rng.normal(0, [0.6, 0.2, 0.2], size=(150, 3))  # the first has more noise
new = rng.uniform(0, 1, size=(4000, 2))
truth = metals(new)

# %%
# The first metal has three times the noise of the others. The unexplained share of each metal at
# 4000 new places:

prior = Gaussian(gamma=20.0)
models = {
    "each alone": OperatorRidge(Decomposable(prior), random_state=0),
    "SpectralRegressor": SpectralRegressor(random_state=0),
    "learned matrix": OperatorRidge(Decomposable(prior, output_matrix="learned"), random_state=0),
}
left_over = {}
for name, model in models.items():
    prediction = model.fit(X, y).predict(new)
    left_over[name] = np.mean((prediction - truth) ** 2, axis=0) / truth.var(axis=0)
    print(f"{name:18}", *(f"{share:.3f}" for share in left_over[name]))
matrix = models["learned matrix"].kernel_.matrix()
scale = np.sqrt(np.diag(matrix))
correlation = matrix / np.outer(scale, scale)
mixed = mixing.T @ mixing
mixed /= np.sqrt(np.outer(np.diag(mixed), np.diag(mixed)))
print(correlation.round(2))

# %%
# Left: correlations of the true mixtures. Middle: correlations that the kernel has learned. Right:
# the unexplained share of each metal. For the noisy metal A it is halved by its neighbors. B and C
# cannot gain, and B loses a little. ``SpectralRegressor`` shares its kernels among the outputs. It
# does as well here, without a matrix.

figure, axes = plt.subplots(
    1, 3, figsize=(11.5, 3.8), layout="constrained", width_ratios=[1, 1, 1.5]
)
names = ["A (noisy)", "B", "C"]
for axis, values, title in (
    (axes[0], mixed, "truth"),
    (axes[1], correlation, "learned by the kernel"),
):
    axis.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1)
    for i, j in np.ndindex(3, 3):
        axis.text(
            j,
            i,
            f"{values[i, j]:.2f}",
            ha="center",
            va="center",
            color="white" if abs(values[i, j]) > 0.7 else "black",
        )
    axis.set(title=title)
    axis.set_xticks(range(3), names)
    axis.set_yticks(range(3), names)
for k, (name, color) in enumerate(zip(models, ("#999999", "#56B4E9", "#0072B2"))):
    axes[2].bar(np.arange(3) + 0.27 * (k - 1), left_over[name], width=0.25, color=color, label=name)
axes[2].set_xticks(range(3), names)
axes[2].set(ylabel="share of the variance unexplained", title="new places")
axes[2].legend()
plt.show()
