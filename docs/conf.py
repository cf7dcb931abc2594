"""The configuration of the site: Sphinx with MyST Markdown and the furo theme, built without a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pairlight import __version__

project = "pairlight"
version = release = __version__
copyright = "the pairlight authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "directives"]
exclude_patterns = ["_*"]
suppress_warnings = ["config.cache"]  # an autodoc hook is not pickled

html_theme = "furo"
html_title = f"pairlight {__version__}"
html_copy_source = False

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
