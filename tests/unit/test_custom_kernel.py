"""Kernels made of a function: the same as those with a class of their own, and drawn with the
kernel as their mean.
"""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from bochner import (
    CurlFree,
    CustomKernel,
    Decomposable,
    DivergenceFree,
    FourierMeasure,
    Gaussian,
    Matern,
    OperatorKernelRidge,
    OperatorRidge,
    SpectralMixture,
)
from bochner.operators.custom import matrix_roots, spectral_operators
from bochner.operators.output_matrix import matrix_factor
from bochner.testing import check_operator_kernel

TASKS = np.array([[2.0, 0.5], [0.5, 1.0]])


def along(frequencies):
    return frequencies[:, :, None]


def outer(frequencies):
    return frequencies[:, :, None] * frequencies[:, None]


def across(frequencies):
    return np.sum(frequencies**2, axis=1)[:, None, None] * np.eye(frequencies.shape[1]) - outer(
        frequencies
    )


def tasks(frequencies):
    return matrix_factor(TASKS)[None]


def gaussian_tasks(differences):
    return np.exp(-0.5 * np.sum(differences**2, axis=1))[:, None, None] * TASKS


def gaussian_gradients(differences):
    """(I − δδᵀ) k for σ = 1."""
    k = np.exp(-0.5 * np.sum(differences**2, axis=1))[:, None, None]
    return (np.eye(differences.shape[1]) - differences[:, :, None] * differences[:, None]) * k


def two_lengths(differences):
    """K₀ = diag(k of length 1, k of length 1/1.5) turned by an angle: no decomposable kernel, and
    no field.
    """
    squares, turn = np.sum(differences**2, axis=1), np.array([[0.8, -0.6], [0.6, 0.8]])
    parts = np.stack([np.exp(-squares / 2), np.exp(-(1.5**2) * squares / 2)], axis=1)
    return np.einsum("ab,nb,cb->nac", turn, parts, turn)


PRIOR = Gaussian(gamma=0.5)
SAME = {
    "curl-free by its factor": (
        CustomKernel(PRIOR, factor=along, signature=gaussian_gradients),
        CurlFree(PRIOR),
    ),
    "curl-free by its operator": (CustomKernel(PRIOR, operator=outer), CurlFree(PRIOR)),
    "divergence-free by its operator": (
        CustomKernel(PRIOR, operator=across),
        DivergenceFree(PRIOR),
    ),
    "decomposable by its factor": (
        CustomKernel(PRIOR, factor=tasks, signature=gaussian_tasks),
        Decomposable(PRIOR, TASKS),
    ),
    "curl-free by its signature": (
        CustomKernel(PRIOR, signature=gaussian_gradients),
        CurlFree(PRIOR),
    ),
    "decomposable by its signature": (
        CustomKernel(PRIOR, signature=gaussian_tasks),
        Decomposable(PRIOR, TASKS),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_function_gives_the_kernel_of_a_class(name, seed):
    mine, ours = SAME[name]
    X = np.random.default_rng(seed).normal(size=(6, 2))
    drawn, expected = (kernel.sample(40, 2, np.random.default_rng(seed)) for kernel in (mine, ours))
    np.testing.assert_array_equal(drawn.scalar.frequencies, expected.scalar.frequencies)
    by_grid = mine.factor is None and mine.operator is None
    np.testing.assert_allclose(
        drawn.kernel(X), expected.kernel(X), rtol=0, atol=1e-6 if by_grid else 1e-13
    )
    assert drawn.rank == expected.rank
    assert mine.n_outputs(2) == 2
    if mine.signature is not None:
        np.testing.assert_allclose(mine.kernel(X), ours.kernel(X), atol=1e-13)


@pytest.mark.parametrize(
    "name",
    ["curl-free by its factor", "decomposable by its factor", "divergence-free by its operator"],
)
def test_ridges_are_those_of_the_class(name):
    mine, ours = SAME[name]
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    models = [
        OperatorRidge(kernel, n_components=30, alpha=0.1, random_state=0).fit(X, Y)
        for kernel in (mine, ours)
    ]
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), atol=1e-8)
    if mine.signature is not None:
        exact = [
            OperatorKernelRidge(kernel, alpha=0.1).fit(X, Y).predict(X) for kernel in (mine, ours)
        ]
        np.testing.assert_allclose(*exact, atol=1e-8)


@pytest.mark.parametrize(
    "prior",
    [Gaussian(gamma=1.125), Gaussian(gamma=2.0), Matern(nu=6.0, length_scale=0.6)],
    ids=repr,
)
def test_a_signature_of_ones_own_is_the_mean_of_its_draws_whatever_the_prior(prior, seed):
    kernel, rng = CustomKernel(prior, signature=two_lengths), np.random.default_rng(seed)
    X, Z = rng.normal(size=(3, 1)), rng.normal(size=(2, 1))
    measure = kernel.sample(4000, 1, rng)
    operators = measure.operators()
    expected = kernel.kernel(X, Z)
    np.testing.assert_allclose(
        expected, two_lengths((X[:, None] - Z).reshape(-1, 1)).reshape(3, 2, 2, 2)
    )
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            each = np.cos(measure.scalar.frequencies @ (x - z))[:, None, None] * operators
            error = each.std(axis=0) / np.sqrt(4000)
            assert np.abs((each.mean(axis=0) - expected[i, j]) / error).max() < 5
            np.testing.assert_allclose(measure.kernel(X, Z)[i, j], each.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_spectra_by_quadrature_are_those_by_hand(n_features):
    """K₀ = k A has A(ω) = A p_k(ω) / p(ω), p_k the density of k's own spectrum."""
    frequencies = np.random.default_rng(0).normal(size=(5, n_features))
    found = spectral_operators(gaussian_tasks, Gaussian(gamma=1.0), frequencies)
    ratio = 2 ** (n_features / 2) * np.exp(
        -0.25 * np.sum(frequencies**2, axis=1)
    )  # N(0, I) over N(0, 2 I)
    np.testing.assert_allclose(found, ratio[:, None, None] * TASKS, rtol=1e-6)


@pytest.mark.parametrize(
    "prior",
    [2 * Gaussian(gamma=0.8), SpectralMixture([3.0], means=[[0.7, 0.4]], scales=[1.5])],
    ids=["mass", "mean"],
)
def test_signatures_do_not_depend_on_mass_or_symmetry_of_the_prior(prior, seed):
    kernel = CustomKernel(prior, signature=gaussian_tasks)
    check_operator_kernel(kernel, 2, rng=seed)
    frequencies = np.random.default_rng(seed).normal(size=(5, 2))
    pairs = [kernel.factors(sign * frequencies) for sign in (1, -1)]
    np.testing.assert_allclose(*(part @ part.transpose(0, 2, 1) for part in pairs), rtol=1e-6)


def test_roots_of_matrices_and_their_ranks():
    matrices = np.stack([np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 4.0, 0.0])])
    roots = matrix_roots(matrices, "operator")
    assert roots.shape == (3, 3, 2)
    np.testing.assert_allclose(roots @ roots.transpose(0, 2, 1), matrices, atol=1e-12)
    with pytest.raises(ValueError, match="no kernel has such a spectrum"):
        matrix_roots(np.array([[[1.0, 0.0], [0.0, -0.1]]]), "operator")


def test_it_is_a_parameter_object_and_takes_a_learned_measure():
    kernel = CustomKernel(PRIOR, factor=along, signature=gaussian_gradients)
    for again in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert again.factor is along
        assert repr(again) == repr(kernel)
    assert clone(kernel).set_params(prior__gamma=2.0).prior.gamma == 2.0
    measure = FourierMeasure(np.array([[1.0, 0.0], [0.5, 2.0]]), np.array([0.3, 0.7]))
    X = np.random.default_rng(0).normal(size=(4, 2))
    np.testing.assert_allclose(
        CustomKernel(measure, factor=along).kernel(X), CurlFree(measure).kernel(X), atol=1e-14
    )


def heavy(differences):
    return (1 / (1 + np.sum(differences**2, axis=1)))[:, None, None] * np.eye(1)


def shifted(differences):
    """Return symmetric matrices that are not even, so that K₀(−δ) is not K₀(δ)ᵀ."""
    return gaussian_tasks(differences + 0.3)


def skewed(differences):
    """Return matrices that are even and not symmetric."""
    return gaussian_tasks(differences) @ np.array([[1.0, 0.3], [0.0, 1.0]])


@pytest.mark.parametrize("signature", [shifted, skewed])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_signatures_that_are_no_kernels_are_rejected_on_every_scale(signature, scale):
    message = "signature must satisfy K₀\\(−δ\\) = K₀\\(δ\\)ᵀ"
    kernel = CustomKernel(
        Gaussian(gamma=0.5 / scale**2), signature=lambda differences: signature(differences / scale)
    )
    X = scale * np.array([[0.0, 0.0], [0.7, 0.2]])
    with pytest.raises(ValueError, match=message):
        kernel.sample(5, 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        kernel.kernel(X)
    with pytest.raises(ValueError, match=message):
        OperatorRidge(kernel, n_components=5).fit(X, np.eye(2))
    beside = CustomKernel(kernel.prior, factor=tasks, signature=kernel.signature)
    with pytest.raises(ValueError, match=message):
        beside.kernel(X)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("factor", "A\\(−ω\\) = conj A\\(ω\\)"),
        ("operator", "A\\(−ω\\) = conj A\\(ω\\)"),
        ("signature", "signature must return real numbers, got complex128"),
    ],
)
def test_complex_functions_without_the_symmetry_of_a_real_kernel_are_rejected(name, message):
    """A = I + iS with S = −Sᵀ is Hermitian and positive, but its sine part must be odd in ω."""

    def hermitian(rows):
        return np.tile(np.array([[1.0, 0.5j], [-0.5j, 1.0]]), (len(rows), 1, 1))

    kernel = CustomKernel(PRIOR, **{name: hermitian})
    with pytest.raises(ValueError, match=message):
        kernel.sample(5, 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (CustomKernel(PRIOR), ValueError, "needs a function"),
        (CustomKernel(PRIOR, factor=along, operator=outer), ValueError, "Drop one"),
        (CustomKernel(PRIOR, factor=TASKS), TypeError, "must be a function"),
        (CustomKernel(PRIOR, operator=along), ValueError, "operator must return"),
        (CustomKernel(PRIOR, factor=lambda w: w), ValueError, "factor must return"),
        (CustomKernel(PRIOR, factor=lambda w: np.exp(w)[:, :, None]), ValueError, "conj A"),
        (CustomKernel(PRIOR, operator=lambda w: np.exp(w)[:, :1, None]), ValueError, "conj A"),
        (CustomKernel(PRIOR, operator=skewed), ValueError, "A\\(ω\\) = A\\(ω\\)ᴴ"),
        (
            CustomKernel(PRIOR, operator=lambda w: np.full((len(w), 1, 1), np.nan)),
            ValueError,
            "finite",
        ),
        (CustomKernel(PRIOR, signature=heavy), ValueError, "decays too slowly"),
        (
            CustomKernel(FourierMeasure(np.ones((2, 2)), np.ones(2)), signature=gaussian_tasks),
            TypeError,
            "density",
        ),
    ],
    ids=lambda value: "" if isinstance(value, CustomKernel) else str(value),
)
def test_what_makes_no_kernel_is_refused(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel.sample(5, 2, np.random.default_rng(0))


def test_limits_are_named():
    with pytest.raises(ValueError, match="up to 3 dimensions"):
        CustomKernel(PRIOR, signature=gaussian_tasks).sample(5, 4, np.random.default_rng(0))
    with pytest.raises(NotImplementedError, match="no closed form"):
        CustomKernel(PRIOR, factor=along).kernel(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="2 outputs on these points, but y has 3"):
        OperatorRidge(CustomKernel(PRIOR, factor=along)).fit(np.eye(2), np.ones((2, 3)))
