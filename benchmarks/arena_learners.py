"""Learners of the benchmark, the spaces of their tuning, and measured fits.

Each learner gets the raw columns and treats categories and missing values as its users would.
"""

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.model_selection import ParameterSampler, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

import bochner
from bochner import SpectralClassifier, SpectralRegressor
from bochner.tables.evaluate.baselines import catboost, histogram_trees, lightgbm

OURS = "bochner"
SMALLEST_SHARE = 1e-6  # a class to which a model gives less probability is given this much


def whole(low, high):
    """Return fifty whole numbers on a logarithmic scale, for a random search."""
    return np.geomspace(low, high, 50).round().astype(int).tolist()


def spectral(X, classify, seed, **parameters):
    build = SpectralClassifier if classify else SpectralRegressor
    return build(random_state=seed, n_jobs=1, **parameters)


def spectral_with_trees(X, classify, seed):
    return spectral(X, classify, seed, trees=True)


def catboost_on_one_thread(X, classify, seed):
    return catboost(X, classify, seed).set_params(model__thread_count=1)


def xgboost(X, classify, seed):
    from xgboost import XGBClassifier, XGBRegressor

    build = XGBClassifier if classify else XGBRegressor
    return build(enable_categorical=True, random_state=seed, n_jobs=1)


def coded_levels():
    """Return a step that makes numbers of the levels of categories; missing cells stay."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_column_transformer(
        (encoder, make_column_selector(dtype_include="category")), remainder="passthrough"
    )


def random_forest(X, classify, seed):
    build = RandomForestClassifier if classify else RandomForestRegressor
    return make_pipeline(coded_levels(), build(random_state=seed, n_jobs=1))


def explainable_boosting(X, classify, seed):
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    build = ExplainableBoostingClassifier if classify else ExplainableBoostingRegressor
    return build(random_state=seed, n_jobs=1)


def with_medians(model):
    """Return a network behind medians for missing numbers, which pytabkit does not accept."""
    medians = make_column_transformer(
        (
            SimpleImputer(strategy="median", keep_empty_features=True),
            make_column_selector(dtype_exclude="category"),
        ),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    return make_pipeline(medians.set_output(transform="pandas"), model)


def real_mlp(X, classify, seed):
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    build = RealMLP_TD_Classifier if classify else RealMLP_TD_Regressor
    return with_medians(build(device="cpu", n_threads=1, random_state=seed))


def recursive_features(X, classify, seed):
    from pytabkit import XRFM_D_Classifier, XRFM_D_Regressor

    build = XRFM_D_Classifier if classify else XRFM_D_Regressor
    return with_medians(build(device="cpu", n_threads=1, random_state=seed))


def tabpfn(X, classify, seed):
    from tabpfn import TabPFNClassifier

    return make_pipeline(coded_levels(), TabPFNClassifier(device="cpu", seed=seed))


# The ranges are those of the papers in docs/benchmarks.md. They stop trees early on a holdout; we
# search their number instead, so the smallest learning rates are left out.
CATBOOST_SPACE = {
    "iterations": whole(100, 1000),
    "learning_rate": loguniform(0.01, 0.5),
    "depth": randint(3, 11),
    "bagging_temperature": uniform(0, 1),
    "l2_leaf_reg": loguniform(1, 10),
    "leaf_estimation_iterations": randint(1, 11),
}
LIGHTGBM_SPACE = {
    "n_estimators": whole(100, 1000),
    "learning_rate": loguniform(0.01, 0.5),
    "num_leaves": whole(2, 1000),
    "min_child_samples": whole(1, 400),
    "min_child_weight": loguniform(1e-7, 150),
    "subsample": uniform(0.5, 0.5),
    "subsample_freq": [1],
    "colsample_bytree": uniform(0.5, 0.5),
    "reg_alpha": loguniform(1e-7, 7),
    "reg_lambda": loguniform(1e-7, 7),
}
XGBOOST_SPACE = {
    "n_estimators": whole(100, 1000),
    "learning_rate": loguniform(0.01, 0.5),
    "max_depth": randint(1, 12),
    "min_child_weight": whole(1, 100),
    "subsample": uniform(0.5, 0.5),
    "colsample_bytree": uniform(0.5, 0.5),
    "colsample_bylevel": uniform(0.5, 0.5),
    "gamma": loguniform(1e-8, 7),
    "reg_alpha": loguniform(1e-8, 100),
    "reg_lambda": loguniform(1, 4),
}
HISTOGRAM_SPACE = {
    "max_iter": whole(100, 1000),
    "learning_rate": loguniform(0.01, 0.5),
    "max_leaf_nodes": whole(5, 50),
    "max_depth": [None, None, None, 2, 3, 4],
    "min_samples_leaf": whole(5, 50),
    "l2_regularization": loguniform(1e-6, 10),
}
FOREST_SPACE = {
    "n_estimators": whole(100, 1000),
    "max_features": ["sqrt", "sqrt", "log2", None, *np.linspace(0.1, 0.9, 9).tolist()],
    "max_depth": [None] * 7 + [2, 3, 4],
    "min_samples_leaf": whole(1, 50),
    "bootstrap": [True, False],
}


@dataclass(frozen=True)
class Learner:
    """A learner: its model for a table, the modules that it needs, and the space of its tuning.

    ``checkpoint`` is a file in the folder of its first module, without which it would start a
    download. ``limits`` are the most training rows, columns and classes of a learner for classes.
    """

    build: Callable
    needs: tuple[str, ...] = ()
    space: dict | None = None
    checkpoint: str | None = None
    limits: tuple[int, int, int] | None = None

    @property
    def installed(self):
        found = [find_spec(name) for name in self.needs]
        if None in found or self.checkpoint is None:
            return None not in found
        return (Path(found[0].origin).parent / self.checkpoint).is_file()

    def accepts(self, X, y, classify):
        """Return whether the training rows are within the limits."""
        if self.limits is None:
            return True
        return classify and all(np.less_equal((*X.shape, len(np.unique(y))), self.limits))

    @property
    def version(self):
        names = {"interpret": "interpret-core", "sklearn": "scikit-learn"}
        texts = [f"{name} {version(names.get(name, name))}" for name in self.needs]
        return ", ".join(texts) or f"bochner {bochner.__version__}"


LEARNERS = {
    OURS: Learner(spectral),
    "bochner, trees": Learner(spectral_with_trees),
    "CatBoost": Learner(catboost_on_one_thread, ("catboost",), CATBOOST_SPACE),
    "LightGBM": Learner(lightgbm, ("lightgbm",), LIGHTGBM_SPACE),
    "XGBoost": Learner(xgboost, ("xgboost",), XGBOOST_SPACE),
    "HistGradientBoosting": Learner(histogram_trees, ("sklearn",), HISTOGRAM_SPACE),
    "random forest": Learner(random_forest, ("sklearn",), FOREST_SPACE),
    "EBM": Learner(explainable_boosting, ("interpret",)),
    "RealMLP": Learner(real_mlp, ("pytabkit",)),
    "xRFM": Learner(recursive_features, ("pytabkit", "xrfm")),
    "TabPFN v1": Learner(
        tabpfn,
        ("tabpfn",),
        checkpoint="models_diff/prior_diff_real_checkpoint_n_0_epoch_42.cpkt",
        limits=(1024, 100, 10),
    ),
}


def parameters_of(model):
    """Return the part of a model that has the parameters of its space."""
    return model[-1] if isinstance(model, Pipeline) else getattr(model, "model", model)


def fitted(learner, X, y, classify, seed, parameters):
    """Return a fitted model and its classes; learners get classes as whole numbers from zero."""
    classes, codes = np.unique(y, return_inverse=True) if classify else (None, y)
    model = learner.build(X, classify, seed)
    parameters_of(model).set_params(**parameters)
    return model.fit(X, codes), classes


def predictions(model, classes, X):
    """Return values, or probabilities above ``SMALLEST_SHARE``."""
    if classes is None:
        return np.asarray(model.predict(X), dtype=float).ravel()
    shares = np.maximum(np.asarray(model.predict_proba(X), dtype=float), SMALLEST_SHARE)
    return shares / shares.sum(axis=1, keepdims=True)


def scores(y, predicted, classes):
    """Return the scores of values, or of probabilities of ``classes``.

    Test rows of classes without training rows count as errors of accuracy only. AUC is the mean of
    one class against the others.
    """
    if not np.all(np.isfinite(predicted)):
        raise ValueError("The predictions are not all finite.")
    if classes is None:
        return {"r2": r2_score(y, predicted)}
    known = np.isin(y, classes)
    columns = range(len(classes)) if len(classes) > 2 else [1]
    areas = [
        roc_auc_score(y == classes[column], predicted[:, column])
        for column in columns
        if 0 < np.sum(y == classes[column]) < len(y)
    ]
    return {
        "auc": np.mean(areas) if areas else 0.5,
        "log loss": log_loss(y[known], predicted[known], labels=classes),
        "accuracy": accuracy_score(y, classes[predicted.argmax(axis=1)]),
    }


def best_parameters(learner, X, y, classify, seed, n_tried):
    """Return the best of some configurations on a fifth of the rows; the defaults are the first."""
    strata = y if classify and np.unique(y, return_counts=True)[1].min() >= 2 else None
    rows = np.arange(len(y))
    inner, held_out = train_test_split(rows, test_size=0.2, random_state=seed, stratify=strata)
    tried = [{}, *ParameterSampler(learner.space, n_tried - 1, random_state=seed)]
    found = []
    for parameters in tried:
        model, classes = fitted(learner, X.iloc[inner], y[inner], classify, seed, parameters)
        own = scores(y[held_out], predictions(model, classes, X.iloc[held_out]), classes)
        found.append(-own["log loss"] if classify else own["r2"])
    return tried[int(np.argmax(found))]


@contextlib.contextmanager
def one_thread():
    """Limit BLAS and OpenMP to a thread, and keep texts of models apart from ours."""
    with threadpool_limits(1), contextlib.redirect_stdout(sys.stderr):
        yield


def warm(learner, classify):
    """Fit a small table, so that imports and compilation are not part of a measured fit."""
    X, y = (load_iris if classify else load_diabetes)(return_X_y=True, as_frame=True)
    with one_thread():
        model, classes = fitted(learner, X[::2], y.to_numpy()[::2], classify, 0, {})
        predictions(model, classes, X)


def measured(learner, frame, y, classify, train, test, seed, n_tried):
    """Return the scores on the test rows and the CPU seconds of the search, fit and predictions."""
    X, X_test, parameters = frame.iloc[train], frame.iloc[test], {}
    with one_thread():
        begun = time.process_time()
        if n_tried:
            parameters = best_parameters(learner, X, y[train], classify, seed, n_tried)
        model, classes = fitted(learner, X, y[train], classify, seed, parameters)
        between = time.process_time()
        predicted = predictions(model, classes, X_test)
        seconds = {"fit seconds": between - begun, "predict seconds": time.process_time() - between}
    return {
        key: float(f"{value:.6g}")
        for key, value in (scores(y[test], predicted, classes) | seconds).items()
    }
