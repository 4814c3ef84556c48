"""Fits on a memory map of a million rows x 20 float32, two threads: seconds over LightGBM's on the
same file, in one run.

Each fit has a process of its own, after one on a few rows that compiles. The note says rows a
second, the seconds over those of the floor (the product of all rows with 100 frequencies by BLAS;
the first line has the floor of memory, the sum of all numbers), and the memory that a fit takes
beyond the rows. `python benchmarks/large_files.py` goes up to 1e7 rows.
"""

import sys
import tempfile
from collections.abc import Iterator

from large_files import FITS, measured, write_rows
from measure import machine_facts, table

N_ROWS, N_COLUMNS, N_THREADS = 1_000_000, 20, 2
MEMORY, PRODUCT, PEER = (
    "floor: one sum of all numbers",
    "floor: 100 frequencies by BLAS",
    "LightGBM",
)


def rows(names: tuple[str, ...] = ()) -> Iterator[tuple[str, float, str, str]]:
    """(what, seconds over the peer's, target, note)."""
    ours = [name for name in FITS if name not in (MEMORY, PRODUCT, PEER)]
    chosen = [
        name for name in ours if not names or any(part.lower() in name.lower() for part in names)
    ]
    with tempfile.TemporaryDirectory() as folder:
        paths = write_rows(N_ROWS, N_COLUMNS, folder)
        found = {
            name: measured(name, paths, N_THREADS) for name in (MEMORY, PRODUCT, PEER, *chosen)
        }
    failed = {name: one["failed"] for name, one in found.items() if "failed" in one}
    if failed:
        raise RuntimeError(f"Not all could be measured: {failed}")
    memory, product, peer = (found[name]["seconds"] for name in (MEMORY, PRODUCT, PEER))
    yield (
        "floor of memory / floor of BLAS",
        memory / product,
        "",
        f"{N_ROWS / memory:.2g} and {N_ROWS / product:.2g} rows/s",
    )
    for name in chosen:
        one = found[name]
        speed = f"{N_ROWS / one['seconds']:.2g} rows/s, LightGBM {N_ROWS / peer:.2g}"
        note = f"{speed}; {one['seconds'] / product:.3g} times BLAS; {one['growth'] / 1e6:.0f} MB"
        yield f"{name} / LightGBM", one["seconds"] / peer, "<= 1", note


if __name__ == "__main__":
    print("\n".join(machine_facts()), table(rows(tuple(sys.argv[1:]))), sep="\n\n")
