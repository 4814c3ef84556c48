"""A page of the figures that `bochner reproduce` drew, from the files in `results/` and the experiments' own words."""

from pathlib import Path

SCALES = ("paper", "quick")  # the larger protocol first
HEADER = """# Figures of the atlas

Drawn by `bochner reproduce NAME --scale quick` from the lines in `results/`, the larger scale where there are two.
[Results](../results.md) has the numbers and the verdicts.
"""


def figure(folder, name):
    """(scale, file) of the figure of an experiment, or None."""
    for scale in SCALES:
        if (path := folder / f"{name}.{scale}.svg").exists():
            return scale, path
    return None


def page(folder, experiments):
    """Markdown: for each experiment with a figure its paper, claim and picture."""
    text = [HEADER]
    for name, experiment in sorted(experiments.items()):
        if (found := figure(folder, name)) is None:
            continue
        scale, path = found
        words = {
            kind: " ".join(one.split())
            for kind, one in experiment.words.items()
            if isinstance(one, str)
        }
        text += [
            f"## {name}\n",
            f"{words['claim']}\n",
            f"*{words['paper']}*; scale `{scale}`. {words['caption']}\n",
        ]
        text += [f"![{name}: {words['claim']}](../../results/{path.name})\n"]
    return "\n".join(text)


def write(app):
    from bochner_papers.runner import catalog as _catalog

    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    text = page(Path(app.srcdir).parent / "results", _catalog.discover()[0])
    target = folder / "figures.md"
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def setup(app):
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
