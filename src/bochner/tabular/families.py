"""The families of priors that a model of the front door learns: checked, named, and worked on side
by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

from .._checks import refuse_class
from .._loops.threads import ordered_map
from ..learners.evidence import check_learnable
from ..priors import Anova, Gaussian, Laplace, SpectralPrior


def checked_priors(priors: Any) -> tuple[SpectralPrior, ...]:
    """One prior, several or the usual three, all of families that evidence can learn."""
    if priors is None:
        return Anova(), Laplace(), Gaussian()
    priors = tuple(priors) if isinstance(priors, (tuple, list)) else (priors,)
    if not len(priors):
        raise ValueError("priors is empty; give at least one, e.g. priors=(Anova(), Laplace()).")
    for prior in priors:
        refuse_class(prior, "priors")
        if not isinstance(prior, SpectralPrior):
            raise TypeError(f"priors must be priors such as Anova() or Laplace(), got {prior!r}.")
        check_learnable(prior)
    return priors


def family_names(priors: tuple[SpectralPrior, ...]) -> list[str]:
    """A name for each family, numbered where one occurs more than once."""
    names = [type(prior).__name__.lower() for prior in priors]
    return [
        name if names.count(name) == 1 else f"{name} {names[:k].count(name) + 1}"
        for k, name in enumerate(names)
    ]


def each_family(
    work: Callable[[int], Any], told: Iterable[int], n_families: int, together: bool = True
) -> tuple[list[Any], list[float]]:
    """``work(k)`` for as many families as ``told`` lets through, and the seconds of each by the
    clock.

    ``together`` on a thread each, else one after the other, each with all threads.
    """

    def timed(k):
        begun = time.perf_counter()
        return work(k), time.perf_counter() - begun

    each = (
        ordered_map(timed, range(n_families)) if together else (timed(k) for k in range(n_families))
    )
    with closing(each) as families:
        outcomes = [outcome for _, outcome in zip(told, families)]
    return [result for result, _ in outcomes], [seconds for _, seconds in outcomes]
