"""The site: `make docs` builds it, and a warning is an error."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_extensions"))

import bochner  # noqa: E402

project = "bochner"
author = "The bochner developers"
copyright = "the bochner developers, BSD-3-Clause"
version = release = bochner.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "plain_docstrings",
    "atlas_figures",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "generated/backreferences/*"]
templates_path = ["_templates"]
default_role = "code"
highlight_language = "none"  # blocks of Python say so; the others are commands
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_favicon = "_static/favicon.svg"
html_title = f"bochner {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "alt_text": "bochner",
        "image_light": "_static/logo-light.svg",
        "image_dark": "_static/logo-dark.svg",
    },
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Links to the world are tried by `make linkcheck`, never by `make docs`, which needs no network.
linkcheck_timeout = 20
linkcheck_retries = 2

# What most people come for first; other folders follow in their own order.
first = [
    f"../examples/{name}"
    for name in ("tables", "kernels", "fields")
    if (HERE.parent / "examples" / name).exists()
]
sphinx_gallery_conf = {
    "subsection_order": [*first, "*"],
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "doc_module": ("bochner",),
    "reference_url": {"bochner": None},
    "backreferences_dir": "generated/backreferences",
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
}
