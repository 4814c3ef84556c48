"""Choosing beta, radius and D on validation rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import bochner.features
from bochner import (
    Gaussian,
    LandmarkFeatures,
    OptimalAlignment,
    PacBayes,
    SpectralFeatures,
    tune_on_validation,
)


@pytest.fixture
def parts(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4))
    y = np.sin(2 * X[:, 0]) > 0
    return X[:200], y[:200], X[200:], y[200:]


def test_the_best_of_the_grid_is_returned_fitted_from_one_pass(parts, monkeypatch, seed):
    passes = []
    real = bochner.features.spectral.alignment_sums
    monkeypatch.setattr(
        bochner.features.spectral, "alignment_sums", lambda *a: passes.append(1) or real(*a)
    )
    features = SpectralFeatures(Gaussian(0.5), PacBayes(), n_candidates=300, random_state=seed)
    learners = [PacBayes(0.1), PacBayes(10.0), OptimalAlignment(radius=1.0)]
    predictors = [LogisticRegression(C=0.1), LogisticRegression(C=10)]
    tuned = tune_on_validation(
        features, predictors, {"learner": learners, "n_components": [4, 16]}, *parts
    )
    assert len(passes) == 1
    assert len(tuned.table) == 12
    assert tuned.score == max(row["score"] for row in tuned.table)
    assert tuned.model.score(parts[2], parts[3]) == tuned.score
    first = next(row for row in tuned.table if row["score"] == tuned.score)
    assert tuned.parameters == {k: v for k, v in first.items() if k != "score"}
    assert not hasattr(features, "measure_")


def test_landmarks_are_tuned_the_same_way(parts, seed):
    features = LandmarkFeatures(Gaussian(0.5), n_landmarks=10, n_components=32, random_state=seed)
    tuned = tune_on_validation(
        features,
        LinearSVC(),
        {"learner": [PacBayes(0.1), PacBayes(1.0), PacBayes(10.0)], "n_components": [8, 32]},
        *parts,
    )
    assert tuned.model[0].transform(parts[2]).shape == (100, 10)
    assert set(tuned.parameters) == {"learner", "n_components", "predictor"}
    with pytest.raises(ValueError, match="grid"):
        tune_on_validation(features, LinearSVC(), {}, *parts)
