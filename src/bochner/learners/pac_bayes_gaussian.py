"""PacBayesGaussian: the Gaussian distribution of frequencies with the smallest PAC-Bayes bound."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.base import clone

from .._checks import MissingMethod, Seed, as_generator, check_choice, check_count, check_flag
from .._loops.arrays import as_dense
from .._loops.threads import threads_for_matrices
from ..bounds import Bound, second_order
from ..bounds.alignment import of_any_losses
from ..data import Rows
from ..priors import Gaussian, SpectralMixture, SpectralPrior
from ..priors.metric import WithMetric
from .alignment import alignment_sums, pair_count
from .base import Learned, PriorLearner, as_data, drawn_rows
from .pac_bayes import BETA_GRID, CHOICE_DELTA, check_beta

# Draws from the prior, of which the one of least loss is a start of the mean.
_N_CANDIDATES = 1000
# Rows at most in the loss of the report; 1e8 pairs take about two seconds.
_BOUND_ROWS = 10_000
# Columns at most for a full covariance, which has a number for each pair of columns.
_MOST_COLUMNS = 1000
# Rows of a block of pairs.
_BLOCK_ROWS = 512


@dataclass(frozen=True, eq=False)
class GaussianReport:
    """Report of ``PacBayesGaussian``.

    ``mean`` and ``covariance`` (variances, if diagonal) describe q, and ``prior`` is q as a prior.
    ``loss`` is L̂ of k_q over all pairs of ``n_samples`` rows. ``divergence`` is KL(q ‖ p) of the
    even q. ``tradeoff`` is β. ``caveat`` is the reason why no theorem covers this target, or "".
    """

    prior: SpectralPrior
    mean: np.ndarray
    covariance: np.ndarray
    loss: float
    divergence: float
    n_samples: float
    tradeoff: Any
    caveat: str


@dataclass(eq=False, repr=False)
class PacBayesGaussian(PriorLearner):
    r"""Frequencies drawn from the Gaussian q = N(m, S) on R^d that minimizes a PAC-Bayes bound.

    The conclusion of Letarte et al. 2019 proposes a variational approximation of their Eq. 11. For
    q and a prior p of independent normal frequencies, both terms of Theorem 3 have a closed form:

    .. math:: k_q(\delta) = \mathbf E_q \cos \omega \cdot \delta
        = e^{-\delta^\top S \delta / 2} \cos m \cdot \delta

    and KL(q ‖ p). So the bound of the kernel k_q on R^d is minimized without a finite set of
    candidates. S is a learned metric, and m adds a periodic part. L-BFGS starts at p. Because m = 0
    is a stationary point, a second start has m at the best of 1000 draws from p, unless
    ``centered``.

    The cosine is even, so that q and (N(m, S) + N(−m, S)) / 2 have the same kernel. The second one
    is closer to p, by up to ln 2, and the report has its divergence.

    The loss of k_q is a sum over pairs of rows, so time grows with the square of their number.
    L-BFGS uses at most ``n_rows`` rows. The loss in the report and in the bound is that of all
    pairs. With more than 10 000 rows, both are for a random sample of 10 000.

    Parameters
    ----------
    beta : float or "bound", default "bound"
        A number minimizes L̂(k_q) + KL(q ‖ p) / (β √n), as for ``PacBayes``. ``"bound"`` minimizes
        L̂(k_q) + √((KL(q ‖ p) + ln(2 √N / δ)) / (2N)) with N = ⌊n/2⌋ and δ = .05. This is at least
        the bound of ``form="kl"``.
    prior : a prior with ``gaussian_variances``, default None
        p, such as ``Gaussian``. None is the prior of the ``SpectralFeatures`` around it.
    covariance : "full" or "diagonal", default "full"
        Form of S. "full" needs at most 1000 columns.
    centered : bool, default False
        Fix m = 0.
    n_rows : int, default 1000
        Rows at most for L-BFGS, drawn at random.
    n_iterations : int, default 100
        Steps of L-BFGS at most, from each start.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> learner = PacBayesGaussian(prior=Gaussian(gamma=0.5))
    >>> report = learner.learn(Gaussian().sample(50, 3, rng), X, X[:, 0] > 0, rng).report
    >>> bool(learner.bound(report, form="kl").value < 0.5)
    True
    """

    beta: float | str = "bound"
    _: KW_ONLY
    covariance: str = "full"
    centered: bool = False
    n_rows: int = 1000
    n_iterations: int = 100

    def check_parameters(self) -> None:
        check_beta(self.beta, allow_zero=False)
        check_choice(self.covariance, "covariance", ("full", "diagonal"))
        check_flag(self.centered, "centered")
        check_count(self.n_rows, "n_rows", minimum=2)
        check_count(self.n_iterations, "n_iterations")
        super().check_parameters()

    def learn_prior(
        self, prior: SpectralPrior, X: Any, y: Any, rng: Seed = None, sample_weight: Any = None
    ) -> SpectralPrior:
        """Return q as a prior, learned from this prior; bounds on the same rows are not valid."""
        learner = clone(self).set_params(prior=prior)
        learner.check_parameters()
        rows, target, weights = as_data(X, y, sample_weight)
        resolved = learner.prior.resolved(rows, weights)
        return learner._posterior(resolved, rows, target, weights, as_generator(rng, "rng")).prior

    def bound(
        self,
        report: GaussianReport,
        n_drawn: int | None = None,
        *,
        delta: float = 0.05,
        form: str = "safe",
    ) -> Bound:
        """Bound the alignment loss of k_q, or of the kernel of ``n_drawn`` frequencies from q.

        Theorem 3 at t = β √n, for ``beta="bound"`` at the best t of 25, or ``form="kl"`` without t.
        For D draws, δ is split in two halves. The theorem fails with probability δ/2. With
        probability δ/2 at most, the mean loss of the draws exceeds that of k_q by more than
        √(ln(2/δ) / (2D)) (Hoeffding).
        """
        n_samples = int(report.n_samples)
        share = delta if n_drawn is None else delta / 2
        theorem = partial(second_order, divergence=report.divergence, n_samples=n_samples)
        if form == "kl":
            bound = of_any_losses(theorem, report.loss, delta=share, form=form)
        else:
            betas = BETA_GRID if report.tradeoff == "bound" else (report.tradeoff,)
            settings = {"delta": share, "form": form, "n_tried": len(betas)}
            tried = [
                of_any_losses(theorem, report.loss, t=beta * np.sqrt(n_samples), **settings)
                for beta in betas
            ]
            bound = min(tried, key=lambda one: one.value)
        if n_drawn is not None:
            rest = float(np.sqrt(np.log(1 / share) / (2 * n_drawn)))
            value, complexity = bound.value + rest, bound.complexity + rest
            bound = replace(bound, value=value, complexity=complexity, confidence=1 - delta)
        return replace(bound, valid=False, reason=report.caveat) if report.caveat else bound

    def _learn(self, measure, rows, target, rng, weights):
        prior = self._resolved_prior(measure, rows, weights)
        report = self._posterior(prior, rows, target, weights, rng)
        drawn = report.prior.sample(len(measure), rows.n_features, rng)
        return Learned(drawn.reweighted(drawn.weights * measure.mass), report)

    def _posterior(self, prior, rows, target, weights, rng):
        n_features = rows.n_features
        if self.covariance == "full" and n_features > _MOST_COLUMNS:
            raise ValueError(
                f"A full covariance needs at most {_MOST_COLUMNS} columns, got {n_features}. Write "
                "covariance='diagonal', or reduce the columns first, e.g. by PCA."
            )
        try:
            sizes = np.sqrt(prior.gaussian_variances(n_features))
        except MissingMethod as error:
            raise TypeError(
                "PacBayesGaussian needs a prior of independent normal frequencies, got "
                f"{prior!r}. Write e.g. Gaussian(gamma=1.0)."
            ) from error
        candidates = prior.sample(_N_CANDIDATES, n_features, rng)
        sums = alignment_sums(candidates, rows, target, weights)
        best = candidates.frequencies[np.argmin(sums.losses())] / sizes
        pairs = Pairs.of(rows, target, weights, sizes, rng)
        mean, factor = self._minimized(pairs, best, rng)
        loss = pairs.loss_and_slopes(mean, factor, slopes=False)[0]
        near = mean / factor if factor.ndim == 1 else solve_triangular(factor, mean, lower=True)
        divergence = gaussian_divergence(mean, factor) - sign_information(near)
        factor = factor * (sizes if factor.ndim == 1 else sizes[:, None])
        return GaussianReport(
            _as_prior(mean * sizes, factor),
            mean * sizes,
            factor**2 if factor.ndim == 1 else factor @ factor.T,
            loss,
            max(divergence, 0.0),
            pairs.n_samples,
            self.beta,
            sums.caveat,
        )

    def _minimized(self, pairs, best, rng):
        """Return mean and factor of S, in units of the prior, that minimize the bound."""
        d = pairs.X.shape[1]
        full, n_samples = self.covariance == "full", pairs.n_samples
        some = pairs.take(drawn_rows(len(pairs.X), self.n_rows, None, rng))
        below = np.tril_indices(d, -1) if full else ((), ())
        theta = np.zeros(2 * d + len(below[0]))

        def unpacked(free):
            theta[skipped:] = free
            factor = np.exp(theta[d : 2 * d])
            if full:
                factor = np.diag(factor)
                factor[below] = theta[2 * d :]
            return theta[:d].copy(), factor

        def objective(free):
            mean, factor = unpacked(free)
            loss, mean_slope, slope = some.loss_and_slopes(mean, factor)
            cost, weight = self._cost(gaussian_divergence(mean, factor), n_samples)
            slope = slope + weight * factor
            diagonal = np.diag(factor) * np.diag(slope) if full else factor * slope
            parts = (mean_slope + weight * mean, diagonal - weight, slope[below] if full else ())
            return loss + cost, np.concatenate(parts)[skipped:]

        skipped = d if self.centered else 0
        starts = [theta[skipped:].copy()]
        if not self.centered:
            starts.append(np.append(best, theta[d:]))
        options = {"maxiter": self.n_iterations}
        with threads_for_matrices(2.0 * d * len(some.X) ** 2):
            ends = [
                minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
                for start in starts
            ]
        # Among ends that are equal up to the tolerance the first one, which has m = 0.
        return unpacked(min(ends, key=lambda end: round(end.fun, 6)).x)

    def _cost(self, divergence, n_samples):
        """Return the term that is added to the loss, and its derivative in the divergence."""
        if self.beta != "bound":
            weight = 1 / (self.beta * np.sqrt(n_samples))
            return weight * divergence, weight
        n_blocks = max(n_samples // 2, 1)
        budget = (divergence + np.log(2 * np.sqrt(n_blocks) / CHOICE_DELTA)) / n_blocks
        cost = np.sqrt(budget / 2)
        return cost, 1 / (4 * n_blocks * cost)


def _as_prior(mean, factor):
    """Return N(mean, S) as a prior; ``factor`` is L or its diagonal."""
    prior: SpectralPrior
    if factor.ndim == 2:
        prior = WithMetric(Gaussian(gamma=0.5), factor, mean)
    elif np.any(mean):
        prior = SpectralMixture(weights=[1.0], means=mean[None], scales=factor[None])
    else:
        prior = Gaussian(gamma=factor**2 / 2)
    prior._learned = True
    return prior


def gaussian_divergence(mean: np.ndarray, factor: np.ndarray) -> float:
    """Return KL(N(m, LLᵀ) ‖ N(0, I)) for L, or the diagonal of L.

    >>> round(gaussian_divergence(np.array([1.0, 0.0]), np.array([2.0, 1.0])), 4)
    1.3069
    """
    diagonal = factor if factor.ndim == 1 else np.diag(factor)
    sizes = np.sum(factor**2) + mean @ mean - len(mean)
    return float(sizes / 2 - np.sum(np.log(diagonal)))


def sign_information(near: Any) -> float:
    """Return KL(N(m, S) ‖ p) − KL((N(m, S) + N(−m, S)) / 2 ‖ p) for an even p.

    It is the information of ω on the sign, ln 2 − E ln(1 + exp(−2a(a + z))) with z normal. It is
    between 0 and ln 2. a = √(mᵀS⁻¹m) is the norm of ``near``, L⁻¹m for S = LLᵀ.

    >>> sign_information(0.0).__round__(6), sign_information(10.0).__round__(6)
    (0.0, 0.693147)
    """
    distance, z = np.linalg.norm(near), np.linspace(-12.0, 12.0, 4801)
    density = np.exp(-(z**2) / 2)
    mean = density @ np.logaddexp(0.0, -2 * distance * (distance + z)) / density.sum()
    return float(np.log(2) - mean)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows in units of the prior with the similarity of their targets; a weight counts as rows."""

    X: np.ndarray
    factors: np.ndarray
    signs: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls, rows: Rows, target: Any, weights: Any, sizes: np.ndarray, rng: np.random.Generator
    ) -> Pairs:
        """Return all rows, or a random sample of them if there are too many."""
        similarity = target.similarity(weights)
        numbers = drawn_rows(len(rows), _BOUND_ROWS, weights, rng)
        X = as_dense(rows.take(numbers)).astype(np.float64)
        counts = np.ones(len(numbers)) if weights is None else np.asarray(weights)[numbers]
        # Differences do not change, and products of centered rows cancel less.
        X = (X - X.mean(axis=0)) * sizes
        return cls(X, similarity.factors[numbers], similarity.signs, counts)

    @property
    def n_samples(self) -> float:
        return float(self.weights.sum())

    def take(self, numbers: np.ndarray) -> Pairs:
        """Return some of the rows."""
        return Pairs(self.X[numbers], self.factors[numbers], self.signs, self.weights[numbers])

    def loss_and_slopes(
        self, mean: np.ndarray, factor: np.ndarray, slopes: bool = True
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return L̂(k_q), and its slopes in the mean m and the factor L (or its diagonal).

        With G = Λ ∘ exp(−½ δᵀSδ), the slopes are −½ Σ_ij G_ij ∂ cos(m·δ_ij) over the number of
        pairs, and those of a metric: Σ_ij G_ij cos(m·δ_ij) δ_ij δ_ijᵀ L.
        """
        X, diagonal = self.X, factor.ndim == 1
        Z = X * factor if diagonal else X @ factor
        squares = np.sum(Z**2, axis=1)
        phases = X @ mean
        waves = np.column_stack([np.cos(phases), np.sin(phases)])
        weighted = self.factors * self.weights[:, None]
        energy, pull, metric = 0.0, np.zeros(X.shape[1]), np.zeros(factor.shape)
        for start in range(0, len(X), _BLOCK_ROWS):
            some = slice(start, start + _BLOCK_ROWS)
            gram = squares[some, None] + squares - 2 * Z[some] @ Z.T
            np.exp(-np.maximum(gram, 0.0, out=gram) / 2, out=gram)
            gram *= (weighted[some] * self.signs) @ weighted.T
            sums = gram @ waves
            similar = np.sum(waves[some] * sums, axis=1)
            energy += float(similar.sum())
            if not slopes:
                continue
            pull += X[some].T @ (waves[some, 1] * sums[:, 0] - waves[some, 0] * sums[:, 1])
            gram *= waves[some] @ waves.T
            near = similar[:, None] * X[some] - gram @ X
            metric += np.sum(X[some] * near, axis=0) if diagonal else X[some].T @ near
        trace = float(np.sum(self.signs * (self.weights @ self.factors**2)))
        n_pairs = pair_count(self.n_samples)
        metric = metric * factor if diagonal else np.tril(metric @ factor)
        return 0.5 - (energy - trace) / (2 * n_pairs), pull / n_pairs, metric / n_pairs
