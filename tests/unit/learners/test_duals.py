"""Projection onto the dual set against a quadratic programme, and the dual problems against their
primals.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from bochner import project_dual
from bochner.data.targets import as_target
from bochner.learners.game.duals import LOSSES, HingeDual, make_dual
from bochner.learners.game.value import fit_machine


def nearest_by_quadratic_programme(z, y, C):
    """SLSQP on the definition; only for tests."""
    result = minimize(
        lambda a: np.sum((a - z) ** 2) / 2,
        np.clip(z, 0, C),
        jac=lambda a: a - z,
        bounds=[(0, C)] * len(z),
        constraints={"type": "eq", "fun": lambda a: y @ a, "jac": lambda a: y},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert result.success or result.status == 8  # 8: no further descent within rounding
    return result.x


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_projection_is_the_quadratic_programmes_solution(C, seed):
    rng = np.random.default_rng(seed)
    z, y = 3 * rng.normal(size=30), np.where(rng.random(30) < 0.3, 1.0, -1.0)
    y[:2] = 1, -1
    np.testing.assert_allclose(
        project_dual(z, y, C), nearest_by_quadratic_programme(z, y, C), atol=1e-6
    )


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.sampled_from([-1.0, 1.0])), min_size=1, max_size=30
    ),
    st.sampled_from([0.01, 1.0, 1e4, np.inf]),
)
def test_projection_is_feasible_and_satisfies_the_optimality_conditions(pairs, C):
    z, y = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    alpha = project_dual(z, y, C)
    scale = 1 + np.abs(z).max()
    assert np.all((alpha >= 0) & (alpha <= C))
    assert abs(y @ alpha) <= 1e-9 * scale * len(z)
    if np.any(y != y[0]):
        # One multiplier m explains every coordinate: it equals y (z − α) inside the box, and at a
        # bound α = 0 needs z <= m y, that is m >= z for y = +1, m <= −z for y = −1; α = C the
        # reverse.
        shifts = y * (z - alpha)
        inner = (alpha > 1e-9 * scale) & (alpha < C)
        lower, upper = alpha <= 1e-9 * scale, alpha >= C
        m_at_least = np.concatenate([shifts[inner], z[lower & (y > 0)], (C - z[upper & (y < 0)])])
        m_at_most = np.concatenate([shifts[inner], -z[lower & (y < 0)], (z[upper & (y > 0)] - C)])
        if len(m_at_least) and len(m_at_most):
            assert m_at_least.max() <= m_at_most.min() + 1e-6 * scale


def test_alternating_projection_is_feasible_but_not_nearest(seed):
    rng = np.random.default_rng(seed)
    z, y = 2 * rng.normal(size=30), np.where(np.arange(30) < 8, 1.0, -1.0)
    alternating = HingeDual(y[:, None], 1.0, projection="alternating").project(z[:, None])[:, 0]
    assert abs(y @ alternating) < 1e-9
    assert alternating.min() > -0.02
    assert alternating.max() < 1.02
    exact = project_dual(z, y, 1.0)
    assert np.linalg.norm(alternating - z) > np.linalg.norm(exact - z) - 1e-3
    assert np.linalg.norm(alternating - exact) > 0.01


def test_one_class_leaves_only_zero():
    np.testing.assert_array_equal(project_dual([0.5, 2.0], [1, 1], 1.0), [0.0, 0.0])
    np.testing.assert_array_equal(
        project_dual([0.5, 2.0], [1, -1], 1.0, weights=[1, 0]), [0.0, 0.0]
    )


@pytest.mark.parametrize("C", [0.1, 1.0, np.inf])
def test_a_weight_of_the_projection_is_a_repetition(C, seed):
    rng = np.random.default_rng(seed)
    z, y = 3 * rng.normal(size=30), np.where(rng.random(30) < 0.3, 1.0, -1.0)
    y[:2] = 1, -1
    counts = rng.integers(4, size=30)
    counts[:2] = 1
    repeated = np.repeat(np.arange(30), counts)
    alpha = project_dual(z, y, C, counts)
    np.testing.assert_allclose(
        alpha[repeated], project_dual(z[repeated], y[repeated], C), atol=1e-12
    )
    assert abs((counts * y) @ alpha) < 1e-10


@pytest.mark.parametrize("loss", LOSSES[1:])
def test_weights_of_a_dual_are_repetitions(loss, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4))
    y = rng.normal(size=(30, 2)) if loss == "squared" else np.arange(30) % 3
    counts = rng.integers(4, size=30)
    repeated = np.repeat(np.arange(30), counts)
    weighted = make_dual(loss, as_target(y, 30), 0.7, counts.astype(float))
    plain = make_dual(loss, as_target(y[repeated], len(repeated)), 0.7)
    alpha, copies = weighted.start(), plain.start()
    np.testing.assert_allclose(alpha[repeated], copies, atol=1e-12)
    np.testing.assert_allclose(
        X.T @ weighted.signal(alpha), X[repeated].T @ plain.signal(copies), atol=1e-10
    )
    assert weighted.payoff(alpha) == pytest.approx(plain.payoff(copies))
    for name in ("diameter", "gradient_bound"):
        assert getattr(weighted, name) == pytest.approx(getattr(plain, name))
    machines = [fit_machine(X, weighted), fit_machine(X[repeated], plain)]
    np.testing.assert_allclose(machines[0][0], machines[1][0], atol=1e-6)
    np.testing.assert_allclose(machines[0][2][repeated], machines[1][2], atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [0.5], 1.0), "−1 and"),
        (([1.0, 2.0], [1.0], 1.0), "one length"),
        (([1.0, 2.0], [1, -1], 0.0), "C must be positive"),
        (([1.0, np.nan], [1, -1], 1.0), "finite"),
        (([1.0, 2.0], [1, -1], 1.0, [1.0, -1.0]), "non-negative"),
    ],
)
def test_bad_input_of_the_projection(arguments, message):
    with pytest.raises(ValueError, match=message):
        project_dual(*arguments)


@pytest.mark.parametrize("loss", LOSSES[1:])
def test_machine_closes_the_duality_gap(loss, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(80, 6)) / np.sqrt(6)
    y = (
        rng.normal(size=80)
        if loss == "squared"
        else np.where(features[:, 0] + 0.3 * rng.normal(size=80) > 0, 2, 5)
    )
    dual = make_dual(loss, as_target(y, 80), 2.0)
    coefficients, intercepts, alpha = fit_machine(features, dual)
    primal = np.sum(coefficients**2) / 2 + np.sum(
        dual.primal_loss(features @ coefficients + intercepts)
    )
    response = features.T @ dual.signal(alpha)
    linear, curvature = dual.payoff(alpha)
    value = linear - curvature - np.sum(response**2) / 2
    assert value <= primal + 1e-9 * primal
    assert primal - value < 2e-3 * primal


def test_machine_agrees_with_libsvm(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(100, 4))
    y = np.where(features[:, 0] * features[:, 1] + 0.5 * features[:, 2] > 0, 1, -1)
    reference = SVC(kernel="linear", C=1.0, tol=1e-8).fit(features, y)
    dual = make_dual("hinge", as_target(y, 100), 1.0)
    coefficients, _, alpha = fit_machine(features, dual)
    np.testing.assert_allclose(coefficients[:, 0], reference.coef_[0], atol=5e-3)
    assert alpha.sum() == pytest.approx(np.abs(reference.dual_coef_).sum(), rel=5e-3)


@pytest.mark.parametrize("loss", LOSSES[1:])
def test_gradient_is_the_derivative_of_the_objective(loss):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(12, 3))
    y = rng.normal(size=12) if loss == "squared" else np.arange(12) % 3
    dual = make_dual(loss, as_target(y, 12), 0.7)
    alpha = rng.uniform(0, 0.7, dual.targets.shape)

    def objective(a):
        linear, curvature = dual.payoff(a)
        return linear - curvature - np.sum((features.T @ dual.signal(a)) ** 2) / 2

    direction = rng.normal(size=alpha.shape)
    numeric = (objective(alpha + 1e-6 * direction) - objective(alpha - 1e-6 * direction)) / 2e-6
    gradient = dual.gradient(alpha, features @ (features.T @ dual.signal(alpha)))
    assert np.sum(gradient * direction) == pytest.approx(numeric, rel=1e-7)
