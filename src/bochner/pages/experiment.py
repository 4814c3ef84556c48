"""The files of a finished experiment: page, CSV, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_experiment(summary: dict[str, Any], out: Path) -> Path:
    stem = f"{summary['experiment']}.{summary['scale']}"
    (out / f"{stem}.json").write_text(json.dumps(summary))
    return out / f"{stem}.html"


def write_index(out: Path) -> Path:
    return out / "index.html"
