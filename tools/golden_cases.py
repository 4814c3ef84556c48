"""Cases of ``golden.py``: functions without arguments that return results by name.

``all_cases`` only names the cases; nothing is computed before a case is called.  Cases use public
names of ``bochner``.  The registries of objects are those of ``tests/conformance``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import cases as registries
import numpy as np
from golden import estimator_name
from golden_models import model_cases
from golden_tables import command_cases, tabular_cases, verdict_cases
from laws import answers, data_for, seeded, stored
from registry import ESTIMATORS
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import bochner
from bochner import bounds, datasets, losses, operators
from bochner.export import to_onnx

N_NEW = 12
N_SHORT = 3  # rows of answers that repeat others in another precision
Case = Callable[[], Any]


def all_cases() -> dict[str, Case]:
    """Return every case by its name, sorted by what it needs."""
    groups = (
        bound_cases,
        certificate_cases,
        loss_cases,
        prior_cases,
        kernel_cases,
        measure_cases,
        learner_cases,
        function_cases,
        estimator_cases,
        storage_cases,
        solver_cases,
        model_cases,
        tabular_cases,
        onnx_cases,
        command_cases,
        verdict_cases,
    )
    named: dict[str, Case] = {}
    for group in groups:
        found = group()
        assert not named.keys() & found.keys(), "two cases have the same name"
        named |= found
    return named


# --- estimators ---------------------------------------------------------------------------------


def _estimators():
    named = {estimator_name(estimator): estimator for estimator in ESTIMATORS}
    assert len(named) == len(ESTIMATORS), "two estimators have the same repr"
    return named


@cache
def _fitted(name):
    estimator = _estimators()[name]
    return seeded(clone(estimator)).fit(*data_for(estimator))


def _new_rows(estimator, n_rows=N_NEW):
    return data_for(estimator, n_rows, seed=1)[0]


def estimator_cases() -> dict[str, Case]:
    """Return a case for each estimator of the conformance suite."""
    return {f"estimators/{name}": partial(_estimator, name) for name in _estimators()}


def _estimator(name):
    fitted = _fitted(name)
    X = _new_rows(fitted)
    found = answers(fitted, X)
    for method, values in answers(fitted, X[:N_SHORT].astype(np.float32)).items():
        found[f"{method} of float32"] = values
    for attribute in (
        "feature_importances_",
        "alpha_",
        "loo_score_",
        "n_iter_",
        "gibbs_bound_",
        "bound_",
    ):
        if hasattr(fitted, attribute):
            found[attribute] = getattr(fitted, attribute)
    if "return_std" in inspect.signature(getattr(fitted, "predict", fitted.fit)).parameters:
        found["return_std"] = lambda: fitted.predict(X, return_std=True)[1]
    if hasattr(fitted, "predict_interval"):
        found["predict_interval"] = lambda: fitted.predict_interval(X)
    if hasattr(fitted, "jacobian"):
        found["jacobian"] = lambda: fitted.jacobian(X[:N_SHORT])
    if hasattr(fitted, "staged_predict"):
        method = "staged_decision_function" if is_classifier(fitted) else "staged_predict"
        found[method] = lambda: np.array([stage[0] for stage in getattr(fitted, method)(X[:1])])
    if isinstance(getattr(fitted, "learner", None), bochner.AlignmentLearner):
        found["alignment_bound"] = fitted.alignment_bound
    return found


def onnx_cases() -> dict[str, Case]:
    """Return a case for the ONNX graph of each estimator."""
    return {f"onnx/{name}": partial(_onnx, name) for name in _estimators()}


def _onnx(name):
    fitted = _fitted(name)
    X = _new_rows(fitted)[:6]
    return {dtype: partial(onnx_outputs, fitted, X, dtype) for dtype in ("float32", "float64")}


def onnx_outputs(fitted: Any, X: np.ndarray, dtype: str) -> dict[str, np.ndarray]:
    """Return the outputs of the graph of an estimator for the rows of X."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    graph = to_onnx(fitted, X=X, dtype=np.dtype(dtype)).SerializeToString()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: X.astype(dtype)})))


STORED_ESTIMATORS = (
    bochner.SpectralFeatures(learner=bochner.PacBayes(), n_components=4, n_candidates=20),
    bochner.LandmarkFeatures(n_landmarks=5, n_components=4),
    bochner.SpectralRidge(bochner.SpectralFeatures(n_components=10)),
    bochner.SpectralLogistic(bochner.SpectralFeatures(n_components=10)),
    bochner.FourierBoostingClassifier(n_rounds=8),
    bochner.GBRFF2Classifier(n_rounds=4),
    bochner.KernelMachine(),
)


def storage_cases() -> dict[str, Case]:
    """Return cases of fits on sparse rows, memory maps, Dask arrays and Parquet files."""
    return {
        f"storages/{storage} {estimator_name(estimator)}": partial(_stored_fit, estimator, storage)
        for estimator in STORED_ESTIMATORS
        for storage in ("map", "sparse", "dask", "parquet")
    }


def _stored_fit(estimator, storage):
    import tempfile
    from pathlib import Path

    X, y = data_for(estimator)
    with tempfile.TemporaryDirectory() as folder:
        fitted = seeded(clone(estimator)).fit(stored(X, storage, Path(folder)), y)
        return answers(fitted, stored(X[:N_SHORT], storage, Path(folder)))


def solver_cases() -> dict[str, Case]:
    """Return a case for each solver of ridges."""
    return {
        f"solvers/{estimator_name(solver)}": partial(_solver, solver)
        for solver in registries.SOLVERS
    }


def _solver(solver):
    features = bochner.SpectralFeatures(n_components=10)
    return {
        name: lambda model=model: answers(
            seeded(clone(model)).fit(*data_for(model)), _new_rows(model)
        )
        for name, model in {
            "SpectralRidge": bochner.SpectralRidge(features, alpha=0.1, solver=solver),
            "OperatorRidge": bochner.OperatorRidge(features=features, alpha=0.1, solver=solver),
            "alphas": bochner.SpectralRidge(features, alpha=[0.01, 1.0], solver=solver),
        }.items()
    }


# --- values: priors, measures, losses, learners -------------------------------------------------


def prior_cases() -> dict[str, Case]:
    """Return kernels and frequencies of every prior."""
    return {
        f"priors/{name} in {d}": partial(_prior, make, d)
        for name, make in registries.PRIORS.items()
        for d in (1, 3)
    }


def _prior(make, n_features):
    prior, rng = make(n_features), np.random.default_rng(3)
    X = rng.normal(size=(5, n_features))
    found: dict[str, Any] = {"kernel": prior.kernel(X, X[:3] / 2), "gram": prior.kernel(X[:3])}
    for sampling in ("iid", "orthogonal", "qmc"):
        found[sampling] = lambda way=sampling: prior.sample(
            4, n_features, np.random.default_rng(4), way
        )
    return found


def kernel_cases() -> dict[str, Case]:
    """Return kernels of every operator-valued kernel."""
    return {
        f"operator kernels/{name} {prior}": partial(
            _operator_kernel, make, registries.PRIORS[prior](3)
        )
        for name, make in registries.OPERATOR_KERNELS.items()
        for prior in (
            "Gaussian",
            "Matern 2.2 ARD",
            "RationalQuadratic",
            "Anova 5/2 ARD",
            "Cauchy",
            "SpectralMixture",
        )
    }


def _operator_kernel(make, prior):
    kernel, X = make(prior, 3), np.random.default_rng(3).normal(size=(2, 3))
    measure = kernel.sample(4, 3, np.random.default_rng(4))
    found: dict[str, Any] = {"kernel": kernel.kernel(X), "sampled kernel": measure.kernel(X)}
    found["largest_error"] = operators.largest_error(kernel, measure, X)
    if not isinstance(prior, bochner.Gaussian):
        return found
    found["features"] = measure.features(X[:1])
    found["estimator_variance"] = lambda: operators.estimator_variance(kernel, X[:1])
    found["variance_bound"] = lambda: operators.variance_bound(kernel, X[:1])
    found["approximation_constants"] = lambda: operators.approximation_constants(kernel, 3)
    return found


def measure_cases() -> dict[str, Case]:
    """Return values of measures and expansions."""
    named = {
        f"measures/{name}": partial(_measure, measure)
        for name, measure in registries.MEASURES.items()
    }
    return named | {
        f"expansions/{name}": partial(_expansion, one)
        for name, one in registries.EXPANSIONS.items()
    }


def _measure(measure):
    X = np.random.default_rng(3).normal(size=(4, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)  # harmonics need points of the sphere
    return {
        "kernel": measure.kernel(X),
        "features": measure.features(X[:1]),
        "mass": measure.mass,
        "merged": bochner.concatenate([measure, measure]).merged().weights,
        "systematic": measure.resampled(6, 5, "systematic").kernel(X[:2]),
        "multinomial": measure.resampled(6, 5).kernel(X[:2]),
    }


def _expansion(expansion):
    X = np.random.default_rng(3).normal(size=(4, 3))
    return {
        "evaluate": expansion.evaluate(X),
        "evaluate of float32": expansion.evaluate(X.astype(np.float32)),
        "jacobian": expansion.jacobian(X),
        "relevance": expansion.relevance(X),
        "divergence": lambda: expansion.divergence(X),
        "amplitudes": expansion.amplitudes,
        "phases": expansion.phases,
    }


def loss_cases() -> dict[str, Case]:
    """Return values, derivatives, constants and links of every loss."""
    return {
        f"losses/{' '.join(repr(loss).split())}": partial(_loss, loss) for loss in registries.LOSSES
    }


def _loss(loss):
    rng = np.random.default_rng(3)
    several = isinstance(loss, losses.Multinomial)
    scores = rng.normal(size=(8, 3 if several else 1))
    if several:
        targets = np.eye(3)[rng.integers(3, size=8)]
    elif isinstance(loss, losses.Logistic | losses.Exponential | losses.Hinge):
        targets = np.where(rng.random((8, 1)) < 0.5, -1.0, 1.0)
    else:
        targets = (
            np.abs(rng.normal(size=(8, 1)))
            if isinstance(loss, losses.Poisson)
            else rng.normal(size=(8, 1))
        )
    return {
        "values": loss.values(targets, scores),
        "derivatives": loss.derivatives(targets, scores),
        "gradient": loss.gradient(targets, scores),
        "bend": loss.bend(targets, scores, np.ones_like(scores)),
        "start": loss.start(targets, np.linspace(1, 2, 8)),
        "link": loss.link(scores),
        "least": loss.least(targets),
        "rounded": loss.rounded(0.2).values(targets, scores),
        "class_probabilities": lambda: losses.class_probabilities(loss, scores),
    }


def learner_cases() -> dict[str, Case]:
    """Return learned measures and reports of every learner, for every kind of target."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    targets = {
        "two classes": X[:, 0] > 0.2,
        "three classes": np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.5, 0.5])],
        "values": np.cos(X[:, 0] + X[:, 2]),
        "outputs": X[:, :2] ** 2,
    }
    return {
        f"learners/{name} of {kind}": partial(_learned, learner, X, y)
        for name, learner in (registries.LEARNERS | registries.SEARCHING).items()
        for kind, y in targets.items()
        if kind == "three classes" or getattr(learner, "loss", "auto") == "auto"
    }


def _learned(learner, X, y):
    start = bochner.Gaussian(0.5).sample(8, 3, np.random.default_rng(1))
    learned = learner.learn(start, X, y, np.random.default_rng(2))
    weighted = learner.learn(start, X, y, np.random.default_rng(2), weights=np.arange(30) % 3)
    return {
        "learned": learned,
        "weighted": weighted.measure.weights,
        "weighted kernel": weighted.measure.kernel(X[:3]),
    }


def function_cases() -> dict[str, Case]:
    """Return results of the other public functions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    labels, values = np.where(X[:, 0] + X[:, 1] > 0, 1, -1), np.sin(X[:, 0])
    measure = bochner.Gaussian(0.5).sample(8, 3, np.random.default_rng(1))
    prior, scores = np.full(6, 1 / 6), np.array([0.1, 0.5, 0.2, 0.9, 0.3, 0.25])
    edges = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0.0]])
    evidence = bochner.Evidence(n_rows=20, n_iterations=3)
    named: dict[str, Case] = {
        "alignment_losses": lambda: bochner.alignment_losses(measure, X, labels),
        "alignment_losses_and_gradient": lambda: bochner.alignment_losses_and_gradient(
            measure, X, values
        ),
        "arc_cosine_kernel": lambda: bochner.arc_cosine_kernel(X[:4], X[4:7]),
        "spherical_harmonics": lambda: bochner.spherical_harmonics(unit[:3], 3),
        "divergence_ball_weights": lambda: bochner.divergence_ball_weights(prior, scores, 0.5, 1.7),
        "gibbs_weights": lambda: bochner.gibbs_weights(prior, scores, 2.0, 50),
        "game_equilibrium": lambda: bochner.game_equilibrium(measure, X, labels),
        "project_dual": lambda: bochner.project_dual(X[:, 2], labels, 0.3),
        "graph_output_matrix": lambda: bochner.graph_output_matrix(edges, 0.1),
        "simplex_code": lambda: bochner.simplex_code(4),
        "weighted_quantile": lambda: losses.weighted_quantile(X, np.linspace(1, 2, 24), 0.3),
        "SmoothScaler": lambda: bochner.SmoothScaler().fit(X).transform(X[:4] * 3),
        "suggest_n_components": lambda: operators.suggest_n_components(
            bochner.CurlFree(bochner.Gaussian(0.5)), 0.3, 2, diameter=1.0
        ),
        "tune_on_validation": lambda: _tuned(X, labels),
    }
    for learned in (bochner.Gaussian(), bochner.Anova(), bochner.Laplace(), bochner.Matern()):
        named[f"Evidence of {type(learned).__name__}"] = partial(
            evidence.learn, learned, X, values, 0
        )
        named[f"Evidence of {type(learned).__name__} for labels"] = partial(
            evidence.learn, learned, X, labels, 0
        )
    for name in datasets.__all__:
        if name.endswith("_field") or name in (
            "board",
            "circles",
            "sphere_checkerboard",
            "swiss",
            "windmill",
        ):
            named[f"datasets {name}"] = lambda name=name: getattr(datasets, name)(
                6, np.random.default_rng(0)
            )
    for name in ("toy_bands", "toy_landmarks"):
        named[f"datasets {name}"] = lambda name=name: getattr(datasets, name)(
            6, np.random.default_rng(0)
        )
    return {
        f"functions/{name}": lambda call=call: {"result": call()} for name, call in named.items()
    }


def _tuned(X, y):
    grid = {"learner": [bochner.PacBayes(1.0), bochner.PacBayes(30.0)], "n_components": [2, 8]}
    features = bochner.SpectralFeatures(learner=bochner.PacBayes(), n_components=8, random_state=0)
    found = bochner.tune_on_validation(
        features, LogisticRegression(), grid, X[:16], y[:16], X[16:], y[16:]
    )
    beta = found.parameters["learner"].beta
    return {
        "beta": beta,
        "score": found.score,
        "scores": [float(one["score"]) for one in found.table],
    }


# --- bounds -------------------------------------------------------------------------------------


def bound_cases() -> dict[str, Case]:
    """Return a few calls of every public function of ``bochner.bounds``."""
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    several = np.linspace(0, 1, 11) ** 2
    constants = bounds.ApproximationConstants(
        3, 2, variance=1.5, slope=0.8, orlicz=1.1, sup_norm=1.0
    )
    alignment = [(0.3, 0.7, 500), (0.01, 0.0, 20), (0.4, 5.0, 10_000)]
    calls: dict[str, list[tuple[tuple, dict]]] = {
        "ApproximationConstants": [((3, 2, 1.5, 0.8, 1.1, 1.0), {})],
        "Bound": [((0.3, 0.2, 0.1, 0.95), {})],
        "binomial_tail": [((3, 100), {}), ((0, 50), {"delta": 0.01}), ((50, 50), {})],
        "chi_square": [(one, {}) for one in alignment],
        "competitive_ratio": [((0.1, 0.5), {}), ((0.0, 0.2), {}), ((3.0, 0.2), {})],
        "corollary_2": [(one, {}) for one in alignment] + [(alignment[0], {"t": 30.0})],
        "empirical_bernstein": [((several,), {}), ((2 * several, 3.0), {"delta": 0.01})],
        "f_divergence": [(one, {"mu": mu}) for one in alignment for mu in (1.5, 2.0, 3.0)],
        "first_order": [
            (one, {"in_sample": known}) for one in alignment for known in (True, False)
        ],
        "kl_divergence": [((p, q), {}), ((p, p), {}), ((np.array([1.0, 0, 0]), q), {})],
        "landmark": [
            ((*one, 10), {"independent": known}) for one in alignment for known in (True, False)
        ],
        "log_failure_probability": [((constants, n, 0.5, 2.0), {}) for n in (10, 1000, 100_000)],
        "margin": [
            ((several - 0.2, [0.1, 0.3, 0.5], 2.0, 1.5), {}),
            ((several, 0.2, 1.0, 1.0), {"mass": 2.0}),
        ],
        "margin_objective": [((several, 2 * several, 100), {"C": 0.5})],
        "margin_regret": [((100, 50), {}), ((100, 50, 0.5), {"search_error": 0.1})],
        "operator_uniform": [((constants, n, 2.0), {}) for n in (100, 100_000)],
        "pac_bayes_kl": [(one, {"n_tried": n}) for one in alignment for n in (1, 13)],
        "potential_deviation": [((1000, 3, 2.0, 1.5), {}), ((50, 1, 1.0, 1.0), {"delta": 0.2})],
        "power_divergence": [((p, q), {"mu": mu}) for mu in (1.5, 2.0, 4.0)],
        "promised_components": [
            ((constants, 0.5, 2.0), {}),
            ((constants, 0.1, 1.0), {"confidence": 0.5}),
        ],
        "second_order": [(one, {"n_tried": n}) for one in alignment for n in (1, 20)],
    }
    assert calls.keys() == set(bounds.__all__), "a public function of bochner.bounds has no case"
    return {f"bounds/{name}": partial(_bound_calls, name, given) for name, given in calls.items()}


def _bound_calls(name, calls):
    function = getattr(bounds, name)
    found = {
        f"call {k}": partial(function, *given, **options)
        for k, (given, options) in enumerate(calls)
    }
    has_form = "form" in inspect.signature(function).parameters and name != "Bound"
    for k, (given, options) in enumerate(calls[:2] if has_form else []):
        found[f"as printed {k}"] = partial(function, *given, **options, form="paper")
    return found


def certificate_cases() -> dict[str, Case]:
    """Return certificates of new rows; those of ``CertifiedClassifier`` are among its answers."""
    return {
        f"certificates/{name}": partial(_certificates, name)
        for name in ("different rows", "repeated rows")
    }


def _certificates(name):
    X, labels = data_for(bochner.SpectralClassifier())
    values = data_for(bochner.SpectralRegressor())[1]
    if name == "repeated rows":
        X, labels, values = np.repeat(X, 2, axis=0), np.repeat(labels, 2), np.repeat(values, 2)
    classifier, regressor = (
        LogisticRegression().fit(X[::2], labels[::2]),
        LinearRegression().fit(X[::2], values[::2]),
    )
    others = X[1::2], labels[1::2], values[1::2]
    return {
        "errors": lambda: bochner.certify(classifier, others[0], others[1]),
        "delta": lambda: bochner.certify(classifier, others[0], others[1], delta=0.2),
        "squares": lambda: bochner.certify(regressor, others[0], others[2], largest_loss=2.0),
        "loss": lambda: bochner.certify(
            regressor, others[0], others[2], loss=lambda y, p: np.abs(y - p), largest_loss=1.0
        ),
        "no largest loss": lambda: bochner.certify(regressor, others[0], others[2]),
    }
