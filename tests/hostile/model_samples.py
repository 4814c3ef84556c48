"""Files of small models of many kinds, for attacks on ``load``."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from bochner import (
    CertifiedClassifier,
    CurlFree,
    Evidence,
    FourierBoostingClassifier,
    JointEpochs,
    KernelMachine,
    LandmarkFeatures,
    OperatorKernelRidge,
    OperatorRidge,
    SpectralClassifier,
    SpectralFeatures,
    SpectralRegressor,
    SpectralRidge,
    fit_table,
    save,
)

from .verdicts import answers

_QUICK = Evidence(n_rows=60, n_iterations=3)


@dataclass(frozen=True)
class Sample:
    """A model file, rows for its model, and the predictions for them."""

    name: str
    content: bytes
    rows: Any
    expected: dict[str, Any]


def table_data(n_rows=80):
    """A frame of a number, a category, a date and targets of both kinds."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=n_rows).round(2), "kind": rng.choice(list("abc"), n_rows)}
    )
    frame["day"] = pd.date_range("2021-03-01", periods=n_rows).astype(str)
    frame["price"] = np.sin(frame["size"]) + (frame["kind"] == "a")
    frame["sold"] = np.where(frame["price"] > frame["price"].median(), "yes", "no")
    return frame


def saved(name, model, rows, folder):
    """Return the sample of a fitted model."""
    path = folder / f"{name.replace(' ', '_')}.skops"
    save(model, path)
    return Sample(name, path.read_bytes(), rows, answers(model, rows))


def samples(folder, few=False):
    """Fit and save the models; ``few`` is the model of a table and two others."""
    frame = table_data()
    rows, X = (
        frame[["size", "kind", "day"]],
        np.column_stack([frame["size"], np.cos(np.arange(len(frame)))]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [
            saved(
                "table of classes",
                fit_table(frame.drop(columns="price"), "sold", compare=False),
                rows,
                folder,
            )
        ]
        for name, model in (_some() if few else _some() | _more()).items():
            target = frame["sold"].to_numpy() if is_classifier(model) else frame["price"].to_numpy()
            given = frame[["size", "kind"]] if name == "column transformer" else X
            target = X if name == "field" else target
            made.append(saved(name, model.fit(given, target), given[:5], folder))
    return made


def _some():
    return {
        "ridge": SpectralRidge(SpectralFeatures(n_components=8, random_state=0), alpha=[0.1, 1.0]),
        "column transformer": make_pipeline(
            make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["kind"])),
            SpectralFeatures(n_components=8, random_state=0),
            LogisticRegression(),
        ),
    }


def _more():
    return {
        "tabular classifier": SpectralClassifier(evidence=_QUICK, random_state=0),
        "tabular regressor": SpectralRegressor(evidence=_QUICK, random_state=0),
        "kernel machine": KernelMachine(random_state=0),
        "booster": FourierBoostingClassifier(n_rounds=4, epochs=JointEpochs(2), random_state=0),
        "certified": CertifiedClassifier(SpectralFeatures(n_components=8), random_state=0),
        "landmarks": LandmarkFeatures(n_landmarks=5, n_components=8, random_state=0),
        "exact landmarks": LandmarkFeatures(n_landmarks=5, similarity="exact", random_state=0),
        "exact operator ridge": OperatorKernelRidge(),
        "field": OperatorRidge(CurlFree(), n_components=8, random_state=0),
        "polynomials": make_pipeline(
            PolynomialFeatures(),
            StandardScaler(),
            FourierBoostingClassifier(n_rounds=3, random_state=0),
        ),
    }
