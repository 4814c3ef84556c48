"""Names and parameters that users have written down stay: a removal goes through the policy in
CONTRIBUTING.md and `tools/public_names.py`.
"""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_SPEC = importlib.util.spec_from_file_location("public_names", ROOT / "tools" / "public_names.py")
public_names = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(public_names)


def missing(frozen, today):
    """Names and parameters of the frozen lines that are no more."""
    now = {name: rest.split() for name, _, rest in (line.partition(":") for line in today)}
    gone = []
    for name, _, rest in (line.partition(":") for line in frozen):
        if name not in now:
            gone.append(name)
        else:
            gone += [
                f"{name}({parameter}=)" for parameter in rest.split() if parameter not in now[name]
            ]
    return gone


def test_no_public_name_or_parameter_is_gone():
    frozen = public_names.LIST.read_text().splitlines()
    assert len(frozen) > 100
    assert not missing(frozen, public_names.lines()), "see CONTRIBUTING.md on deprecations"


@pytest.mark.parametrize(
    ("frozen", "gone"),
    [
        (["bochner.Gaussian: gamma"], []),
        (["bochner.Nothing: gamma"], ["bochner.Nothing"]),
        (["bochner.Gaussian: gamma beta"], ["bochner.Gaussian(beta=)"]),
        (["bochner.bounds:"], []),
    ],
)
def test_what_is_gone_is_named(frozen, gone):
    assert missing(frozen, public_names.lines()) == gone
