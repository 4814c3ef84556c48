"""Parameters given by name: siblings take no different numbers first, and the old positions still
work with a warning.
"""

import inspect

import pytest
from sklearn.base import clone

import bochner
from bochner import AscentPeaks, Gaussian, Matern, PacBayes
from bochner._estimator import keyword_only_from

# What could be given by position up to 0.2, with values for all of it.
OLD_POSITIONS = {
    "FourierBoostingClassifier": {"loss": "logistic"},
    "FourierBoostingRegressor": {"loss": "huber"},
    "GBRFF1Classifier": {
        "n_rounds": 3,
        "n_components": 4,
        "prior": Gaussian(),
        "learner": PacBayes(),
    },
    "GBRFF2Classifier": {"n_rounds": 3, "prior": Gaussian(), "penalty": 0.5},
    "EarlyStopping": {"fraction": 0.2, "patience": 5},
    "WaveSearch": {"n_candidates": 3, "n_refinements": 4},
    "AscentPeaks": {"n_walkers": 3, "n_steps": 4},
    "LangevinPeaks": {"n_walkers": 3, "n_steps": 4},
    "QuasiNewtonPeaks": {"n_walkers": 3, "n_steps": 4},
    "CandidatePeaks": {"top": 3, "penalty": 0.5},
    "HarmonicPeaks": {"max_degree": 3, "mode": "zonal", "top": 2},
    "HarmonicChain": {"max_degree": 3, "n_walkers": 4, "n_steps": 5},
    "LBFGS": {"max_iter": 3, "tol": 0.5},
    "ConjugateGradient": {"max_iter": 3, "tol": 0.5},
    "StochasticGradient": {"n_epochs": 3, "batch_size": 4},
    "Matern": {"nu": 2.5, "length_scale": 2.0},
    "RationalQuadratic": {"alpha": 2.5, "length_scale": 2.0},
    "Anova": {"nu": 2.5, "length_scale": 2.0, "weight": 0.5},
    "MarginGame": {"n_rounds": 3, "C": 4.0, "peaks": AscentPeaks()},
    "JointDescent": {"n_epochs": 3},
    "OptimalAlignment": {"radius": 0.5, "mu": 3.0},
}
# Siblings, and the first parameter that may still be given by position.
FAMILIES = {
    "boosters": (
        "FourierBoostingClassifier",
        "FourierBoostingRegressor",
        "GBRFF1Classifier",
        "GBRFF2Classifier",
    ),
    "searches": (
        *(
            "AscentPeaks",
            "LangevinPeaks",
            "QuasiNewtonPeaks",
            "CandidatePeaks",
            "HarmonicPeaks",
            "HarmonicChain",
        ),
        "WaveSearch",
    ),
    "solvers": ("Eigen", "Cholesky", "LBFGS", "ConjugateGradient", "StochasticGradient"),
    "features": ("SpectralFeatures", "LandmarkFeatures"),
    "operator kernels": ("Decomposable", "CurlFree", "DivergenceFree", "Helmholtz", "CustomKernel"),
    "operator models": (
        "OperatorRidge",
        "OperatorRidgeClassifier",
        "OperatorKernelRidge",
        "OperatorRegressor",
    ),
    "models on features": ("SpectralRidge", "SpectralLogistic", "CertifiedClassifier"),
    "learners": ("PacBayes", "PacBayesLangevin", "OptimalAlignment", "MarginGame", "JointDescent"),
    "priors with two parameters": ("Matern", "RationalQuadratic", "Anova"),
}


def positional(name):
    parameters = inspect.signature(getattr(bochner, name)).parameters.values()
    return [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]


@pytest.mark.parametrize("family", FAMILIES)
def test_siblings_take_no_different_parameters_first(family):
    assert len({positional(name)[0] for name in FAMILIES[family] if positional(name)}) <= 1


@pytest.mark.parametrize("name", OLD_POSITIONS)
def test_old_positions_work_and_warn_in_one_sentence(name):
    made, given = getattr(bochner, name), OLD_POSITIONS[name]
    assert positional(name) == []
    for count in range(1, len(given) + 1):
        some = dict(list(given.items())[:count])
        noun = "this parameter" if count == 1 else "these parameters"
        with pytest.warns(FutureWarning) as caught:
            old = made(*some.values())
        written = ", ".join(f"{key}=..." for key in some)
        expected = f"Write {name}({written}): from bochner 0.4 on, {noun} must be given by name."
        assert [(str(one.message), one.filename) for one in caught] == [(expected, __file__)]
        new = made(**some)
        assert {key: getattr(old, key) for key in some} == some
        assert repr(old) == repr(new) == repr(clone(old))
        assert set(old.get_params(deep=False)) == set(inspect.signature(made).parameters)


def test_too_many_or_repeated_arguments_are_refused():
    with pytest.raises(TypeError, match="positional argument"):
        Matern(1.5, 2.0, 3.0)
    with pytest.warns(FutureWarning), pytest.raises(TypeError, match="multiple values"):
        Matern(1.5, nu=2.5)


def test_subclasses_are_named_by_their_own_name():
    class Rougher(Matern):
        """Inherits the parameters."""

    with pytest.warns(FutureWarning, match=r"Write Rougher\(nu=\.\.\.\)"):
        assert Rougher(0.5).nu == 0.5


def test_the_version_is_written_in_the_warning():
    @keyword_only_from("9.9", old_order=("a",))
    class Later:
        def __init__(self, *, a=1):
            self.a = a

    with pytest.warns(FutureWarning, match="from bochner 9.9 on"):
        assert Later(2).a == 2
