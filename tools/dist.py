"""Build the wheel and the sdist, check them, and try them in an empty environment.

    make dist                                      builds into dist/
    python tools/dist.py --out FOLDER --no-demo    another folder, without the demo (a minute)

1. Build both with ``build``.
2. Compare their contents with the sources.
3. Run ``twine check --strict``.
4. Install each without extras into a new virtual environment, where ``import bochner``, the first
   lines of the README, ``bochner info`` and (from the wheel) ``bochner demo`` must work.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (ROOT / "src" / "bochner", ROOT / "src" / "bochner_papers")
# What a reader of the sdist must find beside the sources.
ALWAYS = (
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "pyproject.toml",
    "Makefile",
)
NO_EXTRAS = """
import sys
extras = {"matplotlib", "pandas", "dask", "onnx", "rich", "skops"} & set(sys.modules)
assert not extras, extras
"""


def first_lines() -> str:
    """The first block of Python in the README, which must run without extras."""
    block = re.search(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert block is not None
    return block[1] + NO_EXTRAS


def sources(packages: Iterable[Path] = PACKAGES) -> set[str]:
    """Return the files of the packages, relative to the folder that they are in."""
    return {
        path.relative_to(package.parent).as_posix()
        for package in packages
        for path in package.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in (".pyc", ".nbi", ".nbc")
    }


def wheel_faults(names: set[str], wanted: set[str]) -> list[str]:
    """What is wrong with the contents of a wheel."""
    files = {name for name in names if not name.endswith("/")}
    about = {name for name in files if name.split("/")[0].endswith(".dist-info")}
    faults = [f"missing: {name}" for name in sorted(wanted - files)]
    faults += [f"does not belong there: {name}" for name in sorted(files - wanted - about)]
    if not any(name.endswith("entry_points.txt") for name in about):
        faults.append("missing: the command bochner")
    if not any("LICENSE" in name for name in about):
        faults.append("missing: the license")
    return faults


def sdist_faults(names: set[str], wanted: set[str]) -> list[str]:
    """What is wrong with the contents of an sdist, whose files are all in one folder."""
    inside = {name.partition("/")[2] for name in names}
    faults = [
        f"missing: {name}"
        for name in sorted({f"src/{one}" for one in wanted} | set(ALWAYS))
        if name not in inside
    ]
    faults += [
        f"missing: {folder}/"
        for folder in ("tests", "examples", "docs")
        if not any(n.startswith(f"{folder}/") for n in inside)
    ]
    foreign = ("__pycache__", ".git/", ".venv", ".pytest_cache", "dist/")
    faults += [
        f"does not belong there: {name}"
        for name in sorted(inside)
        if any(part in name for part in foreign)
    ]
    return faults


def built(out: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of these sources; older ones in the folder are removed."""
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("bochner-*.whl"), *out.glob("bochner-*.tar.gz")):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", str(out), str(ROOT))
    (wheel,), (sdist,) = out.glob("bochner-*.whl"), out.glob("bochner-*.tar.gz")
    return wheel, sdist


def checked(wheel: Path, sdist: Path) -> None:
    """Contents and description of both; complains about everything at once."""
    wanted = sources()
    with zipfile.ZipFile(wheel) as opened:
        faults = [
            f"{wheel.name}: {fault}" for fault in wheel_faults(set(opened.namelist()), wanted)
        ]
    with tarfile.open(sdist) as archive:
        found = {member.name for member in archive.getmembers() if member.isfile()}
    faults += [f"{sdist.name}: {fault}" for fault in sdist_faults(found, wanted)]
    if faults:
        sys.exit("\n".join(faults))
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))


def tried(archive: Path, *, demo: bool) -> None:
    """Installs an archive without extras into an empty environment and uses it there, in an empty
    folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "venv"
        venv.create(place, with_pip=True)
        binaries = place / ("Scripts" if sys.platform == "win32" else "bin")
        run(str(binaries / "python"), "-m", "pip", "install", "--quiet", str(archive))
        for command in (
            [
                str(binaries / "python"),
                "-c",
                "import bochner; assert bochner.__file__.startswith(__import__('sys').prefix)",
            ],
            [str(binaries / "python"), "-c", first_lines()],
            [str(binaries / "bochner"), "info"],
            *([[str(binaries / "bochner"), "demo"]] if demo else []),
        ):
            run(*command, cwd=folder)


def run(*command: str, cwd: str | Path | None = None) -> None:
    """A command that must succeed."""
    shown = " ".join(command[:4]).replace("\n", " ")
    if (code := subprocess.run(command, cwd=cwd).returncode) != 0:
        sys.exit(f"{shown} ... ended with exit code {code}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="where both are written (default: dist/)"
    )
    parser.add_argument("--no-demo", action="store_true", help="leave `bochner demo` out")
    options = parser.parse_args()
    wheel, sdist = built(options.out)
    checked(wheel, sdist)
    tried(wheel, demo=not options.no_demo)
    tried(sdist, demo=False)
    sys.stdout.write(
        "".join(f"{path.name}: {path.stat().st_size / 1024:.0f} kB\n" for path in (wheel, sdist))
    )


if __name__ == "__main__":
    main()
