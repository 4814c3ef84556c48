"""Report pages: whole, self-contained, and never executing what a data file contains."""

import csv
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import page_samples
import pytest

from bochner.tables.facts import Facts
from bochner.tables.pages import charts, model_page
from bochner.tables.pages.document import document, table, tag
from bochner_papers.runner.pages import write_experiment, write_index
from bochner_papers.runner.summary import averaged


def page(facts, name="x"):
    return model_page(Facts.from_json(facts), name)


VOID = {"meta", "link", "br", "img"}


class Reader(HTMLParser):
    """Collects tags and text, and checks that elements are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    pytest.importorskip("matplotlib")
    return page_samples.write_all(tmp_path_factory.mktemp("pages"))


def test_pages_are_well_formed_and_need_nothing_else(pages):
    for page in pages:
        reader = Reader(page.read_text(encoding="utf-8"))
        assert reader.tags.count("script") == 1, page
        assert "img" not in reader.tags, page
        for name, value in reader.attributes:
            assert not name.startswith("on"), (page, name)
            if name in ("src", "href", "xlink:href") and not value.startswith("data:"):
                assert not re.match(r"(https?:)?//", value), (page, value)
        policy = dict(reader.attributes)["content"]
        assert any(
            "default-src 'none'" in value for name, value in reader.attributes if name == "content"
        ), policy


def test_hostile_names_are_shown_as_text(pages):
    for page in pages:
        text = "".join(Reader(page.read_text(encoding="utf-8")).text)
        assert page_samples.EVIL in text or page_samples.EVIL_ATTRIBUTE in text, page


def test_figures_have_words(pages):
    experiment = pages[0].read_text(encoding="utf-8")
    assert 'role="img"' in experiment
    assert "y against &lt;script&gt;" in experiment
    assert "<!--" not in experiment
    for page in pages[2:]:
        assert page.read_text(encoding="utf-8").count('role="img"') >= 6


def test_large_clouds_become_images(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    from bochner_papers.runner.pages import matplotlib_svg

    sizes = {}
    for count in (100, 20_000):
        chart, axes = plt.subplots()
        axes.scatter(range(count), range(count))
        text = matplotlib_svg(chart)
        sizes[count] = len(text)
        assert ("data:image/png;base64" in text) == (count > 1500)
    assert sizes[20_000] < 500_000


def test_an_experiment_is_also_csv_and_strict_json(pages):
    folder = pages[0].parent
    with (folder / "evil.smoke.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["method", "seed", "error", page_samples.EVIL]
    assert len(rows) == 7
    content = json.loads((folder / "evil.smoke.json").read_text(encoding="utf-8"))
    assert content["results"][0]["case"]["method"] == page_samples.EVIL


def test_json_has_no_nan(tmp_path):
    summary = page_samples.summary()
    summary["results"][0]["result"]["error"] = float("nan")
    write_experiment(summary, tmp_path)
    assert "NaN" not in (tmp_path / "evil.smoke.json").read_text(encoding="utf-8")


def test_the_index_keeps_earlier_experiments_and_ignores_other_files(tmp_path):
    write_experiment(page_samples.summary(), tmp_path)
    write_experiment(page_samples.summary() | {"experiment": "other", "verdict": "holds"}, tmp_path)
    (tmp_path / "foreign.x.json").write_text("[1, 2]")
    (tmp_path / "broken.x.json").write_text("{")
    text = write_index(tmp_path).read_text(encoding="utf-8")
    assert 'href="evil.smoke.html"' in text
    assert 'href="other.smoke.html"' in text
    for badge in ("holds", "1 × holds", "does not hold", "1 × does not hold", "0 × cannot tell"):
        assert f">{badge}</span>" in text
    assert "badge fails" in text


def test_tags_escape_children_and_attributes():
    assert tag("a", "<", href='"') == '<a href="&quot;">&lt;</a>'
    assert tag("p", tag("b", "x"), data_value=None) == "<p><b>x</b></p>"
    grid = table(["<h>"], [[("<c>", 3)]], caption="<t>")
    assert "<h>" not in grid
    assert "<c>" not in grid
    assert "<t>" not in grid
    assert 'data-value="3"' in grid
    assert "<title>&lt;x&gt;</title>" in document("<x>")


@pytest.mark.parametrize("kind", ["holds", "open", "fails"])
def test_a_model_page_has_the_color_and_the_reasons_of_its_verdict(kind):
    facts = page_samples.facts("classification")
    shown = page(facts | {"verdict": {"kind": kind, "reasons": ["linear is better."]}})
    assert f'class="verdict {kind}"' in shown
    assert "linear is better." in shown


def test_a_model_page_tells_path_and_kernels():
    facts = page_samples.facts("regression")
    member = {
        "name": "anova",
        "weight": 0.25,
        "held_out_error": 0.5,
        "ridge": 0.125,
        "seconds": 2.0,
        "prior": "mostly age",
    }
    shown = page(facts | {"path": "exact: 7 rows", "members": [member]})
    assert "exact: 7 rows." in shown
    for cell in ("anova", "0.25", "0.5", "0.125", "mostly age"):
        assert f">{cell}</t" in shown


def test_columns_without_effect_are_counted_instead_of_drawn():
    facts = page_samples.facts("classification")
    shown = page(
        facts | {"importance": {"a": 1.0, "b": 0.0, "c": 0.0}, "importance_error": {"a": 0.1}}
    )
    assert "100.0%" in shown
    assert "2 more columns with less effect or none" in shown
    nothing = page(facts | {"importance": {"a": 0.0}})
    assert "No column changes the predictions" in nothing


def test_long_tables_of_averages_are_folded_where_a_published_table_stands_above(tmp_path):
    summary = page_samples.summary()
    few = write_experiment(summary, tmp_path).read_text(encoding="utf-8")
    pairs = [({"method": str(m)}, {"error": 1.0}) for m in range(30)]
    many = write_experiment(summary | {"table": averaged(pairs)}, tmp_path).read_text(
        encoding="utf-8"
    )
    assert few.count("<details>") == 1
    assert many.count("<details>") == 2
    assert "30 rows" in many


def test_a_model_page_says_what_is_known_of_where_it_comes_from_and_of_every_part():
    for task in ("classification", "regression"):
        facts = page_samples.facts(task) | {
            "command": "bochner fit t.csv",
            "fingerprint": "abc123",
            "made": "2021-01-01",
            "version": "9",
        }
        shown = page(facts, "m.skops")
        for words in (
            "bochner fit t.csv",
            "SHA-256 abc123",
            "2021-01-01, bochner 9",
            "m.skops",
            "fitted again",
            "not independent",
        ):
            assert words in shown, words
        headings = (
            "Comparison with other models",
            "Errors",
            "Rows with the largest errors",
            "Effects of columns",
            "Columns as read",
        )
        assert all(f"<h2>{heading}</h2>" in shown for heading in headings)
        assert len(shown) < 2_000_000
        assert "several columns are 25% of its variance" in shown
        assert "with probability 90%" in shown
        assert "<polygon" in shown


# --- charts ---------------------------------------------------------------------------------------


def places(picture):
    """Numbers of all parts of an SVG element: (name, attributes)."""
    tree = ElementTree.fromstring(picture)
    return tree, [(part.tag, part.attrib) for part in tree.iter()]


def test_numbers_stand_where_they_belong():
    axes = charts.Axes((0.0, 10.0), (-1.0, 1.0), width=100, height=50)
    left, top = axes.across(0), axes.up(1)
    assert (axes.across(5) - left, axes.across(10) - left) == (50, 100)
    assert (axes.up(0) - top, axes.up(-1) - top) == (25, 50)
    assert charts.Axes((0.0, 1.0), (0.0, float("nan"))).up(0) > 0
    for x in (3.0, 2.0**64):  # equal ends
        assert charts.Axes((x, x), (0.0, 1.0)).across(x) == left + 134


def every_chart():
    words = {"title": "t" * 90, "x_label": "x" * 90, "y_label": "y", "alt": "a"}
    grid = [[(i - j) / 3 for j in range(30)] for i in range(30)]
    names = [f"name {k}" for k in range(30)]
    return {
        "curves": charts.curves(
            [[(0, 1e9), (5, -1e9)], [(1, 0), (2, 0)]], **words, guide=[(0, 0), (5, 0)]
        ),
        "calibration": charts.calibration(
            [[0.0, 0.0, 0.4, 3], [1.0, 1.0, 0.4, 3]], title="t", alt="a"
        ),
        "residuals": charts.residuals([[1.0, 2.0], [5.0, 2.0]], x_label="x", alt="a"),
        "intervals": charts.intervals([[1, 0, 2, 5], [2, -9, 3, 2]], y_label="y", alt="a"),
        "levels": charts.levels(["a", "b"], [-3.0, 2.0], title="t", alt="a"),
        "heat map": charts.heat_map(grid, names, names, **words, numbers=True),
        "small map": charts.heat_map([[1, 2]], ["r"], ["a", "b"], **words, numbers=False),
        "forest": charts.forest(
            [("a", 1, 2, "x"), ("b", -1, 0.1, "y"), ("c", 99, 1, "z")],
            x_label="x",
            alt="a",
            far=["c"],
        ),
        "one value": charts.curves([[(1, 1)]], **words),
    }


@pytest.mark.parametrize("name", list(every_chart()))
def test_charts_stay_in_their_frames(name):
    tree, parts = places(every_chart()[name])
    width, height = map(float, tree.attrib["viewBox"].split()[2:])
    assert width < 800
    for kind, given in parts:
        along = [float(given[key]) for key in ("x", "x1", "x2", "cx") if key in given]
        down = [float(given[key]) for key in ("y", "y1", "y2", "cy") if key in given]
        if kind == "rect":
            along.append(along[0] + float(given["width"]))
            down.append(down[0] + float(given["height"]))
        for pair in given.get("points", "").split():
            along.append(float(pair.split(",")[0]))
            down.append(float(pair.split(",")[1]))
        assert all(0 <= x <= width for x in along), (kind, given)
        assert all(0 <= y <= height for y in down), (kind, given)


def test_a_forest_is_red_where_another_is_better_by_more_than_noise():
    _, parts = places(
        charts.forest(
            [("a", 1, 2, "x"), ("b", -1, 0.1, "y"), ("c", 2, 0.1, "z")], x_label="x", alt="a"
        )
    )
    dots = [given for kind, given in parts if kind == "circle"]
    assert [dot["fill"] for dot in dots] == ["var(--soft)", "var(--bad)", "var(--good)"]
    zero = next(
        float(given["x1"]) for kind, given in parts if kind == "line"
    )  # the first line is that of zero
    assert float(dots[1]["cx"]) < zero < float(dots[0]["cx"]) < float(dots[2]["cx"])


def test_a_map_is_blue_above_zero_and_stronger_further_from_it():
    _, parts = places(
        charts.heat_map(
            [[1.0, -2.0]],
            ["r"],
            ["a", "b"],
            title="",
            x_label="",
            y_label="",
            alt="",
            numbers=False,
        )
    )
    cells = [given for kind, given in parts if kind == "rect"]
    assert [cell["fill"] for cell in cells] == ["var(--mark)", "var(--bad)"]
    assert float(cells[1]["fill-opacity"]) == 2 * float(cells[0]["fill-opacity"])
