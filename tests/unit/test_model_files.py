"""Model files: what was saved comes back, and everything else is refused before an object of it is built."""

import io
import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")

from sklearn.datasets import load_iris  # noqa: E402

from bochner import fit_table, load, save  # noqa: E402
from bochner.tables import ModelFileError  # noqa: E402
from bochner.tables import model_file as model_file_module  # noqa: E402


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).frame.assign(target=lambda frame: np.array(["a", "b", "c"])[frame.target])


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
        with pytest.raises(ModelFileError, match="damaged or no model file"):
            load(path)


def test_a_flipped_byte_never_changes_a_model(model, model_file, tmp_path, iris):
    """Bytes that a zip archive does not look at, such as times of day, may differ; what is loaded may not."""
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
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_", "."), text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x04\x95 a pickle", "damaged or no model file"),
        (zip_of(readme_txt="hello"), "damaged or no model file"),
        (zip_of(schema_json="{"), "damaged or no model file"),
        (zip_of(schema_json="[]"), "damaged or no model file"),
    ],
)
def test_foreign_files_are_refused(tmp_path, content, message):
    (tmp_path / "x.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match="There is no model file"):
        load(tmp_path / "absent.skops")


def test_skops_files_of_others_are_refused(tmp_path):
    skops_io.dump({"format": "another"}, tmp_path / "x.skops")
    with pytest.raises(ModelFileError, match="no model of `bochner fit`"):
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
    with pytest.raises(ModelFileError, match=r"refused: it holds objects of type .*Hostile"):
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
    with pytest.raises(ModelFileError, match=r"refused: it holds objects of type os\.system"):
        load(evil)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file_module, "_MAX_BYTES", 1000)
    (tmp_path / "bomb.skops").write_bytes(zip_of(schema_json="0" * 2000))
    with pytest.raises(ModelFileError, match="would unpack to 2000 bytes"):
        load(tmp_path / "bomb.skops")


def test_an_interrupted_save_leaves_no_file(model, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(skops_io, "dump", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []
