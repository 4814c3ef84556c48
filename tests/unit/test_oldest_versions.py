"""The constraints of `make test-oldest` are the lower bounds of pyproject.toml, each a version that
pip can ask for.
"""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location(
    "oldest_versions", ROOT / "tools" / "oldest_versions.py"
)
oldest_versions = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(oldest_versions)


def pyproject(dependencies, extras=(), dev=()):
    return {
        "project": {
            "dependencies": list(dependencies),
            "optional-dependencies": {"some": list(extras)},
        },
        "dependency-groups": {"dev": list(dev)},
    }


def test_bounds_become_versions():
    given = pyproject(
        ["numpy>=2"], ["dask[array]>=2024.8", "bochner[plot]"], ["pytest >= 8.2", "numpy>=2"]
    )
    assert oldest_versions.constraints(given) == ["dask==2024.8", "numpy==2", "pytest==8.2"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy==2"])
def test_a_requirement_without_a_lowest_version_is_refused(requirement):
    with pytest.raises(ValueError, match=r"names no lowest version; write 'name>=version'"):
        oldest_versions.constraints(pyproject([requirement]))


def test_two_bounds_of_one_package_are_refused():
    with pytest.raises(ValueError, match="Two lowest versions of pandas"):
        oldest_versions.constraints(pyproject([], ["pandas>=2.2"], ["pandas>=2.3"]))


def test_ours_can_be_read():
    lines = oldest_versions.constraints(tomllib.loads((ROOT / "pyproject.toml").read_text()))
    assert {"numpy", "scikit-learn", "dask", "pytest"} <= {
        line.partition("==")[0] for line in lines
    }
