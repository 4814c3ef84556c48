"""GBRFF2: each weak learner is one cosine whose frequency is learned (Gautheron et al. 2020, Algorithm 3)."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from .._compute import Block, Rows
from .._compute.lazy import boosting as kernels
from .._validation import check_flag, check_positive
from ..priors.base import SpectralPrior
from .published import PublishedBooster, in_few_blocks

# Rows of the coarse phase grid; the final search looks at all of them.
_GRID_ROWS = 2**13
_GRID = np.linspace(-np.pi, np.pi, 64, endpoint=False)


def best_phase(turns: np.ndarray, signal: np.ndarray, counts: np.ndarray) -> float:
    """argmin over b of Σ_i h_i exp(−ỹ_i cos(π turns_i − b)): a periodic grid, two finer ones, one safeguarded Newton step.

    The function often has two minima or more, and a bounded scalar search, as in the authors' scripts (``fminbound`` with xtol = 0.01), may
    end in the wrong one.  Measured: with random signs and weights (300 cases of 200 rows) it ended more than 1 % above the least value in
    37 %; in the 100 rounds of a fit in 18 % (pima), 12 % (german), 13 % (vehicle) and never on wine and sonar, where there is one minimum.
    """
    phases, center = _GRID, 0.0
    radius = np.pi
    # Where to look is decided on some of the rows, what is found there on all of them.
    for n_rows in (_GRID_ROWS, 4 * _GRID_ROWS, len(turns)):
        stride = max(1, len(turns) // n_rows)
        some, *signals = (np.ascontiguousarray(part[::stride]) for part in (turns, signal, counts))
        values, slopes, curvatures = in_few_blocks(some).sum(Block(kernels.phase_losses_block, phases), *signals)
        best = int(np.argmin(values))
        center, radius = phases[best], 2 * radius / (len(phases) - (phases is not _GRID))
        phases = center + radius * np.linspace(-1, 1, 8)
    if curvatures[best] > 0:
        center -= np.clip(slopes[best] / curvatures[best], -radius, radius)
    return float((center + np.pi) % (2 * np.pi) - np.pi)


@dataclass(eq=False, repr=False)
class GBRFF2Classifier(PublishedBooster):
    r"""Gradient boosting where each weak learner is one cosine whose frequency is learned (Algorithm 3).

    .. math:: H(x) = H^0 + \sum_t \alpha^t \cos(\omega^t \cdot x - b^t)

    Each round draws ω, finds the best phase b on a circle, moves ω by L-BFGS on λ‖ω‖² + mean exp(−ỹ cos(ω·x − b)), and
    steps by α computed at the moved ω.  The paper leaves b where it was before ω moved; ``rephase`` looks for it again,
    which can only lower the round's objective.  Several classes: one against the rest.

    Parameters
    ----------
    n_rounds : int, default 100
        T, the number of rounds; 0 predicts the majority.
    prior : a prior of ``bochner.priors``, default ``Gaussian(gamma='scale')``
        Where frequencies start, N(0, 2γ I); the paper tries γ = 2^{-2..2}/d on standardised data, where "scale" is 1/d.
    penalty : float, default 0.0
        λ, the penalty on ‖ω‖²; the paper tries 0 and 2^{-5..-2}.
    rephase : bool, default False
        Look for the phase b again after ω has moved.
    learning_rate : float in (0, 1], default 1.0
        Share of each optimal step that is taken.
    max_iterations : int, default 10
        L-BFGS iterations a round; 0 keeps the drawn frequency.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes, by label; "balanced" gives each class the same total weight.
    calibrated : bool, default True
        Fit a second model without a quarter of the rows, which then say by how much ``predict_proba`` must flatten the margins: they grow
        with every round, far beyond the odds.  Predicted classes stay those of the paper; False takes half the time, and margins for odds.
    warm_start : bool, default False
        Go on from the last fit up to ``n_rounds``.
    random_state : None, int, RandomState or Generator, default None
        For the frequencies that are drawn.

    Attributes
    ----------
    expansion_ : Expansion; one atom per round (and class)
    train_loss_ : (T, n_outputs), mean exp(−yH) after each round
    feature_importances_ : (n_features,), of sum one: mean squared derivative of the scores per standard deviation of each column
    slope_ : the factor of margins in ``predict_proba``, whose odds are exp(2 slope H)
    classes_, n_rounds_, n_features_in_, prior_

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> GBRFF2Classifier(n_rounds=30, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    prior: SpectralPrior | None = None
    penalty: float = 0.0
    _: KW_ONLY
    rephase: bool = False

    def _weak_learner(self, rows, signal, counts, rng):
        frequency = self.prior_.sample(1, rows.n_features, rng).frequencies[0]
        turns = rows.map(Block(kernels.half_turns_block, frequency))
        phase = best_phase(turns, signal, counts)
        if self.max_iterations:
            objective = partial(frequency_objective, rows, signal, counts, phase, self.penalty)
            frequency, _, _ = fmin_l_bfgs_b(objective, frequency, maxiter=self.max_iterations)
            turns = rows.map(Block(kernels.half_turns_block, frequency))
            if self.rephase:
                phase = best_phase(turns, signal, counts)
        prediction = np.empty_like(turns)
        kernels.cosine_values(turns, turns.dtype.type(phase / np.pi), prediction)
        return frequency[None], np.array([phase]), np.ones(1), prediction

    def _check_parameters(self):
        super()._check_parameters()
        check_positive(self.penalty, "penalty", allow_zero=True)
        check_flag(self.rephase, "rephase")


def frequency_objective(
    rows: Rows, signal: np.ndarray, counts: np.ndarray, phase: float, penalty: float, frequency: np.ndarray
) -> Any:
    """λ‖ω‖² + mean_i exp(−ỹ_i cos(ω·x_i − b)) and its gradient in ω (line 7 of Algorithm 3), in one pass over the rows.

    The mean is that of rows of weight h, ``counts``.
    """
    value, gradient = rows.sum(Block(kernels.exponential_block, frequency, phase), signal, counts)
    n_samples = counts.sum()
    return value / n_samples + penalty * frequency @ frequency, gradient / n_samples + 2 * penalty * frequency
