"""What held-out rows prove about the errors of a regression, whatever their law."""

from typing import Any

import numpy as np
from scipy.stats import binom


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
