"""PacBayesLangevin: frequencies drawn from the pseudo-posterior on R^d."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from .._checks import check_count, check_positive
from .._terminal.progress import track
from ..data import Rows
from ..measures.fourier import FourierMeasure
from ..priors import SpectralPrior
from .alignment import pair_count, potential_and_gradient
from .base import Learned, PriorLearner

# Share of accepted steps at which Langevin proposals mix fastest (Roberts and Rosenthal 1998).
_BEST_ACCEPTANCE = 0.574


@dataclass(frozen=True, eq=False)
class PosteriorReport:
    """Report of the chains.

    ``losses`` are L̂ of the returned frequencies, ``prior_losses`` those of the starts.
    ``acceptance`` is the share of accepted Langevin steps in the second half, ``jump_acceptance``
    that of jumps. ``tradeoff`` is β and ``n_samples`` n.
    """

    losses: np.ndarray
    prior_losses: np.ndarray
    acceptance: float
    jump_acceptance: float
    tradeoff: float
    n_samples: float


@dataclass(eq=False, repr=False)
class PacBayesLangevin(PriorLearner):
    r"""Frequencies drawn from the pseudo-posterior on R^d by Langevin dynamics.

    See Letarte et al. 2019, Eq. 11.

    .. math:: q^*(\omega) \propto p(\omega) \exp(-\tau \hat L(\omega)), \qquad \tau = \beta \sqrt n

    The paper calls this density "hard to compute" and uses draws from the prior p instead
    (``PacBayes``, whose weights are q*/p on them). In this learner, each atom of the measure starts
    a chain. The ends of the chains are independent draws of equal weights, so no atom has a small
    weight. A step proposes ω' = ω + (h/2) S ∇ ln q* + √h S^{1/2} z. The rule of Metropolis and
    Hastings accepts or rejects it, so that q* is stationary for every h. S are squared sizes of the
    starting frequencies, by column, and h is tuned in the first half of the steps. Some steps are
    jumps: new draws from p, which lead from one mode of q* to another. Each step makes two passes
    over the rows.

    Parameters
    ----------
    beta : float, default 1.0
        Strength of the data, as for ``PacBayes``; 0 draws from the prior.
    prior : a scalar prior, default None
        p, which must have a density (``Anova`` has none). None is the prior of the
        ``SpectralFeatures`` around it.
    n_steps : int, default 100
        Steps of each chain.
    jump_every : int, default 5
        Number of steps from one jump to the next; 0 makes no jumps.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> learner = PacBayesLangevin(beta=10.0, prior=Gaussian())
    >>> learned = learner.learn(Gaussian().sample(50, 2, rng), X, X[:, 0] > 0, rng)
    >>> bool(learned.report.losses.mean() < learned.report.prior_losses.mean())
    True
    """

    _: KW_ONLY
    n_steps: int = 100
    jump_every: int = 5

    def check_parameters(self) -> None:
        check_positive(self.beta, "beta", allow_zero=True)
        check_count(self.n_steps, "n_steps")
        check_count(self.jump_every, "jump_every", minimum=0)
        super().check_parameters()

    def _learn(self, measure, rows, target, rng, weights):
        prior = self._resolved_prior(measure, rows, weights)
        posterior = PseudoPosterior.of(prior, self.beta, rows, target, weights)
        start = np.asarray(measure.frequencies, dtype=np.float64)
        reached, taken = self._chains(posterior, prior, start, rng)
        acceptance, jumps = (float(np.mean(shares)) if shares else np.nan for shares in taken)
        prior_losses = posterior.at(start).losses
        report = PosteriorReport(
            reached.losses, prior_losses, acceptance, jumps, float(self.beta), posterior.n_samples
        )
        equal = np.full(len(start), measure.mass / len(start))
        return Learned(FourierMeasure(reached.places, equal), report)

    def _chains(self, posterior, prior, start, rng):
        """Return the ends of all chains, and the shares of accepted steps and jumps."""
        sizes = np.median(np.abs(start), axis=0) / 0.6745  # robust standard deviations
        sizes = np.where(sizes > 0, sizes, sizes[sizes > 0].mean() if np.any(sizes > 0) else 1.0)
        here, log_step = posterior.at(start), 0.0
        shares: tuple[list, list] = ([], [])
        for number in track(range(1, self.n_steps + 1), "pseudo-posterior", self.n_steps):
            jump = self.jump_every and number % self.jump_every == 0
            if jump:
                there = posterior.at(prior.sample(len(start), start.shape[1], rng).frequencies)
                gain = -posterior.temperature * (there.losses - here.losses)
            else:
                step = np.exp(log_step) * sizes**2
                noise = rng.standard_normal(start.shape)
                there = posterior.at(here.places + step / 2 * here.slopes + np.sqrt(step) * noise)
                gain = langevin_gain(here, there, step)
            accepted = np.log(rng.random(len(start))) < gain
            here = here.replaced(there, accepted)
            if 2 * number > self.n_steps:
                shares[bool(jump)].append(np.mean(accepted))
            elif not jump:
                acceptance = np.mean(np.exp(np.minimum(gain, 0.0)))
                log_step += (acceptance - _BEST_ACCEPTANCE) * 3 / np.sqrt(number)
        return here, shares


@dataclass(frozen=True, eq=False)
class Places:
    """Frequencies with their losses, ln q* up to a constant, and its slope."""

    places: np.ndarray
    losses: np.ndarray
    values: np.ndarray
    slopes: np.ndarray

    def replaced(self, others: Places, chosen: np.ndarray) -> Places:
        """Return a copy with the chosen rows of ``others``."""
        merged = {
            name: np.where(chosen[:, None] if own.ndim == 2 else chosen, getattr(others, name), own)
            for name, own in vars(self).items()
        }
        return Places(**merged)


def langevin_gain(here: Places, there: Places, step: np.ndarray) -> np.ndarray:
    """Return ln of q*(ω') g(ω' → ω) / (q*(ω) g(ω → ω')), g the law of a proposal.

    g is N(ω + (h/2) S ∇, h S), and h S is ``step``.
    """
    forth = np.sum((there.places - here.places - step / 2 * here.slopes) ** 2 / step, axis=1)
    back = np.sum((here.places - there.places - step / 2 * there.slopes) ** 2 / step, axis=1)
    with np.errstate(invalid="ignore"):
        gain = there.values - here.values + (forth - back) / 2
    return np.where(np.isfinite(there.values), gain, -np.inf)


@dataclass(frozen=True, eq=False)
class PseudoPosterior:
    """ln q* = ln p − τ L̂, up to a constant, and its slope, for given rows and targets."""

    prior: SpectralPrior
    temperature: float
    rows: Rows
    signal: Any
    signs: np.ndarray
    trace: float
    n_samples: float
    n_pairs: float

    @classmethod
    def of(
        cls, prior: SpectralPrior, beta: float, rows: Rows, target: Any, weights: Any
    ) -> PseudoPosterior:
        """Return the posterior of these rows; a row of weight 2 counts as two rows."""
        similarity = target.similarity(weights)
        factors, signs = similarity.factors, similarity.signs
        n_samples, trace = float(len(rows)), similarity.trace
        if weights is not None:
            n_samples = float(np.sum(weights))
            trace = float(np.sum(signs * (weights @ factors**2)))
            factors = factors * weights[:, None]
        temperature, n_pairs = beta * np.sqrt(n_samples), pair_count(n_samples)
        return cls(prior, temperature, rows, factors, signs, trace, n_samples, n_pairs)

    def at(self, frequencies: np.ndarray) -> Places:
        """Return ln q* at some frequencies, in two passes over the rows."""
        density, density_slopes = self.prior.log_density(frequencies)
        # Proposals without a density of the prior are replaced, because they are never accepted.
        sound = np.where(np.isfinite(density)[:, None], frequencies, 0.0)
        atoms = FourierMeasure(sound, np.ones(len(sound)))
        energy, slopes = potential_and_gradient(atoms, self.rows, self.signal, self.signs)
        losses = 0.5 - (energy - self.trace) / (2 * self.n_pairs)
        values = density - self.temperature * losses
        slopes = density_slopes + self.temperature * slopes / (2 * self.n_pairs)
        return Places(frequencies, losses, values, slopes)
