"""Comparisons that find no difference: a quiet line each, and all as a list.

Two results that must be equal are compared in a cell, whose metadata say in
words what equals what: `equal: [["MultiHeadAttention", "one head after
another"]]`. Where all that such a cell prints are differences of zero, its
page shows one line, with the cell behind it. With an empty list the cell
stays as it is. ```{equalities}``` is the table of all of them, each with a
link to its cell.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api_links import chapter_of, labels
from docutils import nodes
from edition import say
from ledger_page import reference
from notebooks import cells, output
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from written_tables import paragraph, row, table

from ledger import BOOK

NONE = re.compile(r".*difference\b.*?(?:\b0(?:\.0+)?|below 1e-\d+)(?: nats)?")
FOLDED = {"hide-cell", "remove-cell"}  # with an exercise's solution
logger = logging.getLogger(__name__)


def without_difference(printed: str) -> bool:
    """Whether all that a cell prints are differences of zero."""
    lines = [line for line in printed.splitlines() if line.strip()]
    return bool(lines) and all(map(NONE.fullmatch, lines))


def compared(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cells of a notebook that find no difference, by their ids."""
    for cell in cells(path):
        if FOLDED.intersection(cell["metadata"].get("tags", [])):
            continue
        if without_difference(output(cell)):
            yield cell["id"], cell["metadata"]


def words(page: str) -> list[str]:
    """What a page calls the things that it compares."""
    path = BOOK / f"{Path(page).name}.ipynb"
    found = compared(path) if path.is_file() else ()
    return [
        word
        for _, metadata in found
        for pair in metadata.get("equal", ())
        for word in pair
    ]


def make_quiet(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the cells of a page that find no difference, behind one line."""
    page = app.env.docname
    path = BOOK / f"{Path(page).name}.ipynb"
    if not path.is_file():
        return
    found = dict(compared(path))
    ids = [cell["id"] for cell in cells(path)]
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") != "cell_code":
            continue
        name = ids[cell["cell_index"]]
        pairs = cell["cell_metadata"].get("equal")
        if pairs is None and name in found:
            logger.warning(
                "only differences of 0: write into the cell's metadata what "
                "is equal, [[this, that], ...], or [] to show it as it is",
                location=cell,
            )
        if pairs and name not in found:
            logger.warning("not equal, as it says: %s", pairs, location=cell)
        if pairs and name in found:
            equal = say("{} equals {}")
            told = [equal.format(*map(say, pair)) for pair in pairs]
            cell["hide_mode"] = "all"
            cell["prompt_show"] = cell["prompt_hide"] = say(
                "Checked: {}"
            ).format(say("; ").join(told))
            cell["classes"].append("checked")
            cell["ids"].append(f"equal-{name}")
            known = labels(app.env)
            known.note_hyperlink_target(cell["ids"][-1], page, *cell["ids"])


class Equalities(SphinxDirective):
    """```{equalities}``` lists what is compared on all pages."""

    def run(self) -> list[nodes.Node]:
        rows = []
        for path in sorted(BOOK.glob("*.ipynb")):
            self.env.note_dependency(str(path))
            number, module = chapter_of(path.stem)
            where = f"chapter {number}" if number else module
            for name, metadata in compared(path):
                cell = reference(self.env, f"equal-{name}", where)
                for this, that in metadata.get("equal", ()):
                    said = paragraph(this), paragraph(that)
                    rows.append(row(*said, paragraph(cell.deepcopy())))
        return [table(["this", "equals", "checked in"], rows, style="")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("equalities", Equalities)
    app.connect("doctree-read", make_quiet)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
