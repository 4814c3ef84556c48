"""Do the tests notice a wrong formula?  Plants the errors of ``mutant_list.py`` one at a time and runs the tests concerned.

    make mutants                                       all of them, about twenty minutes
    python tools/mutants.py bernstein pac-bayes        those whose name begins so
    python tools/mutants.py --jobs 2
    python tools/mutants.py --where                    runs nothing: which texts are still there

Errors are only ever planted in temporary copies of ``src`` and ``tests``.  The exit code is 1 if an error that must be
noticed was not, if more than 10 % were not, or if one could not be planted: its text is gone or no longer unique, because the
source was rewritten; then ``mutant_list.py`` wants the new text.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mutant_list import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
MOST_SURVIVORS = 0.1
# Some errors make a loop endless; that counts as noticed.  Compiling all kernels anew takes a minute of it.
PATIENCE = 300.0
_PASSED, _FAILED = 0, 1  # what pytest returns; anything else means that no test was run

running: set[subprocess.Popen] = set()
stopped = threading.Event()


def place(package: Path, mutant: Mutant) -> Path | str:
    """The one file that holds the mutant's text: among those it names, else anywhere in the package; or why there is none."""
    named = [package / name for name in mutant.files if (package / name).is_file()]
    for files in (named, sorted(package.rglob("*.py"))):
        counts = {file: file.read_text().count(mutant.text) for file in files}
        if sum(counts.values()) == 1:
            return next(file for file, count in counts.items() if count)
        if any(counts.values()):
            return "not unique"
    return "text not found"


def plant(package: Path, mutant: Mutant) -> tuple[Path, os.stat_result, str] | str:
    """Write the wrong formula; returns what ``restore`` needs, or why it could not be planted."""
    file = place(package, mutant)
    if isinstance(file, str):
        return file
    stat, source = file.stat(), file.read_text()
    wrong = source.replace(mutant.text, mutant.wrong)
    try:
        compile(wrong, file, "exec")
    except SyntaxError as error:
        return f"no longer Python: {error}"
    file.write_text(wrong)
    # Bytecode and compiled kernels know their source by time and size; never let those of the right formula pass.
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**10))
    return file, stat, source


def restore(file: Path, stat: os.stat_result, source: str) -> None:
    """The right formula again, as old as it was: caches stay valid."""
    file.write_text(source)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def run_tests(copy: Path, tests: list[str], *options: str, **environment: str) -> tuple[int, str]:
    """(exit code of pytest, first failure) of the tests on the copy."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", *options]
    process = subprocess.Popen(
        [*command, *(f"tests/{name}" for name in tests)],
        cwd=copy,
        env=os.environ
        | {"PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that its own workers can be stopped with it
    )
    running.add(process)
    try:
        if stopped.is_set():  # between the wish to stop and this process
            stop(process)
        output, _ = process.communicate(timeout=PATIENCE if options else None)
    except subprocess.TimeoutExpired:
        return _FAILED, f"no end within {PATIENCE:.0f} s"
    finally:
        stop(process)
        running.discard(process)
    failed = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", output, re.MULTILINE)
    return process.returncode, failed.group(1) if failed else output.strip()[-300:]


def stop(process: subprocess.Popen) -> None:
    """End a test run and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def judge(copy: Path, mutant: Mutant) -> tuple[str, float, str]:
    """("killed", "survived" or "not planted", seconds, the test that noticed or the reason)."""
    start = time.monotonic()
    planted = plant(copy / "src" / "bochner", mutant)
    if isinstance(planted, str):
        return "not planted", 0.0, planted
    # A changed kernel is inlined into kernels of other files, whose caches do not know: all are compiled anew, elsewhere.
    fresh = tempfile.mkdtemp(dir=copy)
    compiled = {"NUMBA_CACHE_DIR": fresh} if "njit" in planted[2] else {}
    try:
        code, detail = run_tests(copy, mutant.tests, "-x", PYTHONDONTWRITEBYTECODE="1", **compiled)
    finally:
        restore(*planted)
        shutil.rmtree(fresh, ignore_errors=True)
    verdict = {_PASSED: "survived", _FAILED: "killed"}.get(code, "not planted")
    return verdict, time.monotonic() - start, "" if verdict == "survived" else detail


def main() -> int:
    """Plant, judge, and say so."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only mutants whose names begin so")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default 1)")
    parser.add_argument("--where", action="store_true", help="only say where each would be planted, and run nothing")
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if not arguments.names or m.name.startswith(tuple(arguments.names))]
    if not chosen:
        parser.error(f"no mutant begins with {' or '.join(arguments.names)}")
    if arguments.where:
        places = {mutant.name: place(ROOT / "src" / "bochner", mutant) for mutant in chosen}
        for name, found in places.items():
            print(f"{name:35} {f'NOT PLANTED: {found}' if isinstance(found, str) else found.relative_to(ROOT)}")
        return int(any(isinstance(found, str) for found in places.values()))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            return report(chosen, Path(folder), max(1, min(arguments.jobs, len(chosen))))
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


def report(chosen: list[Mutant], folder: Path, n_jobs: int) -> int:
    """Run the chosen mutants in copies below ``folder`` and print the table."""
    first = folder / "0"
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, first / name)
    shutil.copy2(ROOT / "pyproject.toml", first)
    data = ROOT.parent / "shared" / "data"  # where the tests look for data when nothing is said
    if "BOCHNER_DATA" not in os.environ and data.is_dir():
        os.environ["BOCHNER_DATA"] = str(data)
    tests = sorted({name for mutant in chosen for name in mutant.tests})
    print(f"{len(tests)} test files as they are (all of them: three minutes) ...", flush=True)
    start = time.monotonic()
    code, detail = run_tests(first, tests)
    if code != _PASSED:
        print(f"They must pass before anything is planted: {detail}", file=sys.stderr)
        return 2
    print(f"passed, {time.monotonic() - start:.0f} s\n", flush=True)
    copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
    copies.put(first)
    for job in range(1, n_jobs):  # after the first run: with its compiled kernels
        copies.put(Path(shutil.copytree(first, folder / str(job))))

    def work(mutant: Mutant) -> tuple[str, float, str]:
        copy = copies.get()
        try:
            return ("stopped", 0.0, "") if stopped.is_set() else judge(copy, mutant)
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
                name = f"{mutant.name:{width}}{' !' if mutant.must_die else '  '}"
                print(f"{len(verdicts):3}/{len(chosen)}  {name}  {verdict:11} {seconds:5.0f} s  {detail}", flush=True)
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                stop(process)
            raise
    return summary(verdicts)


def summary(verdicts: dict[Mutant, str]) -> int:
    """Counts, names of what is wrong, and the exit code."""
    counts = Counter(verdicts.values())
    survivors = [mutant for mutant, verdict in verdicts.items() if verdict == "survived"]
    share = len(survivors) / len(verdicts)
    print(
        f"\n{counts['killed']} killed, {counts['survived']} survived ({share:.0%}), {counts['not planted']} not planted"
        "  (! must die)"
    )
    for verdict in ("survived", "not planted"):
        names = [mutant.name + " !" * mutant.must_die for mutant in verdicts if verdicts[mutant] == verdict]
        if names:
            print(f"{verdict}: {', '.join(sorted(names))}")
    too_many = share > MOST_SURVIVORS or any(mutant.must_die for mutant in survivors)
    return int(too_many or counts["not planted"] > 0)


if __name__ == "__main__":
    sys.exit(main())
