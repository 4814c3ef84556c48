"""List the public names and their parameters in ``tests/public_names.txt``.

    python tools/public_names.py        write the list after names were added or removed

Each line has the form ``name: parameter parameter``. CONTRIBUTING.md states when a name may go.
``tests/test_public_names.py`` fails where a name or parameter of the list is gone.
"""

import importlib
import inspect
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "tests" / "public_names.txt"
MODULES = (
    "bochner",
    "bochner.boosting",
    "bochner.bounds",
    "bochner.datasets",
    "bochner.export",
    "bochner.learners",
    "bochner.losses",
    "bochner.measures",
    "bochner.operators",
    "bochner.plots",
    "bochner.priors",
    "bochner.solvers",
    "bochner.testing",
)


def parameters(thing: object) -> list[str]:
    """Names of what can be given to a class or function; none for modules and errors."""
    if not callable(thing) or (isinstance(thing, type) and issubclass(thing, BaseException)):
        return []
    return [
        name
        for name in inspect.signature(thing).parameters
        if name not in ("self", "args", "kwargs")
    ]


def lines() -> list[str]:
    """A line for every public name of today."""
    found = []
    for path in MODULES:
        module = importlib.import_module(path)
        for name in {*module.__all__, *getattr(module, "_HOMES", ())}:
            found.append(
                f"{path}.{name}: {' '.join(parameters(getattr(module, name)))}".rstrip(" ")
            )
    return sorted(found)


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n")
