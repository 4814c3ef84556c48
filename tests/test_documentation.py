"""Every public name says what it takes and shows how it is used; what it says agrees with the
signature.
"""

import ast
import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import bochner
from bochner import bounds, datasets, export, learners, losses, operators, plots, priors
from bochner.testing.kernels import kernel_z_scores

MODULES = [bounds, losses, operators, export, plots, datasets, priors]
HOMES = {
    name: f"bochner.{bochner._HOMES[name]}" if name in bochner._HOMES else "bochner"
    for name in (*bochner.__all__, *bochner._HOMES)
}
PUBLIC = {
    f"{home}.{name}": getattr(bochner, name)
    for name, home in HOMES.items()
    if not inspect.ismodule(getattr(bochner, name))
} | {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if not inspect.ismodule(getattr(module, name))
    and getattr(bochner, name, None) is not getattr(module, name)  # listed once
}
# Learners that were never at the top level.
PUBLIC |= {
    f"bochner.learners.{name}": thing
    for name, thing in vars(learners).items()
    if inspect.isclass(thing) and issubclass(thing, learners.Learner) and name not in HOMES
}
# ``name : type, default value``, then indented sentences.
ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) ?:(?P<kind>.*)$")
# Parameters that mean the same as in another function of the module.
REFERENCE = re.compile(r"see ``(?P<name>\w+)``")
UNDERLINE = re.compile(r"^-{3,}$")


def section(docstring, title):
    """The lines under a title that is underlined with dashes, up to the next one."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    starts = [
        i for i in range(len(lines) - 1) if UNDERLINE.match(lines[i + 1]) and lines[i].strip()
    ]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        if lines[start].strip() == title:
            return lines[start + 2 : end]
    return []


def documented(thing):
    """Return {parameter: (type and default as written, explanation)} of a docstring.

    An entry "alpha, beta : see other" stands for the entries of that function of the module.
    """
    found, names = {}, []
    for line in section(inspect.getdoc(thing), "Parameters"):
        if line.startswith(" "):
            assert names, f"no parameter above {line!r}"
            for name in names:
                found[name] = (found[name][0], f"{found[name][1]} {line.strip()}".strip())
        elif line.strip():
            entry = ENTRY.match(line)
            if entry is None:
                break  # the text goes on, e.g. with an example
            names, kind = entry["names"].split(", "), entry["kind"].strip()
            if reference := REFERENCE.fullmatch(kind):
                other = documented(getattr(inspect.getmodule(thing), reference["name"]))
                found |= {name: other[name] for name in names}
            else:
                assert len(names) == 1, f"one parameter on a line, not {entry['names']!r}"
                found[names[0]] = (kind, "")
    return found


def parameters(thing):
    """The parameters of a function, or of a constructor; an error takes what any error takes."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return []
    return [p for p in inspect.signature(thing).parameters.values() if p.name != "self"]


def written_default(kind):
    """What stands after the word "default", or None."""
    _, word, value = kind.rpartition(", default ")
    return value.strip() if word else None


def agrees(written, name, thing, default):
    """Does the written default name the real one?  Where None stands for an object, the text names
    that object.
    """
    written = written.strip("`")
    if (
        default is None
        and isinstance(defaults := getattr(thing, "_defaults", None), dict)
        and name in defaults
    ):
        return written in ("None", repr(defaults[name]))
    if default is None and written != "None" and isinstance(defaults, property):
        return written == repr(thing()._defaults[name])
    if inspect.isclass(default):
        return written == f"{default.__module__}.{default.__name__}"
    try:
        return ast.literal_eval(written) == default
    except (ValueError, SyntaxError):
        return False


def complaints(thing):
    """What is wrong with the section on parameters, in words."""
    try:
        told, wanted = documented(thing), {p.name: p for p in parameters(thing)}
    except (AssertionError, KeyError) as error:
        return [str(error)]
    wrong = [f"{name} is not documented" for name in wanted if name not in told]
    wrong += [f"{name} is documented, but is no parameter" for name in told if name not in wanted]
    for name, (kind, text) in told.items():
        if name not in wanted:
            continue
        default, written = wanted[name].default, written_default(kind)
        if not kind.partition(", default ")[0].strip() or kind.startswith("default"):
            wrong.append(f"{name} has no type")
        if len(text.split()) < 2:
            wrong.append(f"{name} is not explained")
        if default is inspect.Parameter.empty:
            if written is not None:
                wrong.append(f"{name} has no default, but the text says {written}")
        elif written is None:
            wrong.append(f"{name} has the default {default!r}, and the text says none")
        elif not agrees(written, name, thing, default):
            wrong.append(f"the default of {name} is {default!r}, and the text says {written}")
    return wrong


def test_every_parameter_has_a_type_a_default_and_a_meaning():
    wrong = {name: complaints(thing) for name, thing in PUBLIC.items()}
    assert not {name: found for name, found in wrong.items() if found}


def test_every_public_name_has_an_example_that_runs():
    """Doctests run where a name is defined, so it must be defined in bochner."""
    for name, thing in PUBLIC.items():
        assert thing.__module__.startswith("bochner"), name
        assert doctest.DocTestParser().get_examples(thing.__doc__ or ""), name


def documented_well(alpha, beta="auto", *, gamma=None):
    """Parameters as they should be.

    Parameters
    ----------
    alpha : float
        The first one.
    beta : "auto" or int, default "auto"
        The second one,
        on two lines.
    gamma : array (n,), default None
        The third one.

    Examples
    --------
    >>> 1 + 1
    2
    """


@pytest.mark.parametrize(
    ("text", "wrong", "complaint"),
    [
        ("alpha : float\n", "alpha :\n", "alpha has no type"),
        ("alpha : float\n", "alpha : default 3\n", "alpha has no type"),
        ("alpha : float\n", "alpha : float, default 1.0\n", "alpha has no default"),
        ("    The first one.\n", "", "alpha is not explained"),
        ('int, default "auto"', 'int, default "none"', "the text says"),
        ('int, default "auto"', "int", "and the text says none"),
        ("default None", "default 0", "the text says 0"),
        ("gamma : array", "delta : array", "gamma is not documented"),
        ("gamma : array", "rest : array (n,)\n    More.\ngamma : array", "is no parameter"),
        ("alpha : float", "alpha, beta : float", "one parameter on a line"),
        ("alpha : float\n    The first one.", "alpha : see ``section``", "'alpha'"),
    ],
)
def test_mistakes_are_seen(text, wrong, complaint, monkeypatch):
    assert not complaints(documented_well)
    docstring = inspect.getdoc(documented_well)  # without indents, as Python 3.13 stores it
    assert text in docstring
    monkeypatch.setattr(documented_well, "__doc__", docstring.replace(text, wrong))
    assert complaint in " ".join(complaints(documented_well))


def test_the_page_on_extending_runs_and_its_priors_are_bochner_pairs():
    page = Path(__file__).resolve().parents[1] / "docs" / "extending.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    names: dict = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    priors = [names["TwoLengths"](0.7), names["Triangle"](1.3)]
    for prior in priors:
        for sampling in prior._samplings:
            assert np.abs(kernel_z_scores(prior, 2, 0, sampling, n_draws=50)).max() < 5
        X = np.random.default_rng(0).normal(size=(400, 2))
        for rule in (
            "scale",
            "median",
        ):  # "scale" bends at zero like the Gaussian kernel of that length
            resolved = clone(prior).set_params(**{prior._bandwidth: rule}).resolved(X)
            assert np.isfinite(resolved.kernel(X[:5])).all()
