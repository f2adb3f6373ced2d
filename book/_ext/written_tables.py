"""Tables that extensions write, and paragraphs."""

from collections.abc import Sequence

from docutils import nodes


def paragraph(*children: nodes.Node | str, style: str = "") -> nodes.Node:
    """A paragraph of nodes and plain text, in the language of the build."""
    block = nodes.paragraph(classes=[style] if style else [])
    block["translatable"] = False
    block += [nodes.Text(c) if isinstance(c, str) else c for c in children]
    return block


def table(
    head: Sequence[str], rows: list[nodes.row], *, style: str
) -> nodes.table:
    """A table with one line of column names; cards makes rows into cards."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", row(*(paragraph(name) for name in head)))
    group += nodes.tbody("", *rows)
    return nodes.table("", group, classes=style.split())


def row(*cells: nodes.Node) -> nodes.row:
    """A row of cells, each one block."""
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))
