"""Seconds of CPU that a first fit spends on compiling: with an empty cache of compiled code, less
the same fit in the next process.

Each figure is of two fresh processes, on 400 rows and 10 columns (one of them of two values), on
one thread. A fit that needs other loops (long tables, several classes, other learners) compiles
those when it comes to them. ``python benchmarks/bench_compile.py`` prints the table.
"""

import os
import subprocess
import sys
import tempfile

from measure import machine_facts, table

LIMIT = "<= 3"
ESTIMATORS = (
    "SpectralClassifier()",
    "SpectralRegressor()",
    "KernelMachine()",
    "SpectralRidge()",
    "OperatorRidge()",
    "OperatorRidgeClassifier()",
    "OperatorKernelRidge()",
    "FourierBoostingClassifier()",
    "FourierBoostingRegressor()",
    "GBRFF1Classifier()",
    "GBRFF2Classifier()",
    "CertifiedClassifier()",
    "LandmarkFeatures()",
    "SpectralFeatures()",
    "SpectralFeatures(learner=PacBayes())",
    "SpectralFeatures(learner=OptimalAlignment())",
    "SpectralFeatures(learner=MarginGame())",
    "SpectralFeatures(learner=JointDescent())",
)
PROGRAM = """
import time
import numpy as np
from bochner import *
from bochner.learners import *
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 10))
X[:, 3] = X[:, 3] > 0
y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 3] + 0.3 * rng.normal(size=400)
estimator = {estimator}
start = time.process_time()
estimator.fit(X, y if {values} else y > np.median(y))
print(time.process_time() - start)
"""
VALUES = (
    "SpectralRegressor",
    "KernelMachine",
    "SpectralRidge",
    "OperatorRidge(",
    "OperatorKernel",
    "FourierBoostingR",
)


def fit_seconds(estimator, cache):
    """Seconds of CPU of one fit in a fresh process that keeps compiled code in the folder
    ``cache``.
    """
    program = PROGRAM.format(estimator=estimator, values=estimator.startswith(VALUES))
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    environment = os.environ | one_thread | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-W", "ignore", "-c", program]
    return float(
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    )


def rows():
    """One row for each estimator."""
    for estimator in ESTIMATORS:
        with tempfile.TemporaryDirectory() as cache:
            first = fit_seconds(estimator, cache)
            second = min(fit_seconds(estimator, cache) for _ in range(2))
        yield (
            f"first {estimator}.fit: seconds of compiling",
            first - second,
            LIMIT,
            f"{first:.2f} s, then {second:.2f} s",
        )


if __name__ == "__main__":
    print("\n".join(machine_facts()), table(rows()), sep="\n\n")
