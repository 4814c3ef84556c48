"""Mutated model files: some in the quick suite, a thousand in `make test-all`."""

import io
import json
import zipfile

import numpy as np
import pytest

pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")

from sklearn.datasets import load_iris  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from bochner import fit_table, load, save  # noqa: E402
from bochner.tables import ModelFileError  # noqa: E402
from tests.hostile.files import outcomes  # noqa: E402


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "iris.skops"
    frame = load_iris(as_frame=True).frame.assign(target=lambda frame: np.array(["a", "b", "c"])[frame.target])
    save(fit_table(frame, "target"), path)
    return path.read_bytes()


def check(content, folder, n_times, seed):
    found = outcomes(content, folder, n_times, seed)
    assert set(found) <= {"refused", "loaded"}
    assert found["refused"] > n_times / 3


def test_some_mutated_files(content, tmp_path):
    check(content, tmp_path, 300, 0)


@pytest.mark.long
def test_a_thousand_mutated_files(content, tmp_path):
    check(content, tmp_path, 1000, 1)


def rewritten(content, change):
    """The archive with its description and arrays changed by ``change(schema, parts)``."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts.pop("schema.json"))
    change(schema, parts)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in (parts | {"schema.json": json.dumps(schema)}).items():
            archive.writestr(name, part)
    return buffer.getvalue()


def huge_array(schema, parts):
    name = next(name for name in parts if name.endswith(".npy"))
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(10))
    parts[name] = buffer.getvalue().replace(b"'shape': (10,)", b"'shape': (10000000000,)").ljust(1000, b"\0")


def deep_lists(schema, parts):
    deep: list = []
    for _ in range(300):
        deep = [deep]
    schema["content"]["more"] = deep


def estimator_of_others(schema, parts):
    buffer = io.BytesIO(skops_io.dumps(SVC().fit([[0.0], [1.0]], [0, 1])))
    with zipfile.ZipFile(buffer) as archive:
        other = json.loads(archive.read("schema.json"))
        parts |= {name: archive.read(name) for name in archive.namelist() if name != "schema.json"}
    schema["content"]["model"] = other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (huge_array, "is not what it announces"),
        (deep_lists, "too large or too deep"),
        (estimator_of_others, r"objects of type sklearn\.svm\._classes\.SVC"),
    ],
)
def test_what_no_model_of_ours_holds_is_refused(content, tmp_path, change, message):
    (tmp_path / "x.skops").write_bytes(rewritten(content, change))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "x.skops")


def test_the_same_archive_written_anew_is_loaded(content, tmp_path):
    (tmp_path / "x.skops").write_bytes(rewritten(content, lambda schema, parts: None))
    load(tmp_path / "x.skops")
