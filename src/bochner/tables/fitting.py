"""A model for a table: chosen on the training part, judged on a part it has not seen, rivals beside it."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifierCV, RidgeCV
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import gen_batches

from ..certificates import certify
from ..features import SpectralFeatures
from ..learners import JointDescent, PacBayes
from ..priors import Gaussian
from .certificate import interval_certificate
from .columns import Columns, inputs, labels_of, roles, split_target, task_of
from .reading import TableError

MIN_ROWS = 20
_MIN_CLASS = 4
_HELD_OUT = 0.25
_BANDWIDTHS = (0.1, 0.4, 1.6, 6.4)  # γ times the number of columns
_STRENGTHS = np.logspace(-2, 2, 5)
_SELECTION_ROWS = 3000
_MAX_FIT_ROWS = 50_000
_BLOCK_ROWS = 20_000
_SVM_ROWS = 5000
_IMPORTANCE_ROWS = 1000
_POINTS_SHOWN = 400


@dataclass(frozen=True)
class TableModel:
    """A fitted pipeline, the columns it takes, and all facts about how it was made and judged (plain JSON values)."""

    pipeline: Pipeline
    columns: Columns
    facts: dict[str, Any]

    def predict(self, frame: Any) -> tuple[np.ndarray, list[str]]:
        """Predictions for the rows of a table, and notes."""
        X, notes = inputs(frame, self.columns)
        return self._by_blocks(self.pipeline.predict, X), notes

    def predict_proba(self, frame: Any) -> np.ndarray:
        """Class probabilities in the order of ``facts["classes"]``."""
        if self.facts["task"] != "classification":
            raise TableError("Probabilities are for classification; this model predicts numbers.")
        return self._by_blocks(self.pipeline.predict_proba, inputs(frame, self.columns)[0])

    @staticmethod
    def _by_blocks(method, X):
        """Block by block, so that the features of a long table never are in memory all at once."""
        return np.concatenate([method(X.iloc[rows]) for rows in gen_batches(len(X), _BLOCK_ROWS)])


def fit_table(frame: Any, target: str, task: str = "auto", seed: int = 0) -> TableModel:
    """Fit a Fourier-feature model to predict column ``target``.

    A quarter of the rows is held out.  Bandwidth and ridge are chosen on the rest, and the model that is returned is fitted on
    the rest only: the certificate is a statement about exactly this model.
    """
    rest, values, n_dropped = split_target(frame, target)
    guessed, why = task_of(values)
    task = guessed if task == "auto" else task
    if len(values) < MIN_ROWS:
        raise TableError(
            f"The table has {len(values)} row(s) with a target; at least {MIN_ROWS} are needed to fit and to judge."
        )
    classify = task == "classification"
    y = _classes(values, target) if classify else _numbers(values, target)
    notes = []
    if classify:
        classes, counts = np.unique(y, return_counts=True)
        rare = classes[counts < _MIN_CLASS]  # too small to fit, choose and judge with
        notes = [f"Class {str(label)!r} has fewer than {_MIN_CLASS} rows, which are left out." for label in rare]
        rest, y = rest.loc[~np.isin(y, rare)], y[~np.isin(y, rare)]
    train, test = train_test_split(
        np.arange(len(y)), test_size=_HELD_OUT, random_state=seed, stratify=y if classify else None
    )
    if len(train) > _MAX_FIT_ROWS:
        notes.append(
            f"Fitted on {_MAX_FIT_ROWS} of the {len(train)} rows for it, drawn at random, to keep within memory."
        )
        train = train[:_MAX_FIT_ROWS]
    columns = roles(rest.iloc[train])
    X, input_notes = inputs(rest, columns)
    X_train, X_test, y_train, y_test = X.iloc[train], X.iloc[test], y[train], y[test]
    started = time.perf_counter()
    pipeline, choice = _chosen(X_train, y_train, columns, classify, seed)
    judged = {"bochner": _judged(pipeline, X_test, y_test, classify, started)}
    for name, baseline in _baselines(columns, len(y_train), classify, seed).items():
        started = time.perf_counter()
        judged[name] = _judged(baseline.fit(X_train, y_train), X_test, y_test, classify, started)
    facts = {
        "target": target,
        "task": task,
        "why_task": f"{target!r}: {why}" if task == guessed else "asked for",
        "n_rows": len(y),
        "n_train": len(train),
        "n_test": len(test),
        "n_dropped": n_dropped,
        "numeric": columns.numeric,
        "categorical": columns.categorical,
        "left_out": columns.left_out,
        "notes": notes + input_notes,
        "choice": choice,
        "judged": judged,
        "importance": _importance(pipeline, X_test, y_test, seed),
    } | _details(pipeline, X_test, y_test, classify)
    return TableModel(pipeline, columns, facts)


def _numbers(values: Any, target: str) -> np.ndarray:
    try:
        y = values.to_numpy(dtype=np.float64)
    except (ValueError, TypeError):
        raise TableError(
            f"Column {target!r} holds text, so it cannot be a regression target; write --task classification."
        ) from None
    if not np.all(np.isfinite(y)):
        raise TableError(f"Column {target!r} holds infinite values.")
    return y


def _classes(values: Any, target: str) -> np.ndarray:
    y = labels_of(values)
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise TableError(f"Column {target!r} has one class only ({str(classes[0])!r}): there is nothing to tell apart.")
    if np.sum(counts >= _MIN_CLASS) < 2:
        raise TableError(
            f"Column {target!r} has {len(classes)} classes in {len(y)} rows, too many to learn: at least two classes need "
            f"{_MIN_CLASS} rows each. If the target is a number, write --task regression."
        )
    return y


def preprocessing(columns: Columns) -> ColumnTransformer:
    """Numbers: median for missing values (with an indicator), then standardized.  Categories: one-hot, rare ones together."""
    numeric = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    categorical = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False)
    return ColumnTransformer([("numeric", numeric, columns.numeric), ("categorical", categorical, columns.categorical)])


def _chosen(X, y, columns, classify, seed):
    """The pipeline fitted on (X, y), and how it was chosen, on at most a few thousand of the rows.

    The bandwidth by closed-form leave-one-out of a ridge, the penalty and the learner by threefold cross-validation:
    leave-one-out cannot see that a learner has used the labels.
    """
    rows = np.random.default_rng(seed).permutation(len(y))[:_SELECTION_ROWS]
    if classify:  # three rows of each class where the sample has fewer, for threefold selection
        extra = [np.flatnonzero(y == label)[:3] for label in np.unique(y) if np.sum(y[rows] == label) < 3]
        rows = np.unique(np.concatenate([rows, *extra]))
    Z, t = preprocessing(columns).fit(X).transform(X.iloc[rows]), y[rows]
    n_columns, n_components = Z.shape[1], 256 if len(y) < 5000 else 512
    shared = {"n_components": n_components, "n_columns": n_columns, "seed": seed}
    shared["target"] = "labels" if classify else "values"  # not to be guessed: whole numbers may be either
    ridge = (RidgeClassifierCV if classify else RidgeCV)(alphas=_STRENGTHS)
    errors = {}
    for bandwidth in _BANDWIDTHS:
        features = _features(bandwidth / n_columns, None, **shared)
        errors[bandwidth / n_columns] = -float(clone(ridge).fit(features.fit_transform(Z), t).best_score_)
    gamma = min(errors, key=lambda value: errors[value])

    def scored(learner, strength):
        features = _features(gamma, learner, **shared)
        pipeline = make_pipeline(features, _head(strength, classify, max_iter=300))
        scoring = "neg_log_loss" if classify else "neg_mean_squared_error"
        return -float(np.mean(cross_val_score(pipeline, Z, t, cv=3, scoring=scoring)))

    losses = {("none", strength): scored(None, strength) for strength in _STRENGTHS}
    near = min(losses, key=lambda key: losses[key])[1]
    descent = JointDescent(loss="log_loss" if classify else "squared")
    learners = {"PacBayes": PacBayes(beta="bound"), "JointDescent": descent}
    for name, learner in learners.items():
        for strength in (near, 10 * near):  # learned frequencies fit more closely, so they may need a larger penalty
            losses[name, strength] = scored(learner, strength)
    name, strength = min(losses, key=lambda key: losses[key])
    features = _features(gamma, learners.get(name), **shared)
    head = _head(strength, classify, max_iter=1000)
    pipeline = Pipeline([("preprocessing", preprocessing(columns)), ("features", features), ("head", head)])
    choice = {
        "gamma": gamma,
        "leave-one-out squared error by gamma": {f"{value:.4g}": error for value, error in errors.items()},
        "learner": name,
        "penalty": float(strength),
        "threefold loss by learner and penalty": {f"{who} {value:.4g}": loss for (who, value), loss in losses.items()},
        "frequencies": n_components,
    }
    return pipeline.fit(X, y), choice


def _head(strength, classify, max_iter):
    return LogisticRegression(C=float(1 / strength), max_iter=max_iter) if classify else Ridge(alpha=float(strength))


def _features(gamma, learner, n_components, n_columns, target, seed):
    """The columns themselves, scaled to norm one on average, beside the Fourier features, whose norm is one."""
    fourier = SpectralFeatures(
        Gaussian(gamma=gamma),
        learner,
        n_components=n_components,
        # Reweighting chooses among candidates; descent moves the frequencies themselves.
        n_candidates=4 * n_components if isinstance(learner, PacBayes) else None,
        sampling="orthogonal",
        target=target,
        random_state=seed,
    )
    linear = float(1 / np.sqrt(n_columns))
    return FeatureUnion([("linear", "passthrough"), ("fourier", fourier)], transformer_weights={"linear": linear})


def _baselines(columns, n_train, classify, seed):
    linear = LogisticRegression(max_iter=1000) if classify else Ridge()
    trees = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    steps: dict[str, tuple[Any, ...]] = {"linear": (linear,)}
    if n_train <= _SVM_ROWS:
        steps["RBF-SVM"] = (SVC() if classify else SVR(),)
    else:
        steps["Nyström + linear"] = (Nystroem(n_components=300, random_state=seed), linear)
    steps["HistGradientBoosting"] = (trees(random_state=seed),)
    steps["constant"] = (DummyClassifier() if classify else DummyRegressor(),)
    return {name: make_pipeline(preprocessing(columns), *models) for name, models in steps.items()}


def _judged(model, X, y, classify, started):
    """Held-out quality with its certificate, and the seconds since ``started``, when the fit began."""
    seconds = {"seconds": round(time.perf_counter() - started, 2)}
    if classify:
        bound = certify(model, X, y)
        return {"error": bound.empirical, "certified": bound.value, "confidence": bound.confidence} | seconds
    residuals = np.abs(y - model.predict(X))
    squares, total = float(np.sum(residuals**2)), float(np.sum((y - y.mean()) ** 2))
    quality = {"rmse": float(np.sqrt(squares / len(y))), "r2": 1 - squares / total if total > 0 else None}
    return quality | interval_certificate(residuals) | seconds


def _importance(pipeline, X, y, seed):
    """How much the held-out score falls when a column is shuffled, largest first."""
    X, y = X[:_IMPORTANCE_ROWS], y[:_IMPORTANCE_ROWS]
    found = permutation_importance(pipeline, X, y, n_repeats=3, random_state=seed)
    order = np.argsort(-found.importances_mean)
    return {X.columns[k]: [float(found.importances_mean[k]), float(found.importances_std[k])] for k in order}


def _details(pipeline, X, y, classify):
    predicted = pipeline.predict(X)
    if classify:
        classes = [str(label) for label in pipeline.classes_]
        return {"classes": classes, "confusion": confusion_matrix(y, predicted, labels=classes).tolist()}
    return {"points": np.column_stack([y, predicted])[:_POINTS_SHOWN].tolist()}
