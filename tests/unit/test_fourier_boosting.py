"""FourierBoostingClassifier and FourierBoostingRegressor: losses, stages, weights, stopping,
streaming, bad input.
"""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from selection import long_except
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.model_selection import GridSearchCV

from bochner import (
    EarlyStopping,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    Gaussian,
    JointEpochs,
    WaveSearch,
)
from bochner.boosting.fitting import Rounds, StandardizedSample, others_at_most
from bochner.boosting.rounds import QuadraticModel
from bochner.losses import Squared


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 3))
    return X, np.sin(2 * X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] + 0.1 * rng.normal(size=400)


def task(loss, waves, moons):
    if loss in ("logistic", "exponential"):
        return FourierBoostingClassifier(loss=loss, n_rounds=10, random_state=0), *moons
    if loss == "multinomial":
        return FourierBoostingClassifier(n_rounds=10, random_state=0), *load_iris(return_X_y=True)
    X, y = waves
    y = np.random.default_rng(1).poisson(np.exp(y)) if loss == "poisson" else y
    return FourierBoostingRegressor(loss=loss, n_rounds=10, random_state=0), X, y


@pytest.fixture(scope="module")
def fitted(waves, moons):
    """Return a function that fits each task once: (model, X, y)."""

    @cache
    def fit(loss):
        model, X, y = task(loss, waves, moons)
        return model.fit(X, y), X, y

    return fit


LOSSES = ["logistic", "exponential", "multinomial", "squared", "huber", "quantile", "poisson"]


@pytest.mark.parametrize("loss", LOSSES)
def test_training_loss_never_rises(loss, fitted):
    losses = np.array(fitted(loss)[0].train_loss_)
    assert len(losses) == 10
    assert np.all(np.diff(losses) <= 1e-9)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_stored_expansion_reproduces_the_accumulated_loss(loss, fitted):
    """The mean loss of the published model equals the one the last round ended with."""
    model, X, y = fitted(loss)
    if loss in ("logistic", "exponential"):
        margin = np.where(y == 1, 1, -1) * model.decision_function(X)
        value = np.mean(np.logaddexp(0, -margin) if loss == "logistic" else np.exp(-margin))
    elif loss == "multinomial":
        value = -np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y]))
    elif loss == "poisson":
        value = np.mean(model.predict(X) - y * np.log(model.predict(X)))
    else:
        left = (y - model.predict(X)) / y.std()
        if loss == "squared":
            value = np.mean(left**2) / 2
        elif loss == "quantile":
            value = np.mean(np.maximum(0.9 * left, -0.1 * left))
        else:
            sizes = np.sort(np.abs(y - np.sort(y)[(len(y) - 1) // 2]) / y.std())
            delta = sizes[int(np.ceil(0.9 * len(y))) - 1]
            size = np.abs(left)
            value = np.mean(np.where(size <= delta, size**2 / 2, delta * (size - delta / 2)))
    assert value == pytest.approx(model.train_loss_[-1], rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_equals_one_fit(loss, fitted):
    whole, X, y = fitted(loss)
    parts = clone(whole).set_params(n_rounds=4, warm_start=True).fit(X, y)
    assert parts.n_rounds_ == 4
    parts.set_params(n_rounds=10).fit(X, y)
    np.testing.assert_allclose(parts.train_loss_, whole.train_loss_, rtol=1e-7)
    np.testing.assert_allclose(
        parts.expansion_.evaluate(X), whole.expansion_.evaluate(X), rtol=1e-5, atol=1e-6
    )
    with pytest.raises(ValueError, match="continues 10 rounds"):
        parts.set_params(n_rounds=3).fit(X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_stages_end_in_the_prediction(loss, fitted):
    model, X, _ = fitted(loss)
    stages = list(model.staged_predict(X))
    assert len(stages) == 10
    last = model.predict(X)
    assert (
        np.array_equal(stages[-1], last)
        if last.dtype.kind in "iu"
        else np.allclose(stages[-1], last, rtol=1e-8)
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_jacobian_is_the_derivative_of_the_score(loss, fitted):
    model, X, _ = fitted(loss)
    points = np.asarray(X[:5], dtype=float)
    gradient = model.jacobian(points)
    n_outputs = model.expansion_.n_outputs
    assert gradient.shape == ((5, X.shape[1]) if n_outputs == 1 else (5, n_outputs, X.shape[1]))
    gradient = gradient.reshape(5, n_outputs, -1)
    for j in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[j] = 1e-6
        above, below = (model.expansion_.evaluate(points + s) for s in (step, -step))
        numeric = (above - below) / 2e-6
        np.testing.assert_allclose(gradient[:, :, j], numeric, atol=1e-5)


def test_relevance_finds_the_columns_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6)) * np.array([1, 100, 1, 1, 0.01, 1])
    y = np.sin(2 * X[:, 0]) + X[:, 1] / 100
    relevance = (
        FourierBoostingRegressor(n_rounds=100, random_state=0).fit(X, y).feature_importances_
    )
    assert set(np.argsort(relevance)[-2:]) == {0, 1}
    assert relevance[[2, 3, 4, 5]].max() < 0.1 * relevance[[0, 1]].min()


def test_several_outputs_share_frequencies(waves):
    X, y = waves
    Y = np.column_stack([y, 3 * y + 5, np.cos(X[:, 0])])
    model = FourierBoostingRegressor(n_rounds=100, random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.expansion_.amplitudes.shape == (100, 3)
    assert model.score(X, Y) > 0.95
    np.testing.assert_allclose(
        model.predict(X)[:, 1], 3 * model.predict(X)[:, 0] + 5, rtol=1e-6, atol=1e-6
    )


def test_quantiles_cover_their_share(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(1500, 1))
    y = np.sin(2 * X[:, 0]) + rng.normal(size=1500) * (0.2 + 0.2 * np.abs(X[:, 0]))
    for level in (0.1, 0.5, 0.9):
        model = FourierBoostingRegressor(
            loss="quantile", level=level, n_rounds=50, random_state=0
        ).fit(X[:1000], y[:1000])
        share = np.mean(y[1000:] <= model.predict(X[1000:]))
        # fitting 1000 rows and counting 500 fresh ones: both errors are binomial
        assert abs(share - level) < 5 * np.sqrt(level * (1 - level) * (1 / 500 + 1 / 1000)) + 0.02


def test_huber_ignores_outliers_that_squared_follows(waves):
    X, y = waves
    spoiled = y.copy()
    spoiled[:20] += 60
    error = {
        loss: np.mean(
            np.abs(
                FourierBoostingRegressor(loss=loss, n_rounds=100, random_state=0)
                .fit(X, spoiled)
                .predict(X)[20:]
                - y[20:]
            )
        )
        for loss in ("huber", "squared")
    }
    assert error["huber"] < 0.7 * error["squared"]


def test_weights_are_repetitions(moons):
    X, y = moons
    counts = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = FourierBoostingClassifier(n_rounds=10, random_state=0).fit(
        X, y, sample_weight=counts
    )
    repeated = FourierBoostingClassifier(n_rounds=10, random_state=0).fit(
        X.repeat(counts, axis=0), y.repeat(counts)
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("Booster", [FourierBoostingClassifier, FourierBoostingRegressor])
@pytest.mark.parametrize(
    "form", long_except([np.asarray, np.asfortranarray, sp.csr_array], np.asarray, sp.csr_array)
)
def test_weights_repetitions_and_any_order_of_rows_give_one_model(Booster, form):
    """Hundred rounds on fifteen rows amplify rounding to the fourth digit; here nothing is rounded
    differently.
    """
    rng = np.random.default_rng(42)
    X, y, counts = rng.random((15, 30)), rng.integers(3, size=15), rng.integers(5, size=15)
    order = rng.permutation(15)
    one, two = (Booster(n_rounds=100, random_state=0) for _ in range(2))
    one.fit(form(X.repeat(counts, axis=0)), y.repeat(counts))
    two.fit(form(X[order]), y[order], sample_weight=counts[order])
    np.testing.assert_array_equal(one.expansion_.frequencies, two.expansion_.frequencies)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_balanced_class_weight_is_its_sample_weight():
    X, y = make_classification(300, weights=[0.9], random_state=0)
    shares = np.where(y == 1, 300 / (2 * np.sum(y == 1)), 300 / (2 * np.sum(y == 0)))
    one = FourierBoostingClassifier(n_rounds=5, class_weight="balanced", random_state=0).fit(X, y)
    two = FourierBoostingClassifier(n_rounds=5, random_state=0).fit(X, y, sample_weight=shares)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), rtol=1e-9)


def test_early_stopping_keeps_the_best_round():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = FourierBoostingClassifier(n_rounds=200, stopping=EarlyStopping(), random_state=0).fit(
        X, y
    )
    assert model.n_rounds_ < 190
    losses = model.validation_loss_
    assert len(losses) == len(model.train_loss_)
    best = 0 if model.n_rounds_ == 0 else losses[model.n_rounds_ - 1]
    assert model.n_rounds_ == 0 or best == min(losses)


def test_subsampling_still_learns(moons):
    assert (
        FourierBoostingClassifier(search=WaveSearch(subsample=0.3), random_state=0)
        .fit(*moons)
        .score(*moons)
        > 0.9
    )


# --- rows kept apart, and outliers ----------------------------------------------------------------


def test_rows_kept_apart_are_a_share_of_each_class_and_no_class_is_lost():
    strata = np.array([0] * 600 + [1] * 300 + [2] * 9 + [3])
    weights = np.r_[np.zeros(100), np.ones(810)]
    apart = EarlyStopping(fraction=0.1).rows_apart(
        910, strata, 4, np.random.default_rng(0), weights
    )
    train = others_at_most(910, 910, apart, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.r_[train, apart]), np.arange(910))
    some = others_at_most(700, 910, apart, np.random.default_rng(0))
    assert len(np.setdiff1d(some, apart)) == 700
    np.testing.assert_array_equal(np.bincount(strata[apart], minlength=4), [50, 30, 0, 0])
    assert apart.min() >= 100
    assert (
        len(EarlyStopping(fraction=0.1).rows_apart(200_000, None, 1, np.random.default_rng(0)))
        == 10_000
    )
    assert len(EarlyStopping(fraction=0).rows_apart(200, None, 1, np.random.default_rng(0))) == 0
    assert (
        len(
            EarlyStopping(fraction=0.1).rows_apart(
                8, np.arange(8) // 4, 2, np.random.default_rng(0)
            )
        )
        == 0
    )


@pytest.mark.parametrize("Booster", [FourierBoostingClassifier, FourierBoostingRegressor])
def test_early_stopping_is_on_above_4000_rows_unless_told_otherwise(Booster):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4001, 2))
    y = (X[:, 0] > 0).astype(int)
    model = Booster(n_rounds=3, epochs=JointEpochs(0), random_state=0)
    assert len(model.fit(X, y).validation_loss_) == 3
    assert model.fit(X[:4000], y[:4000]).validation_loss_ == []
    assert model.set_params(stopping=EarlyStopping(fraction=0)).fit(X, y).validation_loss_ == []


@pytest.mark.parametrize("Booster", [FourierBoostingClassifier, FourierBoostingRegressor])
def test_weights_are_repetitions_with_early_stopping_too(Booster, moons):
    X, y = moons
    counts = np.random.default_rng(0).integers(0, 3, size=len(y))
    one, two = (Booster(n_rounds=20, stopping=EarlyStopping(), random_state=0) for _ in range(2))
    one.fit(X, y, sample_weight=counts)
    two.fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert one.validation_loss_ == two.validation_loss_
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("n_rows", long_except([1000, 5000], 1000))
def test_one_outlier_in_a_column_spoils_neither_the_fit_nor_the_mean_of_predictions(n_rows):
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(n_rows, 4)), rng.normal(size=(1000, 4))
    y, y_test = np.sin(2 * X[:, 0]) + X[:, 1], np.sin(2 * X_test[:, 0]) + X_test[:, 1]
    spoiled = X.copy()
    spoiled[[7, 8], [0, 1]] = 1e6, -1e6
    assert FourierBoostingRegressor(random_state=0).fit(spoiled, y).score(X_test, y_test) > 0.98
    X_test[[7, 8], [0, 1]] = 1e6, -1e6
    model = FourierBoostingRegressor(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.85
    reach = y.max() - y.min()
    np.testing.assert_allclose(
        model.target_bounds_[:, 0], [y.min() - reach / 2, y.max() + reach / 2]
    )
    assert model.predict(X_test)[8] == pytest.approx(model.target_bounds_[0, 0])


def test_fine_structure_without_noise_is_found():
    """Steps in one column, as of doses or ages; with a penalty that did not fall with the loss this
    ends at 0.957.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(700, 4))
    y = np.floor(4 * X[:, 0]) + 2 * np.abs(X[:, 1] - 0.5) + np.sin(12 * X[:, 0] * X[:, 2])
    assert (
        FourierBoostingRegressor(random_state=0).fit(X[:500], y[:500]).score(X[500:], y[500:])
        > 0.97
    )


# --- large data: sample, pilots, joint epochs -----------------------------------------------------


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 5))
    y = np.where(
        np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=9000) > 0, "up", "down"
    )
    return X, y


SHORT = {"n_rounds": 30, "epochs": JointEpochs(3), "random_state": 0}


def test_joint_epochs_improve_on_the_boosted_sample(large):
    X, y = large
    boosted = FourierBoostingClassifier(**(SHORT | {"epochs": JointEpochs(0)})).fit(
        X[:6000], y[:6000]
    )
    joint = FourierBoostingClassifier(**SHORT).fit(X[:6000], y[:6000])
    assert joint.score(X[6000:], y[6000:]) > boosted.score(X[6000:], y[6000:]) - 0.002
    assert joint.score(X[6000:], y[6000:]) > 0.93


def test_same_seed_same_result_on_one_thread_or_two(large):
    from threadpoolctl import threadpool_limits

    X, y = large
    scores = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            scores.append(FourierBoostingClassifier(**SHORT).fit(X, y).decision_function(X[:100]))
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("kind", ["memmap", "sparse", "dask", "float32"])
def test_streamed_rows_learn_as_well(kind, large, tmp_path):
    X, y = large
    if kind == "memmap":
        np.save(tmp_path / "rows.npy", X)
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    elif kind == "dask":
        rows = pytest.importorskip("dask.array").from_array(X, chunks=(2500, 5))
    else:
        rows = sp.csr_matrix(X) if kind == "sparse" else X.astype(np.float32)
    model = FourierBoostingClassifier(**SHORT).fit(rows, y)
    assert np.mean(model.predict(X) == y) > 0.93
    if kind == "float32":
        assert model.decision_function(rows).dtype == np.float32
    if kind == "dask":
        assert np.array_equal(model.predict(rows).compute(), model.predict(X))


@pytest.mark.parametrize("rate", [0.01, 3.0])
def test_the_best_epoch_is_the_model_and_its_validation_loss_is_that_of_the_rows_kept_apart(
    large, rate
):
    """At a rate of 3 every epoch is worse than the rounds before, whose model is then kept."""
    X, y = large
    stopping, epochs = EarlyStopping(fraction=0.2), JointEpochs(3, learning_rate=rate)
    model = FourierBoostingClassifier(stopping=stopping, **(SHORT | {"epochs": epochs})).fit(X, y)
    losses = model.validation_loss_
    n_rounds = len(model.train_loss_)
    assert len(losses) == n_rounds + 3
    apart = stopping.rows_apart(
        len(y), (y == "up").astype(int), 2, np.random.default_rng([model._seed, 0])
    )
    assert abs(len(apart) - 0.2 * len(y)) < 2
    by_hand = np.mean(
        np.logaddexp(0, -np.where(y == "up", 1, -1)[apart] * model.decision_function(X[apart]))
    )
    best_round = min(losses[:n_rounds])
    assert by_hand == pytest.approx(min(best_round, *losses[n_rounds:]), rel=1e-4)
    assert (best_round < min(losses[n_rounds:])) == (rate == 3.0)


def test_weights_count_in_the_epochs(large):
    X, y = large
    weights = np.where(X[:, 2] > 0, 1.0, 0.0)
    flipped = np.where(X[:, 2] > 0, y, np.where(y == "up", "down", "up"))
    model = FourierBoostingClassifier(**SHORT).fit(X, flipped, sample_weight=weights)
    assert model.score(X, y) > 0.9


@pytest.mark.long
def test_multiclass_and_several_outputs_on_large_data(large):
    X = large[0][:5000]
    labels = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    assert FourierBoostingClassifier(**SHORT).fit(X, labels).score(X, labels) > 0.93
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]])
    assert FourierBoostingRegressor(**SHORT).fit(X, Y).score(X, Y) > 0.97


def test_many_columns_refine_by_lbfgs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 150))
    y = np.sin(X[:, :5].sum(axis=1))
    one = FourierBoostingRegressor(n_rounds=10, random_state=0).fit(X, y)
    none = FourierBoostingRegressor(
        n_rounds=10, search=WaveSearch(n_refinements=0), random_state=0
    ).fit(X, y)
    assert one.train_loss_[-1] < none.train_loss_[-1]


# --- the parts of a round -------------------------------------------------------------------------


def quadratic(n_features, n_outputs, rng, n_rows=200):
    columns = rng.normal(size=(n_features, n_rows))
    gradient, curvature = (
        rng.normal(size=(n_rows, n_outputs)),
        rng.uniform(0.1, 1, size=(n_rows, n_outputs)),
    )
    gradient += np.sin(columns[0] - columns[1])[:, None]
    return columns, QuadraticModel(gradient, curvature, 3.0)


def penalized_gain(search, columns, model, frequency):
    gain = model.solve((frequency / np.pi @ columns)[None])[2].gain[0]
    return gain - search.frequency_penalty * len(columns) * frequency @ frequency


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_slope_of_the_gain_is_its_derivative(n_outputs, seed):
    rng = np.random.default_rng(seed)
    columns, model = quadratic(4, n_outputs, rng)
    search, frequency = WaveSearch(), rng.normal(size=4)
    state = search._state(frequency, frequency / np.pi @ columns, model)
    pull, stiffness = model.slopes(state)
    slope = -(columns @ pull) - 2 * search.frequency_penalty * 4 * frequency
    numeric = approx_fprime(frequency, lambda w: penalized_gain(search, columns, model, w), 1e-6)
    np.testing.assert_allclose(slope, numeric, atol=1e-3)
    # f' by hand, for the matrix of Gauss and Newton: Σ_k h (B cos − A sin)².
    turned = np.outer(state.cosines, state.fit.sine) - np.outer(state.sines, state.fit.cosine)
    np.testing.assert_allclose(stiffness, np.sum(model.curvature * turned**2, axis=1))


@pytest.mark.parametrize("n_features", [3, 150])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_refinement_ends_where_the_gain_is_flat(n_features, n_outputs):
    """Gauss–Newton up to 128 columns, L-BFGS beyond; with a wrong derivative they would stop
    elsewhere.
    """
    rng = np.random.default_rng(0)
    columns, model = quadratic(n_features, n_outputs, rng, n_rows=400)
    candidates = rng.normal(size=(8, n_features)) / np.sqrt(n_features)
    gains, slopes = [], []
    for n_refinements in (0, 2, 100):
        search = WaveSearch(n_refinements=n_refinements)
        wave, values = search.find(columns, columns, model, candidates)
        np.testing.assert_allclose(values, wave.values(columns), atol=1e-10)
        gains.append(penalized_gain(search, columns, model, wave.frequency))
        numeric = approx_fprime(
            wave.frequency, lambda w, s=search: penalized_gain(s, columns, model, w), 1e-7
        )
        slopes.append(np.linalg.norm(numeric))
    best = max(penalized_gain(WaveSearch(), columns, model, frequency) for frequency in candidates)
    assert gains[0] == pytest.approx(best)
    assert gains[0] < gains[1] <= gains[2]
    assert slopes[2] < 0.02 * slopes[0]


def test_pilots_weigh_the_columns_by_their_relevance():
    """√((1 − f) q/mean(q) + f) with f = 0.01: of four columns of which one matters, nearly √3.97
    and three times √0.01.
    """
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(4, 1000))
    sample = StandardizedSample(columns, np.sin(2 * columns[2])[:, None], np.ones(1000))
    rounds = Rounds(Squared(), Gaussian(1.0), WaveSearch(), 0.3, linear=True)
    factors = rounds.pilot_factors(sample, 2, np.random.default_rng(1))
    assert factors[2] == pytest.approx(np.sqrt(3.97), rel=0.02)
    np.testing.assert_allclose(factors[[0, 1, 3]], 0.1, atol=0.1)
    assert np.sum(factors**2) == pytest.approx(4)
    np.testing.assert_array_equal(rounds.pilot_factors(sample, 0, rng), 1)


# --- parameters that are objects ------------------------------------------------------------------


def test_parameters_of_parts_work_even_where_no_part_was_given(moons):
    model = FourierBoostingClassifier(n_rounds=5, random_state=0)
    model.set_params(search__n_candidates=3, epochs__n_epochs=1, stopping__patience=4)
    assert (model.search.n_candidates, model.epochs.n_epochs, model.stopping.patience) == (3, 1, 4)
    assert FourierBoostingClassifier().search is None
    assert clone(model).fit(*moons).score(*moons) > 0.8
    grid = GridSearchCV(
        FourierBoostingClassifier(n_rounds=5), {"search__n_candidates": [1, 8]}, cv=2
    ).fit(*moons)
    assert grid.best_estimator_.search.n_candidates in (1, 8)
    assert GridSearchCV(model, {"prior": [Gaussian(0.1), None]}, cv=2).fit(*moons).best_score_ > 0.8


def test_frequencies_come_from_the_prior(waves):
    X, y = waves
    search = WaveSearch(n_refinements=0)
    tight = FourierBoostingRegressor(
        n_rounds=50, prior=Gaussian(1e-4), search=search, random_state=0
    ).fit(X, y)
    wide = clone(tight).set_params(prior=Gaussian("scale")).fit(X, y)
    assert (
        20 * np.abs(tight.expansion_.frequencies).mean()
        < np.abs(wide.expansion_.frequencies).mean()
    )


def test_parts_of_another_kind_are_named(moons):
    for name, value in [("search", WaveSearch), ("epochs", 3), ("stopping", True), ("prior", 0.5)]:
        with pytest.raises(TypeError, match=f"{name} must be an object"):
            FourierBoostingClassifier(**{name: value}).fit(*moons)
    for part in (
        {"search": WaveSearch(n_candidates=0)},
        {"epochs": JointEpochs("all")},
        {"stopping": EarlyStopping(fraction=1.0)},
    ):
        with pytest.raises(ValueError, match=r"n_candidates|n_epochs|fraction"):
            FourierBoostingClassifier(**part).fit(*moons)


# --- bad input ------------------------------------------------------------------------------------


def test_bad_input_is_named(moons):
    X, y = moons
    with pytest.raises(ValueError, match="only 1 class"):
        FourierBoostingClassifier().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="zero"):
        FourierBoostingClassifier().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="have one class"):
        FourierBoostingClassifier().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="NaN"):
        FourierBoostingClassifier().fit(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="non-negative targets"):
        FourierBoostingRegressor(loss="poisson").fit(X, y - 5.0)
    with pytest.raises(ValueError, match="two classes"):
        FourierBoostingClassifier(loss="logistic").fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="loss must be one of"):
        FourierBoostingRegressor(loss="absolute").fit(X, y)
    with pytest.raises(ValueError, match="max_rows"):
        FourierBoostingClassifier(max_rows=1).fit(X, y)
    wide = sp.csr_matrix((5000, 2_000_000), dtype=np.float32)
    with pytest.raises(ValueError, match=r"GiB. Write max_rows="):
        FourierBoostingClassifier().fit(wide, np.arange(5000) % 2)


@pytest.mark.parametrize(
    "settings",
    [{"epochs": JointEpochs(0)}, {"stopping": EarlyStopping()}, {"n_rounds": 0}],
    ids=repr,
)
def test_a_single_nan_on_a_cluster_is_refused(settings, large):
    X, y = large
    X = X.copy()
    X[8765, 3] = np.nan
    rows = pytest.importorskip("dask.array").from_array(X, chunks=(1000, 5))
    for Booster, target in ((FourierBoostingClassifier, y), (FourierBoostingRegressor, X[:, 0])):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            Booster(**({"n_rounds": 3, "random_state": 0} | settings)).fit(rows, target)


def test_no_rounds_constant_columns_and_separable_data(moons):
    X, y = moons
    constant = FourierBoostingClassifier(n_rounds=0, linear=False).fit(X, y)
    np.testing.assert_allclose(constant.predict_proba(X)[:, 1], y.mean(), rtol=1e-9)
    assert list(constant.staged_predict(X)) == []
    wide = np.column_stack([X, np.full(len(X), 7.0)])
    model = FourierBoostingClassifier(n_rounds=50, random_state=0).fit(wide, y)
    assert model.feature_importances_[2] == 0
    assert model.score(wide, y) > 0.9
    nothing = FourierBoostingClassifier(random_state=0).fit(np.ones((10, 2)), np.arange(10) % 2)
    np.testing.assert_allclose(nothing.predict_proba(np.ones((1, 2))), 0.5)
    for loss in ("logistic", "exponential"):
        separable = FourierBoostingClassifier(loss=loss, n_rounds=300, random_state=0)
        separable.fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
        assert np.all(np.isfinite(separable.expansion_.amplitudes))
        assert separable.score([[0.0], [1.1]], [0, 1]) == 1.0


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "poisson"])
@pytest.mark.parametrize("dtype", long_except([np.float32, np.float64], np.float32))
def test_joint_epochs_fit_every_regression_loss(large, loss, dtype):
    X = large[0].astype(dtype)
    y = np.exp(np.sin(2 * X[:, 0]) * np.cos(X[:, 1]))
    scores = []
    for n_epochs in (0, 3):
        model = FourierBoostingRegressor(
            loss=loss, level=0.5, **(SHORT | {"epochs": JointEpochs(n_epochs)})
        ).fit(X[:6000], y[:6000])
        scores.append(np.mean(np.abs(model.predict(X[6000:]) - y[6000:])))
    assert scores[1] < scores[0]


def test_default_candidates_come_from_four_gaussian_scales(seed):
    """N(0, 2γ I) with γ one of (1, 4, 20, 80)/d on standardised rows: the mean square is 2 ·
    26.25/d up to its standard error.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    search = WaveSearch(n_candidates=1, n_refinements=0)
    model = FourierBoostingRegressor(
        n_rounds=400, search=search, linear=False, n_pilots=0, random_state=seed
    )
    squares = np.mean(model.fit(X, rng.normal(size=300)).expansion_.frequencies ** 2, axis=1)
    assert abs(squares.mean() - 2 * 26.25 / 5) < 5 * squares.std() / np.sqrt(400)
