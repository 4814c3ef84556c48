"""The papers' formulas, written out and ugly on purpose, and where they are misprinted."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bochner import CurlFree, Decomposable, DivergenceFree, Gaussian, OperatorRidge, simplex_code
from bochner.operators import learned_output_matrix
from bochner.operators.output_matrix import _log_likelihood
from bochner.solvers.direct import Eigensystem, ridge_solution
from bochner.solvers.problem import DecoupledOutputs


def test_kernels_are_sums_over_frequencies_one_pair_at_a_time():
    """Brault et al. 2016, Eq. 7: K̃(x, z) = (1/D) Σ_j cos(ω_j·(x − z)) A(ω_j)."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(3, 3)), rng.normal(size=(2, 3))
    for kernel, operator in (
        (CurlFree(Gaussian(0.4)), lambda w: np.outer(w, w)),
        (DivergenceFree(Gaussian(0.4)), lambda w: w @ w * np.eye(3) - np.outer(w, w)),
        (Decomposable(Gaussian(0.4), np.diag([1.0, 3.0])), lambda w: np.diag([1.0, 3.0])),
    ):
        measure = kernel.sample(5, 3, rng)
        for i, x in enumerate(X):
            for j, z in enumerate(Z):
                total = 0
                for frequency in measure.scalar.frequencies:
                    total = total + np.cos(frequency @ (x - z)) * operator(frequency) / 5
                np.testing.assert_allclose(measure.kernel(X, Z)[i, j], total, atol=1e-13)


def test_the_stein_equation_by_kronecker_products():
    """Brault et al. 2016, Eq. 12: φᵀφ Θ BᵀB + αΘ = φᵀYB, solved as one large linear system."""
    rng = np.random.default_rng(0)
    features, factor, Y = (
        rng.normal(size=(20, 6)),
        rng.normal(size=(3, 2)),
        rng.normal(size=(20, 3)),
    )
    alpha = 0.7
    system = np.kron(features.T @ features, factor.T @ factor) + alpha * np.eye(12)
    theta = np.linalg.solve(system, (features.T @ Y @ factor).ravel()).reshape(6, 2)
    outputs = DecoupledOutputs.of(factor @ factor.T)
    gram, right_side, penalties = (
        features.T @ features,
        outputs.right_side(features.T @ Y),
        outputs.penalties(alpha),
    )
    for solution in (
        Eigensystem.of(gram, right_side).solution(penalties),
        ridge_solution(gram, right_side, penalties),
    ):
        np.testing.assert_allclose(outputs.coefficients(solution), theta @ factor.T, atol=1e-10)


def test_curl_free_normal_matrix_is_an_entrywise_product():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    model = OperatorRidge(CurlFree(Gaussian(0.4)), n_components=7, alpha=0.3, random_state=0).fit(
        X, Y
    )
    W = model.measure_.scalar.frequencies.T
    C, S = np.cos(X @ W) / np.sqrt(7), np.sin(X @ W) / np.sqrt(7)
    blocks = np.block([[C.T @ C, C.T @ S], [S.T @ C, S.T @ S]]) * np.kron(np.ones((2, 2)), W.T @ W)
    adjoint = np.concatenate([np.sum(C * (Y @ W), axis=0), np.sum(S * (Y @ W), axis=0)])
    theta = np.linalg.solve(blocks + 0.3 * np.eye(14), adjoint)
    field = (C * theta[:7] + S * theta[7:]) @ W.T
    np.testing.assert_allclose(model.predict(X), field, atol=1e-9)


def test_the_printed_divergence_free_operator_is_not_positive():
    """(δ_lm − ω_l ω_m) ‖ω‖² has a negative eigenvalue as soon as ‖ω‖ > 1; ‖ω‖² I − ωωᵀ has none."""
    frequency = np.array([2.0, 1.0])
    printed = (np.eye(2) - np.outer(frequency, frequency)) * (frequency @ frequency)
    ours = frequency @ frequency * np.eye(2) - np.outer(frequency, frequency)
    assert np.linalg.eigvalsh(printed)[0] < -1
    assert np.linalg.eigvalsh(ours)[0] >= -1e-12


def test_the_printed_simplex_recursion_is_no_simplex():
    printed = np.array([[1.0, -1 / 4, -1 / 4], [0.0, np.sqrt(3 / 4), -np.sqrt(3 / 4)]])
    norms = np.sum(printed**2, axis=0)
    np.testing.assert_allclose(norms, [1, 0.8125, 0.8125])
    np.testing.assert_allclose(np.sum(simplex_code(3) ** 2, axis=0), 1)


def test_proposition_12_is_not_general():
    """Two frequencies with slightly different operators (one output): the printed bound is below
    the true variance.
    """
    frequencies, chances, operators = (
        np.array([0.2227, 0.3040]),
        np.array([0.4037, 0.5963]),
        np.array([4.518, 4.410]),
    )
    K = lambda delta: np.sum(chances * operators * np.cos(frequencies * delta))  # noqa: E731
    mean, square = np.sum(chances * operators), np.sum(chances * operators**2)
    true = 0.5 * (square + np.sum(chances * operators**2 * np.cos(2 * frequencies))) - K(1) ** 2
    printed = 0.5 * abs((K(2) + K(0)) * mean - 2 * K(1) ** 2) + (square - mean**2)
    assert true == pytest.approx(0.00949, rel=0.01)
    assert printed == pytest.approx(0.00495, rel=0.01)
    assert square > true  # the safe bound E[A²]


def test_the_likelihood_of_an_output_matrix_is_that_of_one_large_gaussian():
    rng = np.random.default_rng(0)
    features, Y = rng.normal(size=(9, 4)), rng.normal(size=(9, 2))
    root = rng.normal(size=(2, 2))
    matrix, noise = root @ root.T, 0.3
    values, vectors = np.linalg.eigh(features.T @ features)
    scales, basis = np.linalg.eigh(matrix)
    rotated = vectors.T @ features.T @ Y @ basis
    ours = _log_likelihood(values, rotated, values[:, None] * scales + noise, noise, Y.T @ Y, 9)
    covariance = np.kron(features @ features.T, matrix) + noise * np.eye(18)
    assert ours == pytest.approx(multivariate_normal(np.zeros(18), covariance).logpdf(Y.ravel()))


def test_learning_recovers_the_output_matrix_that_made_the_data(seed):
    rng = np.random.default_rng(seed)
    truth = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 0.4]])
    features = rng.normal(size=(3000, 400)) / 20
    loadings = rng.multivariate_normal(np.zeros(3), truth, size=400)
    Y = features @ loadings + 0.1 * rng.normal(size=(3000, 3))
    values, vectors = np.linalg.eigh(features.T @ features)
    matrix, _ = learned_output_matrix(
        values, vectors.T @ features.T @ Y, Y.T @ Y, 3000, tolerance=1e-7
    )
    # 400 draws of the loadings fix a covariance to about 1/√400; four standard errors.
    np.testing.assert_allclose(
        matrix, truth * 3 / np.trace(truth), atol=4 * np.sqrt(2 / 400) * 1.25
    )
