"""Story and code: what a reader sees of a cell, and what unfolds.

A page opens as a story. The cells that import, measure or draw are folded,
and so are long ones; what they print stays. Exported definitions and small
examples are shown. book/_static/story.js unfolds all for who reads the code.

An exercise has one fold: the check that follows its solution goes into it.
Imports come between no reader and the first idea: they are at the page's end.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

SMALL = 24  # lines of an example that belongs to the story
MEASURES = {"tag_measured", "tag_nbval-ignore-output"}
CALLS = re.compile(r"\b(claim|read_run)\(")
IMPORTS = re.compile(r"^(import|from) ", re.MULTILINE)


def is_cell(node: nodes.Node | None) -> bool:
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "cell_code"
    )


def part(cell: nodes.container, name: str) -> list[nodes.Node]:
    """What stands in a cell's parts of a class."""
    return [child for child in cell.children if name in child["classes"]]


def text_of(parts: list[nodes.Node]) -> str:
    blocks = (b for x in parts for b in x.findall(nodes.literal_block))
    return "\n".join(block.astext() for block in blocks)


def belongs_to_the_story(cell: nodes.container) -> bool:
    """Whether a cell is a definition of the package or a small example."""
    code = text_of(part(cell, "cell_input"))
    if IMPORTS.search(code):
        return False
    if "tag_export" in cell["classes"]:
        return True
    outputs = part(cell, "cell_output")
    return not (
        len(code.splitlines()) > SMALL
        or MEASURES.intersection(cell["classes"])
        or CALLS.search(code)
        or any(True for x in outputs for _ in x.findall(nodes.image))
    )


def one_fold(solution: nodes.admonition) -> None:
    """Put the folded cell after a solution, its check, into its fold."""
    cell = solution.next_node(descend=False, siblings=True)
    if is_cell(cell) and cell.get("hide_mode") == "all":
        del cell["hide_mode"]
        solution.parent.remove(cell)
        solution += cell


def imports(cell: nodes.container) -> bool:
    """Whether a cell begins with imports, and shows nothing."""
    code = text_of(part(cell, "cell_input")).lstrip()
    shown = part(cell, "cell_output")
    return code.startswith(("import ", "from ")) and not shown


def is_check(cell: nodes.container) -> bool:
    """Whether a cell stands in the fold of a solution."""
    return isinstance(cell.parent, nodes.admonition)


def fold(cell: nodes.container) -> None:
    """Fold a cell's code; the sign that it is exported goes with it."""
    cell["hide_mode"] = "input"
    for sign in part(cell, "export"):
        cell.remove(sign)
        cell[0].insert(0, sign)


def look_over(app: Sphinx, doctree: nodes.document) -> None:
    """Fold what is not the story, and each exercise once."""
    for block in list(doctree.findall(nodes.admonition)):
        if "dropdown" in block["classes"]:
            one_fold(block)
    page = doctree.next_node(nodes.section)
    for cell in list(filter(is_cell, doctree.findall(nodes.container))):
        settled = cell.get("hide_mode") or is_check(cell)
        if not settled and not belongs_to_the_story(cell):
            fold(cell)
        if imports(cell) and not is_check(cell):
            cell.parent.remove(cell)
            page.append(cell)
        what = "output" if cell.get("hide_mode") == "output" else "code"
        what = "imports" if imports(cell) else what
        cell["prompt_show"] = f"Show the {what}"
        cell["prompt_hide"] = f"Hide the {what}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", look_over)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
