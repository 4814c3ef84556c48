"""Sums, multiples and products of priors and measures, priors of some columns, periodic priors."""

import numpy as np
import pytest
from scipy.special import ive
from sklearn.base import clone

from bochner import (
    Anova,
    CurlFree,
    Evidence,
    FourierMeasure,
    Gaussian,
    KernelMachine,
    LandmarkFeatures,
    Laplace,
    Matern,
    OperatorKernelRidge,
    OperatorRidge,
    PacBayes,
    PacBayesLangevin,
    Sinc,
    SpectralFeatures,
    SpectralRidge,
    load,
    save,
)
from bochner.priors import (
    OnColumns,
    Periodic,
    PriorProduct,
    PriorSum,
    ScaledPrior,
    WithCategories,
    WithMetric,
)
from bochner.testing import check_operator_kernel


def rows(n=12, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


# --- sums and products ----------------------------------------------------------------------------


def test_closed_forms_add_and_multiply_and_the_order_does_not_matter():
    X, Z = rows(), rows(5, seed=1)
    p, q, r = Gaussian(gamma=0.4), Matern(nu=1.5), Laplace(gamma=0.3)
    k = {prior: prior.kernel(X, Z) for prior in (p, q, r)}
    for prior, expected in (
        (p + q, k[p] + k[q]),
        (q + p, k[p] + k[q]),
        ((p + q) + r, k[p] + k[q] + k[r]),
        (p + (q + r), k[p] + k[q] + k[r]),
        (2.5 * p, 2.5 * k[p]),
        (p * 2.5, 2.5 * k[p]),
        (p * q, k[p] * k[q]),
        (q * p, k[p] * k[q]),
        ((p + q) * r, k[p] * k[r] + k[q] * k[r]),
        (2 * (p + 0.5 * q) * r, 2 * k[p] * k[r] + k[q] * k[r]),
    ):
        np.testing.assert_allclose(prior.kernel(X, Z), expected, rtol=1e-13)
        single = prior.lower_gram(X.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(np.tril(single), np.tril(prior.kernel(X)), rtol=1e-4)
        np.testing.assert_allclose(np.tril(prior.lower_gram(X)), np.tril(prior.kernel(X)))
        assert prior._mass() == pytest.approx(prior.kernel(X[:1])[0, 0])
        assert prior.sample(7, 2, 0).mass == pytest.approx(prior._mass())


def test_scalars_of_numpy_and_other_objects():
    prior = np.float64(2) * Gaussian()
    assert isinstance(prior, ScaledPrior)
    assert isinstance(3 * prior, ScaledPrior)
    assert (3 * prior).factor == 6
    assert isinstance((3 * prior).prior, Gaussian)
    with pytest.raises(ValueError, match="The factor of a prior"):
        -1 * Gaussian()
    for other in ("2", None, [1.0]):
        with pytest.raises(TypeError):
            Gaussian() + other
        with pytest.raises(TypeError):
            other * Gaussian()
    with pytest.raises(TypeError, match=r"right of PriorSum must be a prior .* got 3"):
        PriorSum(Gaussian(), 3).kernel(rows())


def test_parameters_are_nested_and_the_representation_is_the_expression():
    prior = Gaussian() + 2 * (Matern() + Laplace()) * Periodic(period=7.0)
    assert repr(prior) == "Gaussian() + 2 * (Matern() + Laplace()) * Periodic(period=7.0)"
    assert repr((Gaussian() + Matern()) * Laplace()) == "(Gaussian() + Matern()) * Laplace()"
    prior.set_params(left__gamma=3.0, right__left__prior__right__gamma=0.2, right__left__factor=5.0)
    assert prior.left.gamma == 3.0
    copy = clone(prior)
    assert copy.right.left.prior.right is not prior.right.left.prior.right
    assert copy.right.left.prior.right.gamma == 0.2
    model = KernelMachine(Gaussian() + Laplace()).set_params(prior__right__gamma=4.0)
    assert model.prior.right.gamma == 4.0


@pytest.mark.parametrize("sampling", ["iid", "qmc", "orthogonal"])
def test_a_sum_has_draws_of_both_spectra_in_proportion_to_mass_at_random_places(sampling, seed):
    prior = Gaussian(gamma=0.01) + 3 * Gaussian(gamma=100.0)
    rng = np.random.default_rng(seed)
    is_wide = np.array(
        [
            np.linalg.norm(prior.sample(10, 3, rng, sampling).frequencies, axis=1) > 2
            for _ in range(400)
        ]
    )
    counts = is_wide.sum(axis=1)
    # Independent draws have a binomial number, others 7 or 8.
    assert abs(counts.mean() - 7.5) < 5 * counts.std() / 20
    assert counts.var() == pytest.approx(1.875 if sampling == "iid" else 0.25, rel=0.35)
    spread = is_wide.mean(axis=0).std()  # the places are equal
    assert spread < 5 * np.sqrt(0.75 * 0.25 / 400)


def test_a_sum_with_one_dominant_mass_can_be_sampled():
    prior = 1e-12 * Gaussian() + Gaussian(gamma=2.0)
    assert prior.sample(5, 2, 0).frequencies.shape == (5, 2)


def test_samplings_are_those_of_all_parts():
    assert (Gaussian() + Matern())._samplings == ("iid", "orthogonal", "qmc")
    assert (Gaussian() * Sinc())._samplings == ("iid", "qmc")
    with pytest.raises(ValueError, match="PriorProduct cannot be sampled"):
        (Gaussian() * Sinc()).sample(5, 2, 0, "orthogonal")


def test_quasi_random_draws_of_a_product_have_smaller_errors(seed):
    """Sobol points of the same number depend on each other, so one side is permuted."""
    prior, X = Gaussian(gamma=0.5) * Gaussian(gamma=0.2), rows(20)
    exact = prior.kernel(X)

    def mean_squared_error(sampling):
        draws = (prior.sample(256, 2, 100 * seed + k, sampling) for k in range(40))
        return np.mean([(one.kernel(X) - exact) ** 2 for one in draws])

    assert mean_squared_error("qmc") < 0.9 * mean_squared_error("iid")


def test_density_of_a_sum_is_the_mixture():
    omega = rows(6)
    p, q = Gaussian(gamma=0.4), Gaussian(gamma=2.0)
    densities = [np.exp(prior.log_density(omega)[0]) for prior in (p, q)]
    mixed = (densities[0] + 3 * densities[1]) / 4
    np.testing.assert_allclose(np.exp((p + 3 * q).log_density(omega)[0]), mixed)
    with pytest.raises(NotImplementedError, match="PriorProduct does not define"):
        (p * q).log_density(omega)


def test_missing_methods_name_the_part():
    X = rows()
    with pytest.raises(NotImplementedError, match="Periodic does not define"):
        (Gaussian() + Periodic()).log_density(X)
    with pytest.raises(NotImplementedError, match=r"column_factor.*PriorSum"):
        KernelMachine(Laplace() + Laplace(), alpha=1.0).fit(X, X[:, 0]).effects(X)
    assert not (Gaussian() + Laplace()).has_finite_variance
    assert (Gaussian() * Matern()).has_finite_variance


def test_bandwidths_of_parts_come_from_the_data():
    X = 3 * rows(50, 3)
    prior = (Gaussian("scale") + Laplace("median") * Gaussian()).resolved(X)
    assert prior.left.gamma == Gaussian("scale").resolved(X).gamma
    assert prior.right.left.gamma == Laplace("median").resolved(X).gamma
    inner = OnColumns(2 * Gaussian("median"), [2, 0]).resolved(X).prior
    assert inner.prior.gamma == pytest.approx(Gaussian("median").resolved(X[:, [2, 0]]).gamma)


def test_categories_of_parts():
    prior = Laplace() + WithCategories(Gaussian(), [1])
    assert list(prior.categories) == [1]
    assert list(OnColumns(WithCategories(Gaussian(), [1]), [3, 2]).categories) == [2]


# --- some columns ---------------------------------------------------------------------------------


def test_a_prior_of_columns_ignores_the_others():
    X, Z = rows(6, 4), rows(5, 4, seed=1)
    prior = OnColumns(Matern(nu=2.5, length_scale=[1.0, 2.0]), [3, 1])
    inner = Matern(nu=2.5, length_scale=[1.0, 2.0])
    np.testing.assert_allclose(prior.kernel(X, Z), inner.kernel(X[:, [3, 1]], Z[:, [3, 1]]))
    frequencies = prior.sample(9, 4, 0, "orthogonal").frequencies
    np.testing.assert_array_equal(frequencies[:, [0, 2]], 0)
    np.testing.assert_array_equal(
        frequencies[:, [3, 1]], inner.sample(9, 2, 0, "orthogonal").frequencies
    )
    # Columns of a Hessian in any order
    hessian = prior.hessian(X, Z, np.array([1, 0, 3]))
    part = inner.hessian(X[:, [3, 1]], Z[:, [3, 1]], np.array([0, 1]))
    np.testing.assert_allclose(hessian[:, :, [2, 0]][..., [2, 0]], part)
    assert not hessian[:, :, 1].any()
    assert not hessian[..., 1].any()


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        ([], ValueError, "different numbers"),
        (1, ValueError, "different numbers"),
        ([0.0], ValueError, "different numbers"),
        ([0, 0], ValueError, "different numbers"),
        ([-1], ValueError, "different numbers"),
        ([2], ValueError, "do not exist in rows of 2"),
    ],
)
def test_wrong_columns_are_refused(columns, kind, message):
    with pytest.raises(kind, match=message):
        OnColumns(Gaussian(), columns).kernel(rows())


# --- periodic -------------------------------------------------------------------------------------


def test_periodic_kernel_repeats_and_has_its_constants():
    prior = Periodic(gamma=0.8, period=3.0)
    x = np.array([[0.0], [0.75], [1.5], [3.0], [30.75]])
    expected = np.exp(-0.8 * np.array([0, 1, 2, 0, 1]))  # 1 − cos of 0, ¼, ½ … of a period
    np.testing.assert_allclose(prior.kernel(x, x[:1])[:, 0], expected, rtol=1e-12)
    mackay = np.exp(-2 * 0.8 * np.sin(np.pi * x / 3.0) ** 2)
    np.testing.assert_allclose(prior.kernel(x, x[:1]), mackay, rtol=1e-12)


@pytest.mark.parametrize("gamma", [1e-3, 0.7, 40.0, 5000.0])
def test_periodic_frequencies_are_multiples_with_bessel_weights(gamma, seed):
    drawn = Periodic(gamma, 2.0).sample(20_000, 1, seed).frequencies[:, 0] / np.pi
    np.testing.assert_allclose(drawn, np.round(drawn), atol=1e-9)
    for m in (0, 1, -2, 5):
        # The cosine transform of the kernel over one period
        u = np.linspace(-np.pi, np.pi, 4000, endpoint=False)
        share = max(np.mean(np.exp(gamma * (np.cos(u) - 1)) * np.cos(m * u)), 0.0)
        assert share == pytest.approx(ive(abs(m), gamma), rel=1e-6, abs=1e-12)
        error = np.sqrt(share / 20_000) + 1e-9
        assert abs(np.mean(np.round(drawn) == m) - share) < 5 * error


# --- models ---------------------------------------------------------------------------------------

COMPOSITE = Gaussian("scale") + 0.5 * Laplace("scale") * Periodic(period=4.0)


def test_models_accept_composites_and_a_mass_that_is_not_one():
    X = rows(80, 2)
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    exact = KernelMachine(COMPOSITE, alpha=0.01).fit(X, y)
    dense = exact.prior_.kernel(X)
    one = np.ones(80)
    inverse = np.linalg.inv(dense + 0.01 * np.eye(80))
    b = one @ inverse @ y / (one @ inverse @ one)
    new = rows(5, 2, seed=3)
    expected = b + exact.prior_.kernel(new, X) @ inverse @ (y - b)
    np.testing.assert_allclose(exact.predict(new), expected, atol=1e-8)
    deviation = exact.predict(new, return_std=True)[1]
    assert np.all(deviation**2 >= exact.noise_variance_ * (1 - 1e-9))
    features = SpectralFeatures(COMPOSITE, n_components=3000, sampling="qmc", random_state=0)
    sampled = SpectralRidge(features, alpha=0.01).fit(X, y)
    assert np.sqrt(np.mean((sampled.predict(X) - exact.predict(X)) ** 2)) < 0.1
    learned = SpectralFeatures(COMPOSITE, PacBayes(), n_candidates=60, n_components=20)
    learned.set_params(random_state=0).fit(X, y > 1)
    assert learned.measure_.mass == pytest.approx(1.5)
    landmarks = LandmarkFeatures(COMPOSITE, random_state=0)
    assert np.isfinite(landmarks.fit_transform(X, y > 1)).all()
    langevin = PacBayesLangevin(3.0, Gaussian() + 2 * Matern(), n_steps=4)
    SpectralFeatures(Gaussian(), langevin, n_components=10, random_state=0).fit(X, y > 1)


def test_models_of_composites_are_stored(tmp_path):
    X = rows(20, 3)
    for prior in (COMPOSITE, OnColumns(Gaussian(), [2]) * Laplace()):
        model = KernelMachine(prior).fit(X, X[:, 0])
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_derivatives_of_a_machine_with_a_product():
    X = rows(40, 2)
    model = KernelMachine(Gaussian() * Periodic(period=5.0) + Anova(), alpha=0.1)
    model.fit(X, np.sin(X[:, 0]))
    step = 1e-6 * np.eye(2)
    numeric = [(model.predict(X + unit) - model.predict(X - unit)) / 2e-6 for unit in step]
    np.testing.assert_allclose(model.jacobian(X), np.transpose(numeric), atol=1e-6)


def test_effects_of_products_of_product_kernels():
    X = rows(40, 3)
    prior = 2 * OnColumns(Anova(), [0, 1]) * Laplace()
    model = KernelMachine(prior, alpha=0.1).fit(X, X[:, 0] * X[:, 2])
    effects = model.effects(X[:7])
    np.testing.assert_allclose(effects.total()[:, 0], model.predict(X[:7]), atol=1e-9)
    assert np.abs(effects.rest).max() < np.abs(effects.pairs).max()


def test_vector_fields_of_sums_and_products():
    for prior in (Gaussian(0.3) + 2 * Matern(nu=2.5), Gaussian(0.2) * Periodic(0.5, 4.0)):
        check_operator_kernel(CurlFree(prior), 2)


def test_models_of_fields_accept_sums():
    prior = Gaussian(0.3) + 0.5 * Gaussian(3.0)
    X = rows(40, 2)
    Y = np.stack([X[:, 0] * X[:, 1], X[:, 0] ** 2 / 2], axis=1)
    exact = OperatorKernelRidge(CurlFree(prior), alpha=1e-3).fit(X, Y)
    assert exact.score(X, Y) > 0.99
    sampled = OperatorRidge(CurlFree(prior), n_components=60, random_state=0)
    assert sampled.fit(X, Y).score(X, Y) > 0.9


# --- measures -------------------------------------------------------------------------------------


def test_measures_add_and_multiply_like_their_kernels():
    rng = np.random.default_rng(0)
    mu = FourierMeasure(rng.normal(size=(4, 2)), rng.random(4))
    nu = FourierMeasure(rng.normal(size=(3, 2)), rng.random(3))
    X = rows()
    k, other = mu.kernel(X), nu.kernel(X)
    np.testing.assert_allclose((mu + nu).kernel(X), k + other)
    np.testing.assert_allclose((mu * nu).kernel(X), k * other)
    np.testing.assert_allclose((nu * mu).kernel(X), k * other)
    np.testing.assert_allclose((np.float64(3) * mu).kernel(X), 3 * k)
    assert (mu * nu).mass == pytest.approx(mu.mass * nu.mass)
    assert len(mu * nu) == 24
    # ω − ω = 0 is one atom, and ω_i ± ω_j are pairs of equal ones.
    squared = mu * mu
    assert len(squared) == 1 + 4 + 2 * 6
    np.testing.assert_allclose(squared.kernel(X), k**2)


def test_measures_that_do_not_fit_are_refused():
    mu = FourierMeasure(np.ones((1, 2)), np.ones(1))
    with pytest.raises(ValueError, match="2 and 3 features cannot be multiplied"):
        mu * FourierMeasure(np.ones((1, 3)), np.ones(1))
    with pytest.raises(ValueError, match="The factor of a measure"):
        0 * mu
    with pytest.raises(TypeError):
        mu + "x"
    with pytest.raises(TypeError):
        mu * "x"


def test_products_are_objects_of_their_class():
    assert isinstance(Gaussian() * Laplace(), PriorProduct)


def test_priors_add_to_and_multiply_measures():
    measure = FourierMeasure(np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([0.5, 0.25]))
    X = np.random.default_rng(0).normal(size=(6, 2))
    prior = Gaussian(gamma=0.3)
    for total in (prior + measure, measure + prior):
        np.testing.assert_allclose(total.kernel(X), prior.kernel(X) + measure.kernel(X))
    for product in (prior * measure, measure * prior):
        np.testing.assert_allclose(product.kernel(X), prior.kernel(X) * measure.kernel(X))
        drawn = product.sample(200_000, 2, 0)
        np.testing.assert_allclose(drawn.kernel(X), product.kernel(X), atol=5 / np.sqrt(200_000))
    model = KernelMachine(prior + measure, alpha=0.1).fit(X, X[:, 0])
    step = 1e-5 * np.eye(2)
    slopes = [(model.predict(X + e) - model.predict(X - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(model.jacobian(X), np.stack(slopes, axis=1), atol=1e-6)
    with pytest.raises(TypeError, match="fixed frequencies"):
        Evidence().learn(prior + measure, X, X[:, 0], 0)


def test_draws_of_composites_of_learned_priors_are_marked():
    X = rows(40, 2)
    learned = Evidence(n_iterations=2).learn_prior(Gaussian(), X, np.sin(X[:, 0]), 0)
    metric = WithMetric(learned, np.eye(2))
    for prior in (learned + Gaussian(), 2 * learned, Laplace() * learned, metric):
        assert prior.sample(5, 2, 0).learned
    drawn = learned.sample(5, 2, 0)
    assert (drawn + Gaussian()).sample(5, 2, 0).learned
    assert not (Gaussian() + Gaussian()).sample(5, 2, 0).learned
