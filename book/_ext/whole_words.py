"""A word of code, say --resume, goes whole into the next line.

Browsers would break it after a hyphen. Only a word that may be wider than a
phone is left to them.
"""

from docutils import nodes
from sphinx.application import Sphinx

WIDEST = 27  # letters of a word that fits into the narrowest column of text


def keep_whole(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the code in which every word is short enough."""
    for code in doctree.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= WIDEST:
            code["classes"].append("whole")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", keep_whole)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
