"""Pipelines with the usual steps of scikit-learn, tables, and models of the front door as ONNX
graphs.
"""

import functools

import numpy as np
import pytest
from export_samples import TOLERANCES, assert_close, assert_says_the_same, both_dtypes, run
from selection import long_except
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from tabular_samples import QUICK, regression, table

from bochner import (
    Anova,
    CertifiedClassifier,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    GBRFF2Classifier,
    KernelMachine,
    LandmarkFeatures,
    OperatorRidgeClassifier,
    SmoothScaler,
    SpectralClassifier,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
    TableInputs,
)
from bochner.export import to_onnx
from bochner.tabular.imputation import filled_cells

pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")
pd = pytest.importorskip("pandas")

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
HOLES = X.copy()
HOLES[::5, 1] = np.nan
MIXED = np.column_stack([X[:, :2], np.arange(len(X)) % 4])
DIABETES = load_diabetes(return_X_y=True)


def features():
    return SpectralFeatures(n_components=20, random_state=0)


ONE_HOT = make_column_transformer(
    (StandardScaler(), [0, 1]), (OneHotEncoder(handle_unknown="ignore"), [2])
)
PIPELINES = {
    "scaler, features, logistic": (
        make_pipeline(StandardScaler(), features(), LogisticRegression()),
        X,
        NAMES,
    ),
    "min-max, features, linear SVC": (
        make_pipeline(MinMaxScaler(), features(), LinearSVC()),
        X,
        NAMES,
    ),
    "imputer, scaler, boosting": (
        make_pipeline(
            SimpleImputer(), RobustScaler(), FourierBoostingClassifier(n_rounds=5, random_state=0)
        ),
        HOLES,
        NAMES,
    ),
    "one-hot columns, ridge": (make_pipeline(ONE_HOT, SpectralRidge(features())), MIXED, X[:, 2]),
    "scaler, PCA, kernel machine": (
        make_pipeline(StandardScaler(), PCA(2), KernelMachine()),
        X,
        X[:, 2],
    ),
    "polynomials, landmarks, ridge": (
        make_pipeline(
            PolynomialFeatures(2), LandmarkFeatures(n_landmarks=5, random_state=0), Ridge()
        ),
        *DIABETES,
    ),
    "smooth scaler, union, ridge classifier": (
        make_pipeline(SmoothScaler(), make_union(features(), PCA(2)), RidgeClassifier()),
        X,
        NAMES,
    ),
    "table, certified": (
        make_pipeline(TableInputs(), CertifiedClassifier(features())),
        HOLES,
        Y == 1,
    ),
    "normalizer, operator classifier": (
        make_pipeline(Normalizer(), OperatorRidgeClassifier(random_state=0)),
        X,
        Y,
    ),
    "scaler, front door": (
        make_pipeline(StandardScaler(), SpectralClassifier(evidence=QUICK, random_state=0)),
        X,
        Y,
    ),
    "search over a pipeline's end": (
        make_pipeline(
            StandardScaler(), features(), GridSearchCV(LogisticRegression(), {"C": [1, 30]}, cv=3)
        ),
        X,
        NAMES,
    ),
    "imputer of an empty column, gbrff2": (
        make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True),
            GBRFF2Classifier(n_rounds=5, random_state=0),
        ),
        np.column_stack([HOLES, np.full(len(X), np.nan)]),
        NAMES,
    ),
    "pipeline in a pipeline": (
        make_pipeline(StandardScaler(), make_pipeline(features(), SGDClassifier(random_state=0))),
        X,
        NAMES,
    ),
    "a transformer at the end": (make_pipeline(StandardScaler(), features(), PCA(3)), X, None),
}
FLOAT32_ONLY = (LinearSVC, RidgeClassifier, SimpleImputer, PolynomialFeatures)
IN_FLOAT64 = [
    name
    for name, (model, *_) in PIPELINES.items()
    if not any(isinstance(one, FLOAT32_ONLY) for one in model)  # skl2onnx converts in float32
]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, np.float32) for name in PIPELINES] + [(name, np.float64) for name in IN_FLOAT64],
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_pipelines(name, dtype):
    pipeline, rows, y = PIPELINES[name]
    pipeline.fit(rows, y)
    assert_says_the_same(to_onnx(pipeline, X=rows, dtype=dtype), pipeline, rows, dtype)


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (make_pipeline(features(), LinearSVC()), "LinearSVC"),
        (make_pipeline(features(), RidgeClassifier()), "RidgeClassifier"),
        (make_pipeline(features(), RidgeClassifierCV()), "RidgeClassifierCV"),
        (make_pipeline(make_union(SimpleImputer(), PCA(2)), features()), "SimpleImputer"),
        (SpectralRidge(make_pipeline(PolynomialFeatures(), features())), "PolynomialFeatures"),
    ],
    ids=lambda case: case if isinstance(case, str) else "in",
)
@pytest.mark.parametrize("given", [X, None], ids=["rows", "no rows"])
def test_steps_that_skl2onnx_converts_in_float32_only_are_rejected_in_float64(model, step, given):
    model.fit(X, Y)
    with pytest.raises(TypeError, match=f"converts {step} in float32 only: write dtype=np.float32"):
        to_onnx(model, X=given, dtype=np.float64)
    to_onnx(model, X=X)


def test_imputers_that_drop_a_column_are_rejected():
    rows = np.column_stack([HOLES, np.full(len(X), np.nan)])
    model = make_pipeline(SimpleImputer(), features()).fit(rows)
    with pytest.raises(TypeError, match=r"write SimpleImputer\(keep_empty_features=True\)"):
        to_onnx(model)


def test_raw_scores_inside_of_a_calibration_are_converted_in_float64():
    model = make_pipeline(features(), CalibratedClassifierCV(LinearSVC(), cv=3)).fit(X, NAMES)
    assert_says_the_same(to_onnx(model, X=X, dtype=np.float64), model, X, np.float64)


@pytest.mark.parametrize(
    ("first", "right"),
    [
        # skl2onnx takes ten seconds to convert quantiles.
        pytest.param(
            QuantileTransformer(n_quantiles=50), np.float64, marks=pytest.mark.long, id="quantiles"
        ),
        pytest.param(PowerTransformer(), np.float32, id="powers"),
    ],
)
def test_steps_that_skl2onnx_gets_right_in_one_precision_only(first, right):
    rows = X[:, 2:]
    pipeline = make_pipeline(first, features(), LogisticRegression()).fit(rows, NAMES)
    assert_says_the_same(to_onnx(pipeline, X=rows, dtype=right), pipeline, rows, right)
    wrong = np.float32 if right == np.float64 else np.float64
    with pytest.raises((TypeError, ValueError), match=type(first).__name__):
        to_onnx(pipeline, X=rows, dtype=wrong)


@both_dtypes
@pytest.mark.parametrize(
    "last",
    [PoissonRegressor(), GammaRegressor(), TweedieRegressor(power=1.5), PLSRegression(), Ridge()],
    ids=str,
)
def test_regressors_whose_coefficients_are_not_the_whole_story(last, dtype):
    """They have ``coef_``, and other predictions than coef_ · x + intercept_."""
    rows, y = DIABETES
    pipeline = make_pipeline(features(), last).fit(rows, y)
    assert_says_the_same(to_onnx(pipeline, X=rows, dtype=dtype), pipeline, rows, dtype)


@pytest.mark.parametrize(
    "last", [SVC(kernel="linear"), SVC(), LinearSVC(), SGDClassifier(random_state=0)], ids=str
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_decision_function(last, n_classes):
    kept = n_classes > Y
    pipeline = make_pipeline(StandardScaler(), features(), last).fit(X[kept], NAMES[kept])
    exported = to_onnx(pipeline, X=X[kept])
    assert run(exported, X[kept], np.float32)["scores"].shape[1] == (1 if n_classes == 2 else 3)
    assert_says_the_same(exported, pipeline, X[kept], np.float32)
    if isinstance(last, SVC):
        with pytest.raises(
            ValueError, match=r"StandardScaler, SpectralFeatures, SVC.* 1e-10 is accepted"
        ):
            to_onnx(pipeline, X=X[kept], dtype=np.float64)
        to_onnx(pipeline, X=X[kept], dtype=np.float64, tolerance=1e-5)


# --- tables ---------------------------------------------------------------------------------------


def fed(frame, dtype):
    """The columns of a frame as a graph takes them, told by hand."""
    return {
        "size": frame[["size"]].to_numpy(dtype),
        "kind": frame["kind"].fillna("missing").to_numpy(object)[:, None],
        "flag": frame[["flag"]].to_numpy(dtype),
        "day": ((frame["day"] - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(dtype)[:, None],
    }


@both_dtypes
def test_columns_by_name(dtype):
    frame, y = table()
    frame = frame[["size", "kind"]].fillna({"kind": "missing"})
    prepare = make_column_transformer(
        (make_pipeline(TableInputs(), StandardScaler()), ["size"]), (OneHotEncoder(), ["kind"])
    )
    pipeline = make_pipeline(prepare, FourierBoostingRegressor(n_rounds=5, random_state=0)).fit(
        frame, y
    )
    exported = to_onnx(pipeline, X=frame, dtype=dtype)
    inputs = {"size": frame[["size"]].to_numpy(dtype), "kind": frame[["kind"]].to_numpy(object)}
    rounded = frame.assign(size=inputs["size"][:, 0].astype(float))
    assert_close(run(exported, inputs, dtype)["prediction"], pipeline.predict(rounded), dtype)
    with pytest.raises(ValueError, match="X=frame"):
        to_onnx(pipeline, dtype=dtype)


@both_dtypes
@pytest.mark.filterwarnings("ignore:Levels are unknown")
def test_tables_as_they_are(dtype):
    """Numbers, texts, truth values and dates, missing values and levels that were not seen."""
    frame, y = table()
    inputs = TableInputs(max_levels=3).fit(frame)
    regressor = SpectralRegressor(evidence=QUICK, random_state=0).fit(frame, y)
    frame.loc[3:5, "kind"] = "unseen"
    rounded = frame.assign(size=frame["size"].astype(dtype).astype(float))
    said = run(to_onnx(inputs, X=frame, dtype=dtype), fed(frame, dtype), dtype)["features"]
    assert_close(said, inputs.transform(rounded), dtype)
    said = run(to_onnx(regressor, X=frame, dtype=dtype), fed(frame, dtype), dtype)["prediction"]
    with filled_cells():  # graphs do not average over training rows
        assert_close(said, regressor.predict(rounded), dtype)


def test_frames_of_numbers_are_one_input():
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(PCA(2), features()).fit(frame)
    exported = to_onnx(pipeline, X=frame, dtype=np.float64)
    assert_close(run(exported, X, np.float64)["features"], pipeline.transform(frame), np.float64)


def test_tables_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(table()[0])
    to_onnx(TableInputs().fit(frame), X=frame)


def test_many_levels_share_a_column():
    frame = pd.DataFrame({"size": np.arange(40.0), "kind": list("aaaaabbbbbcdefghijkl" * 2)})
    inputs = TableInputs(max_levels=3).fit(frame)
    assert inputs.others_.tolist() == [True]
    given = {"size": frame[["size"]].to_numpy(), "kind": frame[["kind"]].to_numpy(object)}
    assert_close(
        run(to_onnx(inputs, X=frame, dtype=np.float64), given, np.float64)["features"],
        inputs.transform(frame),
        np.float64,
    )


def test_categories_that_a_graph_cannot_read_are_refused_by_name():
    frame, _ = table()
    with pytest.raises(TypeError, match="column 'kind' as a category"):
        to_onnx(TableInputs().fit(frame))
    with pytest.raises(TypeError, match="'x2' as a category"):
        to_onnx(TableInputs(categorical_features=[2]).fit(MIXED), X=MIXED)
    frame["kind"] = frame["kind"].map({"a": "1", "b": "2.5", "c": "10"})
    with pytest.raises(TypeError, match="texts of kind as numbers"):
        to_onnx(TableInputs().fit(frame), X=frame)
    with pytest.raises(TypeError, match="kind hold texts"):
        to_onnx(SpectralFeatures().fit(frame[["size"]].fillna(0.0)), X=frame[["size", "kind"]])


# --- the front door -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", long_except([np.float32, np.float64], np.float64))
@pytest.mark.parametrize("bend", [None, np.exp, np.sinh], ids=["identity", "log", "asinh"])
def test_targets_on_a_scale_of_their_own(bend, dtype):
    rows, y = regression()
    y = y if bend is None else bend(3 * rows[:, 0])
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(rows, y)
    assert model.target_scale_.kind == {None: "identity", np.exp: "log", np.sinh: "asinh"}[bend]
    assert_says_the_same(to_onnx(model, X=rows, dtype=dtype), model, rows, dtype)


def test_sizes_of_residuals_are_part_of_means_on_a_logarithmic_scale():
    rows, y = regression()
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(rows, np.exp(2 * y))
    assert model.spread_.log_size is not None
    assert model.target_scale_.kind == "log"
    assert_says_the_same(to_onnx(model, X=rows, dtype=np.float64), model, rows, np.float64)


def test_several_outputs_and_missing_numbers():
    rows, y = regression()
    rows[::7, 1] = np.nan
    model = SpectralRegressor(evidence=QUICK, random_state=0).fit(rows, np.column_stack([y, y**2]))
    assert_says_the_same(to_onnx(model, X=rows, dtype=np.float64), model, rows, np.float64)


@functools.cache
def fit_beyond_exact_rows(cls):
    rows, y = regression(260)
    target = np.digitize(y, [-0.5, 0.5]) if cls is SpectralClassifier else y
    return cls(evidence=QUICK, max_leaf_rows=200, random_state=0).fit(rows, target)


@pytest.mark.parametrize("dtype", long_except([np.float32, np.float64], np.float64))
@pytest.mark.parametrize(
    "cls", long_except([SpectralClassifier, SpectralRegressor], SpectralRegressor)
)
def test_waves_and_float32_members_of_many_rows(cls, dtype):
    """Members whose own sums are float32 agree as far as these are precise."""
    rows, _ = regression(260)
    model = fit_beyond_exact_rows(cls)
    assert {type(member).__name__ for member in model.blend_.members} == {
        "LeafExpansion",
        "WaveMember",
    }
    outputs = run(to_onnx(model, X=rows, dtype=dtype), rows, dtype)
    if cls is SpectralClassifier:
        found, expected = outputs["probabilities"], model.predict_proba(rows)
    else:
        found, expected = outputs["prediction"], model.predict(rows)[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    assert TOLERANCES[dtype] < 1e-3


def test_trees_are_refused_by_name():
    rows, _ = regression(300)
    steps = (np.floor(4 * rows[:, 0]) + np.floor(4 * rows[:, 1])) % 2
    model = SpectralClassifier(Anova(), QUICK, trees=True, random_state=0).fit(rows, steps)
    assert model.members_[-1].weight > 0.1
    with pytest.raises(TypeError, match="trees=False"):
        to_onnx(model)
