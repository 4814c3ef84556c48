"""Selection of the cases that run in the quick tests."""

import pytest


def long_except(cases, *quick):
    """Return all cases as parameters; those that are not named in ``quick`` run in `make test-all`
    only.
    """
    missing = set(quick) - set(cases)
    assert not missing, f"{missing} are not among the cases"
    return [case if case in quick else pytest.param(case, marks=pytest.mark.long) for case in cases]
