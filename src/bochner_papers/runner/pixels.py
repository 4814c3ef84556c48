"""Values over a grid, one byte each, for figures that are drawn from stored results."""

import base64

import numpy as np


def packed(values: np.ndarray, limit: float = 1.0) -> str:
    """Pack values of [-limit, limit] in 254 steps, zero exactly; others are clipped.

    >>> unpacked(packed(np.array([-1.0, 0.0, 0.5, 7.0])), (4,)).round(2).tolist()
    [-1.0, 0.0, 0.5, 1.0]
    """
    steps = np.round(127 * np.clip(np.asarray(values, dtype=np.float64) / limit, -1, 1))
    return base64.b64encode((steps + 127).astype(np.uint8).tobytes()).decode()


def unpacked(text: str, shape: tuple[int, ...], limit: float = 1.0) -> np.ndarray:
    """Return the values of ``packed``, to half a step."""
    bytes_of = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
    return (bytes_of.astype(np.float64).reshape(shape) - 127) * (limit / 127)
