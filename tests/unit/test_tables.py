"""Tables from files to predictions: what works, and the one sentence that each thing that does not
work gets.
"""

import json
import os
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

pandas = pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")

from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import cross_val_score, train_test_split
from table_samples import quick_models

import bochner
from bochner import (
    SpectralClassifier,
    SpectralRegressor,
    datasets,
    fit_table,
    load,
    load_table,
    save,
)
from bochner.tables import ColumnReader, TableError
from bochner.tables import fitting as fitting_module
from bochner.tables.columns.reader import stray_notes
from bochner.tables.evaluate import baselines as baselines_module
from bochner.tables.evaluate.evaluation import evaluate, interval_certificate, verdict
from bochner.tables.evaluate.metrics import Predicted, Truth
from bochner.tables.evaluate.target import task_of
from bochner.tables.facts import ClassFacts


@pytest.fixture(scope="module", autouse=True)
def quick_rivals():
    """CatBoost takes seconds; it is fitted in one test."""
    with quick_models(["LightGBM"] if find_spec("lightgbm") else []):
        yield


@pytest.fixture(scope="module")
def iris():
    """A multiclass table with text labels, a category, missing values in both kinds of columns, and
    useless columns.
    """
    X, y = load_iris(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    frame = X.assign(
        species=np.array(["sétosa", "<script>alert(1)</script>", "virginica"])[y],
        color=rng.choice(["red", "blue", None], len(X)),
        number=[f"flower {i}" for i in range(len(X))],
        empty=np.nan,
        same="x",
    )
    frame.iloc[::7, 1] = np.nan
    frame.loc[[3, 5], "species"] = None
    return frame


@pytest.fixture(scope="module")
def model(iris):
    return fit_table(iris, "species")


@pytest.fixture(scope="module")
def model_file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "iris.skops"
    save(model, path)
    return path


def test_a_multiclass_table_with_holes(model, iris):
    facts = model.facts_
    assert facts["task"] == "classification"
    assert facts["classes"] == ["<script>alert(1)</script>", "sétosa", "virginica"]
    assert facts["n_dropped"] == 2
    assert facts["n_rows"] == 148
    assert set(facts["left_out"]) == {"number", "empty", "same"}
    assert facts["categorical"] == ["color"]
    entries = facts["judged"]
    assert set(entries) - {"LightGBM"} == {
        "bochner",
        "linear",
        "RBF-SVM",
        "HistGradientBoosting",
        "constant",
    }
    assert entries["bochner"]["error"] < 0.15 < entries["constant"]["error"]
    assert entries["bochner"]["error"] < entries["bochner"]["certified"] < 0.3
    assert entries["constant"]["balanced-accuracy"] == pytest.approx(1 / 3)
    assert facts["metrics"] == ["log-loss"]
    assert sum(facts["class_counts"]) == facts["n_rows"]
    assert facts["verdict"]["kind"] == "holds"
    assert facts["path"] == model["model"].path_
    assert [member["name"] for member in facts["members"]] == ["anova", "laplace", "gaussian"]
    assert sum(member["weight"] for member in facts["members"]) == pytest.approx(1)
    assert sum(facts["importance"].values()) == pytest.approx(1)
    assert np.sum(facts["confusion"]) == facts["n_test"]
    assert next(iter(facts["importance"])).startswith("petal")
    assert len(model.predict(iris.drop(columns="species"))) == 150
    json.dumps(facts, allow_nan=False)


def test_the_certificate_is_about_the_saved_model_and_the_rows_held_out(model, iris):
    known = iris[iris["species"].notna()]
    _, test = train_test_split(
        np.arange(len(known)), test_size=0.25, random_state=0, stratify=known["species"].astype(str)
    )
    rows = known.iloc[test]
    wrong = int(np.sum(model.predict(rows) != rows["species"]))
    assert model.facts_["judged"]["bochner"]["error"] == wrong / len(rows)
    # The exact binomial limit: so few errors would be seen with probability delta at that error
    # rate.
    assert binom.cdf(
        wrong, len(rows), model.facts_["judged"]["bochner"]["certified"]
    ) == pytest.approx(0.05, abs=1e-6)


def test_a_saved_model_predicts_the_same(model, model_file, iris):
    loaded = load(model_file)
    np.testing.assert_array_equal(loaded.predict(iris), model.predict(iris))
    np.testing.assert_array_equal(loaded.predict_proba(iris), model.predict_proba(iris))
    assert loaded.facts_ == model.facts_


def written_as_csv(name, folder):
    """Return a table as a data frame, and read from a CSV file of it; copies of rows would move the
    split.
    """
    frame = pandas.read_parquet(
        Path(os.environ["BOCHNER_TABLES"]) / f"{name}.parquet"
    ).drop_duplicates()
    frame.to_csv(folder / "t.csv", index=False)
    return frame, load_table(folder / "t.csv")


def check_equal_to_the_front_door(frame, read, seed=3):
    """``fit_table`` on the table that was read, and the front door on the frame as it is."""
    model = fit_table(read, "target", seed=seed)
    labels = model.facts_["task"] == "classification"
    y = frame["target"].to_numpy()
    rows = np.arange(len(y))
    train, test = train_test_split(
        rows, test_size=0.25, random_state=seed, stratify=y if labels else None
    )
    columns = [name for name in frame.columns if name in model["columns"].roles_]
    front_door = (SpectralClassifier if labels else SpectralRegressor)(random_state=seed)
    front_door.fit(frame.iloc[train][columns], y[train])
    if labels:
        expected, got = (
            front_door.predict_proba(frame.iloc[test][columns]),
            model.predict_proba(read.iloc[test]),
        )
        assert model.classes_.tolist() == front_door.classes_.tolist()
    else:
        expected, got = (
            front_door.predict(frame.iloc[test][columns]),
            model.predict(read.iloc[test]),
        )
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.skipif("BOCHNER_TABLES" not in os.environ, reason="needs a folder of tables")
@pytest.mark.long
@pytest.mark.parametrize("name", ["ecoli", "tictactoe", "medical_cost"])
def test_a_table_from_a_file_is_fitted_as_the_front_door_fits_it(name, tmp_path):
    check_equal_to_the_front_door(*written_as_csv(name, tmp_path))


def test_a_data_set_of_scikit_learn_from_a_file_is_fitted_as_the_front_door_fits_it(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame.iloc[:200, -12:]
    frame.to_csv(tmp_path / "t.csv", index=False)
    check_equal_to_the_front_door(frame, load_table(tmp_path / "t.csv"))


def test_a_loaded_model_is_a_scikit_learn_estimator_whose_classes_keep_their_type(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame.iloc[:120, -12:]
    save(fit_table(frame.assign(target=frame["target"] == 1), "target"), tmp_path / "m.skops")
    model = bochner.load(tmp_path / "m.skops")
    assert model.classes_.tolist() == [False, True]
    assert model.predict(frame).dtype == bool
    scores = cross_val_score(model, frame.drop(columns="target"), frame["target"], cv=2)
    assert scores.min() > 0.8
    with_holes = frame["target"].astype(float).replace(0.0, 7.0).where(np.arange(len(frame)) > 2)
    assert fit_table(frame.assign(target=with_holes), "target").classes_.tolist() == [1, 7]


def test_new_tables_may_have_new_categories_extra_columns_and_text_for_numbers(model, iris):
    frame = iris.head(4).assign(color="never seen", extra=1)
    frame["sepal length (cm)"] = ["5.1", "much", None, "4.6"]
    with pytest.warns(
        UserWarning, match="unknown from training: 'color': 'never seen' \\(100 % of the rows\\)"
    ):
        assert len(model.predict(frame)) == 4
    assert stray_notes(model["columns"].read(frame)[1]) == [
        "Column 'sepal length (cm)': 1 value(s) such as 'much' are not numbers, read as missing.",
    ]
    with pytest.raises(TableError, match=r"lacks 'petal width \(cm\)'"):
        model.predict(iris.drop(columns="petal width (cm)"))


def test_all_rows_are_used_and_the_path_for_many_is_told(monkeypatch):
    monkeypatch.setattr(
        fitting_module, "SpectralRegressor", partial(SpectralRegressor, max_leaf_rows=200)
    )
    monkeypatch.setattr(baselines_module, "_SVM_ROWS", 100)
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    frame["y"] = np.sin(frame["a"]) + 0.1 * rng.normal(size=len(frame))
    facts = fit_table(frame, "y").facts_
    assert facts["n_train"] + facts["n_test"] == 400
    assert facts["path"].startswith("many rows: 300 different rows are more than max_leaf_rows=200")
    assert set(facts["judged"]) >= {"Nyström + linear", "HistGradientBoosting"}
    assert facts["judged"]["bochner"]["r2"] > 0.95


@pytest.mark.long
def test_a_category_with_more_levels_than_trees_have_bins_costs_no_rival():
    rng = np.random.default_rng(0)
    city = np.repeat(np.arange(280), 3)
    frame = pandas.DataFrame(
        {"city:[x]": [f"city {k}" for k in city], "y": city % 7 + rng.normal(size=840)}
    )
    facts = fit_table(frame, "y").facts_
    assert facts["categorical"] == ["city:[x]"]
    assert facts["notes"] == []
    assert "HistGradientBoosting" in facts["judged"]


def test_a_rival_that_cannot_be_fitted_is_named_and_left_out(iris, monkeypatch):
    class Broken:
        def fit(self, X, y):
            raise RuntimeError("no\nluck")

    found = {"broken": Broken(), "constant": baselines_module.DummyClassifier()}
    monkeypatch.setattr(fitting_module, "baseline_models", lambda *_: (found, []))
    facts = fit_table(iris, "species").facts_
    assert "broken is left out: no luck" in facts["notes"]
    assert list(facts["judged"]) == ["bochner", "constant"]


def evaluations(y, ours, rival, classes=None):
    """Evaluations of three models, the metric (accuracy or R²), and facts on classes."""
    y, ours, rival = map(np.asarray, (y, ours, rival))
    constant = np.full(len(y), np.mean(y) if classes is None else classes[0])
    truth = Truth(y) if classes is None else Truth(y, np.array(classes), classes[-1])

    def predicted(found):
        return Predicted(
            found, None if classes is None else (found[:, None] == truth.classes).astype(float)
        )

    models = {"bochner": ours, "rival": rival, "constant": constant}
    entries = {
        name: evaluate(predicted(found), truth, predicted(ours)) for name, found in models.items()
    }
    if classes is None:
        return entries, "r2", None
    confusion = [[int(np.sum((y == a) & (ours == b))) for b in classes] for a in classes]
    rare = len(set(classes)) * np.bincount(y).min() < 0.2 * len(y)
    return entries, "accuracy", ClassFacts(classes, [], rare, None, confusion, [])


def verdict_of(*arguments):
    return verdict(*evaluations(*arguments), None)


def test_the_verdict_is_red_for_a_classifier_that_finds_none_of_the_rare_cases():
    y = np.repeat([0, 1], [970, 30])
    found = verdict_of(y, 0 * y, 0 * y, [0, 1])
    assert found.kind == "fails"
    assert "Not better than a constant: accuracy better by 0.00%" in found.reasons[0]
    assert "No held-out row of class '1' (30 rows) is predicted correctly." in found.reasons


def test_the_verdict_is_open_for_a_class_never_found_and_for_a_gain_that_may_be_chance():
    y = np.repeat([0, 1, 2], [50, 50, 3])
    never = verdict_of(y, np.minimum(y, 1), np.minimum(y, 1), [0, 1, 2])
    assert never.kind == "open"
    assert never.reasons[0] == "No held-out row of class '2' (3 rows) is predicted correctly."
    y = np.repeat([0, 1], [97, 3])
    found = evaluations(y, 0 * y, 0 * y, [0, 1])
    # A large gain does not make this verdict green.
    found[0]["constant"].worse_by["accuracy"] = [0.1, 0.01]
    assert verdict(*found, None).kind == "open"
    assert "use --threshold balanced" in verdict(*found, None).reasons[1]
    chance = verdict_of(y, np.where(np.arange(100) == 99, 1, 0), y * 0, [0, 1])
    assert chance.kind == "open"
    assert "Not clearly better than a constant" in chance.reasons[0]


def test_the_verdict_says_how_few_rare_cases_are_found_and_nothing_where_half_are():
    y = np.repeat([0, 1], [970, 30])
    for n_found in (9, 20):
        ours = np.where(np.arange(1000) < 970 + n_found, y, 0)
        found = verdict_of(y, ours, 0 * y, [0, 1])
        assert found.kind == "holds"
        few = (
            [
                "Correctly predicted: only 9 of 30 held-out rows of class '1'.",
                "To predict the rare class more often, use --threshold balanced",
            ]
            if n_found == 9
            else []
        )
        assert [reason[: len(said)] for reason, said in zip(found.reasons, few)] == few
        assert found.reasons[len(few) :] == [
            "No other model has a better accuracy on the held-out rows."
        ]


@pytest.mark.parametrize(
    ("n_better", "kind", "words"),
    [(0, "holds", "No other model"), (2, "holds", "within noise"), (30, "open", "beyond noise")],
)
def test_the_verdict_names_a_better_rival_and_whether_that_may_be_chance(n_better, kind, words):
    y = np.tile([0, 1], 100)
    wrong = np.where(np.arange(200) < 40, 1 - y, y)
    rival = np.where(np.arange(200) < 40 - n_better, 1 - y, y)
    found = verdict_of(y, wrong, rival, [0, 1])
    assert found.kind == kind
    assert words in found.reasons[-1]
    if n_better:
        share = np.array([1.0] * n_better + [0.0] * (200 - n_better))
        amount = f"{share.mean():.2%} ± {share.std(ddof=1) / np.sqrt(200):.2%}"
        assert f"rival has a better accuracy (by {amount}, {words})." == found.reasons[-1]


def test_the_verdict_on_numbers_is_in_r2(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=300)
    good, better = y + 0.5 * rng.normal(size=300), y + 0.1 * rng.normal(size=300)
    entry = evaluations(y, good, better)[0]["rival"].scores
    assert entry["r2"] == pytest.approx(1 - np.mean((better - y) ** 2) / y.var())
    assert entry["rmse"] == pytest.approx(np.sqrt(np.mean((better - y) ** 2)))
    assert verdict_of(y, better, good).kind == "holds"
    assert verdict_of(y, good, better).kind == "open"
    assert verdict_of(y, -y, -y).kind == "fails"


def test_regression_with_an_interval_that_covers():
    frame = load_diabetes(as_frame=True).frame
    with warnings.catch_warnings(
        action="error", category=UserWarning
    ):  # whole numbers, and nobody has to guess
        model = fit_table(frame, "target")
    entry = model.facts_["judged"]["bochner"]
    assert model.facts_["task"] == "regression"
    assert entry["r2"] > 0.2
    assert entry["rmse"] < model.facts_["judged"]["constant"]["rmse"]
    assert (
        model.facts_["judged"]["RBF-SVM"]["r2"] > 0.2
    )  # its targets are scaled; unscaled it is near 0.1
    residuals = np.abs(model.predict(frame) - frame["target"])
    assert np.mean(residuals <= entry["half_width"]) > 0.85


def test_the_certified_interval_covers_as_often_as_it_says(seed):
    rng = np.random.default_rng(seed)
    n_trials, covered = 2000, 0
    for _ in range(n_trials):
        width = interval_certificate(rng.exponential(size=60)).half_width
        covered += -np.log(0.1) <= width  # the true 90 % quantile
    assert covered / n_trials > 0.95 - 5 * np.sqrt(0.05 * 0.95 / n_trials)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] * 20, "classification"),
        ([True, False] * 20, "classification"),
        ([0, 1] * 20, "classification"),
        ([0.0, 1.0, 2.0, 2.0] * 20, "classification"),
        ([0.5, 1.5] * 20, "regression"),
        (list(range(40)), "regression"),
        (list(np.linspace(0, 1, 40)), "regression"),
    ],
)
def test_the_task_is_guessed_from_the_target(values, task):
    assert task_of(pandas.Series(values))[0] == task


def test_rare_classes_are_left_out_and_named(iris):
    frame = (
        iris.head(148).drop(columns=["number", "empty", "same", "color"]).dropna(subset="species")
    )
    frame = pandas.concat([frame, frame.head(2).assign(species="unicorn")], ignore_index=True)
    model = fit_table(frame, "species")
    assert "unicorn" not in model.facts_["classes"]
    assert any("'unicorn' has fewer than 4 rows" in note for note in model.facts_["notes"])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: f, {"target": "specis"}, "did you mean 'species'"),
        (lambda f: f, {"target": "zzz"}, "[Ii]ts columns are 'sepal length"),
        (lambda f: f.head(1), {}, r"has 1 row\(s\) with a target; at least 20"),
        (lambda f: f.assign(species=None), {}, "Every value of the target"),
        (lambda f: f.assign(species="one"), {}, "only one class"),
        (
            lambda f: f.assign(species=[f"kind {i}" for i in range(len(f))]),
            {},
            "at least two classes need 4 rows each",
        ),
        (lambda f: f[["species"]], {}, "no column besides the target"),
        (
            lambda f: f[["species", "empty"]],
            {},
            "No column can be used: 'empty': every value is missing",
        ),
        (lambda f: f, {"task": "regression"}, "holds text and cannot be a regression target"),
    ],
)
def test_tables_that_cannot_be_fitted(iris, change, options, message):
    with pytest.raises(TableError, match=message):
        fit_table(change(iris), **({"target": "species"} | options))


def test_roles_follow_the_values():
    frame = pandas.DataFrame(
        {
            "n": [1, 2] * 20,
            "c": ["x", "y"] * 20,
            "id": [f"i{k}" for k in range(40)],
            "b": [True, False] * 20,
        }
    )
    found = ColumnReader().fit(frame)
    assert found.roles_ == {"n": "number", "c": "category", "b": "number"}
    assert list(found.left_out_) == ["id"]


def test_levels_that_look_like_numbers_are_the_same_with_and_without_holes():
    frame = pandas.DataFrame({"c": ["1", "2", "x"] * 10})
    reader = ColumnReader().fit(frame)
    assert reader.transform(pandas.DataFrame({"c": [1, 2]}))["c"].tolist() == ["1", "2"]
    assert reader.transform(pandas.DataFrame({"c": [1, None]}))["c"].tolist()[0] == "1"


def test_ordered_categories_keep_their_order():
    levels = ["low", "middle", "high"]
    column = pandas.Categorical(levels * 10, categories=levels, ordered=True)
    read = ColumnReader().fit_transform(pandas.DataFrame({"c": column}))
    assert read["c"].cat.ordered
    assert list(read["c"].cat.categories) == levels


# --- reading --------------------------------------------------------------------------------------


def test_every_kind_of_file_gives_the_same_table(iris, tmp_path):
    frame = iris[["sepal length (cm)", "species", "color"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "latin.csv", index=False, encoding="latin-1")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "semicolons.csv", "t.tsv", "latin.csv", "t.parquet"):
        read = load_table(tmp_path / name)
        assert list(read.columns) == list(frame.columns), name
        assert read["species"][0] == "sétosa", name
        assert read["color"].isna().sum() == frame["color"].isna().sum(), name


def test_dates_become_numbers(tmp_path):
    frame = pandas.DataFrame({"day": pandas.to_datetime(["1970-01-02", "1970-01-03"]), "x": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    read = ColumnReader().fit_transform(load_table(tmp_path / "t.parquet"))
    np.testing.assert_allclose(read["day"], [1, 2])


def test_numbers_are_read_with_all_their_digits(tmp_path):
    values = np.random.default_rng(0).lognormal(sigma=20, size=2000)
    pandas.DataFrame({"x": values}).to_csv(tmp_path / "t.csv", index=False)
    # Before version 3 pandas lost the last digits of very small numbers.
    rtol = 1e-15 if int(pandas.__version__.partition(".")[0]) >= 3 else 1e-12
    np.testing.assert_allclose(load_table(tmp_path / "t.csv")["x"], values, rtol=rtol)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "holds no rows"),
        (
            "t.csv",
            b"a,b\n1,2\n1,2,3\n",
            "cannot be read: line 3 has 3 fields, but the lines before it have 2",
        ),
        ("t.parquet", b"nothing", "cannot be read as Parquet"),
        ("t.xlsx", b"", "its name must end in .csv"),
        ("missing/t.csv", None, "There is no file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        load_table(tmp_path / name)


# --- a real table ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.skipif(datasets.where("adult") == "nowhere", reason="needs the adult data set")
def test_adult_with_its_raw_categories(tmp_path):
    bunch = datasets.load("adult")
    names = [str(name) for name in bunch.feature_names]
    columns = {name: bunch.data[:, k] for k, name in enumerate(names) if "=" not in name}
    groups = {}
    for k, name in enumerate(names):
        if "=" in name:
            groups.setdefault(name.split("=")[0], []).append(k)
    for group, members in groups.items():
        levels = np.array([names[k].split("=")[1] for k in members], dtype=object)
        block = bunch.data[:, members]
        columns[group] = np.where(block.any(axis=1), levels[block.argmax(axis=1)], None)
    columns["income"] = np.asarray(bunch.class_names)[bunch.target]
    pandas.DataFrame(columns).to_csv(tmp_path / "adult.csv", index=False)
    model = fit_table(load_table(tmp_path / "adult.csv"), "income")
    entry = model.facts_["judged"]["bochner"]
    assert set(model.facts_["categorical"]) == set(groups)
    assert entry["error"] < 0.155
    assert entry["certified"] < entry["error"] + 0.01
    save(model, tmp_path / "adult.skops")
    assert (load(tmp_path / "adult.skops").predict(load_table(tmp_path / "adult.csv")) != "").all()
