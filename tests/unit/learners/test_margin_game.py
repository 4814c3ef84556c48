"""The margin game: feasibility, values, certificates, several classes, regression, interruption,
and bad input.
"""

import inspect
import textwrap
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from bochner import (
    AscentPeaks,
    CandidatePeaks,
    FourierMeasure,
    Gaussian,
    HarmonicPeaks,
    LangevinPeaks,
    MarginGame,
    SpectralFeatures,
    TargetSimilarity,
    game_equilibrium,
    project_dual,
)
from bochner.data import as_rows, repetitions
from bochner.data.targets import Labels, Values
from bochner.learners.game.duals import make_dual
from bochner.learners.game.exhaustive import BoundCandidates
from bochner.learners.game.margin_game import (
    _Game,
    averaged,
    feature_sums,
    response_block,
    step_size,
)
from bochner.learners.game.peaks import PeakSearch
from bochner.learners.game.value import upper_value


def checkered(n_rows, seed, n_features=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, n_features))
    return X, np.where(np.sin(2 * X[:, 0]) * np.sin(2 * X[:, 1]) > 0, 1, -1), rng


def game(X, y, rng, **settings):
    start = Gaussian(gamma=4.0).sample(100, X.shape[1], rng)
    settings = {"n_rounds": 30, "peaks": CandidatePeaks()} | settings
    learned = MarginGame(**settings).learn(start, X, y, rng)
    return learned.measure, learned.report


@pytest.mark.parametrize("step", ["adaptive", "theory", 0.01])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_dual_weights_are_feasible_in_every_round(step, loss, seed):
    X, y, rng = checkered(120, seed)
    start = Gaussian(gamma=4.0).sample(50, 2, rng)
    upper = 0.5 if loss == "hinge" else np.inf
    for played in MarginGame(
        n_rounds=8, C=0.5, step=step, loss=loss, peaks=CandidatePeaks()
    ).rounds(start, X, y, rng):
        alpha = played.dual_weights[:, 0]
        assert np.all((alpha >= 0) & (alpha <= upper))
        assert abs(y @ alpha) < 1e-9


def test_a_round_is_the_papers_step_written_out(seed):
    """α ← Proj(α + η g) with g = 1 − y Re(conj(E) Σ yαE), η = c C√n / √Σ‖g‖²; pair by pair."""
    X, y, rng = checkered(40, seed)
    start = Gaussian(gamma=4.0).sample(20, 2, rng)
    first, second = list(
        MarginGame(n_rounds=2, C=0.5, peaks=CandidatePeaks()).rounds(start, X, y, rng)
    )
    omega = first.peaks.frequencies[0]
    alpha = first.dual_weights[:, 0]
    gradient = np.array(
        [
            1 - y[i] * sum(y[j] * alpha[j] * np.cos(omega @ (X[i] - X[j])) for j in range(40))
            for i in range(40)
        ]
    )
    step = 0.3 * 0.5 * np.sqrt(40) / np.linalg.norm(gradient)
    expected = make_dual("hinge", Labels.of(y), 0.5).project((alpha + step * gradient)[:, None])[
        :, 0
    ]
    np.testing.assert_allclose(second.dual_weights[:, 0], expected, atol=1e-12)
    potential = sum(
        y[i] * alpha[i] * y[j] * alpha[j] * np.cos(omega @ (X[i] - X[j]))
        for i in range(40)
        for j in range(40)
    )
    assert first.potential == pytest.approx(potential, rel=1e-10)
    assert first.value == pytest.approx(alpha.sum() - potential / 2, rel=1e-10)


def test_the_measure_is_the_average_of_the_plays_and_duplicates_gain_weight(seed):
    X, y, rng = checkered(120, seed)
    start = Gaussian(gamma=4.0).sample(20, 2, rng)
    plays = [
        p.peaks for p in MarginGame(n_rounds=25, peaks=CandidatePeaks()).rounds(start, X, y, rng)
    ]
    measure = averaged(plays)
    assert measure.mass == pytest.approx(1)
    assert len(measure) < 25
    np.testing.assert_allclose(
        measure.kernel(X), np.mean([play.kernel(X) for play in plays], axis=0), atol=1e-12
    )


def test_upper_value_falls_with_the_rounds_and_stays_above_the_lower_one(seed):
    X, y, _ = checkered(200, seed)
    certificates = [
        game(X, y, np.random.default_rng(seed), n_rounds=T)[1].certificate for T in (5, 30, 150)
    ]
    uppers = [c.upper for c in certificates]
    assert uppers[0] > uppers[1] > uppers[2]
    for certificate in certificates:
        assert certificate.exact
        assert 0 < certificate.lower <= certificate.upper
        assert certificate.margin == pytest.approx(1 / np.sqrt(2 * certificate.upper))
        assert certificate.competitive_ratio == pytest.approx(
            np.sqrt(certificate.lower / certificate.upper)
        )
    assert certificates[2].competitive_ratio > certificates[0].competitive_ratio


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_upper_value_is_the_svms_objective(seed, C):
    X, y, rng = checkered(150, seed)
    measure, report = game(X, y, rng, C=C)
    svm = SVC(kernel="precomputed", C=C, tol=1e-9).fit(measure.kernel(X), y)
    signed = np.zeros(150)
    signed[svm.support_] = svm.dual_coef_[0]
    objective = np.abs(signed).sum() - signed @ measure.kernel(X) @ signed / 2
    assert objective * (1 - 1e-7) <= report.certificate.upper <= objective * (1 + 1e-5)


def test_game_and_equilibrium_bracket_the_same_value(seed):
    X, y, rng = checkered(150, seed)
    start = Gaussian(gamma=4.0).sample(60, 2, np.random.default_rng(seed))
    equilibrium = game_equilibrium(start, X, y).report
    report = MarginGame(n_rounds=60, peaks=CandidatePeaks()).learn(start, X, y, rng).report
    assert equilibrium.exact
    assert equilibrium.competitive_ratio > 0.9
    assert report.certificate.lower <= equilibrium.upper
    assert equilibrium.lower <= report.certificate.upper


def test_an_equilibrium_that_is_not_reached_is_reported():
    """One atom is in equilibrium from the start; the rounded corner of the hinge leaves a ratio of
    .99997.
    """
    X = np.random.default_rng(0).uniform(-2, 2, size=(40, 1))
    y = np.where(np.cos(2 * X[:, 0]) > 0, 1, -1)
    y[:10] *= -1
    atom = FourierMeasure(np.array([[2.0]]), np.ones(1))
    with pytest.warns(
        ConvergenceWarning, match=r"n_iterations=3 margin / best margin is at least 0\.9"
    ) as caught:
        report = game_equilibrium(atom, X, y, n_iterations=3, ratio=0.99999).report
    assert f"{report.competitive_ratio:.6f}, below ratio=0.99999" in str(caught[0].message)
    assert 0.999 < report.competitive_ratio < 0.99999
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert (
            game_equilibrium(atom, X, y, n_iterations=3, ratio=0.999).report.competitive_ratio
            >= 0.999
        )
    with pytest.raises(ValueError, match="ratio must be between 0 and 1"):
        game_equilibrium(atom, X, y, ratio=1.0)


def test_a_local_search_gives_no_certificate():
    X, y, rng = checkered(150, 0)
    _, report = game(X, y, rng, peaks=AscentPeaks(), n_rounds=5)
    assert not report.certificate.exact
    assert "local" in report.certificate.scope


class LatePeaks(PeakSearch):
    """Plays one frequency in the first ``n_blind`` searches and finds another one afterwards."""

    top = 1

    def __init__(self, n_blind, played, found):
        self.n_blind, self.played, self.found = n_blind, played, found

    def prepare(self, measure, X, weights=None):
        return self

    def kept_features(self, peaks):
        return None

    def find(self, signal, rng, top=None):
        self.n_blind -= 1
        return FourierMeasure(
            np.array([[self.found if self.n_blind < 0 else self.played]]), np.ones(1)
        )


@pytest.mark.parametrize(("loss", "curvature"), [("hinge", 0.0), ("squared_hinge", 50.0)])  # ‖α‖²/C
def test_the_lower_value_searches_against_the_mean_weights_once_more(loss, curvature):
    """A peak that no round has played still lowers it: 1ᵀα s − s² (v + ‖α‖²/C)/2 at the best s,
    where α = ½ for every row.
    """
    X = np.linspace(0, 2 * np.pi, 200, endpoint=False)[:, None] + 0.01
    y = np.where(np.cos(2 * X[:, 0]) > 0, 1, -1)
    assert np.sum(y) == 0
    start = Gaussian().sample(5, 1, np.random.default_rng(0))
    peaks = LatePeaks(1, played=0.3, found=2.0)
    report = (
        MarginGame(n_rounds=1, peaks=peaks, loss=loss)
        .learn(start, X, y, np.random.default_rng(0))
        .report
    )
    quadratic = np.abs(np.sum(0.5 * y * np.exp(2j * X[:, 0]))) ** 2 + curvature
    assert quadratic > 100  # so the best scaling is s = 100 / quadratic
    assert report.certificate.lower == pytest.approx(100**2 / (2 * quadratic))
    reached = game_equilibrium(
        FourierMeasure(np.array([[0.3], [2.0]]), np.full(2, 0.5)), X, y, loss=loss
    ).report
    assert report.certificate.lower <= reached.upper


def test_the_certificate_can_be_left_out():
    X, y, rng = checkered(50, 0)
    assert game(X, y, rng, n_rounds=2, certificate=False)[1].certificate is None


@pytest.mark.parametrize("limit", ["_MACHINE_ENTRIES", "_MACHINE_ROWS"])
def test_upper_value_from_a_sample_of_rows_is_still_an_upper_value(limit, monkeypatch):
    X, y, rng = checkered(400, 0)
    measure, report = game(X, y, rng)
    whole = upper_value(measure, as_rows(X), make_dual("hinge", Labels.of(y), 1.0))
    monkeypatch.setattr(
        f"bochner.learners.game.value.{limit}",
        200 * (measure.n_columns if limit == "_MACHINE_ENTRIES" else 1),
    )
    sampled = upper_value(measure, as_rows(X), make_dual("hinge", Labels.of(y), 1.0))
    assert report.certificate.upper * (1 - 1e-3) < sampled < 1.5 * report.certificate.upper
    assert sampled != whole


@pytest.mark.parametrize(
    "peaks",
    [
        AscentPeaks(n_walkers=60),
        LangevinPeaks(n_walkers=60, n_steps=30, polish=5),
        CandidatePeaks(),
    ],
)
def test_learned_frequencies_beat_random_ones(peaks, seed):
    X, y, _ = checkered(600, seed)
    X_test, y_test, _ = checkered(2000, seed + 100)
    scores = []
    for learner in (MarginGame(n_rounds=12, peaks=peaks, certificate=False), None):
        features = SpectralFeatures(
            Gaussian(4.0), learner, n_components=12 if learner is None else 200, random_state=seed
        )
        machine = LinearSVC(C=10.0).fit(features.fit_transform(X, y), y)
        scores.append(machine.score(features.transform(X_test), y_test))
        assert features.measure_.n_columns <= 24
    assert scores[0] > scores[1] + 0.03
    assert scores[0] > 0.85


def test_several_classes_share_one_measure(seed):
    X, _, rng = checkered(300, seed)
    y = np.array(["a", "b", "c"])[
        np.digitize(np.sin(2 * X[:, 0]) + np.sin(2 * X[:, 1]), [-0.5, 0.5])
    ]
    measure, report = game(X, y, rng, n_rounds=20)
    assert report.dual_weights.shape == (300, 3)
    assert report.certificate.lower <= report.certificate.upper
    assert LinearSVC(C=10.0).fit(measure.features(X), y).score(measure.features(X), y) > 0.85


def test_two_classes_as_three_columns_would_give_the_same_potential():
    """Binary labels are one problem; swapping their names changes nothing."""
    X, y, _ = checkered(100, 0)
    one, _ = game(X, y, np.random.default_rng(0), n_rounds=5)
    two, _ = game(X, -y, np.random.default_rng(0), n_rounds=5)
    np.testing.assert_array_equal(one.frequencies, two.frequencies)


def test_regression_explains_a_planted_wave(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    targets = np.column_stack([np.cos(X @ [1.5, 0, 1]), 3 * np.sin(X @ [0, 2.0, 0]) + 7])
    start = Gaussian(gamma=1.0).sample(100, 3, rng)
    learner = MarginGame(n_rounds=20, peaks=AscentPeaks(n_walkers=40), loss="squared")
    learned = learner.learn(start, X, targets, rng)
    measure, report = learned.measure, learned.report
    features = np.column_stack([measure.features(X), np.ones(400)])
    residual = targets - features @ np.linalg.lstsq(features, targets, rcond=None)[0]
    assert np.all(residual.var(axis=0) < 0.02 * targets.var(axis=0))
    assert report.certificate.lower <= report.certificate.upper


def test_n_rounds_none_plays_until_n_components_are_found():
    X, y, _ = checkered(200, 0)
    learner = MarginGame(n_rounds=None, peaks=AscentPeaks(n_walkers=30, top=4), certificate=False)
    features = SpectralFeatures(Gaussian(4.0), learner, n_components=10, random_state=0).fit(X, y)
    assert len(features.measure_) == 10
    assert features.transform(X).shape == (200, 20)


def test_harmonics_through_spectral_features(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X[:, 0] * X[:, 1] * X[:, 2] > 0
    features = SpectralFeatures(
        learner=MarginGame(n_rounds=20, peaks=HarmonicPeaks(max_degree=8), step_scale=0.1),
        random_state=0,
    ).fit(X, y)
    assert features.report_.certificate.exact
    assert features.measure_.mass == pytest.approx(1)
    assert LinearSVC(C=10.0).fit(features.transform(X), y).score(features.transform(X), y) > 0.95
    zonal = SpectralFeatures(
        learner=MarginGame(n_rounds=5, peaks=HarmonicPeaks(max_degree=4, mode="zonal"))
    ).fit(X, y)
    np.testing.assert_allclose(np.diag(zonal.measure_.kernel(X)), 1, atol=1e-10)


def test_an_interruption_is_passed_on_and_leaves_the_old_model(monkeypatch):
    X, y, _ = checkered(100, 0)
    features = SpectralFeatures(
        Gaussian(4.0),
        MarginGame(n_rounds=5, peaks=CandidatePeaks()),
        n_components=30,
        random_state=0,
    )
    before = features.fit(X, y).transform(X)
    found = []

    def interrupted(search, signal, rng, top=None):
        found.append(signal)
        if len(found) == 4:
            raise KeyboardInterrupt
        return find(search, signal, rng, top)

    find = BoundCandidates.find
    monkeypatch.setattr(BoundCandidates, "find", interrupted)
    with pytest.raises(KeyboardInterrupt):
        features.fit(X[:50, :1], y[:50])
    assert len(found) == 4
    np.testing.assert_array_equal(features.transform(X), before)


def test_auto_is_the_hinge_for_labels_and_the_squared_loss_for_values():
    X, y, _ = checkered(60, 0)
    for target, loss in ((y, "hinge"), (X[:, 0], "squared"), (Values.of(y), "squared")):
        runs = [
            game(X, target, np.random.default_rng(0), n_rounds=3, loss=kind)[1]
            for kind in ("auto", loss)
        ]
        np.testing.assert_array_equal(runs[0].values, runs[1].values)


SEARCHES = {
    "candidates": CandidatePeaks(),
    "harmonics": HarmonicPeaks(max_degree=5),
    "degrees": HarmonicPeaks(max_degree=5, mode="zonal"),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        *(
            pytest.param(one, marks=pytest.mark.long)
            for one in ({"projection": "alternating"}, {"step": "theory"})
        ),
    ],
    ids=repr,
)
def test_weights_are_repetitions_and_rows_of_weight_zero_are_absent(
    name, loss, settings, seed, monkeypatch
):
    """A class of weight zero is no class, and the dual weights of equal rows are equal."""
    if seed:  # what is merged is equal whatever the formula
        monkeypatch.setattr(repetitions, "FEW_ROWS", 0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    counts = rng.integers(4, size=60)
    y = np.digitize(X[:, 0] * X[:, 1], [-0.1, 0.1]) if loss != "squared" else X[:, :2] ** 2 + 5
    if loss == "hinge":
        counts[y == 1] = 0
    repeated = np.repeat(np.arange(60), counts)
    start = Gaussian(4.0).sample(40, 3, rng)
    learner = MarginGame(n_rounds=10, C=0.5, peaks=SEARCHES[name], loss=loss, **settings)
    weighted = learner.learn(start, X, y, np.random.default_rng(0), weights=counts)
    plain = learner.learn(start, X[repeated], y[repeated], np.random.default_rng(0))
    np.testing.assert_allclose(weighted.report.values, plain.report.values, rtol=1e-8)
    np.testing.assert_allclose(
        weighted.report.dual_weights[repeated], plain.report.dual_weights, atol=1e-8
    )
    np.testing.assert_allclose(weighted.measure.kernel(X), plain.measure.kernel(X), atol=1e-8)
    assert weighted.report.certificate.upper == pytest.approx(
        plain.report.certificate.upper, rel=1e-6
    )
    assert weighted.report.certificate.lower == pytest.approx(
        plain.report.certificate.lower, rel=1e-8
    )


def test_walkers_see_weights_as_repetitions(seed, monkeypatch):
    """One round, in float32; walkers of later rounds part as rounding grows, unless equal rows are
    merged.
    """
    monkeypatch.setattr(repetitions, "FEW_ROWS", 0)
    X, y, rng = checkered(60, seed)
    counts = rng.integers(4, size=60)
    repeated = np.repeat(np.arange(60), counts)
    start, learner = (
        Gaussian(4.0).sample(40, 2, rng),
        MarginGame(n_rounds=1, peaks=AscentPeaks(n_steps=3), certificate=False),
    )
    weighted = learner.learn(start, X, y, 0, weights=counts).measure
    plain = learner.learn(start, X[repeated], y[repeated], 0).measure
    np.testing.assert_allclose(weighted.frequencies, plain.frequencies, atol=1e-3)


def test_weights_of_the_equilibrium_and_of_a_sampled_upper_value_are_repetitions(monkeypatch):
    X, y, rng = checkered(80, 0)
    counts = rng.integers(3, size=80)
    repeated = np.repeat(np.arange(80), counts)
    start = Gaussian(4.0).sample(20, 2, rng)
    weighted = game_equilibrium(start, X, y, weights=counts, n_iterations=5, ratio=0.9)
    plain = game_equilibrium(start, X[repeated], y[repeated], n_iterations=5, ratio=0.9)
    np.testing.assert_allclose(weighted.measure.weights, plain.measure.weights, rtol=1e-4)
    assert weighted.report.upper == pytest.approx(plain.report.upper, rel=1e-6)
    X, y, rng = checkered(500, 1)
    monkeypatch.setattr("bochner.learners.game.value._MACHINE_ENTRIES", 1)
    dual = make_dual("hinge", Labels.of(y), 1.0, np.where(np.arange(500) % 2, 3.0, 0.0))
    thinned = make_dual("hinge", Labels.of(y[1::2]), 3.0)
    sampled = upper_value(start, as_rows(X), dual)
    assert sampled == pytest.approx(upper_value(start, as_rows(X[1::2]), thinned), rel=1e-9)


def test_dask_memory_maps_and_block_sizes_change_nothing(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y, _ = checkered(300, 0)
    mapped = np.memmap(tmp_path / "rows", mode="w+", shape=X.shape, dtype=np.float64)
    mapped[...] = X
    results = []
    for rows, block in (
        (X, "auto"),
        (X, 37),
        (mapped, "auto"),
        (da.from_array(X, chunks=(110, 2)), "auto"),
    ):
        learner = MarginGame(n_rounds=4, peaks=CandidatePeaks())
        features = SpectralFeatures(
            Gaussian(4.0), learner, n_components=30, block_size=block, random_state=0
        )
        features.fit(rows, y)
        results.append(features)
    for other in results[1:]:
        np.testing.assert_array_equal(other.measure_.frequencies, results[0].measure_.frequencies)
        np.testing.assert_allclose(other.report_.values, results[0].report_.values, rtol=1e-9)


def test_same_seed_same_measure():
    X, y, _ = checkered(100, 0)
    runs = [
        SpectralFeatures(Gaussian(4.0), MarginGame(n_rounds=5), random_state=3).fit(X, y).measure_
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].frequencies, runs[1].frequencies)


def test_response_is_the_kernel_times_the_signal(seed):
    X, _, rng = checkered(60, seed)
    measure = Gaussian(4.0).sample(7, 2, rng)
    signal = rng.normal(size=(60, 2))
    sums = feature_sums(measure, as_rows(X), signal)
    height, response = np.sum(sums**2), response_block(measure, as_rows(X), sums)(X)
    np.testing.assert_allclose(response, measure.kernel(X) @ signal, atol=1e-11)
    assert height == pytest.approx(np.sum(signal * (measure.kernel(X) @ signal)))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_rounds": 0}, ValueError, "n_rounds must be at least 1"),
        ({"C": 0.0}, ValueError, "C must be positive"),
        ({"C": -1.0}, ValueError, "C must be positive"),
        ({"step": "fast"}, ValueError, "step must be one of"),
        ({"step": -0.1}, ValueError, "step must be positive"),
        ({"step_scale": 0.0}, ValueError, "step_scale"),
        ({"projection": "none"}, ValueError, "projection"),
        ({"loss": "log"}, ValueError, "loss"),
        ({"peaks": "langevin"}, TypeError, "peaks must be an object of PeakSearch"),
    ],
)
def test_bad_parameters_are_named(settings, error, message):
    X, y, rng = checkered(20, 0)
    with pytest.raises(error, match=message):
        game(X, y, rng, **settings)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(20), "only one class"),
        (np.linspace(0, 1, 20), 'loss="squared"'),
        (TargetSimilarity(np.ones((20, 1))), "needs labels"),
        (None, "requires y"),
        (np.ones(5), "X has 20 rows, y 5"),
    ],
)
def test_bad_targets_are_explained(y, message):
    X, _, rng = checkered(20, 0)
    with pytest.raises(ValueError, match=message):
        game(X, y, rng, loss="hinge")


def test_rows_off_the_sphere_are_refused_by_harmonic_games():
    X, y, rng = checkered(20, 0, n_features=3)
    with pytest.raises(ValueError, match="unit rows"):
        game(X, y, rng, peaks=HarmonicPeaks(max_degree=3))


def test_a_finished_game_warns_about_nothing():
    X, y, rng = checkered(40, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        game(X, y, rng, n_rounds=3)


def test_step_sizes_are_those_of_online_gradient_descent():
    """D / (G √t) for diameter D and gradient bound G; C / t if the dual is strongly concave
    (Zinkevich; Hazan).
    """
    dual = SimpleNamespace(diameter=6.0, gradient_bound=2.0, C=3.0, strongly_concave=False)
    assert step_size("theory", 0.3, dual, 4, 0.0) == 1.5
    assert step_size("adaptive", 0.5, dual, 4, 9.0) == 1.0
    dual.strongly_concave = True
    assert step_size("theory", 0.3, dual, 4, 0.0) == 0.75


def test_the_game_is_its_reference_version(seed):
    """The code in the docstring of the main loop gives the same measure, values and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    measure = Gaussian(2.0).sample(30, 2, rng)
    learner = MarginGame(n_rounds=25, C=0.7, peaks=CandidatePeaks())
    learned = learner.learn(measure, X, y, rng)
    code = inspect.cleandoc(_Game.rounds.__doc__).split("::\n\n")[1]
    names = {
        "np": np,
        "project_dual": project_dual,
        "X": X,
        "y": y,
        "frequencies": measure.frequencies,
        "C": 0.7,
        "n_rounds": 25,
        "step_scale": 0.3,
    }
    exec(textwrap.dedent(code), names)
    np.testing.assert_allclose(learned.report.values, names["values"], rtol=1e-9)
    played = FourierMeasure(measure.frequencies, names["weights"])
    np.testing.assert_allclose(learned.measure.kernel(X), played.kernel(X), atol=1e-12)
    assert len(learned.measure) == np.count_nonzero(names["weights"])
