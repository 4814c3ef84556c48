"""More rows than a kernel matrix can take: a learned prior on landmarks, fitted to all rows in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, cho_factor, cho_solve, solve_triangular

from .._compute import Block, LocalRows, as_dense
from ..evidence import LearnedPrior
from ..kernel_expansions import KernelExpansion
from .solving import Problem, Solved, learned_gram

# Landmarks: as many as n m² multiplications allow, between two numbers.
_MULTIPLICATIONS, _LANDMARKS = 5e11, (256, 2000)
# Half decades around the noise of the evidence that ridges are taken from.
_STEPS = np.arange(-4, 5) / 2
# Of the mean diagonal, added to the kernel matrix of the landmarks.
_JITTER = 1e-7


@dataclass(frozen=True)
class Stream:
    """All rows, wherever they are: ``prepare`` gives a block's prepared columns; rows of weight zero take no part."""

    rows: LocalRows
    prepare: Callable
    Y: np.ndarray
    weights: np.ndarray


def landmark_count(n_rows: int) -> int:
    """How many landmarks are affordable for so many rows."""
    return int(np.clip(np.sqrt(_MULTIPLICATIONS / n_rows), *_LANDMARKS))


def solve_streaming(stream: Stream, landmarks: np.ndarray, learned: LearnedPrior, judge: Problem) -> Solved:
    """f(z) = b + Σ_m c_m k(z, landmark_m) of least Σ_i h_i ‖f(z_i) − y_i‖² + α cᵀKc over all rows; ``judge`` chooses α.

    The normal equations are summed in float64 over blocks of rows.  With K = LLᵀ and c = L⁻ᵀ c' the penalty is α ‖c'‖².
    """
    points = landmarks.astype(np.float32)
    n_landmarks, n_outputs = len(points), stream.Y.shape[1]
    block = Block(_normal_block, stream.prepare, learned, points, row_bytes=24 * n_landmarks)
    gram, right = stream.rows.sum(block, stream.Y, stream.weights)
    gram = np.tril(gram) + np.tril(gram, -1).T
    corner = learned_gram(learned, landmarks)
    corner[np.diag_indices_from(corner)] += _JITTER * np.trace(corner)
    triangle = np.linalg.cholesky(corner)

    def whitened(matrix):
        return solve_triangular(triangle, matrix, lower=True, check_finite=False)

    # The last column is that of the intercept: taken out by centering, which keeps it free of the penalty.
    total = gram[-1, -1]
    means, center = gram[-1, :-1] / total, right[-1] / total
    inner = whitened(whitened(gram[:-1, :-1] - total * np.outer(means, means)).T)
    target = whitened(right[:-1] - total * np.outer(means, center))
    cross = learned_gram(learned, judge.Z.astype(np.float32), points).astype(np.float64)
    best = None
    for ridge in learned.noise * 10.0**_STEPS:
        factor = cho_factor(inner + ridge * np.eye(n_landmarks), lower=True, check_finite=False)
        solved = cho_solve(factor, target, check_finite=False)
        coefficients = solve_triangular(triangle, solved, lower=True, trans="T", check_finite=False)
        intercept = center - means @ coefficients
        scores = cross @ coefficients + intercept
        error = np.average(np.sum((judge.Y - scores) ** 2, axis=1), weights=judge.weights)
        if best is None or error < best[0]:
            best = error, ridge, coefficients, intercept, scores
    assert best is not None
    _, ridge, coefficients, intercept, scores = best
    slopes = (learned.linear / points.shape[1])[:, None] * (landmarks.T @ coefficients)
    # In float64: coefficients of near landmarks are large and of both signs.
    expansion = KernelExpansion(learned.prior, landmarks, coefficients.reshape(-1, n_outputs), slopes, intercept)
    return Solved(expansion, scores, float(ridge))


def _normal_block(prepare, learned, points, X, Y, weights):
    """Lower half of [Φ, 1]ᵀ h [Φ, 1], and [Φ, 1]ᵀ h Y, of one block."""
    Z = np.asarray(prepare(as_dense(X)), np.float32)
    features = np.ones((len(Z), len(points) + 1))
    features[:, :-1] = learned_gram(learned, Z, points)
    root = np.sqrt(weights)[:, None]
    features *= root
    return blas.dsyrk(1.0, features.T, lower=1), features.T @ (root * Y)
