"""Limits of model files: the version, the memory of arrays, and checksums."""

import io
import zipfile

import numpy as np
import pytest

from bochner import (
    Evidence,
    Gaussian,
    KernelMachine,
    SpectralRegressor,
    SpectralRidge,
    load,
    save,
)
from bochner.tables import model_file, model_schema
from bochner.tables.model_file import FORMAT, ModelFileError
from bochner.tables.model_schema import RefusedModel, decode

skops = pytest.importorskip("skops.io")


def _dumped(value):
    return io.BytesIO(skops.dumps(value, compression=zipfile.ZIP_DEFLATED))


@pytest.mark.parametrize(
    ("now", "then", "message"),
    [
        (FORMAT, FORMAT[:-1] + "0", "not a model of this version"),
        (
            "bochner.models.ridge.spectral",
            "bochner.ridge.spectral",
            "saved by bochner 0.2.0 or earlier: load it with",
        ),
    ],
)
def test_a_file_of_another_version_is_refused(tmp_path, now, then, message):
    X = np.linspace(0, 1, 20)[:, None]
    save(SpectralRidge(alpha=1.0, random_state=0).fit(X, X[:, 0]), tmp_path / "model.skops")
    load(tmp_path / "model.skops")
    with (
        zipfile.ZipFile(tmp_path / "model.skops") as archive,
        zipfile.ZipFile(tmp_path / "other.skops", "w") as other,
    ):
        for name in archive.namelist():
            content = archive.read(name)
            if name == "schema.json":
                assert now.encode() in content
                content = content.replace(now.encode(), then.encode())
            other.writestr(name, content)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "other.skops")


def test_arrays_count_as_two_copies_in_float64(monkeypatch):
    file = _dumped({"zeros": np.zeros(2**17, dtype=np.float32)})  # 2 MB as two copies in float64
    monkeypatch.setattr(model_schema, "MEMORY_LIMIT", 2**22)
    assert decode(file)["zeros"].shape == (2**17,)
    monkeypatch.setattr(model_schema, "MEMORY_LIMIT", 2**21)
    with pytest.raises(RefusedModel, match="more than 2 MB of memory"):
        decode(file)


def test_large_files_may_need_eight_times_their_size(monkeypatch):
    monkeypatch.setattr(model_schema, "MEMORY_LIMIT", 2**10)
    noise = np.random.default_rng(0).normal(size=2**17).astype(np.float32)
    assert decode(_dumped({"noise": noise}))["noise"].shape == (2**17,)
    with pytest.raises(RefusedModel, match="memory"):
        decode(_dumped({"zeros": np.zeros(2**17)}))


def test_models_of_many_rows_are_stored_without_compression(tmp_path, monkeypatch):
    """Equal numbers would be compressed to less than an eighth of the memory that they need."""
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 40)), 100, axis=0)
    X[:, 0] += np.arange(400)
    model = KernelMachine(Gaussian(0.1)).fit(X, X[:, 1])
    monkeypatch.setattr(model_schema, "MEMORY_LIMIT", 2**10)
    with pytest.raises(ModelFileError, match="memory"):
        save(model, tmp_path / "model.skops")
    monkeypatch.setattr(model_file, "_COMPRESSED_BYTES", 0)
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))


def test_members_of_a_leaf_store_their_points_once(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 6))
    settings = {"evidence": Evidence(n_rows=50, n_iterations=2), "max_leaf_rows": 150}
    model = SpectralRegressor(random_state=0, **settings).fit(X, np.sin(X[:, 0]))
    save(model, tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        shapes = [
            np.load(archive.open(name)).shape for name in archive.namelist() if ".npy" in name
        ]
    assert sum(len(shape) == 2 and shape[1] == 6 and shape[0] >= 100 for shape in shapes) <= 4


def test_the_checksum_of_every_array_is_compared():
    """Change a stored array without a change of its checksum."""
    numbers = np.arange(5000.0)
    content = skops.dumps({"a": numbers}, compression=zipfile.ZIP_STORED)
    place = content.index(numbers.tobytes()) + 8 * 4000
    damaged = content[:place] + np.float64(-1).tobytes() + content[place + 8 :]
    np.testing.assert_array_equal(decode(io.BytesIO(content))["a"], numbers)
    with pytest.raises(zipfile.BadZipFile):
        decode(io.BytesIO(damaged))
