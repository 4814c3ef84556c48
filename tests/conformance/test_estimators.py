"""scikit-learn's contract, without exceptions."""

import pytest
from cases import DEFAULTS, ESTIMATORS
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from bochner import Evidence, Laplace, SpectralClassifier

# These take long: in the quick tests siblings are checked, and our own laws check one of each kind.
SLOW = {
    *(
        "CertifiedClassifier",
        "FourierBoostingClassifier",
        "FourierBoostingRegressor",
        "GBRFF1Classifier",
    ),
    *(
        "GBRFF2Classifier",
        "OperatorClassifier",
        "OperatorRegressor",
        "SpectralClassifier",
        "SpectralRegressor",
    ),
}
# A tabular model whose prior is learned in one step.
TABULAR = SpectralClassifier(Laplace(), Evidence(n_rows=50, n_iterations=1))
SLOW_DEFAULTS = [estimator for estimator in DEFAULTS if type(estimator).__name__ in SLOW]
OTHERS = [estimator for estimator in ESTIMATORS if str(estimator) not in map(str, DEFAULTS)]


@parametrize_with_checks(
    [TABULAR, *(estimator for estimator in DEFAULTS if estimator not in SLOW_DEFAULTS)]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@pytest.mark.parametrize("estimator", [*SLOW_DEFAULTS, *OTHERS], ids=lambda one: str(one)[:90])
def test_other_estimators_and_settings_keep_scikit_learns_contract(estimator):
    check_estimator(estimator)
