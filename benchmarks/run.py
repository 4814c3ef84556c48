"""Every benchmark of this folder, one table; the last one is kept in results.md."""

import importlib
import os
import sys
from pathlib import Path

from measure import machine_facts, table

from bochner.datasets import DatasetNotFound

HERE = Path(__file__).parent


def main():
    """Run the benchmarks named on the command line (without ``bench_``), or all; the page is kept
    when all could be measured.
    """
    every = sorted(path.stem for path in HERE.glob("bench_*.py"))
    wanted = [f"bench_{name}" for name in sys.argv[1:]] or every
    unknown = set(wanted) - set(every)
    if unknown:
        sys.exit(
            f"No such benchmark: {', '.join(sorted(unknown))}. There are: "
            f"{', '.join(n[6:] for n in every)}."
        )
    head = "# Benchmarks\n\n" + "  \n".join(machine_facts())
    print(head, flush=True)
    sections, complete = [head], wanted == every
    for name in wanted:
        print(f"{name} …", file=sys.stderr, flush=True)
        module = importlib.import_module(name)
        try:
            measured = table(module.rows())
        except DatasetNotFound as error:
            measured, complete = f"Not measured: {error}", False
        sections.append(f"## {name[6:]}\n\n{(module.__doc__ or '').strip()}\n\n{measured}")
        print(f"\n{sections[-1]}", flush=True)
    page = "\n\n".join(sections) + "\n"
    if complete:
        beside = HERE / "results.md.part"
        beside.write_text(page)
        os.replace(beside, HERE / "results.md")


if __name__ == "__main__":
    main()
