"""
A game for frequencies: the windmill
====================================

Which frequency should be added next? The margin game lets an adversary answer: he puts weight on the points that the kernel so far
finds hard, and the player takes the frequencies where the Fourier transform of these weighted labels peaks. Round by round the peaks
pile up to a kernel with a large margin, and the game comes with a certificate of how far that margin is from the best one.

The windmill has three arms of each class. It is hard for a Gaussian kernel, whose frequencies look everywhere alike.
(Bullins, Zhang and Zhang, *Not-So-Random Features*, ICLR 2018.)
"""

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from bochner import Gaussian, MarginGame, SpectralFeatures
from bochner.datasets import windmill
from bochner.plots import game_evolution

disc, new = windmill(1000, 0), windmill(20_000, 1)

# %%
# Accuracy on new points, of an SVM on the learned frequencies and of one with the Gaussian kernel, both with C = 1.

prior = Gaussian(gamma=300.0)
learned = make_pipeline(
    SpectralFeatures(prior, MarginGame(n_rounds=100), random_state=0), SVC(kernel="linear")
)
learned.fit(disc.data, disc.target)
fixed = SVC().fit(disc.data, disc.target)
print(f"Gaussian kernel: {fixed.score(new.data, new.target):.1%}")
print(
    f"margin game:     {learned.score(new.data, new.target):.1%}, {len(learned[0].measure_)} frequencies"
)
certificate = learned[0].report_.certificate
print(f"value of the game between {certificate.lower:.4f} and {certificate.upper:.4f}")

# %%
# Columns are rounds. On top the points, larger where the adversary has put his weight: soon only those at the edges of the arms count. In the
# middle the Fourier transform of his weights, with the peaks that were taken so far. Below, the boundary.

figure = game_evolution(
    MarginGame(n_rounds=100), prior, disc.data, disc.target, rounds=(1, 5, 25, 100), random_state=0
)
plt.show()
