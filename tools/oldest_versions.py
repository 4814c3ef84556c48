"""The lowest version of every dependency, extra and test tool that pyproject.toml allows, as
constraints of pip; ``make test-oldest`` installs them.

What these depend on is left to the resolver: we promise nothing about it.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?(>=(?P<version>[\w.]+))?")


def lowest(requirement: str) -> str | None:
    """``name==version`` of a requirement ``name[extra]>=version``, None for our own extras; refuses
    any other form.
    """
    found = REQUIREMENT.fullmatch(requirement.replace(" ", ""))
    if found and found["name"] == "bochner":
        return None
    if not (found and found["version"]):
        raise ValueError(
            f"{requirement!r} names no lowest version; write 'name>=version' in pyproject.toml."
        )
    return f"{found['name']}=={found['version']}"


def constraints(pyproject: dict) -> list[str]:
    """One line for each package of the dependencies, of all extras and of the group of developers;
    two bounds of one package must agree.
    """
    project = pyproject["project"]
    extras = [one for some in project["optional-dependencies"].values() for one in some]
    written = [*project["dependencies"], *extras, *pyproject["dependency-groups"]["dev"]]
    lines = sorted({line for requirement in written if (line := lowest(requirement))})
    names = [line.partition("==")[0] for line in lines]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(
            f"Two lowest versions of {', '.join(sorted(twice))} in pyproject.toml; write one."
        )
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints(tomllib.loads(PROJECT.read_text()))) + "\n")
