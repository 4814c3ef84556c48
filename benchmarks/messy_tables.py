"""Ten messy tables made of real ones: ``bochner fit`` on the mess beside CatBoost on features
cleaned by hand.

    BOCHNER_TABLES=folder python benchmarks/messy_tables.py [--rows 2000] [--seed 0] [name ...]

The file is read, its columns are decided and the model is fitted as `bochner fit` does it; CatBoost
is given the clean columns of the same rows, and the same held-out quarter. Aim: at least its
accuracy minus one point, or its R² minus .02.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "unit"))

from messy_samples import german, identifiers, mixed, money, thousands, truths, with_holes

from bochner.tables import fit_table, load_table
from bochner.tables.evaluate.baselines import catboost

MARGIN = {"classification": 0.01, "regression": 0.02}


def table(name, n_rows, rng):
    """Rows of a table of the folder, in random order."""
    frame = pd.read_parquet(Path(os.environ["BOCHNER_TABLES"]) / f"{name}.parquet").dropna(
        subset="target"
    )
    return frame.iloc[rng.permutation(len(frame))[:n_rows]].reset_index(drop=True)


# Each gives (clean frame, messy frame, how it is written); the target is the column ``target`` of
# both.


def dates(n_rows, rng):
    clean = table("flights_delay", n_rows, rng)
    parts = clean[["month", "day", "hour", "minute"]].fillna(0).astype(int)
    parts["hour"] = parts["hour"].clip(0, 23)
    times = pd.to_datetime(parts.assign(year=2013))
    messy = clean.drop(columns=["month", "day", "hour", "minute"])
    messy.insert(0, "departure", times.dt.strftime("%m/%d/%Y %H:%M"))
    return clean, messy, {}


def currency(n_rows, rng):
    clean = table("sacramento", n_rows, rng)
    return clean, clean.assign(target=money(clean["target"]), sqft=thousands(clean["sqft"])), {}


def cities(n_rows, rng):
    """600 places: a state and a twelfth of incomes."""
    clean = table("loan_rate", n_rows, rng)
    twelfth = clean["annual_income"].rank(pct=True).mul(11.99).astype(int)
    clean.insert(0, "city", clean["state"].astype(str) + " " + twelfth.astype(str))
    clean = clean.drop(columns=["state", "annual_income", "annual_income_joint"])
    return clean, clean, {"sep": "|"}


def ids(n_rows, rng):
    clean = table("telco_churn", n_rows, rng)
    useless = pd.DataFrame(identifiers(len(clean), rng))
    return clean, pd.concat([useless, clean], axis=1), {}


def rare(n_rows, rng):
    """3 % positives."""
    clean = table("hypothyroid", 10**6, rng)
    positive = clean["target"] == "hypothyroid"
    kept = np.flatnonzero(~positive)[: int(0.97 * n_rows)]
    kept = np.append(kept, np.flatnonzero(positive)[: round(len(kept) * 0.03 / 0.97)])
    clean = clean.iloc[np.sort(kept)].reset_index(drop=True)
    return clean, clean, {"encoding": "utf-16"}


def decimal_commas(n_rows, rng):
    clean = table("concrete", n_rows, rng)
    return clean, clean, {"sep": ";", "decimal": ",", "encoding": "latin-1"}


def mixed_types(n_rows, rng):
    clean = table("attrition", n_rows, rng)
    clean["OverTime"] = clean["OverTime"].astype(str)
    messy = clean.assign(OverTime=truths(clean["OverTime"] == "Yes", rng))
    for name in ("Age", "DailyRate", "DistanceFromHome", "TotalWorkingYears"):
        messy[name] = mixed(clean[name], rng, share=0.05)
        clean[name] = pd.to_numeric(messy[name], errors="coerce")
    messy["MonthlyIncome"] = german(clean["MonthlyIncome"], digits=2)
    return clean, messy, {}


def missing(n_rows, rng):
    """40 % of half of the columns."""
    clean = table("magic", n_rows, rng)
    clean = pd.concat([with_holes(clean.drop(columns="target"), rng), clean["target"]], axis=1)
    return clean, clean, {"na_rep": "n/a"}


def duplicate_names(n_rows, rng):
    clean = table("segment", n_rows, rng)
    names = [name.split("-")[0].split(" ")[0] for name in clean.columns[:-1]]
    return clean, clean.set_axis([*names, "target"], axis=1), {}


def thousands_separators(n_rows, rng):
    """One column that tells most of the price, written as 1,234,567."""
    clean = table("txhousing", n_rows, rng)
    noise = np.exp(0.05 * rng.normal(size=len(clean)))
    clean.insert(0, "volume", (clean["target"] * clean["sales"] * noise).round())
    return clean, clean.assign(volume=thousands(clean["volume"])), {}


TABLES = [
    dates,
    currency,
    cities,
    ids,
    rare,
    decimal_commas,
    mixed_types,
    missing,
    duplicate_names,
    thousands_separators,
]


def compared(make, n_rows, seed, folder):
    """One line: our score on the mess, CatBoost's on the clean columns, on the same rows."""
    clean, messy, written = make(n_rows, np.random.default_rng(seed))
    path = folder / f"{make.__name__}.csv"
    messy.to_csv(path, index=False, **written)
    model = fit_table(load_table(path), "target", seed=seed)
    task = model.facts_["task"]
    y = clean.pop("target").to_numpy()
    y = y.astype(str) if task == "classification" else y.astype(float)
    strata = y if task == "classification" else None
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.25, random_state=seed, stratify=strata
    )
    text = [name for name in clean.columns if not pd.api.types.is_numeric_dtype(clean[name])]
    clean = clean.astype(dict.fromkeys(text, "category"))
    trees = catboost(clean, task == "classification", seed).fit(clean.iloc[train], y[train])
    read = load_table(path).iloc[test]
    extra = ""
    if task == "classification":
        scores = [
            accuracy_score(y[test], np.asarray(m.predict(X)).astype(str))
            for m, X in ((model, read), (trees, clean.iloc[test]))
        ]
        if len(np.unique(y)) == 2:
            areas = [
                roc_auc_score(y[test], m.predict_proba(X)[:, 1])
                for m, X in ((model, read), (trees, clean.iloc[test]))
            ]
            extra = f"AUC {areas[0]:.3f} and {areas[1]:.3f}"
    else:
        scores = [
            r2_score(y[test], m.predict(X)) for m, X in ((model, read), (trees, clean.iloc[test]))
        ]
    reached = scores[0] >= scores[1] - MARGIN[task]
    return [
        make.__name__,
        str(len(y)),
        "R²" if task == "regression" else "accuracy",
        *(f"{s:.4f}" for s in scores),
        "yes" if reached else "NO",
        extra,
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    form = "{:22} {:>6} {:10} {:>9} {:>9} {:8} {}"
    print(form.format("table", "rows", "score", "bochner", "CatBoost", "reached", ""), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for make in TABLES:
            if not options.names or make.__name__ in options.names:
                print(
                    form.format(*compared(make, options.rows, options.seed, Path(folder))),
                    flush=True,
                )


if __name__ == "__main__":
    main()
