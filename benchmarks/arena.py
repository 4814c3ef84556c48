"""The tabular models beside models of other libraries, on a folder of real tables.

    BOCHNER_TABLES=folder python benchmarks/arena.py --lines FILE [--report FILE.md]

prints or writes the comparison in Markdown; the report has its plots beside it. Every fit is a line
of ``--lines``: fits that are there are not repeated, so that a run can be stopped and continued.
A failed fit is a line with its error; delete the line to repeat it. ``--tables`` without a name
fits nothing:

    python benchmarks/arena.py --lines benchmarks/arena.jsonl --tables --report benchmarks/arena.md

``--curves`` fits learning curves instead of comparisons, ``--readme`` prints the README's table.
The folder holds a Parquet file for each table, with the target in the column ``target``, and
``index.json``: a list of {"name", "task" ("classification" or "regression"), "n"}.  Without a
folder, tables of scikit-learn are used. ``docs/benchmarks.md`` describes the protocol.
"""

import argparse
import json
import sys
from pathlib import Path

from arena_learners import LEARNERS, measured, warm
from arena_report import page, readme
from arena_tables import (
    CURVE_ROWS,
    curve_sizes,
    curve_tables,
    half,
    load_table,
    n_splits,
    split_rows,
    tables,
)

CURVE_LEARNERS = ["bochner", "LightGBM", "CatBoost"]
KEY = ("table", "split", "learner", "tuned", "rows")


def key_of(line):
    return tuple(line[name] for name in KEY)


def read_lines(path):
    """Return the stored lines; the rest of an interrupted last line is cut off the file."""
    if path is None or not path.is_file():
        return []
    whole, _, rest = path.read_text(encoding="utf-8").rpartition("\n")
    if rest:
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def append_line(path, line):
    """Write one line at once, to the file and as a message."""
    text = json.dumps(line)
    print(text, file=sys.stderr, flush=True)
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def missing(keys, lines):
    """Return the keys of fits that are not among the lines, in their order."""
    done = {key_of(line) for line in lines}
    return [key for key in keys if key not in done]


def comparison_keys(names, learners, n_tried, most_rows):
    """Yield (table, split, learner, tuned, rows): defaults of all tables first, then the tuned."""
    known = tables()
    for tuned in (0, n_tried) if n_tried else (0,):
        for name in names:
            n_rows = known[name]["n"]
            for split in range(n_splits(n_rows)):
                for learner in learners:
                    if not tuned or LEARNERS[learner].space:
                        yield name, split, learner, tuned, min(most_rows, n_train(n_rows))


def n_train(n_rows):
    """Return the rows of three quarters, as ``train_test_split`` counts them."""
    return n_rows - -(-n_rows // 4)


def curve_keys(names, learners):
    """Yield the keys of learning curves, from few rows to many."""
    for name in names:
        for rows in curve_sizes(n_train(len(load_table(name)[1]))):
            for learner in learners:
                yield name, 0, learner, 0, rows


def fit_all(keys, lines, path):
    """Fit what is missing, and append a line for each fit to ``lines`` and to the file."""
    works, loaded = {}, None
    for key in missing(keys, lines):
        table, split, name, tuned, rows = key
        if loaded != table:
            (frame, y, task), loaded = load_table(table), table
        learner, classify = LEARNERS[name], task == "classification"
        train, test = split_rows(y, task, split, rows)
        if not learner.accepts(frame.iloc[train], y[train], classify):
            continue
        if (name, task) not in works:
            works[name, task] = can_fit(name, classify)
        if not works[name, task]:
            continue
        line = dict(zip(KEY, key)) | {"task": task, "version": learner.version}
        try:
            line |= measured(learner, frame, y, classify, train, test, split, tuned)
        except Exception as error:  # of another library: it counts as a loss of that learner
            line["error"] = described(error)
        lines.append(line)
        append_line(path, line)


def can_fit(name, classify):
    """Fit a small table, before any measured fit; a learner that cannot do so is left out."""
    try:
        warm(LEARNERS[name], classify)
    except Exception as error:  # of a library that does not work with the others installed
        print(f"{name} does not work here, and is left out: {described(error)}", file=sys.stderr)
        return False
    return True


def described(error):
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def learners_to_run(only):
    """Return the learners that are asked for and installed; say which are missing."""
    absent = [name for name in only if not LEARNERS[name].installed]
    if absent:
        print(f"Not installed, and left out: {', '.join(absent)}.", file=sys.stderr)
    return [name for name in only if name not in absent]


def images_beside(path, lines, rows):
    """Write the plots of a report beside it and return their lines in Markdown."""
    if path is None:
        return []
    from arena_plots import plot_curves, plot_time

    plots = {"Elo and the time of a fit": plot_time, "Learning curves": plot_curves}
    found = []
    for title, plot in plots.items():
        image = path.with_name(f"{path.stem}_{plot.__name__.removeprefix('plot_')}.png")
        if plot(lines, rows, image):
            found.append(f"![{title}]({image.name})")
    return found


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000, help="training rows at most")
    parser.add_argument("--tables", nargs="*", metavar="NAME", help="all of the folder by default")
    parser.add_argument("--half", choices=["chosen", "reported", "all"], default="all")
    parser.add_argument("--only", nargs="+", metavar="LEARNER", choices=list(LEARNERS))
    parser.add_argument(
        "--tuned", type=int, default=20, metavar="N", help="configurations; 0: none"
    )
    parser.add_argument("--curves", action="store_true", help=f"up to {CURVE_ROWS[-1]:,} rows")
    parser.add_argument("--lines", type=Path, metavar="FILE", help="keep every fit, and go on")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="Markdown, with plots beside it"
    )
    parser.add_argument("--readme", action="store_true", help="print the README's table only")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    lines = read_lines(options.lines)
    learners = learners_to_run(options.only or (CURVE_LEARNERS if options.curves else LEARNERS))
    names = options.tables
    if names is None:
        names = [] if options.readme else curve_tables() if options.curves else tables()
    names = [name for name in names if options.half in ("all", half(name))]
    if options.curves:
        keys = curve_keys(names, learners)
    else:
        keys = comparison_keys(names, learners, options.tuned, options.rows)
    try:
        fit_all(keys, lines, options.lines)
    except KeyboardInterrupt:
        print("Interrupted; the finished fits are kept.", file=sys.stderr)
        sys.exit(130)
    if options.readme:
        sys.stdout.write(readme(lines, options.rows))
        return
    text = page(lines, options.rows, images_beside(options.report, lines, options.rows))
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
