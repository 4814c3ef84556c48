"""Validation rows of the user's own, by the contract of scikit-learn's histogram boosting."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import EarlyStopping, FourierBoostingClassifier, FourierBoostingRegressor, JointEpochs


def two_samples(n_rows=200, noise=0.3):
    X, y = make_moons(n_rows + 150, noise=noise, random_state=0)
    return (X[:n_rows], y[:n_rows]), (X[n_rows:], y[n_rows:])


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_the_best_round_on_validation_rows_is_kept():
    train, (X_val, y_val) = two_samples()
    model = FourierBoostingClassifier(
        n_rounds=100, stopping=EarlyStopping(patience=7), random_state=0
    )
    model.fit(*train, X_val=X_val, y_val=y_val)
    whole = FourierBoostingClassifier(n_rounds=100, random_state=0).fit(*train)
    losses = np.array([
        np.mean(np.log1p(np.exp(-(2 * y_val - 1) * scores))) for scores in whole.staged_decision_function(X_val)
    ])  # fmt: skip
    n_seen = len(model.validation_loss_)
    np.testing.assert_allclose(model.validation_loss_, losses[:n_seen], rtol=1e-6)
    assert model.n_rounds_ == np.argmin(losses[:n_seen]) + 1
    assert n_seen == model.n_rounds_ + 7
    assert n_seen < 100
    np.testing.assert_array_equal(
        model.expansion_.frequencies, whole.expansion_.frequencies[: model.n_rounds_]
    )


def test_no_row_of_x_is_kept_apart_and_none_of_the_validation_rows_is_learned_from():
    (X, y), (X_val, y_val) = two_samples(5000)
    settings = {"n_rounds": 4, "epochs": JointEpochs(1), "random_state": 0, "max_rows": 10_000}
    model = FourierBoostingClassifier(**settings).fit(X, y, X_val=X_val, y_val=y_val)
    assert len(model.validation_loss_) == 5
    plain = FourierBoostingClassifier(**settings, stopping=EarlyStopping(fraction=0)).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_of_validation_rows_are_repetitions(sparse):
    train, (X_val, y_val) = two_samples()
    counts = np.arange(len(y_val)) % 3
    X_repeated = np.repeat(X_val, counts, axis=0)
    if sparse:
        X_val = pytest.importorskip("scipy.sparse").csr_array(X_val)
    model = FourierBoostingClassifier(n_rounds=30, random_state=0)
    weighted = model.fit(
        *train, X_val=X_val, y_val=y_val, sample_weight_val=counts
    ).validation_loss_
    repeated = model.fit(*train, X_val=X_repeated, y_val=np.repeat(y_val, counts)).validation_loss_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-10)
    plain = model.fit(*train, X_val=X_val, y_val=y_val).validation_loss_
    assert not np.allclose(plain[0], weighted[0], rtol=1e-3)


def test_classes_weigh_validation_rows_by_the_same_rule():
    (X, y), (X_val, y_val) = two_samples()
    rare = np.flatnonzero((y_val == 0) | (np.arange(len(y_val)) % 5 == 0))
    X_val, y_val = X_val[rare], y_val[rare]
    for rule, by_hand in (
        ("balanced", len(y_val) / 2 / np.bincount(y_val)[y_val]),
        ({1: 3.0}, np.where(y_val == 1, 3.0, 1.0)),
    ):
        model = FourierBoostingClassifier(n_rounds=5, class_weight=rule, random_state=0).fit(
            X, y, X_val=X_val, y_val=y_val
        )
        scores = next(model.staged_decision_function(X_val))
        losses = np.log1p(np.exp(-(2 * y_val - 1) * scores))
        assert model.validation_loss_[0] == pytest.approx(np.average(losses, weights=by_hand))
    third = FourierBoostingClassifier(n_rounds=3, class_weight={2: 0.0}, random_state=0)
    third.fit(X, np.where(np.arange(len(y)) < 5, 2, y), X_val=X_val, y_val=y_val)
    np.testing.assert_array_equal(third.classes_, [0, 1])


def test_values_are_judged_in_the_units_of_the_training_rows():
    rng = np.random.default_rng(0)
    X, X_val = rng.normal(size=(200, 2)), rng.normal(size=(90, 2))
    y, y_val = 50 + 7 * np.sin(2 * X[:, 0]) + rng.normal(size=200), 50 + 7 * np.sin(2 * X_val[:, 0])
    model = FourierBoostingRegressor(n_rounds=60, random_state=0).fit(
        X, y, X_val=X_val, y_val=y_val
    )
    error = 0.5 * np.mean((model.expansion_.evaluate(X_val)[:, 0] - y_val) ** 2) / np.var(y)
    assert min(model.validation_loss_) == pytest.approx(error)
    both = FourierBoostingRegressor(n_rounds=5, random_state=0)
    both.fit(X, np.column_stack([y, -y]), X_val=X_val, y_val=np.column_stack([y_val, -y_val]))
    assert len(both.validation_loss_) == 5


def test_a_warm_start_is_judged_too():
    train, (X_val, y_val) = two_samples()
    model = FourierBoostingClassifier(n_rounds=3, warm_start=True, random_state=0).fit(
        *train, X_val=X_val, y_val=y_val
    )
    model.set_params(n_rounds=6).fit(*train, X_val=X_val, y_val=y_val)
    once = FourierBoostingClassifier(n_rounds=6, random_state=0).fit(
        *train, X_val=X_val, y_val=y_val
    )
    assert model.n_rounds_ == once.n_rounds_ == 6
    np.testing.assert_allclose(model.validation_loss_, once.validation_loss_, rtol=1e-6)


def test_pipelines_and_searches_route_validation_rows(routing):
    (X, y), (X_val, y_val) = two_samples()
    X, X_val = X * [100, 1], X_val * [100, 1]
    asked = {"X_val": True, "y_val": True}
    ours, theirs = (
        FourierBoostingClassifier(n_rounds=30, random_state=0),
        HistGradientBoostingClassifier(max_iter=30),
    )
    for booster in (ours, theirs):
        pipeline = make_pipeline(
            StandardScaler(), booster.set_fit_request(**asked), transform_input=["X_val"]
        )
        pipeline.fit(X, y, X_val=X_val, y_val=y_val)
    pipeline = make_pipeline(StandardScaler(), ours, transform_input=["X_val"]).fit(
        X, y, X_val=X_val, y_val=y_val
    )
    scaler = StandardScaler().fit(X)
    alone = FourierBoostingClassifier(n_rounds=30, random_state=0)
    alone.fit(scaler.transform(X), y, X_val=scaler.transform(X_val), y_val=y_val)
    assert pipeline[-1].validation_loss_ == alone.validation_loss_
    search = GridSearchCV(pipeline, {"fourierboostingclassifier__learning_rate": [0.1, 0.3]}, cv=2)
    search.fit(X, y, X_val=X_val, y_val=y_val)
    assert len(search.best_estimator_[-1].validation_loss_) > 0


WRONG = {
    "columns": ({"X_val": np.ones((4, 3)), "y_val": [0, 1, 0, 1]}, "X has 3 features, but Fourier"),
    "one row less": (
        {"X_val": np.ones((4, 2)), "y_val": [0, 1, 0]},
        "inconsistent numbers of samples",
    ),
    "missing": ({"X_val": [[0.0, np.nan]], "y_val": [0]}, "contains NaN"),
    "infinite": ({"X_val": [[0.0, 1.0], [np.inf, 0.0]], "y_val": [0, 1]}, "contains infinity"),
    "one dimension": ({"X_val": [0.0, 1.0], "y_val": [0, 1]}, "2D array"),
    "text": ({"X_val": [["a", "b"]], "y_val": [0]}, "could not convert string to float"),
    "missing target": ({"X_val": np.ones((2, 2)), "y_val": [0, np.nan]}, "y contains NaN"),
    "weights": (
        {"X_val": np.ones((2, 2)), "y_val": [0, 1], "sample_weight_val": [1, -1]},
        "sample_weight",
    ),
    "no weight": (
        {"X_val": np.ones((2, 2)), "y_val": [0, 1], "sample_weight_val": [0, 0]},
        "zero for every row",
    ),
}


@pytest.mark.parametrize("Booster", [FourierBoostingClassifier, FourierBoostingRegressor])
@pytest.mark.parametrize("case", WRONG)
def test_bad_validation_rows_are_refused_in_the_words_for_x(Booster, case):
    (X, y), _ = two_samples(50)
    given, words = WRONG[case]
    with pytest.raises(ValueError, match=rf"In the validation rows .*: .*{words}"):
        Booster(n_rounds=2).fit(X, y, **given)


def test_labels_outputs_halves_and_names_that_do_not_fit():
    (X, y), (X_val, y_val) = two_samples(50)
    classifier, regressor = (
        FourierBoostingClassifier(n_rounds=2),
        FourierBoostingRegressor(n_rounds=2),
    )
    with pytest.raises(
        ValueError, match=r"y has the labels \[7\], but the training rows have only \[0, 1\]"
    ):
        classifier.fit(X, y, X_val=X_val, y_val=np.where(y_val == 1, 7, 0))
    with pytest.raises(ValueError, match=r"labels \['a', 'b'\]"):
        classifier.fit(X, y, X_val=X_val, y_val=np.where(y_val == 1, "a", "b"))
    with pytest.raises(ValueError, match="y has 2 outputs, but that of the training rows has 1"):
        regressor.fit(X, y, X_val=X_val, y_val=np.ones((len(X_val), 2)))
    with pytest.raises(ValueError, match="needs non-negative targets"):
        FourierBoostingRegressor(loss="poisson", n_rounds=2).fit(X, y, X_val=X_val, y_val=-y_val)
    for half in ({"X_val": X_val}, {"y_val": y_val}, {"sample_weight_val": y_val}):
        with pytest.raises(ValueError, match=f"both X_val and y_val, got only {next(iter(half))}"):
            classifier.fit(X, y, **half)
    with pytest.raises(
        ValueError,
        match=r"are for early stopping, which stopping=EarlyStopping\(fraction=0\) turns off",
    ):
        FourierBoostingClassifier(stopping=EarlyStopping(fraction=0)).fit(
            X, y, X_val=X_val, y_val=y_val
        )
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="feature names should match"):
        regressor.fit(
            pandas.DataFrame(X, columns=["a", "b"]),
            y,
            X_val=pandas.DataFrame(X, columns=["a", "c"]),
            y_val=y,
        )


def test_validation_rows_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr("bochner.boosting.booster._MOST_VALIDATION_NUMBERS", 100)
    (X, y), (X_val, y_val) = two_samples(50)
    with pytest.raises(ValueError, match="Give at most 50 of the rows"):
        FourierBoostingClassifier(n_rounds=2).fit(X, y, X_val=X_val, y_val=y_val)
