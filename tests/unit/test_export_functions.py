"""Formulas of graphs against plain NumPy, far out as well as near."""

import numpy as np
import pytest
from cases import OPERATOR_KERNELS, PRIORS
from export_samples import assert_close, assert_says_the_same, both_dtypes, graph_of, run

from bochner import (
    Cauchy,
    CurlFree,
    FourierMeasure,
    Gaussian,
    KernelMachine,
    Matern,
    OperatorKernelRidge,
    OperatorRidge,
    RationalQuadratic,
    SmoothScaler,
    TableInputs,
)
from bochner.export import to_onnx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
POINTS = np.vstack([X[:10], RNG.normal(size=(15, 3))])  # some rows are points


@both_dtypes
@pytest.mark.parametrize("name", PRIORS)
def test_kernels_between_rows_and_points(name, dtype):
    prior = PRIORS[name](3)
    if getattr(prior, "nu", 0.5) not in (0.5, 1.5, 2.5):
        return
    X_, points, codes = X.copy(), POINTS.copy(), list(prior.categories)
    X_[:, codes], points[:, codes] = np.round(X_[:, codes]), np.round(points[:, codes])
    found = run(graph_of(lambda rows: prior.onnx(rows, points), 3, dtype), X_, dtype)["variable"]
    assert_close(found, prior.kernel(X_.astype(dtype).astype(float), points), dtype)


def test_kernels_keep_their_digits_far_from_the_origin():
    """Numbers of few binary digits, so that moving all of them changes none of their differences."""
    prior, shift = Matern(nu=0.5, length_scale=0.7), 2.0**26
    rows, points = np.round(64 * X) / 64, np.round(64 * POINTS) / 64
    graph = graph_of(lambda moved: prior.onnx(moved, points + shift), 3, np.float64)
    assert_close(
        run(graph, rows + shift, np.float64)["variable"], prior.kernel(rows, points), np.float64
    )


def test_the_largest_tensors_of_a_kernel_are_rows_by_points():
    """No node has rows x points x columns numbers, nor do constants grow with the square of
    anything.
    """
    onnx = pytest.importorskip("onnx")
    rows = RNG.normal(size=(30, 20))
    model = to_onnx(KernelMachine().fit(rows, RNG.normal(size=30)), X=rows, dtype=np.float64)
    shapes = onnx.shape_inference.infer_shapes(model).graph.value_info
    assert shapes
    assert max(len(value.type.tensor_type.shape.dim) for value in shapes) == 2


@pytest.mark.parametrize("name", OPERATOR_KERNELS)
@pytest.mark.parametrize(
    "prior",
    [
        Gaussian(0.3),
        Matern(nu=2.5),
        RationalQuadratic(alpha=0.7),
        *(
            pytest.param(prior, marks=pytest.mark.long)
            for prior in (Gaussian(length_scale=1.3), Matern(nu=1.5))
        ),
    ],
    ids=str,
)
def test_functions_of_operator_valued_kernels(name, prior):
    operator = OPERATOR_KERNELS[name](prior, 3)
    n_outputs = operator.n_outputs(3)
    model = OperatorKernelRidge(operator, alpha=0.1).fit(X, RNG.normal(size=(40, n_outputs)))
    assert_says_the_same(to_onnx(model, X=X, dtype=np.float64), model, X, np.float64)


@pytest.mark.parametrize("name", OPERATOR_KERNELS)
def test_functions_of_operator_valued_kernels_on_a_measure(name):
    measure = FourierMeasure(RNG.normal(size=(9, 3)), RNG.random(9))
    operator = OPERATOR_KERNELS[name](measure, 3)
    targets = RNG.normal(size=(40, operator.n_outputs(3)))
    for model in (OperatorKernelRidge(operator, alpha=0.1), OperatorRidge(operator, alpha=0.1)):
        model.fit(X, targets)
        assert_says_the_same(to_onnx(model, X=X, dtype=np.float64), model, X, np.float64)


def test_fields_without_second_derivatives_here_are_refused():
    model = OperatorKernelRidge(CurlFree(Cauchy())).fit(X, X)
    with pytest.raises(TypeError, match="Vector fields of Cauchy"):
        to_onnx(model, X=X)


@both_dtypes
def test_far_values_are_drawn_in(dtype):
    rows = np.column_stack([X, np.append(X[:-1, 0], 1e30)])
    model = SmoothScaler().fit(rows)
    rows[:4] = [[1e20], [-1e20], [0.0], [1e-20]]
    assert_says_the_same(to_onnx(model, X=rows, dtype=dtype), model, rows, dtype)


@both_dtypes
@pytest.mark.parametrize("ranks", [0.0, 0.5, 1.0])
def test_numbers_of_tables(ranks, dtype):
    """Missing and far values, constants, columns of two values, ranks of few and of many values."""
    rng = np.random.default_rng(1)
    rows = np.column_stack(
        [
            rng.normal(size=600),
            rng.integers(0, 5, 600),
            rng.integers(0, 2, 600),
            np.ones(600),
            rng.exponential(size=600),
        ]
    )
    rows[::7, 0], rows[3::11, 4] = np.nan, np.nan
    model = TableInputs(ranks=ranks).fit(rows)
    rows[:4, 4] = [1e9, -1e9, np.nan, 0.0]
    assert_says_the_same(to_onnx(model, X=rows, dtype=dtype), model, rows, dtype)


def test_infinite_numbers_count_as_missing():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": np.append(X[:, 0], np.nan), "b": np.append(X[:, 1], 0.5)})
    model = TableInputs().fit(frame)
    frame.iloc[:2] = [[np.inf, 1.0], [1.0, -np.inf]]
    graph = to_onnx(model, X=frame, dtype=np.float64)
    said = run(graph, frame.to_numpy(), np.float64)["features"]
    assert_close(said, model.transform(frame), np.float64)


def test_tables_where_nothing_varies():
    model = TableInputs().fit(np.ones((5, 2)))
    assert_says_the_same(to_onnx(model, X=X[:, :2], dtype=np.float64), model, X[:, :2], np.float64)
