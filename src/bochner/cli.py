"""The ``bochner`` command."""

import argparse
import importlib.util
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import bochner

from ._terminal.files import write_whole
from ._terminal.progress import stages
from ._terminal.text import one_line

EXIT_FAILED_CASES = 1
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; an error is one sentence on standard error and exit code 2."""
    parser = _parser()
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        options = parser.parse_args(arguments)
        options.command = shlex.join(["bochner", *arguments])
        if options.run is None:
            parser.print_help()
            return 0
    except _UsageError as error:
        return _complain(str(error), as_json="--json" in arguments)
    try:
        with _cleaning_up_when_terminated():
            code = options.run(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        kept = " Finished cases are kept: the same command continues with the others."
        _say(f"Interrupted.{kept if options.run is _reproduce else ''}")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output has ended, e.g. ``bochner list | head``
        _drop_output()
        return 0
    except Exception as error:
        try:
            sys.stdout.flush()
        except OSError:  # the disk of standard output is full, which would raise again at exit
            _drop_output()
        if options.debug:
            raise
        return _complain(_sentence(error), as_json=options.json)


@contextmanager
def _cleaning_up_when_terminated() -> Iterator[None]:
    """Raise SystemExit on SIGTERM, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():  # only it may handle signals
        yield
        return

    def leave(*_: Any) -> NoReturn:
        raise SystemExit(EXIT_TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- experiments ----------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    from bochner_papers.runner.listing import entry_text, listing, listing_text

    entries = listing(options.names or ["all"])
    if options.json:
        print(json.dumps(entries, indent=2))
    elif options.names:
        print("\n\n".join(entry_text(entry) for entry in entries))
    else:
        print(listing_text(entries))
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    from bochner_papers.runner.catalog import choose, discover
    from bochner_papers.runner.pages import write_experiment, write_index
    from bochner_papers.runner.reproduction import drawn, reproduce
    from bochner_papers.runner.text import overview_text, summary_text

    experiments = {experiment.name: experiment for experiment in choose(options.names)}
    out, summaries = Path(options.out), []
    if options.names == ["all"]:
        for name, reason in discover()[1].items():
            _say(f"Skipped {name}: {reason}.")
    _warn_about_missing_figures()
    settings = {
        "n_jobs": options.jobs,
        "fresh": options.fresh,
        "renew": options.renew,
        "whole": options.whole,
        "download": options.download,
    }
    for summary in reproduce(list(experiments.values()), options.scale, out, **settings, say=_say):
        page = write_experiment(summary, out, drawn(experiments[summary["experiment"]], summary))
        summaries.append(summary)
        if not options.json:
            print(summary_text(summary) + f"Page: {page}\n", flush=True)
    index = write_index(out)
    failed = sum(len(summary["failed"]) for summary in summaries)
    if options.json:
        plain = [{k: v for k, v in one.items() if k != "results"} for one in summaries]
        print(json.dumps(plain, indent=2))
    elif len(summaries) > 1:
        print(overview_text(summaries) + f"\n\nIndex of all pages: {index}")
    if failed:
        _say(f"{failed} case(s) failed; see the pages. The same command runs them again.")
    return EXIT_FAILED_CASES if failed else 0


def _atlas(options: argparse.Namespace) -> int:
    from bochner_papers.runner.atlas import atlas, atlas_markdown, atlas_text, write_pages

    out, failed = Path(options.out), 0
    if options.pages:
        _warn_about_missing_figures()
        index, failed = write_pages(out)
        _say(f"Index of all pages: {index}")
    rows = atlas(out)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(atlas_markdown(rows) if options.markdown else atlas_text(rows))
    return EXIT_FAILED_CASES if failed else 0


def _warn_about_missing_figures():
    if importlib.util.find_spec("matplotlib") is None:
        _say("Figures are left out: they need matplotlib, pip install 'bochner[plot]'.")


def _demo(options: argparse.Namespace) -> int:
    from .demo import main as demo

    return demo(as_json=options.json)


def _info(options: argparse.Namespace) -> int:
    from ._terminal.environment import environment, environment_text

    facts = {"bochner": bochner.__version__} | environment()
    print(json.dumps(facts, indent=2) if options.json else environment_text(facts))
    return 0


# --- tables ---------------------------------------------------------------------------------------


def _fit(options: argparse.Namespace) -> int:
    from .tables import fit_table, load_table, save
    from .tables.facts import Facts, as_json
    from .tables.provenance import cost_since
    from .tables.text import fit_text

    started = time.perf_counter()
    out = Path(options.out or _model_name(options.table))
    if not out.parent.is_dir():
        raise FileNotFoundError(2, "There is no folder for the model file", str(out))
    with stages() as bar:
        bar.begin(f"reading {Path(options.table).name}")
        table = load_table(
            options.table,
            sep=options.sep,
            decimal=options.decimal,
            encoding=options.encoding,
            skip_rows=options.skip_rows,
            header=options.header,
        )
        model = fit_table(
            table,
            options.target,
            options.task,
            options.seed,
            _roles(options, list(table.columns)),
            metric=options.metric,
            threshold=options.threshold,
            split=options.split,
            refit=options.refit,
            positive=options.positive,
            compare=not options.no_rivals,
        )
        model.facts_ |= {"command": options.command, "cost": as_json(cost_since(started))}
        save(model, out)
    if options.json:
        print(json.dumps(model.facts_ | {"model": str(out)}))
    else:
        print(f"{fit_text(Facts.from_json(model.facts_))}\nModel: {out}")
    return 0


def _model_name(table: str) -> str:
    """Return the name of the table with the ending .skops, in the current folder."""
    from .tables.read.sources import COMPRESSIONS

    path = Path(Path(table).name)
    path = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return "model.skops" if table == "-" else path.with_suffix(".skops").name


def _roles(options: argparse.Namespace, columns: list[str]) -> dict[str, str]:
    """Return the role of each column that is named in an option."""
    given = {
        "drop": options.drop,
        "identifier": options.id,
        "category": options.categorical,
        "number": options.numeric,
        "date": options.date,
    }
    roles: dict[str, str] = {}
    for role, texts in given.items():
        for name in _names(texts, columns):
            if roles.setdefault(name, role) != role:
                raise _UsageError(
                    f"Column {name!r} has two roles, {roles[name]} and {role}; use one."
                )
    return roles


def _names(texts: list[str], columns: list[str]) -> list[str]:
    """Return the names in arguments: each is a column, or several separated by commas."""
    names = [[text] if text.strip() in columns else text.split(",") for text in texts]
    return [name.strip() for some in names for name in some if name.strip()]


def _predict(options: argparse.Namespace) -> int:
    from .data.unfamiliar import UnfamiliarCells
    from .tables.columns.column_kinds import Strays
    from .tables.columns.reader import in_words
    from .tables.model_file import load_table_model
    from .tables.predictions import (
        as_csv,
        as_json_values,
        check_out,
        check_request,
        joined,
        prediction_pieces,
        write_predictions,
    )
    from .tables.read.reading import read_pieces

    check_out(options.out, as_json=options.json, safe_cells=options.safe_cells)
    model, facts = load_table_model(options.model)
    used = list(model["columns"].roles_)
    request: dict[str, Any] = {"proba": options.proba, "interval": options.interval}
    check_request(facts, **request)
    texts = [*options.keep, *(name for text in options.keep for name in text.split(","))]
    verbatim = [name.strip() for name in (*facts.identifiers, *texts)]
    pieces = read_pieces(options.table, _text_options(options, facts, used), verbatim=verbatim)
    first = next(pieces)
    for note in first[0].attrs.get("notes", []):
        _say(note)
    columns = list(first[0].columns)
    keep = [name for name in facts.identifiers if name in columns] + _names(options.keep, columns)
    strays: dict[str, Strays] = {}
    cells = UnfamiliarCells()
    frames = prediction_pieces(model, facts, chain([first], pieces), keep, strays, cells, **request)
    if options.json:
        text = json.dumps(as_json_values(joined(frames), facts, **request, keep=keep)) + "\n"
        write_whole(options.out, text) if options.out else sys.stdout.write(text)
    elif options.out:
        write_predictions(frames, options.out, options.safe_cells)
    else:
        for text in as_csv(frames, options.safe_cells):
            sys.stdout.write(text)
    for note in (
        *in_words({name: strays[name] for name in used if name in strays}),
        cells.sentence(),
    ):
        if note is not None:
            _say(note)
    return 0


def _text_options(options: argparse.Namespace, facts: Any, used: list[str]) -> Any:
    """Return options to read a table for predictions: as given, else like the training table."""
    from .tables.read.dialects import TextOptions, Training

    file = facts.file
    training = Training(tuple(used), tuple(file.unnamed), facts.target, file.sep, file.skip_rows)
    given = (options.sep, options.decimal, options.encoding, options.skip_rows, options.header)
    return TextOptions(*given, doubtful_decimal=facts.decimal, training=training)


def _report(options: argparse.Namespace) -> int:
    from .tables.model_file import ModelFileError, load_table_model
    from .tables.pages import model_page

    model, facts = load_table_model(options.model)
    if options.json:
        print(json.dumps(model.facts_))
        return 0
    out = Path(options.out or Path(options.model).with_suffix(".html"))
    try:
        page = model_page(facts, Path(options.model).name)
    except (LookupError, TypeError, AttributeError) as error:
        message = f"The facts in {options.model} are damaged: {one_line(error)}."
        raise ModelFileError(message) from error
    write_whole(out, page)
    print(f"Page: {out}")
    return 0


# --- arguments ------------------------------------------------------------------------------------


class _UsageError(Exception):
    """Invalid arguments."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


def _parser() -> argparse.ArgumentParser:
    common = _Parser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")
    common.add_argument("--json", action="store_true", help="print JSON instead of text")

    parser = _Parser(prog="bochner", description="Kernels learned in the Fourier domain.")
    parser.add_argument("--version", action="version", version=f"bochner {bochner.__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common], help=summary, description=summary)
        added.set_defaults(run=run)
        return added

    folder: dict[str, Any] = {"default": "results", "metavar": "DIR"}
    command("demo", _demo, "compare models on tables of scikit-learn")
    command("info", _info, "print versions, threads and extras, for bug reports")
    listed = command("list", _list, "list the experiments: paper, claim, data and cases")
    listed.add_argument(
        "names", nargs="*", metavar="NAME", help="print details: rule, deviations, each data set"
    )

    about = "rebuild tables and figures of the papers, with the published numbers"
    reproduce = command("reproduce", _reproduce, about)
    reproduce.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="experiment of `bochner list`, path of a file with one, or all",
    )
    scales = ("smoke", "quick", "paper")
    reproduce.add_argument(
        "--scale", choices=scales, default="quick", help="amount of work (default: quick)"
    )
    reproduce.add_argument(
        "--jobs", type=_positive, metavar="N", help="worker processes (default: one per core)"
    )
    reproduce.add_argument("--out", **folder, help="folder of results and pages (default: results)")
    reproduce.add_argument("--fresh", action="store_true", help="run all cases again")
    reproduce.add_argument(
        "--renew", action="store_true", help="run again the results of earlier versions of the code"
    )
    reproduce.add_argument(
        "--whole", action="store_true", help="with --scale paper, also run cases of hours to days"
    )
    reproduce.add_argument(
        "--download", action="store_true", help="download missing data sets from OpenML"
    )

    about = "print every table and figure of the papers with its verdict, from finished results"
    atlas = command("atlas", _atlas, about)
    atlas.add_argument("--out", **folder, help="folder of results (default: results)")
    atlas.add_argument(
        "--pages", action="store_true", help="write the pages and their index; run nothing"
    )
    atlas.add_argument("--markdown", action="store_true", help="print the table of docs/results.md")

    about = (
        "fit a model to a table (CSV, Parquet, JSON lines; - for standard input) and evaluate it "
        "on held-out rows"
    )
    fit = command("fit", _fit, about)
    fit.add_argument("table", metavar="TABLE")
    fit.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    fit.add_argument("--task", choices=("auto", "classification", "regression"), default="auto")
    classes = ["log-loss", "auc", "average-precision", "accuracy", "balanced-accuracy"]
    metrics = ["auto", *classes, "rmse", "r2", "mae"]
    about = "metric of the verdict and of comparisons with other models"
    fit.add_argument("--metric", choices=metrics, default="auto", help=about)
    about = (
        "decision threshold (two classes): balanced, or the costs of a false positive and a false "
        "negative, cost:FP,FN"
    )
    fit.add_argument("--threshold", metavar="RULE", help=about)
    about = "rows to hold out: random, time:COLUMN or group:COLUMN (default: random)"
    fit.add_argument("--split", default="random", metavar="RULE", help=about)
    about = "fit all rows after the evaluation; the certificate does not apply to that model"
    fit.add_argument("--refit", action="store_true", help=about)
    about = "positive class (two classes; default: the rarer one)"
    fit.add_argument("--positive", metavar="LABEL", help=about)
    about = "compare with a constant only, which is faster"
    fit.add_argument("--no-rivals", action="store_true", help=about)
    about = "model file (default: name of the table with .skops, in the current folder)"
    fit.add_argument("--out", metavar="MODEL", help=about)
    about = "seed of the held-out rows and of the model (default: 0)"
    fit.add_argument("--seed", type=int, default=0, help=about)
    columns: dict[str, Any] = {"action": "append", "default": [], "metavar": "COLUMN"}
    about = "leave out this column; separate several by commas, or repeat the option"
    fit.add_argument("--drop", **columns, help=about)
    about = "identifier: not used by the model, and copied to the output of predict"
    fit.add_argument("--id", **columns, help=about)
    fit.add_argument("--categorical", **columns, help="read this column as categories")
    fit.add_argument("--numeric", **columns, help="read this column as numbers")
    fit.add_argument("--date", **columns, help="read this column as dates")
    _add_dialect(fit)

    predict = command(
        "predict", _predict, "predict the rows of a table with a fitted model, as CSV or Parquet"
    )
    predict.add_argument("model", metavar="MODEL")
    predict.add_argument("table", metavar="TABLE")
    predict.add_argument("--proba", action="store_true", help="also write class probabilities")
    about = "also write bounds that contain the true value with this probability, e.g. 0.9"
    predict.add_argument("--interval", type=float, metavar="LEVEL", help=about)
    about = "copy this column to the output; separate several by commas, or repeat the option"
    predict.add_argument("--keep", **columns, help=about)
    about = "put an apostrophe before texts that a spreadsheet would run as formulas"
    predict.add_argument("--safe-cells", action="store_true", help=about)
    about = "write to this .csv or .parquet file instead of standard output"
    predict.add_argument("--out", metavar="FILE", help=about)
    _add_dialect(predict)

    about = "write a page about a model: evaluation, certificate, comparison, columns"
    report = command("report", _report, about)
    report.add_argument("model", metavar="MODEL")
    about = "HTML file (default: name of the model with .html)"
    report.add_argument("--out", metavar="PAGE", help=about)
    return parser


def _add_dialect(command: argparse.ArgumentParser) -> None:
    text = command.add_argument_group("text files", "Properties that are not given are detected.")
    text.add_argument(
        "--sep",
        type=_separator,
        metavar="MARK",
        help="separator of fields; tab and space for these",
    )
    text.add_argument("--decimal", metavar="MARK", help="decimal mark, . or ,")
    text.add_argument("--encoding", metavar="NAME", help="encoding, e.g. latin-1")
    text.add_argument("--skip-rows", type=_count, metavar="N", help="skip the first N lines")
    about = "the first line holds column names"
    text.add_argument("--header", action=argparse.BooleanOptionalAction, help=about)


def _separator(text: str) -> str:
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a number of lines, got {text!r}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a number of at least 1, got {text!r}")
    return int(text)


# --- messages -------------------------------------------------------------------------------------


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _complain(message: str, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": message}))
    else:
        _say(f"bochner: {message}")
    return EXIT_ERROR


def _sentence(error: Exception) -> str:
    """Return an error on one line, with its type unless it is one that bochner raises."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        name = error.name
        return f"This needs the package {name!r}, which is not installed: pip install {name}."
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.strerror}: {error.filename}."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: the output is incomplete."
    text = " ".join(str(error).split())
    if type(error).__module__.startswith("bochner") or isinstance(error, ValueError | TypeError):
        return text
    return f"{type(error).__name__}: {text or 'no message'} (--debug shows where)"
