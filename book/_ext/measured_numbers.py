"""Measured numbers of the prose, looked up where they come from.

A decimal or a percentage in a sentence, a caption or a typed table has to
stand in an output of its own section, digit for digit. One from elsewhere
names its source and the row there: words of a line that a page prints, or the
last words of the key in a record of book/runs whose value rounds to it:
{number}`28.0 12_inside_heads: 75%  cheapest`,
{number}`63.0% update_profile: seed=2 products of matrices`. What an author
sets or works out by hand is written as code or as a formula, which nobody
looks up.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docutils import nodes
from notebooks import cells, output
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from ledger import BOOK

NUMBER = re.compile(
    r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+(?: ?%)?| ?%)(?![.-]?\w)"
)
# numbers of sections, tables and versions are addresses, not measurements
ADDRESS = re.compile(
    r"(?:[Ss]ections?|[Tt]ables?|[Ff]igures?|[Cc]hapters?|Python|torch|"
    r"PyTorch|CUDA|version|Eq\.) [\d.]+\w?(?:(?:,| and|,? or| to) [\d.]+)*"
)
# what says something by itself, and so is no sentence of the page
APART = (
    *(nodes.literal, nodes.math, nodes.math_block, nodes.literal_block),
    *(nodes.raw, nodes.citation, nodes.comment),
)
logger = logging.getLogger(__name__)


class Sourced(nodes.inline):
    """A number that names its source, and has been found in it."""


@cache
def outputs(page: str) -> str:
    """All that the cells of a page print, with the claims' figures."""
    path = BOOK / f"{page}.ipynb"
    if not path.exists():
        return ""
    return "\n".join(map(output, cells(path)))


def values(part: object, key: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a record, after the words that lead to it."""
    if isinstance(part, list):
        part = dict(enumerate(part))
    if isinstance(part, dict):
        for name, one in part.items():
            yield from values(one, f"{key} {name}")
    elif isinstance(part, (int, float)) and not isinstance(part, bool):
        yield key, float(part)


@cache
def recorded(record: str, row: str) -> list[float]:
    """The numbers of a record of book/runs whose keys end in these words."""
    path = BOOK / "runs" / f"{record}.json"
    if not path.exists():
        return []
    found = values(json.loads(path.read_text()))
    return [value for key, value in found if key.endswith(f" {row}")]


def printed(number: str, text: str) -> bool:
    """Whether a text has the number digit for digit, or its full count.

    Among many numbers one rounds to nearly anything.
    """
    bare = number.rstrip("% ").replace(",", "")
    text = text.replace(",", "")
    if re.search(rf"(?<![\d.]){re.escape(bare)}(?!\.?\d)", text):
        return True
    millions = (int(n) / 1e6 for n in re.findall(r"(?<![\d.])\d{6,}", text))
    return any(rounds(number, value) for value in millions)


def rounds(number: str, value: float) -> bool:
    """Whether a value, or its hundredfold for a share, rounds to a number."""
    bare = number.rstrip("% ").replace(",", "")
    digits = len(bare.partition(".")[2])
    scales = (1, 100) if "%" in number else (1,)
    return any(f"{abs(value) * scale:.{digits}f}" == bare for scale in scales)


class Number(SphinxRole):
    """{number}`41.8 page: row` or {number}`6.62 record: row`, found there."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        named, _, row = self.text.partition(": ")
        said, _, source = named.rpartition(" ")
        found = row and (
            printed(said, lines(outputs(source), row))
            or any(rounds(said, value) for value in recorded(source, row))
        )
        if not said or not found:
            logger.warning(
                "%s: no %s there; a number is named with its source and row, "
                "{number}`%s page: row` or {number}`%s record: row`",
                *(self.rawtext, *[said or "number"] * 3),
                location=(self.env.docname, self.lineno),
            )
        return [Sourced(said, said)], []


def lines(text: str, row: str) -> str:
    """The lines of a text that have these words, or this number."""
    words = re.compile(rf"(?<!\S){re.escape(row)}(?!\S)")
    return "\n".join(filter(words.search, text.splitlines()))


def sentences(node: nodes.Node) -> str:
    """The text of a paragraph that has to be answered for."""
    if isinstance(node, (*APART, Sourced)):
        return " … "
    if "of-claim" in getattr(node, "attributes", {}).get("classes", ()):
        return " … "  # the role put it there from the claim's own output
    if isinstance(node, nodes.Text):
        return node.astext()
    return "".join(sentences(child) for child in node.children)


def look_up(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each number that no output of its section has."""
    if Path(app.env.docname).name.startswith("api"):
        return  # docstrings, which their modules answer for
    if app.config.edition:  # a translation has its original's, by a test
        return
    shown = defaultdict[nodes.Node, str](str)
    for block in doctree.findall(is_output):
        shown[section_of(block)] += f"{block.astext()}\n"
    for paragraph in doctree.findall(is_text):
        if paragraph.line is None:  # an extension wrote it, from its source
            continue
        if any(isinstance(part, APART) for part in ancestors(paragraph)):
            continue
        for found in NUMBER.findall(ADDRESS.sub("", sentences(paragraph))):
            if not printed(found, shown[section_of(paragraph)]):
                logger.warning(
                    "%s is printed by no cell of this section; name its "
                    "source, {number}`%s page: row` or {number}`%s record: "
                    "row`, or write a setting as code",
                    *[found] * 3,
                    location=paragraph,
                )


def is_output(node: nodes.Node) -> bool:
    """What a cell printed, as it is or as a table."""
    return isinstance(node, nodes.Element) and "output" in node["classes"]


def is_text(node: nodes.Node) -> bool:
    """A paragraph, also of a table, or what a figure's caption says."""
    return isinstance(node, (nodes.paragraph, nodes.caption))


def ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    """All that a node stands in, from the inside outwards."""
    while node.parent is not None:
        node = node.parent
        yield node


def section_of(node: nodes.Node) -> nodes.Node:
    """The innermost section that a node stands in, or the page."""
    kinds = nodes.section, nodes.document
    return next(part for part in ancestors(node) if isinstance(part, kinds))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.add_role("number", Number())
    app.connect("doctree-read", look_up)
    app.add_node(
        Sourced,
        html=(lambda self, node: None, lambda self, node: None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
