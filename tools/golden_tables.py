"""Cases of ``golden.py`` for tabular models, the command line, and verdicts of stored results."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bochner import (
    Anova,
    Evidence,
    Gaussian,
    Laplace,
    SpectralClassifier,
    SpectralRegressor,
    TableInputs,
)
from bochner.cli import main as bochner_command

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
N_NEW = 5
QUICK = Evidence(n_rows=60, n_iterations=4, n_refining_rows=80, standardize=False)
# Facts that differ from run to run, or with the version.
UNSTABLE = {"seconds", "cost", "command", "model", "version", "made"}
Case = Callable[[], Any]

# --- data ---------------------------------------------------------------------------------------


def numbers(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three columns and a smooth target with noise."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 3)), 2)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.1 * rng.normal(size=n_rows)


def people(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a frame with categories, texts, dates and missing cells, and a target."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east"], size=n_rows)
    days = rng.integers(0, 400, size=n_rows)
    frame = pd.DataFrame(
        {
            "age": np.round(rng.uniform(18, 80, size=n_rows)),
            "income": np.round(np.exp(rng.normal(10, 0.6, size=n_rows)), 2),
            "region": pd.Categorical(region, categories=["east", "north", "south", "west"]),
            "job": rng.choice(["clerk", "smith", "baker"], size=n_rows).astype(object),
            "member": rng.random(n_rows) < 0.4,
            "since": pd.Timestamp("2020-02-01") + pd.to_timedelta(days, unit="D"),
        }
    )
    signal = (
        np.sin(frame["age"] / 12) + (region == "south") + days / 300 + np.log(frame["income"]) / 3
    )
    frame.loc[::9, "age"] = np.nan
    frame.loc[4::11, "region"] = None
    frame.loc[5::13, "job"] = None
    frame.loc[6::17, "since"] = pd.NaT
    return frame, (signal - frame["member"] + 0.1 * rng.normal(size=n_rows)).to_numpy()


def new_people() -> pd.DataFrame:
    """Return rows for predictions, one of them with a level that no training row has."""
    frame = people(N_NEW, seed=1)[0]
    frame.loc[2, "region"] = "west"
    return frame


def classes(values: np.ndarray, n_classes: int) -> np.ndarray:
    """Return texts for equally frequent ranges of the values."""
    edges = np.quantile(values, np.arange(1, n_classes) / n_classes)
    return np.array(["low", "upper"] if n_classes == 2 else ["low", "middle", "upper"])[
        np.searchsorted(edges, values)
    ]


# --- tabular models -----------------------------------------------------------------------------


def tabular_cases() -> dict[str, Case]:
    """Return cases of ``SpectralRegressor`` and ``SpectralClassifier``."""
    named: dict[str, Case] = {}
    for name, fit in (_regressions() | _classifications()).items():
        named[f"tabular/{name}"] = lambda fit=fit: tabular_answers(*fit())
    return named | {"tabular/TableInputs": _inputs}


def _regressions():
    def on(data, y=None, weights=None, repeated=1, **settings):
        X, values = data()
        values = values if y is None else y(values)
        return _fitted(SpectralRegressor, X, values, weights, repeated, settings)

    small, table, many = partial(numbers, 100), partial(people, 120), partial(numbers, 700)
    return {
        "regressor with defaults": partial(on, small, evidence=None),
        "regressor of a frame": partial(on, table),
        "regressor of a frame, Anova alone": partial(on, table, priors=Anova()),
        "regressor of a skewed target": partial(on, small, y=lambda y: np.exp(2 * y)),
        "regressor of a target with long tails": partial(on, small, y=lambda y: np.sinh(3 * y)),
        "regressor of noise that depends on the row": partial(on, _uneven),
        "regressor of two outputs": partial(on, small, y=lambda y: np.column_stack([y, y**2])),
        "regressor with weights": partial(on, table, weights=_uneven_weights),
        "regressor with whole weights": partial(on, small, weights=lambda n: np.arange(n) % 3),
        "regressor of repeated rows": partial(on, small, repeated=2),
        "regressor of repeated frames": partial(on, table, repeated=2),
        "regressor of independent equal rows": partial(on, _ties),
        "regressor with trees": partial(on, small, trees=True, priors=Anova()),
        "regressor of Laplace and Gaussian": partial(on, small, priors=[Laplace(), Gaussian()]),
        "regressor of few rows": partial(on, partial(numbers, 12)),
        "regressor of a constant": partial(on, small, y=lambda y: np.zeros_like(y)),
        "regressor of float32": partial(on, _float32),
        "regressor of many rows": partial(on, many, max_leaf_rows=200),
        "regressor of many rows with weights": partial(
            on, many, max_leaf_rows=200, weights=_uneven_weights
        ),
        "regressor of many repeated rows": partial(
            on, partial(numbers, 250), max_leaf_rows=100, repeated=2
        ),
        "regressor of repeated rows that are few": partial(
            on, partial(numbers, 150), max_leaf_rows=200, repeated=2
        ),
        "regressor of many rows of a frame": partial(on, partial(people, 400), max_leaf_rows=100),
        "regressor by conjugate gradients": partial(on, partial(numbers, 3600), priors=Anova()),
    }


def _classifications():
    def on(data, n_classes=2, weights=None, repeated=1, **settings):
        X, values = data()
        return _fitted(
            SpectralClassifier, X, classes(values, n_classes), weights, repeated, settings
        )

    small, table, many = partial(numbers, 100), partial(people, 120), partial(numbers, 700)
    return {
        "classifier with defaults": partial(on, small, evidence=None),
        "classifier of a frame": partial(on, table),
        "classifier of a frame with three classes": partial(on, table, 3),
        "classifier with class weights": partial(on, table, class_weight="balanced"),
        "classifier with costs": partial(
            on, small, 3, class_weight={"low": 1.0, "middle": 5.0, "upper": 2.0}
        ),
        "classifier with weights": partial(on, table, 3, weights=_uneven_weights),
        "classifier of repeated rows": partial(on, small, 3, repeated=3),
        "classifier of independent equal rows": partial(on, _ties),
        "classifier with trees": partial(on, small, trees=True, priors=Anova()),
        "classifier of many rows": partial(on, many, 3, max_leaf_rows=200),
        "classifier of many rows with weights": partial(
            on, many, max_leaf_rows=200, weights=_uneven_weights, class_weight="balanced"
        ),
        "classifier of many rows of a frame": partial(
            on, partial(people, 400), 3, max_leaf_rows=100
        ),
        "classifier by conjugate gradients": partial(on, partial(numbers, 3600), priors=Anova()),
    }


def _fitted(kind, X, y, weights, repeated, settings):
    """Return a fitted model, and rows to predict."""
    rows = np.repeat(np.arange(len(y)), repeated)
    X, y = X.take(rows) if isinstance(X, pd.DataFrame) else X[rows], y[rows]
    model = kind(**{"evidence": QUICK, "random_state": 0} | settings)
    model.fit(X, y, sample_weight=None if weights is None else weights(len(y)))
    return model, new_people() if isinstance(X, pd.DataFrame) else numbers(N_NEW, seed=1)[0]


def _uneven_weights(n_rows):
    return 0.5 + np.arange(n_rows) % 5 / 4


def _uneven():
    X = numbers(300)[0]
    return X, np.sin(X[:, 0]) + np.exp(X[:, 1]) * np.random.default_rng(5).normal(size=300) / 2


def _ties():
    X, y = numbers(200)
    return np.round(X), np.round(y)


def _float32():
    X, y = numbers(100)
    return X.astype(np.float32), y.astype(np.float32)


def tabular_answers(fitted: Any, X: Any) -> dict[str, Any]:
    """Return all that a fitted tabular model computes for new rows."""
    found: dict[str, Any] = {
        "path_": fitted.path_,
        "feature_importances_": fitted.feature_importances_,
    }
    for k, member in enumerate(fitted.members_):
        kept = ("name", "weight", "held_out_error", "ridge", "noise", "n_points")
        found[f"members_.{k}"] = {name: getattr(member, name) for name in kept}
        found[f"members_.{k}.prior"] = member.prior
    found["predict"] = lambda: fitted.predict(X)
    found["effects"] = lambda: fitted.effects(X)
    found["main effects"] = lambda: fitted.effects(X, max_order=1).rest
    found["strongest"] = lambda: [list(pair) for pair in fitted.effects(X).strongest(4)]
    found["input_gradient"] = lambda: fitted.input_gradient(X)
    if isinstance(fitted, SpectralClassifier):
        found["classes_"] = fitted.classes_
        for method in ("predict_proba", "decision_function", "scores"):
            found[method] = lambda method=method: getattr(fitted, method)(X)
        return found
    found["return_std"] = lambda: fitted.predict(X, return_std=True)[1]
    for level in (0.5, 0.9, 0.999):
        found[f"predict_interval {level}"] = lambda level=level: fitted.predict_interval(X, level)
    return found


def _inputs():
    frame = people(120)[0]
    found = {}
    for ranks in (0.0, 1.0):
        inputs = TableInputs(ranks=ranks).fit(frame)
        found[f"ranks {ranks}"] = {
            "transform": inputs.transform(new_people()),
            "names": inputs.get_feature_names_out(),
        }
    return found


# --- the command line ---------------------------------------------------------------------------


def command_cases() -> dict[str, Case]:
    """Return cases of ``bochner fit`` and ``bochner predict`` on small CSV files."""
    return {
        "command/regression": partial(
            _command,
            _people_file,
            "score",
            [],
            [["--interval", "0.8"], ["--json"], ["--keep", "age"]],
        ),
        "command/two classes": partial(
            _command,
            partial(_people_file, n_classes=2),
            "group",
            ["--threshold", "cost:1,4", "--no-baselines"],
            [["--proba"], ["--json", "--proba"]],
        ),
        "command/three classes, semicolons": partial(
            _command,
            partial(_people_file, n_classes=3, sep=";", decimal=",", date="%d.%m.%Y"),
            "group",
            ["--split", "time:since", "--metric", "accuracy", "--refit", "--no-baselines"],
            [["--proba"]],
        ),
        "command/groups and identifiers": partial(
            _command,
            partial(_people_file, identifier=True),
            "score",
            ["--split", "group:town", "--id", "number", "--no-baselines"],
            [[]],
        ),
        "command/written numbers": _shop,
        "command/errors": _command_errors,
    }


def _people_file(path, n_rows=160, seed=0, n_classes=0, identifier=False, date=None, **dialect):
    """Write a table of people; its target is ``score``, or ``group`` for classes."""
    frame, y = people(n_rows, seed)
    if n_classes:
        frame["group"] = classes(y, n_classes)
    else:
        frame["score"] = np.round(y, 3)
    if identifier:
        frame.insert(0, "number", [f"P{k:04d}" for k in range(n_rows)])
        frame["town"] = [f"town {k % 11}" for k in range(n_rows)]
    frame.to_csv(path, index=False, date_format=date, **dialect)


def _command(write, target, options, requests):
    with _empty_folder():
        write("training.csv")
        write("new.csv", n_rows=N_NEW, seed=1)
        fit = _said(
            "fit", "training.csv", "--target", target, "--out", "model.skops", "--json", *options
        )
        facts = json.loads(fit["output"].pop(0))
        found = {"fit": fit, "facts": stable(facts), "report": _said("report", "model.skops")}
        for request in requests:
            found[" ".join(["predict", *request])] = _said(
                "predict", "model.skops", "new.csv", *request
            )
        return found


def _shop_file(path, n_rows=160, seed=0):
    """Write a table with prices, shares, many levels and free text; its target is ``sold``."""
    rng = np.random.default_rng(seed)
    price, share = np.exp(rng.normal(7, 1, size=n_rows)), rng.random(n_rows)
    street = rng.integers(0, 60, size=n_rows)
    frame = pd.DataFrame(
        {
            "price": [f"${one:,.2f}" for one in price],
            "share": [f"{100 * one:.1f} %" for one in share],
            "street": [f"street {one}" for one in street],
            "note": [f"=note {k} about {one:.5f}" for k, one in enumerate(price)],
            "sold": np.where(np.log(price) / 2 + share + street % 7 > 7, "yes", "no"),
        }
    )
    if path.endswith(".jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)


def _shop():
    with _empty_folder():
        _shop_file("training.csv")
        _shop_file("new.jsonl", n_rows=N_NEW, seed=1)
        fit = _said(
            "fit",
            "training.csv",
            "--target",
            "sold",
            "--positive",
            "no",
            "--no-baselines",
            "--out",
            "model.skops",
        )
        found = {"fit": fit | {"output": [_without_seconds(line) for line in fit["output"]]}}
        facts = json.loads(_said("report", "model.skops", "--json")["output"][0])
        found["facts"] = stable(facts)
        request = ("predict", "model.skops", "new.jsonl", "--proba", "--keep", "note")
        found["csv"] = _said(*request, "--safe-cells", "--out", "out.csv")
        found["lines"] = Path("out.csv").read_text().splitlines()
        found["parquet"] = _said(*request, "--out", "out.parquet")
        found["columns"] = {
            str(name): one.to_numpy() for name, one in pd.read_parquet("out.parquet").items()
        }
        return found


def _without_seconds(line: str) -> str:
    """Return a line of the report of a fit without times and memory."""
    return re.sub(r"^Reading, .* memory\.$|\s+\d+\.\d\d$", "", line)


def _command_errors():
    with _empty_folder():
        _people_file("training.csv")
        return {
            "no such column": _said("fit", "training.csv", "--target", "scores"),
            "no such file": _said("fit", "absent.csv", "--target", "score"),
            "no such option": _said("fit", "training.csv", "--target", "score", "--fast"),
            "two roles": _said(
                "fit", "training.csv", "--target", "score", "--id", "age", "--numeric", "age"
            ),
            "no such model": _said("predict", "absent.skops", "training.csv"),
        }


def _said(*arguments: str) -> dict[str, Any]:
    """Return exit code, output and messages of the command, by lines."""
    output, messages = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
        code = bochner_command(list(arguments))
    return {
        "code": code,
        "output": output.getvalue().splitlines(),
        "messages": messages.getvalue().splitlines(),
    }


@contextlib.contextmanager
def _empty_folder() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def stable(facts: Any) -> Any:
    """Return facts without times, versions and paths."""
    if isinstance(facts, dict):
        return {name: stable(value) for name, value in facts.items() if name not in UNSTABLE}
    return [stable(one) for one in facts] if isinstance(facts, list) else facts


# --- verdicts -----------------------------------------------------------------------------------


def verdict_cases() -> dict[str, Case]:
    """Return the verdicts of the stored results; nothing is run."""
    return {"verdicts": _verdicts}


def _verdicts():
    rows = json.loads("\n".join(_said("atlas", "--json", "--out", str(RESULTS))["output"]))
    kept = ("scale", "verdict", "why", "n_cases", "n_finished", "n_left_out")
    return {
        row["experiment"]: {name: row.get(name) for name in kept}
        for row in rows
        if row["experiment"]
    }
