"""Mutation tests: insert one wrong formula at a time and check that the tests fail.

    make mutants                                       all mutants, on all cores
    python tools/mutants.py bernstein pac-bayes        mutants whose names start with these words
    python tools/mutants.py --jobs 1                   one at a time
    python tools/mutants.py --where                    run nothing, print the file of each mutant

The wrong formulas are listed in ``mutant_list.py``.  They are inserted in temporary copies of
``src`` and ``tests``, never in the repository.  The exit code is 1 if a mutant survived (its tests
passed), or could not be planted because its text is no longer in the source, or is there twice.
Then write the new text into ``mutant_list.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mutant_list import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
# Some mutants make a loop endless.  A run counts as failed after so many seconds, which include the
# compilation of all kernels, plus so many times the seconds that its tests take without a mutant.
TIMEOUT, SLOWER = 180.0, 4.0
# Plugins that are not needed; that of zarr imports all of zarr, which takes three seconds.
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:zarr")
ALL_TESTS = ("-m", "")  # also those that are marked long
_PASSED, _FAILED = 0, 1  # exit codes of pytest; all others mean that no test was run

running: set[subprocess.Popen] = set()
stopped = threading.Event()


def place(package: Path, mutant: Mutant, sources: dict[Path, str] | None = None) -> Path | str:
    """Return the only file that contains the mutant's text, or the reason if there is none.

    The files that the mutant names are searched first, then the whole package, whose texts are read
    unless they are given as ``sources``.
    """
    sources = (
        {file: file.read_text() for file in sorted(package.rglob("*.py"))}
        if sources is None
        else sources
    )
    named = [package / name for name in mutant.files if package / name in sources]
    for files in (named, sources):
        counts = {file: sources[file].count(mutant.text) for file in files}
        if sum(counts.values()) == 1:
            return next(file for file, count in counts.items() if count)
        if any(counts.values()):
            return "not unique"
    return "text not found"


def plant(package: Path, mutant: Mutant) -> tuple[Path, os.stat_result, str] | str:
    """Write the wrong formula; return the arguments of ``restore``, or the reason for a failure."""
    file = place(package, mutant)
    if isinstance(file, str):
        return file
    stat, source = file.stat(), file.read_text()
    wrong = source.replace(mutant.text, mutant.wrong)
    try:
        compile(wrong, file, "exec")
    except SyntaxError as error:
        return f"invalid syntax: {error}"
    file.write_text(wrong)
    # Bytecode and compiled kernels are valid for a time and size: invalidate them.
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**10))
    return file, stat, source


def restore(file: Path, stat: os.stat_result, source: str) -> None:
    """Write the right formula with its old time of modification, so that caches stay valid."""
    file.write_text(source)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def run_tests(
    copy: Path,
    tests: Iterable[str],
    *options: str,
    timeout: float | None = None,
    **environment: str,
) -> tuple[int, str]:
    """Return the exit code of pytest on the copy, and its output."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", *WITHOUT]
    process = subprocess.Popen(
        [*command, *options, *(f"tests/{name}" for name in tests)],
        cwd=copy,
        env=os.environ
        | {"PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # to stop it together with its own child processes
    )
    running.add(process)
    try:
        if stopped.is_set():  # set while this process was started
            stop(process)
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return _FAILED, f"not finished after {timeout:.0f} s"
    finally:
        stop(process)
        running.discard(process)
    return process.returncode, output


def first_failure(output: str) -> str:
    """Return the first test that failed, or the end of the output if no test did."""
    failed = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", output, re.MULTILINE)
    return failed.group(1) if failed else output.strip()[-300:]


def file_seconds(output: str) -> dict[str, float]:
    """Return the seconds of each test file, from the durations that pytest reports."""
    seconds: dict[str, float] = defaultdict(float)
    for number, name in re.findall(r"^([\d.]+)s \w+ +tests/([^:]+)", output, re.MULTILINE):
        seconds[name] += float(number)
    return seconds


def stop(process: subprocess.Popen) -> None:
    """Kill a test run and its child processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def judge(copy: Path, mutant: Mutant, timeout: float) -> tuple[str, float, str]:
    """Return "killed", "survived" or "not planted", the seconds, and the failed test or reason."""
    start = time.monotonic()
    planted = plant(copy / "src" / "bochner", mutant)
    if isinstance(planted, str):
        return "not planted", 0.0, planted
    fresh = tempfile.mkdtemp(dir=copy)
    # A compiled kernel is valid for one digest of all files in its folder.  Kernels of a mutant in
    # this folder are compiled and stored elsewhere, so that those of the right formula stay valid.
    environment = {"NUMBA_CACHE_DIR": fresh} if _has_kernels(planted[0].parent) else {}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    options = ["-x", *(ALL_TESTS if mutant.long else ())]
    try:
        code, output = run_tests(copy, mutant.tests, *options, timeout=timeout, **environment)
    finally:
        restore(*planted)
        shutil.rmtree(fresh, ignore_errors=True)
    verdict = {_PASSED: "survived", _FAILED: "killed"}.get(code, "not planted")
    detail = "" if verdict == "survived" else first_failure(output)
    return verdict, time.monotonic() - start, detail


def _has_kernels(folder: Path) -> bool:
    """Return whether a file in this folder is compiled by numba."""
    return any("@compiled" in file.read_text() for file in folder.glob("*.py"))


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def main() -> int:
    """Read the arguments and run the chosen mutants."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("names", nargs="*", help="only mutants whose names start with these")
    parser.add_argument("--jobs", type=int, default=_n_cores(), help="processes (default: cores)")
    parser.add_argument("--where", action="store_true", help="run nothing, print the files")
    arguments = parser.parse_args()
    starts = tuple(arguments.names) or ("",)
    chosen = [mutant for mutant in MUTANTS if mutant.name.startswith(starts)]
    if not chosen:
        parser.error(f"no mutant's name starts with {' or '.join(starts)}")
    if arguments.where:
        places = {mutant.name: place(ROOT / "src" / "bochner", mutant) for mutant in chosen}
        for name, found in places.items():
            where = f"NOT FOUND: {found}" if isinstance(found, str) else found.relative_to(ROOT)
            print(f"{name:35} {where}")
        return int(any(isinstance(found, str) for found in places.values()))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            return report(chosen, Path(folder), max(1, arguments.jobs))
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


def report(chosen: list[Mutant], folder: Path, n_jobs: int) -> int:
    """Run the chosen mutants in copies below ``folder``, print a table, return the exit code."""
    start, first = time.monotonic(), folder / "0"
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, first / name)
    shutil.copy2(ROOT / "pyproject.toml", first)
    data = ROOT.parent / "shared" / "data"  # the place of data sets if no variable names another
    if "BOCHNER_DATA" not in os.environ and data.is_dir():
        os.environ["BOCHNER_DATA"] = str(data)
    long = {name for mutant in chosen if mutant.long for name in mutant.tests}
    usual: dict[str, float] = defaultdict(float)
    quick = {name for mutant in chosen for name in mutant.tests} - long
    for tests, options, kind in ((quick, (), "quick tests"), (long, ALL_TESTS, "all tests")):
        if not tests:
            continue
        print(f"{kind} of {len(tests)} files without a mutant ...", flush=True)
        begun = time.monotonic()
        code, output = run_tests(first, sorted(tests), "-n", str(n_jobs), "--durations=0", *options)
        if code != _PASSED:
            wrong = first_failure(output)
            print(f"Without a mutant all tests must pass, but: {wrong}", file=sys.stderr)
            return 2
        usual |= file_seconds(output)
        print(f"passed, {time.monotonic() - begun:.0f} s\n", flush=True)
    n_jobs = min(n_jobs, len(chosen))
    copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
    copies.put(first)
    for job in range(1, n_jobs):  # after the first run, to copy its compiled kernels
        copies.put(Path(shutil.copytree(first, folder / str(job))))

    def work(mutant: Mutant) -> tuple[str, float, str]:
        copy = copies.get()
        try:
            if stopped.is_set():
                return "stopped", 0.0, ""
            expected = sum(usual[name.partition("::")[0]] for name in mutant.tests)
            return judge(copy, mutant, TIMEOUT + SLOWER * expected)
        finally:
            copies.put(copy)

    verdicts: dict[Mutant, str] = {}
    width = max(len(mutant.name) for mutant in chosen)
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            pending = {pool.submit(work, mutant): mutant for mutant in chosen}
            for future in as_completed(pending):
                mutant, (verdict, seconds, detail) = pending[future], future.result()
                verdicts[mutant] = verdict
                name = f"{mutant.name:{width}} {'long' if mutant.long else '':4}"
                line = f"{len(verdicts):3}/{len(chosen)}  {name} {verdict:11} {seconds:5.0f} s"
                print(f"{line}  {detail}", flush=True)
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                stop(process)
            raise
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall, cpu = time.monotonic() - start, used.ru_utime + used.ru_stime
    print(f"\n{wall:.0f} s, {cpu:.0f} s of CPU time in test runs")
    return summary(verdicts)


def summary(verdicts: dict[Mutant, str]) -> int:
    """Print the counts and the names of failures; return the exit code."""
    counts = Counter(verdicts.values())
    print(", ".join(f"{counts[kind]} {kind}" for kind in ("killed", "survived", "not planted")))
    for verdict in ("survived", "not planted"):
        names = sorted(mutant.name for mutant in verdicts if verdicts[mutant] == verdict)
        if names:
            print(f"{verdict}: {', '.join(names)}")
    return int(counts["killed"] < len(verdicts))


if __name__ == "__main__":
    sys.exit(main())
