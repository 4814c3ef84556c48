"""Memory of the ridges, measured in a process of its own."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
from bochner import CurlFree, Gaussian, OperatorRidge, SpectralFeatures, SpectralRidge

def peak():  # VmHWM and not ru_maxrss, which a process inherits from the one that started it
    return 1024 * int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))

rows, kind, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
X = np.lib.format.open_memmap(path, mode="w+", dtype="f8", shape=(rows, 5))
for start in range(0, rows, 10_000):
    X[start : start + 10_000] = np.random.default_rng(start).uniform(-1, 1, size=(min(10_000, rows - start), 5))
X.flush(); del X
X = np.load(path, mmap_mode="r")
Y = np.zeros((rows, 5)); Y[:, 0] = 1.0
warm = OperatorRidge(CurlFree(Gaussian(gamma=1.0)), n_components=100, alpha=1.0, random_state=0)
warm.fit(np.array(X[:3000]), Y[:3000]); warm.predict(np.array(X[:3000]))
before = peak()
if kind == "operator":
    model = OperatorRidge(CurlFree(Gaussian(gamma=1.0)), n_components=100, alpha=1.0, random_state=0).fit(X, Y)
else:
    model = SpectralRidge(SpectralFeatures(Gaussian(gamma=1.0), n_components=100), alpha=[0.1, 1.0], random_state=0).fit(X, Y)
model.predict(X)
print(peak() - before)
"""


def added_bytes(rows, kind, tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", SCRIPT, str(rows), kind, str(tmp_path / "rows.npy")]
    return int(
        subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    )


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc"
)
@pytest.mark.long
@pytest.mark.parametrize("kind", ["operator", "spectral"])
def test_a_fit_never_holds_the_feature_matrix(kind, tmp_path):
    """60000 rows x 200 features are 96 MB; predictions alone are 2.4 MB and blocks are bounded."""
    assert added_bytes(60_000, kind, tmp_path) < 60e6
