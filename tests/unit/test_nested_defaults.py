"""Parameters of parts that are None by default can be set and searched over, on every public
estimator and part.
"""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import bochner
from bochner import (
    CertifiedClassifier,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF1Classifier,
    GBRFF2Classifier,
    KernelMachine,
    LandmarkFeatures,
    OperatorKernelRidge,
    OperatorRidge,
    OperatorRidgeClassifier,
    SpectralClassifier,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
)

# Where None is no part at all, or one that only the data make: there is nothing to set before an
# object is given.
WITHOUT_PARTS = {
    ("SpectralFeatures", "learner"),
    ("FourierBoostingClassifier", "prior"),
    ("FourierBoostingRegressor", "prior"),
    ("PacBayesLangevin", "prior"),
    ("OperatorClassifier", "loss"),
    ("OperatorRegressor", "loss"),
    *((name, "solver") for name in ("SpectralRidge", "OperatorRidge", "OperatorRidgeClassifier")),
}
# What is None and no object: numbers, seeds, sequences, arrays, functions.
PLAIN = {
    "random_state",
    "class_weight",
    "n_jobs",
    "priors",
    "n_candidates",
    "code_levels",
    "coordinates",
    "output_matrix",
    "length_scale",
    "monotonic_cst",
}
PLAIN |= {"factor", "operator", "signature"}


def public_objects():
    """Every public estimator and part that can be made without arguments."""
    for name in (*bochner.__all__, *bochner._HOMES):
        public = getattr(bochner, name)
        if not (isinstance(public, type) and issubclass(public, BaseEstimator)):
            continue
        try:
            yield public()
        except TypeError:  # it needs arguments, or is abstract
            continue


OBJECTS = list(public_objects())
NONE = [
    (thing, name)
    for thing in OBJECTS
    for name, value in thing.get_params(deep=False).items()
    if value is None and name not in PLAIN
]


def leaves(default, prefix=""):
    """Every parameter of a default part, and of the parts that it holds or stands for by None in
    its turn.
    """
    for name, value in default.get_params(deep=False).items():
        part = (
            default._defaults.get(name)
            if value is None and hasattr(default, "_defaults")
            else value
        )
        yield prefix + name, value
        if isinstance(part, BaseEstimator):
            yield from leaves(part, f"{prefix}{name}__")


@pytest.mark.parametrize(
    ("thing", "name"), NONE, ids=lambda part: part if isinstance(part, str) else type(part).__name__
)
def test_every_parameter_of_a_default_part_can_be_set(thing, name):
    if (type(thing).__name__, name) in WITHOUT_PARTS:
        with pytest.raises(
            ValueError,
            match=f"{name}=None of {type(thing).__name__} has no parameter 'x'. Give an object",
        ):
            clone(thing).set_params(**{f"{name}__x": 1})
        return
    untouched = repr(thing._defaults[name])
    for leaf, _ in leaves(thing._defaults[name]):
        marker = object()
        changed = clone(thing).set_params(**{f"{name}__{leaf}": marker})
        assert changed.get_params()[f"{name}__{leaf}"] is marker
    assert repr(thing._defaults[name]) == untouched
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        clone(thing).set_params(**{f"{name}__nonsense": 1})


def test_a_part_that_is_given_with_its_parameters_is_the_one_that_is_set():
    features = SpectralFeatures().set_params(prior=bochner.Matern(), prior__nu=2.5)
    assert features.prior.nu == 2.5
    assert (
        SpectralFeatures(bochner.Matern()).set_params(prior=None, prior__gamma=3.0).prior.gamma
        == 3.0
    )


SEARCHES = {
    "SpectralFeatures prior": (
        make_pipeline(SpectralFeatures(n_components=10), Ridge()),
        "spectralfeatures__prior__gamma",
    ),
    "LandmarkFeatures prior": (
        make_pipeline(LandmarkFeatures(n_landmarks=5, n_components=8, target="values"), Ridge()),
        "landmarkfeatures__prior__gamma",
    ),
    "LandmarkFeatures learner": (
        make_pipeline(LandmarkFeatures(n_landmarks=5, n_components=8, target="values"), Ridge()),
        "landmarkfeatures__learner__beta",
    ),
    "SpectralRidge": (make_pipeline(SpectralRidge()), "spectralridge__features__prior__gamma"),
    "OperatorRidge": (OperatorRidge(n_components=10), "kernel__prior__gamma"),
    "OperatorRidge features": (OperatorRidge(n_components=10), "features__n_components"),
    "OperatorRidgeClassifier": (OperatorRidgeClassifier(n_components=10), "kernel__prior__gamma"),
    "OperatorKernelRidge": (OperatorKernelRidge(), "kernel__prior__gamma"),
    "KernelMachine": (KernelMachine(), "prior__gamma"),
    "CertifiedClassifier": (CertifiedClassifier(), "features__prior__gamma"),
    "GBRFF1 prior": (GBRFF1Classifier(n_rounds=3), "prior__gamma"),
    "GBRFF1 learner": (GBRFF1Classifier(n_rounds=3), "learner__beta"),
    "GBRFF2": (GBRFF2Classifier(n_rounds=3), "prior__gamma"),
    "classifier's search": (FourierBoostingClassifier(n_rounds=3), "search__n_candidates"),
    "regressor's epochs": (FourierBoostingRegressor(n_rounds=3), "epochs__n_epochs"),
    "regressor's stopping": (FourierBoostingRegressor(n_rounds=30), "stopping__patience"),
    "front door, labels": (SpectralClassifier(bochner.Laplace()), "evidence__n_iterations"),
    "front door, values": (SpectralRegressor(bochner.Laplace()), "evidence__n_iterations"),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_a_search_over_a_default_part_finds_something_and_makes_a_difference(case):
    model, name = SEARCHES[case]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=60)
    values = (
        [1, 7]
        if name.endswith(("candidates", "epochs", "patience", "iterations", "components"))
        else [1e-3, 2.0]
    )
    scoring = "neg_log_loss" if isinstance(model, SpectralClassifier) else None
    search = GridSearchCV(
        clone(model).set_params(**seeds(model)),
        {name: values},
        cv=2,
        scoring=scoring,
        error_score="raise",
    )
    search.fit(X, y > 0 if is_classifier(model) else y)
    assert search.best_params_[name] in values
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0


def seeds(model):
    return {name: 0 for name in model.get_params() if name.rpartition("__")[2] == "random_state"}


def test_what_the_front_door_starts_from_is_its_usual_evidence():
    model = SpectralRegressor().set_params(evidence__n_rows=50)
    assert isinstance(model.evidence, Evidence)
    assert not model.evidence.standardize
