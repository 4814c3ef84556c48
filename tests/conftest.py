"""Shared fixtures and the order of tests.

Data sets are read from BOCHNER_DATA and BOCHNER_TABLES, by default folders beside the checkout.
"""

import functools
import gc
import os
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
for _name, _folder in (("BOCHNER_DATA", _BESIDE / "data"), ("BOCHNER_TABLES", _BESIDE / "tables")):
    if _name not in os.environ and _folder.is_dir():
        os.environ[_name] = str(_folder)

# Workers share the cores: threads of BLAS and OpenMP that spin while they wait would take them from
# each other.  Tests of threads ask for as many as they need.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# The quick suite draws the same examples in every run; `make test-all` looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

try:
    import matplotlib

    matplotlib.use("Agg")
except ImportError:
    warnings.warn("matplotlib is missing: plots are not tested", stacklevel=1)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(
    params=[0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)]
)
def seed(request):
    """Seed of a random claim: one in the quick tests, three in `make test-all`."""
    return request.param


# Compiling all loops takes a minute.  These files need different loops and run first, each on a
# worker of its own, so that a loop is compiled once and the other worker reads it from the cache on
# disk.
COMPILING_FIRST = [
    "unit/test_grams.py",
    "unit/test_batches.py",
    "unit/test_boosting_kernels.py",
    "unit/test_kernels.py",
]


def pytest_collection_modifyitems(items):
    """Run files that compile first, then those with many tests, so that workers end together."""
    root = Path(__file__).parent
    order = {root / name: place for place, name in enumerate(COMPILING_FIRST)}
    sizes = Counter(item.path for item in items)
    items.sort(
        key=lambda item: (order.get(item.path, len(order)), -sizes[item.path], str(item.path))
    )


def pytest_collection_finish():
    """Save time in all tests.

    Later garbage collections skip modules and collected tests, which live to the end.
    ``clone`` and ``get_params`` inspect the signature of each class once, not at each call.
    """
    gc.freeze()
    BaseEstimator = sys.modules["sklearn.base"].BaseEstimator if "sklearn" in sys.modules else None
    if BaseEstimator:
        inspected = BaseEstimator.__dict__["_get_param_names"].__func__
        BaseEstimator._get_param_names = classmethod(functools.cache(inspected))
