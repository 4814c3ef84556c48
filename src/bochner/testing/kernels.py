"""Conformance checks for priors and operator-valued kernels of your own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from .._checks import MissingMethod, Seed, as_generator

# Largest accepted distance of a sample mean from its expectation, in standard errors.
_LARGEST_SCORE = 5.0
_DRAWS, _ATOMS = 100, 200


def check_prior(prior: Any, n_features: int | Iterable[int] = (1, 3), *, rng: Seed = 0) -> None:
    """Check that the methods of a prior agree with each other.

    The mean kernel of random draws must be the closed form, for every sampling and number of
    features, within 5 standard errors. The closed form must be a shift-invariant kernel. Equal
    seeds must give equal draws, also after ``clone``. Optional methods that the prior defines are
    compared with the draws (``log_density``) or with finite differences and the closed form
    (``gradient``, ``hessian``, ``column_factor``, ``compiled``, ``gram_slopes``, ``group_slopes``).

    Parameters
    ----------
    prior : SpectralPrior
        The prior, with numbers as parameters.
    n_features : int or several, default (1, 3)
        Numbers of columns. Parameters with one number per column allow only one.
    rng : Generator or seed, default 0
        Source of the random draws.

    Raises
    ------
    AssertionError
        If two methods disagree; the message names them.

    Examples
    --------
    >>> from bochner import Laplace
    >>> check_prior(Laplace(gamma=0.5), n_features=2)
    """
    rng = as_generator(rng, "rng")
    for d in np.atleast_1d(np.asarray(n_features)).tolist():
        for sampling in prior._samplings:
            score = np.abs(kernel_z_scores(prior, d, rng, sampling, _ATOMS, _DRAWS)).max()
            _expect(
                score < _LARGEST_SCORE,
                prior,
                f"the mean kernel of draws with sampling={sampling!r} differs from the closed form "
                f"by {score:.1f} standard errors in {d} dimension(s)",
            )
        X, Z = (_rows_for(prior, rng.normal(size=(n, d)), rng) for n in (6, 4))
        _check_closed_form(prior, X)
        _check_draws(prior, d)
        for check in _OPTIONAL_CHECKS:
            try:
                check(prior, X, Z, rng)
            except MissingMethod:
                continue
        kernel = prior.compiled(d)
        _expect(
            kernel is None or np.allclose(kernel.gram(X, Z), prior.kernel(X, Z), atol=1e-10),
            prior,
            "`compiled` differs from the closed form",
        )


def check_operator_kernel(kernel: Any, n_features: int = 3, *, rng: Seed = 0) -> None:
    """Check that the factors of an operator-valued kernel reproduce its closed form.

    The mean kernel of random draws must be the closed form within 5 standard errors. K(x, z) must
    be the transpose of K(z, x), and the matrix of all of them positive semi-definite. ``clone``
    must keep the kernel. If ``second_moment`` is defined, it is compared with draws.

    Parameters
    ----------
    kernel : OperatorKernel
        The kernel, with numbers as parameters.
    n_features : int, default 3
        Number of columns.
    rng : Generator or seed, default 0
        Source of the random draws.

    Raises
    ------
    AssertionError
        If two methods disagree; the message names them.

    Examples
    --------
    >>> from bochner import CurlFree, Gaussian
    >>> check_operator_kernel(CurlFree(Gaussian(gamma=0.5)), n_features=2)
    """
    rng = as_generator(rng, "rng")
    score = np.abs(kernel_z_scores(kernel, n_features, rng, "iid", _ATOMS, _DRAWS)).max()
    _expect(
        score < _LARGEST_SCORE,
        kernel,
        f"the mean kernel of draws, from `factors`, differs from the closed form by {score:.1f} "
        "standard errors",
    )
    X = rng.normal(size=(8, n_features))
    gram, n_outputs = kernel.kernel(X), kernel.n_outputs(n_features)
    _expect(
        gram.shape == (8, 8, n_outputs, n_outputs),
        kernel,
        f"`n_outputs` is {n_outputs}, but the closed form has shape {gram.shape}",
    )
    tolerance = 1e-9 * np.abs(gram).max()
    _expect(
        np.allclose(gram, gram.transpose(1, 0, 3, 2), atol=tolerance),
        kernel,
        "the closed form is not symmetric, K(x, z) = K(z, x)ᵀ",
    )
    flat = gram.transpose(0, 2, 1, 3).reshape(8 * n_outputs, -1)
    smallest = np.linalg.eigvalsh(flat)[0]
    _expect(
        smallest > -len(flat) * tolerance, kernel, f"the closed form has eigenvalue {smallest:.2g}"
    )
    same = clone(kernel).kernel(X)
    _expect(np.array_equal(same, gram), kernel, "`clone` changes the closed form")
    try:
        second = kernel.second_moment(X)
    except (MissingMethod, ValueError):  # of a spectrum without known fourth moments
        return
    drawn = kernel.sample(50_000, n_features, rng)
    operators = np.broadcast_to(drawn.operators(), (len(drawn), n_outputs, n_outputs))
    waves = np.cos(X @ drawn.scalar.frequencies.T)[:, :, None, None]
    values = waves * (operators @ operators) * drawn.scalar.mass
    error = values.std(axis=1) / np.sqrt(len(drawn))
    scores = (values.mean(axis=1) - second) / (error + 1e-12)
    _expect(np.abs(scores).max() < _LARGEST_SCORE, kernel, "`second_moment` differs from draws")


def kernel_z_scores(
    kernel: Any,
    n_features: int,
    rng: Seed,
    sampling: str = "iid",
    n_atoms: int = 256,
    n_draws: int = 200,
) -> np.ndarray:
    """Return (mean sampled kernel − closed form) / standard error, at several distances.

    The error is estimated over independent draws, because atoms within one orthogonal or
    quasi-random draw depend on each other.
    """
    rng = as_generator(rng, "rng")
    points = rng.normal(size=(12, n_features)) * np.linspace(0.1, 1.5, 12)[:, None]
    points = _rows_for(kernel, points, rng)
    origin = np.zeros((1, n_features))
    draws = np.array(
        [
            kernel.sample(n_atoms, n_features, child, sampling).kernel(points, origin)[:, 0]
            for child in rng.spawn(n_draws)
        ]
    )
    error = draws.std(axis=0, ddof=1) / np.sqrt(n_draws)
    # Where all draws agree up to rounding, the difference is rounding, too.
    return (draws.mean(axis=0) - kernel.kernel(points, origin)[:, 0]) / (error + 1e-12)


def _rows_for(kernel, rows, rng):
    """Return rows with codes in the columns in which the kernel needs them."""
    for j in getattr(kernel, "categories", ()):
        rows[:, j] = rng.integers(3, size=len(rows))
    return rows


def _expect(condition, owner, fault):
    if not condition:
        raise AssertionError(f"{owner!r}: {fault}.")


def _check_closed_form(prior, X):
    gram = prior.kernel(X)
    _expect(np.allclose(gram, gram.T, atol=1e-13), prior, "the closed form is not symmetric")
    _expect(
        np.allclose(np.diag(gram), prior._mass(), rtol=1e-12),
        prior,
        f"k(x, x) is {gram[0, 0]:.6g} in closed form, but the mass of draws is {prior._mass():.6g}",
    )
    _expect(
        np.linalg.eigvalsh(gram)[0] > -1e-10 * len(X) * prior._mass(),
        prior,
        "the closed form is not positive semi-definite",
    )
    _expect(
        np.allclose(prior.kernel(X + 5.0), gram, atol=1e-9),
        prior,
        "the closed form changes if all points are shifted",
    )


def _check_draws(prior, n_features):
    one, two = (some.sample(16, n_features, 7) for some in (prior, clone(prior)))
    _expect(
        np.array_equal(one.frequencies, two.frequencies),
        prior,
        "equal seeds give different draws after `clone`",
    )
    _expect(
        one.frequencies.shape == (16, n_features) and np.isclose(one.mass, prior._mass()),
        prior,
        f"16 draws have shape {one.frequencies.shape} and mass {one.mass:.6g}",
    )


def _check_density(prior, X, Z, rng):
    """Compare the mean of g(ω) / p(ω) over draws with one, for g uniform around the draws."""
    drawn = prior.sample(40_000, X.shape[1], rng).frequencies
    low, high = np.quantile(drawn, [0.35, 0.75], axis=0)
    inside = np.all((drawn > low) & (drawn < high), axis=1)
    values = np.exp(-prior.log_density(drawn)[0]) / np.prod(high - low)
    ratios = np.where(inside, values, 0.0)
    score = (ratios.mean() - 1) / (ratios.std() / np.sqrt(len(ratios)) + 1e-12)
    _expect(
        abs(score) < _LARGEST_SCORE,
        prior,
        f"`log_density` differs from the density of draws by {abs(score):.1f} standard errors",
    )
    # Away from zero and from the edge of the support, where some densities have kinks.
    places = drawn[inside & np.all(np.abs(drawn) > 0.02 * (high - low), axis=1)][:5]
    step = 1e-6 * (high - low)
    slopes = prior.log_density(places)[1]
    for j, unit in enumerate(np.diag(step)):
        above, below = (prior.log_density(places + s * unit)[0] for s in (1, -1))
        _expect(
            np.allclose(slopes[:, j], (above - below) / (2 * step[j]), rtol=1e-4, atol=1e-4),
            prior,
            "the gradient of `log_density` differs from finite differences",
        )


def _check_gradient(prior, X, Z, rng):
    coefficients, step = rng.normal(size=(len(Z), 2)), 1e-5
    gradient = prior.gradient(X, Z, coefficients)
    for j, unit in enumerate(step * np.eye(X.shape[1])):
        above, below = (prior.kernel(X + s * unit, Z) @ coefficients for s in (1, -1))
        _expect(
            np.allclose(gradient[:, :, j], (above - below) / (2 * step), rtol=1e-5, atol=1e-6),
            prior,
            "`gradient` differs from finite differences of the closed form",
        )


def _check_hessian(prior, X, Z, rng):
    if not prior.has_finite_variance:
        return
    step = 1e-3 * np.eye(X.shape[1])
    hessian = prior.hessian(X, Z, np.arange(X.shape[1]))
    for a, along in enumerate(step):
        for b, across in enumerate(step):
            corners = [
                s * t * prior.kernel(X + s * along, Z + t * across)
                for s in (1, -1)
                for t in (1, -1)
            ]
            _expect(
                np.allclose(hessian[:, :, a, b], sum(corners) / (4 * 1e-6), rtol=1e-3, atol=1e-3),
                prior,
                "`hessian` differs from finite differences of the closed form",
            )


def _check_factors(prior, X, Z, rng):
    d = X.shape[1]
    for whole in (False, True):
        factors = [prior.column_factor(j, X[:, j], Z[:, j], d, whole) for j in range(d)]
        product = np.prod([constant + rest for constant, rest in factors], axis=0)
        _expect(
            np.allclose(product, prior.kernel(X, Z), rtol=1e-10),
            prior,
            "the product of `column_factor` differs from the closed form",
        )


def _check_rates(prior, X, Z, rng):
    step, groups = 1e-5, prior.groups(X.shape[1])
    numbers = [rng.uniform(0.5, 1.5, group.size) for group in groups]
    pull = rng.normal(size=(len(X), len(X)))
    pull = pull + pull.T
    learned = prior.with_groups(numbers)
    slopes = learned.group_slopes(X, learned.lower_gram(X), pull.copy())

    def total(group, number, move):
        moved = [own.copy() for own in numbers]
        moved[group][number] *= np.exp(move)
        return np.sum(pull * prior.with_groups(moved).kernel(X))

    for k, own in enumerate(slopes):
        for j, slope in enumerate(own):
            expected = (total(k, j, step) - total(k, j, -step)) / (2 * step)
            _expect(
                np.isclose(slope, expected, rtol=1e-5, atol=1e-5),
                prior,
                "`gram_slopes` differs from finite differences of the closed form",
            )


_OPTIONAL_CHECKS = (_check_density, _check_gradient, _check_hessian, _check_factors, _check_rates)
