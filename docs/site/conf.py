# SPDX-License-Identifier: MIT
"""The site that `make docs` builds: the project's pages, as scripts/site_pages.py lays them out for Sphinx."""

import os

from pygments.lexers.javascript import JavascriptLexer

project = "Overtake"
version = release = os.environ.get("OVERTAKE_VERSION", "")
html_title = "Overtake"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
# Links to sections: those that a reader of the repository follows, too.
myst_heading_anchors = 4
# Pages say how they are highlighted, or are not.
highlight_language = "none"
html_theme = "furo"
html_theme_options = {"sidebar_hide_name": False}
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def setup(app):
    app.add_lexer("jsonc", JavascriptLexer)
