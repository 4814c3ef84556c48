"""Risk bounds on the final predictor: formulas, refusals and coverage."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

from bochner import CertifiedClassifier, Gaussian, PacBayes, SpectralFeatures, SpectralRidge, certify
from bochner.bounds import binomial_tail, empirical_bernstein, pac_bayes_kl
from bochner.bounds.risk import inverse_binary_kl
from bochner.certificates import split_counts


@pytest.fixture
def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.mark.parametrize("n_errors", [0, 1, 7, 49])
def test_binomial_tail_is_the_exact_one(n_errors):
    bound = binomial_tail(n_errors, 50, delta=0.03)
    assert binom.cdf(n_errors, 50, bound.value) == pytest.approx(0.03)
    assert binomial_tail(50, 50).value == 1


def test_binomial_tail_covers_and_is_not_wasteful(seed):
    rng = np.random.default_rng(seed)
    rate, n, delta, runs = 0.12, 200, 0.1, 4000
    errors = rng.binomial(n, rate, size=runs)
    table = {int(k): binomial_tail(int(k), n, delta=delta).value for k in np.unique(errors)}
    missed = np.mean([table[int(k)] < rate for k in errors])
    assert missed <= delta + 5 * np.sqrt(delta / runs)
    assert missed > delta / 3  # exact up to the steps of the binomial law


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
    absolute = certify(regressor, X[200:], values[200:], loss=lambda a, b: np.abs(a - b), largest_loss=0.5)
    assert absolute.empirical == pytest.approx(np.mean(np.abs(values[200:] - regressor.predict(X[200:]))))
    with pytest.raises(ValueError, match="largest_loss"):
        certify(regressor, X, values)


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
    assert binomtest(int(missed), runs, delta, alternative="greater").pvalue > 0.01, f"{missed} of {runs} missed"


def test_the_certified_risk_covers_the_true_risk():
    rng = np.random.default_rng(0)
    X_new, y_new = noisy_problem(rng, 5000)
    runs = 25
    values, missed_gibbs, missed = [], 0, 0
    for run in range(runs):
        X, y = noisy_problem(rng, 500)
        features = SpectralFeatures(Gaussian(0.5), PacBayes(1.0), n_components=20, n_candidates=100)
        model = CertifiedClassifier(features, delta=0.1, random_state=run).fit(X, y)
        votes = model.predict_proba(X_new)[np.arange(len(y_new)), 1 - y_new]
        missed_gibbs += votes.mean() > model.gibbs_bound_.value
        missed += np.mean(model.predict(X_new) != y_new) > model.bound_.value
        values.append(model.gibbs_bound_.value)
    assert_missed_at_most(missed_gibbs, runs, 0.1)
    assert_missed_at_most(missed, runs, 0.1)
    assert np.mean(values) < 0.4  # chance is 0.5


def test_nothing_is_certified_about_coin_flips():
    """Labels that have nothing to do with the rows: half of all new ones are missed, however well the old ones are fitted."""
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
    model = CertifiedClassifier(SpectralFeatures(Gaussian(0.02), n_components=100), random_state=0).fit(X, y)
    assert model.gibbs_bound_.value < 0.25
    assert model.bound_.value < 0.5
    assert model.score(X, y) > 0.95
    assert model.bound_.value == pytest.approx(2 * model.gibbs_bound_.value)


def test_the_decision_is_an_expansion_where_the_features_are_waves():
    X, y = noisy_problem(np.random.default_rng(1), 300)
    model = CertifiedClassifier(random_state=0).set_params(features__n_components=7).fit(X, y)
    assert len(model.expansion_) == 7
    np.testing.assert_allclose(model.expansion_.evaluate(X)[:, 0], model.decision_function(X), atol=1e-12)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X[:, :1], np.ones(300))
    np.testing.assert_array_equal(model.decision_function(X), before)
    others = CertifiedClassifier(RBFSampler(n_components=9), random_state=0).fit(X, y)
    assert others.coef_.shape == (9,)
    assert not hasattr(others, "expansion_")
    with pytest.raises(ValueError, match="Only binary"):
        others.fit(X, np.arange(300) % 3)


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
    assert costly.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    assert costly.bound_.empirical > plain.bound_.empirical


def test_split_counts_take_copies_one_by_one(seed):
    counts = np.array([1.0, 5.0, 0.4, 2.5, 0.0])
    first, second = split_counts(counts, 0.5, np.random.default_rng(seed))
    np.testing.assert_allclose(first + second, counts)
    assert first[1] == int(first[1])
    assert min(first.sum(), second.sum()) > 0
    many, _ = split_counts(np.full(4, 1000.0), 0.25, np.random.default_rng(seed))
    assert many.sum() == 1000
    assert np.max(np.abs(many - 250)) < 5 * np.sqrt(1000 * 0.25 * 0.75)
    np.testing.assert_array_equal(split_counts(6, 0.5, np.random.default_rng(seed))[0].sum(), 3)


def test_transformers_that_cannot_weigh_rows_are_refused_where_rows_have_weights(moons):
    X, y = moons
    repeated = np.concatenate([X, X[:5]]), np.concatenate([y, y[:5]])
    model = CertifiedClassifier(Nystroem(n_components=20, random_state=0), random_state=0)
    assert model.fit(*repeated).bound_.valid  # equal rows are no weights
    for fit in (
        lambda: model.fit(X, y, np.ones(len(y)) * 2),
        lambda: clone(model).set_params(class_weight="balanced").fit(X, y),
    ):
        with pytest.raises(ValueError, match="Nystroem takes no sample_weight"):
            fit()
    frozen = FrozenEstimator(Nystroem(n_components=20, random_state=0).fit(X))
    assert CertifiedClassifier(frozen, random_state=0).fit(X, y, np.ones(len(y)) * 2).score(X, y) > 0.8
    with pytest.raises(ValueError, match="Nystroem takes no sample_weight"):
        SpectralRidge(Nystroem()).fit(X, X[:, 0], np.ones(len(y)) * 2)
    scaled = SpectralRidge(StandardScaler(), alpha=1e-8)
    repeated = np.repeat(np.arange(len(y)), 1 + y)
    expected = clone(scaled).fit(X[repeated], X[repeated, 0] ** 2).features_
    np.testing.assert_allclose(scaled.fit(X, X[:, 0] ** 2, 1.0 + y).features_.mean_, expected.mean_)
