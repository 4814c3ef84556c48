"""What experiments do with cases and results: list combinations, choose and average results, put
findings into words.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Case = dict[str, Any]  # as it is written to JSON; so are results
Results = list[tuple[Case, Case]]
Figure = Any  # of matplotlib


def every(**choices: Iterable[Any]) -> list[Case]:
    """A dictionary for each combination, the last entry varying fastest.

    >>> every(seed=range(2), method=["a"])
    [{'seed': 0, 'method': 'a'}, {'seed': 1, 'method': 'a'}]
    """
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def chosen(results: Results, **wanted: Any) -> Results:
    """The pairs whose case has these entries."""
    return [
        pair for pair in results if all(pair[0].get(key) == value for key, value in wanted.items())
    ]


def grouped(results: Results, value: str, *keys: str) -> dict[Any, list[Any]]:
    """The results' entries ``value`` by an entry of their case, or by a tuple of several.

    >>> grouped([({"seed": 0, "method": "a"}, {"r2": 0.5}), ({"seed": 1, "method": "a"}, {"r2": 0.7})], "r2", "method")
    {'a': [0.5, 0.7]}
    """
    found: dict[Any, list[Any]] = {}
    for case, result in results:
        key = tuple(case[key] for key in keys)
        found.setdefault(key if len(keys) > 1 else key[0], []).append(result[value])
    return found


def means(results: Results, value: str, *keys: str) -> dict[Any, Any]:
    """The means of ``grouped``: of numbers a number, of curves a curve."""
    return {key: np.mean(values, axis=0) for key, values in grouped(results, value, *keys).items()}


def table(results: Results, value: str, row: str, column: str) -> dict[Any, dict[Any, Any]]:
    """{row: {column: mean}}: the means of ``value`` by two entries of the cases."""
    found: dict[Any, dict[Any, Any]] = {}
    for (name, heading), mean in means(results, value, row, column).items():
        found.setdefault(name, {})[heading] = mean
    return found


def curve(results: Results, value: str, along: str, **wanted: Any) -> tuple[np.ndarray, np.ndarray]:
    """The cases' entries ``along`` in order, and the mean of ``value`` at each, over the pairs that
    are ``chosen``.
    """
    found = means(chosen(results, **wanted), value, along)
    return np.array(sorted(found)), np.array([found[x] for x in sorted(found)])


def exponent(x: np.ndarray, y: np.ndarray) -> float:
    """The slope of a curve on logarithmic axes."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def listed(numbers: Mapping[Any, float], form: str = ".1f") -> str:
    """Names and numbers for a sentence.

    >>> listed({"RFF": 1.25, "OKRFF": 1.0})
    'RFF 1.2, OKRFF 1.0'
    """
    return ", ".join(f"{name} {number:{form}}" for name, number in numbers.items())


def listed_rows(rows: Mapping[Any, Mapping[Any, float]], form: str = ".1f") -> str:
    """The rows of a ``table`` for a sentence."""
    return "; ".join(f"{name}: {listed(numbers, form)}" for name, numbers in rows.items())


def judged(holds: bool, why: str) -> tuple[str, str]:
    """A verdict that could be reached."""
    return ("holds" if holds else "does not hold"), why
