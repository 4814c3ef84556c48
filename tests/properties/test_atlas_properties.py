"""Invariants of result files and pages."""

import json
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bochner.tables.pages.document import tag
from bochner_papers.runner.catalog import as_json, case_key
from bochner_papers.runner.store import ResultFile, finished_records
from bochner_papers.runner.summary import averaged

values = st.one_of(
    st.integers(-5, 5), st.floats(-10, 10), st.text(max_size=5), st.none(), st.booleans()
)
dictionaries = st.dictionaries(st.text(min_size=1, max_size=5), values, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(dictionaries, min_size=1, max_size=5, unique_by=case_key), st.data())
def test_a_file_cut_anywhere_loses_the_cut_line_only(cases, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        with ResultFile(path) as store:
            for i, case in enumerate(cases):
                store.append({"case": case, "result": {"i": i}})
        content = path.read_bytes()
        size = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:size])
        whole = content[:size].count(b"\n")
        with ResultFile(path) as store:
            assert list(store.finished) == [case_key(case) for case in cases[:whole]]
            for i, case in enumerate(cases):
                if case_key(case) not in store.finished:
                    store.append({"case": case, "result": {"i": i}})
        assert path.read_bytes() == content
        assert [record["result"]["i"] for record in finished_records(path).values()] == list(
            range(len(cases))
        )


@given(dictionaries)
def test_a_case_is_itself_after_a_round_trip_and_in_any_order(case):
    assert case_key(as_json(case)) == case_key(case)
    assert case_key(dict(reversed(case.items()))) == case_key(case)


class _Text(HTMLParser):
    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes

    def handle_data(self, data):
        self.text += data


@given(
    st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc"))),
    st.text(alphabet="<>&\"'/ abc="),
)
def test_any_text_is_shown_as_it_is(text, attribute):
    read = _Text(tag("p", text, title=attribute))
    assert read.tags == ["p"]
    assert read.text == text
    assert read.attributes == [("title", attribute)]


@pytest.mark.long
@given(
    st.lists(
        st.tuples(dictionaries, st.dictionaries(st.sampled_from(["a", "b"]), st.floats(-1, 1)))
    )
)
def test_averages_count_every_number_once(pairs):
    table = averaged(pairs)
    for column in ("a", "b"):
        if column not in table["columns"] or any(column in case for case, _ in pairs):
            continue
        k = table["columns"].index(column)
        cells = [row[k] for row in table["rows"] if row[k] is not None]
        count = sum(cell["n"] if isinstance(cell, dict) else 1 for cell in cells)
        assert count == sum(column in result for _, result in pairs)
    json.dumps(table)
