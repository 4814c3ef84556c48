"""Helpers of experiments: combinations, selected and averaged results, sentences."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Case = dict[str, Any]  # as it is written to JSON; so are results
Results = list[tuple[Case, Case]]
Figure = Any  # of matplotlib


def every(**choices: Iterable[Any]) -> list[Case]:
    """Return a dictionary for each combination, the last entry varying fastest.

    >>> every(seed=range(2), method=["a"])
    [{'seed': 0, 'method': 'a'}, {'seed': 1, 'method': 'a'}]
    """
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def chosen(results: Results, **wanted: Any) -> Results:
    """Return the pairs whose case has these entries."""
    return [
        pair for pair in results if all(pair[0].get(key) == value for key, value in wanted.items())
    ]


def grouped(results: Results, value: str, *keys: str) -> dict[Any, list[Any]]:
    """Group the results' entries ``value`` by one entry of their case, or by several.

    >>> pairs = [({"method": "a"}, {"r2": 0.5}), ({"method": "a"}, {"r2": 0.7})]
    >>> grouped(pairs, "r2", "method")
    {'a': [0.5, 0.7]}
    """
    found: dict[Any, list[Any]] = {}
    for case, result in results:
        key = tuple(case[key] for key in keys)
        found.setdefault(key if len(keys) > 1 else key[0], []).append(result[value])
    return found


def means(results: Results, value: str, *keys: str) -> dict[Any, Any]:
    """Return the means of ``grouped``, of numbers or of curves."""
    return {key: np.mean(values, axis=0) for key, values in grouped(results, value, *keys).items()}


def table(results: Results, value: str, row: str, column: str) -> dict[Any, dict[Any, Any]]:
    """Return {row: {column: mean}}, the means of ``value`` by two entries of the cases."""
    found: dict[Any, dict[Any, Any]] = {}
    for (name, heading), mean in means(results, value, row, column).items():
        found.setdefault(name, {})[heading] = mean
    return found


def curve(results: Results, value: str, along: str, **wanted: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted entries ``along`` of the ``chosen`` cases, and the mean of ``value``."""
    found = means(chosen(results, **wanted), value, along)
    return np.array(sorted(found)), np.array([found[x] for x in sorted(found)])


def exponent(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of a curve on logarithmic axes."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def listed(numbers: Mapping[Any, float], form: str = ".1f") -> str:
    """Return names and numbers for a sentence.

    >>> listed({"RFF": 1.25, "OKRFF": 1.0})
    'RFF 1.2, OKRFF 1.0'
    """
    return ", ".join(f"{name} {number:{form}}" for name, number in numbers.items())


def listed_rows(rows: Mapping[Any, Mapping[Any, float]], form: str = ".1f") -> str:
    """Return the rows of a ``table`` for a sentence."""
    return "; ".join(f"{name}: {listed(numbers, form)}" for name, numbers in rows.items())


def judged(holds: bool, why: str) -> tuple[str, str]:
    """Return the verdict on a claim that could be tested."""
    return ("holds" if holds else "does not hold"), why
