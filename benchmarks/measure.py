"""Ratios that mean something: engines interleaved in one run, the best of several repetitions of
each.
"""

import platform
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info, threadpool_limits


def best_times(engines, repetitions=5, clock=time.process_time):
    """{name: seconds} for a dictionary of functions, called in turn so that a slow moment of the
    machine hits all.
    """
    best = dict.fromkeys(engines, float("inf"))
    for function in engines.values():
        function()  # compile, touch memory
    for _ in range(repetitions):
        for name, function in engines.items():
            start = clock()
            function()
            best[name] = min(best[name], clock() - start)
    return best


@contextmanager
def one_thread():
    """BLAS, OpenMP and bochner on one thread; CPU time is then comparable whatever else the machine
    does.
    """
    with threadpool_limits(1):
        yield


def machine_facts():
    """Lines that say where the figures come from."""
    cpu = "unknown"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu
        )
        flags = next((line for line in lines if line.startswith("flags")), "")
        cpu += ", AVX-512" if "avx512f" in flags else ", AVX2" if "avx2" in flags else ""
    blas = {
        f"{info['internal_api']} {info.get('version')}"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    threads = {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba")
    )
    return [
        f"CPU: {cpu}; BLAS threads: {max(threads, default=1)}",
        f"Python {platform.python_version()}, {packages}, {', '.join(sorted(blas))}",
    ]


def table(rows):
    """Rows (what, ratio, target, note) as Markdown; a target is a string such as '<= 1.2' or '>=
    2.5', or empty.
    """
    lines = ["| what | measured | target | | note |", "|---|---|---|---|---|"]
    for what, ratio, target, note in rows:
        lines.append(f"| {what} | {ratio:.2f} | {target} | {verdict(ratio, target)} | {note} |")
    return "\n".join(lines)


def verdict(ratio, target):
    """Whether a measured ratio meets its target; nothing where there is none."""
    if not target:
        return ""
    relation, limit = target.split()
    return (
        "reached"
        if (ratio <= float(limit) if relation == "<=" else ratio >= float(limit))
        else "missed"
    )
