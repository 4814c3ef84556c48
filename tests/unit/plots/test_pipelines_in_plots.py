"""Every plot draws an estimator, or the last step of a pipeline, and rejects other models."""

from itertools import pairwise

import numpy as np
import pytest
from selection import long_except
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from bochner import (
    Anova,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    FourierMeasure,
    Gaussian,
    HarmonicPeaks,
    Helmholtz,
    JointDescent,
    LandmarkFeatures,
    MarginGame,
    OperatorKernelRidge,
    OperatorRidge,
    PacBayes,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
)
from bochner.plots import (
    VectorFieldDisplay,
    plot_boundary,
    plot_effects,
    plot_harmonics,
    plot_kernel_profile,
    plot_landmark_maps,
    plot_rounds,
    plot_spectrum,
    plot_weights,
)

plt = pytest.importorskip("matplotlib.pyplot")
pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    """Two columns of different units, named, and labels."""
    X, y = make_moons(80, noise=0.2, random_state=0)
    return pd.DataFrame(X * [100.0, 1.0], columns=["wide", "narrow"]), y


def learned_features(learner=None):
    return SpectralFeatures(learner=learner or PacBayes(), n_components=12, random_state=0)


@pytest.mark.parametrize("plot", [plot_weights, plot_kernel_profile, plot_spectrum])
def test_a_pipeline_that_ends_with_features_is_drawn_like_its_last_step(plot, moons):
    model = make_pipeline(StandardScaler(), learned_features()).fit(*moons)
    drawn, alone = plot(model), plot(model[-1])
    assert drawn.lines or drawn.patches
    pairs = zip([*drawn.lines, *drawn.patches], [*alone.lines, *alone.patches], strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one.get_path().vertices, other.get_path().vertices)


AROUND = {
    "a step in the middle": lambda: make_pipeline(learned_features(), LinearSVC()),
    "search": lambda: GridSearchCV(learned_features(), {}, scoring=lambda *_: 0.0),
    "union": lambda: FeatureUnion([("waves", learned_features()), ("linear", StandardScaler())]),
    "ridge": lambda: SpectralRidge(learned_features()),
    "pipeline in a pipeline": lambda: make_pipeline(make_pipeline(learned_features())),
}


@pytest.mark.parametrize("case", AROUND)
def test_other_models_are_rejected_with_what_to_write(case, moons):
    model = AROUND[case]().fit(*moons)
    message = (
        r"plot_spectrum draws a fitted SpectralFeatures, or a pipeline that ends with one, "
        r"got .*\. Give that step alone, e\.g\. plot_spectrum\(grid\.best_estimator_\[-1\]\)\.$"
    )
    with pytest.raises(TypeError, match=message):
        plot_spectrum(model)


def test_every_plot_names_itself_and_what_it_draws(moons):
    X, y = moons
    linear = LogisticRegression().fit(X, y)
    with pytest.raises(TypeError, match="plot_effects draws a fitted SpectralClassifier or Spec"):
        plot_effects(linear, X)
    with pytest.raises(TypeError, match="plot_rounds draws a fitted FourierBooster or GBRFFBase"):
        plot_rounds(linear)
    with pytest.raises(TypeError, match="from_estimator draws a fitted OperatorRidge or OperatorK"):
        VectorFieldDisplay.from_estimator(linear, X, y)
    with pytest.raises(TypeError, match="ends with LandmarkFeatures and a classifier"):
        plot_landmark_maps(linear, X, y)


def test_unfitted_models_are_rejected(moons):
    for unfitted in (learned_features(), make_pipeline(StandardScaler(), learned_features())):
        with pytest.raises(NotFittedError):
            plot_spectrum(unfitted)
    with pytest.raises(NotFittedError):
        plot_landmark_maps(make_pipeline(LandmarkFeatures(), LinearSVC()), *moons)


def test_the_spectrum_of_a_measure():
    measure = FourierMeasure(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([3.0, 1.0]))
    ax = plot_spectrum(measure, n_bins=2)
    (outline,) = ax.patches
    heights = outline.get_xy()[:, 1]
    assert heights.max() == pytest.approx(0.75)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["measure"]
    constant = FourierMeasure(np.zeros((1, 2)), np.ones(1))
    assert plot_spectrum(constant).get_xlim() == (0, 1)


@pytest.mark.parametrize(
    "learner", [None, JointDescent(n_epochs=2), MarginGame(n_rounds=3), PacBayes()]
)
def test_the_spectrum_sums_the_weights_of_every_learner(moons, learner):
    X, y = moons
    features = SpectralFeatures(learner=learner, n_components=15, random_state=0)
    features = make_pipeline(StandardScaler(), features).fit(X, y)
    ax = plot_spectrum(features, n_bins=10)
    measure = features[1].measure_
    lengths = np.linalg.norm(measure.frequencies, axis=1)
    step = ax.patches[-1].get_xy()
    edges, heights = np.unique(step[:, 0]), step[1:-1:2, 1]
    expected = [
        measure.weights[(lengths >= low) & (lengths < high)].sum() / measure.weights.sum()
        for low, high in pairwise(edges)
    ]
    np.testing.assert_allclose(heights[:10], expected, atol=1e-9)
    assert sum(bar.get_height() for bar in ax.patches[:10]) == pytest.approx(1, abs=0.06)
    plot_kernel_profile(features, n_directions=5)


def test_moved_frequencies_have_no_weights_to_compare(moons):
    model = learned_features(JointDescent(n_epochs=1)).fit(*moons)
    with pytest.raises(TypeError, match="has none to compare"):
        plot_weights(model)


def test_the_profile_of_a_learner_that_moves_frequencies_is_that_of_its_kernel(moons):
    model = learned_features(JointDescent(n_epochs=2)).fit(*moons)
    ax = plot_kernel_profile(model, n_directions=400, largest_distance=0.02)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "learned: 90% of the directions",
        "learned",
        "prior (exact)",
    ]
    distances, drawn = ax.lines[0].get_data()
    turned = np.random.default_rng(0).standard_normal((400, 2))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    angles = distances[-1] * turned @ model.measure_.frequencies.T
    assert drawn[-1] == pytest.approx(np.mean(np.cos(angles) @ model.measure_.weights))


def test_landmarks_are_drawn_where_rows_become_them(moons):
    X, y = moons
    model = make_pipeline(
        MinMaxScaler(),
        LandmarkFeatures(n_landmarks=3, n_components=16, random_state=0),
        LinearSVC(),
    )
    model.fit(X, y)
    figure = plot_landmark_maps(model, X, y)
    stars = np.array([axis.lines[0].get_xydata()[0] for axis in figure.axes[:3]])
    away = stars - model[0].inverse_transform(model[1].landmarks_)
    assert np.abs(away / np.ptp(X, axis=0).to_numpy()).max() < 0.01


def test_boundary_and_rounds_of_a_pipeline_on_a_frame(moons, recwarn):
    X, y = moons
    model = make_pipeline(
        StandardScaler(), FourierBoostingClassifier(n_rounds=4, random_state=0)
    ).fit(X, y)
    ax = plot_boundary(model, X, y)
    assert len(ax.get_legend().get_texts()) == 2
    drawn = ax.collections[0].get_array().reshape(201, 201)
    assert drawn[0, 0] == pytest.approx(
        np.clip(model.decision_function(_first_corner(X)), -2, 2)[0], rel=1e-6
    )
    _, right = plot_rounds(model, X, y)
    assert right.lines[0].get_ydata()[-1] == pytest.approx(model.score(X, y))
    assert not [warning for warning in recwarn if "feature names" in str(warning.message)]
    with pytest.raises(
        TypeError, match="Accuracies need a classifier, got FourierBoostingRegressor"
    ):
        plot_rounds(FourierBoostingRegressor(n_rounds=2).fit(X, y), X, y)
    with pytest.raises(TypeError, match="draws scores of a classifier"):
        plot_boundary(Ridge().fit(X, y), X, y)
    with pytest.raises(ValueError, match="draws two classes, but LogisticRegression has 3"):
        plot_boundary(LogisticRegression().fit(X, np.arange(80) % 3), X)


def _first_corner(X):
    low = X.min() - 0.025 * (X.max() - X.min())
    return low.to_frame().T


def test_effects_of_a_model_behind_a_scaler(moons):
    X, _ = moons
    front_door = SpectralRegressor(
        Anova(), Evidence(n_rows=60, n_iterations=3, standardize=False), random_state=0
    )
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), front_door)
    model.fit(X, np.sin(2 * X["narrow"]))
    axis = plot_effects(model, X, n_strongest=1).axes[0]
    assert axis.get_xlabel() == "narrow"
    prepared = model[0].transform(X)
    effects = model[1].effects(prepared, max_order=1).main[:, 1]
    np.testing.assert_allclose(
        axis.lines[0].get_ydata(), effects[np.argsort(prepared["narrow"])], atol=1e-12
    )


def test_harmonics_are_found_and_frequencies_are_not_harmonics(moons):
    X = np.random.default_rng(0).normal(size=(80, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    features = SpectralFeatures(
        learner=MarginGame(n_rounds=3, peaks=HarmonicPeaks(max_degree=4)), random_state=0
    )
    model = make_pipeline(features).fit(X, y)
    assert "harmonic" in plot_harmonics(model, n_shown=1).axes[0].get_title()
    with pytest.raises(TypeError, match="For harmonics, use plot_harmonics"):
        plot_spectrum(model)
    with pytest.raises(TypeError, match=r"has frequencies\. Use plot_spectrum"):
        plot_harmonics(learned_features().fit(*moons))


@pytest.mark.long
@pytest.mark.parametrize("background", long_except(["divergence", "curl"], "curl"))
def test_a_field_behind_a_scaler_has_the_derivatives_of_its_predictions(background):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 2))
    Y = np.stack([X[:, 1] + np.sin(X[:, 0]), np.cos(X[:, 0]) - X[:, 1] ** 2], axis=1)
    ridge = OperatorRidge(
        Helmholtz(Gaussian(gamma=1.0)), n_components=50, alpha=1e-3, random_state=0
    )
    exact = VectorFieldDisplay.from_estimator(
        ridge.fit(X, Y), X, Y, background=background, n_grid=6
    )
    same = make_pipeline(FunctionTransformer(), ridge).fit(X, Y)
    differences = VectorFieldDisplay.from_estimator(same, X, Y, background=background, n_grid=6)
    np.testing.assert_allclose(
        differences.color, exact.color, atol=1e-4 * np.abs(exact.color).max()
    )
    scaled = make_pipeline(StandardScaler(), ridge).fit(X * [1.0, 5.0], Y)
    shown = VectorFieldDisplay.from_estimator(
        scaled, X * [1.0, 5.0], Y, background=background, n_grid=6
    )
    slopes = (
        ridge.expansion_.jacobian(scaled[0].transform(shown.grid.reshape(-1, 2))) / scaled[0].scale_
    )
    expected = (
        slopes[:, 0, 0] + slopes[:, 1, 1]
        if background == "divergence"
        else slopes[:, 1, 0] - slopes[:, 0, 1]
    )
    np.testing.assert_allclose(shown.color.ravel(), expected, atol=1e-4 * np.abs(expected).max())
    kernel = OperatorKernelRidge(Helmholtz(Gaussian(gamma=1.0)), alpha=1e-3).fit(X, Y)
    color = VectorFieldDisplay.from_estimator(kernel, X, Y, background=background, n_grid=6).color
    assert np.abs(color - exact.color).mean() < 0.2 * np.abs(exact.color).max()
    with pytest.raises(
        TypeError, match="scalar potential needs an OperatorRidge by itself, got Pipeline"
    ):
        VectorFieldDisplay.from_estimator(same, X, Y, background="scalar_potential")
