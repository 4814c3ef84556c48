"""Cases of ``golden.py`` for settings, methods and storages outside the conformance suite."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bochner
from bochner import Gaussian, MarginGame, PacBayes, SpectralFeatures

Case = Callable[[], Any]
SPHERE_PEAKS = (
    bochner.HarmonicPeaks(max_degree=3),
    bochner.HarmonicPeaks(max_degree=3, mode="zonal"),
    bochner.HarmonicChain(max_degree=4, n_walkers=5, n_steps=6),
)


def data(n_rows: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three columns and a smooth target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] / 2 + 0.1 * rng.normal(size=n_rows)


X, VALUES = data()
LABELS = np.array(["low", "middle", "upper"])[np.digitize(VALUES, [-0.5, 0.5])]
NEW = data(4, seed=1)[0]
OUTPUTS = np.column_stack([VALUES, VALUES**2, X[:, 2]])


def model_cases() -> dict[str, Case]:
    """Return the cases by name."""
    groups = (
        _learning(),
        _boosting(),
        _ridges(),
        _fields(),
        _priors(),
        _parts(),
        _elsewhere(),
    )
    return {f"models/{name}": case for group in groups for name, case in group.items()}


def _answers(model, new=NEW):
    """Return predictions or features, with standard deviations where there are any."""
    methods = (
        ("predict", "predict_proba", "decision_function")
        if hasattr(model, "predict")
        else ("transform",)
    )
    found = {name: getattr(model, name)(new) for name in methods if hasattr(model, name)}
    found = {
        name: value.compute() if hasattr(value, "compute") else value
        for name, value in found.items()
    }
    return {name: np.asarray(value) for name, value in found.items()}


def _fit(model, y, rows=X, **options):
    return lambda: _answers(model.fit(rows, y, **options), NEW)


def _learning():
    unit, new = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, NEW))

    def on_sphere(peaks):
        features = SpectralFeatures(
            learner=MarginGame(n_rounds=3, peaks=peaks), n_components=8, random_state=0
        )
        features.fit(unit, LABELS)
        return _answers(features, new) | {"report": features.report_}

    named = {f"{peaks!r} on the sphere": partial(on_sphere, peaks) for peaks in SPHERE_PEAKS}
    quasi = MarginGame(n_rounds=2, peaks=bochner.QuasiNewtonPeaks(n_walkers=5, n_steps=3))
    named["QuasiNewtonPeaks"] = _fit(
        SpectralFeatures(learner=quasi, n_components=8, random_state=0), LABELS
    )
    for prior in (
        bochner.Matern(),
        bochner.RationalQuadratic(),
        bochner.Laplace(),
        bochner.Cauchy(),
    ):
        langevin = bochner.PacBayesLangevin(3.0, prior, n_steps=4, jump_every=2)
        features = SpectralFeatures(prior, langevin, n_components=4, random_state=0)
        named[f"PacBayesLangevin of {type(prior).__name__}"] = _fit(features, LABELS)
    zonal = bochner.HarmonicMeasure.zonal([0, 1, 3], [0.5, 0.3, 0.2], 3)
    return named | {"zonal measure": lambda: {"kernel": zonal.kernel(new)}}


def _boosting():
    regressor = partial(bochner.FourierBoostingRegressor, n_rounds=6, random_state=0)
    classifier = partial(bochner.FourierBoostingClassifier, n_rounds=6, random_state=0)
    held_out = {"X_val": X[::3], "y_val": LABELS[::3]}
    return {
        "boosting with poisson loss": _fit(regressor(loss="poisson"), np.abs(VALUES)),
        "boosting with quantile loss": _fit(regressor(loss="quantile", level=0.3), VALUES),
        "boosting of two outputs": _fit(regressor(), OUTPUTS[:, :2]),
        "boosting of validation rows": _fit(classifier(), LABELS, **held_out),
        "boosting with early stopping": _fit(
            classifier(stopping=bochner.EarlyStopping(fraction=0.3, patience=2)), LABELS
        ),
        "boosting without line search": _fit(
            classifier(search=bochner.WaveSearch(line_search=False)), LABELS
        ),
        "boosting with joint epochs": _fit(
            classifier(epochs=bochner.JointEpochs(n_epochs=3)), LABELS
        ),
        "boosting without a linear part": _fit(regressor(linear=False, n_pilots=0), VALUES),
        "boosting of two classes with weights": _fit(
            classifier(class_weight="balanced"),
            LABELS == "low",
            sample_weight=1 + np.arange(60) % 3,
        ),
        "GBRFF1 with a learner": _fit(
            bochner.GBRFF1Classifier(
                n_rounds=4, n_components=3, learner=PacBayes(2.0), random_state=0
            ),
            LABELS,
        ),
        "GBRFF2 with weights": _fit(
            bochner.GBRFF2Classifier(n_rounds=4, random_state=0),
            LABELS == "low",
            sample_weight=1 + np.arange(60) % 3,
        ),
    }


def _ridges():
    features = partial(SpectralFeatures, Gaussian(0.5), n_components=8, random_state=0)

    def deviations(model, y):
        model.fit(X, y)
        found = dict(zip(("predict", "std"), model.predict(NEW, return_std=True)))
        found |= {"left out": lambda: model.leave_one_out(X[:40], y[:40])[:6]}
        names = ("coef_", "intercept_", "alpha_", "noise_variance_")
        return found | {name: getattr(model, name) for name in names if hasattr(model, name)}

    def in_parts(model, y, **first):
        model.partial_fit(X[:30], y[:30], **first).partial_fit(X[30:45], y[30:45])
        other = clone(model).partial_fit(X[45:], y[45:], **first)
        return _answers(model) | {
            f"merged.{name}": value for name, value in _answers(model.merge(other)).items()
        }

    def machine(**settings):
        model = bochner.KernelMachine(alpha=0.1, random_state=0, **settings).fit(X, VALUES)
        found = {
            "predict": model.predict(NEW),
            "std": lambda: model.predict(NEW, return_std=True)[1],
        }
        found |= {
            "left out": lambda: model.leave_one_out()[:6],
            "jacobian": lambda: model.jacobian(NEW),
        }
        return found | {"effects": lambda: model.effects(NEW), "intercept_": model.intercept_}

    classes = {"classes": ["low", "middle", "upper"]}
    learning = SpectralFeatures(Gaussian(0.5), PacBayes(2.0), n_components=4, random_state=0)
    labelling = bochner.OperatorRidgeClassifier(features=features())
    learned = bochner.Decomposable(Gaussian(), "learned")
    return {
        "SpectralRidge with deviations": partial(
            deviations, bochner.SpectralRidge(features()), VALUES
        ),
        "SpectralRidge of outputs with deviations": partial(
            deviations, bochner.SpectralRidge(features()), OUTPUTS
        ),
        "OperatorRidge with deviations": partial(
            deviations, bochner.OperatorRidge(n_components=8, alpha=0.1, random_state=0), OUTPUTS
        ),
        "SpectralRidge in parts": partial(
            in_parts, bochner.SpectralRidge(features(), alpha=0.1), VALUES
        ),
        "OperatorRidgeClassifier in parts": partial(in_parts, labelling, LABELS, **classes),
        "SpectralFeatures in parts": partial(in_parts, learning, LABELS, **classes),
        "learned output matrix": _fit(
            bochner.OperatorRidge(learned, n_components=8, random_state=0), OUTPUTS
        ),
        "OperatorClassifier": _fit(
            bochner.OperatorClassifier(n_components=8, random_state=0), LABELS
        ),
        "KernelMachine of Anova": partial(machine, prior=bochner.Anova()),
        "KernelMachine of Laplace, linear": partial(machine, prior=bochner.Laplace(), linear=0.5),
        "KernelMachine of conjugate gradients": partial(machine, prior=Gaussian(), solver="cg"),
    }


def _fields():
    def field(kernel):
        model = bochner.OperatorRidge(kernel, n_components=10, alpha=0.1, random_state=0).fit(
            X, OUTPUTS
        )
        names = (
            "jacobian",
            "divergence",
            "curl",
            "scalar_potential",
            "curl_free_part",
            "divergence_free_part",
        )
        found = _answers(model) | {
            name: lambda name=name: getattr(model, name)(NEW[:2]) for name in names
        }
        exact = bochner.OperatorKernelRidge(kernel, alpha=0.1).fit(X, OUTPUTS)
        return found | {
            "exact": exact.predict(NEW),
            "onnx": _onnx(model),
            "exact onnx": _onnx(exact),
        }

    def custom(**functions):
        kernel = bochner.CustomKernel(Gaussian(0.5), **functions)
        return {
            "kernel": lambda: kernel.kernel(NEW[:2, :2]),
            "sampled": lambda: kernel.sample(3, 2, 0).kernel(NEW[:2, :2]),
        }

    kernels = (bochner.CurlFree, bochner.DivergenceFree, bochner.Helmholtz)
    named: dict[str, Case] = {
        f"field of {kind.__name__}": partial(field, kind(Gaussian(0.5))) for kind in kernels
    }
    named["field of CurlFree Matern"] = partial(field, bochner.CurlFree(bochner.Matern(nu=2.5)))
    named["field of CurlFree RationalQuadratic"] = partial(
        field, bochner.CurlFree(bochner.RationalQuadratic())
    )
    named["CustomKernel by factor"] = partial(custom, factor=lambda w: w[:, :, None])
    named["CustomKernel by operator"] = partial(
        custom, operator=lambda w: w[:, :, None] * w[:, None]
    )
    named["CustomKernel by signature"] = partial(
        custom, signature=lambda d: np.exp(-0.5 * np.sum(d**2, axis=1))[:, None, None] * np.eye(2)
    )
    return named


def _onnx(model):
    """Return a function that runs the graph of a model on new rows, in float64."""
    from golden_cases import onnx_outputs

    return lambda: onnx_outputs(model, NEW, "float64")


def _priors():
    def exact(prior):
        model = bochner.KernelMachine(prior, alpha=0.1).fit(X, VALUES)
        return {
            "predict": model.predict(NEW),
            "jacobian": lambda: model.jacobian(NEW[:2]),
            "onnx": _onnx(model),
        }

    def graph(model, y):
        return _onnx(model.fit(X, y))()

    from cases import PRIORS

    named = {f"KernelMachine of {name}": partial(exact, make(3)) for name, make in PRIORS.items()}
    pipeline = make_pipeline(
        StandardScaler(), bochner.SpectralRidge(SpectralFeatures(n_components=8, random_state=0))
    )
    poisson = bochner.FourierBoostingRegressor(loss="poisson", n_rounds=4, random_state=0)
    boosted = make_pipeline(
        StandardScaler(), bochner.FourierBoostingClassifier(n_rounds=4, random_state=0)
    )
    scaled = make_pipeline(bochner.SmoothScaler(), bochner.KernelMachine())
    return named | {
        "onnx of a pipeline": partial(graph, pipeline, VALUES),
        "onnx of a pipeline of labels": partial(graph, boosted, LABELS == "low"),
        "onnx of a smooth scaler": partial(graph, scaled, VALUES),
        "onnx of a poisson loss": partial(graph, poisson, np.abs(VALUES)),
    }


def _parts():
    def landmarks():
        features = bochner.LandmarkFeatures(
            learner=PacBayes(), n_landmarks=4, n_components=5, random_state=0
        )
        features.fit(X, LABELS)
        again = features.relearned(bochner.OptimalAlignment(), 3)
        variants = [(PacBayes(9.0), 3), (PacBayes(0.1), 5)]
        return {"relearned": again.transform(NEW), "each": features.transform_each(NEW, variants)}

    def relearned():
        features = SpectralFeatures(
            learner=PacBayes(), n_components=6, n_candidates=12, random_state=0
        )
        features.fit(X, VALUES)
        return _answers(features.relearned(PacBayes(9.0), 3)) | {
            "atoms": features.report_.effective_atoms
        }

    def saved():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.skops"
            bochner.save(bochner.SpectralLogistic(random_state=0).fit(X, LABELS), path)
            again = bochner.load(path)
            return _answers(again) | {"score": again.score(X, LABELS)}

    similarity = bochner.TargetSimilarity(np.abs(X), np.array([1.0, -1.0, 1.0]))
    return {
        "landmarks relearned": landmarks,
        "features relearned": relearned,
        "a saved model": saved,
        "TargetSimilarity": _fit(
            SpectralFeatures(learner=PacBayes(), n_components=6, random_state=0), similarity
        ),
    }


def _elsewhere():
    rows, values = data(300, seed=2)
    labels = np.array(["low", "upper"])[(values > 0).astype(int)]
    quick = bochner.Evidence(n_rows=60, n_iterations=3, standardize=False)
    settings = {
        "priors": bochner.Anova(),
        "evidence": quick,
        "max_leaf_rows": 100,
        "random_state": 0,
    }

    def on_dask(model, y):
        import dask.array as da

        model.fit(da.from_array(rows, chunks=(90, 2)), da.from_array(y, chunks=90))
        return _answers(model)

    def on_file(model, y):
        import pyarrow as pa
        from pyarrow import parquet

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            table = pa.table({f"x{j}": column for j, column in enumerate(rows.T)})
            parquet.write_table(table, path, row_group_size=80)
            model.fit(bochner.open_rows(path), y)
            return _answers(model)

    models = {
        "SpectralRegressor": (bochner.SpectralRegressor(**settings), values),
        "SpectralClassifier": (bochner.SpectralClassifier(**settings), labels),
        "FourierBoostingRegressor": (
            bochner.FourierBoostingRegressor(n_rounds=4, random_state=0),
            values,
        ),
        "JointDescent": (
            SpectralFeatures(
                learner=bochner.JointDescent(n_epochs=1), n_components=4, random_state=0
            ),
            labels,
        ),
        "MarginGame": (
            SpectralFeatures(learner=MarginGame(n_rounds=2), n_components=4, random_state=0),
            labels,
        ),
        "CertifiedClassifier": (
            bochner.CertifiedClassifier(SpectralFeatures(n_components=4), random_state=0),
            labels,
        ),
        "GBRFF1Classifier": (
            bochner.GBRFF1Classifier(n_rounds=3, n_components=2, random_state=0),
            labels,
        ),
    }
    named = {f"{name} on Dask": partial(on_dask, *given) for name, given in models.items()}
    return named | {f"{name} of a file": partial(on_file, *given) for name, given in models.items()}
