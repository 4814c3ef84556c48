"""Docstrings are written to be read in a terminal: |x|, w_j and a trailing underscore mean themselves, not markup.

Escapes them before numpydoc reads the sections, and leaves out of the pages of classes what scikit-learn and the standard
library define: its own site describes ``get_params`` and the like.
"""

import inspect
import re

# Doctests, directives with their indented text and ``literals`` stay as they are.
_KEPT = re.compile(r"(``.+?``|:\w+:`[^`]+`)")
_ENTRY = re.compile(r"^\s*\*{0,2}\w+(, \*{0,2}\w+)*\s*(:.*)?$")
_MARKUP = re.compile(r"(?P<bar>\|)|(?P<star>\*)|(?P<tail>(?<=\w)_(?!\w))|(?P<tick>`)")


def escaped(line):
    """The line with bars, stars, single backticks and trailing underscores outside of literals escaped."""
    parts = _KEPT.split(line)
    parts[::2] = [_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def escape(app, what, name, thing, options, lines):
    directive = None  # how far the directive that we are inside of is indented
    doctest = False
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            doctest = False
            continue
        if directive is not None and indent <= directive:
            directive = None
        doctest = doctest or line.lstrip().startswith(">>>")
        if line.lstrip().startswith(".. "):
            directive = indent
        if doctest or directive is not None:
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            lines[number] = escaped(line)
        elif entry[2]:  # ``name : type``: numpydoc escapes the name itself
            lines[number] = line[: entry.start(2)] + escaped(entry[2])


def defined_here(thing):
    thing = inspect.unwrap(
        thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
    )
    return getattr(thing, "__module__", None) is None or thing.__module__.startswith("bochner")


def leave_out_foreign(app, what, name, thing, skip, options):
    if what == "class" and callable(getattr(thing, "__func__", thing)) | isinstance(
        thing, property
    ):
        return True if not defined_here(thing) else None
    return None


def setup(app):
    app.connect("autodoc-process-docstring", escape, priority=400)  # numpydoc comes at 500
    app.connect("autodoc-skip-member", leave_out_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
