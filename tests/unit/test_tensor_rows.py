"""Rows in arrays of other libraries, perhaps on a device: the same numbers as NumPy's, and results
where the rows are.
"""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from registry import DEFAULTS
from selection import long_except
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from bochner import (
    Gaussian,
    JointDescent,
    LandmarkFeatures,
    MarginGame,
    OperatorRidge,
    OptimalAlignment,
    PacBayes,
    PacBayesLangevin,
    SpectralFeatures,
    SpectralRidge,
)
from bochner.data import Block, as_rows, tensor_rows
from bochner.learners.alignment import alignment_losses_and_gradient

strict = pytest.importorskip("array_api_strict")
pytest.importorskip("array_api_compat")


@pytest.fixture(
    params=long_except(["strict", "strict, another device", "torch"], "strict, another device")
)
def here(request, monkeypatch):
    """A function that puts a NumPy array into another library, which scikit-learn is told to
    dispatch on.
    """
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    if request.param == "torch":
        put = pytest.importorskip("torch").asarray
    else:
        put = partial(
            strict.asarray,
            device=strict.Device("device1" if "another" in request.param else "CPU_DEVICE"),
        )
    with config_context(array_api_dispatch=True):
        yield lambda values: put(np.array(values))


def iris():
    X, y = load_iris(return_X_y=True)
    return X, y


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return 20 * X, y


MAKERS = {
    "draws": (SpectralFeatures(random_state=0), diabetes),
    "PacBayes": (SpectralFeatures(learner=PacBayes(), random_state=0), iris),
    "PacBayes, values": (SpectralFeatures(learner=PacBayes(), random_state=0), diabetes),
    "OptimalAlignment": (
        SpectralFeatures(learner=OptimalAlignment(), n_candidates=300, random_state=0),
        iris,
    ),
    "landmarks": (LandmarkFeatures(n_landmarks=12, random_state=0), iris),
}
PREDICTORS = {
    "ridge": SpectralRidge(random_state=0),
    "operator ridge": OperatorRidge(random_state=0),
}


def close(found, wanted, dtype):
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MAKERS)
def test_features_of_another_library_are_those_of_numpy(name, dtype, here):
    estimator, data = MAKERS[name]
    X, y = data()
    X, weights = X.astype(dtype), np.linspace(0.5, 2, len(X))
    wanted = clone(estimator).fit(X, y, sample_weight=weights).transform(X)
    rows = here(X)
    found = clone(estimator).fit(rows, here(y), sample_weight=weights).transform(rows)
    assert type(found) is type(rows)
    assert (found.device, found.dtype) == (rows.device, rows.dtype)
    close(tensor_rows.on_host(found), wanted, dtype)


@pytest.mark.parametrize("dtype", [pytest.param(np.float64, marks=pytest.mark.long), np.float32])
@pytest.mark.parametrize("name", PREDICTORS)
def test_predictions_for_another_library_are_those_of_numpy(name, dtype, here):
    X, y = diabetes()
    X, y, weights = X.astype(dtype), 1000 + y, np.linspace(0.5, 2, len(X))
    wanted = clone(PREDICTORS[name]).fit(X, y, sample_weight=weights).predict(X)
    rows = here(X)
    model = clone(PREDICTORS[name]).fit(rows, here(y), sample_weight=weights)
    found = model.predict(rows)
    assert (type(found), found.device, found.dtype) == (type(rows), rows.device, rows.dtype)
    close(tensor_rows.on_host(found), wanted, dtype)
    # A model that was fitted there is not tied to the place.
    close(model.predict(X), wanted, dtype)


def test_slopes_of_alignment_losses_are_those_of_numpy(here):
    X, y = iris()
    measure = Gaussian(0.5).sample(20, 4, np.random.default_rng(0))
    for found, wanted in zip(
        alignment_losses_and_gradient(measure, here(X), y),
        alignment_losses_and_gradient(measure, X, y),
    ):
        close(found, wanted, np.float64)


def test_the_work_is_done_where_the_rows_are(here, monkeypatch):
    """What comes to NumPy are sums and a sample for the bandwidth, never the rows."""
    X = np.random.default_rng(0).normal(size=(20_000, 5))
    y = X[:, 0]
    rows, brought = here(X), []
    original = tensor_rows.on_host

    def counted(values):
        brought.append(int(np.prod(values.shape)))
        return original(values)

    monkeypatch.setattr(tensor_rows, "on_host", counted)
    ridge = SpectralRidge(
        SpectralFeatures(Gaussian(1.0), n_components=10), alpha=1.0, random_state=0
    ).fit(rows, y)
    ridge.predict(rows)
    features = SpectralFeatures(
        Gaussian(1.0), learner=PacBayes(), n_components=10, random_state=0
    ).fit(rows, y > 0)
    features.transform(rows)
    assert sum(brought) < 5_000


def test_a_block_without_a_twin_is_given_copies_of_the_rows(here):
    X = np.random.default_rng(0).normal(size=(40_000, 2))
    rows = as_rows(here(X))
    np.testing.assert_allclose(rows.sum(lambda block: (block**2).sum(axis=0)), (X**2).sum(axis=0))

    def doubled(block, signal, out):
        np.multiply(block, signal[:, None], out=out)

    found = rows.map(Block(doubled), 2, signals=[X[:, 0]])
    np.testing.assert_allclose(tensor_rows.on_host(found), X * X[:, :1])


@pytest.mark.parametrize("name", PREDICTORS)
def test_models_without_a_single_twin_are_right(name, here, monkeypatch):
    monkeypatch.setattr(tensor_rows, "_versions", {})
    X, y = diabetes()
    found = clone(PREDICTORS[name]).fit(here(X), y).predict(here(X))
    close(tensor_rows.on_host(found), clone(PREDICTORS[name]).fit(X, y).predict(X), np.float64)


def test_whole_numbers_are_read_as_float64_and_batches_hold_each_row_once(here):
    X = np.arange(60).reshape(30, 2)
    rows = as_rows(here(X))
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows.take(np.array([3, 7])), X[[3, 7]])
    seen = [
        (block[places], numbers)
        for block, places, numbers in rows.batches(7, np.random.default_rng(0))
    ]
    for values, numbers in seen:
        np.testing.assert_array_equal(values, X[numbers])
    assert sorted(np.concatenate([numbers for _, numbers in seen])) == list(range(30))


def test_bad_rows_of_another_library_are_refused_as_numpys_are(here):
    X, _ = iris()
    spoiled = X.copy()
    spoiled[7, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN: first in column 2, in row 7"):
        SpectralFeatures().fit(here(spoiled))
    with pytest.raises(ValueError, match="two-dimensional"):
        SpectralFeatures().fit(here(X[:, 0]))
    with pytest.raises(ValueError, match="needs real numbers"):
        SpectralFeatures().fit(here(X + 0j))
    features = SpectralFeatures(random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but SpectralFeatures is expecting 4"):
        features.transform(here(X[:, :3]))
    with pytest.raises(ValueError, match="on their device"):
        features.transform(here(X), out=np.empty((150, 200)))


REFUSED = (
    r"^{} needs X as a NumPy array, but X is of type .*: write X\.cpu\(\)\.numpy\(\) for PyTorch"
)
ACCEPTING = (SpectralFeatures, LandmarkFeatures, SpectralRidge, OperatorRidge)
OTHERS = {type(one).__name__: one for one in DEFAULTS if not isinstance(one, ACCEPTING)}
OTHER_LEARNERS = [JointDescent(), MarginGame(), PacBayesLangevin()]


@pytest.fixture
def never_copied(monkeypatch):
    """Fail if numbers of a device are copied to NumPy."""
    monkeypatch.setattr(tensor_rows, "on_host", lambda values: pytest.fail("rows were copied"))


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_estimator_refuses_such_rows_by_name(name, here, never_copied):
    X, y = iris()
    with pytest.raises(TypeError, match=REFUSED.format(name)):
        clone(OTHERS[name]).fit(here(X), y == 1)


@pytest.mark.parametrize("name", long_except(OTHERS, "KernelMachine", "SmoothScaler"))
def test_every_other_fitted_estimator_refuses_such_rows_by_name(name, here, never_copied):
    X, y = iris()
    fitted = clone(OTHERS[name]).fit(X, y == 1)
    answer = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    with pytest.raises(TypeError, match=REFUSED.format(name)):
        answer(here(X))


@pytest.mark.parametrize("learner", OTHER_LEARNERS, ids=lambda learner: type(learner).__name__)
def test_learners_that_do_more_than_sums_refuse_such_rows_by_name(learner, here, never_copied):
    X, y = iris()
    features, measure = SpectralFeatures(learner=learner), Gaussian(1.0).sample(3, 4, 0)
    actions = [
        lambda rows: features.fit(rows, y == 1),
        lambda rows: SpectralRidge(features).fit(rows, y.astype(float)),
        lambda rows: learner.learn(measure, rows, y == 1, 0),
    ]
    if isinstance(learner, MarginGame):
        actions.append(lambda rows: next(learner.rounds(measure, rows, y == 1, 0)))
    for action in actions:
        with pytest.raises(TypeError, match=REFUSED.format(type(learner).__name__)):
            action(here(X))


def test_features_learned_by_numpy_map_such_rows(here):
    X, y = iris()
    features = SpectralFeatures(learner=MarginGame(n_rounds=2), random_state=0).fit(
        X[:100], y[:100]
    )
    close(tensor_rows.on_host(features.transform(here(X))), features.transform(X), np.float64)


@pytest.mark.long
def test_without_dispatch_tensors_are_numpy_arrays_as_in_scikit_learn():
    torch = pytest.importorskip("torch")
    X, _ = iris()
    found = SpectralFeatures(random_state=0).fit(torch.asarray(X)).transform(torch.asarray(X))
    assert isinstance(found, np.ndarray)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with (
        config_context(array_api_dispatch=True),
        pytest.raises(ImportError, match=r"pip install 'bochner\[arrays\]'"),
    ):
        SpectralFeatures().fit(strict.asarray(iris()[0]))


@pytest.mark.long
def test_nothing_of_it_is_imported_by_the_library():
    code = "import sys, bochner; from bochner import SpectralRidge; import numpy as np; SpectralRidge().fit(np.eye(9), np.arange(9.0))"
    code += "; print(sorted({'torch', 'array_api_compat', 'array_api_strict'} & set(sys.modules)))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"
