"""The configuration of the site: Sphinx with MyST Markdown and the furo theme, built without a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pairlight import __version__

project = "pairlight"
version = release = __version__
copyright = "the pairlight authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "directives"]

exclude_patterns = ["panel"]  # included in panel.md
html_theme = "furo"
html_title = f"pairlight {__version__}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
smartquotes = False

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
nitpick_ignore_regex = [("py:(class|data|exc|obj)", ".*")]  # types in signatures: other packages, type variables
