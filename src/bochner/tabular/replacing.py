"""Values of a blend for rows in which the columns of some groups come from other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..data.inputs import TableInputs
from ..expansions.replacements import Replacements, replacements
from .blending import Blend, Mixture
from .waves import WaveMember


def column_groups(inputs: TableInputs) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the columns of the table that a model uses, and the prepared columns of each."""
    used = np.unique(inputs.sources_)
    return used, [np.flatnonzero(inputs.sources_ == j) for j in used]


class BlendReplacements:
    """Replacements for all members of a blend, see ``Replacements``.

    Attributes
    ----------
    members : list of Replacements
        For a ``WaveMember`` those of its waves, before the link.
    """

    def __init__(self, blend: Blend, Z: np.ndarray, groups: Sequence[np.ndarray]):
        self.blend = blend
        self.members: list[Replacements] = [
            replacements(m.expansion if isinstance(m, WaveMember) else m, Z, groups)
            for m in blend.members
        ]

    def scores(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return ``Blend.evaluate``, (n_values, n_rows, n_outputs)."""
        parts = zip(self.blend.weights, self._scores(chosen, values))
        return sum(weight * own for weight, own in parts)

    def probabilities(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return ``Mixture.probabilities``, (n_values, n_rows, n_classes)."""
        return self._mixed(chosen, values, Mixture.probabilities_of)

    def log_probabilities(self, chosen: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return ``Mixture.log_probabilities``, (n_values, n_rows, n_classes)."""
        return self._mixed(chosen, values, Mixture.log_probabilities_of)

    def _mixed(self, chosen, values, function: Callable):
        scores: Any = list(self._scores(chosen, values))
        shape = scores[0].shape[:2]
        mixed = function(self.blend, [own.reshape(-1, own.shape[2]) for own in scores])
        return mixed.reshape(*shape, -1)

    def _scores(self, chosen, values):
        """Yield the scores of each member."""
        for member, own in zip(self.blend.members, self.members):
            scores = own.scores(chosen, values)
            if isinstance(member, WaveMember):
                flat = member.loss.link(scores.reshape(-1, scores.shape[2]))
                scores = flat.reshape(*scores.shape[:2], -1)
            yield scores
