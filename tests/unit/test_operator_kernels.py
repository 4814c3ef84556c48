"""Operator-valued kernels: closed forms against numerical derivatives, factors, sampling, and
refusals.
"""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from cases import OPERATOR_KERNELS, finite_measure, mixture
from selection import long_except
from sklearn.base import clone

from bochner import (
    Anova,
    Cauchy,
    CurlFree,
    Decomposable,
    DivergenceFree,
    FourierMeasure,
    Gaussian,
    Helmholtz,
    Laplace,
    Matern,
    OperatorMeasure,
    RationalQuadratic,
    Sinc,
    SpectralFeatures,
    concatenate,
    graph_output_matrix,
    simplex_code,
)
from bochner.testing import check_operator_kernel

SMOOTH_PRIORS = {
    "Gaussian": lambda d: Gaussian(gamma=0.4),
    "Gaussian ARD": lambda d: Gaussian(gamma=np.linspace(0.2, 0.7, d)),
    "Matern 3/2": lambda d: Matern(nu=1.5, length_scale=1.2),
    "Matern 2": lambda d: Matern(nu=2.0),
    "Matern 2.2 ARD": lambda d: Matern(nu=2.2, length_scale=np.linspace(0.8, 2.0, d)),
    "Matern 7/2": lambda d: Matern(nu=3.5),
    "RationalQuadratic": lambda d: RationalQuadratic(alpha=0.7, length_scale=1.2),
    "Anova 3/2": lambda d: Anova(weight=2.0),
    "Anova 5/2 ARD": lambda d: Anova(
        nu=2.5, length_scale=np.linspace(0.8, 2.0, d), weight=np.linspace(0.1, 3.0, d)
    ),
    "Cauchy": lambda d: Cauchy(scale=1.3),
    "Sinc": lambda d: Sinc(bandwidth=1.1),
    "SpectralMixture": mixture,
    "FourierMeasure": finite_measure,
}


def numerical_hessian(prior, x, z, step=2e-3):
    """Fourth-order central differences of k(x − z) in x, entry by entry."""
    d = len(x)
    offsets, weights = np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12
    steps = step * offsets[:, None, None] * np.eye(d)  # (offset, direction, feature)
    moved = x + steps[:, None, :, None] + steps[None, :, None, :]
    values = prior.kernel(moved.reshape(-1, d), z[None]).reshape(moved.shape[:-1])
    return np.einsum("o,p,opab->ab", weights, weights, values) / step**2


@pytest.mark.parametrize("n_features", long_except([2, 3], 3))
@pytest.mark.parametrize("name", SMOOTH_PRIORS)
def test_closed_forms_are_derivatives_of_the_scalar_kernel(name, n_features):
    prior = SMOOTH_PRIORS[name](n_features)
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(4, n_features)), rng.normal(size=(3, n_features))
    curl_free, divergence_free = CurlFree(prior).kernel(X, Z), DivergenceFree(prior).kernel(X, Z)
    helmholtz = Helmholtz(prior, curl_share=0.3).kernel(X, Z)
    for i in range(4):
        for j in range(3):
            hessian = numerical_hessian(prior, X[i], Z[j])
            laplacian = np.trace(hessian) * np.eye(n_features)
            np.testing.assert_allclose(curl_free[i, j], -hessian, atol=1e-7)
            np.testing.assert_allclose(divergence_free[i, j], hessian - laplacian, atol=1e-7)
            np.testing.assert_allclose(
                helmholtz[i, j], -0.3 * hessian + 0.7 * (hessian - laplacian), atol=1e-7
            )


@pytest.mark.parametrize("name", SMOOTH_PRIORS)
def test_closed_form_is_continuous_at_zero(name):
    """Formulas with removable singularities (Matérn, sinc) must meet their limits."""
    kernel = CurlFree(SMOOTH_PRIORS[name](3))
    origin = np.zeros((1, 3))
    at_zero, nearby = kernel.kernel(origin)[0, 0], kernel.kernel(origin + 1e-7, origin)[0, 0]
    assert np.linalg.eigvalsh(at_zero)[0] > 0
    np.testing.assert_allclose(nearby, at_zero, rtol=1e-5, atol=1e-5)


def test_coordinates_differentiate_in_space_only():
    prior = Gaussian(gamma=np.array([0.3, 0.6, 0.2]))
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=3), rng.normal(size=3)
    whole = -numerical_hessian(prior, x, z)
    kernel = CurlFree(prior, coordinates=[2, 0]).kernel(x[None], z[None])[0, 0]
    np.testing.assert_allclose(kernel, whole[np.ix_([2, 0], [2, 0])], atol=1e-8)
    across = DivergenceFree(prior, coordinates=[2, 0]).kernel(x[None], z[None])[0, 0]
    np.testing.assert_allclose(across, np.trace(kernel) * np.eye(2) - kernel, atol=1e-12)


@pytest.mark.parametrize("n_features", long_except([2, 3, 6], 3))
def test_factors_multiply_to_the_operators(n_features):
    frequencies = np.random.default_rng(0).normal(size=(50, n_features))
    frequencies[0] = 0
    frequencies[1] = np.eye(n_features)[0]
    frequencies[2] = -np.eye(n_features)[0]
    outer = frequencies[:, :, None] * frequencies[:, None, :]
    across = np.sum(frequencies**2, axis=1)[:, None, None] * np.eye(n_features) - outer
    scalar = FourierMeasure(frequencies, np.full(50, 0.02))
    for kernel, operators, rank in [
        (CurlFree(Gaussian()), outer, 1),
        (DivergenceFree(Gaussian()), across, n_features - 1),
        (Helmholtz(Gaussian(), 0.3), 0.3 * outer + 0.7 * across, n_features),
    ]:
        measure = kernel.lift(scalar)
        assert measure.rank == rank
        np.testing.assert_allclose(measure.operators(), operators, atol=1e-13)


@pytest.mark.parametrize("n_features", long_except([2, 4], 4))
@pytest.mark.parametrize(
    "prior",
    long_except(
        ["Gaussian ARD", "Matern 7/2", "RationalQuadratic", "Sinc", "SpectralMixture"],
        "Gaussian ARD",
    ),
)
@pytest.mark.parametrize("name", OPERATOR_KERNELS)
def test_sampled_measure_has_the_closed_form_as_its_mean(name, prior, n_features, seed):
    prior = SMOOTH_PRIORS[prior](n_features)
    if isinstance(prior, RationalQuadratic):
        prior = RationalQuadratic(
            alpha=5.0
        )  # fourth moments of the frequencies, so that a z-score has a meaning
    kernel = OPERATOR_KERNELS[name](prior, n_features)
    check_operator_kernel(kernel, n_features, rng=seed)


class WrongFactors(CurlFree):
    def factors(self, frequencies):
        return 1.05 * super().factors(frequencies)


def test_wrong_factors_are_found():
    with pytest.raises(AssertionError, match="`factors`, differs from the closed form"):
        check_operator_kernel(WrongFactors(Gaussian(gamma=0.5)))


@pytest.mark.parametrize("name", OPERATOR_KERNELS)
def test_closed_form_is_a_positive_kernel_and_keeps_parameters(name):
    kernel = OPERATOR_KERNELS[name](Gaussian(gamma=0.4), 3)
    X = np.random.default_rng(0).normal(size=(12, 3))
    gram = kernel.kernel(X)
    n_outputs = kernel.n_outputs(3)
    assert gram.shape == (12, 12, n_outputs, n_outputs)
    matrix = gram.transpose(0, 2, 1, 3).reshape(12 * n_outputs, -1)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-13)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-10
    rates = [key for key in kernel.get_params() if key.endswith("prior__gamma")]
    copy = clone(kernel).set_params(**dict.fromkeys(rates, 0.4))
    np.testing.assert_array_equal(copy.kernel(X), gram)


def test_a_learned_measure_takes_the_place_of_a_prior():
    rng = np.random.default_rng(0)
    scalar = FourierMeasure(rng.normal(size=(30, 2)), rng.dirichlet(np.ones(30)))
    X = rng.normal(size=(5, 2))
    kernel = CurlFree(scalar)
    expected = np.einsum(
        "j,nkj,ja,jb->nkab",
        scalar.weights,
        np.cos((X[:, None] - X[None]) @ scalar.frequencies.T),
        scalar.frequencies,
        scalar.frequencies,
    )
    np.testing.assert_allclose(kernel.kernel(X), expected, atol=1e-13)
    assert len(kernel.sample(7, 2, rng)) == 7
    with pytest.raises(ValueError, match="has 2 features"):
        kernel.sample(7, 3, rng)


# --- OperatorMeasure ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATOR_KERNELS)
def test_measure_features_and_expand_agree_with_its_kernel(name):
    rng = np.random.default_rng(0)
    measure = OPERATOR_KERNELS[name](Gaussian(gamma=0.3), 3).sample(9, 3, rng)
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    left, right = measure.features(X), measure.features(Z)
    np.testing.assert_allclose(
        np.einsum("nac,kbc->nkab", left, right), measure.kernel(X, Z), atol=1e-13
    )
    theta, coefficients = (
        rng.normal(size=measure.n_columns),
        rng.normal(size=(18, measure.n_outputs)),
    )
    np.testing.assert_allclose(
        left @ theta, measure.scalar.features(X) @ measure.expand(theta), atol=1e-13
    )
    assert theta @ measure.contract(coefficients) == pytest.approx(
        np.sum(measure.expand(theta) * coefficients)
    )


def test_measure_take_and_resample_keep_frequencies_and_factors_together(seed):
    rng = np.random.default_rng(seed)
    scalar = FourierMeasure(rng.normal(size=(20, 2)), rng.dirichlet(np.ones(20)))
    for measure in (Helmholtz(scalar).lift(scalar), Decomposable(scalar, np.eye(3)).lift(scalar)):
        again = measure.resampled(50, rng)
        assert (len(again), again.mass) == (50, pytest.approx(measure.mass))
        if not measure.shared:
            expected = Helmholtz(scalar).factors(again.scalar.frequencies)
            np.testing.assert_array_equal(again.factors, expected)
        np.testing.assert_array_equal(
            measure.take([3, 1]).scalar.frequencies, scalar.frequencies[[3, 1]]
        )


def test_resampled_measure_has_the_same_mean_kernel(seed):
    rng = np.random.default_rng(seed)
    scalar = FourierMeasure(rng.normal(size=(10, 2)), rng.dirichlet(np.ones(10)))
    measure = CurlFree(scalar).lift(scalar)
    X, origin = rng.normal(size=(3, 2)), np.zeros((1, 2))
    draws = np.array(
        [measure.resampled(20, child).kernel(X, origin)[:, 0] for child in rng.spawn(400)]
    )
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.abs((draws.mean(axis=0) - measure.kernel(X, origin)[:, 0]) / error).max() < 5


@pytest.mark.parametrize("name", OPERATOR_KERNELS)
def test_laws_of_measures_hold_for_matrices_too(name):
    """Reweighting, joining and merging are what they are for kernels: K is linear in the weights."""
    rng = np.random.default_rng(0)
    kernel = OPERATOR_KERNELS[name](Gaussian(gamma=0.3), 3)
    one, two = kernel.sample(5, 3, rng), kernel.sample(4, 3, rng)
    X = rng.normal(size=(6, 3))
    weights = rng.uniform(size=5)
    for again in (one.reweighted(weights), replace(one, weights=weights)):
        assert (again.mass, again.scalar.mass) == (pytest.approx(weights.sum()),) * 2
        expected = sum(w * 5 * one.take([j]).kernel(X) for j, w in enumerate(weights))
        np.testing.assert_allclose(again.kernel(X), expected, atol=1e-12)
    both = concatenate([one, two])
    assert (len(both), both.shared) == (9, one.shared)
    np.testing.assert_allclose(both.kernel(X), one.kernel(X) + two.kernel(X), atol=1e-12)
    # An atom again, and one at −ω: the same kernel on as many atoms as before; atoms without weight
    # go.
    mirrored = kernel.lift(FourierMeasure(-one.scalar.frequencies, one.weights))
    merged = concatenate([one, one, mirrored, two.reweighted(np.zeros(4))]).merged()
    assert len(merged) == 5
    np.testing.assert_allclose(merged.kernel(X), 3 * one.kernel(X), atol=1e-12)
    assert one.reweighted(np.zeros(5)).merged().mass == 0
    systematic = one.resampled(10, rng, "systematic")
    np.testing.assert_allclose(systematic.merged().kernel(X), one.kernel(X), atol=1e-12)
    with pytest.raises(ValueError, match="non-negative"):
        one.reweighted(-weights)
    with pytest.raises(ValueError, match="4 weights for 5 atoms"):
        replace(one, weights=np.ones(4))


def test_measures_of_different_ranks_and_kernels_add_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 3))
    gradient, rotation = (
        CurlFree(Gaussian(0.3)).sample(3, 3, rng),
        DivergenceFree(Gaussian(0.3)).sample(3, 3, rng),
    )
    shared = Decomposable(Gaussian(0.3), np.diag([1.0, 2.0, 0.0])).sample(2, 3, rng)
    both = concatenate([gradient, shared, rotation])
    np.testing.assert_allclose(
        both.kernel(X), sum(m.kernel(X) for m in (gradient, shared, rotation)), atol=1e-12
    )
    # Equal frequencies with different matrices stay apart.
    both = concatenate([gradient, DivergenceFree(Gaussian(0.3)).lift(gradient.scalar)])
    assert len(both.merged()) == 6
    np.testing.assert_allclose(both.merged().kernel(X), both.kernel(X), atol=1e-12)
    with pytest.raises(ValueError, match="as many outputs"):
        concatenate([gradient, Decomposable(Gaussian(0.3), np.eye(2)).sample(2, 3, rng)])
    with pytest.raises(TypeError, match="one kind"):
        concatenate([gradient, gradient.scalar])


def test_measure_refuses_factors_that_do_not_fit():
    scalar = FourierMeasure(np.ones((3, 2)), np.ones(3))
    with pytest.raises(ValueError, match="2 factors for 3 atoms"):
        OperatorMeasure(scalar, np.ones((2, 2, 1)))


# --- output matrices and codes --------------------------------------------------------------------


def test_graph_matrix_makes_the_norm_a_penalty_on_edges():
    graph = np.array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 0]])
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=3)
    outputs -= outputs.mean()  # the part that the pseudo-inverse can express
    energy = outputs @ np.linalg.pinv(graph_output_matrix(graph)) @ outputs
    differences = sum(
        graph[s, t] * (outputs[s] - outputs[t]) ** 2 for s in range(3) for t in range(s)
    )
    assert energy == pytest.approx(differences)
    ridged = graph_output_matrix(graph, ridge=0.5)
    expected = differences + 0.5 * outputs @ outputs
    assert outputs @ np.linalg.inv(ridged) @ outputs == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10])
def test_simplex_code_is_a_regular_simplex(n_classes):
    code = simplex_code(n_classes)
    assert code.shape == (n_classes - 1, n_classes)
    gram = np.full((n_classes, n_classes), -1 / (n_classes - 1))
    np.fill_diagonal(gram, 1)
    np.testing.assert_allclose(code.T @ code, gram, atol=1e-13)
    np.testing.assert_allclose(
        code @ code.T, n_classes / (n_classes - 1) * np.eye(n_classes - 1), atol=1e-13
    )


def test_low_rank_matrices_give_low_rank_factors():
    loading = np.array([[1.0], [2.0], [-1.0]])
    measure = Decomposable(Gaussian(), loading @ loading.T).sample(5, 2, np.random.default_rng(0))
    assert measure.factors.shape == (1, 3, 1)
    np.testing.assert_allclose(measure.operators()[0], loading @ loading.T, atol=1e-13)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [CurlFree, DivergenceFree, Helmholtz])
@pytest.mark.parametrize("prior", [Laplace(), Matern(nu=1.0), Matern(nu=0.5), Anova(nu=0.5)])
def test_rough_priors_are_refused_by_vector_fields(kernel, prior):
    for call in (
        lambda k: k.sample(5, 2, np.random.default_rng(0)),
        lambda k: k.kernel(np.zeros((1, 2))),
    ):
        with pytest.raises(ValueError, match="finite variance"):
            call(kernel(prior))
    Decomposable(prior).sample(5, 2, np.random.default_rng(0))  # no derivatives, no complaint


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Decomposable(Gaussian(), [[1.0, 2.0], [2.0, 1.0]]).kernel(np.zeros((1, 1))),
            "positive semi-definite",
        ),
        (
            lambda: Decomposable(Gaussian(), [[1.0, 2.0], [0.0, 1.0]]).kernel(np.zeros((1, 1))),
            "symmetric",
        ),
        (lambda: Decomposable(Gaussian(), [[1.0, 2.0]]).kernel(np.zeros((1, 1))), "square"),
        (lambda: Decomposable(Gaussian(), [[np.nan]]).kernel(np.zeros((1, 1))), "finite"),
        (lambda: Decomposable(Gaussian(), [[0.0]]).kernel(np.zeros((1, 1))), "zero"),
        (
            lambda: Decomposable(Gaussian(), "covariance").kernel(np.zeros((1, 1))),
            "there are none",
        ),
        (lambda: Decomposable(Gaussian(), "identity").kernel(np.zeros((1, 1))), "must be one of"),
        (lambda: graph_output_matrix([[0, -1], [-1, 0]]), "non-negative"),
        (lambda: graph_output_matrix([[0, 1], [0, 0]]), "symmetric"),
        (lambda: graph_output_matrix([[0, 0], [0, 0]]), "no edge"),
        (lambda: DivergenceFree(Gaussian()).kernel(np.zeros((1, 1))), "at least 2 dimensions"),
        (lambda: Helmholtz(Gaussian(), 1.5).kernel(np.zeros((1, 2))), "between 0 and 1"),
        (
            lambda: CurlFree(Gaussian(), coordinates=[0, 2]).kernel(np.zeros((1, 2))),
            "different columns",
        ),
        (
            lambda: CurlFree(Gaussian(), coordinates=[0, 0]).kernel(np.zeros((1, 2))),
            "different columns",
        ),
        (lambda: CurlFree(Gaussian("scale")).kernel(np.zeros((1, 2))), "computed from data"),
        (lambda: simplex_code(1), "at least 2"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match="prior must be"):
        CurlFree("gaussian").kernel(np.zeros((1, 2)))
    with pytest.raises(TypeError, match="coordinates must list columns"):
        CurlFree(Gaussian(), coordinates=[0.5, 1.0]).kernel(np.zeros((1, 2)))
    with pytest.raises(TypeError, match="prior must be"):
        CurlFree(SpectralFeatures()).sample(3, 2, np.random.default_rng(0))


@pytest.mark.parametrize("nu", long_except([1.2, 2.0, 2.3, 49.0, 60.0, 200.0], 2.3))
def test_slopes_of_the_matern_profile_are_its_derivatives_at_any_order(nu):
    q = np.array([0.1, 1.0, 4.0, 30.0])
    slope, bend = Matern(nu=nu)._slopes(q)

    def profile(x):
        z = mpmath.sqrt(2 * nu * x)
        return mpmath.mpf(2) ** (1 - nu) / mpmath.gamma(nu) * z**nu * mpmath.besselk(nu, z)

    with mpmath.workdps(50):
        np.testing.assert_allclose(slope, [float(mpmath.diff(profile, x)) for x in q], rtol=1e-9)
        np.testing.assert_allclose(bend, [float(mpmath.diff(profile, x, 2)) for x in q], rtol=1e-9)
    at_zero = Matern(nu=nu)._slopes(np.zeros(1))
    assert at_zero[0][0] == pytest.approx(-nu / (2 * (nu - 1)))
    assert np.isfinite(at_zero[1][0])
