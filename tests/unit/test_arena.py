"""The comparison with other libraries: tables, stored lines, ratings and reports."""

import json
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

import arena_learners as learners
import arena_ratings as ratings
import arena_report as report
from arena_tables import curve_sizes, generated_table, half, n_splits

from benchmarks import arena


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two small tables in the format of the folder."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=80), "kind": rng.choice(["a", "b", None], size=80)}
    )
    frame.loc[::9, "size"] = np.nan
    frame.assign(target=np.where(rng.random(80) < 0.4, "no", "yes")).to_parquet(
        tmp_path / "votes.parquet"
    )
    frame.assign(target=rng.normal(size=80)).to_parquet(tmp_path / "prices.parquet")
    index = [
        {"name": "votes", "task": "classification", "n": 80},
        {"name": "prices", "task": "regression", "n": 80},
    ]
    (tmp_path / "index.json").write_text(json.dumps(index))
    monkeypatch.setenv("BOCHNER_TABLES", str(tmp_path))
    return tmp_path


def line(table, learner, score=None, *, task="regression", **more):
    """Return a line with the main metric of its task, or a failed one without a score."""
    own = {"table": table, "split": 0, "learner": learner, "tuned": 0, "rows": 90, "task": task}
    own |= {"version": f"{learner} 1"}
    if score is None:
        return own | {"error": "ValueError: no"} | more
    scores = {"r2": score} if task == "regression" else {"log loss": score}
    scores |= {"auc": 0.5, "accuracy": 0.5} if task == "classification" else {}
    return own | scores | {"fit seconds": 1.0, "predict seconds": 0.5} | more


# --- tables --------------------------------------------------------------------------------------


def test_tables_of_a_folder_keep_their_types(folder):
    frame, y, task = arena.load_table("votes")
    assert task == "classification"
    assert set(y) == {"no", "yes"}
    assert str(frame["kind"].dtype) == "category"
    assert "target" not in frame.columns
    assert arena.load_table("prices")[1].dtype == np.float64


def test_a_folder_without_an_index_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("BOCHNER_TABLES", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no index\.json"):
        arena.tables()


def test_splits_are_disjoint_stratified_and_bounded():
    y = np.repeat(["a", "b"], [30_000, 10_000])
    train, test = arena.split_rows(y, "classification", 0)
    assert len(train) == len(test) == 10_000
    assert not set(train) & set(test)
    assert np.mean(y[train] == "b") == pytest.approx(0.25, abs=0.001)


def test_more_training_rows_leave_the_test_rows():
    y = np.arange(5000.0)
    few, many = (arena.split_rows(y, "regression", 0, rows) for rows in (500, 3000))
    np.testing.assert_array_equal(few[1], many[1])
    assert (len(few[0]), len(many[0])) == (500, 3000)


def test_halves_follow_the_parity_of_the_checksum():
    names = ["spectf", "ecoli", "musk1", "shuttle", "concrete"]
    assert [half(name) for name in names] == [
        "chosen",
        "reported",
        "chosen",
        "reported",
        "reported",
    ]


def test_small_tables_have_more_splits():
    assert [n_splits(n) for n in (1999, 2000, 9999, 10_000)] == [3, 2, 2, 1]


def test_a_learning_curve_ends_with_all_rows():
    assert curve_sizes(1000) == [1000]
    assert curve_sizes(12_000) == [1000, 3000, 10_000, 12_000]
    assert curve_sizes(4_000_000)[-2:] == [300_000, 1_000_000]


def test_generated_values_have_the_stated_noise():
    X, y = generated_table(50_000)
    x = X.to_numpy().T
    smooth = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    steps = 5 * (x[5] > 0.7) - 5 * ((x[6] < 0.3) & (x[7] > 0.5))
    noise = y - smooth - steps
    assert abs(noise.mean()) * np.sqrt(50_000) < 5
    assert abs(noise.var() - 1) * np.sqrt(50_000 / 2) < 5


# --- ratings -------------------------------------------------------------------------------------


def test_two_ratings_are_the_odds_of_the_wins():
    """Three wins of four have odds of three: 400 log10(3) points, ties count half."""
    wins = np.array([[0.0, 3.0], [1.0, 0.0]])
    gap = np.subtract(*ratings.bradley_terry(wins))
    assert gap == pytest.approx(np.log(3), abs=1e-6)
    points = ratings.elo(wins, ["a", "random forest"])
    prior = ratings.PRIOR_GAMES / 2
    assert points[0] - 1000 == pytest.approx(400 * np.log10((3 + prior) / (1 + prior)), abs=1e-3)
    assert points[1] == 1000


def test_three_ratings_reproduce_the_odds_of_a_cycle():
    """Wins that follow strengths 1 : 2 : 4 exactly give these strengths."""
    strengths = np.array([1.0, 2.0, 4.0])
    wins = 6 * strengths[:, None] / (strengths[:, None] + strengths)
    np.fill_diagonal(wins, 0)
    found = ratings.bradley_terry(wins)
    np.testing.assert_allclose(found, np.log([0.5, 1, 2]), atol=1e-6)


def test_a_learner_that_always_wins_has_a_finite_rating():
    points = ratings.elo(np.array([[0.0, 50.0], [0.0, 0.0]]), ["a", "random forest"])
    assert 2000 < points[0] < 3000


def test_without_the_anchor_the_mean_is_the_origin():
    assert ratings.elo(np.array([[0.0, 2.0], [1.0, 0.0]]), ["a", "b"]).mean() == 1000


def test_intervals_are_reproducible_and_hold_the_rating():
    rng = np.random.default_rng(0)
    wins = np.zeros((40, 2, 2))
    wins[:, 0, 1] = rng.random(40) < 0.7
    wins[:, 1, 0] = 1 - wins[:, 0, 1]
    labels = ["a", "random forest"]
    low, high = ratings.elo_intervals(wins, labels)
    np.testing.assert_array_equal([low, high], ratings.elo_intervals(wins, labels))
    assert low[0] < ratings.elo(wins.sum(axis=0), labels)[0] < high[0]
    assert low[1] == high[1] == 1000
    # The binomial error of 40 tables in points of Elo: 400 / ln 10 / sqrt(40 p (1 − p)).
    share = wins[:, 0, 1].mean()
    error = 400 / np.log(10) / np.sqrt(40 * share * (1 - share))
    assert 0.7 < (high[0] - low[0]) / (2 * 1.96 * error) < 1.4


def test_outcomes_have_ties_within_the_margin():
    assert ratings.outcome(0.9, 0.8) == 1
    assert ratings.outcome(0.8, 0.9) == 0
    assert ratings.outcome(0.8, 0.8019) == 0.5
    assert ratings.outcome(-np.inf, 0.1) == 0
    assert ratings.outcome(-np.inf, -np.inf) is None


def test_wins_of_pairs_count_ties_half_and_failures_as_losses():
    lines = [line("t", "a", 0.5), line("t", "b", 0.501), line("t", "c", 0.9), line("t", "d")]
    wins = ratings.pair_wins(ratings.table_means(lines), ["a", "b", "c", "d", "absent"])
    expected = [[0, 0.5, 0, 1, 0], [0.5, 0, 0, 1, 0], [1, 1, 0, 1, 0], [0] * 5, [0] * 5]
    np.testing.assert_array_equal(wins, [expected])


def test_less_log_loss_wins():
    lines = [
        line("t", name, loss, task="classification") for name, loss in (("a", 0.3), ("b", 0.4))
    ]
    means = ratings.table_means(lines)
    assert ratings.pair_wins(means, ["a", "b"])[0].tolist() == [[0, 1], [0, 0]]
    assert ratings.gains(means, "a", "b", "log loss") == {"t": pytest.approx(0.1)}
    assert ratings.counts(means, "a", "b", "log loss") == (1, 0, 0)


def test_normalized_scores_are_one_for_the_best_and_zero_for_the_worst_and_for_failures():
    np.testing.assert_allclose(ratings.normalized([0.2, 0.7, 0.45, -np.inf]), [0, 1, 0.5, 0])
    np.testing.assert_array_equal(ratings.normalized([0.3, 0.3, -np.inf]), [1, 1, 0])
    np.testing.assert_array_equal(ratings.normalized([-np.inf]), [0])


def test_splits_are_averaged_first_and_a_failure_on_one_is_a_failure():
    lines = [line("t", name, score) for name, score in (("a", 0.2), ("b", 0.4), ("c", 0.4))]
    lines += [line("t", "a", 0.4, split=1), line("t", "b", split=1)]
    means = ratings.table_means(lines)
    assert means["t"]["a"]["r2"] == pytest.approx(0.3)
    assert means["t"]["b"] == ratings.FAILED
    assert "c" not in means["t"]  # split 1 is still to be fitted


def test_each_table_counts_with_its_largest_number_of_rows_up_to_the_limit():
    lines = [line("t", "a", 0.1, rows=rows) for rows in (30, 90, 300)] + [
        line("u", "a", 0.1, rows=50)
    ]
    found = ratings.lines_at(lines, 100)
    assert [(one["table"], one["rows"]) for one in found] == [("t", 90), ("u", 50)]


def test_losses_name_the_table_and_the_best_other():
    lines = [line("t", "bochner", 0.5), line("t", "CatBoost", 0.6), line("t", "EBM", 0.7)]
    lines += [line("t", "bochner, trees", 0.9), line("u", "bochner", 0.5), line("u", "EBM", 0.4)]
    lines += [line("v", "bochner"), line("v", "EBM", 0.1)]
    found = ratings.losses(
        ratings.table_means(lines), "bochner", "regression", left_out=["bochner, trees"]
    )
    assert [one[1:3] for one in found] == [("v", "EBM"), ("t", "EBM")]
    assert found[1][0] == pytest.approx(0.2)


# --- lines ---------------------------------------------------------------------------------------


@pytest.fixture
def two_learners(monkeypatch):
    """Replace the learners by two that need nothing."""
    own = {
        "bochner": learners.Learner(learners.histogram_trees, ("sklearn",)),
        "random forest": learners.Learner(
            learners.random_forest, ("sklearn",), {"n_estimators": [3]}
        ),
        "absent": learners.Learner(None, ("no_such_module",)),
    }
    for module in (arena, report):
        monkeypatch.setattr(module, "LEARNERS", own)
    return own


def test_fits_are_kept_as_lines_and_not_repeated(folder, two_learners, capsys):
    path = folder / "lines.jsonl"
    arguments = ["--rows", "40", "--tuned", "2", "--lines", str(path)]
    arena.main(arguments)
    printed = capsys.readouterr()
    lines = arena.read_lines(path)
    keys = [arena.key_of(one) for one in lines]
    defaults = [
        (table, split, name, 0, 40)
        for table in ("votes", "prices")
        for split in range(3)
        for name in ("bochner", "random forest")
    ]
    tuned = [(t, s, name, 2, 40) for t, s, name, _, _ in defaults if name == "random forest"]
    assert keys == defaults + tuned
    metrics = {"classification": {"auc", "log loss", "accuracy"}, "regression": {"r2"}}
    assert all(metrics[one["task"]] < set(one) and "error" not in one for one in lines)
    assert all(one["fit seconds"] > 0 and one["predict seconds"] > 0 for one in lines)
    assert "left out: absent" in printed.err
    arena.main(arguments)
    again = capsys.readouterr()
    assert arena.read_lines(path) == lines
    assert again.out == printed.out
    assert "votes" not in again.err


def test_an_interrupted_run_goes_on(folder, two_learners, monkeypatch, capsys):
    path = folder / "lines.jsonl"
    measured, calls = arena.measured, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measured(*arguments)

    monkeypatch.setattr(arena, "measured", interrupted)
    arguments = ["--tables", "prices", "--tuned", "0", "--lines", str(path)]
    with pytest.raises(SystemExit) as stopped:
        arena.main(arguments)
    assert stopped.value.code == 130
    assert len(arena.read_lines(path)) == 2
    with path.open("a") as file:
        file.write('{"table": "pri')  # as if the process had been killed while writing
    arena.main(arguments)
    assert len(arena.read_lines(path)) == 6
    assert len(calls) == 3 + 4


def test_a_failed_fit_is_a_line_and_a_loss(folder, two_learners, capsys):
    def build(X, classify, seed):
        if "size" in X:
            raise ValueError("no size,\nplease")
        return learners.histogram_trees(X, classify, seed)

    two_learners["bochner"] = learners.Learner(build)
    path = folder / "lines.jsonl"
    arena.main(["--tables", "prices", "--tuned", "0", "--lines", str(path)])
    failed = [one for one in arena.read_lines(path) if "error" in one]
    assert {one["learner"] for one in failed} == {"bochner"}
    assert failed[0]["error"] == "ValueError: no size, please"
    printed = capsys.readouterr().out
    assert "| random forest | – | 0/0/1 | – | – |" in printed
    assert "- bochner, prices, split 0, 60 rows: `ValueError: no size, please`" in printed


def test_a_learner_that_cannot_fit_a_small_table_is_left_out(folder, two_learners, capsys):
    two_learners["bochner"] = learners.Learner(lambda X, classify, seed: 1 / 0)
    path = folder / "lines.jsonl"
    arena.main(["--tables", "prices", "--tuned", "0", "--lines", str(path)])
    assert {one["learner"] for one in arena.read_lines(path)} == {"random forest"}
    assert "bochner does not work here, and is left out: ZeroDivision" in capsys.readouterr().err


def test_a_learner_with_limits_is_fitted_within_them_only(folder, two_learners, capsys):
    forest = two_learners["random forest"]
    two_learners["bochner"] = learners.Learner(forest.build, limits=(60, 2, 2))
    X, y = pd.DataFrame(np.zeros((60, 2))), np.repeat(["a", "b"], 30)
    assert two_learners["bochner"].accepts(X, y, True)
    assert not two_learners["bochner"].accepts(X, np.arange(60) % 3, True)
    assert not two_learners["bochner"].accepts(X.assign(third=0), y, True)
    assert not two_learners["bochner"].accepts(X, y, False)
    path = folder / "lines.jsonl"
    arena.main(["--only", "bochner", "--tuned", "0", "--lines", str(path)])
    assert {one["table"] for one in arena.read_lines(path)} == {"votes"}


def test_a_learner_without_its_checkpoint_is_not_installed():
    own = learners.Learner(None, ("sklearn",), checkpoint="no such file")
    assert not own.installed
    assert learners.Learner(None, ("sklearn",), checkpoint="__init__.py").installed


def test_only_tables_of_a_half_are_fitted(folder, two_learners, capsys):
    path = folder / "lines.jsonl"
    arguments = ["--tuned", "0", "--only", "random forest", "--lines", str(path)]
    arena.main([*arguments, "--half", half("votes")])
    expected = {name for name in ("votes", "prices") if half(name) == half("votes")}
    assert {one["table"] for one in arena.read_lines(path)} == expected


# --- reports -------------------------------------------------------------------------------------


def many_lines(gain):
    """Return lines of twelve tables of each task; our score is better by ``gain``."""
    scores = {"bochner": 0.6 + gain, "random forest": 0.6, "LightGBM": 0.5}
    names = [f"table {k}" for k in range(60)]
    names = [name for name in names if half(name) == "reported"][:24]
    lines = []
    for k, name in enumerate(names):
        for learner, score in scores.items():
            own = score + 0.01 * k
            seconds = {"fit seconds": 2.0 if learner == "bochner" else 1.0}
            if k % 2:
                lines.append(line(name, learner, own, **seconds))
            else:
                more = {"auc": own, "accuracy": own} | seconds
                lines.append(line(name, learner, 1 - own, task="classification", **more))
    return lines


def cells(text, label, task):
    """Return the cells of a learner in the first table of a task."""
    rows = text[text.index(f"tables with {task}") :].splitlines()
    found = next(row for row in rows if row.startswith(f"| {label} |"))
    return found.strip("| ").split(" | ")[1:]


def test_differences_are_paired_by_table():
    text = report.page(many_lines(0.05), 90)
    times = ["×2", "×1"]
    gain = ["+.050 ± .000", "12/0/0"]
    assert cells(text, "random forest", "classes") == [*gain * 3, *times]
    assert cells(text, "random forest", "values") == ["+.050 ± .000 (+.050)", "12/0/0", *times]
    assert cells(report.page(many_lines(0.001), 90), "random forest", "values")[1] == "0/12/0"
    behind = cells(report.page(many_lines(-0.05), 90), "random forest", "classes")
    assert behind[2:4] == ["-.050 ± .000", "0/0/12"]


def test_the_reported_half_comes_first_and_makes_the_readme():
    lines = many_lines(0.05)
    other = [
        one | {"table": name, "r2": -9.0} if one["learner"] == "bochner" else one | {"table": name}
        for name in [f"table {k}" for k in range(60) if half(f"table {k}") == "chosen"][:3]
        for one in lines
        if one["table"] == lines[3]["table"]
    ]
    assert report.readme(lines + other, 90) == report.readme(lines, 90)
    assert "12 with classes + 12 with values" in report.readme(lines, 90)
    text = report.page(lines + other, 90)
    heads = [row for row in text.splitlines() if row.startswith("## ")]
    assert heads == [
        "## Reported half: not used for choices of defaults (24)",
        "## Other half: used for choices of defaults (3)",
        "## Both halves (27)",
        "## Versions",
    ]
    assert "Not run: bochner, trees, CatBoost" in text


def test_tables_for_learning_curves_are_not_compared():
    lines = [line("adult", "bochner", 0.4, task="classification", rows=n) for n in (30, 60, 90)]
    text = report.page(lines + many_lines(0.05), 90)
    assert "## Both halves (24)" in text
    assert "| adult, log-loss (fit seconds) | 30 | 60 | 90 |" in text
    assert "| bochner | 0.4000 (1) | 0.4000 (1) | 0.4000 (1) |" in text


def test_plots_are_written_beside_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    lines = many_lines(0.05)
    lines += [line("adult", "bochner", 0.4, task="classification", rows=n) for n in (30, 60, 90)]
    found = arena.images_beside(tmp_path / "page.md", lines, 90)
    assert [text.split("(")[1] for text in found] == ["page_time.png)", "page_curves.png)"]
    assert all((tmp_path / f"page_{name}.png").stat().st_size for name in ("time", "curves"))
    assert arena.images_beside(tmp_path / "other.md", [], 90) == []


STORED = Path(__file__).resolve().parents[2] / "benchmarks" / "arena.jsonl"


@pytest.mark.skipif(not STORED.is_file(), reason="no stored lines")
def test_the_documents_show_what_the_stored_lines_say():
    lines, page = arena.read_lines(STORED), STORED.with_suffix(".md").read_text()
    images = [row for row in page.splitlines() if row.startswith("![")]
    assert page == report.page(lines, 10_000, images)
    shown = STORED.parents[1].joinpath("README.md").read_text().splitlines()
    rows = [row for row in shown if row.startswith("| ") and "± ." in row]
    assert rows
    assert set(rows) <= set(report.readme(lines, 10_000).splitlines())
