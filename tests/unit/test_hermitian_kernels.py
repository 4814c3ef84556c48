"""Kernels with a complex Hermitian spectrum: outputs that lag each other, and rotating fields.

All tests compare with K₀(δ) = Σ_j w_j [cos(ω_j·δ) R_j − sin(ω_j·δ) S_j] for A_j = R_j + i S_j.
"""

import numpy as np
import pytest

from bochner import (
    CustomKernel,
    Decomposable,
    FourierMeasure,
    Gaussian,
    OperatorKernelRidge,
    OperatorRegressor,
    OperatorRidge,
)
from bochner.data import as_rows
from bochner.losses import Huber, Multinomial, Squared
from bochner.operators import OperatorMeasure, estimator_variance, largest_error
from bochner.operators.custom import spectral_operators
from bochner.solvers import LBFGS, ConjugateGradient
from bochner.solvers.convex import ConvexProblem
from bochner.solvers.problem import CoupledOutputs
from bochner.testing import check_operator_kernel

LAG, TURN = 0.5, 2.0
PRIOR = Gaussian(gamma=0.5)  # frequencies N(0, I), k = exp(−δ²/2)


def bell(differences):
    return np.exp(-0.5 * np.sum(differences**2, axis=-1))


def lagging(differences):
    """K₀ of f₂(x) = f₁(x − L e₁): K₁₂ = k(δ + L e₁), K₂₁ = k(δ − L e₁)."""
    shift = LAG * np.eye(differences.shape[1])[0]
    same = bell(differences)
    return np.stack(
        [[same, bell(differences + shift)], [bell(differences - shift), same]]
    ).transpose(2, 0, 1)


def lagging_factor(frequencies):
    """B = (1, exp(−i L ω₁))."""
    second = np.exp(-1j * LAG * frequencies[:, 0])
    return np.stack([np.ones_like(second), second], axis=1)[:, :, None]


def rotating(differences):
    """A field that turns along x₁: k(δ) times the rotation by the angle b δ₁."""
    angle = TURN * differences[:, 0]
    turned = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return (bell(differences) * np.array(turned)).transpose(2, 0, 1)


KERNELS = {
    "lagging by its signature": CustomKernel(PRIOR, signature=lagging),
    "lagging by its factor": CustomKernel(PRIOR, factor=lagging_factor, signature=lagging),
    "lagging by its operator": CustomKernel(
        PRIOR,
        operator=lambda w: lagging_factor(w) @ lagging_factor(w).conj().transpose(0, 2, 1),
        signature=lagging,
    ),
    "rotating": CustomKernel(Gaussian(gamma=4.0), signature=rotating),
}


@pytest.mark.parametrize(
    ("name", "n_features"),
    [
        *((name, 1) for name in KERNELS),
        ("lagging by its factor", 2),
        pytest.param("lagging by its signature", 2, marks=pytest.mark.long),
        pytest.param("rotating", 2, marks=pytest.mark.long),
    ],
)
def test_draws_have_the_closed_form_as_their_mean(name, n_features, seed):
    check_operator_kernel(KERNELS[name], n_features, rng=seed)


def test_a_lag_is_drawn_with_its_sign(seed):
    """Their even part alone would give .734 for both entries."""
    x = np.array([[0.7], [0.0]])
    for name, n_atoms in (("signature", 3_000), ("factor", 200_000)):
        drawn = KERNELS[f"lagging by its {name}"].sample(n_atoms, 1, seed).kernel(x)[0, 1]
        error = 0.6 / np.sqrt(n_atoms)
        assert (drawn[0, 1], drawn[1, 0]) == pytest.approx((0.487, 0.980), abs=5 * error)


@pytest.mark.parametrize("n_features", [1, 2])
def test_spectra_by_quadrature_are_those_by_hand(n_features):
    """C = Σ± p_k(ω ∓ b e₁) (I ∓ iJ) / 2 for k times a rotation, J the rotation by 90°."""
    frequencies = np.random.default_rng(0).normal(size=(5, n_features))
    found = spectral_operators(rotating, PRIOR, frequencies)
    shift, turn = TURN * np.eye(n_features)[0], np.array([[0.0, -1.0], [1.0, 0.0]])
    expected = sum(
        (bell(frequencies - sign * shift) / bell(frequencies))[:, None, None]
        * (np.eye(2) - sign * 1j * turn)
        / 2
        for sign in (1, -1)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    lagged = spectral_operators(lagging, PRIOR, frequencies)
    factor = lagging_factor(frequencies)
    np.testing.assert_allclose(lagged, factor @ factor.conj().transpose(0, 2, 1), atol=1e-6)


def complex_measure(n_atoms=7, n_features=2, n_outputs=3, rank=2):
    rng = np.random.default_rng(0)
    scalar = FourierMeasure(rng.normal(size=(n_atoms, n_features)), rng.random(n_atoms))
    shape = n_atoms, n_outputs, rank
    return OperatorMeasure(scalar, rng.normal(size=shape) + 1j * rng.normal(size=shape))


def double_sum(measure, X, Z):
    kernel = np.zeros((len(X), len(Z), measure.n_outputs, measure.n_outputs))
    for w, weight, B in zip(measure.scalar.frequencies, measure.weights, measure.factors):
        A = B @ B.conj().T
        for i, x in enumerate(X):
            for j, z in enumerate(Z):
                angle = w @ (x - z)
                kernel[i, j] += weight * (np.cos(angle) * A.real - np.sin(angle) * A.imag)
    return kernel


def test_complex_measures_are_their_double_sum():
    measure, rng = complex_measure(), np.random.default_rng(1)
    X, Z = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    kernel = measure.kernel(X, Z)
    np.testing.assert_allclose(kernel, double_sum(measure, X, Z), atol=1e-13)
    np.testing.assert_allclose(kernel, measure.kernel(Z, X).transpose(1, 0, 3, 2), atol=1e-13)
    left, right = measure.features(X), measure.features(Z)
    np.testing.assert_allclose(np.einsum("nac,kbc->nkab", left, right), kernel, atol=1e-13)
    theta, sums = rng.normal(size=measure.n_columns), rng.normal(size=(14, 3))
    np.testing.assert_allclose(
        left @ theta, measure.scalar.features(X) @ measure.expand(theta), atol=1e-13
    )
    assert theta @ measure.contract(sums) == pytest.approx(np.sum(measure.expand(theta) * sums))
    # One complex factor for all atoms is no decomposable kernel.
    one = OperatorMeasure(measure.scalar, measure.factors[:1])
    assert not one.shared
    np.testing.assert_allclose(one.kernel(X, Z), double_sum(one, X, Z), atol=1e-13)
    # Atoms at −ω carry the conjugate factor.
    mirrored = OperatorMeasure(
        FourierMeasure(-measure.scalar.frequencies, measure.weights), measure.factors.conj()
    )
    both = measure._joined([mirrored])
    assert len(both.merged()) == 7
    np.testing.assert_allclose(both.merged().kernel(X), 2 * measure.kernel(X), atol=1e-12)
    real = OperatorMeasure(measure.scalar, measure.factors.real)
    joined = measure._joined([real])
    np.testing.assert_allclose(joined.kernel(X), measure.kernel(X) + real.kernel(X), atol=1e-12)


def test_matrices_of_ridges_are_those_of_the_features():
    measure = complex_measure()
    waves = measure.scalar.features(np.random.default_rng(1).normal(size=(6, 2)))
    whole = measure.spread(waves).reshape(-1, measure.n_columns)
    outputs, gram = CoupledOutputs(measure), waves.T @ waves
    np.testing.assert_allclose(outputs.matrix(gram), whole.T @ whole, atol=1e-12)
    squares = np.diag(gram) / 6
    assert outputs.mean_diagonal(squares) == pytest.approx(np.sum(whole**2) / 18)
    mean = measure.kernel(np.zeros((1, 2)))[0, 0]
    assert outputs.largest(np.repeat(measure.weights, 2).reshape(-1, 2).T.ravel() / 2) == (
        pytest.approx(np.linalg.eigvalsh(mean)[-1])
    )


@pytest.mark.parametrize("loss", [Squared(), Huber(np.array([0.5])), Multinomial()], ids=repr)
@pytest.mark.parametrize("constant", [False, True])
def test_hessians_of_convex_losses_are_differences_of_gradients(loss, constant):
    measure, rng = complex_measure(n_atoms=4), np.random.default_rng(1)
    X, targets = as_rows(rng.normal(size=(9, 2))), np.eye(3)[rng.integers(3, size=9)]
    weights = rng.uniform(0.5, 2.0, size=9)
    loss = loss.rounded(0.1)
    problem = ConvexProblem(X, targets, weights, measure, loss, 0.3, constant)
    at = 0.1 * rng.normal(size=problem.n_unknowns)
    hessian = problem.at(at).curvature + np.diag(problem._penalties)
    step = 1e-5 * np.eye(len(at))
    slopes = [(problem.at(at + h).gradient - problem.at(at - h).gradient) / 2e-5 for h in step]
    np.testing.assert_allclose(hessian, slopes, atol=1e-6)


def samples(seed=0, n=60):
    rng = np.random.default_rng(seed)
    return rng.uniform(-3, 3, size=(n, 1)), rng.normal(size=(n, 2))


def test_ridges_solve_their_normal_equations_and_tend_to_the_exact_one():
    kernel, (X, Y) = KERNELS["lagging by its factor"], samples()
    models = [
        OperatorRidge(kernel, n_components=40, alpha=0.1, random_state=0, solver=solver).fit(X, Y)
        for solver in (None, ConjugateGradient(tol=1e-13), LBFGS(tol=1e-12))
    ]
    models.append(OperatorRegressor(kernel, n_components=40, alpha=0.1, random_state=0))
    models[-1].set_params(fit_intercept=False).fit(X, Y)
    features = models[0].measure_.features(X).reshape(Y.size, -1)
    normal = features.T @ features + 0.1 * np.eye(features.shape[1])
    expected = (features @ np.linalg.solve(normal, features.T @ Y.ravel())).reshape(Y.shape)
    for model in models:
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)
    exact = OperatorKernelRidge(kernel, alpha=0.1).fit(X, Y)
    gram = kernel.kernel(X).transpose(0, 2, 1, 3).reshape(Y.size, Y.size)
    dual = np.linalg.solve(gram + 0.1 * np.eye(Y.size), Y.ravel())
    np.testing.assert_allclose(exact.predict(X).ravel(), gram @ dual, atol=1e-9)
    places = np.array([[0.3], [1.2]])
    by_hand = np.einsum("nkab,kb->na", kernel.kernel(places, X), dual.reshape(Y.shape))
    np.testing.assert_allclose(exact.predict(places), by_hand, atol=1e-9)
    many = OperatorRidge(kernel, n_components=500, alpha=0.1, random_state=0).fit(X, Y)
    assert np.abs(many.predict(X) - exact.predict(X)).max() < 0.1


def test_leave_one_out_errors_of_the_exact_ridge_are_those_of_fits_without_a_row():
    kernel, (X, Y) = KERNELS["lagging by its factor"], samples(n=12)
    chosen = OperatorKernelRidge(kernel, alpha=[0.1, 1.0]).fit(X, Y)
    for alpha, error in zip(chosen.alphas_, chosen.loo_errors_, strict=True):
        gaps = []
        for i in range(12):
            model = OperatorKernelRidge(kernel, alpha=alpha)
            model.fit(np.delete(X, i, 0), np.delete(Y, i, 0))
            gaps.append(model.predict(X[[i]])[0] - Y[i])
        assert error == pytest.approx(np.mean(np.square(gaps)))


def test_derivatives_of_fits_are_exact():
    X, Y = samples()
    model = OperatorRidge(KERNELS["lagging by its factor"], n_components=30, random_state=0)
    model.fit(X, Y)
    slopes = (model.predict(X + 1e-5) - model.predict(X - 1e-5)) / 2e-5
    np.testing.assert_allclose(model.jacobian(X)[:, :, 0], slopes, atol=1e-5)


def test_a_lagging_output_is_predicted_from_the_history_of_the_other(seed):
    """After the last row the second output repeats the first; a symmetric kernel cannot know."""
    lag, kernels = 1.5, {}
    kernels["lagging"] = CustomKernel(
        PRIOR,
        factor=lambda w: np.stack([np.ones_like(w[:, 0]), np.exp(-1j * lag * w[:, 0])], 1)[
            ..., None
        ],
    )
    kernels["symmetric"] = Decomposable(PRIOR, np.array([[1.0, 0.5], [0.5, 1.0]]))
    signal = PRIOR.sample(20, 1, seed)
    amplitudes = np.random.default_rng(seed).normal(size=40)
    t = np.linspace(0, 12, 120)[:, None]
    future = 12 + np.linspace(0.1, 0.9, 9)[:, None] * lag

    def outputs(times):
        return np.column_stack(
            [signal.features(times) @ amplitudes, signal.features(times - lag) @ amplitudes]
        )

    errors = {}
    for name, kernel in kernels.items():
        model = OperatorRidge(kernel, n_components=300, alpha=1e-4, random_state=0)
        model.fit(t, outputs(t))
        errors[name] = np.abs(model.predict(future) - outputs(future))[:, 1].mean()
    assert errors["lagging"] < 0.1 * errors["symmetric"]


def test_tools_for_even_kernels_refuse_and_others_are_right():
    kernel = KERNELS["lagging by its factor"]
    with pytest.raises(TypeError, match="second_moment"):
        estimator_variance(kernel, np.ones((1, 1)))
    differences = np.linspace(-1, 1, 5)[:, None]
    measure = kernel.sample(50, 1, 0)
    gaps = double_sum(measure, differences, np.zeros((1, 1)))[:, 0] - lagging(differences)
    expected = max(np.linalg.norm(gap, 2) for gap in gaps)
    assert largest_error(kernel, measure, differences) == pytest.approx(expected)


@pytest.mark.parametrize("solver", [None, ConjugateGradient(tol=1e-12)], ids=["direct", "cg"])
def test_missing_outputs_of_a_lagging_kernel_agree_with_the_exact_machine(solver):
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(25, 1))
    Y = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0] - 0.5)])
    Y[rng.random(Y.shape) < 0.3] = np.nan
    Y[np.isnan(Y).all(axis=1)] = 0.0
    measure = CustomKernel(Gaussian(gamma=0.5), factor=lagging_factor).sample(6, 1, rng)
    assert measure.is_complex
    ridge = OperatorRidge(measure, alpha=0.1, solver=solver).fit(X, Y)
    exact = OperatorKernelRidge(measure, alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(ridge.predict(X), exact.predict(X), atol=1e-7)
