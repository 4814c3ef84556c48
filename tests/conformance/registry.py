"""Registry of all public estimators for conformance, Dask and hostile tests.

A new estimator adds one entry under its name, with the settings that each kind of test uses.
"""

from dataclasses import dataclass, field

import numpy as np

import bochner
from bochner import (
    Anova,
    AscentPeaks,
    CandidatePeaks,
    CertifiedClassifier,
    Cholesky,
    ConjugateGradient,
    Decomposable,
    EarlyStopping,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    Gaussian,
    GBRFF1Classifier,
    GBRFF2Classifier,
    JointDescent,
    JointEpochs,
    KernelMachine,
    LandmarkFeatures,
    LangevinPeaks,
    Laplace,
    MarginGame,
    Matern,
    OperatorClassifier,
    OperatorKernelRidge,
    OperatorRegressor,
    OperatorRidge,
    OperatorRidgeClassifier,
    OptimalAlignment,
    PacBayes,
    PacBayesLangevin,
    SmoothScaler,
    SpectralClassifier,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRegressor,
    SpectralRidge,
    StochasticGradient,
    TableInputs,
)
from bochner.learners import PacBayesGaussian
from bochner.losses import Exponential, Hinge, Huber, Quantile


@dataclass(frozen=True)
class Entry:
    """Settings and targets of one estimator.

    Targets are "labels" (three classes), "two" (two classes), "values" (one output) and "outputs"
    (two outputs).
    """

    # Target of the laws.
    target: str = "labels"
    # One of each way of working: the quick tests check the laws for these.
    kinds: tuple = ()
    # Other settings: `make test-all` checks the laws for these.
    settings: tuple = ()
    # Fits on Dask, each with its target; or the message of the error that ``fit`` raises there.
    dask: dict | str = field(default_factory=dict)
    # True if a fit on Dask gives the model of arrays up to 1e-10, from 90 rows on.
    exact_on_dask: bool = False
    # Small settings for bad inputs; "" is the name of the estimator alone.
    small: dict = field(default_factory=dict)
    # Settings that iterate long enough to be interrupted.
    iterative: dict = field(default_factory=dict)


def _features(learner=None, **settings):
    return SpectralFeatures(learner=learner, **{"n_components": 8} | settings)


_SEED = {"random_state": 0}
_IN_MEMORY = r"works on rows in memory.*Give X.compute\(\)"
_TABULAR_ON_DASK = {
    "priors": Anova(),
    "evidence": Evidence(n_rows=100, n_iterations=4),
    "max_leaf_rows": 150,
}
_BOOSTING_ON_DASK = {
    "n_rounds": 3,
    "max_rows": 400,
    "epochs": JointEpochs(2),
    "stopping": EarlyStopping(fraction=0.1, patience=5),
}
_LEARNED = SpectralFeatures(learner=PacBayes(), n_components=6, n_candidates=20)
_SMALL_EVIDENCE = {"evidence": Evidence(n_rows=60, n_iterations=3), **_SEED}
_ITERATIVE_EVIDENCE = {"evidence": Evidence(n_rows=60, n_iterations=2), **_SEED}
_SMALL_BOOSTING = {"n_rounds": 4, "epochs": JointEpochs(2), **_SEED}
_ITERATIVE_BOOSTING = {"n_rounds": 20, "epochs": JointEpochs(3), **_SEED}

REGISTRY = {
    "SpectralClassifier": Entry(
        kinds=(SpectralClassifier(),),
        dask={"tabular": (SpectralClassifier(**_TABULAR_ON_DASK), "labels")},
        exact_on_dask=True,
        small={"": SpectralClassifier(**_SMALL_EVIDENCE)},
        iterative={"": SpectralClassifier(**_ITERATIVE_EVIDENCE)},
    ),
    "SpectralRegressor": Entry(
        target="values",
        kinds=(SpectralRegressor(),),
        dask={"tabular": (SpectralRegressor(**_TABULAR_ON_DASK), "values")},
        exact_on_dask=True,
        small={"": SpectralRegressor(**_SMALL_EVIDENCE)},
        iterative={"": SpectralRegressor(**_ITERATIVE_EVIDENCE)},
    ),
    "KernelMachine": Entry(
        target="values",
        kinds=(KernelMachine(),),
        settings=(
            KernelMachine(
                Anova(length_scale="scale"), alpha=0.1, linear=0.5, solver="cg", tol=1e-10
            ),
        ),
        dask={"exact machine": (KernelMachine(alpha=0.1), "values")},
        exact_on_dask=True,
        small={"": KernelMachine(**_SEED)},
        iterative={"": KernelMachine(solver="cg", alpha=[0.1, 1.0], **_SEED)},
    ),
    "SpectralRidge": Entry(
        target="values",
        kinds=(
            SpectralRidge(
                SpectralFeatures(Matern(nu=1.5, length_scale="scale"), n_components=50),
                alpha=0.1,
                fit_intercept=False,
            ),
        ),
        settings=(SpectralRidge(),),
        dask={
            "ridge": (SpectralRidge(_features(n_components=10), alpha=[0.1, 1.0]), "values"),
            "on learned features": (SpectralRidge(_LEARNED), "outputs"),
        },
        exact_on_dask=True,
        small={"": SpectralRidge(_features(**_SEED))},
        iterative={
            "": SpectralRidge(_features(PacBayes(), n_components=50), alpha=[0.1, 1.0], **_SEED)
        },
    ),
    "SpectralLogistic": Entry(
        kinds=(
            SpectralLogistic(_features(PacBayes(), block_size=7), C=100.0, fit_intercept=False),
        ),
        settings=(
            SpectralLogistic(),
            SpectralLogistic(
                LandmarkFeatures(n_landmarks=5, n_components=8), class_weight="balanced"
            ),
        ),
        dask={"logistic": (SpectralLogistic(_LEARNED, class_weight="balanced"), "labels")},
        exact_on_dask=True,
        small={"": SpectralLogistic(_features(**_SEED))},
    ),
    "OperatorRidge": Entry(
        target="outputs",
        kinds=(
            OperatorRidge(
                Decomposable(Gaussian(gamma="scale")),
                n_components=20,
                solver=Cholesky(),
                fit_intercept=True,
            ),
        ),
        settings=(
            OperatorRidge(),
            OperatorRidge(
                features=_features(n_components=20, block_size=7),
                alpha=1.0,
                solver=ConjugateGradient(),
            ),
        ),
        dask={"operator ridge": (OperatorRidge(n_components=10, fit_intercept=True), "outputs")},
        exact_on_dask=True,
        small={"": OperatorRidge(n_components=8, **_SEED)},
        iterative={
            "ConjugateGradient": OperatorRidge(
                n_components=50, solver=ConjugateGradient(), **_SEED
            ),
            "StochasticGradient": OperatorRidge(
                n_components=50, solver=StochasticGradient(n_epochs=10), **_SEED
            ),
        },
    ),
    "OperatorRidgeClassifier": Entry(
        kinds=(OperatorRidgeClassifier(),),
        dask={"simplex": (OperatorRidgeClassifier(n_components=10), "labels")},
        exact_on_dask=True,
        small={"": OperatorRidgeClassifier(n_components=8, **_SEED)},
    ),
    "OperatorClassifier": Entry(
        kinds=(OperatorClassifier(loss=Hinge(), n_components=8),),
        dask={
            "hinge": (OperatorClassifier(loss=Hinge(), n_components=6), "labels"),
            "exponential": (
                OperatorClassifier(loss=Exponential(), n_components=6, class_weight="balanced"),
                "two",
            ),
            "softmax": (OperatorClassifier(n_components=6), "labels"),
        },
    ),
    "OperatorRegressor": Entry(
        target="values",
        settings=(
            OperatorRegressor(
                loss=Huber(np.array([0.3])), features=_features(n_components=20, block_size=7)
            ),
        ),
        dask={
            "quantile": (OperatorRegressor(loss=Quantile(0.7), n_components=6), "outputs"),
            "Huber": (OperatorRegressor(loss=Huber(np.array([0.1])), n_components=6), "values"),
            "squared": (OperatorRegressor(n_components=6), "outputs"),
        },
    ),
    "OperatorKernelRidge": Entry(
        target="outputs",
        kinds=(OperatorKernelRidge(),),
        settings=(
            OperatorKernelRidge(Decomposable(output_matrix="covariance"), alpha=[0.01, 0.1, 1.0]),
        ),
        dask="use OperatorRidge for a Dask array",
        small={"": OperatorKernelRidge()},
    ),
    "FourierBoostingClassifier": Entry(
        settings=(FourierBoostingClassifier(),),
        dask={
            "two classes": (FourierBoostingClassifier(**_BOOSTING_ON_DASK), "two"),
            "three classes": (FourierBoostingClassifier(**_BOOSTING_ON_DASK), "labels"),
        },
        exact_on_dask=True,
        small={"": FourierBoostingClassifier(**_SMALL_BOOSTING)},
        iterative={"": FourierBoostingClassifier(**_ITERATIVE_BOOSTING)},
    ),
    "FourierBoostingRegressor": Entry(
        target="values",
        kinds=(FourierBoostingRegressor(loss="huber", n_rounds=8),),
        settings=(FourierBoostingRegressor(),),
        dask={"huber": (FourierBoostingRegressor(loss="huber", **_BOOSTING_ON_DASK), "values")},
        exact_on_dask=True,
        small={"": FourierBoostingRegressor(**_SMALL_BOOSTING)},
        iterative={"": FourierBoostingRegressor(**_ITERATIVE_BOOSTING)},
    ),
    "GBRFF1Classifier": Entry(
        kinds=(GBRFF1Classifier(n_rounds=8, n_components=4),),
        settings=(
            GBRFF1Classifier(n_rounds=8, n_components=1, landmark=0, calibrated=False),
            GBRFF1Classifier(n_rounds=8, n_components=4, landmark="random", calibrated=False),
        ),
        dask={
            "learned landmarks": (
                GBRFF1Classifier(
                    n_rounds=2, n_components=4, class_weight="balanced", calibrated=False
                ),
                "two",
            ),
            "random landmarks": (
                GBRFF1Classifier(n_rounds=2, n_components=3, landmark="random"),
                "two",
            ),
        },
        small={"": GBRFF1Classifier(n_rounds=3, n_components=4, **_SEED)},
        iterative={"": GBRFF1Classifier(n_rounds=10, **_SEED)},
    ),
    "GBRFF2Classifier": Entry(
        kinds=(GBRFF2Classifier(n_rounds=8),),
        dask={
            "three classes": (
                GBRFF2Classifier(n_rounds=2, rephase=True, calibrated=False),
                "labels",
            ),
            "two classes": (GBRFF2Classifier(n_rounds=2), "two"),
        },
        small={"": GBRFF2Classifier(n_rounds=3, **_SEED)},
        iterative={"": GBRFF2Classifier(n_rounds=10, **_SEED)},
    ),
    "CertifiedClassifier": Entry(
        kinds=(CertifiedClassifier(_features()),),
        settings=(CertifiedClassifier(_features(PacBayes()), class_weight="balanced"),),
        dask={"certified": (CertifiedClassifier(_features(n_components=4), C=0.1), "labels")},
        exact_on_dask=True,
        small={"": CertifiedClassifier(_features(), **_SEED)},
    ),
    "SpectralFeatures": Entry(
        kinds=(
            _features(),
            _features(PacBayes(), n_components=4, n_candidates=20),
            _features(MarginGame(n_rounds=4)),
            _features(JointDescent(n_epochs=2)),
        ),
        settings=(
            _features(
                prior=Matern(nu=2.5, length_scale="median"), sampling="orthogonal", block_size=7
            ),
            _features(prior=Laplace(), sampling="qmc"),
            _features(PacBayes(beta="bound")),
            _features(OptimalAlignment(), n_components=4, n_candidates=20, selection="top"),
            _features(MarginGame(n_rounds=None, peaks=AscentPeaks(top=3, polish=2))),
            _features(
                MarginGame(n_rounds=2, peaks=LangevinPeaks(n_walkers=10, n_steps=3)), block_size=7
            ),
            _features(MarginGame(n_rounds=3, peaks=CandidatePeaks(), loss="squared")),
            _features(MarginGame(n_rounds=3, peaks=CandidatePeaks()), target="labels"),
            _features(PacBayesLangevin(n_steps=4)),
            _features(PacBayesGaussian(n_iterations=5)),
            _features(JointDescent(n_epochs=2, loss="squared")),
        ),
        dask={
            "plain": (_features(n_components=6), "labels"),
            "PacBayes": (_LEARNED, "labels"),
            "OptimalAlignment": (
                _features(OptimalAlignment(), n_components=6, n_candidates=20),
                "values",
            ),
            "MarginGame": (
                _features(
                    MarginGame(n_rounds=2, peaks=AscentPeaks(search_rows=150)), n_components=6
                ),
                "two",
            ),
            "JointDescent": (_features(JointDescent(n_epochs=2), n_components=6), "labels"),
            "PacBayesLangevin": (_features(PacBayesLangevin(n_steps=3), n_components=6), "labels"),
            "PacBayesGaussian": (
                _features(PacBayesGaussian(n_iterations=3), n_components=6),
                "labels",
            ),
        },
        exact_on_dask=True,
        small={
            "": _features(**_SEED),
            "PacBayes": _features(PacBayes(), **_SEED),
            "OptimalAlignment": _features(OptimalAlignment(), **_SEED),
            "MarginGame": _features(MarginGame(n_rounds=2), **_SEED),
            "JointDescent": _features(JointDescent(n_epochs=2), **_SEED),
        },
        iterative={
            "MarginGame": _features(MarginGame(n_rounds=5), n_components=10, **_SEED),
            "JointDescent": _features(JointDescent(n_epochs=10), n_components=20, **_SEED),
        },
    ),
    "LandmarkFeatures": Entry(
        kinds=(LandmarkFeatures(n_landmarks=5, n_components=8),),
        settings=(
            LandmarkFeatures(
                n_landmarks=0.1, n_components=8, landmarks="random", share_frequencies=True
            ),
            LandmarkFeatures(n_landmarks=5, similarity="exact"),
            LandmarkFeatures(
                learner=OptimalAlignment(), n_landmarks=5, n_components=8, landmarks="random"
            ),
        ),
        dask={
            "learned": (LandmarkFeatures(n_landmarks=6, n_components=8), "labels"),
            "exact": (
                LandmarkFeatures(n_landmarks=6, landmarks="random", similarity="exact"),
                "labels",
            ),
        },
        exact_on_dask=True,
        small={
            "": LandmarkFeatures(n_landmarks=5, n_components=8, **_SEED),
            "OptimalAlignment": LandmarkFeatures(
                learner=OptimalAlignment(), n_landmarks=5, n_components=8, **_SEED
            ),
        },
        iterative={"": LandmarkFeatures(learner=OptimalAlignment(), n_landmarks=20, **_SEED)},
    ),
    "SmoothScaler": Entry(dask=_IN_MEMORY, small={"": SmoothScaler()}),
    "TableInputs": Entry(dask=_IN_MEMORY, small={"": TableInputs()}),
    # Made from files by ``fit_table``; it has no ``fit`` on rows.
    "TableModel": Entry(target=""),
}


def named(field):
    """Return the estimators of a field of all entries by name, e.g. "LandmarkFeatures, exact"."""
    return {
        ", ".join(filter(None, (name, words))): case
        for name, entry in REGISTRY.items()
        for words, case in getattr(entry, field).items()
    }


# Every public estimator with its defaults, in the order of ``bochner.__all__``.
DEFAULTS = [
    getattr(bochner, name)()
    for name in bochner.__all__
    if name in REGISTRY and REGISTRY[name].target
]
KINDS = [estimator for entry in REGISTRY.values() for estimator in entry.kinds]
OTHER_SETTINGS = [estimator for entry in REGISTRY.values() for estimator in entry.settings]
ESTIMATORS = [*KINDS, *OTHER_SETTINGS]
FITTED_ON_DASK = {
    name: entry.dask
    for name, entry in REGISTRY.items()
    if isinstance(entry.dask, dict) and entry.dask
}
REFUSED_ON_DASK = {
    name: entry.dask for name, entry in REGISTRY.items() if isinstance(entry.dask, str)
}
SMALL, ITERATIVE = named("small"), named("iterative")
