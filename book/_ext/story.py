"""Story and code: what a reader sees of a cell, and what unfolds.

A page opens as a story. The cells that import, measure or draw are folded,
and so are long ones; what they print stays. Small examples and short
definitions are shown. Of a long definition a reader sees its gist: the
signature, the docstring's first paragraph, and the lines that the cell's
metadata name as those that matter, by a part of each. A cell with the tag
`explained` stays open, and the list beneath it explains it line by line.
book/_static/story.js unfolds all for who reads the code.

An exercise has one fold: the check that follows its solution goes into it.
Imports come between no reader and the first idea: they are at the page's end.
"""

import ast
import re
import textwrap
from collections.abc import Iterator

from docutils import nodes
from edition import say
from folds import Fold
from myst_nb.sphinx_ import HideCodeCellNode  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.util import logging

SHORT = 12  # lines of an example or a definition that is shown as it is
MEASURES = {"tag_measured", "tag_nbval-ignore-output"}
CALLS = re.compile(r"\b(claim|read_run)\(")
IMPORTS = re.compile(r"^(import|from) ", re.MULTILINE)
WHOLE = 4  # lines of a signature that is shown with its types
WIDTH = 79
PROMPTS = {
    "output": ("Show the output", "Hide the output"),
    "code": ("Show the code", "Hide the code"),
    "imports": ("Show the imports", "Hide the imports"),
}
LEFT_OUT, QUOTES = "# …", '"""'
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
HEADS = ("def ", "class ", "@")
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
logger = logging.getLogger(__name__)


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
        len(code.splitlines()) > SHORT
        or MEASURES.intersection(cell["classes"])
        or CALLS.search(code)
        or any(True for x in outputs for _ in x.findall(nodes.image))
    )


def begin(node: ast.AST) -> int:
    """The first line of a statement, with its decorators."""
    above = getattr(node, "decorator_list", [])
    return min(x.lineno for x in (*above, node))


def own_lines(node: ast.stmt) -> range:
    """A statement's lines; of one that holds others, those of its head."""
    inner = getattr(node, "body", None)
    end = begin(inner[0]) if inner else (node.end_lineno or 0) + 1
    return range(begin(node), max(end, begin(node) + 1))


def documented(node: ast.stmt, lines: list[str]) -> list[str]:
    """The first paragraph of a definition's docstring, as it stands."""
    if not isinstance(node, DEFINITIONS) or not ast.get_docstring(node):
        return []
    said = lines[node.body[0].lineno - 1 : node.body[0].end_lineno]
    if "" not in said:
        return said
    *said, last = said[: said.index("")]
    if len(last) + len(QUOTES) <= WIDTH:
        return [*said, last + QUOTES]
    return [*said, last, indent(last) + QUOTES]


def indent(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def briefly(node: ast.stmt, lines: list[str]) -> list[str]:
    """The head of a statement; a long list of parameters without types."""
    own = own_lines(node)
    head = [lines[i - 1] for i in own]
    above, head = head[: node.lineno - own[0]], head[node.lineno - own[0] :]
    most = 1 if node.col_offset else WHOLE
    if isinstance(node, ast.FunctionDef) and len(head) > most:
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        for arg in filter(None, (*every, given.vararg, given.kwarg)):
            arg.annotation = None
        blanks = " " * node.col_offset
        head = textwrap.wrap(
            f"def {node.name}({ast.unparse(given)}):".replace("'", '"'),
            width=WIDTH,
            initial_indent=blanks,
            subsequent_indent=blanks + " " * 8,
        )
    return above + head


class Gist:
    """What is seen of a long listing; `unknown` are parts of no line.

    Kept are the heads of all definitions of the first level, the statements
    that matter, and the heads of those that hold them.
    """

    def __init__(self, code: str, matters: list[str]):
        self.lines, self.matters = code.splitlines(), matters
        self.unknown = {*matters}
        # by its first line, the last line of a statement and what is seen
        self.kept: dict[int, tuple[int, list[str]]] = {}
        self.visit(ast.parse(code).body, {})
        self.text = "\n".join(self.shown())

    def visit(
        self, body: list[ast.stmt], around: dict[int, tuple[int, list[str]]]
    ) -> None:
        """Keep the statements of a block that matter."""
        for node in body:
            own = own_lines(node)
            text = "\n".join(self.lines[i - 1] for i in own)
            named = [x for x in self.matters if x in text]
            self.unknown -= {*named}
            if named or not around:
                here = {own[0]: self.seen_of(node, whole=bool(named))}
                self.kept = {**around, **here, **self.kept}
            inside = {**around, own[0]: self.seen_of(node, whole=False)}
            for name in BLOCKS:
                if block := getattr(node, name, []):
                    above = begin(block[0]) - 1
                    word = self.lines[above - 1]
                    if word.strip() in ("else:", "finally:"):
                        inside[above] = above, [word]
                    self.visit(block, inside)

    def seen_of(self, node: ast.stmt, whole: bool) -> tuple[int, list[str]]:
        """The last line of a statement's head, and what is seen of it."""
        said, end = briefly(node, self.lines), own_lines(node)[-1]
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node):
            end = node.body[0].end_lineno or end
            said += [] if node.col_offset else documented(node, self.lines)
        if len(said) > 1 and not whole and not hasattr(node, "body"):
            said = [f"{said[0]}  {LEFT_OUT}"]
        return end, said

    def shown(self) -> Iterator[str]:
        """The lines that are kept, and a sign where some are left out."""
        last, opened = 0, False
        for first, (end, said) in sorted(self.kept.items()):
            between = self.lines[last : first - 1] if last else []
            gap = [x for x in between if x.strip()]
            head = said[0].lstrip().startswith(HEADS)
            if not indent(said[0]):
                yield from [""] * (len(between) > len(gap))
            elif gap and not (opened or head):
                yield indent(gap[0]) + LEFT_OUT
            yield from said
            last, opened = end, head


def one_fold(solution: Fold) -> None:
    """Put the folded cell after a solution, its check, into its fold."""
    cell = solution.next_node(descend=False, siblings=True)
    if is_cell(cell) and cell.get("hide_mode") == "all":
        del cell["hide_mode"]
        solution.parent.remove(cell)
        solution += cell


def imports(cell: nodes.container) -> bool:
    """Whether a cell begins with imports, notes above, and shows nothing."""
    code = re.sub(r"\A(\s|#.*)+", "", text_of(part(cell, "cell_input")))
    shown = part(cell, "cell_output")
    return code.startswith(("import ", "from ")) and not shown


def is_check(cell: nodes.container) -> bool:
    """Whether a cell stands in the fold of a solution."""
    return isinstance(cell.parent, Fold)


def fold(cell: nodes.container) -> None:
    """Fold a cell's code; the sign that it is exported goes with it."""
    cell["hide_mode"] = "input"
    for sign in part(cell, "export"):
        cell.remove(sign)
        cell[0].insert(0, sign)


def shorten(cell: nodes.container) -> None:
    """Show the gist of a long definition; the whole unfolds in its place."""
    (code,) = part(cell, "cell_input")
    block = next(code.findall(nodes.literal_block))
    count = len(block.astext().splitlines())
    if count <= SHORT:
        return
    gist = Gist(block.astext(), cell["cell_metadata"].get("matters", []))
    for piece in sorted(gist.unknown):
        logger.warning("no line has what matters: %r", piece, location=cell)
    shown = nodes.literal_block(gist.text, gist.text)
    shown["language"] = block["language"]
    mark_lines(shown)
    body = ast.parse(block.astext()).body
    defined = [x.name for x in body if isinstance(x, DEFINITIONS)]
    whole = HideCodeCellNode(
        prompt_show=say("Show all {} lines").format(count),
        prompt_hide=say("Show the gist"),
        of=say("of {}").format(", ".join(defined)),
        classes=["above-input"],
    )
    cell.replace(code, whole)
    whole += code
    seen = nodes.container("", shown, classes=["cell_input", "gist"])
    cell.insert(cell.index(whole) + 1, seen)
    cell["classes"].append("with-gist")


def mark_lines(block: nodes.Node) -> None:
    """Make each line of a listing one that can wrap by itself."""
    count = block.astext().count("\n") + 1
    block["highlight_args"] = {"hl_lines": [*range(1, count + 1)]}


def explain(cell: nodes.container) -> None:
    """Mark the lines of a listing that the list beneath it explains."""
    block = next(cell.findall(nodes.literal_block))
    lines = block.astext().splitlines()
    notes = cell.next_node(descend=False, siblings=True)
    if not isinstance(notes, nodes.enumerated_list):
        logger.warning("no list explains this listing", location=cell)
        return
    marked, last = [], 0
    for note in notes:
        said = next(note.findall(nodes.literal), nodes.literal()).astext()
        found = [i for i, x in enumerate(lines, 1) if said in x and i > last]
        if not said or not found:
            logger.warning("no line to explain: %r", said, location=note)
            continue
        last = found[0]
        marked.append(last)
    block["highlight_args"] = {"hl_lines": marked}
    notes["classes"].append("notes")


def look_over(app: Sphinx, doctree: nodes.document) -> None:
    """Fold what is not the story, and each exercise once."""
    for block in list(doctree.findall(Fold)):
        one_fold(block)
    page = doctree.next_node(nodes.section)
    cells = filter(is_cell, doctree.findall(nodes.container))
    for number, cell in enumerate(list(cells), start=1):
        if "tag_explained" not in cell["classes"]:
            for code in part(cell, "cell_input"):
                mark_lines(next(code.findall(nodes.literal_block)))
        if "checked" in cell["classes"]:
            continue
        settled = cell.get("hide_mode") or is_check(cell)
        if not settled and not belongs_to_the_story(cell):
            fold(cell)
        elif "tag_explained" in cell["classes"]:
            explain(cell)
        elif not settled and "tag_export" in cell["classes"]:
            shorten(cell)
        if imports(cell) and not is_check(cell):
            cell.parent.remove(cell)
            page.append(cell)
        what = "output" if cell.get("hide_mode") == "output" else "code"
        prompts = PROMPTS["imports" if imports(cell) else what]
        cell["prompt_show"], cell["prompt_hide"] = map(say, prompts)
        cell["of"] = say("of cell {}").format(number)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", look_over)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
