"""The alignment losses pair by pair, as the paper defines them, against the Fourier sums."""

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import (
    Gaussian,
    LandmarkFeatures,
    PacBayes,
    TargetSimilarity,
    alignment_losses,
    alignment_losses_and_gradient,
)
from bochner.data import as_rows
from bochner.data.targets import as_target
from bochner.learners.alignment import alignment_sums


def pairwise_alignment_loss(omega, X, similarity):
    """Eq. 9, pair by pair; only for tests."""
    n = len(X)
    total = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                total += (1 - similarity(i, j) * np.cos(omega @ (X[i] - X[j]))) / 2
    return total / (n * (n - 1))


def data(seed, n=37, d=3, m=9):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, d)), Gaussian(0.4).sample(m, d, rng)


def same_or_not(y):
    return lambda i, j: 1.0 if y[i] == y[j] else -1.0


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_losses_of_labels_are_the_papers_double_sum(n_classes, seed):
    rng, X, measure = data(seed)
    y = rng.integers(n_classes, size=len(X))
    expected = [pairwise_alignment_loss(w, X, same_or_not(y)) for w in measure.frequencies]
    np.testing.assert_allclose(alignment_losses(measure, X, y), expected, rtol=0, atol=1e-12)
    names = np.array([f"class {c}" for c in y])
    np.testing.assert_allclose(alignment_losses(measure, X, names), expected, rtol=0, atol=1e-12)
    factors = TargetSimilarity.of_labels(y)
    np.testing.assert_allclose(alignment_losses(measure, X, factors), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_losses_of_real_targets_are_the_double_sum(n_outputs, seed):
    rng, X, measure = data(seed)
    y = rng.normal(size=(len(X), n_outputs)) * 3 + 40
    u = (y - y.mean(axis=0)) / np.linalg.norm(y - y.mean(axis=0), axis=1).max()
    expected = [
        pairwise_alignment_loss(w, X, lambda i, j: u[i] @ u[j]) for w in measure.frequencies
    ]
    given = y[:, 0] if n_outputs == 1 else y
    np.testing.assert_allclose(alignment_losses(measure, X, given), expected, rtol=0, atol=1e-12)


def test_losses_of_an_indefinite_low_rank_target_are_the_double_sum(seed):
    rng, X, measure = data(seed)
    target = TargetSimilarity(rng.normal(size=(len(X), 4)), [1.0, -1.0, 0.5, -2.0])
    gram = target.gram()
    expected = [pairwise_alignment_loss(w, X, lambda i, j: gram[i, j]) for w in measure.frequencies]
    np.testing.assert_allclose(alignment_losses(measure, X, target), expected, rtol=0, atol=1e-12)


def test_a_gram_matrix_of_low_rank_is_recovered_by_pivoted_cholesky(seed):
    rng, X, _ = data(seed)
    half = rng.normal(size=(len(X), 5))
    target = TargetSimilarity.of_gram(half @ half.T)
    assert target.factors.shape[1] == 5
    np.testing.assert_allclose(target.gram(), half @ half.T, atol=1e-10)
    assert target.trace == pytest.approx(np.trace(half @ half.T))


def test_sparse_and_small_blocks_change_nothing(seed):
    rng, X, measure = data(seed, n=1500)
    X[rng.random(X.shape) < 0.7] = 0
    y = rng.integers(3, size=len(X))
    expected = alignment_losses(measure, X, y)
    np.testing.assert_allclose(
        alignment_losses(measure, sp.csr_matrix(X), y), expected, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        alignment_losses(measure, as_rows(X, 7), y), expected, rtol=0, atol=1e-12
    )


def test_columns_of_zeros_are_left_out_without_a_trace(seed):
    rng, X, measure = data(seed, n=50, d=100, m=2100)
    X[:25, 40:] = 0
    X[:, 90:] = 0
    y = rng.integers(3, size=50)
    small = [
        pairwise_alignment_loss(w, X, same_or_not(y)) for w in measure.frequencies[[0, 1030, 2099]]
    ]
    found = alignment_losses(measure, as_rows(X, 25), y)[[0, 1030, 2099]]
    np.testing.assert_allclose(found, small, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        alignment_losses(measure, X * 0, y), np.mean(y[:, None] != y) * 50 / 49, atol=1e-12
    )


def test_dask_rows_change_nothing():
    da = pytest.importorskip("dask.array")
    rng, X, measure = data(0, n=400)
    for y in (rng.integers(3, size=len(X)), rng.normal(size=len(X))):
        expected = alignment_losses(measure, X, y)
        chunks = da.from_array(X, chunks=(90, 2))
        np.testing.assert_allclose(
            alignment_losses(measure, chunks, y), expected, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            alignment_losses(measure, chunks, da.from_array(y, chunks=77)),
            expected,
            rtol=0,
            atol=1e-12,
        )


@pytest.mark.parametrize("kind", ["labels", "values", "outputs"])
def test_gradient_agrees_with_central_differences(kind, seed):
    rng, X, measure = data(seed, m=3)
    y = {
        "labels": rng.integers(3, size=len(X)),
        "values": rng.normal(size=len(X)),
        "outputs": rng.normal(size=(len(X), 2)),
    }[kind]
    losses, gradient = alignment_losses_and_gradient(measure, X, y)
    np.testing.assert_allclose(losses, alignment_losses(measure, X, y), rtol=0, atol=1e-12)
    step = 1e-6
    for k in range(X.shape[1]):
        shift = np.zeros(X.shape[1])
        shift[k] = step
        up = alignment_losses(type(measure)(measure.frequencies + shift, measure.weights), X, y)
        down = alignment_losses(type(measure)(measure.frequencies - shift, measure.weights), X, y)
        np.testing.assert_allclose(gradient[:, k], (up - down) / (2 * step), atol=1e-8)


def landmark_loss(omega, X, y, point, label, skip):
    """Eq. 10, row by row; only for tests."""
    rows = [j for j in range(len(X)) if j != skip]
    values = [(1 - (1 if y[j] == label else -1) * np.cos(omega @ (point - X[j]))) / 2 for j in rows]
    return np.mean(values)


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("rule", ["random", "kmeans"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_landmark_losses_and_map_are_the_papers_sums(share, rule, n_classes, seed):
    rng, X, _ = data(seed, n=60)
    y = rng.integers(n_classes, size=len(X))
    features = LandmarkFeatures(
        Gaussian(0.5),
        PacBayes(0.7),
        n_landmarks=8,
        landmarks=rule,
        n_components=5,
        share_frequencies=share,
        random_state=seed,
    ).fit(X, y)
    frequencies = features.expansion_.frequencies
    new = rng.normal(size=(11, 3))
    psi = features.transform(new)
    for k, (point, label) in enumerate(zip(features.landmarks_, features.landmark_labels_)):
        own = frequencies if share else frequencies[k]
        skip = features.landmark_indices_[k] if rule == "random" else None
        losses = [landmark_loss(w, X, y, point, label, skip) for w in own]
        np.testing.assert_allclose(features.report_.losses[k], losses, rtol=0, atol=1e-12)
        posterior = np.exp(-0.7 * np.sqrt(len(X)) * np.array(losses))
        posterior /= posterior.sum()
        np.testing.assert_allclose(
            psi[:, k], np.cos((point - new) @ own.T) @ posterior, rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("rule", ["random", "kmeans"])
def test_landmark_losses_of_real_targets_are_the_sums(rule, seed):
    rng, X, _ = data(seed, n=40)
    y = rng.normal(size=len(X))
    features = LandmarkFeatures(
        Gaussian(0.5), n_landmarks=4, landmarks=rule, n_components=3, random_state=seed
    ).fit(X, y)
    u = (y - y.mean()) / np.abs(y - y.mean()).max()
    for k, point in enumerate(features.landmarks_):
        skip = features.landmark_indices_[k] if rule == "random" else None
        rows = [j for j in range(len(X)) if j != skip]
        value = features.landmark_labels_[k, 0]
        for m, omega in enumerate(features.expansion_.frequencies[k]):
            expected = np.mean(
                [(1 - value * u[j] * np.cos(omega @ (point - X[j]))) / 2 for j in rows]
            )
            assert features.report_.losses[k, m] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["labels", "values", "factors"])
def test_sums_of_parts_are_the_sums_of_the_whole(kind, seed):
    rng, X, measure = data(seed, n=200)
    y = {"labels": rng.integers(4, size=len(X)), "values": rng.normal(size=len(X)) + 1e3}.get(kind)
    factors = rng.normal(size=(len(X), 2))
    whole = alignment_losses(measure, X, TargetSimilarity(factors) if kind == "factors" else y)
    cuts = np.sort(rng.choice(np.arange(1, len(X)), size=5, replace=False))
    parts = np.split(np.arange(len(X)), cuts)
    total = None
    for rows in rng.permutation(np.array(parts, dtype=object)):
        rows = np.asarray(rows, dtype=int)
        target = TargetSimilarity(factors[rows]) if kind == "factors" else y[rows]
        part = alignment_sums(
            measure,
            as_rows(X[rows]),
            as_target(target, len(rows), classes=np.arange(4) if kind == "labels" else None),
        )
        total = part if total is None else total + part
    np.testing.assert_allclose(total.losses(), whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["labels", "values", "outputs", "factors"])
def test_weights_count_like_repeated_rows(seed, kind):
    rng, X, measure = data(seed, n=40)
    weights = rng.integers(0, 4, size=len(X))
    y = {
        "labels": rng.integers(3, size=len(X)),
        "values": rng.normal(size=len(X)),
        "outputs": rng.normal(size=(len(X), 2)),
        "factors": TargetSimilarity(rng.normal(size=(len(X), 3)), [1.0, -0.5, 2.0]),
    }[kind]
    target = as_target(y, len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    expected = alignment_losses(measure, X[repeated], target.take(repeated))
    found = alignment_sums(measure, as_rows(X), target, weights.astype(float)).losses()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
