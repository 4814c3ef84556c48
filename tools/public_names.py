"""The public names and their parameters, frozen in ``tests/public_names.txt``: one line a name, ``name: parameter parameter``.

    python tools/public_names.py        writes the list anew, after names were added or, by the policy in CONTRIBUTING.md, removed

``tests/test_public_names.py`` fails where a name or parameter of the list is gone.
"""

import importlib
import inspect
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "tests" / "public_names.txt"
ROOMS = (
    "bochner",
    "bochner.bounds",
    "bochner.datasets",
    "bochner.export",
    "bochner.losses",
    "bochner.operators",
    "bochner.plots",
)


def parameters(thing: object) -> list[str]:
    """Names of what can be given to a class or function; none for modules and errors."""
    if not callable(thing) or (isinstance(thing, type) and issubclass(thing, BaseException)):
        return []
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "args", "kwargs")]


def lines() -> list[str]:
    """A line for every public name of today."""
    found = []
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            found.append(f"{room}.{name}: {' '.join(parameters(getattr(module, name)))}".rstrip(" "))
    return sorted(found)


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n")
