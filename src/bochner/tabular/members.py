"""What a front-door model is made of: kernel expansions and their weights, and a report of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._terminal.text import aligned, number_text
from ..expansions.kernels import KernelExpansion
from ..priors import SpectralPrior
from .trees import TreeMember
from .waves import WaveMember

# A member of less weight is not asked for predictions.
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class Member:
    """One member of the blend: what was learned, how well it does on rows it has not seen, and what
    it cost.

    ``held_out_error`` is the mean squared error of its held-out scores, in units of the variance of
    the target; ``ridge`` the ridge in use, ``noise`` the one that the evidence found; ``n_points``
    the number of kernels or waves in its sum; ``seconds`` by the clock.
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
    """Members that print as a table; ``pandas.DataFrame(members)`` works too."""

    _COLUMNS = ("name", "weight", "held_out_error", "ridge", "noise", "n_points", "seconds")

    def __repr__(self) -> str:
        rows = [
            [
                m.name,
                *(number_text(float(getattr(m, column)), digits=3) for column in self._COLUMNS[1:]),
            ]
            for m in self
        ]
        return aligned(list(self._COLUMNS), rows)


@dataclass(frozen=True, eq=False)
class Blend:
    """f(x) = Σ_m weights[m] members[m](x): members are kernel expansions on the prepared columns,
    waves where there are many rows, and trees where asked for.
    """

    members: tuple[KernelExpansion | WaveMember | TreeMember, ...]
    weights: tuple[float, ...]

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """(n_samples, n_outputs), in float64."""
        return np.sum(
            [w * np.asarray(m.evaluate(Z), np.float64) for w, m in zip(self.weights, self.members)],
            axis=0,
        )

    def jacobian(self, Z: np.ndarray, side: int = 0) -> np.ndarray:
        """Return ∂f/∂z, (n_samples, n_outputs, n_columns); ``side`` as in
        ``KernelExpansion.jacobian``.
        """
        slopes: Any = 0.0
        for weight, member in zip(self.weights, self.members):
            if isinstance(member, TreeMember):
                raise TypeError("Trees have no derivatives. Fit with trees=False.")
            own = (
                member.jacobian(Z, side)
                if isinstance(member, KernelExpansion)
                else member.jacobian(Z)
            )
            slopes = slopes + weight * own
        return np.asarray(slopes)
