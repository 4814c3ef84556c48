"""
A wind without sources: divergence-free kernels
===============================================

Wind over a plain neither begins nor ends at any place: its divergence is zero. A model that uses
this needs fewer stations. With ``DivergenceFree``, every fitted function has divergence zero up to
rounding, at every point.

Stations measure a generated wind with noise. Three models are fitted: one with unrelated
components, one with the right physics, and one with wrong physics (``CurlFree``: a wind that never
rotates).
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import CurlFree, Decomposable, DivergenceFree, Gaussian, OperatorRidge
from bochner.datasets import divergence_free_field
from bochner.plots import VectorFieldDisplay

# %%
# The error on 2000 points without noise for growing numbers of stations, as the mean over three
# draws of the stations.

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
# Left: the error against the number of stations. The right physics is worth 50 % more stations.
# Wrong physics is worse than none, for any number of stations. Middle and right: the measurements
# of 160 stations, and the fitted wind over its curl.

wind = divergence_free_field(160, 100, noise=0.3)
model = OperatorRidge(DivergenceFree(Gaussian(gamma=12.5)), random_state=0).fit(
    wind.data, wind.target
)
print(f"largest divergence at 2000 points: {np.abs(model.divergence(new.data)).max():.1e}")
figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
for (name, of_sizes), color, marker in zip(
    errors.items(), ("#999999", "#0072B2", "#D55E00"), "so^"
):
    axes[0].plot(sizes, of_sizes, marker=marker, color=color, label=name)
axes[0].set(xscale="log", xlabel="stations", ylabel="relative error", ylim=(0, 1.35))
axes[0].set_xticks(sizes, [str(size) for size in sizes])
axes[0].minorticks_off()
axes[0].grid(alpha=0.3)
axes[0].legend()
display = VectorFieldDisplay.from_estimator(
    model, wind.data, wind.target, background="curl", axes=axes[1:]
)
plt.show()
