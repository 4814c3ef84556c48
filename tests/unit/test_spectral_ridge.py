"""SpectralRidge against scikit-learn's Ridge on the same features, refits, and its own derivatives."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures

from bochner import Decomposable, Gaussian, Matern, OperatorRidge, SpectralFeatures, SpectralRidge
from bochner.data import as_rows
from bochner.data.targets import Values
from bochner.data.training import TrainingData
from bochner.learners.alignment import potential
from bochner.learners.base import Learned, Learner
from bochner.solvers.problem import RidgeStatistics


def problem(n=60, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    Y = np.stack([np.sin(X[:, 0]) * X[:, 1], 1000 + X[:, 2] ** 2], axis=1)[:, :n_outputs]
    return X, Y + 0.1 * rng.normal(size=Y.shape)


def features(n_components=20):
    return SpectralFeatures(Gaussian(gamma=0.3), n_components=n_components, random_state=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_samples", [15, 80])
def test_equals_ridge_on_the_same_features(n_samples, intercept, weighted):
    X, Y = problem(n_samples)
    weights = np.random.default_rng(1).uniform(0, 2, n_samples) if weighted else None
    for targets in (Y, Y[:, 0]):
        model = SpectralRidge(features(), alpha=0.2, fit_intercept=intercept).fit(
            X, targets, weights
        )
        reference = Ridge(alpha=0.2, fit_intercept=intercept).fit(
            model.features_.transform(X), targets, weights
        )
        np.testing.assert_allclose(
            model.coef_, reference.coef_, atol=1e-8 * np.abs(reference.coef_).max()
        )
        np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=1e-9)
        assert model.predict(X).shape == targets.shape


@pytest.mark.parametrize("n_samples", [15, 50])
def test_leave_one_out_is_that_of_n_refits_and_chooses_the_ridge(n_samples):
    X, Y = problem(n_samples)
    weights = np.random.default_rng(1).uniform(0.5, 2, n_samples)
    path = SpectralRidge(features(), alpha=[1e-3, 1e-1, 10.0]).fit(X, Y, weights)
    errors = []
    for alpha in (1e-3, 1e-1, 10.0):
        model = SpectralRidge(features(), alpha=alpha).fit(X, Y, weights)
        refits = np.stack(
            [
                clone(model).fit(X[k], Y[k], weights[k]).predict(X[~k])[0]
                for k in ~np.eye(n_samples, dtype=bool)
            ]
        )
        np.testing.assert_allclose(model.leave_one_out(X, Y, weights), refits, atol=1e-6)
        errors.append(np.average(np.mean((Y - refits) ** 2, axis=1), weights=weights))
    np.testing.assert_allclose(path.loo_errors_, errors, rtol=1e-6)
    chosen = [1e-3, 1e-1, 10.0][np.argmin(errors)]
    np.testing.assert_allclose(
        path.predict(X), SpectralRidge(features(), alpha=chosen).fit(X, Y, weights).predict(X)
    )


def test_leave_one_out_is_infinite_rather_than_rounding_noise():
    """With more features than rows and no ridge to speak of, every leverage is one: no number can
    be trusted.
    """
    X, Y = problem(20)
    model = SpectralRidge(
        SpectralFeatures(Gaussian(gamma=3.0), n_components=300, random_state=0), alpha=[1e-13, 1.0]
    ).fit(X, Y)
    assert np.isinf(model.loo_errors_[0])
    assert model.alpha_ == 1.0


def test_independent_outputs_are_an_operator_ridge_with_the_identity():
    X, Y = problem(50)
    spectral = SpectralRidge(features(), alpha=0.3).fit(X, Y)
    operator = OperatorRidge(n_components=20, alpha=0.3, fit_intercept=True).set_params(
        kernel=Decomposable(spectral.measure_)
    )
    np.testing.assert_allclose(operator.fit(X, Y).predict(X), spectral.predict(X), atol=1e-7)


@pytest.mark.parametrize("alpha", [0.2, [0.2]])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "n_samples", [12, 40, 90]
)  # fewer rows than the 40 columns: some directions were never seen
def test_deviation_is_that_of_bayesian_linear_regression(n_samples, intercept, alpha):
    X, Y = problem(n_samples, n_outputs=1)
    model = SpectralRidge(features(), alpha=alpha, fit_intercept=intercept).fit(X, Y[:, 0])
    Phi, y = model.features_.transform(X), Y[:, 0]
    test = model.features_.transform(X[:5] + 1)
    if intercept:
        test, Phi, y = test - Phi.mean(axis=0), Phi - Phi.mean(axis=0), y - y.mean()
    covariance = np.linalg.inv(Phi.T @ Phi + 0.2 * np.eye(40))
    noise = y @ (y - Phi @ covariance @ Phi.T @ y) / n_samples
    own = np.einsum("ia,ab,ib->i", test, covariance, test) + (1 / n_samples if intercept else 0)
    std = model.predict(X[:5] + 1, return_std=True)[1]
    np.testing.assert_allclose(std, np.sqrt(noise * (1 + own)), rtol=1e-7)
    assert model.noise_variance_ == pytest.approx(noise)


def test_deviation_is_calibrated_on_the_models_own_data(seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.uniform(-1, 1, size=(120, 2)), rng.uniform(-3, 3, size=(1000, 2))
    ratios = []
    for child in rng.spawn(25):
        transformer = SpectralFeatures(
            Gaussian(gamma=1.0), n_components=60, random_state=child.integers(2**31)
        ).fit(X)
        truth, noise = child.normal(size=120), 0.2
        Y = transformer.transform(X) @ truth + noise * child.normal(size=120)
        model = SpectralRidge(transformer, alpha=noise**2, fit_intercept=False).fit(X, Y)
        mean, std = model.predict(Z, return_std=True)
        observed = transformer.transform(Z) @ truth + noise * child.normal(size=1000)
        ratios.append(np.mean(((observed - mean) / std) ** 2))
    ratios = np.array(ratios)
    assert abs(ratios.mean() - 1) < 4 * ratios.std(ddof=1) / np.sqrt(len(ratios))


def test_jacobian_agrees_with_finite_differences():
    X, Y = problem(40)
    for targets in (Y, Y[:, 0]):
        model = SpectralRidge(
            SpectralFeatures(Matern(nu=2.5), n_components=30, random_state=0)
        ).fit(X, targets)
        step = 1e-5
        numeric = np.stack(
            [(model.predict(X + s) - model.predict(X - s)) / (2 * step) for s in step * np.eye(3)],
            axis=-1,
        )
        np.testing.assert_allclose(model.jacobian(X), numeric, atol=1e-5 * np.abs(numeric).max())


class FourierPeaks(Learner):
    def _learn(self, measure, rows, target, rng, weights):
        power = potential(measure, rows, target.rows - target.rows.mean(axis=0))
        return Learned(measure.reweighted(power / power.sum()), None)


def test_learned_measures_and_other_transformers_fit_in():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    y = np.cos(4 * X[:, 0] - 3 * X[:, 1])
    prior = Gaussian(gamma=3.0)
    plain = SpectralRidge(SpectralFeatures(prior, n_components=25), alpha=0.1, random_state=0).fit(
        X[:200], y[:200]
    )
    learned = SpectralRidge(
        SpectralFeatures(prior, learner=FourierPeaks(), n_components=25, n_candidates=4000),
        alpha=0.1,
        random_state=0,
    ).fit(X[:200], y[:200])
    assert learned.score(X[200:], y[200:]) > plain.score(X[200:], y[200:])
    polynomial = SpectralRidge(PolynomialFeatures(2, include_bias=False), alpha=0.1).fit(X, y)
    powers = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    expected = Ridge(alpha=0.1).fit(powers, y).predict(powers)
    np.testing.assert_allclose(polynomial.predict(X), expected, atol=1e-10)
    with pytest.raises(AttributeError, match="FourierMeasure"):
        polynomial.jacobian(X)
    assert "expansion_" not in dir(polynomial)
    assert "features_" in polynomial._repr_html_()


def test_blocks_sparse_memmap_and_dask_change_nothing(tmp_path):
    da = pytest.importorskip("dask.array")
    X, Y = problem(90)
    whole = SpectralRidge(features(), alpha=[0.1, 1.0]).fit(X, Y)
    np.save(tmp_path / "rows.npy", X)
    variants = {
        "blocks": (features().set_params(block_size=11), X),
        "sparse": (features(), sp.csr_matrix(X)),
        "memmap": (features(), np.load(tmp_path / "rows.npy", mmap_mode="r")),
        "dask": (features(), da.from_array(X, chunks=(40, 3))),
    }
    for name, (transformer, rows) in variants.items():
        targets = da.from_array(Y, chunks=(50, 2)) if name == "dask" else Y
        model = SpectralRidge(transformer, alpha=[0.1, 1.0]).fit(rows, targets)
        np.testing.assert_allclose(model.loo_errors_, whole.loo_errors_, rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(
            np.asarray(model.predict(rows)), whole.predict(X), rtol=1e-8, atol=1e-8, err_msg=name
        )


def test_a_large_offset_costs_no_digits():
    X, Y = problem(60, n_outputs=1)
    near = SpectralRidge(features(), alpha=0.1).fit(X, Y)
    far = SpectralRidge(features(), alpha=0.1).fit(X, Y + 1e9)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "y", "error", "message"),
    [
        ({"alpha": -1.0}, np.ones(20), ValueError, "alpha must be positive"),
        ({}, np.full(20, np.nan), ValueError, "NaN"),
        ({}, np.ones((20, 2, 2)), ValueError, "dim"),
        ({}, None, ValueError, "requires y"),
        ({}, np.ones(19), ValueError, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_named(settings, y, error, message):
    with pytest.raises(error, match=message):
        SpectralRidge(**settings).fit(problem(20)[0], y)


# --- rows in parts --------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sizes", [(100,), (60, 40), (5, 30, 1, 64)])
def test_rows_in_parts_give_the_fit_of_all_rows(sizes, intercept, weighted):
    X, Y = problem(100)
    weights = np.random.default_rng(1).uniform(0, 2, 100) if weighted else None
    for targets in (Y, Y[:, 1]):
        whole = SpectralRidge(features(), alpha=0.2, fit_intercept=intercept).fit(
            X, targets, weights
        )
        parts = SpectralRidge(features(), alpha=0.2, fit_intercept=intercept)
        for stop, size in zip(np.cumsum(sizes), sizes):
            rows = slice(stop - size, stop)
            parts.partial_fit(X[rows], targets[rows], None if weights is None else weights[rows])
        np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-11 * np.abs(whole.coef_).max())
        np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-11)
        for mine, theirs in zip(
            parts.predict(X, return_std=True), whole.predict(X, return_std=True), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            parts.leave_one_out(X, targets, weights),
            whole.leave_one_out(X, targets, weights),
            rtol=1e-10,
            atol=1e-10,
        )


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_merged_fits_are_the_fit_of_all_rows(intercept, weighted):
    X, Y = problem(200)
    Y = (
        Y + 1000.0 * np.arange(200)[:, None] / 200
    )  # the parts have other means, around which they are summed
    weights = np.random.default_rng(1).uniform(0, 2, 200) if weighted else None
    for targets in (Y, Y[:, 1]):
        ridge = SpectralRidge(features(), alpha=0.2, fit_intercept=intercept)
        whole = clone(ridge).fit(X, targets, weights)
        parts = [
            clone(ridge).fit(X[rows], targets[rows], None if weights is None else weights[rows])
            for rows in (slice(0, 90), slice(90, 200))
        ]
        parts[0].predict(X)
        merged, other = parts[0].merge(parts[1]), parts[1].predict(X)
        np.testing.assert_allclose(
            merged.coef_, whole.coef_, atol=1e-10 * np.abs(whole.coef_).max()
        )
        np.testing.assert_allclose(merged.predict(X), whole.predict(X), rtol=1e-10, atol=1e-8)
        np.testing.assert_allclose(merged.noise_variance_, whole.noise_variance_, rtol=1e-8)
        np.testing.assert_array_equal(parts[1].predict(X), other)


def test_sums_around_another_shift_are_those_summed_around_it():
    X, Y = problem(50)
    data = TrainingData(as_rows(X), Values(Y), np.random.default_rng(1).uniform(0, 2, 50))
    here, there = np.array([0.3, -2.0]), np.array([5.0, 1.0])
    found, expected = (RidgeStatistics.of(np.sin, data, shift) for shift in (here, there))
    for field in fields(expected):
        np.testing.assert_allclose(
            getattr(found.around(there), field.name), getattr(expected, field.name), rtol=1e-11
        )


def test_merged_fits_choose_their_ridge_as_parts_do():
    X, Y = problem(200)
    parts = (
        SpectralRidge(features(), alpha="auto")
        .partial_fit(X[:80], Y[:80])
        .partial_fit(X[80:], Y[80:])
    )
    merged = SpectralRidge(features(), alpha="auto").fit(X[:80], Y[:80])
    merged.merge(SpectralRidge(features(), alpha="auto").fit(X[80:], Y[80:]))
    assert merged.alpha_ == pytest.approx(parts.alpha_)
    np.testing.assert_allclose(merged.predict(X), parts.predict(X), rtol=1e-7)


def test_what_cannot_be_merged_is_refused():
    X, Y = problem(100)
    model = SpectralRidge(features(), alpha=0.2).fit(X, Y)
    with pytest.raises(TypeError, match="SpectralRidge merges with another one"):
        model.merge(Y)
    with pytest.raises(NotFittedError):
        model.merge(SpectralRidge(features()))
    with pytest.raises(ValueError, match="different features"):
        model.merge(SpectralRidge(features(), random_state=5).fit(X, Y))
    with pytest.raises(ValueError, match="targets of different shapes: 2 and 1 columns"):
        model.merge(SpectralRidge(features()).fit(X, Y[:, 0]))
    many = SpectralRidge(features(2050)).fit(X, Y)
    with pytest.raises(ValueError, match="The Gram matrix of 4100 features was too large"):
        clone(many).fit(X, Y).merge(many)
    other = SpectralRidge(Nystroem(n_components=10)).fit(X, Y)
    with pytest.raises(ValueError, match="different features"):
        clone(other).fit(X, Y).merge(other)


def test_rows_may_follow_a_fit_and_a_fit_begins_anew():
    X, y = problem(200, 1)
    y = y[:, 0]
    whole = SpectralRidge(features(), alpha=0.2).fit(X, y)
    for n_first in (10, 120):  # fewer and more rows than features
        model = SpectralRidge(features(), alpha=0.2).fit(X[:n_first], y[:n_first])
        model.partial_fit(X[n_first:], y[n_first:])
        np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9)
    np.testing.assert_allclose(
        model.fit(X[:50], y[:50]).coef_, clone(model).fit(X[:50], y[:50]).coef_, rtol=1e-12
    )


def test_what_cannot_be_added_is_refused():
    X, Y = problem(100)
    model = SpectralRidge(features()).partial_fit(X, Y)
    with pytest.raises(
        ValueError, match=r"y has shape \(100, 1\), but in earlier calls it had 2 columns"
    ):
        model.partial_fit(X, Y[:, :1])
    with pytest.raises(ValueError, match="it had 2 columns"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="it had one dimension"):
        SpectralRidge(features()).partial_fit(X, Y[:, 0]).partial_fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.partial_fit(X[:, :2], Y)
    many = SpectralRidge(features(2100)).fit(X, Y)
    with pytest.raises(ValueError, match="The Gram matrix of 4200 features was too large"):
        many.partial_fit(X, Y)


def test_an_interrupted_call_counts_no_rows(monkeypatch):
    X, Y = problem(100)
    model = SpectralRidge(features(), alpha=1.0).partial_fit(X[:60], Y[:60])
    before = model.predict(X)
    with monkeypatch.context() as patch:
        patch.setattr("bochner.solvers.problem._sums_block", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[60:], Y[60:])
    np.testing.assert_array_equal(model.predict(X), before)
    whole = SpectralRidge(features(), alpha=1.0).fit(X, Y)
    np.testing.assert_allclose(
        model.partial_fit(X[60:], Y[60:]).predict(X), whole.predict(X), rtol=1e-9
    )
    fresh = SpectralRidge(features(), alpha=1.0)
    with monkeypatch.context() as patch:
        patch.setattr("bochner.solvers.problem._sums_block", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            fresh.partial_fit(X[60:], Y[60:])
    np.testing.assert_allclose(fresh.partial_fit(X, Y).predict(X), whole.predict(X), rtol=1e-9)


def test_an_interrupted_solution_is_solved_again(monkeypatch):
    X, Y = problem(100)
    model = (
        SpectralRidge(features(), alpha=1.0).partial_fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:])
    )
    with monkeypatch.context() as patch:
        patch.setattr("bochner.solvers.direct.ridge_solution", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.predict(X)
    np.testing.assert_allclose(
        model.predict(X), SpectralRidge(features(), alpha=1.0).fit(X, Y).predict(X), rtol=1e-9
    )


def _interrupted(*_):
    raise KeyboardInterrupt
