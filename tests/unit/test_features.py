"""SpectralFeatures as its users meet it: pipelines, tables, sparse rows, single precision, and
mistakes.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import (
    Gaussian,
    Laplace,
    MarginGame,
    Matern,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
)
from bochner.data.targets import Labels, Values
from bochner.learners import Learned, Learner

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = X[:, 0] > 0


class FirstAtoms(Learner):
    """A learner for tests: puts all weight on the first ``n`` candidates and says so."""

    def __init__(self, n=3):
        self.n = n

    def _learn(self, measure, rows, target, rng, weights):
        weights = np.where(np.arange(len(measure)) < self.n, 1 / self.n, 0)
        return Learned(measure.reweighted(weights), {"seen": len(rows)})


def test_features_approach_the_priors_kernel_like_one_over_root_d():
    errors = []
    for n_components in (200, 20_000):
        fitted = SpectralFeatures(
            Gaussian(gamma=0.2), n_components=n_components, random_state=0
        ).fit(X)
        gram = fitted.transform(X) @ fitted.transform(X).T
        errors.append(np.sqrt(np.mean((gram - Gaussian(gamma=0.2).kernel(X)) ** 2)))
    assert 3 < errors[0] / errors[1] < 30  # expected 10


def test_same_seed_same_features_and_a_refit_starts_afresh():
    model = SpectralFeatures(random_state=3)
    first = model.fit_transform(X)
    np.testing.assert_array_equal(model.fit_transform(X), first)
    np.testing.assert_array_equal(clone(model).fit_transform(X), first)
    assert np.abs(SpectralFeatures(random_state=4).fit_transform(X) - first).max() > 0.01


@pytest.mark.parametrize(
    "random_state", [None, 0, np.random.RandomState(0), np.random.default_rng(0)]
)
def test_every_kind_of_random_state_is_taken(random_state):
    assert SpectralFeatures(n_components=3, random_state=random_state).fit_transform(X).shape == (
        80,
        6,
    )


def test_sparse_rows_give_the_features_of_the_dense_ones():
    dense = np.where(RNG.random(X.shape) < 0.5, 0, X)
    model = SpectralFeatures(random_state=0).fit(sp.csr_matrix(dense))
    np.testing.assert_allclose(
        model.transform(sp.csr_matrix(dense)), model.transform(dense), atol=1e-13
    )
    np.testing.assert_allclose(
        model.transform(sp.coo_array(dense)), model.transform(dense), atol=1e-13
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(dtype):
    model = SpectralFeatures(random_state=0).fit(X.astype(dtype))
    assert model.transform(X.astype(dtype)).dtype == dtype
    assert model.transform(sp.csr_matrix(X.astype(dtype))).dtype == dtype


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_come_out_named(library):
    frame_library = pytest.importorskip(library)
    frame = frame_library.DataFrame(dict(zip("abcd", X.T, strict=True)))
    model = (
        SpectralFeatures(n_components=2, random_state=0).set_output(transform=library).fit(frame)
    )
    out = model.transform(frame)
    assert list(out.columns) == [f"spectralfeatures{i}" for i in range(4)]
    assert list(model.get_feature_names_out()) == list(out.columns)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(
            frame.rename(columns={"a": "z"}) if library == "pandas" else frame.rename({"a": "z"})
        )


def test_a_refit_on_rows_without_names_forgets_the_names():
    pd, da = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    model = SpectralFeatures(n_components=2, random_state=0).fit(
        pd.DataFrame(X, columns=list("abcd"))
    )
    model.fit(da.from_array(X, chunks=(40, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.transform(X).shape == (80, 4)


def test_nested_parameters_can_be_searched():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(
        SpectralFeatures(Gaussian(), n_components=20, random_state=0),
        LogisticRegression(max_iter=500),
    )
    search = GridSearchCV(
        model,
        {"spectralfeatures__prior__gamma": [1e-6, 0.3], "spectralfeatures__n_components": [5, 20]},
        cv=3,
    )
    search.fit(X, y)
    assert search.best_params_["spectralfeatures__prior__gamma"] == 0.3
    assert search.best_score_ > 0.9


def test_set_params_reaches_the_prior_and_the_learner():
    model = SpectralFeatures(Matern(), FirstAtoms()).set_params(prior__nu=2.5, learner__n=7)
    assert model.prior.nu == 2.5
    assert model.learner.n == 7
    assert "Matern(nu=2.5)" in repr(model)


def test_a_learner_reweights_and_candidates_are_drawn_from_its_weights():
    whole = SpectralFeatures(learner=FirstAtoms(3), n_components=10, random_state=0).fit(X, Y)
    assert whole.measure_.weights[3:].sum() == 0
    drawn = SpectralFeatures(
        learner=FirstAtoms(3), n_components=6, n_candidates=50, random_state=0
    ).fit(X, Y)
    assert len(drawn.measure_) == 6
    assert len(np.unique(drawn.measure_.frequencies, axis=0)) <= 3


def test_what_a_learner_reports_is_kept():
    assert SpectralFeatures(learner=FirstAtoms(), n_components=5).fit(X, Y).report_ == {"seen": 80}


def test_transform_writes_into_an_array_or_a_memory_map(tmp_path):
    model = SpectralFeatures(n_components=5, random_state=0).fit(X)
    out = np.memmap(tmp_path / "features", mode="w+", shape=(80, 10), dtype=np.float64)
    assert model.transform(X, out=out) is out
    np.testing.assert_array_equal(out, model.transform(X))


def test_fit_needs_no_targets_without_a_learner_and_ignores_them_if_given():
    a = SpectralFeatures(random_state=0).fit(X)
    b = SpectralFeatures(random_state=0).fit(X, np.arange(80))
    np.testing.assert_array_equal(a.measure_.frequencies, b.measure_.frequencies)


FITTED = SpectralFeatures(n_components=3, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: SpectralFeatures().fit(np.where(X[0, 0] == X, np.nan, X)),
            ValueError,
            "contains (NaN|infinity)",
        ),
        (
            lambda: SpectralFeatures().fit(np.where(X[0, 0] == X, np.inf, X)),
            ValueError,
            "contains (NaN|infinity)",
        ),
        (lambda: FITTED.transform(np.full((2, 4), np.nan)), ValueError, "contains (NaN|infinity)"),
        (lambda: SpectralFeatures().fit(np.empty((0, 4))), ValueError, "0 sample"),
        (lambda: SpectralFeatures().fit(np.empty((4, 0))), ValueError, "0 feature"),
        (lambda: SpectralFeatures().fit(X[0]), ValueError, "Expected 2D array"),
        (lambda: FITTED.transform(X[:, :3]), ValueError, "expecting 4 features"),
        (lambda: SpectralFeatures().fit(X + 1j), ValueError, "Complex data not supported"),
        (
            lambda: SpectralFeatures().fit([["a", "b"], ["c", "d"]]),
            ValueError,
            "could not convert string",
        ),
        (
            lambda: SpectralFeatures(Gaussian(gamma=-1.0)).fit(X),
            ValueError,
            "gamma must be positive",
        ),
        (
            lambda: SpectralFeatures(n_components=0).fit(X),
            ValueError,
            "n_components must be at least 1",
        ),
        (
            lambda: SpectralFeatures(n_components=2.5).fit(X),
            TypeError,
            "n_components must be an integer",
        ),
        (
            lambda: SpectralFeatures(sampling="sobol").fit(X),
            ValueError,
            "sampling must be one of 'iid'",
        ),
        (
            lambda: SpectralFeatures(Laplace(), sampling="orthogonal").fit(X),
            ValueError,
            "cannot be sampled",
        ),
        (
            lambda: SpectralFeatures(prior="rbf").fit(X),
            TypeError,
            "prior must be an object of SpectralPrior",
        ),
        (
            lambda: SpectralFeatures(learner="svm").fit(X),
            TypeError,
            r"such as PacBayes\(\), got 'svm'",
        ),
        (
            lambda: SpectralFeatures(learner=PacBayes).fit(X, Y),
            TypeError,
            r"Write learner=PacBayes\(\)",
        ),
        (
            lambda: SpectralFeatures(learner=PacBayes(), target="numbers").fit(X, Y),
            ValueError,
            "target must be one of",
        ),
        (lambda: SpectralFeatures(n_candidates=10).fit(X), ValueError, "needs a learner"),
        (
            lambda: SpectralFeatures(block_size=0).fit(X),
            ValueError,
            "block_size must be at least 1",
        ),
        (lambda: SpectralFeatures().fit(np.ones((5, 4))), ValueError, "points that differ"),
        (lambda: SpectralFeatures().transform(X), NotFittedError, "not fitted"),
        (lambda: FITTED.transform(X, out=np.empty((3, 3))), ValueError, "out has shape"),
    ],
)
def test_each_mistake_has_its_own_message(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_parameters_of_the_default_prior_and_search_can_be_set():
    model = make_pipeline(SpectralFeatures(learner=MarginGame()))
    model.set_params(
        spectralfeatures__prior__gamma=2.0, spectralfeatures__learner__peaks__n_walkers=7
    )
    features = model[0]
    assert features.prior.gamma == 2.0
    assert features.learner.peaks.n_walkers == 7
    assert clone(features).get_params()["prior__gamma"] == 2.0
    assert SpectralFeatures().prior is None, "the default itself is never touched"
    assert SpectralFeatures().set_params(prior__gamma=3.0).prior is not features.prior
    search = GridSearchCV(
        make_pipeline(SpectralFeatures(n_components=5, random_state=0), LogisticRegression()),
        {"spectralfeatures__prior__gamma": [0.1, 1.0]},
        cv=2,
    )
    assert search.fit(X, Y).best_params_["spectralfeatures__prior__gamma"] in (0.1, 1.0)


@pytest.mark.parametrize(
    ("X_bad", "y_bad", "changes"),
    [
        (np.full((9, 2), np.nan), None, {}),
        (X[:9, :2], np.zeros(3), {}),
        (X[:9, :2], np.arange(9) % 2, {"n_components": 0}),
        (X[:9, :2], None, {}),
    ],
)
def test_a_failed_refit_leaves_the_old_model_or_none(X_bad, y_bad, changes):
    fitted = SpectralFeatures(Gaussian("scale"), PacBayes(), n_components=6, random_state=0).fit(
        X, Y
    )
    before = fitted.transform(X)
    for method in (fitted.fit, fitted.partial_fit):
        with pytest.raises(ValueError):
            fitted.set_params(**changes) and method(X_bad, y_bad)
        fitted.set_params(n_components=6)
        np.testing.assert_array_equal(fitted.transform(X), before)
        assert fitted.n_features_in_ == 4
    fresh = SpectralFeatures(learner=PacBayes(), **changes)
    with pytest.raises(ValueError):
        fresh.fit(X_bad, y_bad)
    with pytest.raises(NotFittedError):
        fresh.transform(X)


def test_whole_numbers_of_many_levels_are_values_and_the_user_is_told():
    """Diabetes with whole-number targets before a regressor: 214 classes would be learned, at a
    third of the R².
    """
    rows, disease = load_diabetes(return_X_y=True)
    learner = OptimalAlignment()
    settings = {"n_candidates": 400, "n_components": 30, "random_state": 0}

    def pipeline(**target):
        return make_pipeline(
            StandardScaler(), SpectralFeatures(learner=learner, **settings, **target), Ridge()
        )

    with pytest.warns(UserWarning, match="read as values, not as classes"):
        told = pipeline().fit(rows, disease.astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = pipeline(target="values").fit(rows, disease.astype(int))
        labels = pipeline(target="labels").fit(rows, disease.astype(int))
        given = SpectralFeatures(learner=learner, **settings).fit(
            values[:1].transform(rows), Values.of(disease)
        )
    np.testing.assert_array_equal(told[1].measure_.frequencies, values[1].measure_.frequencies)
    np.testing.assert_array_equal(given.measure_.frequencies, values[1].measure_.frequencies)
    assert len(labels[1].sums_.classes) == 214
    assert isinstance(
        SpectralFeatures(learner=learner).fit(X, Labels.of(Y)).measure_.weights, np.ndarray
    )


def test_batches_go_on_with_the_kind_of_target_that_the_first_one_had():
    """A small batch of 26 letters would be read as values, and whole values as labels."""
    rng = np.random.default_rng(0)
    letters = np.arange(320) % 26
    rows = rng.normal(size=(320, 3))
    settings = {"n_candidates": 50, "n_components": 5, "random_state": 0}
    streamed = SpectralFeatures(Gaussian(1.0), PacBayes(), **settings).partial_fit(
        rows[:270], letters[:270]
    )
    streamed.partial_fit(rows[270:], letters[270:])
    whole = SpectralFeatures(Gaussian(1.0), PacBayes(), target="labels", **settings).fit(
        rows, letters
    )
    np.testing.assert_allclose(streamed.learned_.weights, whole.learned_.weights, atol=1e-12)
    values = np.append(rng.normal(size=300), np.arange(20) % 3)
    streamed = SpectralFeatures(Gaussian(1.0), PacBayes(), **settings).partial_fit(
        rows[:300], values[:300]
    )
    streamed.partial_fit(rows[300:], values[300:])
    whole = SpectralFeatures(Gaussian(1.0), PacBayes(), **settings).fit(rows, values)
    np.testing.assert_allclose(streamed.learned_.weights, whole.learned_.weights, atol=1e-12)


@pytest.mark.long
def test_importing_bochner_brings_no_optional_library_and_no_compiler():
    # scikit-learn itself imports pandas, and its callbacks rich, where they are: what counts is
    # what bochner adds.
    code = "import sys, sklearn.base, importlib.util as u; u.find_spec('sklearn.callback') and __import__('sklearn.callback'); "
    code += "before = set(sys.modules); import bochner; print(*(set(sys.modules) - before)); "
    code += "import bochner.export; print(*sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    added, with_export = (set(line.split()) for line in said.splitlines())
    assert "bochner.export" in with_export
    assert not with_export & {"onnx", "skl2onnx", "onnxruntime"}
    libraries = {module.split(".")[0] for module in added}
    assert "bochner" in libraries
    assert not libraries & {
        "dask",
        "distributed",
        "matplotlib",
        "pandas",
        "polars",
        "rich",
        "onnx",
        "skl2onnx",
        "onnxruntime",
        "numba",
        "llvmlite",
        "torch",
    }
