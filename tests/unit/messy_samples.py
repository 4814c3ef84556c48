"""Clean columns as people write them in the tables that they send around."""

import numpy as np
import pandas as pd


def money(values, sign="$"):
    """$1,234.50, losses in parentheses, nothing for what is missing."""
    return [
        _spelled(value, lambda v: f"({sign}{-v:,.2f})" if v < 0 else f"{sign}{v:,.2f}")
        for value in values
    ]


def thousands(values):
    """1,234,567."""
    return [_spelled(value, lambda v: f"{v:,.0f}") for value in values]


def german(values, digits=3):
    """1.234,567 €."""
    return [
        _spelled(v, lambda v: f"{v:,.{digits}f} €".translate(str.maketrans(",.", ".,")))
        for v in values
    ]


def percent(values):
    """12.5 %."""
    return [_spelled(value, lambda v: f"{v!r} %") for value in values]


def mixed(values, rng, words=("n/a", "unknown", "?", "not measured"), share=0.1):
    """Numbers with words in between."""
    said = np.array([_spelled(value, lambda v: repr(float(v))) for value in values], dtype=object)
    said[rng.random(len(said)) < share] = rng.choice(words)
    return said


def truths(values, rng):
    """Yes, no, Y, N, TRUE and false for the same two things, one spelling most of the time."""
    spelled = {True: ["Yes", "Yes", "yes", "Y", "TRUE"], False: ["No", "No", "no", "N", "False"]}
    return [rng.choice(spelled[bool(value)]) for value in values]


def identifiers(n, rng):
    """Columns that tell rows apart and nothing else."""
    return {
        "customer_id": rng.permutation(10 * n)[:n] + 10_000,
        "row": np.arange(1, n + 1),
        "token": [f"{value:016x}" for value in rng.integers(2**62, size=n)],
        "remark": [
            f"called on {k} about bill number {v}"
            for k, v in enumerate(rng.integers(10**6, size=n))
        ],
    }


def with_holes(frame, rng, share=0.4):
    """Half of the columns with missing values."""
    frame = frame.copy()
    for name in frame.columns[::2]:
        frame[name] = frame[name].where(rng.random(len(frame)) > share)
    return frame


def _spelled(value, form):
    return None if pd.isna(value) else form(value)
