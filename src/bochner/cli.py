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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import bochner

from ._terminal.arguments import UsageError, command_parser
from ._terminal.environment import environment, environment_text
from ._terminal.files import write_whole
from ._terminal.progress import stages
from ._terminal.text import one_line
from .data.unfamiliar import UnfamiliarCells
from .tables import ModelFileError, TableModel, fit_table, load, load_table, save
from .tables.columns.column_kinds import Strays
from .tables.columns.reader import stray_notes
from .tables.description import description, description_text
from .tables.explanations import Explanation
from .tables.facts import Facts, as_json
from .tables.model_file import load_table_model
from .tables.pages import model_page
from .tables.predictions import (
    Request,
    answered_pieces,
    as_csv,
    as_frame,
    check_out,
    joined,
    kept_rows,
    write_predictions,
)
from .tables.provenance import cost_since
from .tables.read.dialects import TextOptions, Training
from .tables.read.reading import read_pieces
from .tables.read.sources import COMPRESSIONS
from .tables.text import fit_text

EXIT_FAILED_CASES = 1
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143
_TEXT_OPTIONS = ("sep", "decimal", "encoding", "skip_rows", "header")


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
    except UsageError as error:
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


def _parser() -> argparse.ArgumentParser:
    functions = {
        "demo": _demo,
        "info": _info,
        "list": _list,
        "data": _data,
        "reproduce": _reproduce,
        "atlas": _atlas,
        "fit": _fit,
        "predict": _predict,
        "explain": _explain,
        "report": _report,
    }
    return command_parser(bochner.__version__, functions)


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


def _data(options: argparse.Namespace) -> int:
    from .datasets import where
    from .datasets.catalog import CATALOG
    from .datasets.recipes import build

    out, unknown = options.out or os.environ.get("BOCHNER_DATA"), set(options.names) - set(CATALOG)
    if unknown:
        raise UsageError(f"No data set {', '.join(unknown)}; there are {', '.join(CATALOG)}.")
    if options.folder is not None:
        if not options.names or not out:
            raise UsageError("--from needs the NAME of a data set, and --out DIR or BOCHNER_DATA.")
        paths = [str(build(name, options.folder, out)) for name in options.names]
        print(json.dumps(paths) if options.json else "\n".join(f"Archive: {one}" for one in paths))
        return 0
    entries = {name: CATALOG[name] for name in options.names or CATALOG}
    if options.json:
        facts = {name: {"place": where(name)} | asdict(one) for name, one in entries.items()}
        print(json.dumps(facts, indent=2))
        return 0
    for name, entry in entries.items():
        (rows, columns), recipe = entry.shape, entry.recipe
        print(f"{name}: {rows} x {columns}, {where(name)}. Published: {recipe.source}.")
        files = " and ".join(file.replace("|", " or ") for file in recipe.files)
        print(f"  Cannot be built: {recipe.missing}." if recipe.missing else f"  Files: {files}")
    print("Build one from the published files: bochner data NAME --from FOLDER")
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
    flags = {name: getattr(options, name) for name in ("fresh", "renew", "whole", "download")}
    settings = flags | {"n_jobs": options.jobs}
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
    if options.model is not None:
        model = load(options.model)
        print(json.dumps(description(model)) if options.json else description_text(model))
        return 0
    facts = {"bochner": bochner.__version__} | environment()
    print(json.dumps(facts, indent=2) if options.json else environment_text(facts))
    return 0


# --- tables ---------------------------------------------------------------------------------------


def _fit(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    if options.no_rivals:
        _say("Write --no-baselines: from bochner 0.4 on, --no-rivals is not accepted.")
    out = Path(options.out or _model_name(options.table))
    if not out.parent.is_dir():
        raise FileNotFoundError(2, "There is no folder for the model file", str(out))
    with stages() as bar:
        bar.begin(f"reading {Path(options.table).name}")
        given = {name: getattr(options, name) for name in _TEXT_OPTIONS}
        table = load_table(options.table, **given)
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
            compare=not (options.no_baselines or options.no_rivals),
            monotone=_monotone(options.monotone, list(table.columns)),
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
                raise UsageError(
                    f"Column {name!r} has two roles, {roles[name]} and {role}; use one."
                )
    return roles


def _names(texts: list[str], columns: list[str]) -> list[str]:
    """Return the names in arguments: each is a column, or several separated by commas."""
    names = [[text] if text.strip() in columns else text.split(",") for text in texts]
    return [name.strip() for some in names for name in some if name.strip()]


def _monotone(texts: list[str], columns: list[str]) -> dict[str, int]:
    """Return the direction of each column in arguments such as ``price:-1,size:+1``."""
    signs: dict[str, int] = {}
    for text in texts:
        is_one = text.rpartition(":")[0].strip() in columns
        for part in [text] if is_one else text.split(","):
            name, _, sign = map(str.strip, part.rpartition(":"))
            if not name or sign not in ("1", "+1", "-1"):
                raise UsageError(
                    f"--monotone must be COLUMN:1 or COLUMN:-1, e.g. price:-1; got {part!r}."
                )
            if signs.setdefault(name, int(sign)) != int(sign):
                raise UsageError(f"Column {name!r} has two directions, 1 and -1; use one.")
    return signs


def _predict(options: argparse.Namespace) -> int:
    check_out(options.out, as_json=options.json, safe_cells=options.safe_cells)
    model, facts = load_table_model(options.model)
    request = Request(options.proba, options.interval, options.novelty)
    request.check(facts)
    answers, keep = _answers(options, model, facts, partial(request.columns, model, facts))
    frames = (as_frame(kept, predicted) for kept, predicted in answers)
    if options.json:
        _write_json(request.as_json(joined(frames), facts, keep), options.out)
    else:
        _write_frames(frames, options.out, options.safe_cells)
    return 0


def _explain(options: argparse.Namespace) -> int:
    check_out(options.out, as_json=options.json, safe_cells=False)
    model, facts = load_table_model(options.model)
    answers, keep = _answers(options, model, facts, partial(Explanation.of, model, facts))
    if options.json:
        rows = [
            row | ({"kept": kept_row} if keep else {})
            for kept, explained in answers
            for row, kept_row in zip(
                explained.rows(options.strongest), kept_rows(kept, len(explained))
            )
        ]
        _write_json(rows, options.out)
    else:
        frames = (
            as_frame(kept, explained.columns(facts.target, options.strongest))
            for kept, explained in answers
        )
        _write_frames(frames, options.out)
    return 0


def _answers(
    options: argparse.Namespace, model: TableModel, facts: Facts, answer: Callable[[Any], Any]
) -> tuple[Iterator[tuple[dict[str, Any], Any]], list[str]]:
    """Return (kept columns, ``answer``) for each piece of the table, and the names to keep.

    After the last piece, notes on strays and unfamiliar values are printed.
    """
    used = list(model["columns"].roles_)
    texts = [*options.keep, *(name for text in options.keep for name in text.split(","))]
    verbatim = [name.strip() for name in (*facts.identifiers, *texts)]
    pieces = read_pieces(options.table, _text_options(options, facts, used), verbatim=verbatim)
    first = next(pieces)
    for note in first[0].attrs.get("notes", []):
        _say(note)
    columns = list(first[0].columns)
    keep = [name for name in facts.identifiers if name in columns] + _names(options.keep, columns)

    def answers():
        strays: dict[str, Strays] = {}
        cells = UnfamiliarCells()
        yield from answered_pieces(model, chain([first], pieces), keep, strays, cells, answer)
        notes = stray_notes({name: strays[name] for name in used if name in strays})
        for note in [*notes, *filter(None, [cells.sentence()])]:
            _say(note)

    return answers(), keep


def _write_json(content: Any, out: str | None) -> None:
    text = json.dumps(content) + "\n"
    write_whole(out, text) if out else sys.stdout.write(text)


def _write_frames(frames: Iterator[Any], out: str | None, safe_cells: bool = False) -> None:
    if out:
        write_predictions(frames, out, safe_cells)
        return
    for text in as_csv(frames, safe_cells):
        sys.stdout.write(text)


def _text_options(options: argparse.Namespace, facts: Facts, used: list[str]) -> TextOptions:
    """Return the given options, completed by the properties of the training table."""
    file = facts.file
    training = Training(tuple(used), tuple(file.unnamed), facts.target, file.sep, file.skip_rows)
    given = {name: getattr(options, name) for name in _TEXT_OPTIONS}
    return TextOptions(**given, doubtful_decimal=facts.decimal, training=training)


def _report(options: argparse.Namespace) -> int:
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
