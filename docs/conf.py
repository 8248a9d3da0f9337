"""The site: `sphinx-build -W -q docs build/site`. Nothing is fetched, neither by the build nor by its pages."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "_ext"))

# The theme lets every logger print (a11y_pygments), and examples have long fits.
for noisy in ("coterie", "httpx2"):
    logging.getLogger(noisy).setLevel(logging.WARNING)

project = "coterie"
author = "the coterie developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "outside",
    "formulas",
    "listing",
    "live",
]
exclude_patterns = ["_ext", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.json"]
html_theme = "furo"
html_title = "coterie"
html_static_path = ["_ext/static"]
html_css_files = ["site.css"]
html_show_copyright = False

myst_heading_anchors = 4

# What is copied is what one types, without prompts and without what is printed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = False
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_param = False
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "run_stale_examples": True,  # the library may have changed where they have not
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}
