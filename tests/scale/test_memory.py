"""Streaming is a promise about memory, so memory is what these tests measure: peak resident growth
of a fresh process.
"""

import subprocess
import sys

import pytest

MB = 2**20

# Runs in its own process: the peak of this one would be that of all tests before.
PROGRAM = """
import sys
import numpy as np
from bochner import SpectralFeatures

def peak():  # VmHWM and not ru_maxrss, which a process inherits from the one that started it
    return 1024 * int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))

folder, n_rows, dtype = sys.argv[1], int(sys.argv[2]), sys.argv[3]
n_features, n_components = 128, 32
X = np.lib.format.open_memmap(f"{folder}/X.npy", mode="w+", dtype=dtype, shape=(n_rows, n_features))
rng = np.random.default_rng(0)
pattern = rng.normal(size=(4096, n_features)).astype(dtype)
with open(f"{folder}/X.npy", "r+b") as file:  # written without mapping it, so that only transform maps pages
    file.seek(X.offset)
    for start in range(0, n_rows, 4096):
        file.write(pattern[: n_rows - start].tobytes())
del X
X = np.load(f"{folder}/X.npy", mmap_mode="r")
model = SpectralFeatures(n_components=n_components, random_state=0)
model.fit(pattern).transform(pattern)  # compiles or loads the kernels
out = np.lib.format.open_memmap(f"{folder}/out.npy", mode="w+", dtype=dtype, shape=(n_rows, 2 * n_components))
before = peak()
model.transform(X, out=out)
growth = peak() - before
expected = model.transform(pattern[:3])
assert np.abs(out[:3] - expected).max() < 1e-5 and np.abs(out[4096:4099] - expected).max() < 1e-5
before = peak()
SpectralFeatures(n_components=n_components, random_state=0).fit(X)
print(growth, peak() - before, X.nbytes)
"""


def growth_of_transform(folder, n_rows, dtype="float32"):
    command = [sys.executable, "-c", PROGRAM, str(folder), str(n_rows), dtype]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return [int(word) for word in process.stdout.split()]


@pytest.mark.long
def test_transform_of_a_memory_map_stays_within_its_budget(tmp_path):
    transform, fit, size = growth_of_transform(tmp_path, n_rows=600_000)
    assert size > 290 * MB
    assert transform < 120 * MB
    assert fit < 120 * MB


@pytest.mark.long
def test_transform_of_two_gigabytes_grows_by_less_than_300_mb(tmp_path):
    transform, fit, size = growth_of_transform(tmp_path, n_rows=4_200_000)
    assert size > 2 * 2**30
    assert transform < 300 * MB
    assert fit < 300 * MB
