"""`bochner info`: what a report of a bug needs, and nothing that tells who or where somebody is."""

import getpass
import json
import platform
from pathlib import Path

import numpy as np
import pytest

import bochner
from bochner import cli
from bochner._terminal import environment as _environment


@pytest.fixture
def info(capsys):
    def call(*options):
        assert cli.main(["info", *options]) == 0
        return capsys.readouterr().out

    return call


def test_versions_of_what_is_there(info):
    facts = json.loads(info("--json"))
    assert facts["bochner"] == bochner.__version__
    assert facts["Python"] == platform.python_version()
    assert facts["packages"]["always"]["numpy"] == np.__version__
    assert facts["threads"] >= 1
    assert facts["BLAS"][0]["num_threads"] >= 1
    text = info()
    assert f"numpy {np.__version__}" in text
    assert text.splitlines()[0].split() == ["bochner", bochner.__version__]


def test_no_path_and_no_user_is_told(info, monkeypatch, tmp_path):
    for name in ("BOCHNER_DATA", "NUMBA_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "secret"))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    for text in (info(), info("--json")):
        assert "secret" not in text
        assert str(Path(bochner.__file__).parent) not in text
        assert str(Path.home()) not in text
        assert platform.node() not in text.split()
        assert f"/{getpass.getuser()}/" not in text
    variables = json.loads(info("--json"))["variables"]
    assert variables["BOCHNER_DATA"] == "set"
    assert variables["OMP_NUM_THREADS"] == "2"


def test_what_is_missing_is_said(info, monkeypatch):
    declared = {"": ["numpy"], "plot": ["no-such-library"]}
    monkeypatch.setattr(_environment, "requirements", lambda: declared)
    assert json.loads(info("--json"))["packages"] == {
        "always": {"numpy": np.__version__},
        "plot": {"no-such-library": None},
    }
    assert "no-such-library missing" in info()


def test_requirements_are_read_with_their_extras(monkeypatch):
    lines = [
        "numpy>=2",
        "dask[array]>=2024.8; extra == 'dask'",
        "distributed>=2024.8; extra == 'dask'",
        'rich>=13 ; extra == "progress"',
        "rich>=13; extra == 'all'",
    ]
    monkeypatch.setattr(_environment, "requires", lambda _: lines)
    assert _environment.requirements() == {
        "": ["numpy"],
        "dask": ["dask", "distributed"],
        "progress": ["rich"],
    }


def test_sources_that_were_never_installed(info, monkeypatch):
    def requires(_):
        raise _environment.PackageNotFoundError

    monkeypatch.setattr(_environment, "requires", requires)
    assert json.loads(info("--json"))["packages"] == {}
    assert "bochner" in info()
