"""Reports on the members of the tabular models."""

from __future__ import annotations

from dataclasses import dataclass

from .._terminal.text import aligned, number_text
from ..priors import SpectralPrior


@dataclass(frozen=True, eq=False)
class Member:
    """Report on a member of the blend.

    ``held_out_error`` is the mean squared error of its held-out scores, divided by the variance of
    the target. ``ridge`` is the ridge of its solution, and ``noise`` the one that the evidence
    learned. ``n_points`` is the number of kernels or waves in its sum. ``seconds`` is the fitting
    time.
    """

    name: str
    prior: SpectralPrior | None
    weight: float
    held_out_error: float
    ridge: float
    noise: float
    n_points: int
    seconds: float


class Members(list):
    """A list of members that prints as a table; ``pandas.DataFrame(members)`` works, too."""

    _COLUMNS = ("name", "weight", "held_out_error", "ridge", "noise", "n_points", "seconds")

    def __repr__(self) -> str:
        name, *numbers = self._COLUMNS
        rows = [
            [m.name, *(number_text(float(getattr(m, one)), digits=3) for one in numbers)]
            for m in self
        ]
        return aligned([name, *numbers], rows)
