"""Loading by name: checksums, fall-backs, and what is said when nothing is at hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets

from bochner import datasets
from bochner.datasets import files
from bochner.datasets.catalog import CATALOG, Entry, OpenMLCopy

needs_data = pytest.mark.skipif(datasets.data_folder() is None, reason="BOCHNER_DATA is not set")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BOCHNER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def write(folder, name="sonar", **arrays):
    np.savez(folder / f"{name}.npz", **({"X": np.ones((3, 2)), "y": np.arange(3)} | arrays))


@needs_data
@pytest.mark.parametrize(
    "name", [name for name, entry in CATALOG.items() if entry.sha256 and name != "cifar10_hog"]
)
def test_every_file_has_its_checksum_and_shape(name):
    if datasets.where(name) != "file":
        pytest.skip(f"{name}.npz is not in the data folder")
    bunch = datasets.load(name)
    assert bunch.data.shape == CATALOG[name].shape
    assert len(bunch.target) == len(bunch.data) if not hasattr(bunch.data, "tocsr") else True
    if "y_binary" in bunch:
        assert set(np.unique(bunch.y_binary)) == {-1, 1}


def test_a_changed_file_is_refused(folder):
    write(folder)
    with pytest.raises(ValueError, match="damaged or another version"):
        datasets.load("sonar")


def test_a_right_checksum_is_accepted_and_a_later_change_noticed(folder, monkeypatch):
    write(folder, "mine")
    with np.load(folder / "mine.npz") as file:
        digest = files.contents_digest(dict(file))
    monkeypatch.setitem(CATALOG, "mine", Entry((3, 2), digest))
    assert datasets.load("mine").data.shape == (3, 2)
    np.savez_compressed(folder / "mine.npz", y=np.arange(3), X=np.ones((3, 2)))
    assert datasets.load("mine").target.tolist() == [0, 1, 2]  # zlib and order do not matter
    write(folder, "mine", X=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="damaged"):
        datasets.load("mine")


def test_a_file_of_ones_own_is_loaded_without_a_checksum(folder):
    write(folder, "my_table", n_train=np.int64(2))
    bunch = datasets.load("my_table")
    assert bunch.n_train == 2
    assert bunch.data.shape == (3, 2)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_npz_is_refused_in_words(folder, content):
    (folder / "broken.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.npz cannot be read"):
        datasets.load("broken")


def test_pickled_objects_are_never_loaded(folder):
    np.savez(folder / "evil.npz", X=np.array([{"a": 1}], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="cannot be read"):
        datasets.load("evil")


def test_missing_arrays_are_named(folder):
    np.savez(folder / "no_x.npz", y=np.zeros(1))
    with pytest.raises(ValueError, match="has no array X"):
        datasets.load("no_x")


@pytest.mark.parametrize("name", ["../etc/passwd", "", "a b", 3])
def test_names_cannot_leave_the_folder(folder, name):
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        datasets.load(name)


def test_nothing_at_hand_says_what_to_set(folder):
    assert datasets.where("occupancy") == "nowhere"
    with pytest.raises(FileNotFoundError, match=r"BOCHNER_DATA to a folder with occupancy\.npz"):
        datasets.load("occupancy")


@needs_data
@pytest.mark.parametrize("name", ["wine", "wdbc"])
def test_the_copy_in_scikit_learn_is_the_same_data(name, monkeypatch):
    from_file = datasets.load(name)
    monkeypatch.delenv("BOCHNER_DATA")
    assert datasets.where(name) == "scikit-learn"
    shipped = datasets.load(name)
    np.testing.assert_allclose(
        shipped.data, from_file.data, atol=0.00101
    )  # the KEEL copy rounds ties another way
    np.testing.assert_array_equal(shipped.target, from_file.target)
    np.testing.assert_array_equal(shipped.y_binary, from_file.y_binary)


class FakeOpenML:
    def __init__(self, data, target):
        self.data, self.target, self.calls = data, target, 0

    def __call__(self, name, **_):
        self.calls += 1
        return SimpleNamespace(data=self.data, target=self.target)


def test_openml_is_asked_once_and_then_the_cache(folder, monkeypatch):
    monkeypatch.setitem(
        CATALOG, "tiny", Entry((4, 2), openml=OpenMLCopy("tiny", 1, ("b",), dropped_columns=1))
    )
    fake = FakeOpenML(np.arange(12.0).reshape(4, 3), np.array(["a", "b", "b", "c"]))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fake)
    assert datasets.where("tiny") == "OpenML"
    first, second = datasets.load("tiny"), datasets.load("tiny")
    assert fake.calls == 1
    assert datasets.where("tiny") == "cache"
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.data[:, 0], [1, 4, 7, 10])
    np.testing.assert_array_equal(first.y_binary, [-1, 1, 1, -1])


def test_openml_rows_of_another_shape_are_refused_and_not_cached(folder, monkeypatch):
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", FakeOpenML(np.ones((5, 60)), np.array(["Rock"] * 5))
    )
    with pytest.raises(ValueError, match="not the data set of the paper"):
        datasets.load("sonar")
    assert datasets.where("sonar") == "OpenML"


def test_an_unreachable_openml_is_one_sentence(folder, monkeypatch):
    def unreachable(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    with pytest.raises(FileNotFoundError, match=r"could not be fetched from OpenML .*no network"):
        datasets.load("sonar")


def test_an_interrupted_download_leaves_no_file(folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_archive(folder / "x.npz", {"X": np.ones(1)})
    assert list(folder.iterdir()) == []


@needs_data
def test_digit_pairs_are_low_then_high_in_mnists_order():
    pair = datasets.load("mnist17")
    assert pair.data.dtype == np.float32
    assert pair.data.max() == 1
    n_low = np.sum(pair.y_binary == -1)
    assert np.all(pair.y_binary[:n_low] == -1)
    assert np.all(pair.y_binary[n_low:] == 1)
