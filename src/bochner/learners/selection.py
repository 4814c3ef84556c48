"""How D of N learned atoms are kept."""

from __future__ import annotations

import numpy as np

from ..measures import drawn_atoms

SELECTIONS = ("multinomial", "systematic", "top", "all")


def selected_atoms(
    weights: np.ndarray, n_atoms: int, rng: np.random.Generator, selection: str
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the atoms that are kept, and their new weights of the same total mass.

    ``"multinomial"`` draws with replacement in proportion to the weights (Letarte et al. 2019, Section 5.4),
    ``"systematic"`` likewise with less variance; both give equal weights to the draws.  ``"top"`` keeps the largest
    weights, scaled up to the same mass; ``"all"`` keeps every atom that has one.
    """
    mass = float(np.sum(weights))
    if selection == "all":
        return np.arange(len(weights)), weights
    if selection == "top":
        largest = np.sort(np.argsort(-weights, kind="stable")[:n_atoms])
        return largest, weights[largest] * (mass / weights[largest].sum())
    return drawn_atoms(weights, n_atoms, rng, selection), np.full(n_atoms, mass / n_atoms)
