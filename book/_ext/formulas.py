"""Formulas offline: the parts of MathJax that the pages use come along.

Where no script runs, a reader sees the TeX. Until a script has set a formula,
it has about the room that it will take, so that lines break where they will.
No line begins with the comma or full stop after a formula.
"""

import re
import shutil
from functools import partial
from importlib.metadata import distribution
from pathlib import Path

from each_page import Page, each_page
from sphinx.application import Sphinx

EXTENSIONS = ("boldsymbol", "color", "cancel")  # loaded where they are used

INLINE = re.compile(
    r'(<span class="math [^"]*")>(\\\(.*?\\\)</span>)([.,;:!?)]*)', re.S
)
# what takes no room: names of fonts and sizes, then braces and spaces
FONTS = re.compile(
    r"\\(?:mathrm|text|left|right|operatorname|mathbb|\w+style|[bB]ig[lr]?)"
    r"(?![a-zA-Z])"
)
SILENT = re.compile(r"\\[^a-zA-Z]|&\w+;|[{}_^~\s]")
COMMAND = re.compile(r"\\[a-zA-Z]+")
WIDTH = 0.58  # em, of a sign


def room(tex: str) -> float:
    """About how wide an inline formula is, in em."""
    signs = SILENT.sub("", COMMAND.sub("x", FONTS.sub("", tex)))
    return WIDTH * (len(signs) + len(re.findall("[-=<>+]", signs)))


def roomy(found: re.Match[str]) -> str:
    """A formula with its room, bound to the punctuation that follows it."""
    opened, tex, mark = found.groups()
    signs = tex.removesuffix("</span>")
    formula = f'{opened} style="--takes: {room(signs):.1f}em">{tex}'
    return f'<span class="bound">{formula}{mark}</span>' if mark else formula


def give_room(page: Page) -> None:
    """Give the inline formulas of a page their room and what follows them."""
    page.change(partial(INLINE.sub, roomy))


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
    each_page(app, give_room)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
