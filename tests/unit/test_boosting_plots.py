"""Plots of boosters: they draw what the model says."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from bochner import EarlyStopping, FourierBoostingClassifier, GBRFF1Classifier
from bochner.plots import plot_rounds
from bochner_papers.gbrff_figure1 import landmark_losses, plot_boundary, plot_landmark_loss

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.1, random_state=0)


def test_rounds_show_loss_and_accuracy(moons):
    X, y = moons
    model = FourierBoostingClassifier(n_rounds=10, stopping=EarlyStopping(), random_state=0).fit(
        X, y
    )
    left, right = plot_rounds(model, X, y, X[:50], y[:50])
    np.testing.assert_allclose(left.lines[0].get_ydata(), model.train_loss_)
    np.testing.assert_allclose(left.lines[1].get_ydata(), model.validation_loss_)
    assert right.lines[0].get_ydata()[-1] == pytest.approx(model.score(X, y))
    assert len(right.lines) == 2
    (only,) = np.atleast_1d(
        plot_rounds(GBRFF1Classifier(n_rounds=5, n_components=2, random_state=0).fit(X, y))
    )
    assert len(only.lines) == 1


def test_boundary_shows_scores_and_data(moons):
    X, y = moons
    model = GBRFF1Classifier(n_rounds=5, n_components=2, random_state=0).fit(X, y)
    ax = plt.subplots()[1]
    plot_boundary(ax, model, X, y)
    assert len(ax.collections) == 4


def test_landmark_losses_are_equation_9(moons):
    X, y = moons
    signal = np.where(y == 1, 1.0, -1.0)
    frequencies = np.array([[1.0, 0.5], [0.2, -1.0]])
    point = np.array([0.3, 0.4])
    slow = np.mean(
        [np.exp(-s * np.mean(np.cos(frequencies @ (point - x)))) for s, x in zip(signal, X)]
    )
    assert landmark_losses(frequencies, X, signal, point[None])[0] == pytest.approx(slow)
    ax = plt.subplots()[1]
    plot_landmark_loss(ax, frequencies, X, signal, point)
    assert len(ax.collections) == 4
