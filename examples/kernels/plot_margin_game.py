"""
The margin game on the windmill
===============================

Which frequency should be added next? In the margin game, an adversary puts weight on the points
that are hard for the present kernel. The learner then adds the frequencies at the peaks of the
Fourier transform of the weighted labels. Together the peaks make a kernel with a large margin. A
certificate bounds the distance of this margin from the best one.

The windmill has three arms of each class. It is hard for a Gaussian kernel, which treats all
directions alike. (Bullins, Zhang and Zhang, *Not-So-Random Features*, ICLR 2018.)
"""

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from bochner import Gaussian, MarginGame, SpectralFeatures
from bochner.datasets import windmill
from bochner.plots import game_evolution

disc, new = windmill(1000, 0), windmill(20_000, 1)

# %%
# Accuracy on new points of an SVM on the learned frequencies, and of one with the Gaussian kernel.
# Both have C = 1.

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
# Columns are rounds. Top: the points; larger ones have more weight of the adversary, and soon only
# those at the edges of the arms have any. Middle: the Fourier transform of the weights, and the
# peaks that were added so far. Bottom: the decision boundary.

figure = game_evolution(
    MarginGame(n_rounds=100), prior, disc.data, disc.target, rounds=(1, 5, 25, 100), random_state=0
)
plt.show()
