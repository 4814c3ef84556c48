"""Metrics with their errors against brute force, thresholds, splits, refits."""

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

pandas = pytest.importorskip("pandas")

from table_samples import quick_models

from bochner import fit_table, load, save
from bochner.tables import ColumnReader, TableError
from bochner.tables.evaluate import baselines as baselines_module
from bochner.tables.evaluate.copies import Observations
from bochner.tables.evaluate.evaluation import certificate, evaluate
from bochner.tables.evaluate.metrics import METRICS, NUMBERS, Predicted, Truth, standard_error
from bochner.tables.evaluate.splitting import SplitSpec, split_rows
from bochner.tables.evaluate.target import counted_labels
from bochner.tables.evaluate.thresholds import (
    ThresholdClassifier,
    ThresholdSpec,
    cheapest_threshold,
)
from bochner.tables.facts import Facts
from bochner.tables.provenance import fingerprint
from bochner.tables.text import certificate_text, fit_text, refit_text


def split(spec, frame, y, classify):
    """Split rows that are all different."""
    return split_rows(spec, frame, y, classify, 0, ".", Observations(np.arange(len(y))))


# Each metric as scikit-learn has it, of rows with weights.
OF_SKLEARN = {
    "log-loss": lambda t, p, w: sklearn_metrics.log_loss(
        t.y, p.probabilities, sample_weight=w, labels=t.classes
    ),
    "auc": lambda t, p, w: sklearn_metrics.roc_auc_score(
        t.y == t.positive, p.of(t.positive, t), sample_weight=w
    ),
    "average-precision": lambda t, p, w: sklearn_metrics.average_precision_score(
        t.y == t.positive, p.of(t.positive, t), sample_weight=w
    ),
    "accuracy": lambda t, p, w: sklearn_metrics.accuracy_score(t.y, p.y, sample_weight=w),
    "balanced-accuracy": lambda t, p, w: sklearn_metrics.balanced_accuracy_score(
        t.y, p.y, sample_weight=w
    ),
    "rmse": lambda t, p, w: sklearn_metrics.root_mean_squared_error(t.y, p.y, sample_weight=w),
    "r2": lambda t, p, w: sklearn_metrics.r2_score(t.y, p.y, sample_weight=w),
    "mae": lambda t, p, w: sklearn_metrics.mean_absolute_error(t.y, p.y, sample_weight=w),
}


def example(kind, seed, n=60):
    """Held-out rows with predictions that are right more often than not, some of them equal."""
    rng = np.random.default_rng(seed)
    if kind == NUMBERS:
        y = rng.normal(size=n)
        return Truth(y), Predicted(y + rng.normal(size=n))
    classes = np.array(["a", "b"] if kind == "two classes" else ["a", "b", "c"])
    codes = np.concatenate(
        [np.arange(len(classes)), rng.integers(len(classes), size=n - len(classes))]
    )
    scores = (
        rng.normal(size=(n, len(classes))) + 1.5 * (codes[:, None] == np.arange(len(classes)))
    ).round(1)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return Truth(classes[codes], classes, classes[0]), Predicted(
        classes[shares.argmax(axis=1)], shares
    )


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, one in METRICS.items() for kind in one.kinds]
)
def test_influences_are_the_derivatives_of_scikit_learns_metric_in_the_weights_of_rows(
    name, kind, seed
):
    truth, predicted = example(kind, seed)
    value, influence = METRICS[name].measure(truth, predicted)
    n, step = len(truth.y), 1e-5
    assert value == pytest.approx(OF_SKLEARN[name](truth, predicted, np.ones(n)))
    for i in range(n):
        ends = [
            OF_SKLEARN[name](truth, predicted, np.ones(n) + side * step * (np.arange(n) == i))
            for side in (-1, 1)
        ]
        assert influence[i] == pytest.approx(n * (ends[1] - ends[0]) / (2 * step), abs=1e-5)
    assert influence.sum() == pytest.approx(0, abs=1e-8)


def test_the_standard_error_of_an_area_is_delongs(seed):
    truth, predicted = example("two classes", seed)
    found, score = truth.y == truth.positive, predicted.of(truth.positive, truth)
    ahead = (score[found][:, None] > score[~found]) + 0.5 * (score[found][:, None] == score[~found])
    delong = np.sqrt(
        ahead.mean(axis=1).var() / found.sum() + ahead.mean(axis=0).var() / (~found).sum()
    )
    ours = standard_error(METRICS["auc"].measure(truth, predicted)[1])
    assert ours * np.sqrt((len(found) - 1) / len(found)) == pytest.approx(delong)


def test_rows_of_one_group_count_as_one():
    influence = np.random.default_rng(0).normal(size=40)
    influence -= influence.mean()
    repeated, groups = np.repeat(influence, 5), np.repeat(np.arange(40), 5)
    assert standard_error(repeated, groups) == pytest.approx(standard_error(influence))
    assert standard_error(repeated) < 0.5 * standard_error(influence)


def test_differences_are_positive_where_ours_is_better_whichever_way_a_metric_goes():
    truth, predicted = example("two classes", 0)
    perfect = Predicted(truth.y, (truth.y[:, None] == truth.classes).astype(float))
    entry = evaluate(predicted, truth, perfect)
    assert all(
        entry.worse_by[name][0] > 0
        for name, metric in METRICS.items()
        if "two classes" in metric.kinds
    )
    assert all(found == [0, 0] for found in evaluate(perfect, truth, perfect).worse_by.values())


def test_the_limit_of_whole_groups_holds_for_the_mean_over_groups(seed):
    """Errors that come in whole groups: a limit for independent rows would be far too low."""
    rng, n_trials, held = np.random.default_rng(seed), 300, 0
    classes, groups = np.array([0, 1]), np.repeat(np.arange(30), 20)
    for _ in range(n_trials):
        wrong = np.repeat(rng.random(30) < 0.2, 20)
        y = np.zeros(600, dtype=int)
        truth, predicted = (
            Truth(y, classes, 1, groups),
            Predicted(wrong.astype(int), np.full((600, 2), 0.5)),
        )
        with np.errstate(all="ignore"):
            held += certificate(predicted, truth).certified >= 0.2
    assert held / n_trials > 0.95 - 5 * np.sqrt(0.05 * 0.95 / n_trials)


# --- thresholds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["balanced", "cost:1,7", "cost:3,1"])
def test_the_cheapest_threshold_is_that_of_all_that_could_be_tried(text, seed):
    rng, wish = np.random.default_rng(seed), ThresholdSpec.of(text)
    scores, positive = rng.random(50).round(1), rng.random(50) < 0.3
    of_positive, of_negative = wish.row_costs(positive)

    def cost(at):
        return of_positive * np.sum((scores >= at) & ~positive) + of_negative * np.sum(
            (scores < at) & positive
        )

    best = min(cost(at) for at in np.linspace(-0.01, 1.01, 1021))
    assert cost(cheapest_threshold(scores, positive, wish)) == pytest.approx(best)


@pytest.mark.parametrize(
    "text", ["half", "cost:1", "cost:1,x", "cost:0,1", "cost:1,inf", "balanced:1"]
)
def test_thresholds_that_make_no_sense(text):
    with pytest.raises(TableError, match="--threshold must be balanced, or cost:FP,FN"):
        ThresholdSpec.of(text)


N_RARE = 400


@pytest.fixture(scope="module")
def rare():
    """6 % positives that overlap with the others, in time and in groups."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(N_RARE, 3)), columns=["a", "b", "c"])
    score = frame["a"] + 0.5 * frame["b"] + rng.normal(size=N_RARE)
    frame["found"] = np.where(score > np.quantile(score, 0.94), "yes", "no")
    frame["day"] = [f"{k % 28 + 1}.{k // 28 % 12 + 1}.{2020 + k // 336}" for k in range(N_RARE)]
    frame["patient"] = rng.integers(60, size=N_RARE)
    return frame


@pytest.fixture(scope="module", autouse=True)
def quick_fits():
    with quick_models():
        yield


def test_a_threshold_finds_rare_cases_and_is_in_the_file(rare, tmp_path):
    settings = {"roles": {"patient": "drop"}, "compare": False}
    plain = fit_table(rare, "found", **settings)
    model = fit_table(rare, "found", threshold="balanced", metric="balanced-accuracy", **settings)
    assert plain.facts_["positive"] == model.facts_["positive"] == "yes"
    assert plain.facts_["rare"]
    entries = [one.facts_["judged"]["bochner"] for one in (plain, model)]
    assert entries[0]["auc"] == entries[1]["auc"]  # the same probabilities
    assert entries[1]["balanced-accuracy"] > entries[0]["balanced-accuracy"] + 0.1
    chosen = model.facts_["threshold"]
    assert chosen["value"] < 0.4
    assert chosen["mistakes"][1] < chosen["mistakes_at_half"][1]
    assert "'yes' is predicted if its probability is at least" in fit_text(
        Facts.from_json(model.facts_)
    )
    pytest.importorskip("skops")
    save(model, tmp_path / "m.skops")
    loaded = load(tmp_path / "m.skops")
    assert isinstance(loaded["model"], ThresholdClassifier)
    is_yes = loaded.predict_proba(rare)[:, 1] >= chosen["value"]
    np.testing.assert_array_equal(loaded.predict(rare), np.where(is_yes, "yes", "no"))
    assert loaded.facts_ == model.facts_


@pytest.mark.long
def test_the_class_to_be_found_may_be_named_and_baselines_left_out(rare):
    model = fit_table(
        rare, "found", roles={"patient": "drop"}, threshold="balanced", positive="no", compare=False
    )
    facts = model.facts_
    assert facts["positive"] == model["model"].positive == "no"
    assert set(facts["judged"]) == {"bochner", "constant"}
    is_no = model.predict_proba(rare)[:, 0] >= facts["threshold"]["value"]
    np.testing.assert_array_equal(model.predict(rare), np.where(is_no, "no", "yes"))
    assert "'no' is predicted if its probability is at least" in fit_text(Facts.from_json(facts))
    last = fit_text(Facts.from_json(facts)).splitlines()[-1]
    assert last.startswith("Reading, fitting and evaluating took ")
    assert 1e7 < facts["cost"]["peak_bytes"] < 1e11
    with pytest.raises(TableError, match="two classes, got 'maybe'; the target has 'no', 'yes'"):
        fit_table(rare, "found", positive="maybe")
    with pytest.raises(TableError, match="the target is numbers"):
        fit_table(rare, "a", positive="yes")


def test_a_baseline_that_needs_much_memory_is_fitted_on_a_stated_sample(monkeypatch):
    monkeypatch.setattr(baselines_module, "_SVM_ROWS", 50)
    monkeypatch.setattr(baselines_module, "_NYSTROEM_ROWS", 80)
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"a": rng.normal(size=200)})
    frame["y"] = frame["a"] + 0.1 * rng.normal(size=200)
    facts = fit_table(frame, "y").facts_
    assert "Nyström + linear is fitted on 80 of the 150 rows." in facts["notes"]
    assert facts["judged"]["Nyström + linear"]["r2"] > 0.5
    rows = baselines_module.sampled_rows("Nyström + linear", (150, 1), 0)
    assert len(np.unique(rows)) == 80
    assert baselines_module.sampled_rows("linear", (150, 1), 0) is None


def test_labels_are_counted_as_by_sorting_them():
    rng = np.random.default_rng(0)
    for y in (
        rng.integers(-3, 4, size=50),
        rng.random(50) > 0.5,
        rng.choice(["b", "a", "é"], size=50).astype(object),
    ):
        for mine, expected in zip(
            counted_labels(y), np.unique(y, return_inverse=True, return_counts=True)
        ):
            np.testing.assert_array_equal(mine, expected)


@pytest.mark.long
def test_a_threshold_is_not_chosen_on_held_out_rows(rare):
    """Other labels of held-out rows leave it where it is."""
    parts = split(SplitSpec("time", "day"), rare, rare["found"].to_numpy(), True)
    changed = rare.copy()
    changed.loc[parts.test[::3], "found"] = "yes"
    found = [
        fit_table(
            f, "found", threshold="cost:1,9", split="time:day", roles={"patient": "drop"}
        ).facts_["threshold"]
        for f in (rare, changed)
    ]
    assert found[0]["value"] == found[1]["value"]
    assert found[0]["mistakes"] != found[1]["mistakes"]


def test_requests_that_do_not_fit_the_target(rare):
    numbers = rare.drop(columns="found")
    for options, message in (
        ({"metric": "auc"}, "no metric 'auc' for numbers; use one of auto, rmse, r2, mae"),
        ({"threshold": "balanced"}, "--threshold needs two classes; 'a' has numbers"),
        ({"split": "weekly"}, "--split must be random, time:COLUMN or group:COLUMN, got 'weekly'"),
        ({"split": "time:dya"}, "no column 'dya' to split by; did you mean 'day'"),
        ({"split": "group:a"}, "'a' is the target"),
    ):
        with pytest.raises(TableError, match=message):
            fit_table(numbers, "a", **options)
    with pytest.raises(TableError, match="no metric 'rmse' for two classes"):
        fit_table(rare, "found", metric="rmse")
    with pytest.raises(TableError, match="neither dates nor numbers"):
        fit_table(rare.assign(word=["x", "y"] * (N_RARE // 2)), "found", split="time:word")
    late = rare.assign(found=np.where(np.arange(N_RARE) < 100, rare["found"], "no"))
    with pytest.raises(TableError, match=r"the held-out rows have only one class \('no'\)"):
        fit_table(late, "found", split="time:day")
    with pytest.raises(TableError, match="has 2 groups; at least 8"):
        fit_table(rare.assign(word=["x", "y"] * (N_RARE // 2)), "found", split="group:word")


# --- splits and refits ----------------------------------------------------------------------------


def test_the_last_rows_in_time_and_whole_groups_are_held_out(rare):
    y = rare["found"].to_numpy()
    shuffled = rare.sample(frac=1, random_state=0)
    parts = split(SplitSpec("time", "day"), shuffled, y, True)
    days = pandas.to_datetime(shuffled["day"], format="%d.%m.%Y").to_numpy()
    assert days[parts.train].max() < days[parts.test].min()
    assert 0.2 < len(parts.test) / len(y) < 0.3
    with_hole = rare.assign(day=rare["day"].where(np.arange(N_RARE) > 200))
    hole = split(SplitSpec("time", "day"), with_hole, y, True)
    assert hole.notes == ["201 rows without a value of 'day' are not held out."]
    for classify, target in ((True, y), (False, rare["a"].to_numpy())):
        parts = split(SplitSpec("group", "patient"), rare, target, classify)
        patients = rare["patient"].to_numpy()
        assert not set(patients[parts.train]) & set(patients[parts.test])
        assert 0.15 < len(parts.test) / len(y) < 0.35


@pytest.mark.long
def test_what_is_certified_is_said_for_each_split(rare):
    group = fit_table(rare, "found", split="group:patient", refit=True)
    assert group.facts_["columns"]["patient"] == [
        "left out",
        "column of the groups to hold out",
    ]
    n_groups = group.facts_["split"]["n_groups"]
    assert 12 <= n_groups <= 18
    assert (
        f"the mean error over groups drawn like the {n_groups} held-out ones of 'patient'"
        in certificate_text(Facts.from_json(group.facts_))
    )
    assert "nothing is certified for single rows" in certificate_text(Facts.from_json(group.facts_))
    assert f"fitted again, on all {N_RARE} rows" in refit_text(Facts.from_json(group.facts_))[0]
    entry = group.facts_["judged"]["bochner"]
    assert entry["certified"] > entry["error_of_groups"]
    numbers = fit_table(
        rare.drop(columns=["found", "day"]), "a", split="group:patient", compare=False
    )
    assert "no interval is certified" in certificate_text(Facts.from_json(numbers.facts_))
    time = fit_table(rare.drop(columns="patient"), "found", split="time:day", compare=False)
    assert certificate_text(Facts.from_json(time.facts_)).startswith(
        "Not certified: rows in time are seldom independent"
    )
    assert refit_text(Facts.from_json(time.facts_)) == []


def test_a_refit_is_the_front_door_on_all_rows(rare):
    from bochner import SpectralClassifier

    frame = rare.drop(columns=["patient", "day"])
    model = fit_table(frame, "found", refit=True, compare=False)
    reader = ColumnReader()
    read = reader.fit_transform(frame.drop(columns="found"), frame["found"])
    expected = (
        SpectralClassifier(random_state=0).fit(read, frame["found"].to_numpy()).predict_proba(read)
    )
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-6)


def test_catboost_is_a_baseline_up_to_a_stated_size(monkeypatch):
    monkeypatch.setattr(baselines_module, "installed", lambda: ["CatBoost"])
    monkeypatch.setattr(baselines_module, "_CATBOOST_WORK", 50)
    X, y = pandas.DataFrame({"column 0": np.arange(60.0)}), np.arange(60) % 2
    found, notes = baselines_module.baseline_models(X, y, True, 0, "log-loss")
    assert "CatBoost" not in found
    assert notes == [
        "CatBoost is left out: 60 rows x 2 classes are more than 50, a fit would take minutes."
    ]
    pytest.importorskip("catboost")
    found, notes = baselines_module.baseline_models(X, np.sin(y), False, 0, "mae")
    assert notes == ["CatBoost is left out: 60 rows are more than 50, a fit would take minutes."]
    monkeypatch.setattr(baselines_module, "_CATBOOST_WORK", 200)
    found, notes = baselines_module.baseline_models(X, y, True, 0, "log-loss")
    model = found["CatBoost"].set_params(model__iterations=5).fit(X, y)
    assert model.predict_proba(X).shape == (60, 2)


def test_the_fingerprint_is_that_of_names_values_and_their_order():
    frame = pandas.DataFrame({"a": [1.0, None], "b": ["x", None], "c": [[1], {}]})
    others = [
        frame.rename(columns={"a": "z"}),
        frame.iloc[::-1],
        frame.assign(b=["x", "y"]),
        frame[["b", "a", "c"]],
    ]
    assert len({fingerprint(one) for one in [frame, frame.copy(), *others]}) == 5
