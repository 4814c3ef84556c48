"""Conformance check for learners of your own."""

import pickle
from typing import Any

import numpy as np


def check_learner(
    learner: Any, prior: Any = None, X: Any = None, y: Any = None, *, atol: float = 1e-8
) -> None:
    """Check that a learner obeys the laws of bochner's learners.

    - ``clone``, ``get_params`` and ``pickle`` work, and ``learn`` changes neither the learner nor
      its arguments.
    - ``learn`` returns a ``Learned`` with non-negative, finite weights, not all zero.
    - The same seed gives the same measure.
    - Rows in short blocks, in a memory map and on Dask give the same kernel up to ``atol``.
    - A row of weight h counts as h rows, unless the learner refuses weights by an error.
    - ``SpectralFeatures(prior, learner)`` maps rows to the features of the learned measure.

    Parameters
    ----------
    learner : Learner
        A subclass of ``bochner.learners.Learner`` with its method ``_learn``.
    prior : SpectralPrior, default ``Gaussian(gamma=0.5)``
        Prior of the starting measure.
    X : array (n_samples, n_features), default None
        Rows; None draws 60 rows with three columns.
    y : array (n_samples,), default None
        Labels or values; None is two classes. Give it together with X.
    atol : float, default 1e-8
        Largest accepted difference of two kernels that should be equal.

    Raises
    ------
    AssertionError
        If a law does not hold; the message names it.

    Examples
    --------
    >>> from bochner import PacBayes
    >>> check_learner(PacBayes(beta=2.0))
    """
    from ..data.placements import placements
    from ..learners import Learner
    from ..priors import Gaussian

    _require(isinstance(learner, Learner), f"{learner!r} is not a subclass of Learner")
    prior = Gaussian(0.5) if prior is None else prior
    if X is None:
        X = np.random.default_rng(0).normal(size=(60, 3))
        y = X[:, 0] * X[:, 1] > 0.1
    X, y = np.asarray(X), np.asarray(y)
    start = prior.sample(20, X.shape[1], np.random.default_rng(1))

    def kernel(rows, target, weights=None):
        learned = learner.learn(start, rows, target, np.random.default_rng(2), weights=weights)
        return learned.measure.kernel(X)

    def require_equal(one, other, what):
        difference = float(np.abs(one - other).max())
        _require(difference <= atol, f"{what} changes the kernel by {difference:.2g}")

    _check_parameter_object(learner)
    expected = _check_learned(learner, start, X, y).kernel(X)
    require_equal(kernel(X, y), expected, "learning again with the same seed")
    for place, rows in placements(X):
        require_equal(kernel(rows, y), expected, place)
    counts = np.arange(len(X)) % 4
    try:
        weighted = kernel(X, y, counts)
    except (TypeError, ValueError, NotImplementedError):  # the learner refuses weights
        pass
    else:
        repeated = np.repeat(np.arange(len(X)), counts)
        require_equal(weighted, kernel(X[repeated], y[repeated]), "weights instead of repetitions")
    _check_features(learner, prior, X, y, atol)


def _require(condition, fault):
    if not condition:
        raise AssertionError(f"{fault}.")


def _check_parameter_object(learner):
    from sklearn.base import clone

    shown = repr(learner)
    _require(repr(clone(learner)) == shown, f"clone changes the parameters of {shown}")
    same = learner.set_params(**learner.get_params(deep=False))
    _require(same is learner, "set_params does not return the learner")
    _require(repr(pickle.loads(pickle.dumps(learner))) == shown, f"pickle changes {shown}")


def _check_learned(learner, start, X, y):
    """Learn once; check the result and that no argument was changed. Return the measure."""
    from ..learners import Learned

    arguments = (start.frequencies, start.weights, X, y)
    shown, copies = repr(vars(learner)), [argument.copy() for argument in arguments]
    learned = learner.learn(start, X, y, np.random.default_rng(2))
    _require(repr(vars(learner)) == shown, "learn changes the learner")
    same = [np.array_equal(*pair) for pair in zip(arguments, copies)]
    _require(all(same), "learn changes its arguments")
    _require(isinstance(learned, Learned), f"learn returns {type(learned).__name__}, not Learned")
    weights = learned.measure.weights
    _require(np.all(np.isfinite(weights)) and np.all(weights >= 0), "learned weights are negative")
    _require(np.any(weights > 0), "all learned weights are zero")
    return learned.measure


def _check_features(learner, prior, X, y, atol):
    from ..features import SpectralFeatures

    features = SpectralFeatures(prior, learner, n_components=10, random_state=0)
    waves = features.fit(X, y).transform(X)
    difference = float(np.abs(waves @ waves.T - features.measure_.kernel(X)).max())
    _require(difference <= max(atol, 1e-8), "features do not reproduce the learned kernel")
