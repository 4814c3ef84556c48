"""Evaluation of models on held-out rows: metrics, certificates, and the verdict."""

import numpy as np
from scipy.stats import binom

from ...bounds import binomial_tail
from ...bounds.risk import inverse_binary_kl
from ..facts import (
    CONSTANT,
    OURS,
    ClassFacts,
    ErrorCertificate,
    Evaluation,
    IntervalCertificate,
    ThresholdFacts,
    Verdict,
)
from .metrics import METRICS, NUMBERS, Predicted, Truth, standard_error

# Standard errors that a difference may have by chance.
_NOISE = 2
# Certificates hold with probability 1 − delta; intervals are for this share of future errors.
_DELTA, _COVERAGE = 0.05, 0.9


def interval_certificate(residuals: np.ndarray) -> IntervalCertificate:
    """Return the half-width that covers 90% of all future errors with probability 1 − delta.

    It is the k-th smallest of n held-out errors, k the smallest with P(Binomial(n, .9) ≥ k) ≤ delta
    (Wilks 1941); None if the sample is too small for any.

    >>> interval_certificate(np.arange(100.0)).half_width
    95.0
    >>> interval_certificate(np.arange(10.0)).half_width is None
    True
    """
    n = len(residuals)
    # Fewer than k of n errors are below the quantile with probability P(Binomial(n, .9) ≤ k − 1).
    k = int(binom.ppf(1 - _DELTA, n, _COVERAGE)) + 1
    width = float(np.sort(residuals)[k - 1]) if k <= n else None
    return IntervalCertificate(width, _COVERAGE, 1 - _DELTA)


def evaluate(
    predicted: Predicted, truth: Truth, ours: Predicted, seconds: float = 0.0
) -> Evaluation:
    """Compute every metric with its standard error, differences from ours, and a certificate.

    ``worse_by`` holds [difference, its standard error], positive if ours is better.
    """
    scores, errors, worse_by = {}, {}, {}
    for name, metric in METRICS.items():
        if truth.kind not in metric.kinds:
            continue
        value, influence = metric.measure(truth, predicted)
        our_value, our_influence = metric.measure(truth, ours)
        sign = -1 if metric.more_is_better else 1
        noise = standard_error(influence - our_influence, truth.groups)
        defined = bool(np.isfinite(value))
        scores[name] = value if defined else None
        errors[name] = standard_error(influence, truth.groups) if defined else None
        worse_by[name] = [sign * (value - our_value) + 0.0, noise] if defined else None
    return Evaluation(errors, worse_by, certificate(predicted, truth), seconds, scores)


def certificate(predicted: Predicted, truth: Truth) -> ErrorCertificate | IntervalCertificate:
    """Bound the error of a model.

    Random split: binomial bound per row. Group split: bound on the mean group error,
    kl(mean ‖ risk) ≤ ln(1 / delta) / n_groups (Hoeffding 1963).
    """
    if truth.kind == NUMBERS:
        if truth.groups is None:
            return interval_certificate(np.abs(predicted.y - truth.y))
        return IntervalCertificate(None, _COVERAGE, 1 - _DELTA)
    wrong = predicted.y != truth.y
    error = float(wrong.mean())
    if truth.groups is None:
        bound = binomial_tail(int(wrong.sum()), len(wrong), delta=_DELTA).value
        return ErrorCertificate(error, 1 - _DELTA, bound)
    codes = np.unique(truth.groups, return_inverse=True)[1]
    of_groups = np.bincount(codes, weights=wrong) / np.bincount(codes)
    mean = float(of_groups.mean())
    bound = inverse_binary_kl(mean, np.log(1 / _DELTA) / len(of_groups))
    return ErrorCertificate(error, 1 - _DELTA, float(bound), mean)


def verdict(
    models: dict[str, Evaluation],
    metric: str,
    classes: ClassFacts | None,
    threshold: ThresholdFacts | None,
) -> Verdict:
    """Compare our model with a constant and with the other models.

    It fails if it is not better than the constant. It is open if that may be chance, if it never
    predicts some class correctly, or if another model is better beyond noise.
    """
    what, unit = METRICS[metric].heading, METRICS[metric].form
    differences = {
        name: entry.worse_by[metric] or [0.0, 0.0] for name, entry in models.items() if name != OURS
    }
    gain, noise = differences[CONSTANT]
    never, rarely = ([], []) if classes is None else _never_and_rarely_found(classes)
    better = {name: pair for name, pair in differences.items() if pair[0] < 0}
    clearly = {name: pair for name, pair in better.items() if -pair[0] > _NOISE * pair[1]}
    reasons = []
    if gain <= _NOISE * noise:
        clear = "" if gain <= 0 else "clearly "
        reasons.append(
            f"Not {clear}better than a constant: {what} better by {gain:{unit}} ± {noise:{unit}}."
        )
    if never:
        reasons.append(f"No held-out row of class {', '.join(never[:5])} is predicted correctly.")
    if rarely:
        reasons.append(f"Correctly predicted: only {', '.join(rarely[:5])}.")
    if (never or rarely) and classes and len(classes.classes) == 2 and threshold is None:
        reasons.append(
            "To predict the rare class more often, use --threshold balanced or cost:FP,FN."
        )
    if better:
        name, (amount, error) = min((clearly or better).items(), key=lambda item: item[1][0])
        by = f"by {-amount:{unit}} ± {error:{unit}}, {'beyond' if clearly else 'within'} noise"
        reasons.append(f"{name} has a better {what} ({by}).")
    else:
        reasons.append(f"No other model has a better {what} on the held-out rows.")
    open_ = gain <= _NOISE * noise or never or clearly
    return Verdict("fails" if gain <= 0 else "open" if open_ else "holds", reasons)


def _never_and_rarely_found(classes):
    """Return classes that are never predicted correctly, and rare ones with a recall below 0.5."""
    sizes, hits = np.sum(classes.confusion, axis=1), np.diag(classes.confusion)
    counts = list(zip(map(str, classes.classes), sizes, hits, strict=True))
    never = [f"{label!r} ({n} rows)" for label, n, hit in counts if n > 0 and hit == 0]
    rarely = [
        f"{hit} of {n} held-out rows of class {label!r}"
        for label, n, hit in counts
        if classes.rare and 0 < hit < n / 2
    ]
    return never, rarely
