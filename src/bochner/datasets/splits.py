"""The papers' splits, drawn again with their own seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from .files import load


def letarte_split(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers (train, valid, test) of Letarte et al. 2019: 25 % test, 20 % of the rest for validation, seed 42.

    One random state draws both, as in the authors' code.  ``adult`` keeps its official test part.

    >>> [len(rows) for rows in letarte_split("breast")]
    [340, 86, 143]
    """
    bunch = load(name)
    rows = np.arange(bunch.data.shape[0])
    state = np.random.RandomState(42)
    if name == "adult":
        train, test = rows[: bunch.n_train], rows[bunch.n_train :]
    else:
        train, test = train_test_split(rows, test_size=0.25, random_state=state)
    train, valid = train_test_split(train, test_size=0.2, random_state=state)
    return train, valid, test


def gautheron_split(
    y: Any, seed: int, test_size: float = 0.3, n_folds: int = 5
) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Row numbers (train, test) and the folds of Gautheron et al. 2020: stratified 70/30, then stratified folds.

    The authors ran the seeds 1 to 20.  Folds are pairs of positions *within* the training rows, drawn from the same random
    state after the split.  The toy experiments use ``test_size=0.5``.

    >>> train, test, folds = gautheron_split([0, 1] * 50, seed=1)
    >>> len(train), len(test), len(folds)
    (70, 30, 5)
    """
    y = np.asarray(y)
    state = np.random.RandomState(seed)
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, stratify=y, random_state=state)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=state)
    return train, test, list(folds.split(train, y[train]))
