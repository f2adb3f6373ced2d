"""Formulas offline: the parts of MathJax that the pages use come along.

Where no script runs, a reader sees the TeX.
"""

import shutil
from importlib.metadata import distribution
from pathlib import Path

from sphinx.application import Sphinx

EXTENSIONS = ("boldsymbol", "color", "cancel")  # loaded where they are used


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put MathJax beside the pages: the parts they use, 2 of its 31 MB."""
    if error or app.builder.format != "html":
        return
    package = distribution("sphinx-mathjax-offline")
    place = package.locate_file("sphinx-mathjax-offline/static/mathjax")
    source = Path(str(place))
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


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
