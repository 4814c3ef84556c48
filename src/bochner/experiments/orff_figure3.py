"""Figure 3: a curl-free field in five dimensions; structured against independent outputs, features against exact kernels."""

import time
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from ..operators import CurlFree, Decomposable
from ..priors import Gaussian
from ..ridge import OperatorKernelRidge, OperatorRidge

PAPER = "Brault, Heinonen, d'Alché-Buc 2016, Figure 3"
CLAIM = (
    "On the gradient of a random function in five dimensions, curl-free features predict clearly better than independent ones, as well "
    "as the exact curl-free kernel, in time linear in the number of rows."
)
DEVIATIONS = (
    "The number of frequencies of the random function is not published: 1000. λ is chosen from 10^-8…10^1 by exact leave-one-out on at "
    "most 1000 rows (300 for the exact kernels). Normal equations are solved directly instead of by L-BFGS. Besides the paper's bandwidth, the median distance (1.8), "
    "a quarter of it, which is near the length 0.4 of the field."
)

N_FEATURES = 5
_LAMBDAS = 10.0 ** np.arange(-8, 2)


def gradient_field(n_samples: int, rng: np.random.Generator, points: np.ndarray | None = None, seed: int = 0) -> Any:
    """Points in [-1, 1]⁵ and the gradient of f = φ(x)·θ there, φ Gaussian features of length 0.4, θ ~ N(0, I)."""
    truth = np.random.default_rng([55, seed])
    frequencies = truth.normal(size=(1000, N_FEATURES)) / 0.4
    cosine, sine = truth.normal(size=(2, 1000))
    X = rng.uniform(-1, 1, size=(n_samples, N_FEATURES)) if points is None else points
    Y = np.empty_like(X)
    for rows in np.array_split(np.arange(len(X)), max(1, len(X) // 4096)):
        phase = X[rows] @ frequencies.T
        Y[rows] = (sine * np.cos(phase) - cosine * np.sin(phase)) @ frequencies / np.sqrt(1000)
    return X, Y


def cases(scale: str) -> list[dict[str, Any]]:
    """R² against D at fixed N and against N at fixed D, for four methods and two bandwidths; times of larger fits."""
    n_seeds = {"smoke": 1, "quick": 3, "paper": 10}[scale]
    sizes = {"smoke": [20], "quick": [30, 100, 300, 1000, 2000], "paper": [10, 30, 100, 300, 1000, 2000]}[scale]
    rows = {"smoke": [100], "quick": [100, 300, 1000, 3000], "paper": [100, 300, 1000, 3000, 10_000]}[scale]
    fixed_rows, largest_exact = min(1000, rows[-1]), {"smoke": 100, "quick": 1000, "paper": 3000}[scale]
    fixed_size = {"smoke": 20, "quick": 300, "paper": 1000}[scale]
    pairs = sorted({(fixed_rows, size) for size in sizes} | {(n, fixed_size) for n in rows})
    listed: list[dict[str, Any]] = []
    for bandwidth in ("median", "median / 4"):
        for seed in range(n_seeds):
            shared = {"part": "accuracy", "bandwidth": bandwidth, "seed": seed}
            for method in ("curl-ORFF", "independent ORFF"):
                listed += [shared | {"method": method, "n_train": n, "n_components": size} for n, size in pairs]
            for method in ("curl-OVK", "independent OVK"):
                listed += [shared | {"method": method, "n_train": n} for n in rows if n <= largest_exact]
    times = {"smoke": [100], "quick": [1000, 10_000, 100_000], "paper": [1000, 10_000, 100_000]}[scale]
    for method in ("curl-ORFF", "independent ORFF"):
        timed = {
            "part": "time",
            "bandwidth": "median",
            "seed": 0,
            "method": method,
            "n_components": min(300, fixed_size),
        }
        listed += [timed | {"n_train": n} for n in times]
    return listed


def run(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """R² on 2000 new points, and CPU seconds of the final fit."""
    X, Y = gradient_field(case["n_train"], rng, seed=case["seed"])
    Z, truth = gradient_field(2000, rng, seed=case["seed"])
    prior = Gaussian(gamma="median").resolved(X)
    if case["bandwidth"] == "median / 4":
        prior = Gaussian(gamma=16 * prior.gamma)
    kernel = CurlFree(prior) if case["method"].startswith("curl") else Decomposable(prior)
    few = min(len(X), 300 if case["method"].endswith("OVK") else 1000)
    seed = int(rng.integers(2**31))
    if case["method"].endswith("OVK"):
        model: Any = OperatorKernelRidge(kernel, alpha=list(few * _LAMBDAS))
    else:
        model = OperatorRidge(kernel, n_components=case["n_components"], alpha=list(few * _LAMBDAS), random_state=seed)
    chosen = 1e-4 if case["part"] == "time" else model.fit(X[:few], Y[:few]).alpha_ / few
    model.set_params(alpha=chosen * len(X))
    start = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - start
    return {"r2": float(r2_score(truth, model.predict(Z))), "fit_seconds": seconds, "lambda": float(chosen)}


def _curve(results, method, axis, what, **fixed):
    """Sorted values of ``axis``, and the mean of ``what`` over seeds at each."""
    found: dict[int, list[float]] = {}
    for case, result in results:
        if case["method"] == method and all(case.get(key) == value for key, value in fixed.items()):
            found.setdefault(case[axis], []).append(result[what])
    return np.array(sorted(found)), np.array([np.mean(found[size]) for size in sorted(found)])


def verdict(results: list[tuple[dict, dict]]) -> tuple[str, str]:
    """At N = 1000 curl-free features are ahead of independent ones at both bandwidths and, at the paper's, at most 0.05 in R² behind the exact
    curl-free kernel; time at most N^1.1."""
    sizes = [case["n_components"] for case, _ in results if case["part"] == "accuracy" and "n_components" in case]
    rows, seconds = _curve(results, "curl-ORFF", "n_train", "fit_seconds", part="time")
    if len(rows) < 3:
        return "cannot tell", "needs three numbers of rows"
    exponent = np.polyfit(np.log(rows), np.log(seconds), 1)[0]
    words, missed = [], [] if exponent <= 1.1 else ["time is not linear"]
    for bandwidth in ("median", "median / 4"):
        r2 = {}
        for method in ("curl-ORFF", "independent ORFF", "curl-OVK", "independent OVK"):
            fixed: dict[str, Any] = {"part": "accuracy", "bandwidth": bandwidth}
            if method.endswith("ORFF"):
                fixed["n_components"] = max(sizes)
            n_rows, values = _curve(results, method, "n_train", "r2", **fixed)
            r2[method] = values[list(n_rows).index(1000)]
        if r2["curl-ORFF"] <= r2["independent ORFF"]:
            missed.append(f"not ahead of independent features at σ = {bandwidth}")
        if bandwidth == "median" and r2["curl-ORFF"] < r2["curl-OVK"] - 0.05:
            missed.append(f"behind the exact kernel at σ = {bandwidth}")
        words.append(f"σ = {bandwidth}: " + ", ".join(f"{method} {value:.3f}" for method, value in r2.items()))
    words = [*missed, *(f"R² at N = 1000, {line}" for line in words), f"time ~ N^{exponent:.2f}"]
    return ("does not hold" if missed else "holds"), "; ".join(words)


def figure(results: list[tuple[dict, dict]]) -> Any:
    """R² against the number of frequencies and of rows for both bandwidths, exact kernels dashed; time against rows."""
    import matplotlib.pyplot as plt

    canvas, axes = plt.subplots(1, 3, figsize=(14, 5), layout="constrained")
    accuracy = [(case, result) for case, result in results if case["part"] == "accuracy"]
    sizes = [case["n_components"] for case, _ in accuracy if "n_components" in case]
    fixed_size = max(
        set(sizes), key=lambda size: len({c["n_train"] for c, _ in accuracy if c.get("n_components") == size})
    )
    for bandwidth, alpha in (("median", 0.45), ("median / 4", 1.0)):
        for method, color in (("curl", "C0"), ("independent", "C1")):
            look = {"color": color, "alpha": alpha}
            label = f"{method}, σ = {bandwidth}"
            for axis, along, fixed in (
                (axes[0], "n_components", {"n_train": 1000}),
                (axes[1], "n_train", {"n_components": fixed_size}),
            ):
                found = _curve(
                    accuracy,
                    f"{method}-ORFF" if method == "curl" else f"{method} ORFF",
                    along,
                    "r2",
                    bandwidth=bandwidth,
                    **fixed,
                )
                axis.semilogx(*found, marker="o", label=f"{label}, ORFF", **look)
            exact = f"{method}-OVK" if method == "curl" else f"{method} OVK"
            rows, r2 = _curve(accuracy, exact, "n_train", "r2", bandwidth=bandwidth)
            axes[1].semilogx(rows, r2, marker="s", linestyle="--", label=f"{label}, exact", **look)
            if 1000 in rows:
                axes[0].axhline(r2[list(rows).index(1000)], linestyle="--", **look)
    for method, color in (("curl-ORFF", "C0"), ("independent ORFF", "C1")):
        rows, seconds = _curve(results, method, "n_train", "fit_seconds", part="time")
        axes[2].loglog(rows, seconds, marker="o", color=color, label=f"{method}, D = 300")
    for method, color in (("curl-OVK", "C0"), ("independent OVK", "C1")):
        rows, seconds = _curve(accuracy, method, "n_train", "fit_seconds")
        axes[2].loglog(rows, seconds, marker="s", linestyle="--", color=color, label=f"{method} (exact)")
    axes[0].set(xlabel="number of frequencies D (N = 1000)", ylabel="R² on new points")
    axes[1].set(xlabel=f"training rows N (D = {fixed_size})", ylabel="R² on new points")
    axes[2].set(xlabel="training rows N", ylabel="CPU seconds to fit")
    axes[2].legend(fontsize=8)
    canvas.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return canvas
