"""Members of the tabular models: the blend of fitted functions, and a report on each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._terminal.text import aligned, number_text
from ..expansions.kernels import KernelExpansion
from ..priors import SpectralPrior
from .leaves import LeafMember
from .trees import TreeMember
from .waves import WaveMember

# Members of less weight are left out of predictions.
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class Member:
    """Report on a member of the blend.

    ``held_out_error`` is the mean squared error of its held-out scores, divided by the variance of
    the target. ``ridge`` is the ridge of its solution, ``noise`` that of the evidence. ``n_points``
    is the number of kernels or waves in its sum, ``seconds`` the fitting time.
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


@dataclass(frozen=True, eq=False)
class Blend:
    """f(z) = Σ_m weights[m] members[m](z) on prepared columns z."""

    members: tuple[KernelExpansion | LeafMember | WaveMember | TreeMember, ...]
    weights: tuple[float, ...]

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores, (n_samples, n_outputs), in float64."""
        return np.sum(
            [w * np.asarray(m.evaluate(Z), np.float64) for w, m in zip(self.weights, self.members)],
            axis=0,
        )

    def jacobian(self, Z: np.ndarray, side: int = 0) -> np.ndarray:
        """Return ∂f/∂z, (n_samples, n_outputs, n_columns); see ``KernelExpansion.jacobian``."""
        return np.sum([w * m.jacobian(Z, side) for w, m in zip(self.weights, self.members)], axis=0)
