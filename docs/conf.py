"""How Sphinx builds the site: ``make docs``. The pages are plain Markdown, readable without it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "treeproof"
author = "the treeproof developers"
copyright = f"{author}, MIT licence"  # the name that Sphinx wants
version = release = _PROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3  # headings have the anchors that GitHub gives them
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types in docstrings are words, not links

# Types are in signatures only, and the signature of a result is the list of what it has.
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_attr_annotations = False
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
add_module_names = False
default_role = "py:obj"  # names between single backticks in docstrings, which are often parameters and so no links

html_theme = "furo"
html_title = f"treeproof {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"


def _public_only(app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: Any) -> Any:
    """Leave private fields out of the signatures of results."""
    return re.sub(r", _\w+: [^=]*= \w+", "", signature) if signature else signature, returns


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", _public_only)
