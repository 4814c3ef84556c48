"""scikit-learn's histogram trees as a member: they err differently from kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from .._compute import threads_of_others
from .solving import Problem

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class TreeMember:
    """Histogram trees on the prepared columns; scores are probabilities of classes, or values, one model an output."""

    models: tuple[HistGradientBoostingClassifier | HistGradientBoostingRegressor, ...]
    n_outputs: int
    n_rows: int

    @classmethod
    def fitted(cls, problem: Problem, labels: bool, seed: int) -> TreeMember:
        """On all rows of a problem; ``labels`` says that its targets are one-hot (one column for two classes)."""
        n_outputs = problem.Y.shape[1]
        models: tuple
        with threads_of_others():
            if labels:
                codes = problem.Y[:, 0].astype(int) if n_outputs == 1 else problem.Y.argmax(axis=1)
                model = HistGradientBoostingClassifier(random_state=seed)
                models = (model.fit(problem.Z, codes, sample_weight=problem.weights),)
            else:
                models = tuple(
                    HistGradientBoostingRegressor(random_state=seed).fit(problem.Z, y, sample_weight=problem.weights)
                    for y in problem.Y.T
                )
        return cls(models, n_outputs, len(problem.Z))

    def __len__(self) -> int:
        return self.n_rows

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """(n_samples, n_outputs)."""
        first = self.models[0]
        with threads_of_others():
            if isinstance(first, HistGradientBoostingRegressor):
                return np.column_stack([model.predict(Z) for model in self.models])
            scores = np.zeros((len(Z), max(self.n_outputs, 2)))
            scores[:, first.classes_] = first.predict_proba(Z)  # a fold may lack a class
        return scores[:, 1:] if self.n_outputs == 1 else scores


def cross_fitted_trees(
    problem: Problem, n_held: int | None, labels: bool, rng: np.random.Generator
) -> tuple[TreeMember, np.ndarray]:
    """The member on all rows, and its scores of rows that it was not fitted on.

    Those of the last ``n_held`` rows by a fit of the others; None: of all rows, in five folds.
    """
    seed = int(rng.integers(2**31))
    n_rows = len(problem.Z)
    if n_held is not None:
        inner = TreeMember.fitted(problem.take(np.arange(n_rows - n_held)), labels, seed)
        return TreeMember.fitted(problem, labels, seed), inner.evaluate(problem.Z[n_rows - n_held :])
    held_out = np.empty_like(problem.Y)
    for fold in np.array_split(rng.permutation(n_rows), min(_FOLDS, n_rows)):
        others = problem.take(np.setdiff1d(np.arange(n_rows), fold))
        if labels and not np.any(np.ptp(others.Y, axis=0)):  # one class left
            held_out[fold] = others.Y[0]
        else:
            held_out[fold] = TreeMember.fitted(others, labels, seed).evaluate(problem.Z[fold])
    return TreeMember.fitted(problem, labels, seed), held_out
