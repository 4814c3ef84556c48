"""Formulas as MathML, written at build time: the site needs no script from elsewhere to show them."""

import html
import re

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError

_SIZES = re.compile(r"\\[Bb]igg?[lr]?(?![A-Za-z])")
_ACCENTS = re.compile(r"(\\(?:hat|bar|tilde)\s*(?:\{[^{}]*\}|\\[A-Za-z]+|\w))(?=[_^])")
_SHORT_FRACTIONS = re.compile(r"\\([td]?frac)\s*(\w)(\w)")


def _as_mathml(formula, *, block):
    # What docutils does not read: sizes of brackets, which stretch in MathML anyway, and fractions without braces.
    # An index after an accent would be set below the letter, unless it belongs to an empty group behind it.
    known = _SHORT_FRACTIONS.sub(r"\\\1{\2}{\3}", _ACCENTS.sub(r"\1{}", _SIZES.sub("", formula)))
    try:
        markup = tex2mathml(re.sub(r"\s+", " ", known.strip()), as_block=block)
    except MathError as error:
        raise ExtensionError(
            f"The formula {formula!r} cannot be written as MathML: {error}."
        ) from error
    # Spacing accents sit on the letter in fonts without mathematical metrics; these two keep their distance.
    markup = markup.replace("ˆ", "^").replace("ˉ", "¯")
    return markup.replace(
        "<math", f'<math aria-label="{html.escape(formula.strip(), quote=True)}"', 1
    )


def visit_math(self, node):
    self.body.append(f'<span class="math">{_as_mathml(node.astext(), block=False)}</span>')
    raise SkipNode


def visit_displayed_math(self, node):
    self.body.append(self.starttag(node, "div", CLASS="displayed-math"))
    self.body.append(_as_mathml(node.astext(), block=True) + "</div>\n")
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displayed_math, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
