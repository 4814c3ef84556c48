"""A measure is accepted wherever a prior is, and an operator-valued measure wherever a kernel is."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from cases import finite_measure
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

import bochner
from bochner import (
    Anova,
    CertifiedClassifier,
    CurlFree,
    CustomKernel,
    Decomposable,
    DivergenceFree,
    Evidence,
    FourierBoostingClassifier,
    FourierBoostingRegressor,
    FourierMeasure,
    Gaussian,
    GBRFF1Classifier,
    GBRFF2Classifier,
    HarmonicMeasure,
    JointDescent,
    KernelMachine,
    LandmarkFeatures,
    MarginGame,
    OperatorKernelRidge,
    OperatorMeasure,
    OperatorRegressor,
    OperatorRidge,
    PacBayes,
    PacBayesLangevin,
    SpectralFeatures,
    SpectralLogistic,
    SpectralPrior,
    SpectralRidge,
    concatenate,
)
from bochner.export import to_onnx
from bochner.operators import estimator_variance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
LABELS = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, "up", "down")
VALUES = np.sin(X[:, 0]) * X[:, 1]
FIELD = np.stack([np.cos(X[:, 0]) * X[:, 1], np.sin(X[:, 0])], axis=1)
MU = finite_measure(2)
CURL_FREE = CurlFree(MU).lift(MU)

# Every place that accepts a measure, with its target.
MODELS = {
    "features": (SpectralFeatures(MU), None),
    "learned features": (SpectralFeatures(MU, PacBayes(), n_candidates=9, n_components=4), LABELS),
    "landmarks": (LandmarkFeatures(MU, n_landmarks=5), LABELS),
    "exact landmarks": (LandmarkFeatures(MU, n_landmarks=5, similarity="exact"), LABELS),
    "ridge": (SpectralRidge(SpectralFeatures(MU)), VALUES),
    "ridge on a measure": (SpectralRidge(MU), VALUES),
    "logistic": (SpectralLogistic(MU), LABELS),
    "certified": (CertifiedClassifier(MU), LABELS),
    "machine": (KernelMachine(MU, alpha=1e-3), VALUES),
    "machine by gradients": (KernelMachine(MU, alpha=0.1, solver="cg", tol=1e-9), VALUES),
    "GBRFF1": (GBRFF1Classifier(prior=MU, n_rounds=3), LABELS),
    "GBRFF2": (GBRFF2Classifier(prior=MU, n_rounds=3), LABELS),
    "boosting": (FourierBoostingClassifier(prior=MU, n_rounds=3), LABELS),
    "boosted regression": (FourierBoostingRegressor(prior=MU, n_rounds=3), VALUES),
    "field": (OperatorRidge(CurlFree(MU)), FIELD),
    "exact field": (OperatorKernelRidge(DivergenceFree(MU)), FIELD),
    "operator measure": (OperatorRidge(CURL_FREE), FIELD),
    "convex loss": (OperatorRegressor(CURL_FREE), FIELD),
    "exact operator measure": (OperatorKernelRidge(CURL_FREE, alpha=0.1), FIELD),
    "decomposable measure": (OperatorKernelRidge(Decomposable(MU).lift(MU)), VALUES),
}
CASES = pytest.mark.parametrize("name", MODELS)


def fitted(model, y, rows=X):
    model = clone(model)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model.fit(rows, y)


def outputs(model, rows=X):
    return model.predict(rows) if hasattr(model, "predict") else model.transform(rows)


@CASES
def test_every_place_for_a_prior_accepts_a_measure(name, tmp_path):
    model, y = MODELS[name]
    one = fitted(model, y)
    np.testing.assert_array_equal(outputs(one), outputs(fitted(model, y)))
    assert repr(clone(model)) == repr(model)
    bochner.save(one, tmp_path / "model")
    again = bochner.load(tmp_path / "model")
    np.testing.assert_array_equal(outputs(again), outputs(one))
    assert repr(again) == repr(one)


@CASES
def test_models_on_a_measure_are_exported(name):
    pytest.importorskip("onnx")
    one = fitted(*MODELS[name])
    to_onnx(one, X=X, dtype=np.float64)  # compares the graph with the model


@CASES
def test_rows_in_float32_give_nearly_the_same(name):
    model, y = MODELS[name]
    single, double = (outputs(fitted(model, y, rows), rows) for rows in (X.astype(np.float32), X))
    if double.dtype.kind == "f":
        np.testing.assert_allclose(single, double, atol=2e-2 * np.abs(double).max())
    else:
        assert np.mean(single == double) > 0.97


def test_sparse_rows_and_batches_give_the_same():
    rows = np.where(X > 0, X, 0.0)
    for name in ("learned features", "exact landmarks", "machine", "GBRFF2", "ridge on a measure"):
        model, y = MODELS[name]
        dense, sparse = (outputs(fitted(model, y, some), some) for some in (rows, csr_array(rows)))
        if dense.dtype.kind == "f":
            np.testing.assert_allclose(sparse, dense, atol=1e-8)
        else:
            np.testing.assert_array_equal(sparse, dense)
    for kernel in (CurlFree(MU), CURL_FREE):
        parts = OperatorRidge(kernel, alpha=0.1)
        for part in (slice(0, 30), slice(30, 80)):
            parts.partial_fit(X[part], FIELD[part])
        whole = OperatorRidge(kernel, alpha=0.1).fit(X, FIELD)
        np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-8)


def test_a_wrong_number_of_columns_is_refused_before_any_work():
    for name in ("features", "landmarks", "machine", "GBRFF2", "boosting", "ridge on a measure"):
        model, y = MODELS[name]
        with pytest.raises(ValueError, match="The measure has 2 features, got n_features=3"):
            fitted(model, y, np.column_stack([X, X[:, 0]]))
    for kernel in (CurlFree(MU), CURL_FREE):
        for model in (OperatorRidge(kernel), OperatorKernelRidge(kernel)):
            with pytest.raises(ValueError, match=r"features|outputs"):
                model.fit(np.column_stack([X, X[:, 0]]), FIELD)


def test_measures_have_the_methods_of_priors_and_kernels():
    """Only ``Evidence`` uses the others, after ``groups``, which refuses measures."""
    ours = {name for name in dir(SpectralPrior) if not name.startswith("_")} - set(
        dir(BaseEstimator)
    )
    assert ours - set(dir(FourierMeasure)) == {
        "family",
        "get_metadata_routing",
        "gram_slopes",
        "group_slopes",
        "rescaled",
        "start_rate",
        "weighs_columns",
        "with_groups",
        "with_rates",
    } - set(dir(BaseEstimator))


# --- draws ----------------------------------------------------------------------------------------


def test_a_measure_of_at_most_d_atoms_is_used_as_it_is():
    for features in (
        SpectralFeatures(MU, n_components=9),
        SpectralFeatures(MU, n_components=500, sampling="orthogonal"),
    ):
        assert features.fit(X).measure_ is MU
        np.testing.assert_allclose(
            features.transform(X) @ features.transform(X).T, MU.kernel(X), atol=1e-12
        )
    drawn = SpectralFeatures(MU, n_components=8, random_state=0).fit(X).measure_
    assert len(drawn) == 8
    assert drawn.mass == pytest.approx(MU.mass)
    assert np.ptp(drawn.weights) == 0
    candidates = SpectralFeatures(MU, PacBayes(0.0), n_candidates=9, n_components=2).fit(X, LABELS)
    np.testing.assert_allclose(candidates.learned_.weights, MU.weights)  # β = 0 keeps the prior


def test_operator_models_keep_all_atoms_unless_features_are_given():
    many = Gaussian().sample(700, 2, 0)
    assert len(OperatorRidge(CurlFree(many), alpha=1.0).fit(X, FIELD).measure_) == 700
    few = SpectralFeatures(n_components=20, random_state=0)
    assert len(OperatorRidge(CurlFree(many), features=few).fit(X, FIELD).measure_) == 20


@pytest.mark.parametrize("part", [slice(0, 5), slice(15, 20)])
def test_consecutive_draws_are_independent_of_their_place(part, seed):
    """Boosting and landmarks use consecutive draws as separate ones, so their order is random."""
    counts = np.zeros(9)
    for child in np.random.default_rng(seed).spawn(400):
        drawn = MU.sample(20, 2, child).frequencies[part]
        counts += [np.sum(np.all(drawn == atom, axis=1)) for atom in MU.frequencies]
    shares = MU.weights / MU.mass
    errors = (counts - 2000 * shares) / np.sqrt(2000 * shares * (1 - shares))
    assert np.abs(errors).max() < 5


def test_orthogonal_draws_of_atoms_are_refused():
    with pytest.raises(ValueError, match="cannot be sampled with sampling='orthogonal'"):
        SpectralFeatures(MU, n_components=3, sampling="orthogonal").fit(X)


# --- closed forms ---------------------------------------------------------------------------------


def test_gradient_and_hessian_of_a_single_wave():
    wave = FourierMeasure(np.array([[2.0, 0.0]]), np.array([3.0]))
    at, origin = np.array([[0.4, 7.0]]), np.zeros((1, 2))
    gradient = wave.gradient(at, origin, np.array([[1.0, -2.0]]))
    np.testing.assert_allclose(
        gradient[0], -6 * np.sin(0.8) * np.array([[1.0, 0.0], [-2.0, 0.0]]), atol=1e-12
    )
    hessian = wave.hessian(at, origin, np.arange(2))[0, 0]
    np.testing.assert_allclose(hessian, [[12 * np.cos(0.8), 0], [0, 0]], atol=1e-12)


def test_a_kernel_machine_solves_for_the_finite_kernel():
    machine = KernelMachine(MU, alpha=0.1, fit_intercept=False).fit(X, VALUES)
    peer = KernelRidge(kernel="precomputed", alpha=0.1).fit(MU.kernel(X), VALUES)
    np.testing.assert_allclose(machine.predict(X), peer.predict(MU.kernel(X)), atol=1e-8)
    step = 1e-5 * np.eye(2)
    slopes = [(machine.predict(X + e) - machine.predict(X - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(machine.jacobian(X), np.stack(slopes, axis=1), atol=1e-6)
    _, deviation = machine.predict(X, return_std=True)
    assert np.all(deviation > 0)


def test_waves_on_binary_columns_are_parities():
    """ω = π on the columns S has the kernel (−1)^(number of columns in S that differ)."""
    bits = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=float)
    sets = np.array([[1, 1, 0, 0], [0, 1, 1, 1]])
    lattice = FourierMeasure(np.pi * sets, np.array([0.5, 0.25]))
    differ = (bits[:, None] != bits[None]) @ sets.T
    expected = (-1.0) ** differ @ lattice.weights
    np.testing.assert_allclose(lattice.kernel(bits), expected, atol=1e-12)
    parity = (-1.0) ** (bits @ sets[1])
    model = KernelMachine(lattice, alpha=1e-9).fit(bits, parity)
    np.testing.assert_allclose(model.predict(bits), parity, atol=1e-6)
    unseen = KernelMachine(lattice, alpha=1e-9).fit(bits[:9], parity[:9]).predict(bits[9:])
    np.testing.assert_allclose(unseen, parity[9:], atol=1e-6)


def test_a_sum_of_measures_is_a_prior():
    both = concatenate([MU, Gaussian(0.5).sample(30, 2, 0)])
    machine = KernelMachine(both, alpha=0.1, fit_intercept=False).fit(X, VALUES)
    ridge = SpectralRidge(both, alpha=0.1, fit_intercept=False).fit(X, VALUES)
    np.testing.assert_allclose(machine.predict(X), ridge.predict(X), atol=1e-8)


def test_variance_of_draws_from_atoms_is_exact():
    differences = X[:4]
    exact = estimator_variance(Decomposable(MU, np.array([[2.0]])), differences)[:, 0, 0]
    waves = 2 * MU.mass * np.cos(differences @ MU.frequencies.T)  # one draw at each atom
    shares = MU.weights / MU.mass
    expected = waves**2 @ shares - (waves @ shares) ** 2
    np.testing.assert_allclose(exact, expected, rtol=1e-10)


# --- kernels of scikit-learn ----------------------------------------------------------------------


@pytest.mark.parametrize("source", [MU, Gaussian(0.5), Anova()], ids=lambda s: type(s).__name__)
def test_kernels_work_in_scikit_learn(source):
    kernel, gram, few = source.as_kernel(), source.kernel(X), X[:7]
    np.testing.assert_allclose(kernel(X[0], X[1]), gram[0, 1], rtol=1e-10)  # two vectors
    assert isinstance(kernel(X[0], X[1]), float)
    for metric in (kernel, kernel.__call__):  # of the second, rows are given one by one
        np.testing.assert_allclose(pairwise_kernels(X, few, metric=metric), gram[:, :7], atol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(gram), rtol=1e-12)
    precomputed = SVC(kernel="precomputed").fit(gram, LABELS)
    np.testing.assert_array_equal(
        SVC(kernel=kernel).fit(X, LABELS).predict(X), precomputed.predict(gram)
    )
    ridge = KernelRidge(kernel=kernel, alpha=0.1).fit(X, VALUES)
    machine = KernelMachine(source, alpha=0.1, fit_intercept=False).fit(X, VALUES)
    np.testing.assert_allclose(ridge.predict(X), machine.predict(X), atol=1e-8)
    features = Nystroem(kernel, n_components=80, random_state=0).fit_transform(X)
    np.testing.assert_allclose(features @ features.T, gram, atol=1e-6)
    process = GaussianProcessRegressor(kernel, alpha=0.1).fit(X, VALUES)
    np.testing.assert_allclose(process.predict(X), machine.predict(X), atol=1e-8)
    _, deviation = process.predict(few, return_std=True)
    explained = gram[:7] @ np.linalg.solve(gram + 0.1 * np.eye(80), gram[:, :7])
    np.testing.assert_allclose(deviation**2, np.diag(gram[:7, :7] - explained), atol=1e-8)


def test_noise_beside_a_fixed_kernel_is_tuned():
    noisy = VALUES + np.random.default_rng(1).normal(scale=0.3, size=80)
    kernel = Gaussian(0.5).as_kernel() + WhiteKernel(1.0)
    process = GaussianProcessRegressor(kernel).fit(X, noisy)
    assert 0.03 < process.kernel_.k2.noise_level < 0.3  # 0.09
    assert process.kernel_.k1.source.gamma == 0.5
    assert clone(kernel).k1 is not kernel.k1
    assert kernel.is_stationary()
    gram, slopes = kernel.k1(X, eval_gradient=True)
    assert gram.shape == (80, 80)
    assert slopes.shape == (80, 80, 0)
    assert repr(MU.as_kernel()) == f"ScikitKernel({MU!r})"


# --- bounds ---------------------------------------------------------------------------------------


def learned_measures():
    several = SpectralFeatures(Gaussian(0.5), PacBayes(), n_candidates=50, n_components=9)
    descent = SpectralFeatures(Gaussian(0.5), JointDescent(n_epochs=1), n_components=5)
    game = MarginGame(n_rounds=2).learn(MU, X, LABELS, 0)
    return {
        "PacBayes": several.fit(X, LABELS).measure_,
        "all candidates": several.fit(X, LABELS).learned_,
        "JointDescent": descent.fit(X, LABELS).measure_,
        "MarginGame": game.measure,
        "Evidence": Evidence(n_iterations=2).learn_prior(Gaussian(), X, VALUES, 0).sample(9, 2, 0),
        "bandwidth from rows": SpectralFeatures(n_components=9, random_state=0).fit(X).measure_,
    }


def test_bounds_with_a_learned_measure_are_not_valid():
    settings = {"n_components": 30, "random_state": 0}
    for name, learned in learned_measures().items():
        assert learned.learned, name
        bound = SpectralFeatures(learned, PacBayes(), **settings).fit(X, LABELS).alignment_bound()
        assert not bound.valid
        assert "the measure given as prior was learned" in bound.reason
        landmarks = LandmarkFeatures(learned, landmarks="random", n_landmarks=4, random_state=0)
        assert not landmarks.fit(X, LABELS).alignment_bound().valid
        for features in (learned, SpectralFeatures(learned, **settings)):
            certified = CertifiedClassifier(features, random_state=0).fit(X, LABELS)
            assert not certified.bound_.valid
            assert "measure" in certified.bound_.reason


def test_bounds_with_a_measure_by_hand_are_valid():
    settings = {"n_components": 30, "random_state": 0}
    declared = replace(learned_measures()["PacBayes"], learned=False)
    for own in (MU, Gaussian(0.5).sample(20, 2, 0), declared):
        assert not own.learned
        assert SpectralFeatures(own, PacBayes(), **settings).fit(X, LABELS).alignment_bound().valid
        assert CertifiedClassifier(own, random_state=0).fit(X, LABELS).bound_.valid


def test_the_mark_of_a_learned_measure_is_kept():
    one = learned_measures()["PacBayes"]
    copies = {
        "take": one.take([0, 1]),
        "reweighted": one.reweighted(np.ones(len(one))),
        "resampled": one.resampled(3, 0),
        "merged": one.merged(),
        "sample": one.sample(3, 2, 0),
        "replace": replace(one, weights=one.weights / 2),
        "sum": concatenate([MU, one]),
        "clone": clone(SpectralFeatures(one)).prior,
        "pickle": pickle.loads(pickle.dumps(one)),
        "lift": CurlFree(MU).lift(one).scalar,
    }
    assert [name for name, copy in copies.items() if not copy.learned] == []
    assert not concatenate([MU, MU]).learned
    assert not MU.take([0]).learned


def test_the_mark_is_stored(tmp_path):
    model = SpectralFeatures(learned_measures()["PacBayes"], PacBayes()).fit(X, LABELS)
    bochner.save(model, tmp_path / "model")
    assert bochner.load(tmp_path / "model").prior.learned


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda: SpectralFeatures(MU, PacBayesLangevin()).fit(X, LABELS), "log_density"),
        (lambda: KernelMachine(MU).fit(X, VALUES).effects(X), "column_factor"),
        (
            lambda: CustomKernel(
                MU, signature=lambda d: np.exp(-(d**2).sum(1))[:, None, None]
            ).lift(MU),
            "log_density",
        ),
    ],
)
def test_missing_methods_are_named(call, method):
    with pytest.raises(TypeError, match=rf"needs the method `{method}`.*use a prior"):
        call()


def test_evidence_refuses_measures_and_their_sums():
    for prior in (MU, MU + Gaussian(), Gaussian() * MU):
        with pytest.raises(TypeError, match="has fixed frequencies: write a prior"):
            Evidence().learn_prior(prior, X, VALUES, 0)


def test_other_objects_are_still_refused():
    for wrong in (HarmonicMeasure(np.array([[1, 0]]), np.ones(1)), "Gaussian"):
        with pytest.raises(TypeError, match="prior must be an object of SpectralPrior"):
            KernelMachine(wrong).fit(X, VALUES)
        with pytest.raises(TypeError, match="prior must be an object of SpectralPrior"):
            OperatorRidge(CurlFree(wrong)).fit(X, FIELD)
    with pytest.raises(TypeError, match="kernel must be an object of OperatorKernel"):
        OperatorRidge(MU).fit(X, FIELD)


# --- operator-valued measures ---------------------------------------------------------------------


def test_an_operator_measure_is_the_kernel_that_it_was_lifted_from():
    for model in (OperatorRidge, OperatorRegressor, OperatorKernelRidge):
        of_kernel, of_measure = (model(one).fit(X, FIELD) for one in (CurlFree(MU), CURL_FREE))
        np.testing.assert_allclose(of_measure.predict(X), of_kernel.predict(X), atol=1e-9)
    ridge = OperatorRidge(CURL_FREE).fit(X, FIELD)
    assert ridge.kernel_ is CURL_FREE
    np.testing.assert_allclose(ridge.curl(X), 0, atol=1e-9)
    shared = Decomposable(MU, np.array([[2.0, 1.0], [1.0, 1.0]]))
    of_kernel, of_measure = (
        OperatorRidge(one, alpha=0.1).fit(X, FIELD) for one in (shared, shared.lift(MU))
    )
    np.testing.assert_allclose(of_measure.predict(X), of_kernel.predict(X), atol=1e-9)


def test_a_sum_of_operator_measures_is_a_kernel():
    other = Gaussian(0.3).sample(12, 2, 1)
    both = concatenate([CURL_FREE, DivergenceFree(other).lift(other)])
    exact = OperatorKernelRidge(both, alpha=0.1).fit(X, FIELD)
    waves = OperatorRidge(both, alpha=0.1).fit(X, FIELD)
    np.testing.assert_allclose(exact.predict(X), waves.predict(X), atol=1e-8)


def test_an_operator_measure_needs_nothing_else():
    for features in (SpectralFeatures(Gaussian()), SpectralFeatures(learner=PacBayes())):
        with pytest.raises(ValueError, match="are used as they are, but features="):
            OperatorRidge(CURL_FREE, features=features).fit(X, FIELD)
    with pytest.raises(ValueError, match="has 2 outputs, but y has 1 columns"):
        OperatorKernelRidge(CURL_FREE).fit(X, VALUES)
    with pytest.raises(ValueError, match="Only vector-field kernels"):
        OperatorRidge(CURL_FREE).fit(X, FIELD).scalar_potential(X)
    with pytest.raises(ValueError, match="3 factors for 9 atoms"):
        OperatorMeasure(MU.take([0, 1, 2]), np.ones((3, 2, 1))).lift(MU)


# --- from one method to another -------------------------------------------------------------------


def test_frequencies_of_the_margin_game_are_candidates_of_boosting():
    game = MarginGame(n_rounds=6).learn(Gaussian(0.5).sample(50, 2, 0), X, LABELS == "up", 0)
    model = GBRFF1Classifier(prior=game.measure, n_rounds=20, random_state=0)
    model.fit(X, LABELS)
    used = model.expansion_.frequencies
    known = np.abs(used[:, None] - game.measure.frequencies[None]).max(axis=2).min(axis=1)
    assert known.max() == 0
    assert model.score(X, LABELS) > 0.9


def test_a_posterior_over_frequencies_is_the_prior_of_a_field():
    features = SpectralFeatures(
        Gaussian(0.5), PacBayes(), n_candidates=300, n_components=60, target="values"
    )
    learned = features.set_params(random_state=0).fit(X, FIELD).measure_
    model = OperatorRidge(CurlFree(learned)).fit(X, FIELD)
    assert model.kernel_.prior is learned
    np.testing.assert_allclose(model.curl(X), 0, atol=1e-8)
    assert model.score(X, FIELD) > 0.95


def test_a_descended_measure_gives_landmarks_and_support_vectors():
    learner = JointDescent(n_epochs=5)
    learned = SpectralFeatures(Gaussian(0.5), learner, n_components=20, random_state=0)
    learned = learned.fit(X, LABELS).measure_
    landmarks = LandmarkFeatures(learned, n_landmarks=20, similarity="exact", random_state=0)
    similar = landmarks.fit(X, LABELS)
    np.testing.assert_allclose(
        similar.transform(X), learned.kernel(X, similar.landmarks_), atol=1e-12
    )
    assert SVC(kernel=learned.as_kernel()).fit(X, LABELS).score(X, LABELS) > 0.9


def test_products_with_a_learned_measure_are_learned():
    by_hand = FourierMeasure(np.ones((1, 2)), np.ones(1))
    learned = replace(by_hand, learned=True)
    for product in (by_hand * learned, learned * by_hand, 2 * learned, by_hand + learned):
        assert product.learned
    assert not (by_hand * by_hand).learned
    for prior in (Gaussian() + learned, Gaussian() * learned):
        assert prior.sample(3, 2, 0).learned


def test_no_bound_holds_with_the_measure_of_a_boosted_model_as_prior():
    boosted = GBRFF2Classifier(n_rounds=3, random_state=0).fit(X, LABELS)
    features = SpectralFeatures(boosted.measure_, PacBayes(), random_state=0).fit(X, LABELS)
    bound = features.alignment_bound()
    assert not bound.valid
    assert "the measure given as prior was learned" in bound.reason
