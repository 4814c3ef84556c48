"""Where numbers were computed: versions, processor, threads."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ._workers import available_cores

_PACKAGES = ("bochner", "numpy", "scipy", "scikit-learn", "numba", "lightgbm", "matplotlib")


def describe_environment() -> dict[str, str]:
    """What a reader needs to judge times and small differences; no names of users or machines."""
    facts = {
        "Python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(available_cores()),
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or os.environ.get("PROCESSOR_IDENTIFIER", "unknown")
