"""Description of the environment for bug reports: versions, processor, threads.

It has no paths and no names of users or machines.
"""

import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from .._loops.compiling import cache_place
from .._loops.threads import thread_count

# Variables that change results or speed; they hold numbers, not paths.
_NUMBERS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    *("NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME"),
)
# Variables that hold paths, which are not shown.
_PLACES = ("BOCHNER_DATA", "BOCHNER_TABLES", "BOCHNER_CACHE", "NUMBA_CACHE_DIR")


def machine() -> dict[str, str]:
    """Return Python, system and processor."""
    return {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or os.environ.get("PROCESSOR_IDENTIFIER", "unknown")


def versions(packages: Any) -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    installed = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def requirements() -> dict[str, list[str]]:
    """Return the packages of each extra but ``all``, as the installed library declares them.

    "" are the dependencies.  Every requirement has the form ``name[extras]>=version``, and an extra
    is the only marker.
    """
    declared: dict[str, list[str]] = {"": []}
    for line in requires("bochner") or []:
        requirement, _, marker = line.partition(";")
        extra = marker.rpartition("==")[2].strip(" '\"")
        package = requirement.partition(">=")[0].partition("[")[0].strip()
        declared.setdefault(extra, []).append(package)
    return {extra: packages for extra, packages in sorted(declared.items()) if extra != "all"}


def environment() -> dict[str, Any]:
    """Return the facts for a bug report as plain values."""
    import numpy.linalg  # noqa: F401  # so that the BLAS libraries of both are loaded, and listed
    import scipy.linalg  # noqa: F401

    try:
        declared = requirements()
    except PackageNotFoundError:  # run from its sources
        declared = {}
    installed = versions({package for packages in declared.values() for package in packages})
    blas = [
        {
            key: pool[key]
            for key in ("internal_api", "version", "num_threads", "threading_layer")
            if pool.get(key)
        }
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
    return {
        **machine(),
        "threads": thread_count(),
        "BLAS": blas,
        "compiled kernels": cache_place(),
        "variables": {name: os.environ[name] for name in _NUMBERS if name in os.environ}
        | {name: "set" for name in _PLACES if os.environ.get(name)},
        "packages": {
            extra or "always": {name: installed.get(name) for name in sorted(packages)}
            for extra, packages in declared.items()
        },
    }


def environment_text(facts: dict[str, Any]) -> str:
    """Return the facts as lines that can be pasted into a report."""
    libraries = [
        f"{one['internal_api']} {one.get('version', '')}, {one['num_threads']} threads"
        for one in facts["BLAS"]
    ]
    variables = [f"{name}={value}" for name, value in facts["variables"].items()]
    lines = {
        "bochner": facts["bochner"],
        **{name: facts[name] for name in ("Python", "system", "processor")},
        "threads": str(facts["threads"]),
        "BLAS": "; ".join(libraries) or "none found",
        "compiled kernels": facts["compiled kernels"],
        "variables": ", ".join(variables) or "none set",
    }
    for extra, packages in facts["packages"].items():
        name = "dependencies" if extra == "always" else f"extra {extra}"
        lines[name] = ", ".join(
            f"{package} {installed or 'missing'}" for package, installed in packages.items()
        )
    width = max(map(len, lines))
    return "\n".join(f"{name:{width}}  {value}" for name, value in lines.items())
