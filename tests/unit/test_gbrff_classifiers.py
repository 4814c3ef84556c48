"""GBRFF1 and GBRFF2 as estimators: monotone loss, stages, warm start, bad input."""

import numpy as np
import pytest
from selection import long_except
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.model_selection import GridSearchCV

from bochner import Gaussian, GBRFF1Classifier, GBRFF2Classifier, OptimalAlignment, PacBayes

MODELS = [
    GBRFF1Classifier(n_rounds=8, n_components=5, random_state=0),
    GBRFF2Classifier(n_rounds=8, random_state=0),
]
MODELS += [GBRFF1Classifier(n_rounds=8, n_components=1, landmark=1, random_state=0)]
MODELS += [GBRFF1Classifier(n_rounds=8, n_components=5, landmark="random", random_state=0)]
MODELS += [GBRFF2Classifier(n_rounds=8, rephase=True, penalty=0.03, random_state=0)]


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.2, random_state=0)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_training_loss_never_rises(model, moons):
    losses = model.fit(*moons).train_loss_[:, 0]
    assert len(losses) == 8
    assert np.all(np.diff(losses) <= 1e-12)
    assert losses[-1] < losses[0] < 1.0


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_stored_expansion_reproduces_the_accumulated_scores(model, moons):
    X, y = moons
    model.fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    loss = np.mean(np.exp(-signs * model.decision_function(X)))
    assert loss == pytest.approx(model.train_loss_[-1, 0], rel=1e-10)
    expansion = model.expansion_
    by_hand = expansion.intercept[0] + sum(
        a[0] * np.cos(X @ w - b[0])
        for w, b, a in zip(expansion.frequencies, expansion.phases, expansion.amplitudes)
    )
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_stages_end_in_the_prediction(model, moons):
    X, y = moons
    model.fit(X, y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 8
    np.testing.assert_allclose(stages[-1], model.decision_function(X), rtol=1e-9, atol=1e-9)
    losses = [np.mean(np.exp(-np.where(y == 1, 1, -1) * stage)) for stage in stages]
    np.testing.assert_allclose(losses, model.train_loss_[:, 0], rtol=1e-9)
    assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_warm_start_goes_on_where_the_fit_stopped(model, moons):
    X, y = moons
    whole = type(model)(**model.get_params()).set_params(n_rounds=7).fit(X, y)
    parts = type(model)(**model.get_params()).set_params(n_rounds=3, warm_start=True).fit(X, y)
    parts.set_params(n_rounds=7).fit(X, y)
    np.testing.assert_allclose(
        parts.decision_function(X), whole.decision_function(X), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(parts.train_loss_, whole.train_loss_, rtol=1e-6)
    with pytest.raises(ValueError, match="continues 7 rounds"):
        parts.set_params(n_rounds=2).fit(X, y)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_several_classes_with_labels_of_any_type(model):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model.fit(X, names)
    assert model.score(X, names) > (0.85 if getattr(model, "landmark", "") == "random" else 0.9)
    assert model.expansion_.n_outputs == 3
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    losses = model.train_loss_
    assert np.all(np.diff(losses, axis=0) <= 1e-12)


def test_rephasing_never_raises_the_rounds_objective(moons):
    X, y = moons
    plain = GBRFF2Classifier(n_rounds=1, random_state=3).fit(X, y).expansion_
    again = GBRFF2Classifier(n_rounds=1, rephase=True, random_state=3).fit(X, y).expansion_
    np.testing.assert_allclose(plain.frequencies, again.frequencies)
    signs = np.where(y == 1, 1.0, -1.0)

    def objective(expansion):
        return np.mean(
            np.exp(-signs * np.cos(X @ expansion.frequencies[0] - expansion.phases[0, 0]))
        )

    assert objective(again) <= objective(plain) + 1e-9


@pytest.mark.parametrize("cls", [GBRFF1Classifier, GBRFF2Classifier])
def test_no_rounds_predict_the_majority(cls):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.array(["no"] * 20 + ["yes"] * 10)
    model = cls(n_rounds=0).fit(X, y)
    assert set(model.predict(X)) == {"no"}
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / 3, rtol=1e-9)


@pytest.mark.parametrize("cls", [GBRFF1Classifier, GBRFF2Classifier])
def test_separable_data_keeps_amplitudes_finite(cls):
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    model = cls(n_rounds=60, prior=Gaussian(1.0), random_state=0).fit(X, [0, 0, 1, 1])
    assert np.all(np.isfinite(model.expansion_.amplitudes))
    assert np.abs(model.expansion_.amplitudes).max() < 12
    assert model.score(X, [0, 0, 1, 1]) == 1.0


@pytest.mark.parametrize("cls", [GBRFF1Classifier, GBRFF2Classifier])
def test_bad_input_is_named(cls):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match="only 1 class"):
        cls().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="NaN"):
        cls().fit(np.where(np.arange(40).reshape(20, 2) == 3, np.nan, X), y)
    with pytest.raises(ValueError, match="n_rounds must be at least 0"):
        cls(n_rounds=-1).fit(X, y)
    with pytest.raises(ValueError, match="learning_rate"):
        cls(learning_rate=1.5).fit(X, y)
    with pytest.raises(ValueError, match="X has 20 rows, y 19"):
        cls().fit(X, y[:-1])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_constant_columns_change_nothing(model, moons):
    X, y = moons
    wide = np.column_stack([X, np.full(len(X), 0.0)])
    fixed = type(model)(**model.get_params()).set_params(prior=Gaussian(0.5))
    # The draw of a frequency has one more coordinate, so only the accuracy can be compared.
    assert abs(fixed.fit(wide, y).score(wide, y) - fixed.fit(X, y).score(X, y)) < 0.1


def test_sparse_rows_and_memory_maps_give_the_same_model(tmp_path, moons):
    import scipy.sparse as sp

    X, y = moons
    np.save(tmp_path / "rows.npy", X)
    for model in MODELS:
        dense = model.fit(X, y).decision_function(X)
        np.testing.assert_allclose(
            model.fit(sp.csr_matrix(X), y).decision_function(X), dense, rtol=1e-5, atol=1e-5
        )
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        np.testing.assert_allclose(
            model.fit(mapped, y).decision_function(mapped), dense, rtol=1e-6, atol=1e-6
        )


def test_grid_search_over_the_papers_parameters(moons):
    search = GridSearchCV(
        GBRFF2Classifier(n_rounds=5, random_state=0),
        {"prior__gamma": [0.1, 1.0], "penalty": [0.0, 0.1]},
        cv=2,
    )
    assert search.fit(*moons).best_score_ > 0.7


@pytest.mark.parametrize("kept_bytes", long_except([0, 2**28], 0))
def test_many_rows_take_the_blockwise_way_to_the_same_model(kept_bytes, moons, monkeypatch):
    from bochner.boosting import gbrff1, gbrff_base

    X, y = moons
    direct = [type(m)(**m.get_params()).fit(X, y).decision_function(X) for m in MODELS]
    monkeypatch.setattr(gbrff_base, "SMALL", 0)
    monkeypatch.setattr(gbrff1, "_KEPT_BYTES", kept_bytes)
    blocked = [type(m)(**m.get_params()).fit(X, y).decision_function(X) for m in MODELS]
    for one, two in zip(direct, blocked):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-5)


def test_waves_are_kept_where_the_rows_themselves_have_room_for_as_much(tmp_path, monkeypatch):
    from bochner.boosting import gbrff1
    from bochner.data import LocalRows

    X = np.zeros((100, 6))
    np.save(tmp_path / "rows.npy", X)
    in_a_file = LocalRows(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert gbrff1.keeps_waves(in_a_file, 50)  # few, wherever they are
    monkeypatch.setattr(gbrff1, "_KEPT_BYTES", 100 * 2 * 8)
    assert [gbrff1.keeps_waves(LocalRows(X), n) for n in (1, 3, 4)] == [True, True, False]
    assert [gbrff1.keeps_waves(LocalRows(X.astype(np.float32)), n) for n in (2, 3, 4)] == [
        True,
        True,
        False,
    ]
    assert [gbrff1.keeps_waves(in_a_file, n) for n in (1, 2)] == [True, False]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_refuses_another_number_of_frequencies_a_round(n_classes):
    X, y = make_classification(80, n_informative=4, n_classes=n_classes, random_state=0)
    model = GBRFF1Classifier(n_rounds=2, n_components=3, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="3 frequencies each, but n_components=5"):
        model.set_params(n_rounds=4, n_components=5).fit(X, y)
    n_outputs = 1 if n_classes == 2 else n_classes
    assert len(model.set_params(n_components=3).fit(X, y).expansion_) == 4 * 3 * n_outputs


def test_parts_are_parameters_even_where_none_was_given(moons):
    model = GBRFF1Classifier(n_rounds=3, random_state=0).set_params(
        prior__gamma=0.7, learner__beta=3.0
    )
    assert model.prior.gamma == 0.7
    assert model.learner.beta == 3.0
    assert GBRFF1Classifier().prior is None
    same = GBRFF1Classifier(
        n_rounds=3, prior=Gaussian(0.7), learner=PacBayes(3.0), random_state=0
    ).fit(*moons)
    np.testing.assert_array_equal(
        model.fit(*moons).decision_function(moons[0]), same.decision_function(moons[0])
    )
    with pytest.raises(
        TypeError,
        match=r"learner must be an object of AlignmentLearner, got .* Write e.g. learner=PacBayes",
    ):
        GBRFF1Classifier(learner=Gaussian()).fit(*moons)
    with pytest.raises(TypeError, match="prior must be an object of SpectralPrior"):
        GBRFF2Classifier(prior=0.5).fit(*moons)


def test_any_alignment_learner_weighs_the_frequencies(moons):
    model = GBRFF1Classifier(n_rounds=5, learner=OptimalAlignment(), random_state=0).fit(*moons)
    assert model.score(*moons) > 0.8


@pytest.mark.parametrize("cls", [GBRFF1Classifier, GBRFF2Classifier])
def test_a_failed_refit_leaves_the_old_model(cls, moons):
    X, y = moons
    model = cls(n_rounds=2, random_state=0).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="only 1 class"):
        model.fit(np.column_stack([X, X]), np.zeros(len(X)))
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize(
    ("landmark", "message"),
    [
        (2, "is no column of X"),
        (-1, "is no column"),
        ("row", "must be"),
        (True, "must be"),
        (0.5, "must be"),
    ],
)
def test_a_landmark_that_is_none_is_refused(landmark, message, moons):
    with pytest.raises(ValueError, match=message):
        GBRFF1Classifier(n_rounds=2, landmark=landmark).fit(*moons)


def test_the_two_moons_are_told_apart_with_one_free_coordinate():
    """Gautheron et al. 2020, Figure 1: K = 1, one coordinate of the landmark fixed, all rows right
    after ten rounds (median of ten seeds).
    """
    X, y = make_moons(100, noise=0.05, shuffle=False, random_state=55)
    X = 2 * (X - X.mean(axis=0))
    models = [
        GBRFF1Classifier(
            n_rounds=10,
            n_components=1,
            prior=Gaussian(0.5),
            landmark=1,
            calibrated=False,
            random_state=seed,
        )
        for seed in range(10)
    ]
    assert np.median([model.fit(X, y).score(X, y) for model in models]) > 0.98
