"""LandmarkFeatures: choices of landmarks, limits, shapes, bounds."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from bochner import Gaussian, LandmarkFeatures, Laplace, MarginGame, OptimalAlignment, PacBayes
from bochner.data import repetitions
from bochner.expansions.waves import Expansion, ExpansionStack
from bochner.features.landmark_choice import shares


@pytest.fixture
def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 3))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)


def test_similarities_are_at_most_one_and_one_at_the_landmark(problem, seed):
    for share in (False, True):
        fitted = LandmarkFeatures(
            Gaussian(0.5),
            n_landmarks=9,
            landmarks="random",
            n_components=7,
            share_frequencies=share,
            random_state=seed,
        ).fit(*problem)
        psi = fitted.transform(problem[0])
        assert psi.shape == (240, 9)
        assert np.max(np.abs(psi)) <= 1 + 1e-12
        np.testing.assert_allclose(psi[fitted.landmark_indices_, np.arange(9)], 1, atol=1e-12)


def test_beta_zero_and_prior_similarity_estimate_the_closed_form(problem, seed):
    X, y = problem
    settings = {"n_landmarks": 6, "n_components": 4000, "random_state": seed}
    exact = LandmarkFeatures(Gaussian(0.5), similarity="exact", **settings).fit(X, y)
    np.testing.assert_allclose(
        exact.transform(X), rbf_kernel(X, exact.landmarks_, gamma=0.5), atol=1e-12
    )
    prior = LandmarkFeatures(Gaussian(0.5), similarity="prior", **settings).fit(X, y)
    flat = LandmarkFeatures(Gaussian(0.5), PacBayes(0.0), **settings).fit(X, y)
    np.testing.assert_allclose(prior.landmarks_, exact.landmarks_)
    np.testing.assert_allclose(flat.transform(X), prior.transform(X), atol=1e-12)
    # cos has variance at most 1/2 here, so a mean of 4000 has a standard error of at most 0.0112.
    assert np.max(np.abs(prior.transform(X) - exact.transform(X))) < 5 * np.sqrt(0.5 / 4000)


def test_learning_pulls_similarities_towards_the_labels(problem, seed):
    X, y = problem
    losses = {}
    for similarity in ("learned", "prior"):
        fitted = LandmarkFeatures(
            Gaussian(0.5), n_landmarks=12, n_components=50, similarity=similarity, random_state=seed
        ).fit(X, y)
        target = np.where(y[:, None] == fitted.landmark_labels_[None], 1, -1)
        losses[similarity] = np.mean((1 - target * fitted.transform(X)) / 2)
    assert losses["learned"] < losses["prior"]


def test_landmarks_are_shared_out_over_classes():
    assert shares([100, 100], 20) == [10, 10]
    assert shares([100, 4], 20) == [16, 4]
    assert shares([3, 100, 2, 100], 20) == [3, 8, 2, 7]
    assert shares([2, 2], 100) == [2, 2]
    assert sum(shares([50, 50, 50], 20)) == 20


@pytest.mark.parametrize("rule", ["random", "kmeans"])
def test_per_label_gives_each_class_its_share(rule, problem, seed):
    X, y = problem
    fitted = LandmarkFeatures(Gaussian(0.5), n_landmarks=15, landmarks=rule, random_state=seed).fit(
        X, y
    )
    np.testing.assert_array_equal(np.bincount(fitted.landmark_labels_), [5, 5, 5])
    together = LandmarkFeatures(
        Gaussian(0.5), n_landmarks=15, landmarks=rule, per_label=False, random_state=seed
    ).fit(X, y)
    assert len(together.landmark_labels_) == 15
    if rule == "random":
        np.testing.assert_array_equal(X[fitted.landmark_indices_], fitted.landmarks_)
        assert len(set(fitted.landmark_indices_)) == 15
        np.testing.assert_array_equal(y[fitted.landmark_indices_], fitted.landmark_labels_)


def test_a_share_of_the_rows_and_too_many_landmarks(problem, seed):
    X, y = problem
    tenth = LandmarkFeatures(n_landmarks=0.1, n_components=4, random_state=seed).fit(X, y)
    assert len(tenth.landmarks_) == 24
    with pytest.warns(UserWarning, match="more than the 20 different rows"):
        every = LandmarkFeatures(n_landmarks=50, landmarks="random", n_components=4).fit(
            X[:20], y[:20]
        )
    assert len(every.landmarks_) == 20


def test_landmarks_are_three_hundred_or_half_of_the_different_rows(seed):
    X = np.random.default_rng(0).normal(size=(700, 2))
    y = X[:, 0] > 0
    settings = {"landmarks": "random", "n_components": 2, "random_state": seed}
    assert len(LandmarkFeatures(**settings).fit(X, y).landmarks_) == 300
    assert len(LandmarkFeatures(**settings).fit(X[:41], y[:41]).landmarks_) == 20
    twice = np.tile(X[:41], (2, 1)), np.tile(y[:41], 2)
    assert len(LandmarkFeatures(**settings).fit(*twice).landmarks_) == 20
    with pytest.raises(ValueError, match="n_landmarks must be one of 'auto'; got 'many'"):
        LandmarkFeatures(n_landmarks="many").fit(X, y)


def test_own_points_with_and_without_labels(problem, seed):
    X, y = problem
    points = np.array([[0.0, 0, 0], [1.0, 1.5, 0], [-1.0, 0, 0]])
    labeled = LandmarkFeatures(
        Gaussian(0.5), landmarks=(points, [1, 2, 0]), n_components=5, random_state=seed
    )
    np.testing.assert_array_equal(labeled.fit(X, y).landmark_labels_, [1, 2, 0])
    nearest = LandmarkFeatures(
        Gaussian(0.5), landmarks=points, n_components=5, random_state=seed
    ).fit(X, y)
    closest = np.argmin(((X[:, None] - points[None]) ** 2).sum(axis=2), axis=0)
    np.testing.assert_array_equal(nearest.landmark_labels_, y[closest])
    assert nearest.transform(X).shape == (240, 3)
    with pytest.raises(ValueError, match="has 3 features"):
        LandmarkFeatures(landmarks=points[:, :2]).fit(X, y)
    with pytest.raises(ValueError, match="declared"):
        LandmarkFeatures(landmarks=(points, [1, 2, 9])).fit(X, y)


def test_sparse_rows_float32_and_small_blocks_change_nothing(problem, seed):
    X, y = problem
    X = np.where(np.abs(X) < 0.5, 0, X)
    for similarity in ("learned", "exact"):
        settings = {
            "n_landmarks": 7,
            "n_components": 6,
            "similarity": similarity,
            "landmarks": "random",
        }
        dense = LandmarkFeatures(Gaussian(0.5), random_state=seed, **settings).fit(X, y)
        expected = dense.transform(X)
        sparse = LandmarkFeatures(Gaussian(0.5), random_state=seed, **settings).fit(
            sp.csr_matrix(X), y
        )
        np.testing.assert_allclose(sparse.transform(sp.csr_matrix(X)), expected, atol=1e-10)
        blocks = LandmarkFeatures(Gaussian(0.5), random_state=seed, block_size=11, **settings).fit(
            X, y
        )
        np.testing.assert_allclose(blocks.transform(X), expected, atol=1e-12)
        single = LandmarkFeatures(Gaussian(0.5), random_state=seed, **settings).fit(
            X.astype(np.float32), y
        )
        psi = single.transform(X.astype(np.float32))
        assert psi.dtype == np.float32
        np.testing.assert_allclose(psi, expected, atol=2e-5)
        out = np.empty((240, 7))
        assert dense.transform(X, out=out) is out
        np.testing.assert_array_equal(out, expected)


def test_dask_rows_give_the_same_similarities(problem, seed):
    da = pytest.importorskip("dask.array")
    X, y = problem
    settings = {"n_landmarks": 5, "n_components": 6, "landmarks": "random", "random_state": seed}
    whole = LandmarkFeatures(Gaussian(0.5), **settings).fit(X, y)
    chunks = da.from_array(X, chunks=(50, 3))
    np.testing.assert_allclose(
        LandmarkFeatures(Gaussian(0.5), **settings).fit(chunks, y).transform(chunks).compute(),
        whole.transform(X),
    )


def test_not_a_number_in_dask_rows_is_refused(problem):
    da = pytest.importorskip("dask.array")
    X, y = problem
    bad = X.copy()
    bad[70, 1] = np.nan
    for similarity in ("learned", "exact"):
        for share in (False, True):
            fitted = LandmarkFeatures(
                Gaussian(0.5),
                n_landmarks=4,
                n_components=3,
                similarity=similarity,
                share_frequencies=share,
            ).fit(X, y)
            with pytest.raises(ValueError, match="contains NaN"):
                fitted.transform(da.from_array(bad, chunks=(50, 3))).compute()
            with pytest.raises(ValueError, match="contains NaN"):
                fitted.transform(bad)


def test_sharing_frequencies_bounds_the_rank(problem):
    X, y = problem
    ranks = {}
    for share in (False, True):
        fitted = LandmarkFeatures(
            Gaussian(0.5), n_landmarks=40, n_components=5, share_frequencies=share, random_state=0
        )
        ranks[share] = np.linalg.matrix_rank(fitted.fit_transform(X, y))
    assert ranks == {False: 40, True: 10}


def test_entries_given_twice_in_a_sparse_matrix_are_added(problem):
    X, y = problem
    rows, columns = np.indices(X.shape).reshape(2, -1)
    twice = sp.csr_matrix(
        (np.concatenate([X.ravel()] * 2) / 2, (np.tile(rows, 2), np.tile(columns, 2))), X.shape
    )
    doubled = sp.csr_matrix(X)
    doubled = sp.csr_matrix(
        (np.repeat(doubled.data / 2, 2), np.repeat(doubled.indices, 2), 2 * doubled.indptr), X.shape
    )
    for similarity in ("learned", "exact"):
        fitted = LandmarkFeatures(
            Gaussian(0.5), n_landmarks=4, similarity=similarity, random_state=0
        ).fit(X, y)
        for given in (twice, doubled):
            np.testing.assert_allclose(fitted.transform(given), fitted.transform(X), atol=1e-12)


def test_a_failed_refit_leaves_the_old_landmarks(problem):
    X, y = problem
    fitted = LandmarkFeatures(n_landmarks=4, n_components=3, random_state=0).fit(X, y)
    before = fitted.transform(X)
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.fit(X[:, :2], y[:10])
    np.testing.assert_array_equal(fitted.transform(X), before)


def test_the_bound_holds_for_the_weights_of_any_learner(problem):
    """Theorem 1 speaks of all weights at a t fixed before the data; 25 betas tried cost ln 25."""
    X, y = problem
    fitted = LandmarkFeatures(
        Gaussian(0.5), n_landmarks=6, landmarks="random", per_label=False, random_state=0
    )
    fitted.fit(X, y)
    n, t = 240, np.sqrt(240)
    weights = fitted.relearned(OptimalAlignment(radius=0.5)).report_.weights[2]
    ball = fitted.relearned(OptimalAlignment(radius=0.5)).alignment_bound(landmark=2)
    divergence = np.sum(weights * np.log(np.maximum(weights, 1e-300) * 64))
    assert ball.valid
    assert ball.complexity == pytest.approx(
        (divergence + t**2 / (8 * (n - 1)) + np.log(6 / 0.05)) / t
    )
    chosen = fitted.relearned(PacBayes("bound"))
    beta = chosen.report_.tradeoff[2]
    alone = fitted.relearned(PacBayes(beta)).alignment_bound(landmark=2)
    price = np.log(25) / (beta * t)
    assert chosen.alignment_bound(landmark=2).value == pytest.approx(alone.value + price)


def test_many_landmarks_and_odd_sizes_cross_tiles(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(1100, 4)), rng.integers(2, size=1100)
    fitted = LandmarkFeatures(
        Gaussian(0.3), n_landmarks=61, n_components=37, landmarks="random", random_state=seed
    )
    fitted.fit(X, y)
    held = fitted.expansion_
    triples = zip(fitted.landmarks_, held.frequencies, fitted.report_.weights)
    loop = np.stack([np.cos((X - p) @ w.T) @ q for p, w, q in triples], axis=1)
    np.testing.assert_allclose(fitted.transform(X), loop, atol=1e-12)
    assert len(held) == 61
    np.testing.assert_allclose(held[7].evaluate(X)[:, 0], loop[:, 7], atol=1e-12)
    np.testing.assert_allclose(held.take([60, 2]).evaluate(X), loop[:, [60, 2]], atol=1e-12)
    with pytest.raises(ValueError, match="functions have 4"):
        held.evaluate(X[:, :2])
    with pytest.raises(ValueError, match="need"):
        ExpansionStack(held.frequencies, held.phases[:3], held.amplitudes)


@pytest.mark.parametrize("share", [False, True])
def test_relearning_equals_fitting_with_the_other_learner(share, problem, seed):
    X, y = problem
    settings = {
        "n_landmarks": 5,
        "n_components": 20,
        "share_frequencies": share,
        "random_state": seed,
    }
    fitted = LandmarkFeatures(Gaussian(0.5), **settings).fit(X, y)
    for learner in (PacBayes(4.0), PacBayes("bound"), OptimalAlignment(radius=0.5)):
        fresh = LandmarkFeatures(Gaussian(0.5), learner, **settings).fit(X, y)
        np.testing.assert_allclose(
            fitted.relearned(learner).transform(X), fresh.transform(X), atol=1e-12
        )
    fewer = fitted.relearned(n_components=3)
    assert fewer.expansion_.frequencies.shape == ((3, 3) if share else (5, 3, 3))
    assert isinstance(fewer.expansion_, Expansion if share else ExpansionStack)
    np.testing.assert_allclose(fewer.report_.weights.sum(axis=1), 1)
    pairs = [(PacBayes(0.0), 20), (PacBayes(4.0), 20), (OptimalAlignment(radius=0.3), 3)]
    for (learner, n_components), psi in zip(pairs, fitted.transform_each(X, pairs)):
        np.testing.assert_allclose(
            psi, fitted.relearned(learner, n_components).transform(X), atol=1e-12
        )
    with pytest.raises(TypeError, match="AlignmentLearner"):
        fitted.relearned(MarginGame())
    with pytest.raises(TypeError, match=r"Write learner=PacBayes\(\)"):
        LandmarkFeatures(learner=PacBayes).fit(X, y)
    with pytest.raises(ValueError, match="Only 20"):
        fitted.relearned(n_components=21)


def test_alignment_bound_holds_for_random_rows_and_not_for_centroids(problem, seed):
    X, y = problem
    random = LandmarkFeatures(
        Gaussian(0.5), n_landmarks=6, landmarks="random", per_label=False, random_state=seed
    )
    mean = random.fit(X, y).alignment_bound()
    each = [random.alignment_bound(landmark=k) for k in range(6)]
    assert mean.valid
    assert mean.value == pytest.approx(np.mean([bound.value for bound in each]))
    by_label = LandmarkFeatures(
        Gaussian(0.5), n_landmarks=6, landmarks="random", random_state=seed
    ).fit(X, y)
    assert by_label.alignment_bound().valid
    t = np.sqrt(240)
    uniform_cost = (
        by_label.alignment_bound(delta=0.05).complexity
        - by_label.alignment_bound(delta=0.5).complexity
    )
    assert uniform_cost == pytest.approx(np.log(10) / t)
    centroids = LandmarkFeatures(Gaussian(0.5), n_landmarks=6, random_state=seed).fit(X, y)
    assert not centroids.alignment_bound().valid
    assert "k-means" in centroids.alignment_bound().reason
    default = LandmarkFeatures(n_landmarks=6, landmarks="random", random_state=seed).fit(X, y)
    assert not default.alignment_bound().valid


@pytest.mark.parametrize("per_label", [False, True])
def test_alignment_bound_is_theorem_1_over_all_that_may_be_chosen(per_label, problem):
    """Q·L̂ + (KL + t²/(8(n−1)) + ln(K/δ))/t, t = β √n: K the landmarks, or all n rows when labels
    had a say in the choice.
    """
    X, y = problem
    n = len(X)
    settings = {"n_landmarks": 6, "landmarks": "random", "n_components": 10, "random_state": 0}
    fitted = LandmarkFeatures(Gaussian(1.0), PacBayes(2.0), per_label=per_label, **settings).fit(
        X, y
    )
    q, t = fitted.report_.weights[3], 2.0 * np.sqrt(n)
    counted = n if per_label else 6
    complexity = (np.sum(q * np.log(10 * q)) + t**2 / (8 * (n - 1)) + np.log(counted / 0.05)) / t
    assert fitted.alignment_bound(landmark=3).value == pytest.approx(
        q @ fitted.report_.losses[3] + complexity
    )


def test_other_priors_and_no_labels(problem, seed):
    X, _ = problem
    fitted = LandmarkFeatures(
        Laplace(0.5), similarity="exact", n_landmarks=4, random_state=seed
    ).fit(X)
    np.testing.assert_allclose(fitted.transform(X), Laplace(0.5).kernel(X, fitted.landmarks_))
    with pytest.raises(ValueError, match="requires y"):
        LandmarkFeatures().fit(X)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_landmarks": 0},
        {"n_landmarks": 1.5},
        {"landmarks": "grid"},
        {"learner": PacBayes(-1.0)},
        {"similarity": "rbf"},
    ],
)
def test_wrong_parameters_are_refused(wrong, problem):
    with pytest.raises(ValueError, match="must"):
        LandmarkFeatures(**wrong).fit(*problem)


def test_no_theorem_covers_weighted_rows(problem):
    X, y = problem
    settings = {"landmarks": "random", "n_landmarks": 6, "n_components": 5, "random_state": 0}
    weighted = LandmarkFeatures(Gaussian(0.5), **settings).fit(X, y, np.full(len(X), 2.0))
    assert "weighted rows" in weighted.alignment_bound().reason
    assert LandmarkFeatures(Gaussian(0.5), **settings).fit(X, y).alignment_bound().valid


def test_rows_are_landmarks_in_proportion_to_their_weight():
    X, weights = np.arange(4.0)[:, None], np.array([5.0, 1.0, 1.0, 0.0])
    chosen = [
        LandmarkFeatures(
            Gaussian(1.0), landmarks="random", n_landmarks=1, similarity="exact", random_state=seed
        )
        .fit(X, sample_weight=weights)
        .landmark_indices_[0]
        for seed in range(300)
    ]
    shares = np.bincount(chosen, minlength=4) / 300
    assert np.max(np.abs(shares - weights / 7)) < 5 * np.sqrt(0.25 / 300)
    assert shares[3] == 0


@pytest.mark.parametrize("target", ["labels", "values", "several values"])
def test_losses_of_weighted_rows_are_those_of_repeated_ones(problem, seed, target, monkeypatch):
    """Own landmarks, and rows that are not merged: what merging makes equal, a wrong formula would
    not tell.
    """
    monkeypatch.setattr(repetitions, "FEW_ROWS", 0)
    X, y = problem
    y = {"labels": y, "values": X[:, 0] ** 2, "several values": X[:, :2] ** 2}[target]
    counts = np.random.default_rng(seed).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), counts)
    features = LandmarkFeatures(
        Gaussian(gamma="scale"),
        landmarks=X[counts > 0][:5] + 0.1,
        n_components=6,
        random_state=seed,
    )
    weighted = clone(features).fit(X, y, counts)
    longer = clone(features).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.report_.losses, longer.report_.losses, rtol=1e-9)
    np.testing.assert_allclose(weighted.transform(X), longer.transform(X), atol=1e-9)
    assert weighted.report_.n_samples == longer.report_.n_samples


@pytest.mark.parametrize("similarity", ["exact", "prior"])
def test_similarities_that_are_not_learned_have_no_bound(similarity):
    X = np.random.default_rng(0).normal(size=(30, 2))
    fitted = LandmarkFeatures(similarity=similarity, n_landmarks=4, random_state=0).fit(X)
    for call in (fitted.alignment_bound, fitted.relearned, lambda: fitted.transform_each(X, [])):
        with pytest.raises(
            ValueError, match=f"fitted with similarity='{similarity}'.*similarity=\"learned\""
        ):
            call()
