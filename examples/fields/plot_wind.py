"""
A wind without sources
======================

Wind that blows over a plain neither begins nor ends anywhere: its divergence is zero. A model that knows this needs fewer stations. Operator-valued kernels
build the knowledge in: every function that ``DivergenceFree`` can fit is free of divergence, to the last digits, wherever one looks.

Stations read a generated wind, with noise, and three models learn from them: one that takes the two components for unrelated, one that is right about the
physics, and one that is wrong (``CurlFree``: a wind that never turns).
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import CurlFree, Decomposable, DivergenceFree, Gaussian, OperatorRidge
from bochner.datasets import divergence_free_field
from bochner.plots import VectorFieldDisplay

# %%
# The error on 2000 points without noise, for more and more stations; each the mean over three draws of the stations.

new = divergence_free_field(2000, 1)
kernels = {
    "unrelated components": Decomposable,
    "divergence-free": DivergenceFree,
    "curl-free": CurlFree,
}
sizes = [20, 40, 80, 160]
errors = {name: [] for name in kernels}
for name, kernel in kernels.items():
    for size in sizes:
        scores = []
        for seed in range(3):
            wind = divergence_free_field(size, 100 + seed, noise=0.3)
            model = OperatorRidge(
                kernel(Gaussian(gamma=12.5)), n_components=150, random_state=0
            ).fit(wind.data, wind.target)
            scores.append(np.mean((model.predict(new.data) - new.target) ** 2))
        errors[name].append(np.sqrt(np.mean(scores) / np.mean(new.target**2)))
    print(f"{name:22}", *(f"{error:.2f}" for error in errors[name]))

# %%
# Left: the error against the number of stations. Knowing the physics is worth half as many stations again; believing in wrong physics is worse than
# believing in none, and no number of stations makes it good. Middle and right: the readings, and the wind that the right kernel makes of 160 of them, over its curl.

wind = divergence_free_field(160, 100, noise=0.3)
model = OperatorRidge(DivergenceFree(Gaussian(gamma=12.5)), random_state=0).fit(
    wind.data, wind.target
)
print(f"largest divergence anywhere: {np.abs(model.divergence(new.data)).max():.1e}")
figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
for (name, found), color, marker in zip(errors.items(), ("#999999", "#0072B2", "#D55E00"), "so^"):
    axes[0].plot(sizes, found, marker=marker, color=color, label=name)
axes[0].set(xscale="log", xlabel="stations", ylabel="error / size of the wind", ylim=(0, 1.35))
axes[0].set_xticks(sizes, [str(size) for size in sizes])
axes[0].minorticks_off()
axes[0].grid(alpha=0.3)
axes[0].legend()
display = VectorFieldDisplay.from_estimator(
    model, wind.data, wind.target, background="curl", axes=axes[1:]
)
plt.show()
