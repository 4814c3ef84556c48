"""Scales of regression targets: the identity, logarithms and asinh."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class TargetScale:
    """z = (g(y) − center) / unit, for each output.

    g(y) is y for the kind "identity", log(y + shift) for "log", and asinh((y − shift) / width) for
    "asinh". ``lowest`` and ``highest`` are the smallest and largest z of the training rows.
    """

    kind: str
    shift: float
    width: float
    center: np.ndarray
    unit: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def of(
        cls,
        Y: np.ndarray,
        weights: np.ndarray,
        kind: str = "identity",
        shift: float = 0.0,
        width: float = 1.0,
    ) -> TargetScale:
        """Return the scale on which Y has mean zero and variance one; constants have unit one."""
        zeros, ones = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        scale = cls(kind, shift, width, zeros, ones, zeros, ones)
        bent = scale.forward(Y)
        largest = np.maximum(np.abs(bent).max(axis=0), np.finfo(float).tiny)
        center = largest * np.average(bent / largest, axis=0, weights=weights)
        # Rescale first: squares of huge values would overflow.
        unit = largest * np.sqrt(
            np.average(((bent - center) / largest) ** 2, axis=0, weights=weights)
        )
        constant = unit <= 1e-14 * largest
        scale = replace(
            scale, center=np.where(constant, bent[0], center), unit=np.where(constant, 1.0, unit)
        )
        z = scale.forward(Y)
        return replace(scale, lowest=z.min(axis=0), highest=z.max(axis=0))

    def forward(self, Y: np.ndarray) -> np.ndarray:
        """Return z of y."""
        bent = Y
        if self.kind == "log":
            bent = np.log(Y + self.shift)
        elif self.kind == "asinh":
            bent = np.arcsinh((Y - self.shift) / self.width)
        return (bent - self.center) / self.unit

    def backward(self, z: np.ndarray) -> np.ndarray:
        """Return y of z."""
        bent = self.center + self.unit * z
        if self.kind == "log":
            return np.exp(np.minimum(bent, 700.0)) - self.shift
        if self.kind == "asinh":
            return self.shift + self.width * np.sinh(self._in_range(bent))
        return bent

    def _in_range(self, bent):
        """Clip to where ``width`` · sinh is finite."""
        furthest = 700.0 - max(0.0, np.log(self.width))
        return np.clip(bent, -furthest, furthest)

    def within(self, z: np.ndarray) -> np.ndarray:
        """Clip z to half a standard deviation outside the training values.

        Means of exponentials further out would be arbitrary.
        """
        return np.clip(z, self.lowest - 0.5, self.highest + 0.5)

    def slope_within(self, z: np.ndarray) -> np.ndarray:
        """Return d ``backward(within(z))`` / dz."""
        inside = (z > self.lowest - 0.5) & (z < self.highest + 0.5)
        bent = self.center + self.unit * z
        if self.kind == "log":
            return np.where(inside, self.unit * np.exp(np.minimum(bent, 700.0)), 0.0)
        if self.kind == "asinh":
            return np.where(inside, self.unit * self.width * np.cosh(self._in_range(bent)), 0.0)
        return np.where(inside, self.unit, 0.0)

    def mean_log_slope(self, Y: np.ndarray, weights: np.ndarray) -> float:
        """Return the mean of log dz/dy over the rows, which turns a density of z into one of y."""
        slopes = -np.log(self.unit)
        if self.kind == "log":
            slopes = slopes - np.log(Y + self.shift)
        elif self.kind == "asinh":
            slopes = slopes - np.log(np.hypot(Y - self.shift, self.width))
        return float(np.average(np.mean(np.broadcast_to(slopes, Y.shape), axis=1), weights=weights))


def other_scales(
    Y: np.ndarray, weights: np.ndarray, ends: tuple[float, float] | None = None
) -> list[TargetScale]:
    """Return the scales to compare with the identity for a skewed or heavy-tailed target.

    These are the logarithm for a long upper tail without negative values (shifted by the median of
    the positive values if there are zeros), and asinh around the median for other long tails. There
    are none for several outputs. ``ends`` are the smallest and largest of all values, if Y is a
    sample.
    """
    if Y.shape[1] != 1:
        return []
    y = Y[:, 0]
    plain = TargetScale.of(Y, weights)
    z = plain.forward(Y)[:, 0]
    skewness, tails = np.average(z**3, weights=weights), np.average(z**4, weights=weights)
    low, high = (y.min(), y.max()) if ends is None else ends
    if np.all(y == y[0]):
        return []
    if low >= 0 and skewness > 1:
        shift = 0.0 if low > 0 else float(np.median(y[y > 0]))
        if high + shift < 1e300 and low + shift > 1e-300:
            return [TargetScale.of(Y, weights, "log", shift)]
    if tails > 10:
        below, middle, above = np.quantile(y, [0.25, 0.5, 0.75])
        if above > below:
            return [TargetScale.of(Y, weights, "asinh", float(middle), float(above - below))]
    return []
