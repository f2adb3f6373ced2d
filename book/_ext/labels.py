"""Labels of figures that a phone does not shrink until nobody can read them.

A figure is as wide as its page. Where that would make its smallest label less
than nine pixels high, as on a phone, it is wider and scrolls sideways. An
exponent is smaller than its label, as in a text.
"""

import re
from functools import partial
from pathlib import Path

from each_page import Page, each_page
from sphinx.application import Sphinx

SMALLEST = 9  # pixels
FIGURE = re.compile(r'(<figure[^>]*>\s*)(<img [^>]*src="([^"]*\.svg)"[^>]*>)')
WIDTH = re.compile(r'viewBox="\S+ \S+ (\S+) ')
# What is drawn has sizes of its font; matplotlib scales the outlines of
# letters, which are a hundred high.
DRAWN = re.compile(r'font-size="([\d.]+)"')
PLOTTED = re.compile(r"scale\((0\.\d+) -0\.\d+\)")


def readable(svg: str) -> float:
    """The width in pixels at which all labels can be read; 0 without any."""
    sizes = [float(size) for size in DRAWN.findall(svg)]
    sizes += [100 * float(scale) for scale in PLOTTED.findall(svg)]
    found = WIDTH.search(svg)
    assert found
    return SMALLEST * float(found[1]) / min(sizes) if sizes else 0


def give_width(page: Page) -> None:
    """Wrap each figure of a page in a box that knows this width."""
    files = {name: file for file, name in page.app.builder.images.items()}

    def wrap(found: re.Match[str]) -> str:
        begin, image, address = found.groups()
        file = Path(page.app.srcdir, files[Path(address).name])
        width = readable(file.read_text("utf-8"))
        style = f"--readable: {width:.0f}px"
        return f'{begin}<div class="wide" style="{style}">{image}</div>'

    page.change(partial(FIGURE.sub, wrap))


def setup(app: Sphinx) -> dict[str, bool]:
    each_page(app, give_width)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
