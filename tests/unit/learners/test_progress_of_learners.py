"""On a terminal the learners show progress and results; in other places they are silent."""

import numpy as np
import pytest

from bochner import CandidatePeaks, Gaussian, JointDescent, MarginGame


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (MarginGame(n_rounds=3, peaks=CandidatePeaks()), "best margin about"),
        (JointDescent(n_epochs=3), "loss 0."),
    ],
)
@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(learner, words, terminal, monkeypatch):
    pytest.importorskip("rich")
    shown = []

    class Stream:
        def write(self, text):
            shown.append(text)
            return len(text)

        def flush(self):
            pass

        def isatty(self):
            return terminal

    monkeypatch.setattr("sys.stderr", Stream())
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    learner.learn(Gaussian().sample(10, 2, rng), X, np.sign(X[:, 0]), rng)
    assert (words in "".join(shown)) == terminal
