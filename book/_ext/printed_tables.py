"""A table that a cell ends with (teaching/tables.py) is one on the page."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from written_tables import paragraph, row, table

RULE = re.compile(r"-+(?: +-+)+")  # below the headings, column by column


def show_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the value of a cell by a table, where it is one.

    What a cell prints on the way is left alone, whatever it looks like.
    """
    for block in list(doctree.findall(nodes.literal_block)):
        lines = block.astext().splitlines()
        is_value = {*block["classes"]} & {"output", "stream"} == {"output"}
        if is_value and len(lines) > 1 and RULE.fullmatch(lines[1]):
            block.parent.replace(block, as_table(lines))


def as_table(printed: list[str]) -> nodes.table:
    """The table of headings, a rule and rows; columns keep their sides."""
    head, rule, *rows = printed
    places = [slice(*found.span()) for found in re.finditer("-+", rule)]
    lines = [[line[place] for place in places] for line in (head, *rows)]
    right = [
        any(cell.startswith(" ") and cell.strip() for cell in column)
        for column in zip(*lines, strict=True)
    ]
    heads, *others = [[minus(x.strip()) for x in line] for line in lines]
    cells = [row(*map(paragraph, line)) for line in others]
    made = table(heads, cells, style="output")
    for line in made.findall(nodes.row):
        for entry, aligned in zip(line, right, strict=True):
            entry["classes"] += ["text-right"] * aligned
    return made


def minus(text: str) -> str:
    """A hyphen before a number as the sign that it stands for."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", show_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
