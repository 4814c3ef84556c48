"""Archives of data sets, built from small files in the formats in which they are published."""

import dataclasses
import gzip
import json
from itertools import product

import numpy as np
import pytest
from scipy.io import netcdf_file, savemat
from sklearn.datasets import load_wine

from bochner import cli, datasets
from bochner.datasets.catalog import CATALOG
from bochner.datasets.recipes import build

needs_data = pytest.mark.skipif(datasets.data_folder() is None, reason="BOCHNER_DATA is not set")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return the arrays built for a data set from files of other contents."""

    def make(name, shape, **files):
        for file, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            (tmp_path / file).write_bytes(content)
        monkeypatch.setitem(
            CATALOG, name, dataclasses.replace(CATALOG[name], shape=shape, sha256=None)
        )
        with np.load(build(name, tmp_path, tmp_path / "out"), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}

    return make


def same(arrays, **expected):
    for name, values in expected.items():
        np.testing.assert_array_equal(arrays[name], values, strict=isinstance(values, np.ndarray))


def test_adult_has_numbers_first_and_no_indicator_for_unknown_levels(made):
    row = "39, {}, 77516, Bachelors, 13, Single, Sales, Husband, White, Male, 0, 0, 40, Peru, {}\n"
    train = row.format("Private", "<=50K") + row.format("?", ">50K") + "\n"
    test = "|1x3 Cross validator\n" + row.format("Local-gov", ">50K.") + "\n"
    arrays = made("adult", (3, 15), **{"adult.data": train, "adult.test": test})
    same(arrays, y=np.array([0, 1, 1], np.uint8), y_binary=np.array([-1, 1, 1], np.int8), n_train=2)
    assert arrays["X"].dtype == np.int32
    names = arrays["feature_names"].tolist()
    assert names[:8] == [
        *["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"],
        *["workclass=Local-gov", "workclass=Private"],
    ]
    same(
        arrays, X=[[39, 77516, 13, 0, 0, 40, *pair, *[1] * 7] for pair in ((0, 1), (0, 0), (1, 0))]
    )


def test_names_come_from_the_quoted_header_of_bank_full(made):
    text = '"age";"job";"balance";"y"\n58;"management";-5;"no"\n44;"admin.";29;"yes"\n'
    arrays = made("bankmarketing", (2, 4), **{"bank-full.csv": text})
    same(arrays, feature_names=["age", "balance", "job=admin.", "job=management"])
    same(arrays, X=np.array([[58, -5, 0, 1], [44, 29, 1, 0]], np.float32), y=[0, 1])


def test_headers_of_keel_and_weka_are_skipped(made):
    text = (
        "@relation sonar\r\n@attribute a real [0, 1]\r\n@data\r\n0.02, 1.5, R\r\n\r\n0.5, 2, M\r\n"
    )
    arrays = made("sonar", (2, 2), **{"sonar.dat": text})
    same(arrays, X=np.array([[0.02, 1.5], [0.5, 2.0]]), y=[1, 0], y_binary=[1, -1])
    same(arrays, class_names=["M", "R"])
    text = "@relation 'enb'\n\n@ATTRIBUTE a numeric\n@attribute b real\n@attribute c numeric\n"
    arrays = made("mtr_enb", (2, 1), **{"enb.arff": f"{text}\n@data\n1,2,3.25\n4,5,0.1\n"})
    same(arrays, X=np.array([[1], [4]], np.float32), y=np.array([[2, 3.25], [5, 0.1]]))
    same(arrays, feature_names=["a"], target_names=["b", "c"])


def test_first_columns_are_labels_kept_apart_or_left_out(made):
    arrays = made("splice", (2, 2), **{"splice.data": "+1,2,3\n-1,4,1\n"})
    same(arrays, X=[[2, 3], [4, 1]], y=[1, 0], y_binary=[-1, 1], class_names=["-1", "+1"])
    arrays = made("german", (2, 2), **{"german.data-numeric": "  1  6  4 1 \n  2 48  2 2 \n"})
    same(arrays, X_dropped=np.array([[1], [2]], np.float32), X=[[6, 4], [48, 2]], y_binary=[-1, 1])
    text = "125, 125, 1.0, 1,0,1,ad.\n   ?,   ?,   ?,?,1,0,nonad.\n"
    arrays = made("ads", (2, 2), **{"ad.data": text})
    same(arrays, X=np.array([[0, 1], [1, 0]], np.uint8), y_binary=[-1, 1])


def test_sparse_rows(made):
    arrays = made("farm", (2, 9), **{"farm-ads-vect": "1 2:1 9:3\n-1 1:1\n"})
    same(arrays, X_data=np.array([1, 3, 1], np.uint8), X_indptr=np.array([0, 2, 3], np.int32))
    same(arrays, X_indices=np.array([1, 8, 0], np.uint16), X_shape=[2, 9], y_binary=[1, -1])


def test_images_of_mnist_compressed_or_not(made):
    pixels = np.arange(3 * 784).reshape(3, 784).astype(np.uint8)
    names = ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"]
    parts = [bytes(16) + pixels[:2].tobytes(), bytes(8) + bytes([5, 0])]
    parts += [bytes(16) + pixels[2:].tobytes(), bytes(8) + bytes([7])]
    files = {f"{name}-ubyte": part for name, part in zip(names, parts)}
    files["train-images-idx3-ubyte.gz"] = gzip.compress(files.pop("train-images-idx3-ubyte"))
    arrays = made("mnist", (3, 784), **files)
    same(arrays, X=pixels, y=np.array([5, 0, 7], np.uint8), n_train=2)
    assert "y_binary" not in arrays


def test_the_winds_are_those_with_both_components(made, tmp_path):
    grid = {"COADSX": ("x", [21.0, 201.0]), "COADSY": ("y", [-1.0]), "TIME": ("t", [0.0, 700.0])}
    with netcdf_file(tmp_path / "coads_climatology.cdf", "w") as file:
        for name, (axis, values) in grid.items():
            file.createDimension(axis, len(values))
            file.createVariable(name, "f8", (axis,))[:] = values
        for name, values in (("UWND", [1.5, -1e34, 2.5, 3.5]), ("VWND", [0.5, 1.0, -1e34, -2.0])):
            file.createVariable(name, "f4", ("t", "y", "x"))[:] = np.reshape(values, (2, 1, 2))
    arrays = made("winds_coads", (2, 3))
    same(arrays, X=np.array([[21, -1, 1], [-159, -1, 2]], np.float32))
    same(arrays, y=np.array([[1.5, 0.5], [3.5, -2.0]], np.float32))


def test_features_of_california_are_means_over_households(made):
    text = "-122.23,37.88,41,880,129,322,126,8.3252,452600\n"
    arrays = made("california", (1, 8), **{"cal_housing.data": text})
    rows = [[8.3252, 41, 880 / 126, 129 / 126, 322, 322 / 126, 37.88, -122.23]]
    same(arrays, X=np.array(rows), y=np.array([4.526]))


def test_outputs_of_a_matlab_file(made, tmp_path):
    values = np.random.default_rng(0).normal(size=(3, 28))
    savemat(tmp_path / "sarcos_inv_test.mat", {"sarcos_inv_test": values})
    arrays = made("sarcos_4449", (3, 21))
    same(arrays, X=values[:, :21], y=values[:, 21:])
    assert arrays["target_names"][-1] == "torque7"


def as_text(arrays, recipe, sep=","):
    """Return an archive in the format of the published tables with one class column."""
    X = np.column_stack([arrays["X_dropped"], arrays["X"]]) if recipe.excluded else arrays["X"]
    labels = arrays["class_names"][arrays["y"]]
    rows = [[str(value) for value in row] for row in X]  # the shortest text of the number
    ordered = zip(labels, rows)
    pairs = [[one, *row] if recipe.label == 0 else [*row, one] for one, row in ordered]
    return "\n".join(sep.join(row) for row in pairs)


CLASS_TABLES = [
    name
    for name, entry in CATALOG.items()
    if entry.recipe.read == "text" and entry.recipe.classes and name not in ("ads", "adult")
]


@needs_data
@pytest.mark.parametrize("name", CLASS_TABLES)
def test_a_table_written_from_its_archive_gives_the_archive(name, tmp_path):
    recipe = CATALOG[name].recipe
    with np.load(datasets.data_folder() / f"{name}.npz") as file:
        text = as_text(dict(file), recipe, sep=" " if name == "heart" else ",")
    (tmp_path / name).mkdir()  # as in the authors' repository
    (tmp_path / name / recipe.files[0].split("|")[0]).write_text(text)
    assert build(name, tmp_path, tmp_path).is_file()


def test_wine_and_balance_are_rebuilt_to_the_last_digit(tmp_path, monkeypatch):
    wine = load_wine()
    rows = [[label + 1, *row] for label, row in zip(wine.target, wine.data.tolist())]
    (tmp_path / "wine.data").write_text("\n".join(",".join(map(str, row)) for row in rows))
    levels = product(range(1, 6), repeat=4)
    sides = {1: "L", 0: "B", -1: "R"}
    rows = [[sides[int(np.sign(a * b - c * d))], a, b, c, d] for a, b, c, d in levels]
    (tmp_path / "balance-scale.data").write_text("\n".join(",".join(map(str, r)) for r in rows))
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path))
    assert cli.main(["data", "wine", "balance", "--from", str(tmp_path)]) == 0
    assert datasets.where("wine") == "file"
    assert datasets.load("wine").y_binary.sum() == 59 - 119
    assert datasets.load("balance").data.shape == (625, 4)


def run(capsys, *arguments):
    code = cli.main(["data", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("sonar.data", "0.1,R\n", "have the shape or sha256 (1, 1), but those of 'sonar'"),
        ("bupa.dat", "1,2,3,4,5,6,1\n" * 345, "have c"),
        ("vehicle.dat", "1,2,van\n1,van\n", "number of columns changed from 3 to 2"),
        ("wine.txt", "", "There is no wine.data or wine.dat in "),
    ],
)
def test_other_files_are_refused_and_nothing_is_written(capsys, tmp_path, file, content, message):
    (tmp_path / file).write_text(content)
    name, out = file.split(".")[0], tmp_path / "out"
    code, _, err = run(capsys, name, "--from", tmp_path, "--out", out)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No data set nonsense; there are ads,"),
        (["--from", "."], "--from needs the NAME of a data set"),
        (["wine", "--from", "."], "and --out DIR or BOCHNER_DATA"),
        (["cifar10_hog", "--from", ".", "--out", "."], "cannot be built: its features are"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(capsys, monkeypatch, arguments, message):
    monkeypatch.delenv("BOCHNER_DATA", raising=False)
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in err


def test_the_list_says_where_each_set_is_and_was_published(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    for name in CATALOG:
        assert f"\n{name}: " in f"\n{out}"
    facts = json.loads(run(capsys, "german", "ads_dedup", "--json")[1])
    assert facts["german"]["recipe"]["files"] == ["german.data-numeric|german.data"]
    assert facts["ads_dedup"]["recipe"]["missing"]
    assert run(capsys, "german")[1].splitlines()[1] == "  Files: german.data-numeric or german.data"


def test_every_entry_says_where_it_is_published_and_how_to_build_it():
    for name, entry in CATALOG.items():
        assert entry.recipe.source, name
        assert bool(entry.recipe.files) != bool(entry.recipe.missing), name
