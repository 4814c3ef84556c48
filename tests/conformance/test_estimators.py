"""scikit-learn's contract, without exceptions."""

from cases import DEFAULTS, ESTIMATORS
from sklearn.utils.estimator_checks import parametrize_with_checks

OTHERS = [estimator for estimator in ESTIMATORS if str(estimator) not in map(str, DEFAULTS)]


@parametrize_with_checks(DEFAULTS + OTHERS)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)
