"""Operator-valued models with convex losses: the objective by brute force, its minimum, and what
known solvers find.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from selection import long_except
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from bochner import (
    CurlFree,
    CustomKernel,
    Decomposable,
    Gaussian,
    Helmholtz,
    OperatorClassifier,
    OperatorRegressor,
    OperatorRidge,
    PacBayes,
    SpectralFeatures,
)
from bochner.data import as_rows
from bochner.losses import (
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
)
from bochner.solvers import convex
from bochner.solvers.convex import ConvexProblem

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(70, 2))
FIELD = np.stack([np.cos(2 * X[:, 0]) * X[:, 1], np.sin(2 * X[:, 0])], axis=1) + 0.1 * RNG.normal(
    size=(70, 2)
)
TASKS = np.array([[1.0, 0.4], [0.4, 2.0]])


def objective(model, loss, targets, weights, alpha, unknowns):
    """Eq. 11 row by row, the features Ψ(x) as a matrix; its λ‖θ‖² + (1/n) Σ ℓ times n, with n λ = α
    / 2.
    """
    measure = model.measure_
    theta, constants = np.split(unknowns, [measure.n_columns])
    total = alpha / 2 * theta @ theta
    for row, psi in enumerate(measure.features(X)):
        score = psi @ theta + (constants if len(constants) else 0.0)
        total += weights[row] * loss.values(targets[row : row + 1], score[None])[0]
    return total


def problem_of(kernel, loss, targets, weights=None, alpha=0.3, constant=True):
    measure = kernel.sample(6, 2, np.random.default_rng(1))
    return ConvexProblem(as_rows(X), targets, weights, measure, loss, alpha, constant)


class Wrapped:
    def __init__(self, problem):
        self.measure_ = problem.measure


SIGNS = np.where(FIELD > 0, 1.0, -1.0)
PROBLEMS = {
    "curl-free, Huber": (CurlFree(Gaussian(1.0)), Huber(np.array([0.2, 0.3])), FIELD),
    "tasks, hinge": (Decomposable(Gaussian(1.0), TASKS), Hinge(0.5), SIGNS),
    "Helmholtz, quantile": (Helmholtz(Gaussian(1.0)), Quantile(0.7, 0.3), FIELD),
    "softmax": (
        Decomposable(Gaussian(1.0), TASKS),
        Multinomial(),
        np.eye(2)[(FIELD[:, 0] > 0).astype(int)],
    ),
    "one output, logistic": (Decomposable(Gaussian(1.0)), Logistic(), SIGNS[:, :1]),
    "counts": (CurlFree(Gaussian(1.0)), Poisson(), np.floor(np.exp(FIELD))),
}


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("name", PROBLEMS)
def test_value_gradient_and_hessian_are_those_of_the_objective(name, constant, monkeypatch, seed):
    kernel, loss, targets = PROBLEMS[name]
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, size=70).astype(float)
    problem = problem_of(kernel, loss, targets, weights, constant=constant)
    place = 0.3 * rng.normal(size=problem.n_unknowns)
    reached = problem.at(place)

    def slow(unknowns):
        return objective(
            Wrapped(problem), loss, targets, weights, 0.3, unknowns
        ) - weights @ loss.least(targets)

    assert reached.value == pytest.approx(slow(place), rel=1e-10)
    np.testing.assert_allclose(
        reached.gradient, approx_fprime(place, slow, 1e-7), rtol=1e-4, atol=1e-4
    )
    penalties = np.append(
        np.full(problem.measure.n_columns, 0.3),
        np.zeros(problem.n_unknowns - problem.measure.n_columns),
    )
    whole = reached.curvature + np.diag(penalties)
    # Huber and the rounded losses bend in steps: differences over rows that cross an edge are off.
    for k in rng.choice(problem.n_unknowns, 4, replace=False):
        shift = 1e-5 * np.eye(problem.n_unknowns)[k]
        numeric = (problem.at(place + shift).gradient - problem.at(place - shift).gradient) / 2e-5
        np.testing.assert_allclose(whole[k], numeric, rtol=1e-4, atol=1e-4 * np.abs(whole).max())
    monkeypatch.setattr(convex, "MOST_UNKNOWNS", 0)
    np.testing.assert_allclose(problem.at(place).curvature, np.diag(reached.curvature), rtol=1e-10)
    by_passes = problem.step(problem.at(place), progress=0.0)
    monkeypatch.undo()
    held = whole + np.diag(
        1e-4 * weights.sum() * (penalties == 0) * (loss.rounded(1.0) is not loss)
    )
    for step, tolerance in ((by_passes, 2e-4), (problem.step(reached), 1e-9)):
        left = np.linalg.norm(held @ step + reached.gradient)
        assert left <= tolerance * np.linalg.norm(reached.gradient)
    lengths = convex._SHORTER[[0, 3]]
    steps = problem.along(place, by_passes)[[0, 3]]
    np.testing.assert_allclose(
        steps, [slow(place + length * by_passes) for length in lengths], rtol=1e-10
    )


@pytest.mark.parametrize("name", ["curl-free, Huber", "softmax", "counts"])
def test_the_minimum_is_that_of_scipy(name):
    kernel, loss, targets = PROBLEMS[name]
    problem = problem_of(kernel, loss, targets)
    found = convex.minimize_convex(problem, np.zeros(problem.n_unknowns), 1e-8, 100)
    assert found.converged

    def value_and_gradient(unknowns):
        reached = problem.at(unknowns)
        return reached.value, reached.gradient

    options = {"maxiter": 5000, "maxfun": 10_000, "gtol": 1e-9, "ftol": 1e-15}
    by_scipy = minimize(
        value_and_gradient,
        np.zeros(problem.n_unknowns),
        jac=True,
        method="L-BFGS-B",
        options=options,
    )
    assert problem.at(found.coefficients).value <= by_scipy.fun * (1 + 1e-9)


def test_the_covariance_of_weighted_targets_is_that_of_repeated_rows():
    rng = np.random.default_rng(0)
    rows, counts = rng.normal(size=(30, 2)), rng.integers(0, 4, size=30)
    targets = np.column_stack([rows[:, 0] + 3 * (counts > 1), rows[:, 1] - counts])
    model = OperatorRegressor(
        Decomposable(output_matrix="covariance"), n_components=5, random_state=0
    )
    weighted = clone(model).fit(rows, targets, counts).kernel_.output_matrix
    repeated = model.fit(
        np.repeat(rows, counts, axis=0), np.repeat(targets, counts, axis=0)
    ).kernel_.output_matrix
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_with_the_squared_loss_it_is_the_ridge():
    for kernel in (CurlFree(Gaussian(1.0)), Decomposable(Gaussian(1.0), TASKS)):
        settings = {"alpha": 0.05, "n_components": 20, "fit_intercept": True, "random_state": 0}
        ridge, model = (
            OperatorRidge(kernel, **settings).fit(X, FIELD),
            OperatorRegressor(kernel, **settings).fit(X, FIELD),
        )
        np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-7)
        np.testing.assert_allclose(model.intercept_, ridge.intercept_, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_logistic_loss_has_the_coefficients_of_scikit_learn(n_classes):
    y = np.digitize(FIELD[:, 0], [0.0] if n_classes == 2 else [-0.3, 0.3])
    model = OperatorClassifier(
        Decomposable(Gaussian(1.0)), n_components=15, alpha=0.2, tol=1e-9, random_state=0
    ).fit(X, y)
    waves = model.measure_.scalar.features(X)
    peer = LogisticRegression(C=5.0, tol=1e-10, max_iter=10_000).fit(waves, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(waves), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), peer.predict(waves))
    if n_classes > 2:
        assert (
            abs(model.intercept_.sum()) < 1e-12
        )  # of all equal shifts, which softmax does not see, the one of mean zero


@pytest.mark.parametrize("C", [0.3, 10.0])
def test_the_hinge_reaches_the_objective_of_a_support_vector_machine(C):
    y = FIELD[:, 0] > 0
    model = OperatorClassifier(
        Decomposable(Gaussian(1.0)), Hinge(), n_components=30, alpha=1 / C, random_state=0
    ).fit(X, y)
    signs, gram = np.where(y, 1.0, -1.0), model.measure_.scalar.kernel(X)
    svm = SVC(kernel="precomputed", C=C, tol=1e-9).fit(gram, y)
    dual = np.zeros(70)
    dual[svm.support_] = svm.dual_coef_[0]
    best = np.abs(dual).sum() - dual @ gram @ dual / 2
    mine = np.sum(model.coef_**2) / 2 + C * np.sum(
        np.maximum(1 - signs * model.decision_function(X), 0)
    )
    assert best * (1 - 1e-7) <= mine <= best * (1 + 1e-4)
    assert not hasattr(model, "predict_proba")
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(gram), atol=5e-3)


def test_quantiles_leave_their_share_below():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, size=(400, 1))
    y = np.sin(3 * Z[:, 0]) + (0.2 + 0.2 * (Z[:, 0] > 0)) * rng.normal(size=400)
    for level in (0.1, 0.5, 0.9):
        model = OperatorRegressor(
            loss=Quantile(level), alpha=0.1, n_components=20, random_state=0
        ).fit(Z, y)
        # At the minimum a free constant leaves the share below, up to the rows that lie on the
        # curve.
        assert abs(np.mean(y < model.predict(Z)) - level) < 0.06
    assert model.predict(Z).shape == (400,)
    assert model.jacobian(Z).shape == (400, 1)


def test_fields_stay_fields_whatever_the_loss():
    outliers = FIELD.copy()
    outliers[::7] += 5.0
    robust = OperatorRegressor(
        CurlFree(Gaussian(1.0)), Huber(np.full(2, 0.1)), alpha=0.01, n_components=40, random_state=0
    ).fit(X, outliers)
    plain = OperatorRegressor(
        CurlFree(Gaussian(1.0)), alpha=0.01, n_components=40, random_state=0
    ).fit(X, outliers)
    assert np.abs(robust.curl(X)).max() < 1e-9
    errors = [np.abs(model.predict(X) - FIELD).mean() for model in (robust, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_counts_are_predicted_by_their_mean_and_negative_ones_refused():
    y = np.random.default_rng(0).poisson(np.exp(1 + X[:, 0]))
    model = OperatorRegressor(loss=Poisson(), alpha=0.1, n_components=20, random_state=0).fit(
        X, y.astype(float)
    )
    assert np.all(model.predict(X) > 0)
    assert model.predict(X).sum() == pytest.approx(
        y.sum(), rel=1e-6
    )  # a free constant: residuals add up to nothing
    with pytest.raises(ValueError, match="non-negative targets, got -3"):
        model.fit(X, y - 3.0)


def test_learned_features_and_kernels_of_ones_own():
    y = np.digitize(FIELD[:, 0], [-0.3, 0.3])
    features = SpectralFeatures(learner=PacBayes(), n_candidates=40, n_components=10)
    model = OperatorClassifier(features=features, random_state=0).fit(X, y)
    assert model.features_.report_ is not None
    assert len(model.measure_) == 10
    custom = CustomKernel(Gaussian(1.0), operator=lambda w: np.tile(TASKS, (len(w), 1, 1)))
    settings = {"loss": Huber(np.full(2, 0.3)), "n_components": 15, "random_state": 0}
    one, other = (
        OperatorRegressor(k, **settings).fit(X, FIELD)
        for k in (custom, Decomposable(Gaussian(1.0), TASKS))
    )
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (OperatorClassifier(loss=Squared()), TypeError, "must be None or one of Logistic"),
        (OperatorClassifier(loss=Hinge), TypeError, "Hinge"),
        (OperatorClassifier(loss=Exponential()), ValueError, "for two classes"),
        (OperatorClassifier(alpha=0.0), ValueError, "alpha"),
        (OperatorClassifier(CurlFree()), ValueError, "has 2 outputs on these points, but y has 3"),
        (OperatorRegressor(loss="huber"), TypeError, "must be None or one of Squared"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(X, np.digitize(FIELD[:, 0], [-0.3, 0.3]))


def test_too_few_passes_are_told():
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        OperatorClassifier(max_iter=1, alpha=1e-3, random_state=0).fit(X, FIELD[:, 0] > 0)


# --- rows of a cluster ----------------------------------------------------------------------------


def there(values, size):
    da = pytest.importorskip("dask.array")
    return da.from_array(values, chunks=(size, *values.shape[1:]))


ON_A_CLUSTER = {
    "softmax": (OperatorClassifier(class_weight="balanced"), np.digitize(FIELD[:, 0], [-0.3, 0.3])),
    "Huber": (
        OperatorRegressor(Decomposable(output_matrix="covariance"), Huber(np.array([0.2, 0.3]))),
        FIELD,
    ),
    "Poisson": (OperatorRegressor(loss=Poisson()), np.floor(np.exp(FIELD[:, 0]))),
}


@pytest.mark.parametrize(
    "case",
    long_except(list(itertools.product(ON_A_CLUSTER, [0, 2048])), ("softmax", 2048)),
    ids=str,
)
def test_targets_and_weights_here_and_there_give_one_model(case, monkeypatch):
    """By the whole Hessian and by conjugate gradients, with weights that are no whole numbers.

    (Conjugate gradients towards a rounded corner follow the rounding of sums: blocks in memory
    alone bring 1e-8.)
    """
    (model, y), limit = ON_A_CLUSTER[case[0]], case[1]
    monkeypatch.setattr(convex, "MOST_UNKNOWNS", limit)
    weights = np.arange(70) % 4 / 3
    model.set_params(n_components=5, random_state=0)
    expected = model.fit(X, y, weights)
    expected = np.append(expected.coef_, expected.intercept_)
    for target, counts in (
        (there(y, 30), there(weights, 13)),
        (y, there(weights, 13)),
        (there(y, 30), weights),
    ):
        found = model.fit(there(X, 17), target, counts)
        np.testing.assert_allclose(
            np.append(found.coef_, found.intercept_), expected, rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (OperatorRegressor(), np.where(X[:, 0] > 0.9, np.nan, FIELD[:, 0])),
        (OperatorRegressor(), np.where(X > 0.9, np.inf, FIELD)),
        (OperatorRegressor(loss=Poisson()), FIELD),
        (OperatorClassifier(), np.where(X[:, 0] > 0.9, np.nan, 1.0)),
        (OperatorClassifier(loss=Exponential()), np.digitize(FIELD[:, 0], [-0.3, 0.3])),
        (OperatorClassifier(), np.ones(70)),
    ],
    ids=["NaN", "infinity", "negative counts", "NaN among labels", "three classes", "one class"],
)
def test_targets_of_a_cluster_are_refused_in_the_words_for_arrays(model, y):
    sentences = []
    for rows, target in ((X, y), (there(X, 17), there(y, 30))):
        with pytest.raises(ValueError, match=r"\w+") as raised:
            model.fit(rows, target)
        sentences.append(str(raised.value))
    assert sentences[0] == sentences[1]
