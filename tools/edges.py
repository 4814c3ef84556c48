"""Count the files, and the calls between files, that a fit of each kind passes through.

    python tools/edges.py                    the counts of all fits
    python tools/edges.py --list tabular     also the files, and the functions that each calls

A file counts if one of its functions runs during ``fit``; an edge is a pair of files of which one
calls the other.  Both count only files of bochner.
"""

import argparse
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import bochner
from bochner.learners import PacBayes
from bochner.operators import CurlFree

PACKAGE = f"{Path(bochner.__file__).parent}/"
_rng = np.random.default_rng(0)
X = _rng.normal(size=(200, 3))
FIELD = np.stack([np.sin(X[:, 0]), np.cos(X[:, 1]), X[:, 2]], axis=1)
VALUES = FIELD.sum(axis=1)

# The largest number of edges that we accept, and the fit.
FITS: dict[str, tuple[int, Callable[[], object]]] = {
    "tabular": (64, lambda: bochner.SpectralRegressor(random_state=0).fit(X, VALUES)),
    "features": (
        40,
        lambda: bochner.SpectralFeatures(learner=PacBayes(), random_state=0).fit(X, VALUES > 0),
    ),
    "GBRFF2": (50, lambda: bochner.GBRFF2Classifier(random_state=0).fit(X, VALUES > 0)),
    "operator": (60, lambda: bochner.OperatorRidge(CurlFree(), random_state=0).fit(X, FIELD)),
}


def files_and_edges(fit: Callable[[], object]) -> tuple[set[str], dict[tuple[str, str], set[str]]]:
    """Return the files that run during a fit, and {(caller, called): functions of the latter}."""
    files: set[str] = set()
    edges: dict[tuple[str, str], set[str]] = defaultdict(set)

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        called = frame.f_code.co_filename.removeprefix(PACKAGE)
        files.add(called)
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(PACKAGE):
            pair = (caller.f_code.co_filename.removeprefix(PACKAGE), called)
            if pair[0] != called:
                edges[pair].add(frame.f_code.co_name)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        fit()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return files, edges


def main() -> None:
    """Print the counts of the fits, and with ``--list`` their edges."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(FITS)}")
    parser.add_argument("--list", action="store_true", help="print the edges file by file")
    options = parser.parse_args()
    if unknown := set(options.names) - set(FITS):
        parser.error(f"no fit is called {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    for name in options.names or FITS:
        limit, fit = FITS[name]
        fit()  # compiles loops and imports modules
        files, edges = files_and_edges(fit)
        print(f"{name:10s} {len(files):3d} files, {len(edges):3d} edges (at most {limit} wanted)")
        for caller in sorted(files) if options.list else ():
            print(f"  {caller}")
            for (other, called), functions in sorted(edges.items()):
                if other == caller:
                    print(f"    {called}: {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
