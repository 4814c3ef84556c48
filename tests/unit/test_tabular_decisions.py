"""decision_function of SpectralClassifier: scikit-learn's convention, from the calibrated
probabilities.
"""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, roc_auc_score
from tabular_samples import QUICK, regression, table

from bochner import Anova, SpectralClassifier, open_rows
from bochner.tabular.blending import ProbabilityLink

X, SIGNAL = regression(150)
TWO = np.where(SIGNAL > 0.2, "yes", "no")
THREE = np.array(["low", "middle", "upper"])[np.digitize(SIGNAL, [-0.5, 0.5])]


def fitted(rows, y):
    return SpectralClassifier(Anova(), QUICK, random_state=0).fit(rows, y)


@pytest.fixture(scope="module")
def two():
    return fitted(X, TWO)


@pytest.fixture(scope="module")
def three():
    return fitted(X, THREE)


def test_two_classes_have_the_log_odds_of_the_second(two):
    probabilities, decisions = two.predict_proba(X), two.decision_function(X)
    assert decisions.shape == (150,)
    np.testing.assert_allclose(
        decisions, np.log(probabilities[:, 1] / probabilities[:, 0]), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(two.classes_[(decisions > 0).astype(int)], two.predict(X))
    assert 0 < (decisions > 0).mean() < 1


def test_several_classes_have_their_log_probabilities(three):
    decisions = three.decision_function(X)
    assert decisions.shape == (150, 3)
    np.testing.assert_allclose(np.exp(decisions), three.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(three.classes_[decisions.argmax(axis=1)], three.predict(X))


def test_log_odds_are_finite_if_probabilities_round_to_zero_and_one():
    link = ProbabilityLink(slope=50.0, shifts=np.zeros(2), floor=1e-3)
    logs = link.log_probabilities(np.array([[-1.0, 2.0], [1.0, 1.0]]))
    assert link.probabilities(np.array([[-1.0, 2.0]]))[0, 1] == 1.0
    np.testing.assert_allclose(logs[:, 1] - logs[:, 0], [50 * np.log(2000), 0.0])


def test_scorers_of_scikit_learn_use_it(two, three):
    expected = roc_auc_score(TWO == "yes", two.predict_proba(X)[:, 1])
    assert get_scorer("roc_auc")(two, X, TWO) == pytest.approx(expected)
    assert get_scorer("roc_auc_ovr")(three, X, THREE) > 0.8


def test_frames_files_and_float32_rows_say_the_same(two, tmp_path):
    np.save(tmp_path / "X.npy", X)
    expected = two.decision_function(X)
    np.testing.assert_allclose(
        two.decision_function(open_rows(tmp_path / "X.npy")), expected, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        two.decision_function(X.astype(np.float32)), expected, rtol=1e-3, atol=1e-3
    )
    frame, y = table()
    model = fitted(frame, y > 0)
    odds = model.predict_proba(frame)
    np.testing.assert_allclose(
        model.decision_function(frame), np.log(odds[:, 1] / odds[:, 0]), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_rows_of_dask_stay_lazy_and_say_the_same(y, two, three):
    da = pytest.importorskip("dask.array")
    model = two if y is TWO else three
    answer, expected = (
        model.decision_function(da.from_array(X, chunks=(40, 4))),
        model.decision_function(X),
    )
    assert isinstance(answer, da.Array)
    assert answer.shape == expected.shape
    np.testing.assert_allclose(answer.compute(), expected, rtol=1e-5, atol=1e-5)


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        SpectralClassifier().decision_function(X)
