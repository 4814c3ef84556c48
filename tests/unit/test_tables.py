"""Tables from files to predictions: what works, and the one sentence that each thing that does not work gets."""

import io
import json
import warnings
import zipfile

import numpy as np
import pytest
from scipy.stats import binom

pandas = pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")

from bochner.tables.certificate import interval_certificate  # noqa: E402
from sklearn.datasets import load_diabetes, load_iris  # noqa: E402

from bochner import JointDescent, PacBayes, SpectralFeatures, datasets  # noqa: E402
from bochner.tables import ModelFileError, TableError, fit_table, load_model, read_table, save_model  # noqa: E402
from bochner.tables import fitting as fitting_module  # noqa: E402
from bochner.tables.columns import inputs, roles, task_of  # noqa: E402


@pytest.fixture(scope="module")
def iris():
    """A multiclass table with text labels, a category, missing values in both kinds of columns, and useless columns."""
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
    save_model(model, path)
    return path


def test_a_multiclass_table_with_holes(model, iris):
    facts = model.facts
    assert facts["task"] == "classification"
    assert facts["classes"] == ["<script>alert(1)</script>", "sétosa", "virginica"]
    assert facts["n_dropped"] == 2
    assert facts["n_rows"] == 148
    assert set(facts["left_out"]) == {"number", "empty", "same"}
    assert facts["categorical"] == ["color"]
    judged = facts["judged"]
    assert set(judged) == {"bochner", "linear", "RBF-SVM", "HistGradientBoosting", "constant"}
    assert judged["bochner"]["error"] < 0.15 < judged["constant"]["error"]
    assert judged["bochner"]["error"] < judged["bochner"]["certified"] < 0.3
    assert np.sum(facts["confusion"]) == facts["n_test"]
    assert next(iter(facts["importance"])).startswith("petal")
    predictions, notes = model.predict(iris.drop(columns="species"))
    assert notes == []
    assert len(predictions) == 150
    json.dumps(facts, allow_nan=False)


def test_the_certificate_is_about_the_saved_model_and_the_rows_held_out(model, iris):
    known = iris[iris["species"].notna()]
    _, test = fitting_module.train_test_split(
        np.arange(len(known)), test_size=0.25, random_state=0, stratify=known["species"].astype(str)
    )
    rows = known.iloc[test]
    wrong = int(np.sum(model.predict(rows)[0] != rows["species"]))
    assert model.facts["judged"]["bochner"]["error"] == wrong / len(rows)
    # The exact binomial limit: so few errors would be seen with probability delta at that error rate.
    assert binom.cdf(wrong, len(rows), model.facts["judged"]["bochner"]["certified"]) == pytest.approx(0.05, abs=1e-6)


def test_a_saved_model_predicts_the_same(model, model_file, iris):
    loaded = load_model(model_file)
    np.testing.assert_array_equal(loaded.predict(iris)[0], model.predict(iris)[0])
    np.testing.assert_array_equal(loaded.predict_proba(iris), model.predict_proba(iris))
    assert loaded.facts == model.facts


@pytest.mark.parametrize(
    "learner", [PacBayes(beta="bound"), JointDescent(n_epochs=2)], ids=lambda learner: type(learner).__name__
)
def test_a_model_with_a_learner_can_be_saved(model, iris, tmp_path, learner):
    fourier = SpectralFeatures(learner=learner, n_components=16, random_state=0)
    pipeline = fitting_module.make_pipeline(
        fitting_module.preprocessing(model.columns), fourier, fitting_module.LogisticRegression()
    )
    known = iris[iris["species"].notna()]
    pipeline.fit(inputs(known, model.columns)[0], known["species"].astype(str))
    learned = fitting_module.TableModel(pipeline, model.columns, model.facts)
    save_model(learned, tmp_path / "learned.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "learned.skops").predict(iris)[0], learned.predict(iris)[0])


def test_new_tables_may_have_new_categories_extra_columns_and_text_for_numbers(model, iris):
    frame = iris.head(4).assign(color="never seen", extra=1)
    frame["sepal length (cm)"] = ["5.1", "much", None, "4.6"]
    predictions, notes = model.predict(frame)
    assert len(predictions) == 4
    assert notes == ["1 value(s) of column 'sepal length (cm)' are no numbers and count as missing."]
    with pytest.raises(TableError, match=r"lacks 'petal width \(cm\)'"):
        model.predict(iris.drop(columns="petal width (cm)"))


def test_long_tables_are_fitted_on_a_sample_and_predicted_in_blocks(model, iris, monkeypatch):
    expected = model.predict(iris)[0]
    monkeypatch.setattr(fitting_module, "_BLOCK_ROWS", 7)
    np.testing.assert_array_equal(model.predict(iris)[0], expected)
    assert model.predict_proba(iris).shape == (150, 3)
    monkeypatch.setattr(fitting_module, "_MAX_FIT_ROWS", 60)
    small = fit_table(iris[["petal length (cm)", "petal width (cm)", "species"]], "species")
    assert small.facts["n_train"] == 60
    assert small.facts["n_test"] == 37
    assert any("Fitted on 60 of the 111 rows" in note for note in small.facts["notes"])


def test_regression_with_an_interval_that_covers():
    frame = load_diabetes(as_frame=True).frame
    with warnings.catch_warnings(action="error", category=UserWarning):  # whole numbers, and nobody has to guess
        model = fit_table(frame, "target")
    judged = model.facts["judged"]["bochner"]
    assert model.facts["task"] == "regression"
    assert judged["r2"] > 0.2
    assert judged["rmse"] < model.facts["judged"]["constant"]["rmse"]
    residuals = np.abs(model.predict(frame)[0] - frame["target"])
    assert np.mean(residuals <= judged["half_width"]) > 0.85
    with pytest.raises(TableError, match="Probabilities are for classification"):
        model.predict_proba(frame)


def test_the_certified_interval_covers_as_often_as_it_says(seed):
    rng = np.random.default_rng(seed)
    n_trials, covered = 2000, 0
    for _ in range(n_trials):
        width = interval_certificate(rng.exponential(size=60))["half_width"]
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
    frame = iris.head(148).drop(columns=["number", "empty", "same", "color"]).dropna(subset="species")
    frame = pandas.concat([frame, frame.head(2).assign(species="unicorn")], ignore_index=True)
    model = fit_table(frame, "species")
    assert "unicorn" not in model.facts["classes"]
    assert any("'unicorn' has fewer than 4 rows" in note for note in model.facts["notes"])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: f, {"target": "specis"}, "did you mean 'species'"),
        (lambda f: f, {"target": "zzz"}, "its columns are 'sepal length"),
        (lambda f: f.head(1), {}, r"has 1 row\(s\) with a target; at least 20"),
        (lambda f: f.assign(species=None), {}, "Every value of the target"),
        (lambda f: f.assign(species="one"), {}, "one class only"),
        (lambda f: f.assign(species=[str(i) for i in range(len(f))]), {}, "too many to learn"),
        (lambda f: f[["species"]], {}, "no column besides the target"),
        (lambda f: f[["species", "empty"]], {}, "No column can be used: 'empty': every value is missing"),
        (lambda f: f, {"task": "regression"}, "holds text, so it cannot be a regression target"),
    ],
)
def test_tables_that_cannot_be_fitted(iris, change, options, message):
    with pytest.raises(TableError, match=message):
        fit_table(change(iris), **({"target": "species"} | options))


def test_roles_follow_the_values():
    frame = pandas.DataFrame(
        {"n": [1, 2] * 20, "c": ["x", "y"] * 20, "id": [f"i{k}" for k in range(40)], "b": [True, False] * 20}
    )
    found = roles(frame)
    assert found.numeric == ["n", "b"]
    assert found.categorical == ["c"]
    assert list(found.left_out) == ["id"]


# --- reading ----------------------------------------------------------------------------------------------------------


def test_every_kind_of_file_gives_the_same_table(iris, tmp_path):
    frame = iris[["sepal length (cm)", "species", "color"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "latin.csv", index=False, encoding="latin-1")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "semicolons.csv", "t.tsv", "latin.csv", "t.parquet"):
        read = read_table(tmp_path / name)
        assert list(read.columns) == list(frame.columns), name
        assert read["species"][0] == "sétosa", name
        assert read["color"].isna().sum() == frame["color"].isna().sum(), name


def test_dates_become_numbers(tmp_path):
    frame = pandas.DataFrame({"day": pandas.to_datetime(["1970-01-02", "1970-01-03"]), "x": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    np.testing.assert_allclose(read_table(tmp_path / "t.parquet")["day"], [1, 2])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "holds no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as a table"),
        ("t.parquet", b"nothing", "cannot be read as Parquet"),
        ("t.xlsx", b"", "the name must end in .csv"),
        ("missing/t.csv", None, "There is no file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / name)


# --- model files ------------------------------------------------------------------------------------------------------


def test_truncated_model_files_are_refused(model_file, tmp_path):
    content = model_file.read_bytes()
    for size in (0, 10, len(content) // 2, len(content) - 1):
        path = tmp_path / "cut.skops"
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match="damaged or no model file"):
            load_model(path)


def test_a_flipped_byte_is_noticed(model_file, tmp_path):
    content = bytearray(model_file.read_bytes())
    content[len(content) // 3] ^= 0xFF
    (tmp_path / "flipped.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "flipped.skops")


def zip_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_", "."), text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x04\x95 a pickle", "damaged or no model file"),
        (zip_of(readme_txt="hello"), "no model file: it lacks"),
        (zip_of(schema_json="{"), "damaged or no model file"),
        (zip_of(schema_json="[]"), "damaged or no model file"),
    ],
)
def test_foreign_files_are_refused(tmp_path, content, message):
    (tmp_path / "x.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match="There is no model file"):
        load_model(tmp_path / "absent.skops")


def test_skops_files_of_others_are_refused(tmp_path):
    skops_io.dump({"format": "another"}, tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match="no model of `bochner fit`"):
        load_model(tmp_path / "x.skops")


class Hostile:
    """Would run code when an unpickler or a careless loader builds it."""

    def __init__(self, flag):
        self.flag = str(flag)

    def __setstate__(self, state):
        open(state["flag"], "w").close()


def test_arbitrary_objects_are_refused_and_never_built(tmp_path):
    flag = tmp_path / "executed"
    skops_io.dump({"format": "bochner table model 1", "pipeline": Hostile(flag)}, tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match=r"refused: it holds objects of type .*Hostile"):
        load_model(tmp_path / "x.skops")
    assert not flag.exists()


def test_functions_smuggled_into_a_model_file_are_refused(model_file, tmp_path):
    evil = tmp_path / "evil.skops"
    with zipfile.ZipFile(model_file) as archive, zipfile.ZipFile(evil, "w") as changed:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                call = {
                    "__class__": "system",
                    "__module__": "os",
                    "__loader__": "FunctionNode",
                    "__id__": 1,
                    "content": {},
                }
                schema["content"]["pipeline"] = call
                content = json.dumps(schema).encode()
            changed.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"refused: it holds objects of type os\.system"):
        load_model(evil)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    from bochner.tables import model_file as module

    monkeypatch.setattr(module, "_MAX_BYTES", 1000)
    (tmp_path / "bomb.skops").write_bytes(zip_of(schema_json="0" * 2000))
    with pytest.raises(ModelFileError, match="would unpack to 2000 bytes"):
        load_model(tmp_path / "bomb.skops")


def test_an_interrupted_save_leaves_no_file(model, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(skops_io, "dump", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_model(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


# --- a real table -----------------------------------------------------------------------------------------------------


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
    model = fit_table(read_table(tmp_path / "adult.csv"), "income")
    judged = model.facts["judged"]
    assert set(model.facts["categorical"]) == set(groups)
    assert judged["bochner"]["error"] < 0.155
    assert judged["bochner"]["certified"] < judged["bochner"]["error"] + 0.01
    save_model(model, tmp_path / "adult.skops")
    assert (load_model(tmp_path / "adult.skops").predict(read_table(tmp_path / "adult.csv"))[0] != "").all()
