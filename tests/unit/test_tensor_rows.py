"""Rows in arrays of other libraries, perhaps on a device: the same numbers as NumPy's, and results where the rows are."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from selection import long_except
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from bochner import (
    Anova,
    Cauchy,
    Gaussian,
    GBRFF1Classifier,
    JointDescent,
    KernelMachine,
    LandmarkFeatures,
    Laplace,
    MarginGame,
    Matern,
    OperatorRidge,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
)
from bochner._compute import BatchPlan, Block, as_rows, gram_block, tensor_rows
from bochner.alignment import alignment_losses_and_gradient
from bochner.losses import Logistic, Multinomial, Poisson, Squared
from bochner.wave_gradients import BatchGradient, Standardization, WaveParameters

strict = pytest.importorskip("array_api_strict")
pytest.importorskip("array_api_compat")


@pytest.fixture(params=long_except(["strict", "strict, another device", "torch"], "strict, another device"))
def here(request, monkeypatch):
    """A function that puts a NumPy array into another library, which scikit-learn is told to dispatch on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    if request.param == "torch":
        put = pytest.importorskip("torch").asarray
    else:
        put = partial(strict.asarray, device=strict.Device("device1" if "another" in request.param else "CPU_DEVICE"))
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
    "OptimalAlignment": (SpectralFeatures(learner=OptimalAlignment(), n_candidates=300, random_state=0), iris),
    "MarginGame": (SpectralFeatures(learner=MarginGame(n_rounds=3), random_state=0), iris),
    "JointDescent": (SpectralFeatures(learner=JointDescent(n_epochs=3), n_components=10, random_state=0), iris),
    "landmarks": (LandmarkFeatures(n_landmarks=12, random_state=0), iris),
}
PREDICTORS = {
    "ridge": SpectralRidge(random_state=0),
    "operator ridge": OperatorRidge(random_state=0),
    **{
        f"machine, {prior}": KernelMachine(prior)
        for prior in (Gaussian(0.1), Laplace(0.1), Matern(nu=1.5), Matern(nu=2.5), Anova(), Cauchy(0.1))
    },
}


def close(found, wanted, dtype):
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MAKERS)
def test_features_of_another_library_are_those_of_numpy(name, dtype, here):
    estimator, data = MAKERS[name]
    X, y = data()
    if name == "MarginGame":
        X, y = X[:100], y[:100]
    X, weights = X.astype(dtype), np.linspace(0.5, 2, len(X))
    wanted = clone(estimator).fit(X, y, sample_weight=weights).transform(X)
    rows = here(X)
    found = clone(estimator).fit(rows, here(y), sample_weight=weights).transform(rows)
    assert type(found) is type(rows)
    assert (found.device, found.dtype) == (rows.device, rows.dtype)
    close(tensor_rows.on_host(found), wanted, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
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


@pytest.mark.parametrize(
    "loss", [Squared(), Logistic(), Multinomial(), Poisson()], ids=lambda loss: type(loss).__name__
)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_descent_on_another_device_is_numpys(loss, weighted, here):
    rng = np.random.default_rng(0)
    n_outputs = 3 if isinstance(loss, Multinomial) else 1
    X = rng.normal(size=(50, 4)) + 100.0
    targets = np.sign(rng.normal(size=(50, n_outputs)))
    if n_outputs == 3:
        targets = np.eye(3)[rng.integers(3, size=50)]
    signals = [targets.astype(np.float32)] + [rng.uniform(0, 2, size=(50, 1)).astype(np.float32)] * weighted
    parameters = WaveParameters(6, 4, n_outputs)
    parameters.vector[:] = rng.normal(size=len(parameters.vector))
    gradient = BatchGradient(parameters, loss, Standardization(np.full(4, 100.0), np.arange(1, 5) / 2), True)
    plan = BatchPlan.of(50, 4, 64, 50, seed=0)
    apart = np.array([3, 7])
    (found,), (wanted,) = (list(as_rows(rows).epochs(plan, apart, *signals)(0)) for rows in (here(X), X))
    for mine, numpys in zip(found(gradient), wanted(gradient), strict=True):
        np.testing.assert_allclose(mine, numpys, rtol=1e-4, atol=1e-4 * np.abs(numpys).max())
    assert float(found(gradient)[1]) == 48


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3, None])
def test_descent_runs_where_the_rows_are(n_classes, dtype, here, monkeypatch):
    """More rows than are compared with each other; of these only a sample for the head's start comes to NumPy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 5)).astype(dtype)
    scores = np.sin(X[:, 0]) + X[:, 1]
    y = scores if n_classes is None else np.digitize(scores, [-0.5, 0.5][: n_classes - 1])
    settings = SpectralFeatures(
        Gaussian(0.2), learner=JointDescent(n_epochs=2, batch_size=1024), n_components=8, random_state=0
    )
    weights = np.linspace(0.5, 2, len(X))
    wanted = clone(settings).fit(X, y, sample_weight=weights)
    rows, brought = here(X), []
    original = tensor_rows.on_host
    monkeypatch.setattr(tensor_rows, "on_host", lambda values: brought.append(tuple(values.shape)) or original(values))
    found = clone(settings).fit(rows, here(y), sample_weight=weights)
    np.testing.assert_allclose(found.measure_.frequencies, wanted.measure_.frequencies, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.report_.losses, wanted.report_.losses, rtol=1e-4)
    # 24 steps, of which a gradient comes back; rows come once, some of them.
    wide = [shape for shape in brought if len(shape) == 2 and shape[1] == 5]
    assert wide == [(10_000, 5)]
    assert sum(1 for shape in brought if len(shape) == 1 and shape[0] < 200) >= 24


def test_batches_of_a_block_without_a_twin_are_copied(here):
    X = np.random.default_rng(0).normal(size=(300, 2))
    plan = BatchPlan.of(300, 2, 100, 300, seed=1)
    batches = as_rows(here(X)).epochs(plan, np.empty(0, int), X[:, :1])(0)
    sums = [
        batch(lambda rows, places, signal: (rows[places].sum(axis=0), (rows[places, :1] * signal).sum()))
        for batch in batches
    ]
    assert len(sums) == plan.n_steps
    np.testing.assert_allclose(sum(one[0] for one in sums), X.sum(axis=0))
    np.testing.assert_allclose(sum(one[1] for one in sums), (X[:, 0] ** 2).sum())


def test_slopes_of_alignment_losses_are_those_of_numpy(here):
    X, y = iris()
    measure = Gaussian(0.5).sample(20, 4, np.random.default_rng(0))
    for found, wanted in zip(
        alignment_losses_and_gradient(measure, here(X), y), alignment_losses_and_gradient(measure, X, y)
    ):
        close(found, wanted, np.float64)


def test_products_of_features_are_those_of_numpy(here):
    X, _ = diabetes()
    block = Block(gram_block, Gaussian(0.5).sample(20, X.shape[1], np.random.default_rng(0)).block())
    signals = [X[:, 0], np.linspace(0.5, 2, len(X))]
    for n in range(3):
        for found, wanted in zip(
            as_rows(here(X)).sum(block, *signals[:n]), as_rows(X).sum(block, *signals[:n]), strict=True
        ):
            close(found.reshape(wanted.shape), wanted, np.float64)


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
    ridge = SpectralRidge(SpectralFeatures(Gaussian(1.0), n_components=10), alpha=1.0, random_state=0).fit(rows, y)
    ridge.predict(rows)
    features = SpectralFeatures(Gaussian(1.0), learner=PacBayes(), n_components=10, random_state=0).fit(rows, y > 0)
    features.transform(rows)
    assert sum(brought) < 5_000
    KernelMachine(Gaussian(1.0)).fit(X[:50], y[:50]).predict(rows)
    assert sum(brought) < 5_000


@pytest.mark.parametrize("alpha", [0.1, [0.01, 0.1, 1.0]])
@pytest.mark.parametrize("prior", [Gaussian(0.1), Anova(), Cauchy(0.1)])
def test_the_exact_machine_is_solved_where_its_rows_are(prior, alpha, here, monkeypatch):
    X, y = diabetes()
    weights = np.linspace(0.5, 2, len(X))
    machine = KernelMachine(prior, alpha=alpha, linear=0.3)
    wanted = clone(machine).fit(X, y, sample_weight=weights)
    with monkeypatch.context() as patched:
        if not isinstance(prior, Cauchy):  # which no device knows
            patched.setattr(KernelMachine, "_gram", lambda *given: pytest.fail("the matrix was made by NumPy"))
        found = clone(machine).fit(here(X), here(y), sample_weight=weights)
    close(found.expansion_.coefficients, wanted.expansion_.coefficients, np.float64)
    close(found.leave_one_out(), wanted.leave_one_out(), np.float64)
    assert found.alpha_ == wanted.alpha_
    if isinstance(alpha, float):
        np.testing.assert_allclose(
            found.predict(X, return_std=True)[1], wanted.predict(X, return_std=True)[1], rtol=1e-9
        )


def test_a_ridge_below_rounding_is_refused_on_a_device(here):
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 3, axis=0)
    with pytest.raises(ValueError, match="below the rounding of the kernel matrix"):
        KernelMachine(Gaussian(1e-3), alpha=1e-30, solver="cholesky").fit(here(X), X[:, 0])


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
    monkeypatch.setattr(tensor_rows, "_twins", {})
    X, y = diabetes()
    found = clone(PREDICTORS[name]).fit(here(X), y).predict(here(X))
    close(tensor_rows.on_host(found), clone(PREDICTORS[name]).fit(X, y).predict(X), np.float64)


def test_whole_numbers_are_read_as_float64_and_batches_hold_each_row_once(here):
    X = np.arange(60).reshape(30, 2)
    rows = as_rows(here(X))
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows.take(np.array([3, 7])), X[[3, 7]])
    seen = [(block[places], numbers) for block, places, numbers in rows.batches(7, np.random.default_rng(0))]
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


@pytest.mark.parametrize("estimator", [GBRFF1Classifier(), SpectralRegressor()], ids=lambda e: type(e).__name__)
def test_what_computes_on_numpy_alone_says_so(estimator, here):
    X, y = iris()
    with pytest.raises(TypeError, match=r"computes on NumPy arrays, but X is of type .*\. Write np.asarray\(X\)"):
        estimator.fit(here(X), y == 1)


def test_without_dispatch_tensors_are_numpy_arrays_as_in_scikit_learn():
    torch = pytest.importorskip("torch")
    X, _ = iris()
    found = SpectralFeatures(random_state=0).fit(torch.asarray(X)).transform(torch.asarray(X))
    assert isinstance(found, np.ndarray)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with config_context(array_api_dispatch=True), pytest.raises(ImportError, match=r"pip install 'bochner\[arrays\]'"):
        SpectralFeatures().fit(strict.asarray(iris()[0]))


@pytest.mark.long
def test_nothing_of_it_is_imported_by_the_library():
    code = "import sys, bochner; from bochner import SpectralRidge; import numpy as np; SpectralRidge().fit(np.eye(9), np.arange(9.0))"
    code += "; print(sorted({'torch', 'array_api_compat', 'array_api_strict'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
