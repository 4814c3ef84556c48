"""Time to fit and predict against the number of rows (Gautheron et al. 2020, Figure 4)."""

import time
import warnings

import numpy as np
from sklearn.datasets import make_classification

from bochner.plots._canvas import blank, draw_curves

from .gbrff_protocol import named_model
from .runner.results import Case, Figure, Results, every, listed

PAPER = "Gautheron et al. 2020, Figure 4"
CLAIM = (
    "At the largest size that all of them finished, GBRFF1 and GBRFF2 are faster than BMKR, GFC "
    "and PBRFF, and GBRFF2 is faster than GBRFF1 for any number of rows."
)
METHODS = ["BMKR", "GFC", "PBRFF", "GBRFF1", "GBRFF2", "LGBM", "FourierBoosting"]
DEVIATIONS = (
    "The limit is on the extrapolated time of the next size, in CPU seconds of one thread: 0.2 "
    "(smoke), 10 (quick) or 1000 (paper). "
    "Our own implementations, so the ratios between methods are not the paper's. "
    "FourierBoostingClassifier is added. "
    "Each size is timed once, and such a time can be off by a quarter: some fall from one size to "
    "the next."
)
_SCALES = {
    "smoke": (0.2, 150, 3),
    "quick": (10.0, 1_000_000, 100),
    "paper": (1000.0, 5_000_000, 100),
}
_SETTINGS: dict[str, Case] = {method: {"gamma": 1 / 20} for method in ("PBRFF", "GBRFF1", "GBRFF2")}
_SETTINGS["LGBM"] = {"max_depth": 5, "num_leaves": 32}
_COMPILED, _COMPILED_ROWS = ("GBRFF1", "GBRFF2", "FourierBoosting"), 10_000


def cases(scale: str) -> list[Case]:
    """Return one case per method, which increases the number of rows until its limit."""
    limit, largest, rounds = _SCALES[scale]
    return every(method=METHODS, limit=[limit], largest=[largest], rounds=[rounds])


def run(case: Case, rng: np.random.Generator) -> Case:
    """Return CPU seconds to fit and predict the whole data, for sizes 150 · 1.5^k."""
    sizes: list[int] = []
    seconds: list[float] = []
    size = 150
    for rows in (size, _COMPILED_ROWS) if case["method"] in _COMPILED else ():
        _seconds(case["method"], 1, rows)  # compile first: longer tables go through other kernels
    while size <= case["largest"]:
        seconds.append(_seconds(case["method"], case["rounds"], size))
        sizes.append(size)
        growth = 1.5 if len(seconds) < 2 else max(seconds[-1] / max(seconds[-2], 1e-9), 1.5)
        if seconds[-1] * growth > case["limit"]:
            break
        size = int(1.5 * size)
    return {"sizes": sizes, "seconds": seconds}


def _seconds(method, n_rounds, size):
    X, y = make_classification(size, random_state=1)
    model = named_model(method, n_rounds, **_SETTINGS.get(method, {}))
    begun = time.process_time()
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        model.fit(X, 2 * y - 1).predict(X)
    return time.process_time() - begun


def verdict(results: Results) -> tuple[str, str]:
    """ "When looking at the time limit of 1000 seconds, both GBRFF1 and GBRFF2 are the fastest
    kernel-based methods compared to BMKR, GFC and PBRFF", "GBRFF2 performs faster than GBRFF1 for
    any number of samples". Holds when at the largest size that all five finished, the third at
    least, both are faster than the other three by a tenth, and GBRFF2 is faster than GBRFF1 at
    nine sizes of ten and at no size slower by a quarter, the error of a single time. Does not hold
    when one of the three is faster by a tenth, or GBRFF1 by a quarter at any size; else cannot
    tell. The fractions are ours.
    """
    found = {
        case["method"]: dict(zip(result["sizes"], result["seconds"])) for case, result in results
    }
    kernels = METHODS[:5]
    if not set(kernels) <= set(found):
        return "cannot tell", "not all methods were run"
    sizes = set.intersection(*(set(found[method]) for method in kernels))
    if len(sizes) < 3:
        return "cannot tell", f"all methods finished {len(sizes)} sizes; it takes three."
    common = max(sizes)
    times = {method: found[method][common] for method in found if common in found[method]}
    slower = max(times["GBRFF1"], times["GBRFF2"]) / min(times[method] for method in kernels[:3])
    first, second = found["GBRFF1"], found["GBRFF2"]
    ratios = {size: second[size] / first[size] for size in sorted(first.keys() & second.keys())}
    behind = [
        f"{size} rows {second[size]:.2f} s for {first[size]:.2f} s"
        for size, ratio in ratios.items()
        if ratio >= 1
    ]
    why = f"GBRFF2 faster than GBRFF1 at {len(ratios) - len(behind)} of {len(ratios)} sizes"
    why += f" (not at {', '.join(behind)})" if behind else ""
    ordered = dict(sorted(times.items(), key=lambda item: item[1]))
    largest = {method: max(of_method) for method, of_method in found.items()}
    why += f"; seconds at {common} rows: {listed(ordered, '.2f')}"
    why += f"; largest size finished: {listed(largest, 'd')}"
    if slower > 1.1 or max(ratios.values()) > 1.25:
        return "does not hold", why
    mostly = np.mean([ratio < 1 for ratio in ratios.values()]) >= 0.9
    return ("holds" if slower < 0.9 and mostly else "cannot tell"), why


def figure(results: Results) -> Figure:
    """Both axes logarithmic."""
    chart, ax = blank(size=(6.5, 4.2))
    ax.loglog()
    curves = {case["method"]: (result["sizes"], result["seconds"]) for case, result in results}
    draw_curves(
        ax, curves, "sovD^Px", xlabel="number of rows", ylabel="CPU seconds to fit and predict"
    )
    return chart
