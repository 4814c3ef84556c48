"""
A certificate that holds
========================

"98 % on the test set" is a number; how sure can one be of it? ``certify`` turns the errors on rows that a model has not seen into a bound on its error
on all rows of this kind, which holds with 95 % probability whatever the model and the data are. ``CertifiedClassifier`` needs no rows to be kept apart: it certifies
itself from its training rows, by a PAC-Bayes theorem.

A promise like that can be checked where rows are made by ourselves: do it fifty times, and count.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bochner import CertifiedClassifier, Gaussian, SpectralFeatures, certify

new, labels = make_moons(20_000, noise=0.25, random_state=10_000)
features = SpectralFeatures(Gaussian(gamma=1.0), n_components=50, random_state=0)

# %%
# Each time 600 points are drawn. The first model learns from 300 of them and is certified on the others; the second one learns from all 600 and certifies
# itself. The true error is that on 20 000 new points.

held_out, own = [], []
for seed in range(50):
    X, y = make_moons(600, noise=0.25, random_state=seed)
    model = make_pipeline(features, LogisticRegression(C=30, max_iter=1000)).fit(X[:300], y[:300])
    bound = certify(model, X[300:], y[300:], delta=0.05)
    held_out.append((1 - model.score(new, labels), bound.empirical, bound.value))
    certified = CertifiedClassifier(features, random_state=seed).fit(X, y)
    own.append((1 - certified.score(new, labels), np.nan, certified.bound_.value))
held_out, own = 100 * np.array(held_out), 100 * np.array(own)
for name, runs in (("certify", held_out), ("CertifiedClassifier", own)):
    print(
        f"{name:20} true error {runs[:, 0].mean():.1f} %, bound {runs[:, 2].mean():.1f} %, too low {np.sum(runs[:, 2] < runs[:, 0])} times of 50"
    )

# %%
# Each column is one experiment, sorted by its bound. The error that was counted on 300 rows (grey) is as often too low as too high; the bound of 95 % may lie
# below the truth (blue) in one experiment of twenty. The other certificate is wider, since nothing was kept apart for it and its theorem is about a vote of
# random classifiers, and safe.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for axis, runs, title in zip(
    axes,
    (held_out, own),
    ("certify, on 300 other rows", "CertifiedClassifier, on its training rows"),
):
    true, counted, promised = runs[np.argsort(runs[:, 2])].T
    place = np.arange(1, len(true) + 1)
    axis.vlines(
        place, true, promised, color=np.where(promised >= true, "#56B4E9", "#D55E00"), linewidth=1.2
    )
    axis.plot(place, promised, "_", color="black", markersize=7, markeredgewidth=2, label="bound")
    axis.plot(
        place,
        counted,
        ".",
        color="#999999",
        label="error counted on 300 rows" if np.isfinite(counted).any() else None,
    )
    axis.plot(place, true, "o", color="#0072B2", markersize=4, label="error on 20 000 new points")
    axis.set(
        title=title,
        xlabel="experiment, sorted",
        ylim=(0, 1.25 * own.max(where=np.isfinite(own), initial=0)),
    )
    axis.legend(loc="upper left")
axes[0].set_ylabel("error, %")
plt.show()
