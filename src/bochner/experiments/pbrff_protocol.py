"""What the experiments of Letarte et al. 2019 share: splits, bandwidths, the linear SVM and its validation."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from ..datasets import load

DATASETS = ("breast", "ads_dedup", "farm", "mnist17", "mnist49", "mnist56", "adult")
GAMMAS = [10.0**k for k in range(-7, 3)]

COSTS = [10.0**k for k in range(-5, 5)]

# ``best_gamma`` of the authors' own split (of adult: of 4000 of its rows), used for all seeds and all methods compared.  With it
# the SVM has the paper's test error to the last digit: breast 4.90, farm 11.58, mnist17 0.34, mnist49 1.16, mnist56 0.55.
FOUND_GAMMAS = {
    "ads_dedup": 1e-2,
    "adult": 1e-7,
    "breast": 1e-5,
    "farm": 1e-3,
    "mnist17": 1e-3,
    "mnist49": 1e-2,
    "mnist56": 1e-2,
}


@dataclass
class Split:
    """Rows for training, validation and test with labels ±1."""

    train: tuple[Any, np.ndarray]
    valid: tuple[Any, np.ndarray]
    test: tuple[Any, np.ndarray]


def split(name: str, seed: int, largest: int | None = None) -> Split:
    """25 % test (adult: the official part), 20 % of the rest for validation; seed 0 is the authors' own split.

    ``largest`` limits the rows for training and, to a quarter of it, for validation.
    """
    bunch = load(name)
    X = bunch.data if sp.issparse(bunch.data) else np.asarray(bunch.data, dtype=np.float32)
    y = np.asarray(bunch.y_binary)
    state = np.random.RandomState(42 + seed)
    rows = np.arange(X.shape[0])
    if name == "adult":
        train, test = rows[: bunch.n_train], rows[bunch.n_train :]
    else:
        train, test = train_test_split(rows, test_size=0.25, random_state=state)
    train, valid = train_test_split(train, test_size=0.2, random_state=state)
    if largest is not None:
        train, valid = train[:largest], valid[: max(largest // 4, 1)]
    return Split(*((X[part], y[part]) for part in (train, valid, test)))


def best_gamma(parts: Split, costs: list[float] = COSTS) -> float:
    """The γ of the RBF SVM with the best validation accuracy; of equals the one with the smallest C, then the smallest γ."""
    train, valid = (
        _squared_distances(parts.train[0], parts.train[0]),
        _squared_distances(parts.valid[0], parts.train[0]),
    )
    scores = {}
    for gamma in GAMMAS:
        gram, across = np.exp(-gamma * train), np.exp(-gamma * valid)
        for C in costs:
            scores[C, gamma] = _svm(C).fit(gram, parts.train[1]).score(across, parts.valid[1])
    return max(scores, key=lambda pair: (scores[pair], -pair[0], -pair[1]))[1]


def gamma_of(name: str, parts: Split) -> float:
    """The bandwidth found before, or found now."""
    return FOUND_GAMMAS[name] if name in FOUND_GAMMAS else best_gamma(parts)


def svm_error(parts: Split, gamma: float, costs: Sequence[float]) -> float:
    """Test error in percent of the RBF SVM, C chosen on the validation rows."""
    X, y = parts.train
    gram, across = (np.exp(-gamma * _squared_distances(rows, X)) for rows in (X, parts.valid[0]))
    models = [_svm(C).fit(gram, y) for C in sorted(costs)]
    best = max(models, key=lambda model: model.score(across, parts.valid[1]))
    wrong = 0
    for start in range(
        0, parts.test[0].shape[0], 2000
    ):  # a few rows at a time: adult has more of them than fit in memory
        rows = slice(start, start + 2000)
        similarities = np.exp(-gamma * _squared_distances(parts.test[0][rows], X))
        wrong += int(np.sum(best.predict(similarities) != parts.test[1][rows]))
    return 100 * wrong / parts.test[0].shape[0]


def _svm(C):
    # On a Gram matrix: computing the kernel anew for each C, as SVC(kernel="rbf") does, takes ten times as long.
    return SVC(C=C, kernel="precomputed", cache_size=500)


def _squared_distances(A, B):
    return euclidean_distances(A.astype(np.float64), B.astype(np.float64), squared=True)


class SquaredHingeSVM(ClassifierMixin, BaseEstimator):
    """The objective of scikit-learn's LinearSVC, ½‖(w, b)‖² + C Σ max(0, 1 − y f(x))², by Newton's method in the primal.

    For a few thousand columns this is faster than coordinate descent by one to two orders of magnitude, above all for
    large C, and exact.
    """

    def __init__(self, C: float = 1.0):
        self.C = C

    def fit(self, X: Any, y: Any, start: np.ndarray | None = None) -> Self:
        columns = np.column_stack([np.asarray(X, dtype=np.float64), np.ones(len(X))])
        weights = np.zeros(columns.shape[1]) if start is None else start
        margins = y * (columns @ weights)
        for _ in range(50):
            active = margins < 1
            held = columns[active]
            gradient = weights - 2 * self.C * (held.T @ (y[active] * (1 - margins[active])))
            if np.linalg.norm(gradient) <= 1e-6 * (1 + 2 * self.C * np.sqrt(len(y))):
                break
            step = -self._solve(held, gradient)
            change = y * (columns @ step)
            length, value = 1.0, self._objective(weights, margins)
            while self._objective(weights + length * step, margins + length * change) > value and length > 1e-6:
                length /= 2
            weights, margins = weights + length * step, margins + length * change
            if length <= 1e-6:
                break
        self.weights_ = weights
        self.classes_ = np.array([-1, 1])
        return self

    def _solve(self, held, gradient):
        """(I + 2C AᵀA)⁻¹ g, in the smaller of the two dimensions."""
        n_rows, n_columns = held.shape
        if n_rows < n_columns:
            inner = 2 * self.C * (held @ held.T)
            inner[np.diag_indices(n_rows)] += 1
            return gradient - 2 * self.C * (held.T @ cho_solve(cho_factor(inner), held @ gradient))
        normal = 2 * self.C * (held.T @ held)
        normal[np.diag_indices(n_columns)] += 1
        return cho_solve(cho_factor(normal), gradient)

    def _objective(self, weights, margins):
        return weights @ weights / 2 + self.C * np.sum(np.maximum(0, 1 - margins) ** 2)

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X, dtype=np.float64) @ self.weights_[:-1] + self.weights_[-1]

    def predict(self, X: Any) -> np.ndarray:
        return np.where(self.decision_function(X) > 0, 1, -1)


@dataclass
class Tried:
    """One setting of one method: its validation score and its errors in percent."""

    valid: float
    train_error: float
    test_error: float


class AuthorsSVM(LinearSVC):
    """The authors' linear learner: liblinear's dual solver, which they let stop after 1000 passes over the rows.

    For a large C on similarities that are all close to 1 that is far from the minimum; ``SquaredHingeSVM`` goes there.
    """

    def __init__(self, C: float = 1.0):
        super().__init__(C=C, dual=True, max_iter=1000, random_state=0)

    def fit(self, X: Any, y: Any, start: Any = None) -> Self:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return super().fit(np.asarray(X, dtype=np.float64), y)


def linear_svm(
    features: tuple[Any, ...], labels: Split, costs: tuple[float, ...], solver: type = SquaredHingeSVM
) -> Tried:
    """The linear SVM on features of the three parts, C by validation (of equals the smallest)."""
    best, start = None, None
    for C in sorted(costs):
        model = solver(C).fit(features[0], labels.train[1], start)
        start = getattr(model, "weights_", None)
        valid = model.score(features[1], labels.valid[1])
        if best is None or valid > best[0]:
            best = valid, model
    assert best is not None
    valid, model = best
    errors = [
        100 * (1 - model.score(block, part[1]))
        for block, part in ((features[0], labels.train), (features[2], labels.test))
    ]
    return Tried(valid, *errors)


def complete_sets(
    results: list[tuple[dict[str, Any], dict[str, Any]]], least: int = 5
) -> dict[str, list[dict[str, Any]]]:
    """The results of each data set that has ``least`` seeds; verdicts speak of these."""
    by_set: dict[str, list[dict[str, Any]]] = {}
    for case, result in results:
        by_set.setdefault(case["dataset"], []).append(result)
    return {name: of for name, of in by_set.items() if len(of) >= least}


def panels(results: list[tuple[dict[str, Any], dict[str, Any]]], draw: Any, x_label: str, y_label: str) -> Any:
    """A figure with one panel for each data set, drawn by ``draw(axis, its results)``, and one legend."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(case["dataset"] for case, _ in results))
    n_columns = min(4, len(names))
    n_rows = -(-len(names) // n_columns)
    chart, axes = plt.subplots(
        n_rows, n_columns, figsize=(3.4 * n_columns, 2.9 * n_rows), layout="constrained", squeeze=False
    )
    for axis, name in zip(axes.flat, names):
        draw(axis, [(case, result) for case, result in results if case["dataset"] == name])
        axis.set(title=name)
        axis.set_ylim(bottom=0)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    chart.supxlabel(x_label)
    chart.supylabel(y_label)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside upper center", ncols=6, fontsize="small")
    return chart
