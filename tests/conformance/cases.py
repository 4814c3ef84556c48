"""Public objects that the laws are checked against; a new prior, loss or solver adds one line.

Estimators are listed in ``registry.py``.
"""

import numpy as np

from bochner import (
    LBFGS,
    Anova,
    AscentPeaks,
    CandidatePeaks,
    Cauchy,
    Cholesky,
    ConjugateGradient,
    CurlFree,
    CustomKernel,
    Decomposable,
    DivergenceFree,
    Eigen,
    Expansion,
    FourierMeasure,
    Gaussian,
    HarmonicMeasure,
    Helmholtz,
    LangevinPeaks,
    Laplace,
    MarginGame,
    Matern,
    OptimalAlignment,
    PacBayes,
    PacBayesLangevin,
    RationalQuadratic,
    Sinc,
    SpectralMixture,
    StochasticGradient,
)
from bochner.learners import Chain, PacBayesGaussian
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
from bochner.priors import OnColumns, Periodic, WithCategories, WithMetric


def mixture(n_features):
    """A spectral mixture with means off the origin, in any dimension."""
    rng = np.random.default_rng(n_features)
    return SpectralMixture(
        weights=[0.3, 0.7],
        means=rng.normal(size=(2, n_features)),
        scales=rng.uniform(0.2, 1.0, size=(2, n_features)),
    )


def finite_measure(n_features):
    """A measure of unequal weights with the negative of one atom, whose mass is not 1."""
    rng = np.random.default_rng(n_features)
    atoms = rng.normal(size=(8, n_features))
    return FourierMeasure(np.vstack([atoms, -atoms[:1]]), 3 * rng.random(9))


def metric(n_features):
    """A triangular matrix that mixes the columns."""
    rng = np.random.default_rng(n_features)
    return np.tril(rng.uniform(-0.4, 0.4, (n_features, n_features)), -1) + 0.7 * np.eye(n_features)


# Each case is a function of the number of features, so that vector parameters fit.
PRIORS = {
    "Gaussian": lambda d: Gaussian(gamma=0.3),
    "Gaussian ARD": lambda d: Gaussian(gamma=np.linspace(0.1, 0.6, d)),
    "Gaussian by length": lambda d: Gaussian(length_scale=1.3),
    "Gaussian by lengths": lambda d: Gaussian(length_scale=np.linspace(0.8, 2.0, d)),
    "Matern 1/2": lambda d: Matern(nu=0.5, length_scale=1.5),
    "Matern 3/2": lambda d: Matern(nu=1.5),
    "Matern 2.2 ARD": lambda d: Matern(nu=2.2, length_scale=np.linspace(0.8, 2.0, d)),
    "RationalQuadratic": lambda d: RationalQuadratic(alpha=0.7, length_scale=1.2),
    "Laplace": lambda d: Laplace(gamma=0.4),
    "Anova 1/2": lambda d: Anova(nu=0.5, length_scale=1.5, weight=0.7),
    "Anova 3/2": lambda d: Anova(),
    "Anova 5/2 ARD": lambda d: Anova(
        nu=2.5,
        length_scale=np.linspace(0.6, 2.0, d),
        weight=np.append(np.linspace(0.2, 5.0, d)[1:], 0.01),
    ),
    "Cauchy": lambda d: Cauchy(scale=1.3),
    "Sinc": lambda d: Sinc(bandwidth=1.1),
    "Sinc ARD": lambda d: Sinc(bandwidth=np.linspace(0.5, 1.5, d)),
    "SpectralMixture": mixture,
    "Laplace with a category": lambda d: WithCategories(Laplace(gamma=0.4), [d - 1]),
    "Gaussian with a category": lambda d: WithCategories(Gaussian(gamma=0.3), [0]),
    "Anova with categories": lambda d: WithCategories(
        Anova(nu=2.5, length_scale=np.linspace(0.6, 2.0, d), weight=np.linspace(0.2, 5.0, d)),
        sorted({0, d - 1}),
    ),
    "FourierMeasure": finite_measure,
    "Periodic": lambda d: Periodic(gamma=0.7, period=1.3),
    "Periodic ARD": lambda d: Periodic(np.linspace(0.4, 3.0, d), np.linspace(1.0, 5.0, d)),
    "sum": lambda d: Gaussian(gamma=0.3) + 2 * Matern(nu=2.5),
    "product": lambda d: Gaussian(gamma=0.1) * Periodic(gamma=1.5, period=2.0),
    "sum of products of columns": lambda d: (
        0.5 * (OnColumns(RationalQuadratic(alpha=0.7), [d - 1]) * Anova()) + Laplace(gamma=0.4)
    ),
    "Gaussian with a metric": lambda d: WithMetric(Gaussian(gamma=0.5), metric(d)),
    "Laplace with a metric": lambda d: WithMetric(Laplace(gamma=0.4), metric(d)),
    "Gaussian with a metric and a wave": lambda d: WithMetric(
        Gaussian(gamma=0.5), metric(d), np.linspace(0.5, 1.5, d)
    ),
}

_RNG = np.random.default_rng(0)

# Learners whose result does not depend on rounding, and those that search.
LEARNERS = {
    "PacBayes": PacBayes(3.0),
    "PacBayes by bound": PacBayes("bound"),
    "OptimalAlignment": OptimalAlignment(radius=0.5, mu=1.7),
    "Chain": Chain(PacBayes(3.0), OptimalAlignment(radius=0.5, mu=1.7)),
    "MarginGame": MarginGame(n_rounds=6, peaks=CandidatePeaks()),
    "MarginGame squared hinge": MarginGame(
        n_rounds=6, peaks=CandidatePeaks(top=2), loss="squared_hinge"
    ),
}
SEARCHING = {
    "MarginGame by ascent": MarginGame(n_rounds=3, peaks=AscentPeaks(n_walkers=5, n_steps=3)),
    "MarginGame by Langevin": MarginGame(n_rounds=2, peaks=LangevinPeaks(n_walkers=5, n_steps=3)),
    "PacBayesLangevin": PacBayesLangevin(3.0, Gaussian(0.5), n_steps=4, jump_every=2),
    "PacBayesGaussian": PacBayesGaussian(3.0, Gaussian(0.5), n_iterations=10),
}

LOSSES = [
    Logistic(),
    Exponential(),
    Multinomial(),
    Squared(),
    Huber(np.array([0.7])),
    Quantile(0.3),
    Poisson(),
    Hinge(),
]
LOSSES += [Hinge(0.5), Quantile(0.3, 0.4)]

SOLVERS = [
    Eigen(),
    Cholesky(),
    ConjugateGradient(tol=1e-13),
    LBFGS(tol=1e-12),
    StochasticGradient(n_epochs=400),
]

# Each is a function of a scalar prior and of the number of features.
OPERATOR_KERNELS = {
    "Decomposable": lambda prior, d: Decomposable(prior, np.array([[2.0, 0.5], [0.5, 1.0]])),
    "CurlFree": lambda prior, d: CurlFree(prior),
    "DivergenceFree": lambda prior, d: DivergenceFree(prior),
    "Helmholtz": lambda prior, d: Helmholtz(prior, curl_share=0.3),
    "CurlFree in time": lambda prior, d: CurlFree(prior, coordinates=[d - 1, 0]),
    "Helmholtz in time": lambda prior, d: Helmholtz(prior, 0.6, coordinates=[0, d - 1]),
    "sum of fields": lambda prior, d: CurlFree(prior) + 2.0 * DivergenceFree(prior),
    "sum": lambda prior, d: 0.5 * (CurlFree(prior) + Decomposable(prior, np.eye(d) + 0.3)),
}


def lagging(frequencies):
    """Return B(ω) of a kernel whose second output lags the first along the first column."""
    second = np.exp(-0.7j * frequencies[:, 0])
    return np.stack([np.ones_like(second), second], axis=1)[:, :, None]


def sampled(kernel):
    return kernel.sample(12, 3, np.random.default_rng(1))


MEASURES = {
    "Fourier": FourierMeasure(_RNG.normal(size=(12, 3)), _RNG.random(12)),
    "harmonic": HarmonicMeasure(np.array([[0, 0], [1, 2], [2, 1], [2, 4], [5, 3]]), _RNG.random(5)),
    "decomposable": sampled(Decomposable(Gaussian(), np.array([[2.0, 1.0], [1.0, 2.0]]))),
    "curl-free": sampled(CurlFree(Gaussian())),
    "divergence-free": sampled(DivergenceFree(Gaussian())),
    "Helmholtz": sampled(Helmholtz(Gaussian(), curl_share=0.3)),
    "lagging": sampled(CustomKernel(Gaussian(), factor=lagging)),
}


def expansion(n_outputs, slopes=True):
    rng = np.random.default_rng(2)
    return Expansion(
        rng.normal(size=(6, 3)),
        rng.normal(size=(6, n_outputs)),
        rng.normal(size=(6, n_outputs)),
        rng.normal(size=n_outputs),
        rng.normal(size=(3, n_outputs)) if slopes else None,
    )


EXPANSIONS = {
    "one output": expansion(1),
    "three outputs": expansion(3),
    "bounded": expansion(2, slopes=False),
    "constant": Expansion.constant([1.0, -2.0], 3),
}
