"""
Spherical harmonics for data on a sphere
========================================

On a sphere, spherical harmonics take the place of waves. The margin game, which finds frequencies
in the plane, also finds harmonics. A kernel on the sphere is then a sum over a few harmonics.

The labels are a checkerboard on the globe. The baseline is the arc-cosine kernel, that of a wide
neural network with one layer. It needs another penalty, so two are tried. (Bullins, Zhang and
Zhang, *Not-So-Random Features*, ICLR 2018, Figure 1.)
"""

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from bochner import HarmonicPeaks, MarginGame, SpectralFeatures, arc_cosine_kernel
from bochner.datasets import sphere_checkerboard
from bochner.plots import plot_harmonics

globe, new = sphere_checkerboard(2000, 0), sphere_checkerboard(10_000, 1)
game = MarginGame(n_rounds=60, peaks=HarmonicPeaks())
model = make_pipeline(SpectralFeatures(learner=game, random_state=0), SVC(kernel="linear"))
model.fit(globe.data, globe.target)
measure = model[0].measure_.merged()
for C in (1, 10_000):
    baseline = SVC(kernel=arc_cosine_kernel, C=C).fit(globe.data, globe.target)
    print(f"arc-cosine kernel, C = {C}: {baseline.score(new.data, new.target):.1%}")
print(f"margin game, C = 1: {model.score(new.data, new.target):.1%} with {len(measure)} harmonics")

# %%
# The data, and the three harmonics with the largest weights. The first one is nearly the
# checkerboard; the others sharpen its edges. Harmonics are named by their degree and their number
# within it.

plot_harmonics(model[0], n_shown=3, X=globe.data, y=globe.target)
plt.show()
