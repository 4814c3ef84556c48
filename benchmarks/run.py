"""Every benchmark of this folder, one table; the last one is kept in results.md."""

import importlib
import os
import sys
from pathlib import Path

from measure import machine_facts, table

HERE = Path(__file__).parent


def main():
    """Run the benchmarks named on the command line (without ``bench_``), or all; keep the table when all ran."""
    every = sorted(path.stem for path in HERE.glob("bench_*.py"))
    wanted = [f"bench_{name}" for name in sys.argv[1:]] or every
    unknown = set(wanted) - set(every)
    if unknown:
        sys.exit(f"No such benchmark: {', '.join(sorted(unknown))}. There are: {', '.join(n[6:] for n in every)}.")
    sections = []
    for name in wanted:
        print(f"{name} …", file=sys.stderr, flush=True)
        module = importlib.import_module(name)
        sections.append(f"## {name[6:]}\n\n{(module.__doc__ or '').strip()}\n\n{table(module.rows())}")
    page = "\n\n".join(["# Benchmarks", "  \n".join(machine_facts()), *sections]) + "\n"
    print(page)
    if wanted == every:
        beside = HERE / "results.md.part"
        beside.write_text(page)
        os.replace(beside, HERE / "results.md")


if __name__ == "__main__":
    main()
