"""
A learner of your own
=====================

A learner is a rule that turns one measure into another. This one has a dozen lines. It selects the
candidates that are best aligned with the target, but skips those that are close to a selected one.
Pipelines, grids and plots work with it without further code.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bochner import (
    FourierMeasure,
    Gaussian,
    Learned,
    Learner,
    PacBayes,
    SpectralFeatures,
    alignment_losses,
)
from bochner.datasets import windmill


class Spread(Learner):
    """Select ``n_kept`` well-aligned frequencies, with a distance between any two of them.

    A frequency and its negative are the same wave, so both count for the distance.
    """

    def __init__(self, n_kept=20, distance=2.0):
        self.n_kept = n_kept
        self.distance = distance

    def _learn(self, measure, rows, target, rng, weights):
        if weights is not None:
            raise ValueError("Spread cannot weigh rows; leave sample_weight out.")
        losses = alignment_losses(measure, rows, target)
        kept = np.empty((0, measure.frequencies.shape[1]))
        for frequency in measure.frequencies[np.argsort(losses)]:
            both = np.concatenate([kept, -kept])
            if np.all(np.linalg.norm(both - frequency, axis=1) > self.distance):
                kept = np.concatenate([kept, [frequency]])
            if len(kept) == self.n_kept:
                break
        return Learned(
            FourierMeasure(kept, np.full(len(kept), measure.mass / len(kept))), report=losses
        )


# %%
# The windmill with 20 frequencies: drawn from the prior, the 20 best of 2000, and the 20 best with
# a distance from each other.

disc, new = windmill(2000, 0), windmill(20_000, 1)
prior = Gaussian(gamma=60.0)
several = {"n_components": 2000, "random_state": 0}
models = {
    "drawn": SpectralFeatures(prior, n_components=20, random_state=0),
    "the best ones": SpectralFeatures(prior, Spread(distance=0.0), **several),
    "PacBayes": SpectralFeatures(
        prior, PacBayes(), n_candidates=2000, n_components=20, random_state=0
    ),
    "Spread": SpectralFeatures(prior, Spread(), **several),
}
scores = {}
for name, features in models.items():
    model = make_pipeline(features, LogisticRegression(C=30, max_iter=2000)).fit(
        disc.data, disc.target
    )
    models[name], scores[name] = model, model.score(new.data, new.target)
    print(
        f"{name:14} {len(model[0].measure_)} frequencies, {scores[name]:.1%} of new points correct"
    )

# %%
# Top: the selected frequencies, over the losses of all candidates (dark means a small loss).
# Bottom: the probabilities of a linear model on them. The best candidates lie close together on six
# peaks, so several of them are nearly the same wave. With a distance between them, some are longer,
# and the middle of the windmill becomes sharper.

candidates = prior.sample(2000, 2, np.random.default_rng(0))
losses = alignment_losses(candidates, disc.data, disc.target)
side = np.linspace(-1, 1, 150)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
outside = (np.linalg.norm(grid, axis=1) > 1).reshape(150, 150)
figure, axes = plt.subplots(2, 4, figsize=(12, 6.2), layout="constrained")
for (top, bottom), (name, model) in zip(axes.T, models.items()):
    top.scatter(
        *candidates.frequencies.T,
        c=losses,
        cmap="gray",
        s=5,
        linewidths=0,
        vmin=np.quantile(losses, 0.002),
    )
    frequencies = model[0].measure_.frequencies
    top.scatter(
        *np.concatenate([frequencies, -frequencies]).T,
        s=22,
        color="#D55E00",
        edgecolors="white",
        linewidths=0.5,
    )
    top.set(title=f"{name}: {scores[name]:.1%}", xlim=(-22, 22), ylim=(-22, 22), aspect="equal")
    chances = np.ma.masked_where(outside, model.predict_proba(grid)[:, 1].reshape(150, 150))
    bottom.pcolormesh(side, side, chances, cmap="RdBu_r", vmin=0, vmax=1, rasterized=True)
    bottom.set(aspect="equal", xticks=[], yticks=[])
plt.show()
