"""What held-out rows say about a model: its quality, what they prove, and whether it is worth
having beside others.
"""

from typing import Any

import numpy as np
from scipy.stats import binom

from ...bounds import binomial_tail
from ...bounds.risk import inverse_binary_kl
from .metrics import METRICS, NUMBERS, Predicted, Truth, standard_error

_NOISE = 2  # standard errors that a difference may have by chance
_DELTA = 0.05


def interval_certificate(
    residuals: np.ndarray, coverage: float = 0.9, delta: float = _DELTA
) -> dict[str, Any]:
    """A half-width that, with probability 1 − delta, covers at least ``coverage`` of all future
    errors.

    The k-th smallest of n held-out errors, k the smallest with P(Binomial(n, coverage) ≥ k) ≤ delta
    (Wilks 1941); None when the sample is too small for any.

    >>> interval_certificate(np.arange(100.0))["half_width"], interval_certificate(np.arange(10.0))["half_width"]
    (95.0, None)
    """
    n = len(residuals)
    # Fewer than k of n errors fall below the coverage quantile with probability P(Binomial(n,
    # coverage) ≤ k − 1).
    k = int(binom.ppf(1 - delta, n, coverage)) + 1
    width = float(np.sort(residuals)[k - 1]) if k <= n else None
    return {"half_width": width, "coverage": coverage, "confidence": 1 - delta}


def judged(predicted: Predicted, truth: Truth, ours: Predicted) -> dict[str, Any]:
    """Every metric with its standard error, how much worse it is than ours over the same rows, and
    what the rows prove.

    ``worse_by`` is positive where ours is better, whichever way the metric goes.
    """
    entry: dict[str, Any] = {"standard_errors": {}, "worse_by": {}}
    for name, metric in METRICS.items():
        if truth.kind not in metric.kinds:
            continue
        value, influence = metric.measure(truth, predicted)
        our_value, our_influence = metric.measure(truth, ours)
        sign = -1 if metric.more_is_better else 1
        defined = bool(np.isfinite(value))
        entry[name] = value if defined else None
        entry["standard_errors"][name] = (
            standard_error(influence, truth.groups) if defined else None
        )
        noise = standard_error(influence - our_influence, truth.groups)
        entry["worse_by"][name] = [sign * (value - our_value) + 0.0, noise] if defined else None
    return entry | _certificate(predicted, truth)


def _certificate(predicted, truth):
    """With rows drawn one by one a limit for rows; with whole groups drawn the limit is for the mean over groups, whose errors
    are numbers between 0 and 1: kl(mean ‖ risk) ≤ ln(1 / delta) / n_groups (Hoeffding 1963)."""  # fmt: skip
    if truth.kind == NUMBERS:
        certificate = interval_certificate(np.abs(predicted.y - truth.y))
        return certificate if truth.groups is None else certificate | {"half_width": None}
    wrong = predicted.y != truth.y
    error = {"error": float(wrong.mean()), "confidence": 1 - _DELTA}
    if truth.groups is None:
        return error | {
            "certified": binomial_tail(int(wrong.sum()), len(wrong), delta=_DELTA).value
        }
    codes = np.unique(truth.groups, return_inverse=True)[1]
    of_groups = np.bincount(codes, weights=wrong) / np.bincount(codes)
    limit = inverse_binary_kl(float(of_groups.mean()), np.log(1 / _DELTA) / len(of_groups))
    return error | {"error_of_groups": float(of_groups.mean()), "certified": float(limit)}


def verdict(facts: dict[str, Any]) -> dict[str, Any]:
    """{"kind": "holds", "open" or "fails", "reasons": sentences}: is the model better than a
    constant, and than its rivals?

    It fails where it is not better than the constant by the metric it is judged by; it is open
    where that may be chance, where a class is never found, and where a rival is better by more than
    chance.
    """
    models, name = facts["judged"], facts["metrics"][0]
    what, unit = METRICS[name].heading, METRICS[name].form
    gain, noise = models["constant"]["worse_by"][name]
    lost, few = ([], []) if facts["task"] != "classification" else _never_and_rarely_found(facts)
    differences = {
        model: entry["worse_by"][name] for model, entry in models.items() if model != "bochner"
    }
    better = {model: found for model, found in differences.items() if found[0] < 0}
    clearly = {model: found for model, found in better.items() if -found[0] > _NOISE * found[1]}
    reasons = []
    if gain <= _NOISE * noise:
        surely = "" if gain <= 0 else "surely "
        reasons.append(
            f"It is not {surely}better than a constant: {what} better by "
            f"{gain:{unit}} ± {noise:{unit}}."
        )
    if lost:
        reasons.append(f"It finds none of the held-out rows of class {', '.join(lost[:5])}.")
    if few:
        reasons.append(f"It finds only {', '.join(few[:5])}.")
    if (lost or few) and len(facts["classes"]) == 2 and facts["threshold"] is None:
        reasons.append(
            "Write --threshold balanced, or cost:FP,FN, for a threshold that finds rare cases."
        )
    if better:
        model, (amount, error) = min((clearly or better).items(), key=lambda item: item[1][0])
        by = f"{what} better by {-amount:{unit}} ± {error:{unit}}"
        reasons.append(
            f"{model} is better: {by}, {'more than noise' if clearly else 'within noise'}."
        )
    else:
        reasons.append(f"No other model was better in {what} on these rows.")
    kind = (
        "fails" if gain <= 0 else "open" if gain <= _NOISE * noise or lost or clearly else "holds"
    )
    return {"kind": kind, "reasons": reasons}


def _never_and_rarely_found(facts):
    """Classes of held-out rows none of which is predicted as such, and rare ones of which fewer
    than half are.
    """
    sizes = np.sum(facts["confusion"], axis=1)
    found = list(zip(facts["classes"], sizes, np.diag(facts["confusion"]), strict=True))
    never = [f"{str(c)!r} ({n} rows)" for c, n, hits in found if n > 0 and hits == 0]
    rarely = [
        f"{hits} of the {n} held-out rows of class {str(c)!r}"
        for c, n, hits in found
        if 0 < hits < n / 2
    ]
    return never, rarely if facts["rare"] else []
