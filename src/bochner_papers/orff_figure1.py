"""Figure 1: convergence and variance of operator-valued random features."""

import numpy as np

from bochner.operators import (
    CurlFree,
    Decomposable,
    DivergenceFree,
    OperatorKernel,
    estimator_variance,
    variance_bound,
)
from bochner.plots._canvas import blank
from bochner.priors import Gaussian

from .runner.results import Case, Figure, Results, chosen, curve, every, exponent, judged

PAPER = "Brault, Heinonen, d'Alché-Buc 2016, Figure 1"
CLAIM = (
    "The largest spectral-norm error of decomposable, curl-free and divergence-free features falls "
    "like D^(-1/2), and "
    "Proposition 12 bounds the variance of the curl-free ones."
)
DEVIATIONS = (
    "Bandwidth and output matrix are not published: σ = 1 and the identity. The quick scale "
    "compares 300 points instead of 1000. "
    "The divergence-free kernel is ‖ω‖² I − ωωᵀ; one line of the paper prints another, which is "
    "not positive."
)

N_FEATURES = 4
_SIZES = [10, 30, 100, 300, 1000, 3000, 10000]
# Numbers of frequencies, seeds, points, and draws for the variance.
_SCALES = {
    "smoke": ([10, 100], 1, 30, 20),
    "quick": (_SIZES, 5, 300, 200),
    "paper": (_SIZES, 10, 1000, 1000),
}


def kernels() -> dict[str, OperatorKernel]:
    """Return the three kernels of the figure."""
    prior = Gaussian(gamma=0.5)
    return {
        "decomposable": Decomposable(prior, np.eye(N_FEATURES)),
        "curl-free": CurlFree(prior),
        "divergence-free": DivergenceFree(prior),
    }


def cases(scale: str) -> list[Case]:
    """Return cases of errors for each kernel, and of variances for the curl-free kernel."""
    sizes, n_seeds, n_points, n_draws = _SCALES[scale]
    few = [size for size in sizes if size <= 1000]
    return [
        *every(
            part=["error"],
            n_points=[n_points],
            kernel=kernels(),
            n_components=sizes,
            seed=range(n_seeds),
        ),
        *every(part=["variance"], n_components=few, n_draws=[n_draws]),
    ]


def run(case: Case, rng: np.random.Generator) -> Case:
    """Return the largest error over all pairs of points, or a variance with its bounds."""
    if case["part"] == "error":
        kernel = kernels()[case["kernel"]]
        points = rng.uniform(-1, 1, size=(case["n_points"], N_FEATURES))
        gap = kernel.sample(case["n_components"], N_FEATURES, rng).kernel(points) - kernel.kernel(
            points
        )
        return {"error": float(np.abs(np.linalg.eigvalsh(gap)).max())}
    kernel, size = kernels()["curl-free"], case["n_components"]
    delta, origin = np.full((1, N_FEATURES), 0.25), np.zeros((1, N_FEATURES))
    draws = [
        kernel.sample(size, N_FEATURES, child).kernel(delta, origin)[0, 0]
        for child in rng.spawn(case["n_draws"])
    ]
    gaps = draws - kernel.kernel(delta, origin)[0, 0]
    empirical = np.mean(gaps @ gaps, axis=0)
    return {
        "empirical": float(np.linalg.norm(empirical, 2)),
        "exact": float(np.linalg.norm(estimator_variance(kernel, delta)[0], 2)) / size,
        "proposition_12": float(variance_bound(kernel, delta, form="paper")[0]) / size,
        "safe": float(variance_bound(kernel, delta)[0]) / size,
    }


def error_curves(results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return numbers of frequencies, and the mean error over seeds, for each kernel."""
    return {
        name: curve(results, "error", "n_components", part="error", kernel=name)
        for name in kernels()
    }


def verdict(results: Results) -> tuple[str, str]:
    """ "The log-log plot shows that all three kernels have the same convergence rate, up to a
    multiplicative factor". Holds when the slopes of the three curves are within 0.1 of the -1/2 of
    independent draws and the exact variance is below Proposition 12; cannot tell with fewer than
    three numbers of frequencies.
    """
    curves = error_curves(results)
    if min(len(sizes) for sizes, _ in curves.values()) < 3:
        return "cannot tell", "a slope needs at least three numbers of frequencies"
    slopes = {name: exponent(*points) for name, points in curves.items()}
    words = ", ".join(f"{name} D^{slope:.2f}" for name, slope in slopes.items())
    variances = [result for _, result in chosen(results, part="variance")]
    bounded = all(result["exact"] <= result["proposition_12"] * (1 + 1e-9) for result in variances)
    words += "" if bounded else "; the variance exceeds Proposition 12"
    return judged(bounded and all(abs(slope + 0.5) < 0.1 for slope in slopes.values()), words)


def figure(results: Results) -> Figure:
    """Left: the largest error of each kernel. Right: the variance of the curl-free features, and
    what bounds it.
    """
    canvas, (left, right) = blank(1, 2, size=(10, 4))
    for name, points in error_curves(results).items():
        left.loglog(*points, marker="o", label=name)
    guide = np.array(sorted({case["n_components"] for case, _ in results}), dtype=float)
    left.loglog(guide, 3 * guide**-0.5, color="gray", linestyle="--", label=r"$D^{-1/2}$")
    left.set(ylabel=r"largest error $\|\tilde K - K\|_2$", title="Approximation error")
    names = {
        "empirical": "empirical",
        "exact": "exact",
        "proposition_12": "Proposition 12",
        "safe": r"$\|E A^2\| / D$",
    }
    for (key, name), style in zip(names.items(), ("o", "-", "--", ":")):
        right.loglog(*curve(results, key, "n_components", part="variance"), style, label=name)
    right.set(ylabel=r"$\|V[\tilde K_0(\delta)]\|_2$", title="Variance, curl-free")
    for axis in (left, right):
        axis.set_xlabel("number of frequencies D")
        axis.legend()
    return canvas
