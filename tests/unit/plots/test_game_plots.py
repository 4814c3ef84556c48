"""Plots of the game and the sphere draw what they are given, and refuse what cannot be drawn."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")


from bochner import CandidatePeaks, FourierMeasure, Gaussian, HarmonicMeasure, MarginGame
from bochner.plots import game_evolution, plot_harmonics, plot_potential


def points(n_rows=80):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    return X, np.where(np.sin(4 * X[:, 0]) > 0, "up", "down")


def test_evolution_has_three_panels_for_each_round():
    X, y = points()
    learner = MarginGame(n_rounds=6, peaks=CandidatePeaks())
    figure = game_evolution(learner, Gaussian(4.0), X, y, rounds=(1, 3, 6, 50), random_state=0)
    assert len(figure.axes) == 9
    assert [axis.get_title().split(",")[0] for axis in figure.axes[:3]] == [
        "round 1",
        "round 3",
        "round 6",
    ]
    with pytest.raises(ValueError, match="n_rounds=6"):
        game_evolution(learner, Gaussian(4.0), X, y, rounds=(50,))


def test_potential_is_brightest_at_the_planted_frequency():
    X, _ = points(300)
    peak = FourierMeasure(np.array([[5.0, 0.0]]), np.array([1.0]))
    ax = plot_potential(X, np.cos(5 * X[:, 0]), bandwidth=10.0, peaks=peak)
    image = ax.images[0].get_array()
    row, column = np.unravel_index(np.argmax(image), image.shape)
    grid = np.linspace(-10, 10, 161)
    assert abs(abs(grid[column]) - 5) < 0.5
    assert abs(grid[row]) < 0.5
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[5, 0], [-5, 0]])


def test_points_off_the_plane_are_refused():
    with pytest.raises(ValueError, match="plane"):
        plot_potential(np.ones((5, 3)), np.ones(5), bandwidth=1.0)


@pytest.mark.long
def test_the_heaviest_harmonics_are_drawn_beside_the_data():
    measure = HarmonicMeasure(
        np.array([[1, 0], [2, 1], [3, 0], [2, 1]]), np.array([0.3, 0.2, 0.1, 0.4])
    )
    X = np.eye(3)
    figure = plot_harmonics(measure, n_shown=2, X=X, y=[0, 1, 1])
    assert [axis.get_title() for axis in figure.axes] == [
        "data",
        "degree 2, harmonic 1: weight 0.60",
        "degree 1, harmonic 0: weight 0.30",
    ]
    assert len(plot_harmonics(measure, n_shown=9).axes) == 3
    with pytest.raises(ValueError, match="three dimensions"):
        plot_harmonics(measure, X=np.eye(4))
