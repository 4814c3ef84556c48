"""Does every link inside the built site lead somewhere? python tools/check_site.py docs/_build/html

Files and fragments of the site itself are looked up on disk; links to the world are left to `make
linkcheck`. It also asks whether the search index knows a name that everybody will look for, and
says how large the site is.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SEARCHED = "spectralclassifier"


class Page(HTMLParser):
    """The links of a page, and the names that links may point to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links += [found[key] for key in ("href", "src") if found.get(key) and tag != "base"]


def broken(folder):
    """(page, link) for each link whose file or fragment does not exist."""
    # The theme leaves templates of its own in _static.
    written = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path.read_text()) for path in written}
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not target.exists() or (
                fragment and target in pages and fragment not in pages[target].names
            ):
                wrong.append((path.relative_to(folder.resolve()), link))
    return len(pages), wrong


def main(folder):
    n_pages, wrong = broken(folder)
    for page, link in wrong:
        sys.stderr.write(f"{page}: {link} leads nowhere\n")
    index = folder / "searchindex.js"
    found = index.exists() and SEARCHED in index.read_text().lower()
    if not found:
        sys.stderr.write(f"The search index does not know {SEARCHED}.\n")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    sys.stdout.write(f"{n_pages} pages, {size / 1e6:.1f} MB, {len(wrong)} broken links\n")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
