"""Uses of a prior, a loss and an operator-valued kernel: everything that supports those of the package."""

import numpy as np
import pytest
from export_samples import assert_says_the_same
from sklearn.base import clone

from bochner import (
    CustomKernel,
    EarlyStopping,
    FourierBoostingRegressor,
    KernelMachine,
    LandmarkFeatures,
    OperatorKernelRidge,
    OperatorRidge,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
)
from bochner.export import to_onnx
from bochner.learners import JointDescent, MarginGame, PacBayes, PacBayesLangevin
from bochner.operators import CurlFree, DivergenceFree
from bochner.testing import check_loss, check_operator_kernel, check_prior

X = np.random.default_rng(0).uniform(-2, 2, size=(60, 2))
Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1])])


def use_prior_everywhere(prior):
    check_prior(prior.resolved(X))
    assert SpectralRidge(SpectralFeatures(prior, random_state=0)).fit(X, Y).score(X, Y) > 0.9
    machine = KernelMachine(prior).fit(X, Y)
    moved = [machine.predict(X + [step, 0]) for step in (1e-5, -1e-5)]
    slopes = machine.jacobian(X)[:, :, 0]
    np.testing.assert_allclose(slopes, (moved[0] - moved[1]) / 2e-5, atol=1e-5)
    assert SpectralRegressor(prior, random_state=0).fit(X, Y).score(X, Y) > 0.9  # evidence
    for similarity in ("exact", "learned"):
        landmarks = LandmarkFeatures(prior, n_landmarks=5, similarity=similarity, random_state=0)
        assert landmarks.fit(X, X[:, 0] > 0).transform(X).shape == (60, 5)
    for learner in (PacBayes(), PacBayesLangevin(prior=prior), MarginGame(), JointDescent()):
        features = SpectralFeatures(
            prior, learner, n_candidates=30, n_components=10, random_state=0
        )
        assert np.all(np.isfinite(features.fit(X, X[:, 0] > 0).transform(X)))
    use_kernel_everywhere(CurlFree(prior))
    use_kernel_everywhere(DivergenceFree(prior), np.column_stack([-X[:, 1], X[:, 0]]))
    signature = CustomKernel(
        prior.resolved(X), signature=lambda d: np.exp(-(d**2).sum(1))[:, None, None]
    )
    assert signature.sample(50, 2, 0).n_outputs == 1
    assert_exported(machine)


def use_kernel_everywhere(kernel, targets=X):
    check_operator_kernel(kernel.resolved(X), n_features=2)
    for model in (OperatorRidge(kernel, random_state=0), OperatorKernelRidge(kernel)):
        assert model.fit(X, targets).score(X, targets) > 0.9
        assert_exported(model)


def use_loss_everywhere(loss, lower):
    """Regress with a loss whose predictions are above about 70 % of the targets, and a lower one."""
    check_loss(loss)
    rng = np.random.default_rng(0)
    rows, noise = rng.normal(size=(400, 2)), rng.normal(size=400)
    y = 100 * np.sin(2 * rows[:, 0]) + 30 * noise
    stopping = EarlyStopping(fraction=0.25, patience=5)
    upper = FourierBoostingRegressor(loss=loss, stopping=stopping, random_state=0)
    upper = clone(upper).fit(rows, y)
    assert upper.get_params()["loss"] == loss
    assert upper.n_rounds_ < 300
    *_, last = upper.staged_predict(rows)
    predicted = upper.predict(rows)
    np.testing.assert_allclose(last, predicted)
    below = clone(upper).set_params(loss=lower).fit(rows, y).predict(rows)
    assert np.mean(below < predicted) > 0.9
    assert np.mean(y < predicted) == pytest.approx(0.7, abs=0.1)
    pytest.importorskip("onnxruntime")
    assert_says_the_same(to_onnx(upper, X=rows), upper, rows, np.float32)


def assert_exported(model):
    pytest.importorskip("onnxruntime")
    to_onnx(model, X=X, dtype=np.float64)  # compares the graph with the model
