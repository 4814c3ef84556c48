"""Kernels without a cache: where nothing can be written, as in containers, fits go on and say so
once.
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import bochner
from bochner._loops import compiling

NOBODY = 65534

FIT = """
import sys, warnings
import numpy as np

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import bochner

    assert bochner.__file__.startswith(sys.argv[1]), bochner.__file__
    assert "numba" not in sys.modules
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    for name in sys.argv[2:]:
        model = getattr(bochner, name)(random_state=0).fit(X, y)
        print(name, np.mean((np.asarray(model.predict(X)) > 0.5) == y))
told = [str(one.message) for one in caught if "NUMBA_CACHE_DIR" in str(one.message)]
print("told", len(told))
"""


@pytest.fixture
def package():
    """A copy of the package that nobody may write to, in a folder that all may read."""
    folder = Path(tempfile.mkdtemp(prefix="bochner-read-only-"))
    source = Path(bochner.__file__).parent
    shutil.copytree(source, folder / "bochner", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def run_unprivileged(package, code, *arguments):
    """As a user who owns nothing and has no home; root gives up its rights for it."""
    if os.name != "posix":
        pytest.skip("users and rights as on other systems")
    installed = [path for path in sys.path if path.endswith("site-packages")]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(package), *installed]),
    }
    rights = {}
    if os.geteuid() == 0:
        rights = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    else:
        environment["HOME"] = "/nonexistent"  # without it, the home would be looked up

    def run(interpreter, *arguments):
        command = [interpreter, "-c", *arguments]
        return subprocess.run(
            command, env=environment, cwd="/", capture_output=True, text=True, **rights
        )

    # Another user may not be allowed to run this very interpreter, or to read what is installed for
    # it.
    version = "python{}.{}".format(*sys.version_info)
    for interpreter in filter(
        None, [sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin:/bin")]
    ):
        try:
            usable = run(interpreter, "import sklearn").returncode == 0
        except PermissionError:
            usable = False
        if usable:
            return run(interpreter, code, str(package), *arguments)
    pytest.skip("no interpreter that another user may run with the installed packages")


@pytest.mark.parametrize(
    "names",
    [
        ("FourierBoostingClassifier", "SpectralRidge"),
        ("SpectralClassifier", "SpectralRegressor", "GBRFF2Classifier"),
    ],
    ids=str,
)
@pytest.mark.long
def test_fits_where_nothing_can_be_written(package, names):
    done = run_unprivileged(package, FIT, *names)
    assert done.returncode == 0, done.stderr
    *scores, told = done.stdout.splitlines()
    assert [line.split()[0] for line in scores] == list(names)
    assert min(float(line.split()[1]) for line in scores) > 0.9
    assert told == "told 1"


@pytest.mark.long
def test_a_cache_that_vanishes_is_no_reason_to_stop(tmp_path):
    """Also what happens on a full disk: the compiled code is used, though it cannot be kept."""
    code = """
import shutil, sys, warnings
import numpy as np
from bochner._loops import kernels

shutil.rmtree(sys.argv[1])
open(sys.argv[1], "w").close()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    turns, sines, cosines = np.array([0.0, 0.5]), np.empty(2), np.empty(2)
    kernels.sincos(turns, sines, cosines)
assert np.allclose(cosines, [1, 0])
assert ["NUMBA_CACHE_DIR" in str(one.message) for one in caught] == [True], caught
"""
    cache = tmp_path / "cache"
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(Path(bochner.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(cache)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_second_process_finds_what_the_first_compiled(tmp_path):
    code = """
import numpy as np
from bochner._loops import kernels

kernels.sincos(np.zeros(2), np.empty(2), np.empty(2))
print(sum(kernels.sincos.stats.cache_hits.values()))
"""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(bochner.__file__).parents[1]),
    }
    hits = [
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert hits == ["0", "1"]


def test_what_was_compiled_before_another_file_changed_is_not_used(tmp_path, monkeypatch):
    """A kernel calls kernels of other files: numba alone would go on with the old ones."""
    (tmp_path / "one_kernel.py").write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    function = importlib.import_module("one_kernel").twice

    def hits():
        kernel = compiling.compiled(function)
        assert kernel(2.0) == 4.0
        return sum(kernel.stats.cache_hits.values())

    assert [hits(), hits()] == [0, 1]
    monkeypatch.setattr(compiling, "sources", lambda: "another text")
    assert [hits(), hits()] == [0, 1]


def test_a_cache_that_cannot_be_written_is_said_once_and_the_kernel_is_used(tmp_path, monkeypatch):
    (tmp_path / "other_kernel.py").write_text("def thrice(x):\n    return 3 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compiling, "_warned", False)
    function = importlib.import_module("other_kernel").thrice

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(compiling.FunctionCache, "save_overload", full)
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as said:
        values = [compiling.compiled(function)(2.0) for _ in range(2)]
    assert values == [6.0, 6.0]
    assert len(said) == 1


def test_without_a_folder_for_the_cache_kernels_are_compiled_all_the_same(tmp_path, monkeypatch):
    def nowhere(*_):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compiling, "_warned", False)
    monkeypatch.setattr(compiling.FunctionCache, "__init__", nowhere)
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as said:
        kernels = [compiling.compiled(lambda x: 4 * x) for _ in range(2)]
    assert len(said) == 1
    assert [kernel(2.0) for kernel in kernels] == [8.0, 8.0]
    assert compiling.cache_place().startswith("not stored")
