"""One bar over work in stages, no second one within; nothing where nobody looks."""

import io

import pytest

from bochner._terminal import progress as _progress
from bochner._terminal.progress import stages, track


class Terminal(io.StringIO):
    """A stream that says whether somebody looks at it."""

    def __init__(self, looked_at):
        super().__init__()
        self.looked_at = looked_at

    def isatty(self):
        return self.looked_at


def work():
    with stages() as bar:
        bar.begin("reading", 2)
        with stages() as inner:  # a part that has stages of its own
            assert inner is bar or _progress._shown == []
            inner.begin("fitting")
            assert list(track(range(3), "boosting")) == [0, 1, 2]
            assert list(track([], "nothing")) == []
        bar.begin("judging", 1)


def test_there_is_one_bar_and_it_says_what_is_done_within(monkeypatch):
    pytest.importorskip("rich")
    made, words = [], []
    monkeypatch.setattr("sys.stderr", Terminal(True))
    new_bar = _progress._new_bar

    def watched():
        bar = new_bar()
        made.append(bar)
        update = bar.update
        monkeypatch.setattr(
            bar, "update", lambda task, **told: (words.append(told), update(task, **told))
        )
        return bar

    monkeypatch.setattr(_progress, "_new_bar", watched)
    work()
    assert len(made) == 1
    assert [told["description"] for told in words] == [
        "reading",
        "fitting",
        *["fitting: boosting"] * 3,
        "judging",
    ]
    assert [told["completed"] for told in words if "completed" in told] == [0, 1, 2]
    assert words[-1]["total"] == 3
    assert _progress._shown == []


def test_the_bar_is_gone_after_an_error(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr", Terminal(True))
    with pytest.raises(KeyboardInterrupt), stages():
        raise KeyboardInterrupt
    assert _progress._shown == []


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    stream = Terminal(False)
    monkeypatch.setattr("sys.stderr", stream)
    work()
    assert stream.getvalue() == ""
