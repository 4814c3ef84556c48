"""The demo runs, says what it found, and leaves a picture."""

import json

import pytest
from selection import long_except

from bochner import Evidence, demo
from bochner.front_door.base import SpectralModel


@pytest.mark.parametrize("as_json", long_except([False, True], True))
def test_demo_says_what_it_found_and_writes_a_picture(as_json, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "SIZES", (5, 20))
    monkeypatch.setattr(demo, "SEEDS", range(1))
    rows = demo.tables()
    monkeypatch.setattr(demo, "tables", lambda: {name: rows[name] for name in ("wine, accuracy", "diabetes, R²")})
    monkeypatch.setattr(SpectralModel, "_evidence", lambda *_: Evidence(n_rows=150, n_iterations=6))
    everything = demo.data_sets()
    monkeypatch.setattr(demo, "data_sets", lambda: {"breast cancer": everything["breast cancer"]})
    monkeypatch.setattr(demo, "picture", _two_panels(demo.picture))
    assert demo.main(tmp_path, as_json) == 0
    printed = capsys.readouterr().out
    assert "exact RBF-SVM" in printed
    assert "front door" in printed
    if as_json:
        facts = json.loads(printed)
        assert facts["pictures"] == [str(tmp_path / "effects.png"), str(tmp_path / "accuracy.png")]
        assert all(
            0.3 < score <= 1 for row in facts["tables"] if row["method"] == "front door" for score in row["scores"]
        )
        assert all(0.5 < score <= 1 for row in facts["results"] for score in row["accuracy"])
    assert "with 95 % confidence" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["accuracy.png", "effects.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())


def _two_panels(picture):
    """The layout is for several data sets; one of them stands in for both here."""

    def wrapped(accuracies, data):
        copies = {("again", *key[1:]): value for key, value in accuracies.items()}
        return picture(accuracies | copies, data | {"again": data["breast cancer"]})

    return wrapped
