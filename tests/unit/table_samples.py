"""Cheaper fits for tests of tables."""

from contextlib import contextmanager

import pytest
from front_door_samples import QUICK

from bochner.front_door.base import SpectralModel
from bochner.tables import rivals as rivals_module


@contextmanager
def quick_models(installed=()):
    """Let ``fit_table`` learn its kernels in six iterations, beside the other libraries in ``installed``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rivals_module, "installed", lambda: list(installed))
        patch.setattr(SpectralModel, "_evidence", lambda *_: QUICK)
        yield
