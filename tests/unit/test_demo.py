"""The demo runs, says what it found, and leaves a picture."""

import json

import pytest
from selection import long_except

from bochner import Evidence, demo
from bochner.tabular.base import SpectralModel


@pytest.mark.parametrize("as_json", long_except([False, True], True))
def test_demo_says_what_it_found_and_writes_a_picture(as_json, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "SEEDS", range(1))
    rows = demo.tables()
    monkeypatch.setattr(
        demo, "tables", lambda: {name: rows[name] for name in ("wine, accuracy", "diabetes, R²")}
    )
    monkeypatch.setattr(SpectralModel, "_evidence", lambda *_: Evidence(n_rows=150, n_iterations=6))
    assert demo.main(tmp_path, as_json) == 0
    printed = capsys.readouterr().out
    assert "exact RBF-SVM" in printed
    assert "bochner" in printed
    if as_json:
        facts = json.loads(printed)
        assert facts["pictures"] == [str(tmp_path / "effects.png")]
        tables = ("wine, accuracy", "diabetes, R²")
        pairs = [(row["table"], row["method"]) for row in facts["tables"]]
        assert pairs == [(name, method) for name in tables for method in rows[name][2]]
        assert all(
            0.3 < score <= 1
            for row in facts["tables"]
            if row["method"] == "bochner"
            for score in row["scores"]
        )
    assert [path.name for path in tmp_path.iterdir()] == ["effects.png"]
    assert (tmp_path / "effects.png").read_bytes().startswith(b"\x89PNG")
