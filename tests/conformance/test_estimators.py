"""scikit-learn's contract, without exceptions."""

import pytest
from cases import DEFAULTS, ESTIMATORS
from sklearn.utils.estimator_checks import parametrize_with_checks

OTHERS = [estimator for estimator in ESTIMATORS if str(estimator) not in map(str, DEFAULTS)]


@parametrize_with_checks(DEFAULTS)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.long  # our own laws hold them to the same in the quick tests
@parametrize_with_checks(OTHERS)
def test_estimator_with_other_settings_keeps_scikit_learns_contract(estimator, check):
    check(estimator)
