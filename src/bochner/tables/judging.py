"""What held-out rows say about a model: its quality, what they prove, and whether it is worth having beside others."""

from typing import Any

import numpy as np
from scipy.stats import binom

from ..bounds import binomial_tail

_NOISE = 2  # standard errors that a difference may have by chance


def interval_certificate(residuals: np.ndarray, coverage: float = 0.9, delta: float = 0.05) -> dict[str, Any]:
    """A half-width that, with probability 1 − delta, covers at least ``coverage`` of all future errors.

    The k-th smallest of n held-out errors, k the smallest with P(Binomial(n, coverage) ≥ k) ≤ delta (Wilks 1941); None when
    the sample is too small for any.

    >>> interval_certificate(np.arange(100.0))["half_width"], interval_certificate(np.arange(10.0))["half_width"]
    (95.0, None)
    """
    n = len(residuals)
    # Fewer than k of n errors fall below the coverage quantile with probability P(Binomial(n, coverage) ≤ k − 1).
    k = int(binom.ppf(1 - delta, n, coverage)) + 1
    width = float(np.sort(residuals)[k - 1]) if k <= n else None
    return {"half_width": width, "coverage": coverage, "confidence": 1 - delta}


def judged(predicted: np.ndarray, y: np.ndarray, ours: np.ndarray, classify: bool) -> dict[str, Any]:
    """Quality and certificate of predictions, and how much more they lose than ours, as mean ± standard error over the same rows.

    What is lost on a row is one for a wrong class, for numbers the squared error over the variance of y: its mean is 1 − R².
    """
    scale = 1.0 if classify else float(np.std(y)) or 1.0
    loss, our_loss = (p != y if classify else ((p - y) / scale) ** 2 for p in (predicted, ours))
    more = loss.astype(float) - our_loss
    compared = {"more_lost": float(more.mean()), "standard_error": float(more.std(ddof=1) / np.sqrt(len(y)))}
    if classify:
        bound = binomial_tail(int(loss.sum()), len(y), delta=0.05)
        recalls = [np.mean(predicted[y == label] == label) for label in np.unique(y)]
        quality: dict[str, Any] = {"error": bound.empirical, "balanced_accuracy": float(np.mean(recalls))}
        return quality | {"certified": bound.value, "confidence": bound.confidence} | compared
    mean = float(loss.mean())
    quality = {"rmse": scale * mean**0.5, "r2": 1 - mean if np.ptp(y) > 0 else None}
    return quality | interval_certificate(np.abs(predicted - y)) | compared


def verdict(facts: dict[str, Any]) -> dict[str, Any]:
    """{"kind": "holds", "open" or "fails", "reasons": sentences}: is the model better than a constant, and than its rivals?

    It fails where it is not better than the constant, for classes in balanced accuracy; it is open where that may be chance, where a class
    is never found, and where a rival is better by more than chance.
    """
    models, classify = facts["judged"], facts["task"] == "classification"
    what, unit, of_what = ("balanced accuracy", ".2%", "rows") if classify else ("R²", ".3f", "R²")
    gain, noise, lost = models["constant"]["more_lost"], models["constant"]["standard_error"], []
    if classify:
        sizes = np.sum(facts["confusion"], axis=1)
        recalls = np.diag(facts["confusion"]) / sizes
        gain = models["bochner"]["balanced_accuracy"] - models["constant"]["balanced_accuracy"]
        noise = np.sqrt(np.sum(recalls * (1 - recalls) / sizes)) / len(sizes)
        lost = [f"{str(label)!r} ({size} rows)" for label, size, r in zip(facts["classes"], sizes, recalls) if r == 0]
    better = {name: entry for name, entry in models.items() if entry["more_lost"] < 0}
    clearly = {name: e for name, e in better.items() if -e["more_lost"] > _NOISE * e["standard_error"]}
    reasons = []
    if gain <= _NOISE * noise:
        surely = "" if gain <= 0 else "surely "
        reasons.append(f"It is not {surely}better than a constant: {what} {gain:+{unit}} ± {noise:{unit}}.")
    if lost:
        reasons.append(f"It finds none of the held-out rows of class {', '.join(lost[:5])}.")
    if better:
        name, entry = min((clearly or better).items(), key=lambda item: item[1]["more_lost"])
        amount = f"{-entry['more_lost']:{unit}} ± {entry['standard_error']:{unit}} of {of_what}"
        reasons.append(f"{name} is better by {amount}, {'more than noise' if clearly else 'within noise'}.")
    else:
        reasons.append("No other model was better on these rows.")
    kind = "fails" if gain <= 0 else "open" if gain <= _NOISE * noise or lost or clearly else "holds"
    return {"kind": kind, "reasons": reasons}
