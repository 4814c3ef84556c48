"""An expectile loss defined by the user: checked, boosted, stopped early, exported, cloned."""

from dataclasses import dataclass

import numpy as np
import pytest
from export_samples import assert_says_the_same
from sklearn.base import clone

from bochner import EarlyStopping, FourierBoostingRegressor, export, losses, testing


@dataclass(frozen=True)
class Expectile(losses.Loss):
    level: float
    of_residuals = True

    def values(self, targets, scores):
        return np.sum(self.gradient(targets, scores) * (scores - targets) / 2, axis=1)

    def derivatives(self, targets, scores):
        slopes = np.where(targets > scores, self.level, 1 - self.level).astype(scores.dtype)
        return slopes * (scores - targets), slopes

    def start(self, targets, weights):
        best = np.average(targets, axis=0, weights=weights)
        for _ in range(30):
            slopes = self.derivatives(targets, np.tile(best, (len(targets), 1)))[1]
            best = np.average(targets, axis=0, weights=weights[:, None] * slopes)
        return best


def test_an_own_loss_works_wherever_a_loss_of_bochner_does():
    testing.check_loss(Expectile(0.8))
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(400, 2)), rng.normal(size=400)
    y = 100 * np.sin(2 * X[:, 0]) + 30 * noise
    stopping = EarlyStopping(fraction=0.25, patience=5)
    upper = FourierBoostingRegressor(loss=Expectile(0.8), stopping=stopping, random_state=0)
    upper = clone(upper).fit(X, y)
    assert upper.get_params()["loss"] == Expectile(0.8)
    assert upper.n_rounds_ < 300
    *_, last = upper.staged_predict(X)
    np.testing.assert_allclose(last, upper.predict(X))
    pytest.importorskip("onnxruntime")
    assert_says_the_same(export.to_onnx(upper, X=X), upper, X, np.float32)
    lower = clone(upper).set_params(loss=Expectile(0.2)).fit(X, y)
    assert np.mean(lower.predict(X) < upper.predict(X)) > 0.9
    assert np.mean(y < upper.predict(X)) == pytest.approx(0.7, abs=0.1)
