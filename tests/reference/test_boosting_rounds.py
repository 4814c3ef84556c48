"""One round, one epoch, one pilot of second-order boosting, from outside: what they must reach,
whatever way they take.
"""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bochner import (
    EarlyStopping,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    Gaussian,
    JointEpochs,
    WaveSearch,
)
from bochner.boosting.fitting import StandardizedSample

RIDGE, PENALTY = 3.0, 0.05


def standardized(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def wave_problem(n_features, n_outputs, seed):
    """Rows and targets of mean 0 and deviation 1, so that no scaling stands between them and the
    model.
    """
    rng = np.random.default_rng(seed)
    X = standardized(rng.normal(size=(400, n_features)))
    directions = rng.normal(size=(min(n_features, 5), n_outputs))
    Y = np.sin(X[:, : len(directions)] @ directions) + 0.1 * rng.normal(size=(400, n_outputs))
    return X, standardized(Y)


def gain(frequency, X, Y):
    """½ Σ_k r_kᵀ(M + ρI)⁻¹r_k − λ d ‖ω‖², the decrease of Σ ½(y − f)² by the best wave of this
    frequency, less its penalty.
    """
    angle = X @ frequency
    waves = np.column_stack([np.cos(angle), np.sin(angle)])
    pull = waves.T @ Y
    explained = np.sum(pull * np.linalg.solve(waves.T @ waves + RIDGE * np.eye(2), pull)) / 2
    return explained - PENALTY * X.shape[1] * frequency @ frequency


def one_round(X, Y, seed, n_refinements):
    search = WaveSearch(
        n_candidates=1,
        n_refinements=n_refinements,
        amplitude_penalty=RIDGE,
        frequency_penalty=PENALTY,
    )
    prior = Gaussian(gamma=0.3 / X.shape[1])
    model = FourierBoostingRegressor(
        n_rounds=1,
        learning_rate=1.0,
        prior=prior,
        search=search,
        linear=False,
        n_pilots=0,
        random_state=seed,
    )
    return model.fit(X, Y)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_features", [3, 130])  # Gauss–Newton, and L-BFGS beyond 128 columns
def test_refinement_ends_where_the_gain_has_no_slope(n_features, n_outputs, seed):
    X, Y = wave_problem(n_features, n_outputs, seed)
    drawn = one_round(X, Y, seed, 0).expansion_.frequencies[0]
    refined = one_round(X, Y, seed, 200).expansion_.frequencies[0]
    assert gain(refined, X, Y) > gain(drawn, X, Y)
    slopes = [
        np.linalg.norm(approx_fprime(frequency, gain, 1e-6, X, Y)) for frequency in (drawn, refined)
    ]
    assert slopes[1] < 2e-3 * slopes[0]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_round_takes_the_amplitudes_of_its_closed_form(n_outputs, seed):
    """(a, b) = (M + ρI)⁻¹ Σ y (c, s), as the squared loss's line search finds nothing better than
    about one.
    """
    X, Y = wave_problem(3, n_outputs, seed)
    search = WaveSearch(amplitude_penalty=RIDGE, line_search=False)
    model = FourierBoostingRegressor(
        n_rounds=1, learning_rate=1.0, search=search, linear=False, random_state=seed
    )
    model.fit(X, Y)
    angle = X @ model.expansion_.frequencies[0]
    waves = np.column_stack([np.cos(angle), np.sin(angle)])
    fitted = waves @ np.linalg.solve(waves.T @ waves + RIDGE * np.eye(2), waves.T @ Y)
    np.testing.assert_allclose(model.predict(X).reshape(fitted.shape), fitted, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
def test_each_round_weighs_the_penalty_by_the_loss_that_is_left(loss, seed):
    """Of all candidates a round takes that of the largest gain − λ d ‖ω‖² · (loss now / loss of the
    best constant).
    """
    X, Y = wave_problem(3, 1, seed)
    settings = {"learning_rate": 1.0, "linear": False, "n_pilots": 0, "random_state": seed}
    search = WaveSearch(
        n_candidates=64,
        n_refinements=0,
        amplitude_penalty=RIDGE,
        frequency_penalty=0.5,
        line_search=False,
    )
    model = FourierBoostingRegressor(
        loss=loss, n_rounds=6, search=search, level=0.5, **settings
    ).fit(X, Y[:, 0])
    rows, draws = (
        np.unique(np.column_stack([X, Y]), axis=0),
        [],
    )  # only for the order: sums do not depend on it
    X, Y = rows[:, :3], rows[:, 3:]
    for t in range(6):
        rng = np.random.default_rng([model._seed, 1, t // 32])
        drawn = (
            model._prior_of(StandardizedSample(X.T, Y, np.ones(len(X))))
            .sample(32 * 64, 3, rng)
            .frequencies
        )
        draws.append(drawn[64 * (t % 32) : 64 * (t % 32 + 1)])
    constant = model.loss_.start(Y, np.ones(len(Y)))
    whole = np.mean(model.loss_.values(Y, np.tile(constant, (len(Y), 1))))
    scores = [
        np.tile(constant, (len(Y), 1)),
        *((stage[:, None] - Y.mean()) / Y.std() for stage in model.staged_predict(X)),
    ]
    shares = []
    for t in range(6):
        gradient, _ = model.loss_.derivatives(Y, scores[t])
        share = np.mean(model.loss_.values(Y, scores[t])) / whole
        shares.append(share)
        gains = []
        for frequency in draws[t]:
            waves = np.column_stack([np.cos(X @ frequency), np.sin(X @ frequency)])
            pull = (waves.T @ gradient)[:, 0]
            explained = pull @ np.linalg.solve(waves.T @ waves + RIDGE * np.eye(2), pull) / 2
            gains.append(explained - share * 0.5 * 3 * frequency @ frequency)
        np.testing.assert_allclose(
            model.expansion_.frequencies[t], draws[t][np.argmax(gains)], rtol=1e-6
        )
    assert shares[0] == pytest.approx(1)
    assert shares[-1] < 0.8


def test_candidates_come_from_the_prior(seed):
    """N(0, 2γ I) on standardised rows: the mean of 1500 squares is 2γ up to its standard error."""
    X, Y = wave_problem(5, 1, seed)
    model = FourierBoostingRegressor(
        n_rounds=300,
        search=WaveSearch(n_candidates=1, n_refinements=0),
        prior=Gaussian(gamma=0.7),
        linear=False,
        n_pilots=0,
        random_state=seed,
    ).fit(X, Y[:, 0])
    mean_square = np.mean(model.expansion_.frequencies**2)
    assert abs(mean_square / 1.4 - 1) < 5 * np.sqrt(2 / 1500)


def test_pilots_point_the_frequencies_at_the_columns_that_matter(seed):
    rng = np.random.default_rng(seed)
    X = standardized(rng.normal(size=(1000, 8)))
    y = X[:, 3] + 0.1 * rng.normal(size=1000)
    settings = {
        "n_rounds": 60,
        "search": WaveSearch(n_candidates=1, n_refinements=0),
        "random_state": seed,
    }
    sizes = {}
    for n_pilots in (0, 2):
        frequencies = (
            FourierBoostingRegressor(n_pilots=n_pilots, **settings).fit(X, y).expansion_.frequencies
        )
        sizes[n_pilots] = np.sqrt(np.mean(frequencies**2, axis=0))
    others = np.arange(8) != 3
    assert 0.5 < sizes[0][3] / sizes[0][others].mean() < 2  # as drawn
    assert sizes[2][3] > 4 * sizes[2][others].max()


def test_the_first_step_of_an_epoch_is_its_learning_rate_in_every_coordinate(seed):
    """Adam's first step is rate · g/|g| once both of its means are corrected for their start at
    zero.
    """
    X, Y = wave_problem(3, 1, seed)
    X, y = X[:200].astype(np.float32), Y[:200, 0]  # one batch
    settings = {"n_rounds": 10, "linear": False, "n_pilots": 0, "random_state": seed}
    before, after = (
        FourierBoostingRegressor(epochs=JointEpochs(n, learning_rate=0.003), **settings)
        .fit(X, y)
        .expansion_
        for n in (0, 1)
    )
    deviation = X.std(axis=0)
    moves = np.abs(after.frequencies - before.frequencies) * deviation
    assert moves.max() == pytest.approx(0.003, rel=2e-3)
    assert np.median(moves) == pytest.approx(
        0.003, rel=2e-3
    )  # a slope near zero moves a little less
    np.testing.assert_allclose(
        np.abs(after.intercept - before.intercept), 0.003 * y.std(), rtol=2e-3
    )


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    return X, np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * rng.normal(size=5000) > 0


SHORT = {
    "n_rounds": 15,
    "n_pilots": 0,
    "max_rows": 1000,
    "random_state": 0,
}


def test_epochs_that_only_spoil_the_waves_are_taken_back(large):
    boosted, spoiled = (
        FourierBoostingClassifier(
            epochs=JointEpochs(n, learning_rate=3.0), stopping=EarlyStopping(patience=15), **SHORT
        ).fit(*large)
        for n in (0, 3)
    )
    assert min(spoiled.validation_loss_[-3:]) > min(spoiled.validation_loss_[:-3])
    # The epochs begin from the waves in float32.
    np.testing.assert_allclose(
        spoiled.decision_function(large[0]), boosted.decision_function(large[0]), atol=1e-5
    )


def test_of_epochs_that_help_the_best_is_kept(large):
    """Half of the rows judge, so the loss over all rows is known up to how the other half fares: it
    falls as well.
    """
    boosted, moved = (
        FourierBoostingClassifier(
            epochs=JointEpochs(n), stopping=EarlyStopping(fraction=0.5, patience=15), **SHORT
        ).fit(*large)
        for n in (0, 3)
    )
    assert min(moved.validation_loss_[-3:]) < min(moved.validation_loss_[:-3]) - 0.01
    signs = np.where(large[1], 1.0, -1.0)
    losses = [
        np.mean(np.logaddexp(0, -signs * model.decision_function(large[0])))
        for model in (boosted, moved)
    ]
    assert losses[1] < losses[0] - 0.01
