"""scikit-learn's histogram trees as a member, whose errors differ from those of kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from .._loops.threads import threads_of_sklearn
from ..data.targets import Labels
from .preparation import PreparedData
from .solving import Solved

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class TreeMember:
    """Histogram trees on prepared columns: one model for all classes, or one for each output."""

    models: tuple[HistGradientBoostingClassifier | HistGradientBoostingRegressor, ...]
    n_outputs: int
    n_rows: int

    @classmethod
    def fitted(cls, data: PreparedData, seed: int) -> TreeMember:
        """Fit to all rows."""
        Z, Y, weights = data.Z, data.outputs, data.row_weights
        models: tuple
        with threads_of_sklearn():
            if isinstance(data.target, Labels):
                codes = Y[:, 0].astype(int) if Y.shape[1] == 1 else Y.argmax(axis=1)
                model = HistGradientBoostingClassifier(random_state=seed)
                models = (model.fit(Z, codes, sample_weight=weights),)
            else:
                models = tuple(
                    HistGradientBoostingRegressor(random_state=seed).fit(
                        Z, y, sample_weight=weights
                    )
                    for y in Y.T
                )
        return cls(models, Y.shape[1], len(Z))

    def __len__(self) -> int:
        return self.n_rows

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """Return the scores, (n_samples, n_outputs)."""
        first = self.models[0]
        with threads_of_sklearn():
            if isinstance(first, HistGradientBoostingRegressor):
                return np.column_stack([model.predict(Z) for model in self.models])
            scores = np.zeros((len(Z), max(self.n_outputs, 2)))
            scores[:, first.classes_] = first.predict_proba(Z)  # a fold may lack a class
        return scores[:, 1:] if self.n_outputs == 1 else scores

    def jacobian(self, Z: np.ndarray, side: int = 0) -> np.ndarray:
        """Raise an error: trees are piecewise constant."""
        raise TypeError("Trees have no derivatives. Fit with trees=False.")


def cross_fitted_trees(
    data: PreparedData, held: np.ndarray | None, rng: np.random.Generator
) -> Solved:
    """Fit trees to all rows, and score rows by trees that were not fitted to them.

    These are the rows ``held``, scored by a fit of the others, or all rows in five folds if
    ``held`` is None.
    """
    seed = int(rng.integers(2**31))
    n_rows, Y = len(data), data.outputs
    if held is not None:
        inner = TreeMember.fitted(data.take(np.delete(np.arange(n_rows), held)), seed)
        return Solved(TreeMember.fitted(data, seed), inner.evaluate(data.Z[held]))
    held_out = np.zeros_like(Y)
    for share in _fold_shares(data, rng):
        held, kept = np.flatnonzero(share), np.flatnonzero(share < 1)
        others = data.take(kept)
        others = replace(others, row_weights=others.row_weights * (1 - share[kept]))
        if isinstance(data.target, Labels) and not np.any(np.ptp(others.outputs, axis=0)):
            scores = np.broadcast_to(others.outputs[0], (len(held), Y.shape[1]))
        else:
            scores = TreeMember.fitted(others, seed).evaluate(data.Z[held])
        held_out[held] += share[held, None] * scores
    return Solved(TreeMember.fitted(data, seed), held_out)


def _fold_shares(data, rng):
    """Return the share of each row that is held out in each fold, (n_folds, n_rows).

    A row that stands for several observations has shares in several folds, as if its observations
    were drawn one by one.
    """
    n_rows = len(data)
    n_folds = min(_FOLDS, n_rows)
    shares = np.zeros((n_folds, n_rows))
    for number, fold in enumerate(np.array_split(rng.permutation(n_rows), n_folds)):
        shares[number, fold] = 1.0
    if data.observations is not None:
        several = np.flatnonzero(data.observations >= 2)
        counts = data.observations[several].astype(int)
        shares[:, several] = rng.multinomial(counts, np.full(n_folds, 1 / n_folds)).T / counts
    return shares
