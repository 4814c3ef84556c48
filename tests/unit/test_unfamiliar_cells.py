"""One warning a call names missing cells and unknown levels that training rows did not have."""

import warnings

import numpy as np
import pytest
from tabular_samples import QUICK

from bochner import Laplace, SpectralClassifier, SpectralRegressor, TableInputs
from bochner.data import tables
from bochner.data.unfamiliar import AVERAGED, FILLED, UnfamiliarCells, collect_unfamiliar

pd = pytest.importorskip("pandas")
SETTINGS = {"priors": Laplace(), "evidence": QUICK, "random_state": 0}


def table(n=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "holes": np.where(np.arange(n) % 9, rng.normal(size=n), np.nan),
            "town": rng.choice(["Jena", "Trier"], n),
            "kind": rng.choice(["a", "b", "c", None], n),
            "same": "always",
        }
    )
    return frame, frame["size"] + (frame["town"] == "Jena")


@pytest.fixture(scope="module")
def regressor():
    return SpectralRegressor(**SETTINGS).fit(*table())


@pytest.fixture(scope="module")
def classifier():
    frame, y = table()
    return SpectralClassifier(**SETTINGS).fit(frame, y > 0.5)


def said(answer, *arguments, **keywords):
    """The texts of all warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer(*arguments, **keywords)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


CALLS = [
    ("regressor", "predict", {}),
    ("regressor", "predict", {"return_std": True}),
    ("regressor", "predict_interval", {}),
    ("regressor", "effects", {"max_order": 1}),
    ("regressor", "input_gradient", {}),
    ("classifier", "predict", {}),
    ("classifier", "predict_proba", {}),
    ("classifier", "scores", {}),
    ("classifier", "effects", {"max_order": 1}),
    ("classifier", "input_gradient", {}),
]


@pytest.mark.parametrize(("model", "answer", "keywords"), CALLS)
def test_one_call_gives_one_warning_however_many_blocks_there_are(
    model, answer, keywords, request, monkeypatch
):
    monkeypatch.setattr(tables, "FRAME_BLOCK", 16)
    consequence = FILLED if answer in ("effects", "input_gradient") else AVERAGED
    answer = getattr(request.getfixturevalue(model), answer)
    frame, _ = table()
    assert said(answer, frame, **keywords) == []
    frame.loc[::4, "size"] = np.nan
    frame.loc[::2, "holes"] = np.nan  # training rows had holes there, too
    frame.loc[::10, "town"] = "Ulm"
    frame.loc[1::10, "town"] = None
    frame["kind"] = np.where(np.arange(80) % 2, None, [f"k{k}" for k in range(80)])
    frame["same"] = "never"  # a column that is not used
    assert said(answer, frame, **keywords) == [
        "Values are missing in columns that were complete in training: 'size' (25 % of the rows), "
        "'town' (10 % of the rows); "
        "levels are unknown from training: 'kind': 'k0', 'k10', 'k12', … (50 % of the rows), "
        "'town': 'Ulm' (10 % of the rows). " + consequence
    ]


def test_arrays_are_told_by_the_numbers_of_columns():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SpectralRegressor(**SETTINGS).fit(X, X[:, 0])
    X[:15, 1] = np.nan
    assert said(model.predict, X) == [
        "Values are missing in columns that were complete in training: 'x1' (25 % of the rows). "
        f"{AVERAGED}"
    ]


def test_a_transformer_alone_gives_no_warning():
    frame, _ = table()
    inputs = TableInputs().fit(frame)
    assert said(inputs.transform, frame.assign(town="Ulm", size=np.nan)) == []


def test_levels_beyond_those_with_a_column_are_known():
    frame = pd.DataFrame({"kind": [f"k{k}" for k in range(40)] * 2})
    inputs, cells = TableInputs(max_levels=5).fit(frame), UnfamiliarCells()
    inputs.transform_marked(frame, True, cells)
    assert cells.sentence() is None
    inputs.transform_marked(pd.DataFrame({"kind": ["new", "k39"]}), True, cells)
    assert "'kind': 'new' (1.22 % of the rows)" in cells.sentence()


def test_a_collector_takes_the_place_of_warnings(regressor):
    frame, _ = table()
    with collect_unfamiliar() as cells:
        assert said(regressor.predict, frame) == []
        assert said(regressor.predict_interval, frame.assign(town="Ulm")) == []
    assert "'town': 'Ulm' (50 % of the rows)" in cells.sentence()


def test_many_columns_are_not_all_named():
    cells = UnfamiliarCells()
    cells.add_rows(10)
    for k in range(14):
        cells.add_missing(f"c{k:02}", 1)
    assert "'c09' (10 % of the rows) and 4 more." in cells.sentence()
