"""Mutated and crafted model files: a few in the quick suite, more than a thousand in `make
test-all`.
"""

import io
import resource
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")

from sklearn.svm import SVC

from bochner import load
from bochner.tables import ModelFileError
from tests.hostile.crafted import CRAFTED, npy, parts_of, rewritten
from tests.hostile.files import EXPECTED, REFUSED, outcome, outcomes, table
from tests.hostile.model_samples import samples

# Their archives take seconds to write, not to refuse.
SLOW = {
    "one bomb",
    "many references",
    "schema of 700 MB",
    "raw values",
    "many values",
    "directory of a million",
}
SLOW |= {"object array of arrays", "shared references"}
# What is odd about these is only more than a model needs: 300 000 values, a list in a list.
HARMLESS = {"many values"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return samples(tmp_path_factory.mktemp("models"), few=True)


@pytest.mark.long
def test_some_mutated_files(made, tmp_path):
    found = outcomes(made, tmp_path, 24, crafted={})
    assert {name for counts in found.values() for name in counts} <= set(EXPECTED), table(found)
    assert sum(counts[REFUSED] for counts in found.values()) > 8


@pytest.mark.parametrize("name", [name for name in CRAFTED if name not in SLOW])
def test_crafted_files_are_refused(name, made, tmp_path):
    assert outcome(made[0], CRAFTED[name](made[0].content, tmp_path), tmp_path) == REFUSED


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SLOW))
def test_large_crafted_files_are_refused(name, made, tmp_path):
    said = outcome(made[0], CRAFTED[name](made[0].content, tmp_path), tmp_path)
    assert said == REFUSED or (name in HARMLESS and said in EXPECTED)


@pytest.mark.long
def test_a_thousand_mutated_files_in_less_than_a_gigabyte():
    ran = subprocess.run(
        [sys.executable, "-m", "tests.hostile.files", "1000", "1"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout.split("peak memory: ")[1].split()[0]) < 1000


@pytest.mark.long
def test_references_count_and_not_arrays(made, tmp_path):
    """Each of 25 references to an array of 100 MB would be read, or converted, by itself."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (tmp_path / "x.skops").write_bytes(CRAFTED["many references"](made[0].content, tmp_path))
    with pytest.raises(ModelFileError, match="would need more than 512 MB of memory"):
        load(tmp_path / "x.skops")
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 450 * 1024
    )  # KB: three arrays, not 25


def estimator_of_others(schema, parts):
    buffer = io.BytesIO(skops_io.dumps(SVC().fit([[0.0], [1.0]], [0, 1])))
    import json

    other = parts_of(buffer.getvalue())
    schema["content"]["model"] = json.loads(other.pop("schema.json"))
    parts |= other


def shorter_array(schema, parts):
    """All arrays of more than one number lose their last one."""
    for name, part in parts.items():
        array = np.load(io.BytesIO(part))
        if array.ndim == 1 and len(array) > 1:
            parts[name] = npy(array[:-1])


def huge_array(schema, parts):
    name = next(name for name in parts if name.endswith(".npy"))
    parts[name] = (
        npy(np.zeros(10)).replace(b"'shape': (10,)", b"'shape': (10000000000,)").ljust(1000, b"\0")
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (huge_array, "contradicts its header"),
        (estimator_of_others, r"objects of type sklearn\.svm\._classes\.SVC"),
        (shorter_array, "is damaged or not a model file"),
    ],
)
def test_what_no_model_of_ours_contains_is_refused(made, tmp_path, change, message):
    (tmp_path / "x.skops").write_bytes(rewritten(made[0].content, change))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "x.skops")


def test_the_same_archive_written_anew_is_loaded(made, tmp_path):
    (tmp_path / "x.skops").write_bytes(rewritten(made[0].content, lambda schema, parts: None))
    load(tmp_path / "x.skops")
