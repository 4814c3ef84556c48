"""Cheaper fits for tests of tables."""

from contextlib import contextmanager

import pytest

from bochner import Evidence
from bochner.tables.evaluate import baselines
from bochner.tabular.base import SpectralModel

QUICK = Evidence(n_rows=150, n_iterations=6, standardize=False)


@contextmanager
def quick_models(installed=()):
    """Let ``fit_table`` learn its kernels in six iterations, beside the other libraries in
    ``installed``.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "installed", lambda: list(installed))
        patch.setattr(SpectralModel, "_evidence", lambda *_: QUICK)
        yield
