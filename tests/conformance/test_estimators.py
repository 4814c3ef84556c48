"""scikit-learn's contract, without exceptions."""

import pytest
from registry import DEFAULTS, ESTIMATORS
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from bochner import (
    Evidence,
    Laplace,
    OperatorRidge,
    OperatorRidgeClassifier,
    SpectralClassifier,
    SpectralFeatures,
    SpectralLogistic,
    SpectralRidge,
)

# In the quick tests siblings of these are checked, and our own laws check one of each kind.
SLOW = {
    "CertifiedClassifier",
    "FourierBoostingClassifier",
    "FourierBoostingRegressor",
    "GBRFF1Classifier",
    "GBRFF2Classifier",
    "OperatorClassifier",
    "OperatorRegressor",
    "SpectralClassifier",
    "SpectralRegressor",
}
# Other checks of scikit-learn make the same claims: sparse arrays, and training on read-only rows.
REPEATED = {
    "check_estimator_sparse_matrix": [{}],
    "check_classifiers_train": [{}, {"readonly_memmap": True, "X_dtype": "float32"}],
    "check_regressors_train": [{}, {"readonly_memmap": True, "X_dtype": "float32"}],
}
# A tabular model whose prior is learned in one step.
TABULAR = SpectralClassifier(Laplace(), Evidence(n_rows=50, n_iterations=1))
# Models with fewer frequencies than by default.
SMALL = (
    SpectralRidge(SpectralFeatures(n_components=30)),
    SpectralLogistic(SpectralFeatures(n_components=30)),
    OperatorRidge(n_components=30),
    OperatorRidgeClassifier(n_components=30),
)
QUICK = [
    TABULAR,
    *SMALL,
    *(
        estimator
        for estimator in DEFAULTS
        if type(estimator).__name__ not in SLOW
        and not isinstance(estimator, tuple(map(type, SMALL)))
    ),
]
OTHERS = {str(estimator): estimator for estimator in [*DEFAULTS, *ESTIMATORS]}


def quick_checks(estimators):
    """Parametrize with scikit-learn's checks; those in REPEATED run in `make test-all` only."""
    mark = parametrize_with_checks(estimators)
    names, cases = mark.args
    marked = [
        pytest.param(*case, marks=pytest.mark.long if is_repeated(case[1]) else ())
        for case in cases
    ]
    return pytest.mark.parametrize(names, marked, **mark.kwargs)


def is_repeated(check):
    return check.keywords in REPEATED.get(check.func.__name__, [])


@quick_checks(QUICK)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in OTHERS if name not in map(str, QUICK)])
def test_other_estimators_and_settings_keep_scikit_learns_contract(name):
    check_estimator(OTHERS[name])
