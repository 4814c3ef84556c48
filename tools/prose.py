"""Report the length of sentences in the documentation and in docstrings.

    python tools/prose.py            mean length, and the number of sentences above 25 words
    python tools/prose.py --long 20  also the 20 longest sentences, with their files

Code, tables, headings and formulas do not count.
"""

import argparse
import ast
import inspect
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS = 25
PAGES = ["*.md", "docs/*.md", "docs/theory/*.md", "docs/decisions/*.md"]
# The changelog and the generated table of results have lists, not sentences.
LEFT_OUT = {"CHANGELOG.md"}


def page_text(text):
    """Return the paragraphs of a Markdown page."""
    text = re.sub(r"^(```|~~~|:::+).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->.*?<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "formula", text, flags=re.DOTALL)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", "!["))]
    # Each entry of a list is a paragraph.
    return [
        re.sub(r"^[-*\d.]+ ", "", part)
        for part in re.split(r"\n\s*\n|\n(?=\s*[-*] )", "\n".join(lines))
    ]


def docstring_text(text):
    """Return the paragraphs of a docstring, without examples, tables and lists of parameters."""
    text = inspect.cleandoc(text)
    paragraphs = re.split(r"\n\s*\n", text)
    return [part for part in paragraphs if not re.search(r"^( |>>>|===|---|\.\. )", part, re.M)]


def sentences(paragraphs):
    """Yield sentences as lists of words."""
    for part in paragraphs:
        part = re.sub(r"`+[^`]*`+", "Code", part)  # may begin a sentence
        part = re.sub(r"\]\([^)]*\)|[*_\[]", " ", part)
        part = re.sub(r"\b(e\.g|i\.e|et al|cf|vs|Eq|Eqs|Fig|Sect|No)\.", r"\1", part)
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z(\"])|\n(?=\s*[-*] )", part):
            words = re.findall(r"[A-Za-zÀ-ž][\w'’-]*", sentence)
            if len(words) > 2:
                yield words


def documents():
    """Yield (name, paragraphs) of each page and of each file of the package."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            if path.name not in LEFT_OUT:
                yield str(path.relative_to(ROOT)), page_text(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "src").rglob("*.py")):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef
        nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, kinds)]
        texts = [ast.get_docstring(node) or "" for node in nodes]
        yield str(path.relative_to(ROOT)), [part for text in texts for part in docstring_text(text)]


def main():
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", type=int, default=0, metavar="N", help="show the longest N")
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose names contain this")
    options = parser.parse_args()
    found = {"pages": [], "docstrings": []}
    for name, paragraphs in documents():
        if options.only in name:
            kind = "docstrings" if name.endswith(".py") else "pages"
            found[kind] += [(name, words) for words in sentences(paragraphs)]
    for kind, each in found.items():
        if each:
            lengths = [len(words) for _, words in each]
            n_long = sum(length > MOST_WORDS for length in lengths)
            print(
                f"{kind}: {len(each)} sentences, mean length {sum(lengths) / len(each):.1f} words, "
                f"{n_long} above {MOST_WORDS}"
            )
    longest = sorted(found["pages"] + found["docstrings"], key=lambda pair: -len(pair[1]))
    for name, words in longest[: options.long]:
        print(f"{len(words)} {name}: {' '.join(words)}")


if __name__ == "__main__":
    main()
