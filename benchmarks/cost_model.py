"""Estimate the cost of fits on a cluster from the measured rates of one core.

    python benchmarks/cost_model.py [--rows 1e9] [--columns 100] [--frequencies 2000] [--nodes 64]
    [--cores 16] [--gigabits 10] [--measured FILE] [--write]

`--write` puts the table, and a summary of the large files, into `docs/scale.md`.

Rates are those that `large_files.py` keeps. CPU time on one thread at the two largest sizes gives
nanoseconds a row, and what does not grow with the rows. A fit is P passes over the rows; of a
descent, each is made of S steps that wait for each other. A pass takes

    compute   n · ns a row · (flops of a row there / flops of a row measured)
              / (nodes · cores · efficiency)
    memory    bytes of the rows of a node / measured bytes a second of a core · cores
              (the larger of this and compute counts)
    network   statistics or parameters, up and down a tree of the nodes:
              2 · ⌈log2 nodes⌉ · bytes / bandwidth, for each step
    tasks     1.5 ms of the scheduler for each of at most 64 groups of partitions, for each pass;
              40 ms for each step of a descent

The bottleneck is the largest of the four, or what is constant. Rows are assumed to lie in the
memory of the nodes after the first pass; the time to read them from storage is not counted.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from large_files import summary

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scale.md"
# A sine and a cosine together cost about as much as so many flops of a matrix product: .45 ns
# beside some 80 Gflop/s in float32.  An assumption for cores like those that the kernels were
# written on; only how costs grow with the columns depends on it.
WAVE_FLOPS = 40
# Of the scheduler and the client for one task, and tasks of one sum.
TASK_SECONDS, MOST_TASKS = 1.5e-3, 64
# Of a step whose parts are small tasks, measured as 10 to 40 ms (docs/decisions/0007-batches.md).
STEP_SECONDS = 0.04
# An assumption: what two threads are asked to reach, 1.6 times the work of one (bench_threads.py),
# carried over to all cores of a node.
EFFICIENCY = 0.8
# Steps of an epoch, see bochner.data.batches.
STEPS = 512


@dataclass(frozen=True)
class Learner:
    """How the work of a learner grows: flops of one row in one pass, and bytes that travel in one
    step, by columns and frequencies.
    """

    measured: str  # its name in large_files.py
    flops: Callable[[int, int], float]
    travels: Callable[[int, int], float]
    passes: int
    measured_passes: int
    measured_frequencies: int
    steps: int = 1


def waves(d, D):
    """The features of a row: a projection, and a wave for each frequency."""
    return D * (2 * d + WAVE_FLOPS)


LEARNERS = {
    "features by PacBayes": Learner(
        "SpectralFeatures, PacBayes of 1000", waves, lambda d, D: 8 * 2 * 2 * D, 1, 1, 1000
    ),
    "ridge": Learner(
        "SpectralRidge, 100 frequencies",
        lambda d, D: waves(d, D) + 4 * D**2,
        lambda d, D: 8 * (2 * D) ** 2,
        passes=1,
        measured_passes=1,
        measured_frequencies=100,
    ),
    "logistic": Learner(
        "SpectralLogistic, 100 frequencies",
        lambda d, D: waves(d, D) + 4 * D**2,
        lambda d, D: 8 * (2 * D) ** 2,
        passes=6,
        measured_passes=6,
        measured_frequencies=100,
    ),
    "game, 100 rounds": Learner(
        "MarginGame, 10 rounds", lambda d, D: waves(d, 1), lambda d, D: 8 * 2 * d, 200, 20, 1
    ),
    "joint descent, 30 epochs": Learner(
        "JointDescent, one epoch",
        lambda d, D: 3 * 2 * d * D + 2 * WAVE_FLOPS * D,
        lambda d, D: 4 * D * (d + 2),
        passes=30,
        measured_passes=1,
        measured_frequencies=100,
        steps=STEPS,
    ),
    # A sample of the rows, which does not grow, then two epochs of all rows on 100 waves, whatever
    # the number of frequencies elsewhere.
    "boosting": Learner(
        "FourierBoostingClassifier",
        lambda d, D: 3 * 2 * d * 100 + 2 * WAVE_FLOPS * 100,
        lambda d, D: 4 * 100 * (d + 2),
        passes=2,
        measured_passes=2,
        measured_frequencies=100,
        steps=STEPS,
    ),
}


@dataclass(frozen=True)
class Cluster:
    """Nodes, their cores, and the bits a second between two of them."""

    nodes: int
    cores: int
    bits: float


@dataclass(frozen=True)
class Cost:
    """Seconds of a whole fit, by what they go to."""

    compute: float
    memory: float
    network: float
    tasks: float
    constant: float

    @property
    def total(self) -> float:
        """Computing and reading memory go on at once; all else adds up."""
        return max(self.compute, self.memory) + self.network + self.tasks + self.constant

    @property
    def bottleneck(self) -> str:
        """What takes longest."""
        parts = vars(self)
        return max(parts, key=lambda name: parts[name])


def rates(records: list[dict], name: str, columns: int) -> tuple[float, float]:
    """(seconds a row, constant seconds) of one core: the line through the two largest sizes; no
    constant below zero, or with one size.
    """
    points = sorted(
        (one["rows"], one["cpu"])
        for one in records
        if one["name"] == name
        and one["columns"] == columns
        and one["threads"] == 1
        and "failed" not in one
    )
    if not points:
        raise ValueError(
            f"large_files.json holds no fit {name!r} on one thread with {columns} columns. Run "
            "python benchmarks/large_files.py."
        )
    if len(points) == 1:
        return points[0][1] / points[0][0], 0.0
    (few, less), (many, more) = points[-2:]
    slope = (more - less) / (many - few)
    constant = more - slope * many
    return (slope, constant) if slope > 0 and constant >= 0 else (more / many, 0.0)


def cost(
    learner: Learner,
    records: list[dict],
    rows: float,
    columns: int,
    frequencies: int,
    cluster: Cluster,
) -> Cost:
    """The seconds of a fit on a cluster, see above."""
    measured_columns = next(one["columns"] for one in records)
    seconds, constant = rates(records, learner.measured, measured_columns)
    growth = learner.flops(columns, frequencies) / learner.flops(
        measured_columns, learner.measured_frequencies
    )
    workers = cluster.nodes * cluster.cores * EFFICIENCY
    compute = rows * learner.passes * seconds / learner.measured_passes * growth / workers
    reading, _ = rates(records, "floor: one sum of all numbers", measured_columns)
    bytes_a_second = 4 * measured_columns / reading
    memory = learner.passes * 4 * rows * columns / (bytes_a_second * cluster.nodes * cluster.cores)
    n_steps = learner.passes * learner.steps
    levels = int(np.ceil(np.log2(cluster.nodes))) if cluster.nodes > 1 else 0
    network = n_steps * 2 * levels * 8 * learner.travels(columns, frequencies) / cluster.bits
    tasks = n_steps * (STEP_SECONDS if learner.steps > 1 else MOST_TASKS * TASK_SECONDS)
    return Cost(compute, memory, network, tasks, constant)


def report(
    records: list[dict], rows: float, columns: int, frequencies: int, cluster: Cluster
) -> str:
    """The table as Markdown."""
    lines = [
        f"{rows:.0e} rows x {columns} columns, {frequencies} frequencies, {cluster.nodes} nodes x "
        f"{cluster.cores} cores, "
        f"{cluster.bits / 1e9:g} Gb/s; seconds.",
        "",
        "| fit | passes | compute | memory | network | tasks | constant | in all | bottleneck |",
        "|---" * 9 + "|",
    ]
    for name, learner in LEARNERS.items():
        found = cost(learner, records, rows, columns, frequencies, cluster)
        cells = [f"{part:.3g}" for part in vars(found).values()]
        lines.append(
            f"| {name} | {learner.passes} | {' | '.join(cells)} | {found.total:.3g} | "
            f"{found.bottleneck} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--frequencies", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--gigabits", type=float, default=10.0)
    parser.add_argument("--measured", type=Path, default=HERE / "large_files.json")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/scale.md")
    options = parser.parse_args()
    if not options.measured.exists():
        raise SystemExit(
            f"There is no {options.measured}. Run python benchmarks/large_files.py first, or name "
            "another by --measured."
        )
    records = json.loads(options.measured.read_text())["measured"]
    cluster = Cluster(options.nodes, options.cores, 1e9 * options.gigabits)
    found = report(records, options.rows, options.columns, options.frequencies, cluster)
    print(found)
    if options.write:
        text = PAGE.read_text()
        for name, table in (
            ("large files", summary(records, records[0]["columns"])),
            ("cost model", found),
        ):
            text = between(text, name, table)
        PAGE.write_text(text)


def between(text: str, name: str, table: str) -> str:
    """The page with a table between its two marks.

    >>> between("a <!-- x --> old <!-- end of x --> b", "x", "new")
    'a <!-- x -->\\n\\nnew\\n\\n<!-- end of x --> b'
    """
    first, last = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(first)
    return f"{head}{first}\n\n{table}\n\n{last}{rest.split(last)[1]}"


if __name__ == "__main__":
    main()
