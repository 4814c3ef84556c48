"""Tables over results: averages, the published numbers beside ours, text."""

import json
from importlib.resources import files

import pytest

import bochner_papers as experiments
from bochner._terminal.text import aligned, cell_text
from bochner_papers.runner.summary import averaged, beside_published, published
from bochner_papers.runner.text import overview_text, summary_text

PUBLISHED = sorted(
    path.name[:-5]
    for path in (files(experiments) / "published").iterdir()
    if path.name.endswith(".json")
)


def test_averages_group_by_everything_but_repetitions():
    pairs = [
        ({"method": m, "size": 5, "seed": s}, {"error": 10.0 * s + (m == "b"), "best": "x"})
        for m in "ab"
        for s in (1, 2)
    ]
    table = averaged(pairs)
    assert table["columns"] == ["method", "error", "best"]
    assert table["fixed"] == {"size": 5}
    assert table["rows"][0] == [
        "a",
        {"mean": 15.0, "std": pytest.approx(7.0711, abs=1e-4), "n": 2},
        "x",
    ]
    assert averaged([]) == {"columns": [], "rows": [], "fixed": {}}
    assert averaged(pairs[:1])["rows"] == [["a", 5, 10.0, "x"]]


def test_curves_are_shown_by_their_ends_and_nested_lists_only_where_there_is_nothing_else():
    nested = [[1.0, 2.0]] * 50
    curves = [
        ({"method": "a", "seed": s}, {"curve": [0.0, 9.0, 1.0 + s], "nested": nested})
        for s in (1, 2)
    ]
    assert averaged(curves)["columns"] == ["method", "curve"]
    assert averaged(curves)["rows"] == [["a", "0\xa0→\xa02.5"]]
    assert averaged([({"method": "a"}, {"nested": nested})])["rows"] == [["a", "50 values"]]


def test_grids_of_settings_are_left_out_unless_they_tell_rows_apart():
    def columns(**grids):
        return averaged(
            [({"method": m, "grid": {"C": [grid]}}, {"error": 1.0}) for m, grid in grids.items()]
        )["columns"]

    assert columns(a=1, b=2) == ["method", "error"]
    same = [({"method": "a", "grid": [C]}, {"error": 1.0}) for C in (1, 2)]
    assert averaged(same)["columns"] == ["grid", "error"]


PAPER = {
    "source": "somewhere",
    "quantity": "error, %",
    "row": "data",
    "column": "method",
    "value": "error",
    "factor": 100,
    "aliases": {"iono": "ionosphere"},
    "columns": ["Our-Method", "SVM"],
    "rows": {"iono": [[10.0, 1.0], 12.0], "wine": [1.0, None]},
}


def test_published_numbers_stand_beside_ours():
    pairs = [
        ({"data": "ionosphere", "method": "our method", "seed": s}, {"error": e})
        for s, e in enumerate((0.1, 0.2))
    ]
    comparison = beside_published(pairs, PAPER)
    first, second = comparison["rows"][0]["cells"]
    assert first["ours"]["mean"] == pytest.approx(15.0)
    assert (first["published"], first["published_std"]) == (10.0, 1.0)
    assert second == {"ours": None, "published": 12.0, "published_std": None}
    assert all(cell["ours"] is None for cell in comparison["rows"][1]["cells"])


def test_columns_may_be_entries_of_the_results():
    pairs = [({"data": "wine"}, {"our_method": 0.5, "SVM": float("nan")})]
    ours = [cell["ours"] for cell in beside_published(pairs, PAPER)["rows"][1]["cells"]]
    assert ours == [50.0, None]


def test_rows_may_be_named_by_several_entries_and_results_nested():
    paper = PAPER | {
        "row": ["data", "method"],
        "columns": ["accuracy 10"],
        "rows": {"wine, svm": [90.0]},
    }
    del paper["column"]
    pairs = [({"data": "wine", "method": "svm"}, {"accuracy": {"10": 0.8, "20": 0.9}})]
    assert beside_published(pairs, paper)["rows"][0]["cells"][0]["ours"] == 80.0
    assert averaged(pairs)["columns"] == ["data", "method", "accuracy 10", "accuracy 20"]


def test_a_row_of_ranks_averages_places_and_shares_what_looks_equal():
    paper = PAPER | {
        "rows": {"a": [1.0, 2.0], "b": [1.0, 2.0], "rank": [1.5, 1.5]},
        "ranks": {"rank": 2},
    }
    pairs = [
        ({"data": "a"}, {"our method": 0.9, "SVM": 0.8}),
        ({"data": "b"}, {"our method": 0.7004, "SVM": 0.7001}),
    ]
    assert [cell["ours"] for cell in beside_published(pairs, paper)["rows"][2]["cells"]] == [
        1.25,
        1.75,
    ]
    assert [cell["ours"] for cell in beside_published(pairs[:1], paper)["rows"][2]["cells"]] == [
        None,
        None,
    ]


def test_a_row_of_means_needs_all_its_rows():
    paper = PAPER | {
        "rows": {"a": [1.0, 2.0], "b": [1.0, 2.0], "mean": [1.0, 2.0]},
        "means": {"mean": 2},
    }
    pairs = [({"data": "a"}, {"SVM": 0.1, "our method": 0.1}), ({"data": "b"}, {"SVM": 0.3})]
    cells = beside_published(pairs, paper)["rows"][2]["cells"]
    assert cells[0]["ours"] is None
    assert cells[1]["ours"] == pytest.approx(20.0)


def test_a_filter_keeps_only_the_papers_setting():
    pairs = [({"data": "wine", "percent": p}, {"SVM": p / 100}) for p in (10, 20)]
    comparison = beside_published(pairs, PAPER | {"where": {"percent": 10}})
    assert comparison["rows"][1]["cells"][1]["ours"] == 10.0


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_are_whole(name):
    paper = published(name)
    assert paper["source"]
    assert paper["quantity"]
    for row in paper["rows"].values():
        assert len(row) == len(paper["columns"])
    json.dumps(paper, allow_nan=False)


def test_no_file_means_no_published_numbers():
    assert published("no_such_experiment") is None


def test_table_2_has_the_printed_means():
    paper = published("gbrff_table2")
    for k in range(len(paper["columns"])):
        rows = [row[k][0] for row in list(paper["rows"].values())[:15]]
        assert len(rows) == 15
        assert sum(rows) / 15 == pytest.approx(paper["rows"]["mean"][k][0], abs=0.0501)


def test_ranks_can_leave_a_column_out():
    """The published ranks of the five other methods are those of the printed means."""
    paper = published("gbrff_table2")
    printed = [
        ({"dataset": paper["aliases"].get(name, name), "method": method}, {"accuracy": cell[0]})
        for name, cells in list(paper["rows"].items())[:15]
        for method, cell in zip(paper["columns"], cells)
    ]
    rows = {row["name"]: row["cells"] for row in beside_published(printed, paper)["rows"]}
    of_five = rows["rank without BMKR"]
    assert of_five[0]["ours"] is None
    assert [round(cell["ours"], 2) for cell in of_five[1:]] == [
        cell["published"] for cell in of_five[1:]
    ]
    assert sum(cell["ours"] for cell in of_five[1:]) == pytest.approx(15)
    assert sum(cell["ours"] for cell in rows["rank"]) == pytest.approx(21)
    # The paper's own ranks of six are those of unrounded means.
    assert [cell["ours"] for cell in rows["rank"]] == pytest.approx(
        [cell["published"] for cell in rows["rank"]], abs=0.06
    )


def test_text_is_aligned_and_complete():
    assert aligned(["name", "value"], [["a", "1"], ["bcd", "10"]]).splitlines() == [
        "name  value",
        "----  -----",
        "a         1",
        "bcd      10",
    ]
    assert cell_text(1e-12) == "1e-12"
    summary = {
        "experiment": "x",
        "paper": "Table 1",
        "claim": "It works.",
        "published": beside_published([({"data": "wine"}, {"SVM": 0.5})], PAPER),
        "table": {"columns": [], "rows": [], "fixed": {}},
        "deviations": ["No data."],
        "skipped": [{"case": {}, "reason": "not at hand"}] * 3,
        "failed": [{"case": {"a": 1}, "error": "Boom: x"}],
        "n_of_earlier_code": 2,
        "n_finished": 3,
        "n_cases": 7,
        "n_left_out": 1,
        "left_out": "The seventh, a day.",
        "seconds": 100,
        "verdict": "cannot tell",
        "why": "Too few.",
        "rule": "Holds when it does.",
    }
    assert overview_text([summary]).splitlines()[-1].split() == [
        "x",
        "cannot",
        "tell",
        "3/7",
        "3",
        "1",
        "2",
        "min",
    ]
    text = summary_text(summary)
    assert "50 (–)" in text
    assert "– (10.0 ± 1.0)" in text
    assert text.count("not at hand") == 1
    for part in (
        "Deviation: No data.",
        "Boom: x",
        "2 results come from an earlier",
        "CANNOT TELL. Too few.",
        "3 of 7 cases (left out: The seventh, a day), 2 min of work",
        "Rule: Holds when it does.",
    ):
        assert part in text
