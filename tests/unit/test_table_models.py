"""Models of tables: methods of the tabular model, directions, content of files, explanations."""

import io
import json
from dataclasses import dataclass

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("skops")

from table_samples import quick_models

import bochner
from bochner import cli
from bochner.tables import TableError
from bochner.tabular.base import SpectralModel


def table(n_rows=120, seed=0):
    """Numbers, dates and categories; the price lowers y, and so the share of "yes"."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "price": rng.uniform(1, 9, n_rows).round(2),
            "day": pandas.date_range("2021-01-01", periods=n_rows).astype(str),
            "kind": rng.choice(["a", "b"], n_rows),
            "size": rng.normal(size=n_rows),
            "id": [f"k{i}" for i in range(n_rows)],
        }
    )
    score = -frame["price"] + 2 * (frame["kind"] == "a") + rng.normal(size=n_rows)
    frame["y"] = score
    frame["bought"] = np.where(score > -5.5, "yes", "no")
    return frame


def run(capsys, *arguments):
    code = cli.main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def models():
    with quick_models():
        return {
            "values": bochner.fit_table(
                table().drop(columns="bought"), "y", monotone={"price": -1}, compare=False
            ),
            "classes": bochner.fit_table(table().drop(columns="y"), "bought", compare=False),
        }


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    table(20, seed=1).to_csv(folder / "new.csv", index=False)
    table().to_csv(folder / "old.csv", index=False)
    for name, model in models.items():
        bochner.save(model, folder / f"{name}.skops")
    bochner.save(models["values"]["model"], folder / "tabular.skops")
    return folder


# --- methods of the tabular model -----------------------------------------------------------------


def test_methods_of_the_tabular_model_take_the_columns_of_the_table(models):
    new = table(20, seed=1)
    values, classes = models["values"], models["classes"]
    read = values["columns"].transform(new)
    expected = values["model"].predict_interval(read, 0.8)
    assert np.array_equal(values.predict_interval(new, level=0.8), expected)
    effects = classes.effects(new, max_order=1)
    assert effects.names[:2] == ("price", "day")
    np.testing.assert_allclose(effects.total(), classes["model"].decision_function(read), atol=1e-8)
    slopes = classes.input_gradient(new)
    assert slopes.shape == (20, 2, len(classes["columns"].get_feature_names_out()))
    assert not hasattr(classes, "predict_interval")
    with pytest.raises(TypeError, match="before monotonic_cst"):
        values.effects(new)
    with pytest.raises(TableError, match="lacks 'price'"):
        values.predict_interval(new.drop(columns="price"))


def test_a_method_appears_with_that_of_the_tabular_model(models, monkeypatch):
    monkeypatch.delattr(SpectralModel, "shapley", raising=False)
    assert not hasattr(models["values"], "shapley")
    monkeypatch.setattr(
        SpectralModel, "shapley", lambda self, X, *, background=None: (X, background), raising=False
    )
    new = table(9, seed=1)
    rows, background = models["values"].shapley(new, background=4)
    assert list(rows.columns) == list(models["values"]["columns"].sources_)
    assert background == 4


def test_importances_belong_to_the_columns_of_the_table(models):
    for model in models.values():
        shares = model.feature_importances_
        assert list(shares.index) == ["price", "day", "kind", "size", "id"]
        assert shares.sum() == pytest.approx(1)
        assert shares.idxmax() == "price"
        assert shares["id"] == 0
        assert all(shares[name] > 0 for name in ("kind", "size"))


def test_the_graph_is_that_of_the_tabular_model(models):
    pytest.importorskip("skl2onnx")
    from bochner.export import to_onnx

    new, model = table(20, seed=1), models["classes"]
    with pytest.raises(TypeError, match=r"Export the tabular model: to_onnx\(model\[-1\], X="):
        to_onnx(model, X=new)
    graph = to_onnx(model[-1], X=model[:-1].transform(new)).graph
    assert [one.name for one in graph.input][:2] == ["price", "day"]


# --- directions -----------------------------------------------------------------------------------


def test_fitted_tables_are_monotone_and_say_so(models):
    low = table(50, seed=2)
    high = low.assign(price=low["price"] + 0.5)
    assert np.all(models["values"].predict(high) <= models["values"].predict(low))
    assert models["values"].facts_["monotone"] == {"price": -1}
    assert "monotone" not in models["classes"].facts_


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_the_direction_is_that_of_the_positive_class(positive):
    frame = table().drop(columns="y")
    with quick_models():
        model = bochner.fit_table(
            frame, "bought", positive=positive, monotone={"size": 1, "price": -1}, compare=False
        )
    sign = 1 if positive == "yes" else -1
    assert model["model"].monotonic_cst == {"size": sign, "price": -sign}
    k = model.classes_.tolist().index(positive)
    high = frame.assign(size=frame["size"] + 0.3)
    assert np.all(model.predict_proba(high)[:, k] >= model.predict_proba(frame)[:, k])


def test_directions_are_options_of_the_command(capsys, folder, monkeypatch):
    monkeypatch.chdir(folder)
    fit = ["fit", "old.csv", "--target", "y", "--drop", "bought", "--no-baselines"]
    with quick_models():
        code, out, _ = run(capsys, *fit, "--monotone", "price:-1, size:+1", "--out", "m.skops")
    assert code == 0
    assert "Monotone: the prediction rises with 'size' and falls with 'price'.\n" in out
    assert run(capsys, "report", "m.skops")[0] == 0
    page = (folder / "m.html").read_text()
    assert "the prediction rises with" in page
    assert "Effects are not available for models with monotone columns." in page
    for option, message in (
        (["price"], "--monotone must be COLUMN:1 or COLUMN:-1, e.g. price:-1; got 'price'."),
        (["price:up"], "--monotone must be COLUMN:1"),
        (["price:1", "price:-1"], "Column 'price' has two directions"),
        (["prize:1"], "no column 'prize' to be monotone in; did you mean 'price'?"),
        (["kind:1"], "needs columns of numbers, but 'kind' is category"),
        (["day:1"], "needs columns of numbers, but 'day' is date"),
        (["id:1"], "needs columns of numbers, but 'id' is left out (an identifier"),
    ):
        options = [word for one in option for word in ("--monotone", one)]
        code, _, err = run(capsys, *fit, *options)
        assert code == 2
        assert message in err


def test_directions_need_two_classes_or_numbers():
    frame = table().drop(columns="y")
    frame["bought"] = np.resize(["x", "y", "z"], len(frame))
    with pytest.raises(TableError, match="numbers or two classes; 'bought' has more than two"):
        bochner.fit_table(frame, "bought", monotone={"price": 1})


# --- content of a file ----------------------------------------------------------------------------


def test_info_describes_a_model_file(capsys, folder):
    code, out, _ = run(capsys, "info", folder / "values.skops")
    assert code == 0
    for words in (
        "SpectralRegressor",
        "regression of 'y'",
        "120; fitted on 90 rows; 30 held out",
        "the prediction falls with 'price'.",
        f"bochner {bochner.__version__}",
        "an identifier",
    ):
        assert words in out
    content = json.loads(run(capsys, "info", folder / "classes.skops", "--json")[1])
    assert content["classes"] == ["no", "yes"]
    assert content["columns"]["price"] == {"role": "number", "reason": "numbers"}
    assert sum(one["weight"] for one in content["members"]) == pytest.approx(1)
    assert set(content["scores"]) == set(content["standard_errors"]) == {"log-loss", "auc"}
    assert "positive" not in content


def test_info_describes_other_estimators_and_without_a_file_the_environment(capsys, folder):
    content = json.loads(run(capsys, "info", folder / "tabular.skops", "--json")[1])
    assert content["model"] == "SpectralRegressor"
    assert content["columns"][0] == "price"
    assert content["parameters"]["monotonic_cst"] == "{'price': -1}"
    assert "random_state=0" in run(capsys, "info", folder / "tabular.skops")[1]
    assert "Python" in json.loads(run(capsys, "info", "--json")[1])
    assert "There is no model file" in run(capsys, "info", folder / "absent.skops")[2]


# --- explanations ---------------------------------------------------------------------------------


@dataclass
class Shapley:
    """The result of a stub of ``shapley``."""

    values: np.ndarray
    base_values: np.ndarray
    rest: np.ndarray
    names: list[str]


def stub(self, X, *, background=None):
    """Contributions −1, 2, −3 ... times the row number; a last axis for classes."""
    n_rows, n_columns = X.shape
    steps = (-1.0) ** np.arange(1, n_columns + 1) * np.arange(1, n_columns + 1)
    values = np.arange(1, n_rows + 1)[:, None] * steps
    base, rest = np.float64(10.0), np.full(n_rows, 0.5)
    if hasattr(self, "classes_"):
        values = np.stack([values, 100 * values], axis=2)
        base, rest = np.array([10.0, 20.0]), np.stack([rest, 2 * rest], axis=1)
    return Shapley(values, base, rest, list(X.columns))


@pytest.fixture
def stubbed(monkeypatch):
    monkeypatch.setattr(SpectralModel, "shapley", stub, raising=False)


def expected_contributions(model):
    """Return the sums of the stub over the columns made from one column, for the first row."""
    sums = dict.fromkeys(model["columns"].roles_, 0.0)
    for k, source in enumerate(model["columns"].sources_.values(), 1):
        sums[source] += (-1.0) ** k * k
    return sums


def test_explanations_have_one_contribution_for_each_column_of_the_table(
    capsys, folder, models, stubbed
):
    out = folder / "explained.csv"
    arguments = "explain", folder / "values.skops", folder / "new.csv", "--keep", "id"
    assert run(capsys, *arguments, "--out", out)[0] == 0
    frame = pandas.read_csv(out)
    sums = expected_contributions(models["values"])
    names = [f"contribution of {name}" for name in sums]
    assert list(frame) == ["id", "predicted y", "base value", *names, "rest"]
    for i in (0, 7):
        assert frame.loc[i, names].tolist() == pytest.approx([(i + 1) * s for s in sums.values()])
    predicted = models["values"].predict(table(20, seed=1))
    np.testing.assert_allclose(frame["predicted y"], predicted, rtol=1e-6)
    rows = json.loads(run(capsys, *arguments, "--json")[1])
    assert rows[0]["kept"] == {"id": "k0"}
    assert rows[1]["contributions"] == pytest.approx({name: 2 * s for name, s in sums.items()})
    sizes = np.abs(list(rows[1]["contributions"].values()))
    assert np.all(np.diff(sizes) <= 0)
    assert (rows[1]["base_value"], rows[1]["other_columns"], rows[1]["rest"]) == (10, 0, 0.5)


def test_the_strongest_contributions_and_the_sum_of_the_others(capsys, folder, models, stubbed):
    arguments = "explain", folder / "classes.skops", folder / "new.csv", "--strongest", "2"
    lines = run(capsys, *arguments)[1].splitlines()
    heads = ["column 1", "contribution 1", "column 2", "contribution 2", "other columns", "rest"]
    assert lines[0].split(",") == ["predicted bought", "base value", *heads]
    rows = json.loads(run(capsys, *arguments, "--json")[1])
    sums = expected_contributions(models["classes"])
    first, second, *others = sorted(sums, key=lambda name: -abs(sums[name]))
    for i, (line, row) in enumerate(zip(lines[1:], rows), 1):
        # Each row is explained for its predicted class.
        factor = i * (100 if row["prediction"] == "yes" else 1)
        assert row["base_value"] == (20 if row["prediction"] == "yes" else 10)
        assert list(row["contributions"]) == [first, second]
        assert row["contributions"][first] == pytest.approx(factor * sums[first])
        assert row["other_columns"] == pytest.approx(factor * sum(sums[n] for n in others))
        assert line.split(",")[2] == first
    assert {row["prediction"] for row in rows} == {"yes", "no"}


def test_explanations_are_refused_before_any_work(capsys, folder):
    explain = "explain", folder / "values.skops", folder / "new.csv"
    assert "--out must end in .csv" in run(capsys, *explain, "--out", folder / "x.txt")[2]
    assert "must be a number of at least 1" in run(capsys, *explain, "--strongest", "0")[2]


def test_contributions_of_a_fitted_model_add_up(capsys, tmp_path):
    frame = table(80)
    with quick_models():
        model = bochner.fit_table(frame.drop(columns="bought"), "y", compare=False)
    bochner.save(model, tmp_path / "plain.skops")
    table(20, seed=1).to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = run(capsys, "explain", tmp_path / "plain.skops", tmp_path / "new.csv")
    found = pandas.read_csv(io.StringIO(out))
    assert code == 0
    total = found.drop(columns="predicted y").sum(axis=1)
    np.testing.assert_allclose(total, found["predicted y"], atol=1e-5 * np.ptp(frame["y"]))
    assert found["rest"].abs().max() < 1e-9
