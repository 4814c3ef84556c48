"""Disks that are full: what was there stays as it was, nothing is left beside it, and the refusal
is one sentence.
"""

import os
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout

import pytest
from selection import long_except

resource = pytest.importorskip("resource")
pytest.importorskip("pandas")

from bochner.cli import main
from bochner_papers.runner.store import ResultFile, finished_records
from tests.hostile.commands import run, without_heavy_baselines
from tests.hostile.tables import as_text, clean_table

OLD = b"what stood here before"


@contextmanager
def files_at_most(n_bytes):
    """Let writes beyond so many bytes of a file fail in this process, as on a full disk.

    Modules that are imported meanwhile must not be stored as bytecode, which would be cut off.
    """
    before, writes_no_bytecode = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = writes_no_bytecode


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    (folder / "table.csv").write_bytes(as_text(clean_table("price", n_rows=120)))
    with without_heavy_baselines():
        ran = run(
            "fit",
            str(folder / "table.csv"),
            "--target",
            "price",
            "--out",
            str(folder / "model.skops"),
        )
    assert ran.code == 0, ran.error
    return folder


@pytest.mark.parametrize("room", long_except([0, 100, 1000], 100))
@pytest.mark.parametrize(
    ("out", "arguments"),
    [
        ("new.skops", ["fit", "table.csv", "--target", "price"]),
        ("predicted.csv", ["predict", "model.skops", "table.csv"]),
        ("predicted.parquet", ["predict", "model.skops", "table.csv"]),
        ("predicted.json", ["predict", "model.skops", "table.csv", "--json"]),
        ("page.html", ["report", "model.skops"]),
    ],
)
def test_nothing_is_half_written(folder, monkeypatch, out, arguments, room):
    monkeypatch.chdir(folder)
    (folder / out).write_bytes(OLD)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with without_heavy_baselines(), files_at_most(room):
        ran = run(*arguments, "--out", out)
    assert ran.code == 2
    said = ran.out if "--json" in arguments else ran.error
    assert "File too large: " + out in said
    assert len(said.strip().splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("room", [0, 3, 150])
def test_lines_of_results_are_written_whole(tmp_path, room):
    path = tmp_path / "results.jsonl"
    record = {"case": {"seed": 0}, "result": {"error": 1.0}}
    with ResultFile(path) as store:
        store.append(record)
        size = path.stat().st_size
        with files_at_most(size + room), pytest.raises(OSError, match="File too large") as raised:
            store.append({"case": {"seed": 1}, "result": {"error": [0.1] * 200}})
        assert raised.value.filename == str(path)
        assert path.stat().st_size == size
        store.append({"case": {"seed": 2}, "result": {"error": 2.0}})
    assert [record["case"]["seed"] for record in finished_records(path).values()] == [0, 2]
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_standard_output_of_this_process_on_a_full_disk(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with open("/dev/full", "w") as full, redirect_stdout(full):
        code = main(["predict", "model.skops", "table.csv"])
    assert code == 2
    assert (
        capsys.readouterr().err == "bochner: No space left on device: the output is incomplete.\n"
    )


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["list"], ["predict", "model.skops", "table.csv"]])
def test_standard_output_on_a_full_disk(folder, command):
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "bochner", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
    assert ran.returncode == 2
    assert ran.stderr == "bochner: No space left on device: the output is incomplete.\n"
