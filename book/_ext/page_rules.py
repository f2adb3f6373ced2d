"""What every page keeps to: words, a first picture, no rounding errors.

Words are those of running prose: no exercises and questions, tables,
formulas, captions, code or what code printed. words.json, beside the built
book, lists them. A rounding error is no number: it is another one on another
processor.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

CHAPTER = 3_200  # words of running prose, at most
MAIN_PATH = 60_000  # parts I to V
BOOK = 84_000
# sections that are worked through rather than read
WORKED = ("Exercises", "Five questions")
NO_PROSE = (
    *(nodes.table, nodes.caption, nodes.legend, nodes.math, nodes.math_block),
    *(nodes.literal_block, nodes.raw, nodes.citation, nodes.comment),
    *(nodes.footnote, addnodes.desc, addnodes.toctree),
)
# What is below 1e-9 was left by rounding, unless it is a bound.
ERROR = re.compile(r"(?<!below )(?<!at most )\b\d(\.\d+)?e-[1-9]\d")
# Cells that may print one: their numbers are not compared, or it is the point.
MAY_BE_SMALL = {"tag_measured", "tag_nbval-ignore-output", "tag_small-numbers"}
logger = logging.getLogger(__name__)


def words(node: nodes.Node) -> int:
    """The words of running prose in a part of a page."""
    if isinstance(node, NO_PROSE) or not isinstance(node, nodes.Element):
        return 0
    classes = node.get("classes", [])
    if "cell_output" in classes:
        return 0
    if isinstance(node, nodes.section) and node[0].astext().startswith(WORKED):
        return 0
    if isinstance(node, nodes.paragraph):
        said = "".join(
            " … " if isinstance(part, NO_PROSE) else part.astext()
            for part in node.children
        )
        return sum(any(c.isalnum() for c in word) for word in said.split())
    return sum(words(child) for child in node.children)


def numbered(page: str) -> bool:
    """Whether a page is one of the chapters of parts I to V."""
    return Path(page).name[:2].isdigit()


def first_screen(doctree: nodes.document) -> list[nodes.Node]:
    """What stands on a page above the first heading under its title."""
    title = next(iter(doctree.findall(nodes.section)))
    shown = []
    for part in title.children:
        if isinstance(part, nodes.section):
            break
        shown.append(part)
    return shown


def rounding_errors(doctree: nodes.document) -> list[str]:
    """The rounding errors that cells print, each with its number."""
    return [
        found[0]
        for output in doctree.findall(nodes.container)
        if "cell_output" in output["classes"]
        and not MAY_BE_SMALL.intersection(output.parent["classes"])
        for found in ERROR.finditer(output.astext())
    ]


def look_over(app: Sphinx, doctree: nodes.document) -> None:
    """Count a page's words, and look for its picture."""
    page = app.env.docname
    if app.config.edition or page.startswith("book/api"):
        return  # the rules are for English prose
    for error in rounding_errors(doctree):
        logger.warning(
            "%s: a rounding error as a number; print it by `below`, or tag "
            "the cell small-numbers",
            error,
            location=page,
        )
    app.env.metadata[page]["words"] = count = words(doctree)
    if not numbered(page):
        return
    if count > CHAPTER:
        logger.warning(
            "%s words of running prose; a chapter has %s at most",
            f"{count:,}",
            f"{CHAPTER:,}",
            location=page,
        )
    above = first_screen(doctree)
    if not any(p for part in above for p in part.findall(is_picture)):
        logger.warning("no picture on the first screen", location=page)


def is_picture(node: nodes.Node) -> bool:
    """A figure, a live figure, or a drawing that a cell made."""
    if isinstance(node, nodes.raw):
        return any(tag in node.astext() for tag in ("<svg", "<img", "widget"))
    return isinstance(node, (nodes.figure, nodes.image))


def add_up(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of a book that has grown, and write down its words."""
    if app.config.edition:
        return
    found = {
        page: known["words"]
        for page, known in env.metadata.items()
        if "words" in known
    }
    path = sum(count for page, count in found.items() if numbered(page))
    for what, count, most in (
        ("parts I to V", path, MAIN_PATH),
        ("the book", sum(found.values()), BOOK),
    ):
        if count > most:
            logger.warning(
                "%s: %s words, %s at most", what, f"{count:,}", f"{most:,}"
            )
    listed = dict(sorted(found.items()))
    listed |= {"parts I to V": path, "all": sum(found.values())}
    text = json.dumps(listed, indent=1)
    (Path(app.outdir).parent / "words.json").write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.connect("doctree-read", look_over)
    app.connect("env-updated", add_up)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
