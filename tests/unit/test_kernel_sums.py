"""Sums and multiples of operator-valued kernels."""

import pickle

import numpy as np
import pytest
from own_samples import assert_exported
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from bochner import (
    Anova,
    CurlFree,
    CustomKernel,
    Decomposable,
    DivergenceFree,
    FourierMeasure,
    Gaussian,
    Helmholtz,
    Laplace,
    Matern,
    OperatorKernelRidge,
    OperatorRegressor,
    OperatorRidge,
    PacBayes,
    SpectralFeatures,
    SpectralMixture,
)
from bochner.operators import KernelSum
from bochner.operators.sums import same_prior
from bochner.testing import check_operator_kernel

WIDE, NARROW = Gaussian(gamma=0.3), Gaussian(gamma=2.0)
MIXTURE = SpectralMixture(weights=[1.0, 2.0], means=[[1.0, 2.0], [0.0, 1.0]], scales=[0.5, 1.0])
TASKS, ONES = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones((2, 2))


def lagging(frequencies):
    second = np.exp(-0.5j * frequencies[:, 0])
    return np.stack([np.ones_like(second), second], axis=1)[:, :, None]


def lagging_signature(differences):
    shift = 0.5 * np.array([[0.0, 1.0], [-1.0, 0.0]])
    first, second = differences[:, :1, None], differences[:, 1:, None]
    return np.exp(-0.3 * ((first + shift) ** 2 + second**2))


# Each with the rank of its factors.
SUMS = {
    "one prior": (CurlFree(WIDE) + DivergenceFree(WIDE), 2),
    "two priors": (CurlFree(WIDE) + Decomposable(NARROW, TASKS), 2),
    "two scales": (Decomposable(Matern(nu=3.0), TASKS) + Decomposable(Laplace(), ONES), 2),
    "two masses": (Decomposable(MIXTURE, ONES) + Decomposable(WIDE, TASKS), 2),
    "three": (
        CurlFree(WIDE) + 2.0 * (DivergenceFree(NARROW) + Decomposable(MIXTURE, ONES)),
        2,
    ),
    "complex": (
        CustomKernel(WIDE, factor=lagging, signature=lagging_signature)
        + 0.5 * Decomposable(NARROW, TASKS),
        2,
    ),
    "low rank": (
        Decomposable(WIDE, np.ones((3, 3))) + Decomposable(NARROW, np.ones((3, 3))),
        1,
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_draws_of_sums_have_the_closed_form_as_their_mean(name, seed):
    kernel, rank = SUMS[name]
    check_operator_kernel(kernel, 2, rng=seed)
    assert kernel.sample(9, 2, seed).rank == rank
    assert len(kernel.sample(9, 2, seed)) == 9


def test_closed_forms_add():
    X, Z = np.random.default_rng(0).normal(size=(2, 5, 2))
    first, second = CurlFree(WIDE), Decomposable(NARROW, TASKS)
    expected = 3 * (first.kernel(X, Z) + 2 * second.kernel(X, Z))
    for kernel in (3 * (first + 2 * second), (first + second * 2) * np.float64(3)):
        np.testing.assert_allclose(kernel.kernel(X, Z), expected)
    halves = 2 * Helmholtz(WIDE, 0.5)
    np.testing.assert_allclose((first + DivergenceFree(WIDE)).kernel(X), halves.kernel(X))


def test_each_frequency_serves_both_kernels():
    """A(ω) = Σ p_k(ω) A_k(ω) / p(ω), p the mean of the densities N(0, 2 γ I)."""
    frequencies = np.random.default_rng(0).normal(size=(6, 2))
    kernel = CurlFree(WIDE) + 3.0 * Decomposable(NARROW, TASKS)
    squares = np.sum(frequencies**2, axis=1)
    wide, narrow = (np.exp(-squares / (4 * g)) / (4 * np.pi * g) for g in (0.3, 2.0))
    curl_free = frequencies[:, :, None] * frequencies[:, None]
    expected = wide[:, None, None] * curl_free + 3 * narrow[:, None, None] * TASKS
    expected /= ((wide + narrow) / 2)[:, None, None]
    factors = kernel.factors(frequencies)
    np.testing.assert_allclose(factors @ factors.transpose(0, 2, 1), expected, atol=1e-12)
    # The density of a mixture is not even, but its frequencies stand for pairs ±ω.
    uneven = Decomposable(MIXTURE, ONES) + kernel
    pairs = [uneven.factors(sign * frequencies) for sign in (1, -1)]
    np.testing.assert_allclose(*(part @ part.transpose(0, 2, 1) for part in pairs), atol=1e-12)


def test_priors_that_become_equal_by_resolving_count_once_each():
    equal = Gaussian("scale").resolved(X)
    kernel = Decomposable(Gaussian("scale"), TASKS) + Decomposable(equal, ONES)
    fitted = OperatorRidge(kernel, n_components=9, random_state=0).fit(X, Y)
    np.testing.assert_allclose(fitted.measure_.kernel(X[:1])[0, 0], TASKS + ONES)


def test_sums_are_parameter_objects():
    kernel = CurlFree() + 2.0 * Decomposable(NARROW, TASKS)
    for again in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert repr(again) == repr(kernel)
    changed = clone(kernel).set_params(first__prior__gamma=0.7, second__scale=3.0)
    assert (changed.first.prior.gamma, changed.second.scale) == (0.7, 3.0)
    assert (kernel.first.prior, kernel.second.scale) == (None, 2.0)
    X = np.random.default_rng(0).normal(size=(20, 2))
    resolved = kernel.resolved(X)
    assert resolved.first.prior.gamma == Gaussian("scale").resolved(X).gamma
    assert resolved.second.first.prior.gamma == 2.0
    fields = (CurlFree(coordinates=[1, 2]) + DivergenceFree(coordinates=[1, 2])).resolved(X)
    assert fields.vector_field
    assert list(fields.space(3)) == [1, 2]
    assert not kernel.vector_field


def test_equal_priors_are_found_by_value():
    arrays = [Gaussian(gamma=np.array([1.0, end])) for end in (2.0, 2.0, 3.0)]
    assert same_prior(arrays[0], arrays[1])
    assert not same_prior(arrays[0], arrays[2])
    assert not same_prior(Gaussian(gamma=1.0), Matern())
    measures = [FourierMeasure(np.ones((2, 1)), np.array([1.0, w])) for w in (1.0, 1.0, 2.0)]
    assert same_prior(measures[0], measures[1])
    assert not same_prior(measures[0], measures[2])


RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 2))
Y = np.column_stack([np.sin(3 * X[:, 0]), np.cos(X[:, 1]) + X[:, 0]])


@pytest.mark.parametrize(
    "kernel",
    [
        Decomposable() + Decomposable(Gaussian(gamma=5.0), ONES),
        CurlFree() + DivergenceFree(),
        CurlFree(WIDE) + Decomposable(NARROW, "covariance"),
    ],
    ids=str,
)
def test_ridges_of_sums_tend_to_the_exact_one(kernel):
    exact = OperatorKernelRidge(kernel, alpha=0.01).fit(X, Y)
    model = OperatorRidge(kernel, n_components=200, alpha=0.01, random_state=0).fit(X, Y)
    assert np.abs(exact.predict(X) - model.predict(X)).max() < 0.2
    gram = exact.kernel_.kernel(X).transpose(0, 2, 1, 3).reshape(Y.size, Y.size)
    dual = np.linalg.solve(gram + 0.01 * np.eye(Y.size), Y.ravel())
    np.testing.assert_allclose(exact.predict(X).ravel(), gram @ dual, atol=1e-8)
    convex = OperatorRegressor(kernel, n_components=30, alpha=0.01, random_state=0)
    assert convex.fit(X, Y).score(X, Y) > 0.9
    assert_exported(model)
    assert_exported(exact)


@pytest.mark.parametrize("model", [OperatorRidge(n_components=20), OperatorKernelRidge()])
def test_a_factor_scales_the_ridge_and_the_outputs_stay_decoupled(model):
    kernel = Decomposable(WIDE, "learned")
    fits = [
        clone(model).set_params(kernel=one, alpha=alpha)
        for one, alpha in ((kernel, 0.1), (2.0 * kernel, 0.2))
    ]
    for fit in fits:
        if isinstance(fit, OperatorRidge):
            fit.set_params(random_state=0)
    np.testing.assert_allclose(*(fit.fit(X, Y).predict(X) for fit in fits), atol=1e-8)
    assert fits[1].kernel_.decomposable
    assert (Decomposable(WIDE, TASKS) + Decomposable(clone(WIDE), ONES)).decomposable
    assert not (Decomposable(WIDE, TASKS) + Decomposable(NARROW, ONES)).decomposable


def test_learners_and_searches_see_a_sum():
    kernel = CurlFree(WIDE) + Decomposable(NARROW, TASKS)
    features = SpectralFeatures(learner=PacBayes(), n_candidates=60, n_components=20)
    model = OperatorRidge(kernel, features=features, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert model.measure_.n_outputs == 2
    grid = GridSearchCV(
        OperatorRidge(kernel, n_components=20, random_state=0),
        {"kernel__second__prior__gamma": [0.5, 2.0], "kernel__scale": [1.0, 2.0]},
        cv=2,
    )
    assert grid.fit(X, Y).best_score_ > 0.5
    halves = OperatorRidge(kernel, n_components=20, alpha=0.1, random_state=0)
    for rows in (slice(0, 30), slice(30, 60)):
        halves.partial_fit(X[rows], Y[rows])
    whole = clone(halves).fit(X, Y)
    np.testing.assert_allclose(halves.predict(X), whole.predict(X), atol=1e-8)


def test_fields_of_sums_split():
    kernel = CurlFree(WIDE) + 0.5 * DivergenceFree(NARROW)
    model = OperatorRidge(kernel, n_components=30, random_state=0).fit(X, Y)
    parts = model.curl_free_part(X), model.divergence_free_part(X)
    np.testing.assert_allclose(sum(parts), model.predict(X), atol=1e-10)


def test_a_measure_serves_both_kernels_of_a_sum():
    measure = FourierMeasure(RNG.normal(size=(9, 2)), RNG.random(9))
    kernel = CurlFree(measure) + DivergenceFree(measure)
    expected = CurlFree(measure).kernel(X) + DivergenceFree(measure).kernel(X)
    np.testing.assert_allclose(kernel.kernel(X), expected, atol=1e-12)
    assert OperatorRidge(kernel).fit(X, Y).measure_.scalar is measure


def test_equal_priors_of_kernel_and_features_are_accepted():
    features = SpectralFeatures(Gaussian(gamma=0.3), n_components=20, random_state=0)
    given = OperatorRidge(CurlFree(WIDE), features=features).fit(X, Y)
    alone = OperatorRidge(CurlFree(WIDE), n_components=20, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(given.predict(X), alone.predict(X))
    with pytest.raises(ValueError, match="Got two priors"):
        OperatorRidge(CurlFree(NARROW), features=features).fit(X, Y)
    with pytest.raises(ValueError, match="Got two priors"):
        OperatorRidge(CurlFree(NARROW) + CurlFree(WIDE), features=features).fit(X, Y)
    both = OperatorRidge(CurlFree() + DivergenceFree(), features=features).fit(X, Y)
    assert both.kernel_.second.prior.gamma == 0.3


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CurlFree() + 1.0, TypeError, "unsupported operand"),
        (lambda: CurlFree() * "2", TypeError, "can't multiply|unsupported operand"),
        (lambda: (-1.0 * CurlFree(WIDE)).kernel(X), ValueError, "scale must be positive"),
        (lambda: KernelSum(CurlFree).kernel(X), TypeError, "CurlFree\\(\\)"),
        (lambda: KernelSum(CurlFree(), WIDE).kernel(X), TypeError, "Write e.g. CurlFree"),
        (
            lambda: (CurlFree(WIDE) + Decomposable(WIDE, np.eye(3))).kernel(X),
            ValueError,
            "need as many outputs, got \\[2, 3\\]",
        ),
        (
            lambda: (CurlFree(WIDE) + CurlFree(FourierMeasure(np.ones((2, 2)), np.ones(2)))).kernel(
                X
            ),
            TypeError,
            "Give the same measure to both",
        ),
        (
            lambda: (CurlFree(WIDE) + CurlFree(Anova())).sample(5, 2, 0),
            TypeError,
            "Anova has no density",
        ),
        (
            lambda: OperatorRidge(CurlFree() + Decomposable(None, "learned")).fit(X, Y),
            ValueError,
            "cannot be used in a sum",
        ),
        (lambda: OperatorRidge(CurlFree() + CurlFree()).fit(X, X[:, 0]), ValueError, "2 outputs"),
    ],
)
def test_what_is_no_sum_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
