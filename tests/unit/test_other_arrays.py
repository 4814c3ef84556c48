"""Arrays of other libraries in memory become arrays of NumPy, with or without array API dispatch."""

import numpy as np
import pytest
from sklearn import config_context

from bochner import SpectralRegressor, SpectralRidge

X = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize("dispatch", [False, True])
@pytest.mark.parametrize("model", [SpectralRidge, SpectralRegressor], ids=lambda m: m.__name__)
def test_predictions_for_arrays_of_other_libraries_are_those_for_numpy(
    model, dispatch, monkeypatch
):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    expected = model(random_state=0).fit(X, X[:, 0]).predict(X)
    with config_context(array_api_dispatch=dispatch):
        found = model(random_state=0).fit(xp.asarray(X), xp.asarray(X[:, 0])).predict(xp.asarray(X))
    assert type(found) is np.ndarray
    assert np.array_equal(found, expected)
