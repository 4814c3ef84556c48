"""Risk bounds on the final predictor: formulas, refusals and coverage."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.stats import binom, binomtest, norm
from selection import long_except
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bochner import (
    CertifiedClassifier,
    Gaussian,
    PacBayes,
    SpectralFeatures,
    SpectralRidge,
    certify,
)
from bochner.bounds import binomial_tail, empirical_bernstein, pac_bayes_kl
from bochner.bounds.risk import inverse_binary_kl
from bochner.data import repetitions
from bochner.models import certified as certificates
from bochner.models.certified import shares_for


@pytest.fixture
def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.mark.parametrize("n_errors", [0, 1, 7, 49])
def test_binomial_tail_is_the_exact_one(n_errors):
    bound = binomial_tail(n_errors, 50, delta=0.03)
    assert binom.cdf(n_errors, 50, bound.value) == pytest.approx(0.03)
    assert binomial_tail(50, 50).value == 1


def test_empirical_bernstein_covers_and_uses_the_variance(seed):
    rng = np.random.default_rng(seed)
    delta, runs, n = 0.1, 1000, 300
    samples = rng.beta(0.3, 2.0, size=(runs, n))
    missed = np.mean([empirical_bernstein(s, delta=delta).value < 0.3 / 2.3 for s in samples])
    assert missed <= delta + 5 * np.sqrt(delta / runs)
    quiet = np.full(1000, 0.2)
    hoeffding = np.sqrt(np.log(1 / delta) / 2000)
    assert empirical_bernstein(quiet, delta=delta).complexity < hoeffding / 3
    with pytest.raises(ValueError, match="outside"):
        empirical_bernstein([0.5, 1.5])


def test_inverse_binary_kl_solves_its_equation():
    for p, budget in [(0.0, 0.01), (0.1, 0.05), (0.5, 0.3), (1.0, 0.2)]:
        q = inverse_binary_kl(p, budget)
        kl = (p * np.log(p / q) if p else 0) + ((1 - p) * np.log((1 - p) / (1 - q)) if p < 1 else 0)
        assert q >= p
        assert q == 1 or kl == pytest.approx(budget, rel=1e-9)
    assert pac_bayes_kl(0.1, 3.0, 1000, n_tried=10).value > pac_bayes_kl(0.1, 3.0, 1000).value


def test_certify_classifiers_and_regressors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(X[:200], y[:200])
    bound = certify(model, X[200:], y[200:])
    errors = int(np.sum(model.predict(X[200:]) != y[200:]))
    assert bound == binomial_tail(errors, 400)
    values = X[:, 0] + 0.1 * rng.normal(size=600)
    regressor = LinearRegression().fit(X[:200], values[:200])
    bound = certify(regressor, X[200:], values[200:], largest_loss=0.25)
    assert 0.005 < bound.empirical < bound.value < 0.05
    absolute = certify(
        regressor, X[200:], values[200:], loss=lambda a, b: np.abs(a - b), largest_loss=0.5
    )
    assert absolute.empirical == pytest.approx(
        np.mean(np.abs(values[200:] - regressor.predict(X[200:])))
    )
    with pytest.raises(ValueError, match="largest_loss"):
        certify(regressor, X, values)


def test_certify_compares_columns_row_by_row():
    """Broadcasting (n, 1) against (n,) would compare every row with every other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    values, labels = np.sin(X[:, 0]), X[:, 0] > 0
    regressor, classifier = (
        LinearRegression().fit(X[:200], values[:200]),
        LogisticRegression().fit(X[:200], labels[:200]),
    )
    column_regressor = LinearRegression().fit(X[:200], values[:200, None])  # predicts a column
    new = slice(200, None)
    expected = certify(regressor, X[new], values[new], largest_loss=0.25).value
    assert certify(column_regressor, X[new], values[new], largest_loss=0.25).value == pytest.approx(
        expected
    )
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert certify(regressor, X[new], values[new, None], largest_loss=0.25).value == expected
    with pytest.warns(DataConversionWarning, match="column-vector"):
        bound = certify(
            regressor, X[new], values[new, None], loss=lambda a, b: (a - b) ** 2, largest_loss=0.25
        )
    assert bound.value == expected
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert (
            certify(classifier, X[new], labels[new, None]).value
            == certify(classifier, X[new], labels[new]).value
        )
    with pytest.raises(ValueError, match="they must agree"):
        certify(regressor, X, np.column_stack([values, values]), largest_loss=0.25)
    with pytest.raises(ValueError, match="one number for each of 400 rows"):
        certify(regressor, X, values, loss=lambda a, b: a[:, None] - b, largest_loss=0.25)


@pytest.mark.parametrize("missing", [np.nan, np.inf, None])
def test_certify_rejects_missing_targets(missing):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0].astype(object if missing is None else float)
    regressor, classifier = (
        LinearRegression().fit(X, X[:, 0]),
        LogisticRegression().fit(X, X[:, 0] > 0),
    )
    y[3] = missing
    for model, settings in ((regressor, {"largest_loss": 1.0}), (classifier, {})):
        with pytest.raises(ValueError, match="contains NaN or infinity"):
            certify(model, X, y, **settings)


def test_certify_needs_a_probability():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    model = DummyClassifier().fit(X, y)
    with pytest.raises(ValueError, match="delta"):
        certify(model, X, y, delta=1.5)


def noisy_problem(rng, n):
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < 0.05)
    return X, y.astype(int)


def assert_missed_at_most(missed, runs, delta):
    """Not more often than delta, as far as a binomial test at 1 % can tell."""
    assert binomtest(int(missed), runs, delta, alternative="greater").pvalue > 0.01, (
        f"{missed} of {runs} missed"
    )


def test_the_certified_risk_covers_the_true_risk():
    rng = np.random.default_rng(0)
    X_new, y_new = noisy_problem(rng, 5000)
    runs = 25
    values, missed_gibbs, missed = [], 0, 0
    for run in range(runs):
        X, y = noisy_problem(rng, 500)
        features = SpectralFeatures(Gaussian(0.5), PacBayes(1.0), n_components=20, n_candidates=100)
        model = CertifiedClassifier(features, delta=0.1, random_state=run).fit(X, y)
        votes = model.votes(X_new)[np.arange(len(y_new)), 1 - y_new]
        missed_gibbs += votes.mean() > model.gibbs_bound_.value
        missed += np.mean(model.predict(X_new) != y_new) > model.bound_.value
        values.append(model.gibbs_bound_.value)
    assert_missed_at_most(missed_gibbs, runs, 0.1)
    assert_missed_at_most(missed, runs, 0.1)
    assert np.mean(values) < 0.4  # chance is 0.5


def share_by_quadrature(scores, k):
    """P(score k is the largest) by the definition."""
    others = np.delete(scores, k)
    return quad(
        lambda z: norm.pdf(z) * np.prod(norm.cdf(scores[k] + z - others)),
        -10,
        10,
        epsabs=1e-13,
        limit=200,
    )[0]


@pytest.mark.parametrize("n_classes", long_except([3, 4, 12], 4))
def test_votes_are_the_shares_of_drawn_weights(n_classes, seed):
    rng = np.random.default_rng(seed)
    scores = 2 * rng.normal(size=(4, n_classes))
    shares = np.column_stack([shares_for(scores, np.full(4, k)) for k in range(n_classes)])
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-13)
    np.testing.assert_array_equal(shares.argmax(axis=1), scores.argmax(axis=1))
    for row, mine in zip(scores, shares, strict=True):
        np.testing.assert_allclose(
            mine, [share_by_quadrature(row, k) for k in range(n_classes)], atol=1e-11
        )
    drawn = np.argmax(scores[0] + rng.normal(size=(100_000, n_classes)), axis=1)
    assert np.abs(
        np.bincount(drawn, minlength=n_classes) / 100_000 - shares[0]
    ).max() < 5 * np.sqrt(0.25 / 100_000)


@pytest.mark.parametrize("n_first", long_except([1, 300], 300))
def test_three_classes_are_certified_by_the_theorem_at_their_own_posterior(n_first):
    X, y = load_iris(return_X_y=True)
    X = np.tile(X, (4, 1)) + 0.05 * np.random.default_rng(0).normal(size=(600, 4))
    codes = np.tile(y, 4)
    labels = np.array(["a", "b", "c"])[codes]
    model = CertifiedClassifier(
        FunctionTransformer(), C=1.0, prior_share=n_first / 600, random_state=0
    ).fit(X, labels)
    assert model.coef_.shape == (3, 4)
    assert model.bound_.value == pytest.approx(min(1.0, 2 * model.gibbs_bound_.value))
    assert model.score(X, labels) > 0.9
    np.testing.assert_array_equal(model.classes_[model.votes(X).argmax(axis=1)], model.predict(X))
    # The same numbers by hand: the split, the regression on its first part, the divergence of all
    # weights.
    order = np.argsort(
        np.random.Generator(np.random.PCG64(int(np.random.default_rng(0).integers(2**63)))).random(
            600
        )
    )
    first, second = np.sort(order[:n_first]), np.sort(order[n_first:])
    start = np.zeros((3, 5))
    if n_first > 1:
        columns = np.column_stack([X[first], np.ones(n_first)])
        regression = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=20000)
        start = regression.fit(columns, labels[first]).coef_
    mean = np.column_stack([model.coef_, model.intercept_])
    divergence = np.sum((mean - start) ** 2) / (2 * model.width_**2)
    wrong = 1 - model.votes(X[second])[np.arange(len(second)), codes[second]]
    expected = pac_bayes_kl(wrong.mean(), divergence, len(second), n_tried=13)
    assert model.gibbs_bound_.value == pytest.approx(expected.value)
    assert model.gibbs_bound_.value < 0.65  # chance is 2/3
    assert n_first > 1 or divergence > 1  # a prior that knows nothing is left


def test_votes_are_not_called_probabilities():
    X, y = noisy_problem(np.random.default_rng(1), 300)
    model = CertifiedClassifier(random_state=0).set_params(features__n_components=7).fit(X, y)
    assert not hasattr(model, "predict_proba")
    np.testing.assert_allclose(model.votes(X).sum(axis=1), 1)


CORNERS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 2.0]])
# Chances of each class at each of five points, so that true risks are finite sums.
WORLDS = {
    "no errors": np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0]], dtype=float),
    "some noise": np.array([[0.9, 0.1], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8], [0.5, 0.5]]),
    "coin flips": np.full((5, 2), 0.5),
    "three classes": np.array(
        [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6], [0.4, 0.5, 0.1]]
    ),
    "three sides": np.full((5, 3), 1 / 3),
    "errors nearly always": np.full((5, 8), 1 / 8),
}


def missed_certificates(world, n, runs, delta):
    """How often each of the two certificates lies below its true risk."""
    chances, rng = WORLDS[world], np.random.default_rng([n, len(world)])
    missed = np.zeros(2)
    for run in range(runs):
        y = np.zeros(1)
        while len(np.unique(y)) < 2:
            places = rng.integers(5, size=n)
            y = np.sum(rng.random((n, 1)) >= np.cumsum(chances[places], axis=1)[:, :-1], axis=1)
        model = CertifiedClassifier(FunctionTransformer(), delta=delta, random_state=run).fit(
            CORNERS[places], y
        )
        chance = np.zeros((5, len(model.classes_)))
        chance[:] = chances[:, model.classes_]
        right = np.sum(chance * model.votes(CORNERS), axis=1).mean()
        hits = chances[np.arange(5), model.predict(CORNERS)].mean()
        missed += [1 - right > model.gibbs_bound_.value, 1 - hits > model.bound_.value]
    return missed


def most_misses(runs, delta):
    """Three standard errors above what the confidence allows."""
    return runs * delta + 3 * np.sqrt(runs * delta * (1 - delta))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", long_except([5, 40], 40))
@pytest.mark.parametrize("world", long_except(["coin flips", "three sides"], "coin flips"))
def test_certificates_cover_the_true_risk(world, n):
    assert missed_certificates(world, n, 40, 0.1).max() <= most_misses(40, 0.1)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [5, 50, 2000])
@pytest.mark.parametrize("world", WORLDS)
def test_certificates_cover_the_true_risk_in_a_thousand_samples(world, n):
    assert missed_certificates(world, n, 1000, 0.1).max() <= most_misses(1000, 0.1)


def test_nothing_is_certified_about_coin_flips():
    """Labels that have nothing to do with the rows: half of all new ones are missed, however well
    the old ones are fitted.
    """
    rng = np.random.default_rng(0)
    runs, missed, fitted = 20, 0, []
    for run in range(runs):
        X, y = rng.normal(size=(120, 5)), rng.integers(2, size=120)
        features = SpectralFeatures(Gaussian(0.5), n_components=40)
        model = CertifiedClassifier(features, delta=0.1, random_state=run).fit(X, y)
        missed += model.gibbs_bound_.value < 0.5
        fitted.append(model.score(X, y))
    assert_missed_at_most(missed, runs, 0.1)
    assert np.mean(fitted) > 0.6


def test_the_certificate_is_not_vacuous_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = CertifiedClassifier(
        SpectralFeatures(Gaussian(0.02), n_components=100), random_state=0
    ).fit(X, y)
    assert model.gibbs_bound_.value < 0.25
    assert model.bound_.value < 0.5
    assert model.score(X, y) > 0.95
    assert model.bound_.value == pytest.approx(2 * model.gibbs_bound_.value)


def test_the_decision_is_an_expansion_where_the_features_are_waves():
    X, y = noisy_problem(np.random.default_rng(1), 300)
    model = CertifiedClassifier(random_state=0).set_params(features__n_components=7).fit(X, y)
    assert len(model.expansion_) == 7
    np.testing.assert_allclose(
        model.expansion_.evaluate(X)[:, 0], model.decision_function(X), atol=1e-12
    )
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X[:, :1], np.ones(300))
    np.testing.assert_array_equal(model.decision_function(X), before)
    others = CertifiedClassifier(RBFSampler(n_components=9), random_state=0).fit(X, y)
    assert others.coef_.shape == (9,)
    assert not hasattr(others, "expansion_")
    three = model.fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    np.testing.assert_allclose(three.expansion_.evaluate(X), three.decision_function(X), atol=1e-12)


def test_a_looser_confidence_gives_a_smaller_bound():
    X, y = noisy_problem(np.random.default_rng(1), 400)
    strict = CertifiedClassifier(delta=0.01, random_state=0).fit(X, y)
    loose = CertifiedClassifier(delta=0.3, random_state=0).fit(X, y)
    assert loose.gibbs_bound_.value < strict.gibbs_bound_.value
    for wrong in ({"prior_share": 1.5}, {"C": -1.0}, {"delta": 2}):
        with pytest.raises(ValueError):
            CertifiedClassifier(**wrong).fit(X, y)


def test_weights_are_no_independent_rows_and_class_weights_leave_the_plain_risk(moons):
    X, y = moons
    plain = CertifiedClassifier(random_state=0).fit(X, y)
    weighted = CertifiedClassifier(random_state=0).fit(X, y, sample_weight=np.full(len(y), 3.0))
    costly = CertifiedClassifier(class_weight={1: 50.0}, random_state=0).fit(X, y)
    for bound in (weighted.bound_, weighted.gibbs_bound_):
        assert not bound.valid
        assert "weighted rows" in bound.reason
    assert plain.bound_.valid
    assert costly.bound_.valid
    # Dear errors are avoided, and what is certified is how often one errs, not what it costs.
    missed = [np.mean(model.predict(X)[y == 1] == 0) for model in (plain, costly)]
    assert missed[1] <= missed[0]
    assert costly.votes(X)[:, 1].mean() > plain.votes(X)[:, 1].mean()
    assert costly.bound_.empirical > plain.bound_.empirical


def test_transformers_that_cannot_weigh_rows_are_refused_where_rows_have_weights(moons):
    X, y = moons
    repeated = np.concatenate([X, X[:5]]), np.concatenate([y, y[:5]])
    model = CertifiedClassifier(Nystroem(n_components=20, random_state=0), random_state=0)
    assert model.fit(*repeated).bound_.valid  # equal rows are no weights
    for fit in (
        lambda: model.fit(X, y, np.ones(len(y)) * 2),
        lambda: clone(model).set_params(class_weight="balanced").fit(X, y),
    ):
        with pytest.raises(ValueError, match="Nystroem has no parameter sample_weight"):
            fit()
    frozen = FrozenEstimator(Nystroem(n_components=20, random_state=0).fit(X))
    assert (
        CertifiedClassifier(frozen, random_state=0).fit(X, y, np.ones(len(y)) * 2).score(X, y) > 0.8
    )
    with pytest.raises(ValueError, match="Nystroem has no parameter sample_weight"):
        SpectralRidge(Nystroem()).fit(X, X[:, 0], np.ones(len(y)) * 2)
    scaled = SpectralRidge(StandardScaler(), alpha=1e-8)
    repeated = np.repeat(np.arange(len(y)), 1 + y)
    expected = clone(scaled).fit(X[repeated], X[repeated, 0] ** 2).features_
    np.testing.assert_allclose(scaled.fit(X, X[:, 0] ** 2, 1.0 + y).features_.mean_, expected.mean_)


def repeated_noise(seed, n_rows=100, n_copies=6):
    """Labels that have nothing to do with the rows, so that the true error of every classifier is
    one half.
    """
    rng = np.random.default_rng(seed)
    return np.tile(rng.normal(size=(n_rows, 5)), (n_copies, 1)), np.tile(
        rng.integers(2, size=n_rows), n_copies
    )


@pytest.mark.parametrize("are_merged", [True, False])
def test_copies_are_on_one_side_of_the_split_and_count_once(are_merged, seed, monkeypatch):
    X, y = repeated_noise(seed)
    features = SpectralFeatures(Gaussian(0.5), n_components=40)
    model = CertifiedClassifier(features, random_state=seed)
    if not are_merged:
        monkeypatch.setattr(repetitions, "FEW_ROWS", 50)
    model.fit(X, y)
    for bound in (model.gibbs_bound_, model.bound_):
        assert bound.valid
        assert bound.value >= 0.5
        assert bound.reason == "500 of 600 rows (83%) repeat another row; copies count once"
    # 50 distinct rows are left to certify with.
    errors = model.bound_.empirical * 50
    assert errors == pytest.approx(round(errors))


def test_copies_on_dask_give_the_certificate_of_memory(monkeypatch):
    da = pytest.importorskip("dask.array")
    X, y = repeated_noise(0)
    monkeypatch.setattr(repetitions, "FEW_ROWS", 50)
    model = CertifiedClassifier(SpectralFeatures(Gaussian(0.5), n_components=40), random_state=0)
    expected = clone(model).fit(X, y)
    found = model.fit(da.from_array(X, chunks=(90, 5)), da.from_array(y, chunks=70))
    assert found.gibbs_bound_.value == pytest.approx(expected.gibbs_bound_.value, rel=1e-9)


def test_ties_stay_independent_rows():
    """Five inputs with noisy labels: 400 independent rows, although only ten of them are different."""
    rng = np.random.default_rng(0)
    places = rng.integers(5, size=400)
    y = (rng.random(400) < WORLDS["some noise"][places, 1]).astype(int)
    bound = (
        CertifiedClassifier(FunctionTransformer(), random_state=0)
        .fit(CORNERS[places], y)
        .gibbs_bound_
    )
    assert bound.valid
    assert bound.value < 0.45  # ten rows certify nothing below one half
    assert (
        bound.reason == "390 of 400 rows (98%) repeat another row; they count as independent rows"
    )
    twice = CertifiedClassifier(FunctionTransformer(), random_state=0)
    twice.fit(np.tile(CORNERS[places], (2, 1)), np.tile(y, 2))
    # The same table exported twice has as many observations as before.
    budgets = [
        np.log(bound.value / bound.empirical),
        np.log(twice.gibbs_bound_.value / twice.gibbs_bound_.empirical),
    ]
    assert budgets[1] == pytest.approx(budgets[0], abs=0.1)


def test_certify_counts_copies_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.integers(2, size=100)
    model = LogisticRegression().fit(X[:40], y[:40])
    X, y = X[40:], y[40:]
    plain = certify(model, X, y)
    assert plain.reason == ""
    note = "120 of 180 rows (67%) repeat another row; copies count once"
    for rows in (np.tile(X, (3, 1)), np.tile(X, (3, 1)).tolist(), sp.csr_array(np.tile(X, (3, 1)))):
        assert certify(model, rows, np.tile(y, 3)) == replace(plain, reason=note)
    regressor = LinearRegression().fit(X, X[:, 0])
    values = X[:, 0] + 0.1 * rng.normal(size=60)
    expected = certify(regressor, X, values, largest_loss=1.0)
    found = certify(regressor, np.tile(X, (3, 1)), np.tile(values, 3), largest_loss=1.0)
    assert found == replace(expected, reason=note)
    tied = certify(model, np.round(X / 3), y)
    assert tied.complexity == pytest.approx(plain.complexity, abs=0.02)
    assert "independent rows" in tied.reason


def test_certify_counts_copies_of_frames_and_texts_once():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    words, numbers, y = rng.choice(list("abc"), 60), rng.normal(size=60), rng.integers(2, size=60)
    frame = pandas.DataFrame({"word": words, "number": numbers})
    texts = [f"{word} {number}" for word, number in zip(words, numbers)]
    for rows in (frame, frame.astype({"word": "category"}), texts, frame.to_numpy(dtype=object)):
        model = DummyClassifier(strategy="constant", constant=0).fit(rows, y)
        twice = (
            pandas.concat([rows, rows])
            if isinstance(rows, pandas.DataFrame)
            else np.concatenate([rows, rows])
        )
        assert certify(model, twice, np.tile(y, 2)).value == certify(model, rows, y).value


@pytest.mark.parametrize("learner", [None, pytest.param(PacBayes(), marks=pytest.mark.long)])
def test_rows_of_a_cluster_send_scores_and_keys_only(learner, monkeypatch):
    """Two scores of each row choose width and move, and one key of each row finds copies."""
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X, y = make_moons(5000, noise=0.2, random_state=0)
    model = CertifiedClassifier(
        SpectralFeatures(Gaussian(1.0), learner, n_components=20), random_state=0
    )
    monkeypatch.setattr(certificates, "_MOST_TAILS", 1000)
    expected = clone(model).fit(X, y)
    gathered, original = [], dask.compute

    def watched(*collections, **options):
        gathered.extend(one.size for one in collections if isinstance(one, da.Array))
        return original(*collections, **options)

    monkeypatch.setattr(dask, "compute", watched)
    there = da.from_array(X, chunks=(900, 1))
    found = model.fit(there, y)
    assert sorted(gathered)[-2:] == [5000, 2 * 5000]  # one key and two scores of each row
    monkeypatch.undo()
    assert found.gibbs_bound_.value == pytest.approx(expected.gibbs_bound_.value, rel=1e-10)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    for method in ("predict", "decision_function", "votes"):
        np.testing.assert_allclose(
            getattr(found, method)(there).compute(), getattr(expected, method)(X), atol=1e-8
        )
