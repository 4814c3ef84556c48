"""
Outputs that lag each other, and a rotating field
=================================================

Two sensors in a river record the same wave, the second one some time after the first. So K(x, z),
the matrix of covariances between both sensors at times x and z, is not symmetric. ``CustomKernel``
accepts such a kernel as a function of the difference x − z.
"""

import matplotlib.pyplot as plt
import numpy as np

from bochner import CustomKernel, Decomposable, Gaussian, OperatorKernelRidge, OperatorRidge

lag, prior = 1.5, Gaussian(gamma=0.5)


def lagging(differences):
    """Return k(δ) for one sensor, and k(δ + lag) and k(δ − lag) between both sensors."""
    shifts = np.array([[0.0, lag], [-lag, 0.0]])
    return np.exp(-0.5 * (differences[:, :, None] + shifts) ** 2)


rng = np.random.default_rng(3)
waves, amplitudes = prior.sample(20, 1, 3), rng.normal(size=40)


def sensors(t):
    return np.column_stack([waves.features(s) @ amplitudes for s in (t, t - lag)])


t, later = np.linspace(0, 10, 100)[:, None], np.linspace(10, 11.5, 40)[:, None]
readings = sensors(t) + 0.05 * rng.normal(size=(100, 2))

# %%
# After the last measurement, the second sensor will repeat what the first one has recorded. A
# symmetric kernel cannot express this, whatever its output matrix is.

kernels = {
    "lagging kernel": CustomKernel(prior, signature=lagging),
    "symmetric kernel": Decomposable(prior, "learned"),
}
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=[1.6, 1])
times = np.concatenate([t[60:], later])
left.plot(times, sensors(times)[:, 1], color="0.7", lw=6, label="second sensor")
for (name, kernel), style in zip(kernels.items(), ("-", "--"), strict=True):
    model = OperatorKernelRidge(kernel).fit(t, readings)
    error = model.predict(later)[:, 1] - sensors(later)[:, 1]
    print(f"{name:16} error after the last measurement {np.sqrt(np.mean(error**2)):.3f}")
    left.plot(times, model.predict(times)[:, 1], style, label=name)
left.axvline(10, color="k", lw=0.8)
left.set(title="Forecast after the last measurement, at t = 10", xlabel="t")
left.legend()

# %%
# A field that turns along x has K₀(δ) = k(δ) times the rotation by 2 δ₁. ``OperatorRidge`` computes
# the complex spectrum of this function on a grid. The model is fitted to 25 measured arrows, and
# continues the rotation between them.


def rotating(differences):
    angle, near = 2 * differences[:, 0], np.exp(-0.5 * np.sum(differences**2, axis=1))
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (near * rotation).transpose(2, 0, 1)


kernel = CustomKernel(Gaussian(gamma=4.0), signature=rotating)
X = rng.uniform(0, 4, size=(25, 2))
field = OperatorRidge(kernel, n_components=300, alpha=1e-3, random_state=0)
field.fit(X, np.column_stack([np.cos(2 * X[:, 0]), np.sin(2 * X[:, 0])]))
grid = np.stack(np.meshgrid(np.linspace(0, 4, 15), np.linspace(0, 4, 15)), axis=-1).reshape(-1, 2)
right.quiver(*grid.T, *field.predict(grid).T, color="0.6", scale=22, label="predicted")
arrows = np.column_stack([np.cos(2 * X[:, 0]), np.sin(2 * X[:, 0])])
right.quiver(*X.T, *arrows.T, color="C3", scale=22, label="measured")
right.set(title="A field that turns along x", xlabel="x", ylabel="y", aspect="equal")
fig.tight_layout()
plt.show()
