"""Figure 3: a curl-free field in five dimensions, by structured and independent outputs.

Random features are compared with exact kernels.
"""

import itertools
import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import r2_score

from bochner.datasets import gradient_field
from bochner.models.ridge import OperatorKernelRidge, OperatorRidge
from bochner.operators import CurlFree, Decomposable
from bochner.plots._canvas import blank
from bochner.priors import Gaussian
from bochner.solvers import Eigen

from .orff_protocol import LEAVE_ONE_OUT, TWO_FOLDS, two_fold_lambda
from .runner.results import (
    Case,
    Figure,
    Results,
    chosen,
    curve,
    every,
    exponent,
    listed,
    means,
)

PAPER = "Brault, Heinonen, d'Alché-Buc 2016, Figure 3"
CLAIM = (
    "On the gradient of a random function in five dimensions, from 1000 rows, curl-free features "
    "outperform independent ones, come within 0.05 in R² of the exact curl-free kernel or above "
    "it, and take time linear in the number of rows."
)
DEVIATIONS = (
    "The number of frequencies of the random function is not published: 1000. Nor is the grid of "
    "λ, 10^-10…10^1 here, or how it was searched: by two "
    "folds, which the paper names for its first data set, at the size that is judged, and by exact "
    "leave-one-out on all rows everywhere, for features and "
    "exact kernels alike.",
    "The paper says that curl-free features 'can even be better' than the exact kernel; the limit "
    "of 0.05 in R² is ours. 10 000 frequencies are solved by rows, which gives the same function.",
    "The curl-free kernel is solved exactly up to 1000 rows (a matrix of 5000 x 5000), where the "
    "paper goes to 10 000. "
    "Normal equations are solved directly instead of by L-BFGS. Besides the paper's bandwidth, the "
    "median distance (1.8), a quarter of it, which is near "
    "the length 0.4 of the field. Scale paper: five draws, N up to 10 000; quick: three, N up to "
    "3000 and D = 300 along N.",
)

TRIED = (
    "λ by two folds and by leave-one-out, from one grid and on the same points for features and "
    "exact kernels (at 1000 rows the choice is within the grid but for one draw of 300 "
    "frequencies; at the paper's bandwidth and more rows it is mostly its lower end, "
    "1e-10, for all methods); two bandwidths; 10 to 10 000 frequencies. At 1000 rows curl-free "
    "features are ahead of independent ones from 100 frequencies on, and gain with every frequency "
    "that is added. They were better than the exact kernel in no draw: at the paper's bandwidth "
    "they are behind by 0.07 in R² with 2000 frequencies and by 0.04 with 10 000, and at the "
    "smaller one by a quarter with 2000. "
    "At 10 000 rows and 1000 frequencies independent features are even ahead (0.479 to 0.442; "
    "0.762 to 0.747): the same "
    "frequencies give them five times as many coefficients, and rows are no longer what is short."
)
BANDWIDTHS = ("median", "median / 4")
FEATURES, EXACT = ("curl-ORFF", "independent ORFF"), ("curl-OVK", "independent OVK")
_LAMBDAS = 10.0 ** np.arange(-10, 2)
_MOST_ROWS = {"curl-OVK": 1000, "independent OVK": 3000}
_MOST_FEATURES = 2000


def cases(scale: str) -> list[Case]:
    """Return cases of R² against D and against N, for four methods, and times of larger fits."""
    n_seeds = {"smoke": 1, "quick": 3, "paper": 5}[scale]
    sizes = {
        "smoke": [20],
        "quick": [30, 100, 300, 1000, 2000],
        "paper": [10, 30, 100, 300, 1000, 2000, 10_000],
    }[scale]
    rows = {
        "smoke": [100],
        "quick": [100, 300, 1000, 3000],
        "paper": [100, 300, 1000, 3000, 10_000],
    }[scale]
    fixed_size = {"smoke": 20, "quick": 300, "paper": 1000}[scale]
    judged_at = min(1000, rows[-1])
    pairs = sorted({(judged_at, size) for size in sizes} | {(n, fixed_size) for n in rows})
    planned: list[Case] = []
    for shared in every(part=["accuracy"], bandwidth=BANDWIDTHS, seed=range(n_seeds)):
        for choice in (TWO_FOLDS, LEAVE_ONE_OUT):
            tried = pairs
            if choice == TWO_FOLDS:
                tried = [(judged_at, size) for size in sizes if size >= 2000 or scale == "smoke"]
            exact = [judged_at] if choice == TWO_FOLDS else rows
            of = shared | {"choice": choice}
            planned += [
                of | {"method": m, "n_train": n, "n_components": size}
                for m in FEATURES
                for n, size in tried
            ]
            planned += [
                of | {"method": m, "n_train": n} for m in EXACT for n in exact if n <= _MOST_ROWS[m]
            ]
    timed = {"part": "time", "bandwidth": "median", "seed": 0, "n_components": min(300, fixed_size)}
    times = [100] if scale == "smoke" else [1000, 10_000, 100_000]
    return planned + [timed | case for case in every(method=FEATURES, n_train=times)]


_DRAWS_OF_MOST = 3


def left_out(case: Case) -> bool:
    """D = 10 000 for two of five draws and at the smaller bandwidth, four CPU minutes each."""
    return case.get("n_components") == 10_000 and (
        case["seed"] >= _DRAWS_OF_MOST or case["bandwidth"] != "median"
    )


def run(case: Case, rng: np.random.Generator) -> Case:
    """Return R² on 2000 new points, and CPU seconds of the final fit."""
    # Points in [-1, 1]⁵ and the gradient of f = φ(x)·θ there, φ Gaussian features of length 0.4, θ
    # ~ N(0, I).
    f = [55, case["seed"]]  # the seed of f: one function, drawn at two sets of points
    # The same points for every method and choice of a seed.
    points = np.random.default_rng([56, case["seed"], case["n_train"]])
    train, test = (
        gradient_field(n, points, function=np.random.default_rng(f))
        for n in (case["n_train"], 2000)
    )
    X, Y = train.data, train.target
    prior = Gaussian(gamma="median").resolved(X)
    if case["bandwidth"] == "median / 4":
        prior = Gaussian(gamma=16 * prior.gamma)
    family = CurlFree if case["method"].startswith("curl") else Decomposable
    if case["method"] in EXACT:
        kernel = family(prior)
        model: Any = OperatorKernelRidge(kernel)
    else:
        kernel = family(prior.sample(case["n_components"], X.shape[1], rng))
        # The same function; with so many features it is solved by rows.
        by_rows = case["n_components"] > _MOST_FEATURES
        model = OperatorKernelRidge(kernel) if by_rows else OperatorRidge(kernel)
    chosen = (
        1e-4 if case["part"] == "time" else _chosen_lambda(model, kernel, case["choice"], X, Y, rng)
    )
    model.set_params(alpha=chosen * len(X))
    start = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - start
    return {
        "r2": float(r2_score(test.target, model.predict(test.data))),
        "fit_seconds": seconds,
        "lambda": float(chosen),
    }


def _chosen_lambda(model, kernel, choice, X, Y, rng):
    if choice == TWO_FOLDS:
        return two_fold_lambda(kernel, X, Y, _LAMBDAS, rng)
    model = clone(model).set_params(alpha=list(len(X) * _LAMBDAS))
    if isinstance(model, OperatorRidge):
        model.set_params(solver=Eigen())  # other solvers would choose on some of the rows
    return model.fit(X, Y).alpha_ / len(X)


def verdict(results: Results) -> tuple[str, str]:
    """ "Curl-free ORFF outperforms independent RFFs", "curl-ORFF can even be better than
    curl-OVK", and "OVK regression does not scale with large datasets, while ORFF regression does".
    Three claims, each with its own verdict at N = 1000, the paper's bandwidth and the largest D
    run: R² of curl-free features is above that of independent ones; it is at most 0.05 (our limit)
    below the exact kernel's; time grows at most like N^1.1 (our limit). Holds when all three do,
    does not hold when one does not; cannot tell when the choices of λ disagree on one, or when R²
    differs from the limit by less than two standard errors over the draws.
    """
    rows, seconds = curve(results, "fit_seconds", "n_train", part="time", method="curl-ORFF")
    if len(rows) < 3:
        return "cannot tell", "needs three numbers of rows"
    accuracy = chosen(results, part="accuracy")
    leads, gaps, words = [], [], []
    for choice, bandwidth in itertools.product((TWO_FOLDS, LEAVE_ONE_OUT), BANDWIDTHS):
        found = chosen(accuracy, bandwidth=bandwidth, choice=choice, n_train=1000)
        most = max((case.get("n_components", 0) for case, _ in found), default=0)
        seeds = {case["seed"] for case, _ in chosen(found, n_components=most)}
        # Exact kernels have no D; all methods are compared on the draws that have the largest one.
        compared = [
            (case, result)
            for case, result in found
            if case.get("n_components", most) == most and case["seed"] in seeds
        ]
        r2 = means(compared, "r2", "method")
        if not {*FEATURES, "curl-OVK"} <= r2.keys():
            return (
                "cannot tell",
                f"λ by {choice}, σ = {bandwidth}: not all methods were run at N = 1000",
            )
        words.append(
            f"R² at D = {most} (draws: {len(seeds)}), σ = {bandwidth}, λ by {choice}: {listed(r2, '.3f')}"
        )
        if bandwidth == "median":
            leads.append(_sign(compared, "independent ORFF"))
            gaps.append(_sign(compared, "curl-OVK", slack=0.05))
    growth = exponent(rows, seconds)
    told = {
        "structured above independent": _of_both(leads),
        "within 0.05 of the exact kernel": _of_both(gaps),
        "linear time": _of_both([1 if growth <= 1.1 else -1]),
    }
    behind = _rows_behind(accuracy)
    why = [f"{claim}: {word}" for claim, word in told.items()] + [f"time ~ N^{growth:.2f}"]
    why += [f"but with D = 1000 independent ones lead at N = {behind}"] if behind else []
    for word in ("does not hold", "cannot tell"):
        if word in told.values():
            return word, "; ".join(why + words)
    return "holds", "; ".join(why + words)


def _sign(results, other, slack=0.0):
    """Return the sign of curl-free features' lead plus slack, 0 within two standard errors."""
    r2 = means(results, "r2", "method", "seed")
    pairs = [(r2["curl-ORFF", seed], r2[other, seed]) for m, seed in r2 if m == "curl-ORFF"]
    lead = slack - np.diff(pairs)
    if len(pairs) < 2 or abs(lead.mean()) <= 2 * lead.std(ddof=1) / np.sqrt(len(pairs)):
        return 0
    return int(np.sign(lead.mean()))


def _of_both(signs):
    """Return the verdict on a claim that was tested with one or two choices of λ."""
    return {(1,): "holds", (-1,): "does not hold"}.get(tuple(set(signs)), "cannot tell")


def _rows_behind(accuracy):
    """Return the numbers of rows for which independent features lead, D = 1000, σ = median."""
    of = {"n_components": 1000, "bandwidth": "median", "choice": LEAVE_ONE_OUT}
    r2 = [dict(zip(*curve(accuracy, "r2", "n_train", method=m, **of))) for m in FEATURES]
    return ", ".join(str(n) for n in r2[0] if r2[0][n] < r2[1].get(n, -np.inf))


def figure(results: Results) -> Figure:
    """R² against the number of frequencies and of rows for both bandwidths, λ by leave-one-out,
    exact kernels dashed; time against rows.
    """
    canvas, axes = blank(1, 3, size=(14, 5))
    accuracy = chosen(results, part="accuracy", choice=LEAVE_ONE_OUT)
    sizes = {case["n_components"] for case, _ in accuracy if "n_components" in case}
    fixed_size = max(
        sizes, key=lambda size: len({c["n_train"] for c, _ in chosen(accuracy, n_components=size)})
    )
    dashed = {"marker": "s", "linestyle": "--"}
    for bandwidth, alpha in zip(BANDWIDTHS, (0.45, 1.0)):
        for features, exact, color in zip(FEATURES, EXACT, ("C0", "C1")):
            look = {"color": color, "alpha": alpha}
            label = f"{exact[:-4]}, σ = {bandwidth}"
            of_features = chosen(accuracy, method=features, bandwidth=bandwidth)
            along_sizes = curve(of_features, "r2", "n_components", n_train=1000)
            along_rows = curve(of_features, "r2", "n_train", n_components=fixed_size)
            for axis, points in zip(axes, (along_sizes, along_rows)):
                axis.semilogx(*points, marker="o", label=f"{label}, ORFF", **look)
            rows, r2 = curve(accuracy, "r2", "n_train", method=exact, bandwidth=bandwidth)
            axes[1].semilogx(rows, r2, label=f"{label}, exact", **dashed, **look)
            if 1000 in rows:
                axes[0].axhline(r2[list(rows).index(1000)], linestyle="--", **look)
    for features, exact, color in zip(FEATURES, EXACT, ("C0", "C1")):
        times = curve(results, "fit_seconds", "n_train", part="time", method=features)
        axes[2].loglog(*times, marker="o", color=color, label=f"{features}, D = 300")
        exact_times = curve(accuracy, "fit_seconds", "n_train", method=exact)
        axes[2].loglog(*exact_times, color=color, label=f"{exact} (exact)", **dashed)
    axes[0].set(xlabel="number of frequencies D (N = 1000)", ylabel="R² on new points")
    axes[1].set(xlabel=f"training rows N (D = {fixed_size})", ylabel="R² on new points")
    axes[2].set(xlabel="training rows N", ylabel="CPU seconds to fit")
    axes[2].legend(fontsize=8)
    canvas.legend(
        *axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    return canvas
