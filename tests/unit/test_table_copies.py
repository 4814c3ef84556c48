"""Tables whose rows are repeated: copies stay together and count once, ties are independent
observations.
"""

from dataclasses import replace

import numpy as np
import page_samples
import pytest
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

pandas = pytest.importorskip("pandas")

from bochner import fit_table
from bochner.tables import ColumnReader, TableError
from bochner.tables.evaluate import baselines as baselines_module
from bochner.tables.evaluate.baselines import baseline_models
from bochner.tables.evaluate.copies import Observations, seen_inputs
from bochner.tables.evaluate.splitting import SplitSpec, split_rows
from bochner.tables.evaluate.thresholds import out_of_sample_scores
from bochner.tables.evaluate.usable_rows import usable_rows
from bochner.tables.facts import Facts, RepeatedRows, SeenRows
from bochner.tables.pages import model_page
from bochner.tables.text import fit_text, repeated_text


def noisy_table(rng, n_rows):
    """Half of the variance of y is noise."""
    frame = pandas.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"])
    frame["kind"] = rng.choice(["x", "y", "z"], n_rows)
    return frame.assign(y=frame["a"] + rng.normal(size=n_rows))


def twice(frame):
    return pandas.concat([frame, frame], ignore_index=True)


def with_labels(frame):
    return frame.assign(y=np.where(frame["y"] > 0, "in", "out"))


def observations_of(frame, target, roles=None, split_by=None):
    return usable_rows(frame, target, "auto", roles or {}, split_by).observations


def test_copies_are_found_in_spite_of_running_numbers_and_identifiers():
    rng = np.random.default_rng(0)
    frame = noisy_table(rng, 60)
    assert observations_of(frame, "y").n_repeated == 0
    for table in (frame, with_labels(frame)):
        copied = twice(table)
        for more in (
            {},
            {"row": np.arange(120)},
            {"uuid": [f"{k:x}" for k in rng.permutation(10**6)[:120]]},
            {"note": np.where(np.arange(120) % 60 == 0, None, "text")},
        ):
            found = observations_of(copied.assign(**more), "y")
            assert found.n_repeated == 60
            assert not found.are_ties
            np.testing.assert_array_equal(found.numbers[:60], found.numbers[60:])
        # What is not asked for does not tell rows apart; what rows are split by does.
        comment = copied.assign(comment=np.repeat(["first", "second"], 60))
        assert observations_of(comment, "y").n_repeated == 0
        assert observations_of(comment, "y", {"comment": "drop"}).n_repeated == 60
        assert observations_of(comment, "y", {"comment": "identifier"}, "comment").n_repeated == 0


def test_a_table_of_identifiers_has_no_copies():
    frame = pandas.DataFrame({"row": np.arange(40), "y": np.arange(40) % 2})
    assert observations_of(frame, "y").n_repeated == 0


def test_ties_are_told_from_copies():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"sex": rng.choice(["f", "m"], 200), "class": rng.integers(3, size=200)}
    )
    frame["y"] = rng.choice(["yes", "no"], 200)
    found = observations_of(frame, "y")
    assert found.are_ties
    assert found.n_repeated == 200 - 12
    assert found.first().tolist() == list(range(200))
    assert not found.has_copies


def test_few_different_rows_are_refused():
    frame = pandas.DataFrame({"a": [0.5, 1.5, 2.5, 3.5] * 20, "y": ["p", "q", "p", "q"] * 20})
    with pytest.raises(
        TableError, match="80 rows with a target, but only 4 different ones; at least 20"
    ):
        fit_table(frame, "y")


@pytest.mark.parametrize("kind", ["random", "time:day", "group:person"])
@pytest.mark.parametrize("classify", [True, False])
def test_copies_are_on_one_side_of_every_split_and_count_once_when_held_out(kind, classify, seed):
    rng = np.random.default_rng(seed)
    frame = noisy_table(rng, 80).assign(
        day=rng.integers(40, size=80), person=rng.integers(20, size=80)
    )
    frame = twice(frame).sample(frac=1, random_state=seed).reset_index(drop=True)
    table = with_labels(frame) if classify else frame
    wish = SplitSpec.of(kind, list(table.columns), "y")
    rows = usable_rows(table, "y", "auto", {}, wish.column)
    split = split_rows(wish, rows.rest, rows.y, classify, seed, ".", rows.observations)
    numbers = rows.observations.numbers
    assert set(numbers[split.train]).isdisjoint(numbers[split.test])
    assert len(np.unique(numbers[split.test])) == len(split.test)
    assert len(split.train) == 2 * (80 - len(split.test))
    if kind == "random":
        assert len(split.test) == 20


def test_a_split_without_copies_is_that_of_scikit_learn(seed):
    from sklearn.model_selection import train_test_split

    y = np.random.default_rng(seed).integers(2, size=60)
    split = split_rows(SplitSpec(), None, y, True, seed, ".", Observations(np.arange(60)))
    train, test = train_test_split(np.arange(60), test_size=0.25, random_state=seed, stratify=y)
    np.testing.assert_array_equal(split.train, train)
    np.testing.assert_array_equal(split.test, test)


@pytest.mark.parametrize("splitter", [KFold, StratifiedKFold])
def test_folds_keep_copies_together(splitter, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(30, size=90)
    observations = Observations(numbers, 60)
    left_out = []
    for kept, rest in observations.folds(splitter(3, shuffle=True, random_state=0), numbers % 2):
        assert set(numbers[kept]).isdisjoint(numbers[rest])
        assert len(kept) + len(rest) == 90
        left_out.append(rest)
    np.testing.assert_array_equal(np.sort(np.concatenate(left_out)), np.arange(90))


def test_scores_for_a_threshold_know_no_copies(seed):
    """The nearest neighbour of a row is its copy, which would tell the label of noise."""
    rng = np.random.default_rng(seed)
    frame = twice(pandas.DataFrame({"a": rng.normal(size=200)}))
    y = np.tile(rng.integers(2, size=200), 2)
    observations = Observations.of(frame, y, True, ["a"])
    rows, scores = out_of_sample_scores(
        ColumnReader(),
        KNeighborsClassifier(1),
        frame,
        y,
        1,
        None,
        observations,
        seed,
    )
    right = np.mean((scores > 0.5) == y[rows])
    assert abs(right - 0.5) < 5 * np.sqrt(0.25 / 200)


def test_held_out_inputs_among_the_training_rows_are_counted():
    frame = pandas.DataFrame(
        {"a": [1.0, 2.0, 1.0, 2.0, 3.0], "b": ["x", "y", "x", "x", "y"], "c": range(5)}
    )
    train, test = np.array([0, 1]), np.array([2, 3, 4])
    assert seen_inputs(frame, ["a", "b"], train, test) == 1
    assert seen_inputs(frame, ["a"], train, test) == 2
    assert seen_inputs(frame, ["a", "c"], train, test) == 0


def test_repeated_rows_are_reported():
    facts = Facts.from_json(page_samples.facts("regression") | {"n_rows": 450, "n_test": 75})
    facts = replace(facts, repeated=RepeatedRows(150, 1 / 3, False))
    assert repeated_text(facts) == [
        "150 of 450 rows (33%) repeat another row; copies are on the same side of every split, "
        "and held-out copies count once."
    ]
    both = replace(facts, repeated=RepeatedRows(150, 1 / 3, True), seen=SeenRows(60, 0.8))
    assert repeated_text(both) == [
        "150 of 450 rows (33%) repeat another row; equal inputs also have different outcomes, "
        "so these are independent observations.",
        "60 of 75 held-out rows (80%) have inputs that also occur among the training rows.",
    ]
    assert repeated_text(replace(facts, repeated=None, seen=None)) == []


def test_what_is_said_of_a_table_twice_holds_for_fresh_rows():
    """300 rows twice: errors, R² and coverage are those of fresh rows, not of rows that were
    fitted.
    """
    rng = np.random.default_rng(0)
    frame, fresh = noisy_table(rng, 300), noisy_table(rng, 4000)
    model = fit_table(twice(frame), "y", compare=False)
    facts, entry = model.facts_, model.facts_["judged"]["bochner"]
    assert facts["repeated"] == {"n_rows": 300, "share": 0.5, "are_ties": False}
    assert facts["seen"] is None
    assert (facts["n_train"], facts["n_test"]) == (450, 75)
    errors = np.asarray(model.predict(fresh)) - fresh["y"]
    assert np.mean(np.abs(errors) <= entry["half_width"]) >= entry["coverage"]
    assert (
        abs(entry["r2"] - (1 - np.mean(errors**2) / fresh["y"].var()))
        < 3 * entry["standard_errors"]["r2"]
    )
    said = "300 of 600 rows (50%) repeat another row; copies are on the same side"
    assert said in fit_text(Facts.from_json(facts))
    assert said in model_page(Facts.from_json(facts), "model.skops")


@pytest.mark.long
@pytest.mark.parametrize("task", ["labels", "noise"])
def test_the_certified_error_of_a_table_twice_is_above_the_true_one(task):
    missed, n_runs = 0, 6
    for run in range(n_runs):
        rng = np.random.default_rng(run)
        frame, fresh = (with_labels(noisy_table(rng, n)) for n in (300, 4000))
        if task == "noise":
            frame, fresh = (
                one.assign(y=rng.choice(["in", "out"], len(one))) for one in (frame, fresh)
            )
        model = fit_table(twice(frame), "y", compare=False, seed=run)
        missed += (
            np.mean(model.predict(fresh) != fresh["y"])
            > model.facts_["judged"]["bochner"]["certified"]
        )
    assert missed <= 1  # each fails with a probability of at most 5 %


# --- other models get the columns of the table, and no means of the target ------------------------


def many_names(rng, n_rows=600, n_levels=200):
    """A category of many levels that says nothing about the target."""
    names = [f"name {k}" for k in rng.integers(n_levels, size=n_rows)]
    return pandas.DataFrame({"name": names, "y": np.where(rng.random(n_rows) < 0.3, "a", "b")})


def test_other_models_get_raw_columns(monkeypatch):
    """Categories with all their levels, dates as days and parts of the calendar, numbers; nothing
    for identifiers.
    """
    from bochner.tables import fitting as fitting_module

    seen = []

    def watched(X, *others):
        seen.append(X)
        found, notes = baseline_models(X, *others)
        return {"constant": found["constant"]}, notes

    monkeypatch.setattr(fitting_module, "baseline_models", watched)
    rng = np.random.default_rng(0)
    frame = many_names(rng, 300, 80).assign(
        day=pandas.date_range("2020-01-01", periods=300).astype(str),
        row_id=np.arange(300),
        size=rng.normal(size=300),
    )
    facts = fit_table(frame, "y").facts_
    assert facts["left_out"].keys() == {"row_id"}
    (X,) = seen
    kinds = X.dtypes.astype(str).tolist()
    assert kinds.count("category") == 1
    levels = X[X.columns[kinds.index("category")]]
    assert levels.nunique() > 70
    n_of_dates = 1 + 2 * 2  # days, and two columns each for the parts of the year and of the week
    assert X.shape[1] == 1 + n_of_dates + 1


def test_catboost_is_given_texts_and_the_names_of_categories(monkeypatch):
    import sys
    from types import ModuleType

    from sklearn.dummy import DummyClassifier

    class Recorder(DummyClassifier):
        def __init__(self, cat_features=None, **options):
            super().__init__()
            self.cat_features = cat_features

        def fit(self, X, y):
            self.X = X
            return super().fit(X, y)

    stub = ModuleType("catboost")
    stub.CatBoostClassifier = stub.CatBoostRegressor = Recorder
    monkeypatch.setitem(sys.modules, "catboost", stub)
    monkeypatch.setattr(baselines_module, "installed", lambda: ["CatBoost"])
    names = pandas.Series(["u", None, "v", "u"] * 10, dtype="category")
    X = pandas.DataFrame({"column 0": names, "column 1": np.arange(40.0)})
    model = baseline_models(X, np.arange(40) % 2, True, 0, "log-loss")[0]["CatBoost"].fit(
        X, np.arange(40) % 2
    )
    assert model.model.cat_features == ["column 0"]
    assert model.model.X["column 0"].tolist() == ["u", "missing", "v", "u"] * 10
    np.testing.assert_array_equal(model.model.X["column 1"], X["column 1"])


def test_linear_models_get_levels_and_imputed_numbers():
    X = pandas.DataFrame(
        {"level": pandas.Categorical(["a", "b", "c"] * 20), "number": np.arange(60.0)}
    )
    X.loc[7, "number"] = np.nan
    y = np.where(X["level"] == "b", 3.0, 0.0)
    new = X.assign(level=pandas.Categorical(["never seen"] * 60))
    for name in ("linear", "RBF-SVM"):
        model = baseline_models(X, y, False, 0, "rmse")[0][name].fit(X, y)
        assert np.abs(model.predict(X) - y).max() < 0.5
        assert np.all(np.isfinite(model.predict(new)))
