"""Shared fixtures; data sets come from BOCHNER_DATA, by default a folder beside the checkout when there is one."""

import os
import warnings
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if "BOCHNER_DATA" not in os.environ and _BESIDE.is_dir():
    os.environ["BOCHNER_DATA"] = str(_BESIDE)

try:
    import matplotlib

    matplotlib.use("Agg")
except ImportError:
    warnings.warn("matplotlib is missing: plots are not tested", stacklevel=1)


@pytest.fixture(params=[0, 1, 2])
def seed(request):
    """Random claims must hold for several seeds."""
    return request.param
