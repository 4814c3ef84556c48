"""scikit-learn's histogram trees as a member: they err differently from kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from .._loops.threads import threads_of_others
from .solving import Problem

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class TreeMember:
    """Histogram trees on the prepared columns; scores are probabilities of classes, or values, one
    model an output.
    """

    models: tuple[HistGradientBoostingClassifier | HistGradientBoostingRegressor, ...]
    n_outputs: int
    n_rows: int

    @classmethod
    def fitted(cls, problem: Problem, labels: bool, seed: int) -> TreeMember:
        """On all rows of a problem; ``labels`` says that its targets are one-hot (one column for
        two classes).
        """
        n_outputs = problem.Y.shape[1]
        models: tuple
        with threads_of_others():
            if labels:
                codes = problem.Y[:, 0].astype(int) if n_outputs == 1 else problem.Y.argmax(axis=1)
                model = HistGradientBoostingClassifier(random_state=seed)
                models = (model.fit(problem.Z, codes, sample_weight=problem.weights),)
            else:
                models = tuple(
                    HistGradientBoostingRegressor(random_state=seed).fit(
                        problem.Z, y, sample_weight=problem.weights
                    )
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
        return TreeMember.fitted(problem, labels, seed), inner.evaluate(
            problem.Z[n_rows - n_held :]
        )
    shares = _fold_shares(problem, rng)
    held_out = np.zeros_like(problem.Y)
    for share in shares:
        held, kept = np.flatnonzero(share), np.flatnonzero(share < 1)
        others = problem.take(kept)
        others = replace(others, counts=others.counts * (1 - share[kept]))
        if labels and not np.any(np.ptp(others.Y, axis=0)):  # one class left
            scores = np.broadcast_to(others.Y[0], (len(held), problem.Y.shape[1]))
        else:
            scores = TreeMember.fitted(others, labels, seed).evaluate(problem.Z[held])
        held_out[held] += share[held, None] * scores
    return TreeMember.fitted(problem, labels, seed), held_out


def _fold_shares(problem, rng):
    """Return the share of each row that is held out in each fold, (n_folds, n_rows).

    A row that stands for several observations is spread over the folds, as rows drawn one by one
    would be.
    """
    n_rows = len(problem.Z)
    n_folds = min(_FOLDS, n_rows)
    shares = np.zeros((n_folds, n_rows))
    for number, fold in enumerate(np.array_split(rng.permutation(n_rows), n_folds)):
        shares[number, fold] = 1.0
    if problem.observations is not None:
        several = np.flatnonzero(problem.observations >= 2)
        counts = problem.observations[several].astype(int)
        shares[:, several] = rng.multinomial(counts, np.full(n_folds, 1 / n_folds)).T / counts
    return shares
