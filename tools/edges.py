"""Count the files, and the calls between files, that a fit of each kind passes through.

    python tools/edges.py

A file counts if one of its functions runs during ``fit``; an edge is a pair of files of which one
calls the other.  Both count only files of bochner.
"""

import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import bochner
from bochner.learners import PacBayes
from bochner.operators import CurlFree

PACKAGE = str(Path(bochner.__file__).parent)
_rng = np.random.default_rng(0)
X = _rng.normal(size=(200, 3))
FIELD = np.stack([np.sin(X[:, 0]), np.cos(X[:, 1]), X[:, 2]], axis=1)
VALUES = FIELD.sum(axis=1)

# The largest number of edges that we accept, and the fit.
FITS: dict[str, tuple[int, Callable[[], object]]] = {
    "tabular": (60, lambda: bochner.SpectralRegressor(random_state=0).fit(X, VALUES)),
    "features": (
        40,
        lambda: bochner.SpectralFeatures(learner=PacBayes(), random_state=0).fit(X, VALUES > 0),
    ),
    "GBRFF2": (50, lambda: bochner.GBRFF2Classifier(random_state=0).fit(X, VALUES > 0)),
    "operator": (55, lambda: bochner.OperatorRidge(CurlFree(), random_state=0).fit(X, FIELD)),
}


def files_and_edges(fit: Callable[[], object]) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the files of bochner that run during a fit, and the pairs of which one calls the
    other.
    """
    files: set[str] = set()
    edges: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        called = frame.f_code.co_filename
        files.add(called)
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(PACKAGE):
            edges.add((caller.f_code.co_filename, called))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        fit()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return files, {(caller, called) for caller, called in edges if caller != called}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, (limit, fit) in FITS.items():
        fit()  # compiles loops and imports modules
        files, edges = files_and_edges(fit)
        print(f"{name:10s} {len(files):3d} files, {len(edges):3d} edges (at most {limit} wanted)")
