"""GBRFF1: weak learners are small learned kernels around landmarks (Gautheron et al. 2020)."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from .._checks import check_count
from .._estimator import keyword_only_from
from .._loops.arrays import as_dense
from ..data import Block, Rows
from ..learners import AlignmentLearner, PacBayes
from ..measures.fourier import FourierMeasure
from ..priors.base import SpectralPrior
from .gbrff2 import best_phase, half_turns
from .gbrff_base import SHARED_DOCUMENTATION, GBRFFBase, in_few_blocks

# Waves of a round are kept up to this size, or up to the size of the rows in memory. Otherwise they
# are computed again in each evaluation, which takes four times as long.
_KEPT_BYTES = 2**28


@keyword_only_from("0.4", old_order=("n_rounds", "n_components", "prior", "learner"))
@dataclass(eq=False, repr=False)
class GBRFF1Classifier(GBRFFBase):
    __doc__ = (
        r"""Gradient boosting of small learned kernels around learned landmarks (Algorithm 2).

    .. math:: h^t(x) = \sum_{j \le K} q_j \cos(\omega_j \cdot (x^t - x)),
        \qquad H = H^0 + \sum_t \alpha^t h^t

    Each round draws ω_1..K, fits the landmark x^t by L-BFGS (Eq. 9), weighs the frequencies by the
    pseudo-posterior q_j ∝ exp(−β √n · loss_j) (Eq. 10) and steps by α^t. The printed gradient of
    Eq. 9 takes the frequencies out of the sum; here each ω_j has its own sine. Several classes are
    fitted one against the rest.

    The authors' scripts have two variants. GBRFF0.5 is ``landmark="random"``. GBRFF1.5 is
    ``GBRFF2Classifier(max_iterations=0)``: with one frequency, one free coordinate is equivalent to
    all of them, and is a phase.

    Parameters
    ----------
    n_rounds : int, default 100
        T, the number of rounds; 0 predicts the majority.
    n_components : int, default 10
        K, the frequencies of a weak learner. The waves of all rows are kept during a round if they
        need at most 256 MiB, or the size of X in memory. Otherwise they are computed in each
        evaluation, and a fit takes four times as long.
    prior : a prior of ``bochner.priors``, or a FourierMeasure, default ``Gaussian(gamma='scale')``
        Distribution of the frequencies, N(0, 2γ I). The paper tries γ = 2^{-2..2}/d on standardized
        data, for which "scale" is 1/d.
    learner : AlignmentLearner, default ``PacBayes()``
        Computes the weights q from the losses of the frequencies; ``PacBayes(0)`` keeps them equal.
    max_iterations : int, default 10
        L-BFGS iterations for a landmark; 0 keeps it at the origin.
    landmark : "learned", "random" or int, default "learned"
        "learned" moves all coordinates of x^t. The number of a column moves this coordinate only
        and keeps all others at 0 (section 3.3). With ``n_components=1`` the loss is periodic, and
        the whole period [−π/ω_c, π/ω_c] is searched; otherwise the search is L-BFGS. "random" uses
        a random training row: the GBRFF0.5 of the authors' scripts."""
        + SHARED_DOCUMENTATION
        + """    landmarks_ : (T · n_outputs, n_features), one per weak learner

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> GBRFF1Classifier(n_rounds=30, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """
    )

    _defaults: ClassVar = GBRFFBase._defaults | {"learner": PacBayes()}

    _: KW_ONLY
    n_components: int = 10
    prior: SpectralPrior | None = None
    learner: AlignmentLearner | None = None
    landmark: str | int = "learned"

    def _atoms_per_learner(self) -> int:
        return self.n_components

    def _boost(self, rows, signs, counts, continued, reports=True):
        landmarks = list(self.landmarks_) if continued else []
        self._landmarks = landmarks
        super()._boost(rows, signs, counts, continued, reports)
        self.landmarks_: np.ndarray = np.reshape(landmarks, (-1, rows.n_features))
        del self._landmarks

    def _weak_learner(self, rows, signal, counts, n_samples, rng):
        n_frequencies = self.n_components
        frequencies = self.prior_.sample(n_frequencies, rows.n_features, rng).frequencies
        measure = FourierMeasure(frequencies, np.ones(n_frequencies))
        points, kernel, width = rows, None, max(rows.n_features, 2 * n_frequencies)
        rows = in_few_blocks(rows, width)
        if keeps_waves(rows, n_frequencies):
            rows = in_few_blocks(measure.features(rows), width)
        else:
            kernel = measure

        signals = rows.persist(signal), rows.persist(counts)

        def total(function, phases):
            block = Block(function, kernel, phases, row_bytes=32 * n_frequencies)
            return rows.sum(block, *signals)

        def objective(landmark):
            value, by_phase = total(landmark_block, frequencies @ landmark)
            return float(value) / n_samples, frequencies.T @ by_phase / n_samples

        if self.landmark == "random":
            landmark = random_row(points, counts, rng)
        elif self.landmark == "learned" or n_frequencies > 1:
            landmark = self._descended(objective, frequencies.shape[1])
        else:
            landmark = np.zeros(frequencies.shape[1])
            along = frequencies[0, self.landmark]
            if along != 0:  # otherwise the loss does not depend on this coordinate
                phase = best_phase(half_turns(points, frequencies[0]), signal, counts)
                landmark[self.landmark] = phase / along
        self._landmarks.append(landmark)
        phases = frequencies @ landmark
        losses = total(frequency_losses_block, phases) / n_samples
        equal = np.full(n_frequencies, 1 / n_frequencies)
        learner = self._component("learner", AlignmentLearner)
        shares = learner.weigh(equal, losses, n_samples).weights
        coefficients = np.concatenate([shares * np.cos(phases), shares * np.sin(phases)])
        block = Block(_prediction_block, kernel, coefficients, row_bytes=32 * n_frequencies)
        return frequencies, phases, shares, rows.values(block, dtype=np.float64)

    def _descended(self, objective, n_features):
        """Return the landmark of L-BFGS from the origin, in all coordinates or in one."""
        free = np.arange(n_features) if self.landmark == "learned" else np.array([self.landmark])
        landmark = np.zeros(n_features)

        def along(coordinates):
            landmark[free] = coordinates
            value, slopes = objective(landmark)
            return value, slopes[free]

        if self.max_iterations:
            landmark[free] = fmin_l_bfgs_b(along, landmark[free], maxiter=self.max_iterations)[0]
        return landmark

    def _check_own_parameters(self, n_features):
        check_count(self.n_components, "n_components")
        self._component("learner", AlignmentLearner).check_parameters()
        if isinstance(self.landmark, str) and self.landmark in ("learned", "random"):
            return
        if isinstance(self.landmark, str | bool) or not isinstance(self.landmark, Integral):
            raise ValueError(
                "landmark must be 'learned', 'random' or the number of a column, got "
                f"{self.landmark!r}. Write e.g. landmark=0."
            )
        if not 0 <= self.landmark < n_features:
            raise ValueError(
                f"landmark={self.landmark} is no column of X, which has columns 0 to "
                f"{n_features - 1}. Write e.g. landmark=0."
            )


def keeps_waves(rows: Rows, n_frequencies: int) -> bool:
    """Return True if there is memory for the cosines and sines of all rows."""
    size = len(rows) * 2 * n_frequencies * np.dtype(rows.dtype).itemsize
    return size <= rows.room_beside(_KEPT_BYTES)


def random_row(rows: Rows, counts: Any, rng: np.random.Generator) -> np.ndarray:
    """Return a random row, drawn with probabilities proportional to the counts."""
    place = rng.choice(len(rows), size=1, p=counts / counts.sum())
    return as_dense(rows.take(place))[0].astype(np.float64)


def landmark_block(kernel: Any, phases: Any, rows: Any, signal: Any, counts: Any) -> Any:
    r"""Return the summed loss of a landmark and its gradient in the phases φ_j = ω_j·x.

    .. math:: \sum_i h_i \exp(-\tilde y_i m_i),
        \quad m_i = \tfrac1K \sum_j \cos(\phi_j - \omega_j \cdot x_i)

    This is Eq. 9 with the corrected gradient, and h is ``counts``. ``rows`` are the cosines and
    sines of ω_j·x_i, or the points if a kernel is given.
    """
    pairs = rows if kernel is None else kernel.features(rows)
    n_frequencies = len(phases)
    cosine, sine = np.cos(phases) / n_frequencies, np.sin(phases) / n_frequencies
    similarity = pairs @ np.concatenate([cosine, sine])
    exponents = -signal * similarity
    losses = counts * np.exp(np.minimum(exponents, 60.0))
    back = (-signal * losses) @ pairs
    # Beyond e^60 the loss continues as its tangent, so that one heavy row cannot overflow it.
    value = np.sum(losses * (1 + np.maximum(exponents - 60.0, 0.0)))
    gradient = cosine * back[n_frequencies:] - sine * back[:n_frequencies]
    return np.float64(value), gradient


def frequency_losses_block(kernel: Any, phases: Any, rows: Any, signal: Any, counts: Any) -> Any:
    """Return Σ_i h_i exp(−ỹ_i cos(φ_j − ω_j·x_i)) of each frequency, the sum inside Eq. 10."""
    pairs = rows if kernel is None else kernel.features(rows)
    n_frequencies = len(phases)
    cosine, sine = pairs[:, :n_frequencies], pairs[:, n_frequencies:]
    similarity = cosine * np.cos(phases) + sine * np.sin(phases)
    return (counts[:, None] * np.exp(np.minimum(-signal[:, None] * similarity, 60.0))).sum(axis=0)


def _prediction_block(kernel, coefficients, rows, out):
    out[...] = (rows if kernel is None else kernel.features(rows)) @ coefficients
