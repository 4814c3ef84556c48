"""
A certified upper bound on the error
====================================

A model has 98 % accuracy on a test set. How large can its error on new rows be? ``certify`` turns
the errors on rows that the model has not seen into an upper bound. The bound holds with 95 %
probability for any model and any distribution of the rows. ``CertifiedClassifier`` needs no
separate rows: a PAC-Bayes theorem gives a bound from its training rows.

With generated data we can check the bounds: we repeat the experiment fifty times and count how
often a bound is too low.
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
# Each time 600 points are drawn. The first model is fitted to 300 of them and certified on the
# others. The second one is fitted to all 600 and certifies itself. The true error is measured on 20
# 000 new points.

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
        f"{name:20} true error {runs[:, 0].mean():.1f} %, bound {runs[:, 2].mean():.1f} %, too low in {np.sum(runs[:, 2] < runs[:, 0])} of 50 experiments"
    )

# %%
# Each column is one experiment, sorted by its bound. The error on 300 rows (gray) is as often too
# low as too high. A bound with 95 % probability may be below the true error (blue) in one
# experiment of twenty. The bound of ``CertifiedClassifier`` is larger, because it uses no separate
# rows and its theorem is about a vote of random classifiers.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for axis, runs, title in zip(
    axes,
    (held_out, own),
    ("certify, on 300 held-out rows", "CertifiedClassifier, on its training rows"),
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
        label="error on 300 rows" if np.isfinite(counted).any() else None,
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
