"""Model files: what was saved comes back, and everything else is refused before an object of it is
built.
"""

import io
import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pd = pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")

from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from bochner import (
    KernelMachine,
    OperatorRidge,
    SpectralFeatures,
    SpectralRidge,
    fit_table,
    load,
    save,
)
from bochner.tables import ModelFileError, model_schema
from bochner.tables.storage import STORED_CLASSES, stored_class


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).frame.assign(
        target=lambda frame: np.array(["a", "b", "c"])[frame.target]
    )


@pytest.fixture(scope="module")
def model(iris):
    return fit_table(iris, "target")


@pytest.fixture(scope="module")
def model_file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "iris.skops"
    save(model, path)
    return path


def test_truncated_model_files_are_refused(model_file, tmp_path):
    content = model_file.read_bytes()
    for size in (0, 10, len(content) // 2, len(content) - 1):
        path = tmp_path / "cut.skops"
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match="damaged or not a model file"):
            load(path)


def test_a_flipped_byte_never_changes_a_model(model, model_file, tmp_path, iris):
    """Bytes that a zip archive does not look at, such as times of day, may differ; what is loaded
    may not.
    """
    content, expected, n_refused = model_file.read_bytes(), model.predict_proba(iris), 0
    for position in np.linspace(0, len(content) - 1, 25).astype(int):
        flipped = bytearray(content)
        flipped[position] ^= 0xFF
        (tmp_path / "flipped.skops").write_bytes(flipped)
        try:
            loaded = load(tmp_path / "flipped.skops")
        except ModelFileError:
            n_refused += 1
        else:
            assert_array_equal(loaded.predict_proba(iris), expected)
    assert n_refused > 12


def test_a_flipped_byte_of_a_number_is_noticed(model_file, tmp_path):
    with zipfile.ZipFile(model_file) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.compress_size)
    content = bytearray(model_file.read_bytes())
    content[largest.header_offset + 30 + len(largest.filename) + largest.compress_size // 2] ^= 0xFF
    (tmp_path / "flipped.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "flipped.skops")


def zip_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_", "."), text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x04\x95 a pickle", "damaged or not a model file"),
        (zip_of(readme_txt="hello"), "it contains a part named .readme.txt."),
        (zip_of(schema_json="{"), "damaged or not a model file"),
        (zip_of(schema_json="[]"), "a node of its description is invalid"),
    ],
    ids=["pickle", "other zip", "no JSON", "a list"],  # archives contain the time
)
def test_foreign_files_are_refused(tmp_path, content, message):
    (tmp_path / "x.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match="There is no model file"):
        load(tmp_path / "absent.skops")


def test_skops_files_of_others_are_refused(tmp_path):
    skops_io.dump({"format": "another"}, tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match="not a model of this version"):
        load(tmp_path / "x.skops")


class Hostile:
    """Would run code when an unpickler or a careless loader builds it."""

    def __init__(self, flag):
        self.flag = str(flag)

    def __setstate__(self, state):
        open(state["flag"], "w").close()


def test_arbitrary_objects_are_refused_and_never_built(tmp_path):
    flag = tmp_path / "executed"
    skops_io.dump({"format": "bochner table model 3", "model": Hostile(flag)}, tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match=r"refused: it contains objects of type .*Hostile"):
        load(tmp_path / "x.skops")
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
                schema["content"]["model"] = call
                content = json.dumps(schema).encode()
            changed.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"refused: it contains objects of type os\.system"):
        load(evil)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(model_schema, "MEMORY_LIMIT", 2**20)
    (tmp_path / "bomb.skops").write_bytes(zip_of(schema_json="0" * 2**19))
    with pytest.raises(ModelFileError, match="would need more than 1 MB of memory"):
        load(tmp_path / "bomb.skops")


def test_an_interrupted_save_leaves_no_file(model, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


LINE = np.linspace(-2, 2, 40)[:, None]


def double(X):
    return 2 * X


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(FunctionTransformer(double), KernelMachine()), "double"),
        (
            make_pipeline(SpectralFeatures(n_components=4), RandomForestRegressor(n_estimators=2)),
            "RandomForestRegressor",
        ),
        (
            make_pipeline(StandardScaler(), KernelMachine(), memory="cache"),
            "memory of a Pipeline must be None",
        ),
        (KernelMachine(random_state=np.random.RandomState(0)), "RandomState"),
    ],
    ids=["function", "forest", "folder of a cache", "state of random numbers"],
)
def test_what_load_would_refuse_is_refused_at_save(model, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.fit(LINE, np.sin(LINE[:, 0]))
    with pytest.raises(
        ModelFileError, match=f"cannot be saved, because load would refuse it: .*{message}"
    ):
        save(model, tmp_path / "model.skops")
    assert not (tmp_path / "model.skops").exists()


NUMBERS = [
    StandardScaler(),
    MinMaxScaler(),
    MaxAbsScaler(),
    RobustScaler(),
    PowerTransformer(),
    PowerTransformer("box-cox"),
    QuantileTransformer(n_quantiles=10),
    KBinsDiscretizer(4, encode="onehot-dense"),
    SimpleImputer(add_indicator=True),
    make_pipeline(PolynomialFeatures(), Normalizer()),
    FunctionTransformer(),
]
CATEGORIES = [
    OneHotEncoder(),
    OneHotEncoder(sparse_output=False, drop="first"),
    OrdinalEncoder(),
    TargetEncoder(),
    make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
]


@pytest.mark.parametrize(
    ("numbers", "categories"),
    [*((step, "drop") for step in NUMBERS), *(("passthrough", step) for step in CATEGORIES)],
    ids=lambda step: step if isinstance(step, str) else type(step).__name__,
)
@pytest.mark.parametrize("named", [True, False], ids=["frame", "array"])
def test_pipelines_with_steps_of_scikit_learn_are_saved(numbers, categories, named, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(1, 2, 60), "kind": rng.choice(["a", "b", "c"], 60)})
    columns = (["size"], ["kind"]) if named else ([0], [1])
    X = frame if named else frame.to_numpy(dtype=object)
    steps = ColumnTransformer(
        [("numbers", numbers, columns[0]), ("categories", categories, columns[1])]
    )
    model = make_pipeline(steps, SpectralFeatures(n_components=6, random_state=0), Ridge())
    model.fit(X, np.sin(9 * frame["size"]))
    save(model, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))


@pytest.mark.parametrize(
    "last", [LogisticRegression(), LogisticRegressionCV(cv=2), RidgeClassifier()], ids=repr
)
def test_linear_classifiers_on_our_features_are_saved(last, tmp_path):
    y = np.where(np.sin(3 * LINE[:, 0]) > 0, "above", "below")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, on its own parameters
        model = make_pipeline(
            StandardScaler(), SpectralFeatures(n_components=6, random_state=0), last
        ).fit(LINE, y)
    save(model, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").predict(LINE), model.predict(LINE))


def test_only_fitted_estimators_are_saved(tmp_path):
    with pytest.raises(TypeError, match="save needs a fitted estimator, got dict"):
        save({"model": 1}, tmp_path / "model.skops")
    with pytest.raises(NotFittedError):
        save(KernelMachine(), tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_sums_that_are_not_solved_yet_are_solved_before_saving(tmp_path):
    y = np.sin(LINE[:, 0])
    streamed = SpectralRidge(SpectralFeatures(n_components=8, random_state=0)).partial_fit(LINE, y)
    save(streamed, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").partial_fit(LINE, -y)
    assert_array_equal(again.predict(LINE), streamed.partial_fit(LINE, -y).predict(LINE))


def test_objects_that_are_one_stay_one(tmp_path):
    model = SpectralRidge(SpectralFeatures(n_components=8, random_state=0)).fit(
        LINE, np.sin(LINE[:, 0])
    )
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert model.features_.measure_ is model._source
    assert again.features_.measure_ is again._source


def test_every_stored_class_exists_and_no_other_module_is_imported():
    for module, name in STORED_CLASSES:
        assert stored_class(module, name).__module__ == module
    with pytest.raises(KeyError):
        stored_class("bochner.__main__", "main")


def test_a_model_of_rows_is_no_model_of_a_table(tmp_path, capsys):
    from bochner.cli import main

    model = OperatorRidge(n_components=4).fit(LINE, LINE)
    save(model, tmp_path / "model.skops")
    assert main(["report", str(tmp_path / "model.skops")]) == 2
    assert "contains a OperatorRidge, which `bochner fit` did not write" in capsys.readouterr().err
