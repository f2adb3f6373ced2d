"""Folds: each is a <details>, and its name says what it opens.

Who sees a page knows from its place what "Show the code" opens. Who hears it,
or goes through a list of its folds, hears that thirty times. So the name goes
on, "of cell 12", for screen readers; on paper, where answers are at the end
(book/_static/book.js), "to exercise 2" is seen.
"""

import re
from html import escape

from docutils import nodes
from edition import say
from myst_nb.sphinx_ import HideCodeCellNode  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ANSWERS = {"dropdown", "tip"}  # the classes of solutions and answers
NUMBER = re.compile(r"\d+(?=\.)")


class Fold(nodes.admonition):
    """An admonition that is folded; `of` goes on with its title."""


class Summary(nodes.TextElement):
    """The title of a fold."""


def whose(of: str) -> str:
    """What a fold's name goes on with."""
    blank = "" if of.startswith("（") else " "
    return f'<span class="whose">{blank}{escape(of)}</span>' if of else ""


def open_cell(self: HTML5Translator, node: HideCodeCellNode) -> None:
    """A folded cell, in place of MyST-NB's "Toggle hidden content"."""
    classes = " ".join(["admonition", "hide", *node["classes"]])
    cell = node.parent or {}  # MyST-NB sets none where all of a cell is folded
    of = whose(node.get("of") or cell.get("of", ""))
    self.body.append(f'<details class="{classes}">\n<summary>\n')
    for kind, said in (("collapsed", "show"), ("expanded", "hide")):
        words = escape(node[f"prompt_{said}"]) + of
        self.body.append(f'<p class="{kind} admonition-title">{words}</p>\n')
    self.body.append("</summary>\n")


def open_fold(self: HTML5Translator, node: Fold) -> None:
    self.body.append(self.starttag(node, "details", CLASS="admonition"))


def close_fold(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append("</details>\n")


def open_summary(self: HTML5Translator, node: Summary) -> None:
    opened = self.starttag(node, "summary", "", CLASS="admonition-title")
    self.body.append(opened)


def close_summary(self: HTML5Translator, node: Summary) -> None:
    self.body.append(whose(node.parent.get("of", "")) + "</summary>\n")


def answered(block: nodes.admonition) -> str:
    """What an answer is to: the numbered exercise above it, or its section."""
    section = block.parent
    for above in reversed(section[: section.index(block)]):
        bold = above.next_node(nodes.strong)  # **2. Without the sum.**
        number = NUMBER.match(bold.astext()) if bold else None
        if number and above.astext().startswith(bold.astext()):
            return say("to exercise {}").format(number[0])
    return say("to “{}”").format(section.next_node(nodes.title).astext())


def make_folds(app: Sphinx, doctree: nodes.document) -> None:
    """Make folds of the admonitions with the class `dropdown`."""
    for block in list(doctree.findall(nodes.admonition)):
        if "dropdown" not in block["classes"]:
            continue
        title, *inside = block.children
        is_answer = ANSWERS.issubset(block["classes"])
        fold = Fold("", of=answered(block) if is_answer else "")
        fold["classes"] = block["classes"] + ["answer"] * is_answer
        fold["ids"] = block["ids"]
        block.replace_self(fold)
        summary = Summary(title.rawsource, "", *title.children)
        summary.source, summary.line = title.source, title.line
        fold.extend([summary, *inside])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(HideCodeCellNode, override=True, html=(open_cell, close_fold))
    app.add_node(Fold, html=(open_fold, close_fold))
    app.add_node(Summary, html=(open_summary, close_summary))
    app.connect("doctree-read", make_folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
