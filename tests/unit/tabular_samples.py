"""Data and quick models for the tests of the tabular models."""

import numpy as np
import pytest

from bochner import Anova, Evidence
from bochner.data.targets import Values
from bochner.learners.evidence import LearnedPrior
from bochner.tabular import learning, waves
from bochner.tabular.preparation import PreparedData
from bochner.tabular.solving import learned_gram

pd = pytest.importorskip("pandas")
QUICK = Evidence(n_rows=150, n_iterations=6, standardize=False)
LEARNED = LearnedPrior(Anova(weight=[1.0, 0.5, 0.2]), 0.05, np.full(3, 0.3), 0.0, 0)


@pytest.fixture
def few_waves(monkeypatch):
    """Use few waves and epochs, for tests in which two fits of many rows are compared."""
    monkeypatch.setattr(waves, "_FEW_WAVES", 32)
    monkeypatch.setattr(waves, "_EPOCHS", (2, 2))


@pytest.fixture
def short_choice_of_ranks(monkeypatch):
    """Choose between numbers and ranks by few rows and steps, for tests of something else."""
    monkeypatch.setattr(
        learning, "_RANK_EVIDENCE", Evidence(n_rows=60, n_iterations=2, standardize=False)
    )


def regression(n=120, d=4, seed=0, noise=0.1):
    """Waves and a product of two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n)


def table(n=200, seed=0):
    """A frame of a number, a category, a boolean and a date, with missing values, and a target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], size=n),
            "flag": rng.random(n) < 0.3,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    y = frame["size"] + 2 * (frame["kind"] == "b") - frame["flag"] + 0.1 * rng.normal(size=n)
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "kind"] = None
    return frame, y.to_numpy()


def problem(n=40, weighted=False, seed=0):
    """Two outputs of three prepared columns."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(Z[:, 0]), Z[:, 1] ** 2]) + 0.1 * rng.normal(size=(n, 2))
    counts = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    costs = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    return prepared_values(Z, Y, counts * costs, counts)


def prepared_values(Z, Y, weights=None, counts=None):
    """Rows Z in memory with values Y."""
    return PreparedData(Z, Values(Y), np.ones(len(Z)) if weights is None else weights, counts)


def refit(parts, learned, ridge, weights):
    """The ridge with a free intercept by one big linear system; only for tests."""
    n = len(parts.Z)
    K = learned_gram(learned, parts.Z) + np.diag(ridge / weights)
    whole = np.block([[K, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(
        whole, np.vstack([parts.outputs, np.zeros((1, parts.outputs.shape[1]))])
    )
    return solved[:-1], solved[-1]
