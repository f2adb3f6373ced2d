"""Formulas offline: the parts of MathJax that the pages use come along.

Where no script runs, a reader sees the TeX. A bracket or a full stop beside a
formula goes with it into the next line.
"""

import re
import shutil
from importlib.metadata import distribution
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

EXTENSIONS = ("boldsymbol", "color", "cancel")  # loaded where they are used


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put MathJax beside the pages: the parts they use, 2 of its 31 MB."""
    if error or app.builder.format != "html":
        return
    package = distribution("sphinx-mathjax-offline")
    source = Path(package.locate_file("sphinx-mathjax-offline/static/mathjax"))
    target = Path(app.outdir) / "_static" / "mathjax"
    extensions = (f"input/tex/extensions/{name}.js" for name in EXTENSIONS)
    fonts = source.glob("output/chtml/fonts/woff-v2/*.woff")
    for file in [
        source / "tex-chtml.js",
        *(source / name for name in extensions),
        *fonts,
    ]:
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def keep_punctuation(app: Sphinx, doctree: nodes.document) -> None:
    """Join each formula of a line with the signs that touch it."""
    for math in list(doctree.findall(nodes.math)):
        line, place = math.parent, math.parent.index(math)
        before, after = (
            x[0] if x and isinstance(x[0], nodes.Text) else ""
            for x in (line[max(place - 1, 0) : place], line[place + 1 :])
        )
        rest, opening = re.match(r"(.*?)([(\[“‘]*)$", before, re.S).groups()
        closing, more = re.match(r"([.,;:?!)\]”’]*)(.*)", after, re.S).groups()
        whole = [nodes.Text(opening), math.deepcopy(), nodes.Text(closing)]
        if opening:
            line[place - 1] = nodes.Text(rest)
        if closing:
            line[place + 1] = nodes.Text(more)
        if opening or closing:
            line[place] = nodes.inline("", "", *whole, classes=["whole"])


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", keep_punctuation)
    app.connect("build-finished", copy_mathjax)
