"""Arguments of the ``bochner`` command."""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

# Options that name columns.
_COLUMNS: dict[str, Any] = {"action": "append", "default": [], "metavar": "COLUMN"}
_SEVERAL = "; separate several by commas, or repeat the option"
_MODEL = "model file of bochner fit"
_TABLE = "file: CSV or other text, Parquet or JSON lines, also compressed; - for standard input"

_Add = Callable[[str, str], argparse.ArgumentParser]


class UsageError(Exception):
    """Invalid arguments."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


def command_parser(
    version: str, functions: Mapping[str, Callable[[argparse.Namespace], int]]
) -> argparse.ArgumentParser:
    """Return a parser whose attribute ``run`` is the function of the chosen command, or None."""
    common = _Parser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")
    common.add_argument("--json", action="store_true", help="print JSON instead of text")

    parser = _Parser(prog="bochner", description="Fit models to tables, and reproduce the papers.")
    parser.add_argument("--version", action="version", version=f"bochner {version}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common], help=summary, description=summary)
        added.set_defaults(run=functions[name])
        return added

    _add_fit(command)
    _add_uses_of_models(command)
    _add_experiments(command)
    return parser


def _add_fit(command: _Add) -> None:
    fit = command("fit", "fit a model to a table, and evaluate it on held-out rows")
    add, flag = fit.add_argument, partial(fit.add_argument, action="store_true")
    add("table", metavar="TABLE", help=_TABLE)
    add("--target", required=True, metavar="COLUMN", help="column to predict")
    about = "default: decided by the values of the target"
    add("--task", choices=("auto", "classification", "regression"), default="auto", help=about)
    classes = ["log-loss", "auc", "average-precision", "accuracy", "balanced-accuracy"]
    metrics = ["auto", *classes, "rmse", "r2", "mae"]
    about = "metric for the comparison with other models (default: log-loss or RMSE)"
    add("--metric", choices=metrics, default="auto", help=about)
    about = (
        "choose the decision threshold (two classes): balanced, or cost:FP,FN for the costs of a "
        "false positive and a false negative"
    )
    add("--threshold", metavar="RULE", help=about)
    about = "rows to hold out: random, time:COLUMN or group:COLUMN (default: random)"
    add("--split", default="random", metavar="RULE", help=about)
    about = "fit all rows after the evaluation; the certificate does not hold for that model"
    flag("--refit", help=about)
    about = "positive class (two classes; default: the rarer one)"
    add("--positive", metavar="LABEL", help=about)
    about = "compare with a constant only, which is faster"
    flag("--no-baselines", help=about)
    flag("--no-rivals", help=argparse.SUPPRESS)  # the name before 0.3
    about = "model file (default: name of the table with .skops, in the current folder)"
    add("--out", metavar="MODEL", help=about)
    about = "seed of the held-out rows and of the model (default: 0)"
    add("--seed", type=int, default=0, help=about)
    about = f"leave out this column{_SEVERAL}"
    add("--drop", **_COLUMNS, help=about)
    about = "identifier: not used by the model, and copied to the output of predict"
    add("--id", **_COLUMNS, help=about)
    add("--categorical", **_COLUMNS, help="read this column as categories")
    add("--numeric", **_COLUMNS, help="read this column as numbers")
    add("--date", **_COLUMNS, help="read this column as dates")
    about = (
        "let the prediction, or the probability of the positive class, rise (1) or fall (-1) with "
        f"this column{_SEVERAL}"
    )
    add("--monotone", **_COLUMNS | {"metavar": "COLUMN:SIGN"}, help=about)
    _add_dialect(fit)


def _add_uses_of_models(command: _Add) -> None:
    predict = command("predict", "predict the rows of a table with a fitted model")
    predict.add_argument("model", metavar="MODEL", help=_MODEL)
    predict.add_argument("table", metavar="TABLE", help=_TABLE)
    predict.add_argument("--proba", action="store_true", help="also write class probabilities")
    about = "also write bounds that contain the true value with this probability, e.g. 0.9"
    predict.add_argument("--interval", type=float, metavar="LEVEL", help=about)
    about = "also write how far each row lies outside the training table, from 0 to 1"
    predict.add_argument("--novelty", action="store_true", help=about)
    about = "put an apostrophe before texts that a spreadsheet would run as formulas"
    predict.add_argument("--safe-cells", action="store_true", help=about)
    _add_output(predict)

    about = "explain the predictions for the rows of a table: the contribution of each column"
    explain = command("explain", about)
    explain.add_argument("model", metavar="MODEL", help=_MODEL)
    explain.add_argument("table", metavar="TABLE", help=_TABLE)
    about = "write only the N largest contributions of each row, and the sum of the others"
    explain.add_argument("--strongest", type=_positive, metavar="N", help=about)
    _add_output(explain)

    about = "write a page about a model: evaluation, certificate, comparison, columns"
    report = command("report", about)
    report.add_argument("model", metavar="MODEL", help=_MODEL)
    about = "HTML file (default: name of the model with .html)"
    report.add_argument("--out", metavar="PAGE", help=about)

    about = "print the content of a model file; without a file, the environment for bug reports"
    info = command("info", about)
    about = f"{_MODEL} or bochner.save"
    info.add_argument("model", nargs="?", metavar="MODEL", help=about)


def _add_output(command: argparse.ArgumentParser) -> None:
    about = f"copy this column to the output{_SEVERAL}"
    command.add_argument("--keep", **_COLUMNS, help=about)
    about = "write to this .csv or .parquet file instead of standard output"
    command.add_argument("--out", metavar="FILE", help=about)
    _add_dialect(command)


def _add_experiments(command: _Add) -> None:
    folder: dict[str, Any] = {"default": "results", "metavar": "DIR"}
    command("demo", "compare bochner with other models on tables of scikit-learn (a minute)")
    about = "experiments to print in detail: rule, deviations, each data set"
    listed = command("list", "list the experiments: paper, claim, data and cases")
    listed.add_argument("names", nargs="*", metavar="NAME", help=about)

    data = command("data", "list the data sets of the papers, or build them from published files")
    data.add_argument("names", nargs="*", metavar="NAME", help="data sets (default: all)")
    data.add_argument("--from", dest="folder", metavar="FOLDER", help="folder of published files")
    data.add_argument("--out", metavar="DIR", help="folder of archives (default: BOCHNER_DATA)")

    about = "run experiments, and write pages with the published numbers beside ours"
    reproduce = command("reproduce", about)
    add, flag = reproduce.add_argument, partial(reproduce.add_argument, action="store_true")
    about = "experiments of `bochner list`, paths of files with one, or all"
    add("names", nargs="+", metavar="NAME", help=about)
    about = "amount of work (default: quick)"
    add("--scale", choices=("smoke", "quick", "paper"), default="quick", help=about)
    add("--jobs", type=_positive, metavar="N", help="worker processes (default: one per core)")
    add("--out", **folder, help="folder of results and pages (default: results)")
    flag("--fresh", help="run all cases again")
    flag("--renew", help="run again the results of earlier versions of the code")
    flag("--whole", help="with --scale paper, also run cases of hours to days")
    flag("--download", help="download missing data sets from OpenML")

    about = "print every table and figure of the papers with its verdict, from stored results"
    atlas = command("atlas", about)
    atlas.add_argument("--out", **folder, help="folder of results (default: results)")
    about = "also write the pages and their index again; run nothing"
    atlas.add_argument("--pages", action="store_true", help=about)
    atlas.add_argument("--markdown", action="store_true", help="print the table of docs/results.md")


def _add_dialect(command: argparse.ArgumentParser) -> None:
    text = command.add_argument_group("text files", "Each of these is detected by default.")
    about = "separator of fields; tab and space by name"
    text.add_argument("--sep", type=_separator, metavar="MARK", help=about)
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
