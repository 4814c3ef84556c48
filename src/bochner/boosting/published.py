"""What GBRFF1 and GBRFF2 share (Gautheron et al. 2020): the exponential loss, its weights, the step, one-vs-rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._compute import is_dask, is_mapped, row_block_size, row_sum, threads_for_rows_only
from .._progress import track
from .._random import as_generator
from .._validation import check_count, check_positive, check_rows
from ..priors import Gaussian
from .expansion import constant_expansion
from .predicting import ExpansionClassifier

# A weight is at most e^30: by then its row has decided the round anyway.
LARGEST_LOG_WEIGHT = 30.0
# Below this many numbers one thread is faster than several: the work is less than the cost of waking them.
SMALL = 2**20


def at_once(rows):
    """Whether all rows may go to one call: they are in memory, and too few to share them out."""
    return _in_memory(rows) and rows.size <= SMALL


def few_blocks(rows):
    """Within this context rows in memory come in eight blocks: for functions that need little memory for a row."""
    return row_block_size(-(-rows.shape[0] // 8) if _in_memory(rows) else "auto")


def _in_memory(rows):
    return isinstance(rows, np.ndarray) and not is_mapped(rows)


def row_total(block, rows, *signals):
    """``row_sum`` of a block function that needs little memory for a row, so that few blocks are enough."""
    if at_once(rows):
        return block(rows, *signals)
    with few_blocks(rows):
        return row_sum(block, rows, *signals)


def log_odds(signs: np.ndarray) -> float:
    """H⁰ = ½ ln((1 + ȳ)/(1 − ȳ)), the best constant for the exponential loss (Eq. 6); finite for one class too."""
    mean = np.clip(signs.mean(), -(1 - 1 / len(signs)), 1 - 1 / len(signs))
    return 0.5 * np.log1p(2 * mean / (1 - mean)) if len(signs) > 1 else float(signs[0])


def bound_minimizer(agreement: np.ndarray, weights: np.ndarray) -> float:
    """α = ½ ln(S₊/S₋), S± = Σ (1 ± y h) w with ``agreement`` = y h in [−1, 1]; minimises the bound √(S₊S₋) on the loss.

    As in Algorithms 2 and 3; the text above them has numerator and denominator exchanged, which raises the loss.
    A perfect weak learner has S₋ = 0: 10⁻¹⁰ of the total weight is added to both, so |α| stays below 12.
    """
    total = weights.sum()
    edge = weights @ agreement
    guard = 1e-10 * total
    return 0.5 * float(np.log((total + edge + guard) / (total - edge + guard)))


class PublishedBooster(ExpansionClassifier, BaseEstimator):
    """What both algorithms share: the exponential loss, its weights, the step, one-vs-rest for several classes."""

    def fit(self, X: Any, y: Any) -> Any:
        """Run T rounds on X and y; with ``warm_start`` only those that are missing."""
        self._check_parameters()
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} passes over the rows many times a round and works on arrays in memory or memory "
                "maps, not on Dask arrays. Use FourierBoostingClassifier, which samples and streams."
            )
        continued = self.warm_start and hasattr(self, "expansion_")
        X = check_rows(self, X, reset=not continued).source
        y = column_or_1d(y, warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} samples but y has {len(y)}; give one label per row.")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got one class: {classes.tolist()[0]!r}."
            )
        if not continued:
            self.classes_ = classes
            self.prior_ = Gaussian(gamma=self.gamma).resolved(X)
            self._seed = int(as_generator(self.random_state).integers(2**63))
        elif not np.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start goes on with classes {self.classes_}, but y holds {classes}.")
        self._boost(X, codes, continued)
        return self

    def _boost(self, X, codes, continued):
        n_outputs = len(self.classes_) if len(self.classes_) > 2 else 1
        targets = range(n_outputs) if n_outputs > 1 else [1]
        signs = np.stack([np.where(codes == k, 1.0, -1.0) for k in targets])
        if not continued:
            self.expansion_ = constant_expansion([log_odds(row) for row in signs], X.shape[1])
            self.train_loss_ = np.zeros((0, n_outputs))
        done, per_round = len(self.train_loss_), n_outputs * self._atoms_per_learner()
        if len(self.expansion_) != done * per_round:
            held = len(self.expansion_) // (done * n_outputs)
            raise ValueError(
                f"warm_start goes on from rounds with K={held} frequencies each, but K={self._atoms_per_learner()}. "
                f"Write K={held}, or warm_start=False to begin anew."
            )
        if done > self.T:
            raise ValueError(f"warm_start goes on from {done} rounds, but T={self.T}. Write T={done + 1} or more.")
        scores = np.ascontiguousarray(self.expansion_.evaluate(X).T, dtype=np.float64)
        weights = np.exp(np.minimum(-signs * scores, LARGEST_LOG_WEIGHT))
        atoms: list[list[Any]] = [[], [], []]
        losses = []
        for t in track(range(done, self.T), type(self).__name__):
            with threads_for_rows_only():
                weak_learners = [
                    self._round(X, signs[k], scores[k], weights[k], np.random.default_rng([self._seed, t, k]))
                    for k in range(n_outputs)
                ]
            for k, (frequencies, phases, coefficients) in enumerate(weak_learners):
                one_hot = np.zeros((1, n_outputs))
                one_hot[0, k] = 1.0
                atoms[0].append(frequencies)
                atoms[1].append(phases[:, None] * one_hot)
                atoms[2].append(coefficients[:, None] * one_hot)
            losses.append(weights.mean(axis=1))
        if losses:
            self.expansion_ = self.expansion_.extended(*(np.concatenate(part) for part in atoms))
            self.train_loss_ = np.concatenate([self.train_loss_, losses])
        self.n_rounds_ = self.T

    def _round(self, X, signs, scores, weights, rng):
        """One weak learner; updates ``scores`` and ``weights``, returns its frequencies, phases and signed amplitudes."""
        # The weights are not normalised: they stand inside an exponential, so their scale is part of the objective.
        frequencies, phases, shares, prediction = self._weak_learner(X, signs * weights, rng)
        step = self.learning_rate * bound_minimizer(signs * prediction, weights)
        scores += step * prediction
        np.multiply(-signs, scores, out=weights)
        np.exp(np.minimum(weights, LARGEST_LOG_WEIGHT, out=weights), out=weights)
        return frequencies, phases, step * shares

    @abstractmethod
    def _weak_learner(self, X, signal, rng):
        """(frequencies (K, d), phases (K,), shares (K,), h(X)) that fit the signed weights ỹ."""

    @abstractmethod
    def _atoms_per_learner(self) -> int: ...

    @property
    def _atoms_per_round(self) -> int:
        return self._atoms_per_learner() * self.expansion_.n_outputs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: 1/(1 + exp(−2H)) is what the exponential loss estimates; one-vs-rest by softmax of 2H."""
        scores = self._scores(X)
        return self._probabilities(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities after each round."""
        for scores in self._staged_scores(X):
            yield self._probabilities(scores)

    @staticmethod
    def _probabilities(scores):
        if scores.shape[1] > 1:
            return softmax(2 * scores, axis=1)
        positive = expit(2 * scores)
        return np.concatenate([1 - positive, positive], axis=1)

    def _check_parameters(self):
        check_count(self.T, "T", minimum=0)
        check_positive(self.learning_rate, "learning_rate")
        if self.learning_rate > 1:
            raise ValueError(
                f"learning_rate must be at most 1, got {self.learning_rate}: larger steps may raise the loss."
            )
        if not isinstance(self.gamma, str):
            check_positive(self.gamma, "gamma")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
