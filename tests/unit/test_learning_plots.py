"""Plots of learned kernels and landmarks draw what they say."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from bochner import Gaussian, LandmarkFeatures, PacBayes, SpectralFeatures

plt = pytest.importorskip("matplotlib.pyplot")
plots = pytest.importorskip("bochner.plots")


@pytest.fixture
def problem():
    X = np.random.default_rng(0).normal(size=(120, 2))
    return X, (X[:, 0] > 0).astype(int)


def test_weights_and_profile(problem):
    features = SpectralFeatures(
        Gaussian(0.5), PacBayes(), n_candidates=80, n_components=10, random_state=0
    )
    features.fit(*problem)
    ax = plots.plot_weights(features)
    offsets = ax.collections[0].get_offsets()
    np.testing.assert_allclose(
        offsets[:, 0], np.linalg.norm(features.candidates_.frequencies, axis=1)
    )
    np.testing.assert_allclose(offsets[:, 1], features.learned_.weights * 80)
    ax = plots.plot_kernel_profile(features)
    learned = ax.lines[1].get_ydata()
    assert learned[0] == pytest.approx(1)
    with pytest.raises(TypeError, match="learner=None has none to compare"):
        plots.plot_weights(SpectralFeatures().fit(problem[0]))


def test_landmark_maps(problem):
    X, y = problem
    models = {
        name: make_pipeline(
            LandmarkFeatures(Gaussian(1.0), n_landmarks=3, similarity=name, random_state=0),
            LinearSVC(),
        ).fit(X, y)
        for name in ("exact", "learned")
    }
    figure = plots.plot_landmark_maps(models, X, y)
    maps = [axis for axis in figure.axes if axis.get_title() or axis.get_ylabel()]
    assert len(figure.axes) == 2 * 4 + 1
    assert maps[0].get_ylabel() == "exact"
    with pytest.raises(ValueError, match="of the plane"):
        plots.plot_landmark_maps(models, np.zeros((3, 5)), np.zeros(3))
