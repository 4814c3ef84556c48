"""Every public method that draws random numbers accepts a seed wherever it accepts a Generator."""

import importlib
import inspect
import pickle
from functools import partial

import numpy as np
import pytest
from cases import LEARNERS, MEASURES, OPERATOR_KERNELS, PRIORS, SEARCHING

from bochner import (
    AscentPeaks,
    EarlyStopping,
    Evidence,
    Gaussian,
    JointDescent,
    LearnedPrior,
    MarginGame,
    StochasticGradient,
    datasets,
)
from bochner._checks import as_generator
from bochner.data.targets import Values
from bochner.datasets import generators
from bochner.operators import CurlFree, suggest_n_components

PUBLIC = (
    "bochner",
    "bochner.bounds",
    "bochner.datasets",
    "bochner.export",
    "bochner.losses",
    "bochner.plots",
)
X = np.random.default_rng(5).normal(size=(30, 3))
LABELS = X[:, 0] > 0.2
ATOMS = Gaussian().sample(6, 3, 1)
EVIDENCE = Evidence(n_rows=20, n_iterations=2)
TOYS = [getattr(generators, name) for name in datasets.__all__ if hasattr(generators, name)]
ALL_LEARNERS = LEARNERS | SEARCHING | {"JointDescent": JointDescent(n_epochs=1)}


def fields(learned: LearnedPrior) -> list:
    return [learned.prior.gamma, learned.noise, learned.linear, learned.objective]


# For each function that is defined with a parameter rng: calls of it, as functions of the seed.
METHODS = {
    "SpectralPrior.sample": {
        name: (lambda rng, p=prior: p(3).sample(5, 3, rng)) for name, prior in PRIORS.items()
    },
    "FourierMeasure.sample": {"atoms": lambda rng: ATOMS.sample(5, 3, rng)},
    "OperatorKernel.sample": {
        **{
            name: (lambda rng, k=k: k(Gaussian(), 2).sample(5, 2, rng))
            for name, k in OPERATOR_KERNELS.items()
        },
        "kernel of a measure": lambda rng: CurlFree(ATOMS).sample(5, 3, rng),
    },
    "AtomicMeasure.resampled": {
        name: (lambda rng, m=m: m.resampled(4, rng)) for name, m in MEASURES.items()
    },
    "Learner.learn": {
        name: (lambda rng, one=learner: one.learn(ATOMS, X, LABELS, rng).measure)
        for name, learner in ALL_LEARNERS.items()
    },
    "MarginGame.rounds": {
        "game": lambda rng: [
            played.peaks
            for played in MarginGame(n_rounds=2, peaks=AscentPeaks(n_walkers=4)).rounds(
                ATOMS, X, LABELS, rng
            )
        ]
    },
    "Evidence.learn": {"Gaussian": lambda rng: fields(EVIDENCE.learn(Gaussian(), X, X[:, 0], rng))},
    "Evidence.learn_checked": {
        "Gaussian": lambda rng: fields(
            EVIDENCE.learn_checked(Gaussian(), X, Values.of(X[:, 0]), rng)
        )
    },
    "Evidence.learn_prior": {
        "Gaussian": lambda rng: EVIDENCE.learn_prior(Gaussian(), X, X[:, 0], rng).gamma
    },
    "EarlyStopping.rows_apart": {
        "half": lambda rng: EarlyStopping(fraction=0.5).rows_apart(30, None, 0, rng)
    },
    "StochasticGradient.init": {"rng": lambda rng: StochasticGradient().init(None, None, rng).rng},
    "suggest_n_components": {
        "curl-free": lambda rng: suggest_n_components(
            CurlFree(Gaussian()), 0.5, 2, diameter=1.0, rng=rng
        )
    },
    **{
        toy.__name__: {"20 rows": partial(toy, 20)}
        for toy in TOYS
        if toy is not datasets.plane_potential
    },
}
# Solvers that draw nothing, and ignore it.
IGNORING = {"Cholesky.init", "Eigen.init", "IterativeSolver.init"}
CALLS = {
    f"{method} {name}": call for method, calls in METHODS.items() for name, call in calls.items()
}


@pytest.mark.parametrize("name", CALLS)
def test_a_seed_is_a_generator_made_of_it(name):
    call = CALLS[name]
    assert pickle.dumps(call(0)) == pickle.dumps(call(np.random.default_rng(0)))


@pytest.mark.parametrize("name", CALLS)
def test_other_types_are_refused_in_a_sentence(name):
    for wrong in (0.5, "0", True):
        sentence = rf"^rng must be an integer, None, .* got {wrong!r}. Write e.g. rng=0.$"
        with pytest.raises(TypeError, match=sentence):
            CALLS[name](wrong)


def functions_of(thing):
    """The public functions of a public name: itself, or the methods of a class."""
    if inspect.isfunction(thing):
        return [thing]
    if not isinstance(thing, type):
        return []
    return [
        method
        for name, method in inspect.getmembers(thing, inspect.isfunction)
        if not name.startswith("_")
    ]


def test_no_public_function_with_rng_is_missing():
    rooms = [importlib.import_module(room) for room in PUBLIC]
    functions = [
        function
        for room in rooms
        for name in (*room.__all__, *getattr(room, "_HOMES", ()))
        for function in functions_of(getattr(room, name))
    ]
    drawing = {
        function.__qualname__
        for function in functions
        if "rng" in inspect.signature(function).parameters
    }
    assert drawing == set(METHODS) - {"suggest_n_components"} | IGNORING


def test_every_accepted_kind_makes_a_generator():
    draws = {
        as_generator(seed).integers(2**60) for seed in (0, np.int64(0), np.random.SeedSequence(0))
    }
    assert draws == {np.random.default_rng(0).integers(2**60)}
    one, two = (as_generator(np.random.RandomState(3)).integers(2**60) for _ in range(2))
    assert one == two
    assert isinstance(as_generator(None), np.random.Generator)
    assert isinstance(as_generator(np.random), np.random.Generator)
    with pytest.raises(ValueError, match="rng must not be negative, got -1"):
        as_generator(-1, "rng")
