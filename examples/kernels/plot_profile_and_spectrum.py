"""
What learning changes: kernel profile and spectrum
==================================================

By Bochner's theorem, a kernel that depends only on differences is a measure over frequencies. So
there are two ways to look at it: its values against the distance, and its weight against the
frequency. Learning gives more weight to frequencies at which the labels vary.

The data are two rings in two columns, and eight columns of noise. The Gaussian kernel treats all
ten columns alike; a learned kernel should use two of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from bochner import Gaussian, JointDescent, OptimalAlignment, PacBayes, SpectralFeatures
from bochner.plots import plot_kernel_profile, plot_spectrum

rings, y = make_circles(1200, noise=0.1, factor=0.6, random_state=0)
rings *= np.sqrt(2)
X = np.hstack([rings, np.random.default_rng(0).normal(size=(len(y), 8))])
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

# %%
# Two learners reweight 5000 candidates and keep 50 of them. The third one trains 50 frequencies.

prior = Gaussian(gamma="scale")
learners = {
    "drawn": None,
    "PacBayes": PacBayes(),
    "OptimalAlignment": OptimalAlignment(radius=10.0),
    "JointDescent": JointDescent(),
}
models = {}
for name, learner in learners.items():
    candidates = 5000 if name in ("PacBayes", "OptimalAlignment") else None
    features = SpectralFeatures(
        prior, learner, n_candidates=candidates, n_components=50, random_state=0
    )
    models[name] = make_pipeline(features, LogisticRegression(C=30, max_iter=2000)).fit(X, y)
    print(f"{name:17} test accuracy {models[name].score(X_test, y_test):.1%}")

# %%
# Each column of the figure is a learner. Top: the kernel against the distance. The band contains
# nine tenths of all directions, so a wide band means that the kernel depends on the direction.
# Middle: weight by the length of the frequencies. Bottom: share of each column; the first two
# belong to the rings. ``PacBayes`` with its default temperature changes little, and
# ``OptimalAlignment`` as much as its radius allows. ``JointDescent`` has no limit, so no theorem
# holds for it.

figure, axes = plt.subplots(3, 3, figsize=(11, 8.4), layout="constrained")
for (top, middle, bottom), name in zip(axes.T, ["PacBayes", "OptimalAlignment", "JointDescent"]):
    plot_kernel_profile(models[name][0], top)
    plot_spectrum(models[name][0], middle)
    measure = models[name][0].measure_
    squares = measure.frequencies**2
    shares = (
        measure.weights @ (squares / squares.sum(axis=1, keepdims=True)) / measure.weights.sum()
    )
    bottom.bar(np.arange(1, 11), shares, color=["#D55E00"] * 2 + ["#999999"] * 8)
    bottom.axhline(0.1, color="black", linewidth=0.8, linestyle="--")
    bottom.set(
        xlabel="column", ylabel="share of the frequencies", ylim=(0, 0.5), xticks=range(1, 11)
    )
    top.set_title(f"{name}: {models[name].score(X_test, y_test):.0%} accuracy")
plt.show()
