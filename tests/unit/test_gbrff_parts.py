"""Parts of GBRFF1 and GBRFF2: steps, shares, compact representation, learned kernel, subsamples."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bochner import Gaussian, GBRFF1Classifier, GBRFF2Classifier, PacBayes
from bochner.boosting import gbrff_base
from bochner.boosting.gbrff_base import subsampled

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1]
TWO = SIGNAL > 0.3
THREE = np.array(["low", "middle", "upper"])[np.searchsorted([-0.6, 0.6], SIGNAL)]
COMMON = {"n_rounds": 6, "calibrated": False, "random_state": 0}
MODELS = {
    "GBRFF1": GBRFF1Classifier(n_components=4, learner=PacBayes(3.0), **COMMON),
    "GBRFF0.5": GBRFF1Classifier(n_components=4, landmark="random", **COMMON),
    "GBRFF2": GBRFF2Classifier(learning_rate=0.5, **COMMON),
    "subsamples": GBRFF1Classifier(n_components=3, subsample=0.5, **COMMON),
}
every_model = pytest.mark.parametrize("name", MODELS)
both_targets = pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])


@every_model
@both_targets
def test_scores_are_the_start_plus_steps_times_the_compact_representation(name, y):
    model = clone(MODELS[name]).fit(X, y)
    n_outputs, K = (1 if y is TWO else 3), model._atoms_per_learner()
    assert model.alphas_.shape == (6, n_outputs)
    assert model.weights_.shape == model.phases_.shape == (6, n_outputs, K)
    np.testing.assert_allclose(model.weights_.sum(axis=2), 1)
    assert np.any(np.ptp(model.weights_, axis=2) > 0) == (K > 1)
    outputs = model.transform(X)
    assert outputs.shape == (150, 6 * n_outputs)
    assert np.abs(outputs).max() <= 1 + 1e-12
    frequencies = model.expansion_.frequencies.reshape(6, n_outputs, K, 2)
    scores = np.tile(model.expansion_.intercept, (150, 1))
    for t in range(6):
        for k in range(n_outputs):
            waves = np.cos(X @ frequencies[t, k].T - model.phases_[t, k])
            expected = waves @ model.weights_[t, k]
            np.testing.assert_allclose(outputs[:, t * n_outputs + k], expected, atol=1e-12)
            scores[:, k] += model.alphas_[t, k] * expected
    scores = scores[:, 0] if n_outputs == 1 else scores
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    if n_outputs == 1:
        np.testing.assert_array_equal(model.predict(X), scores > 0)


def test_weak_learners_of_gbrff1_are_similarities_to_the_landmarks():
    model = clone(MODELS["GBRFF1"]).fit(X, THREE)
    frequencies = model.expansion_.frequencies.reshape(18, 4, 2)
    for column, (omega, landmark) in enumerate(zip(frequencies, model.landmarks_)):
        similarity = np.cos((landmark - X) @ omega.T) @ model.weights_.reshape(18, 4)[column]
        np.testing.assert_allclose(model.transform(X)[:, column], similarity, atol=1e-12)


@every_model
@both_targets
def test_the_measure_is_the_kernel_of_equation_1(name, y):
    model = clone(MODELS[name]).fit(X, y)
    frequencies = model.expansion_.frequencies.reshape(*model.weights_.shape, 2)
    expected = np.zeros((5, 4))
    for i in range(5):
        for j in range(4):
            for t, k in np.ndindex(model.alphas_.shape):
                waves = np.cos(frequencies[t, k] @ (X[i] - X[j + 10]))
                expected[i, j] += abs(model.alphas_[t, k]) * (model.weights_[t, k] @ waves)
    np.testing.assert_allclose(model.measure_.kernel(X[:5], X[10:14]), expected, atol=1e-12)
    assert np.linalg.eigvalsh(model.measure_.kernel(X)).min() > -1e-10
    assert model.measure_.mass == pytest.approx(np.abs(model.alphas_).sum())
    assert np.any(model.alphas_ < 0) == (name == "GBRFF0.5")


def test_the_representation_is_a_step_of_pipelines():
    features = GBRFF1Classifier(n_rounds=10, random_state=0)
    model = make_pipeline(features, LogisticRegression()).fit(X, THREE)
    assert model.score(X, THREE) > 0.8
    assert features.fit(X, TWO).get_feature_names_out()[9] == "gbrff1classifier9"
    frame = features.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == list(features.get_feature_names_out())
    dense = features.set_output(transform="default").transform(X)
    np.testing.assert_allclose(features.transform(sp.csr_matrix(X)), dense, atol=1e-12)
    single = features.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, dense, atol=1e-4)
    again = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(again.transform(X), dense)
    none = GBRFF2Classifier(n_rounds=0).fit(X, TWO)
    assert none.transform(X).shape == (150, 0)
    assert none.alphas_.shape == (0, 1)
    assert np.all(none.measure_.kernel(X[:3]) == 0)
    assert "GBRFF2Classifier" in none._repr_html_()  # scikit-learn reads all fitted attributes


@every_model
def test_a_warm_start_continues_the_parts(name):
    whole = clone(MODELS[name]).fit(X, THREE)
    parts = clone(MODELS[name]).set_params(n_rounds=2, warm_start=True).fit(X, THREE)
    parts.set_params(n_rounds=6).fit(X, THREE)
    for attribute in ("alphas_", "weights_", "phases_"):
        found, expected = getattr(parts, attribute), getattr(whole, attribute)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-5)


# --- subsamples -----------------------------------------------------------------------------------


def test_half_of_the_rows_of_positive_weight_are_drawn_evenly(seed):
    rng, counts = np.random.default_rng(seed), np.where(np.arange(41) % 4, 2.0, 0.0)
    n_draws, total = 4000, np.zeros(41)
    for _ in range(n_draws):
        part = subsampled(counts, 0.5, rng)
        assert np.count_nonzero(part) == 15
        np.testing.assert_array_equal(part[part > 0], 2.0)
        total += part > 0
    assert np.all(total[counts == 0] == 0)
    errors = np.sqrt(n_draws / 4)
    assert np.abs((total[counts > 0] - n_draws / 2) / errors).max() < 5
    np.testing.assert_array_equal(counts, np.where(np.arange(41) % 4, 2.0, 0.0))
    assert subsampled(counts, 1.0, rng) is counts
    assert np.count_nonzero(subsampled(counts, 1e-9, rng)) == 1


@pytest.mark.parametrize("cls", [GBRFF1Classifier, GBRFF2Classifier])
def test_a_weak_learner_depends_on_its_rows_only(cls, monkeypatch):
    """Labels of the rows left out change its step only, which is the best for all rows."""
    drawn = np.arange(150) < 75
    monkeypatch.setattr(
        gbrff_base, "subsampled", lambda counts, share, rng: counts * drawn[: len(counts)]
    )
    model = cls(n_rounds=1, prior=Gaussian(0.5), calibrated=False, random_state=0, subsample=0.5)
    # All have the same shares of the classes, so the start is the same.
    same, other = np.tile(TWO[:75], 2), np.append(TWO[:75], np.sort(TWO[:75]))
    one, two = (clone(model).fit(X, y) for y in (same, other))
    part = clone(model).fit(X[:75], TWO[:75])
    assert np.any(same != other)
    for attribute in ("weights_", "phases_"):
        for found in (one, two):
            expected = getattr(part, attribute)
            np.testing.assert_allclose(getattr(found, attribute), expected, rtol=1e-6)
    for fitted, y in ((one, same), (two, other)):
        signs, start = np.where(y, 1.0, -1.0), fitted.expansion_.intercept[0]
        agreement, weights = signs * fitted.transform(X)[:, 0], np.exp(-signs * start)
        step = 0.5 * np.log(weights @ (1 + agreement) / (weights @ (1 - agreement)))
        assert fitted.alphas_[0, 0] == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize("cls", [GBRFF1Classifier, GBRFF2Classifier])
def test_subsamples_learn_and_the_seed_decides(cls):
    features, y = make_moons(300, noise=0.1, random_state=0)
    model = cls(n_rounds=30, subsample=0.5, random_state=0)
    first = model.fit(features, y).decision_function(features)
    assert model.score(features, y) > 0.95
    np.testing.assert_array_equal(model.fit(features, y).decision_function(features), first)
    assert np.all(np.diff(model.train_loss_, axis=0) <= 1e-12)
    whole = clone(model).set_params(subsample=1.0).fit(features, y).decision_function(features)
    assert np.any(whole != first)
    plain = cls(n_rounds=30, random_state=0).fit(features, y).decision_function(features)
    np.testing.assert_array_equal(whole, plain)
    for share in (0.0, 1.5):
        with pytest.raises(ValueError, match="subsample must be"):
            model.set_params(subsample=share).fit(features, y)
