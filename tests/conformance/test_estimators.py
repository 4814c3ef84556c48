"""scikit-learn's contract, without exceptions."""

from cases import ESTIMATORS
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks(ESTIMATORS)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)
