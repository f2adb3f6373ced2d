"""German words in prose, the first time with a gloss: {de}`Hund | dog`.

After that a page may write them in italics. A word with an umlaut, or one in
italics that the built-in grammar has, is an error where no sentence before it
on its page has said what it means.
"""

import re
from collections.abc import Iterator
from functools import cache

from docutils import nodes
from edition import say
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from annotated_transformer.corpora.builtin import sentence_pairs

UMLAUT = re.compile(r"\w*[äöüÄÖÜß]\w*")
WORD = re.compile(r"\w+")
ENGLISH_TOO = {"kind"}
logger = logging.getLogger(__name__)


@cache
def vocabulary() -> set[str]:
    """Words of the grammar's German sentences that no English one has."""
    pairs = sentence_pairs(3000, seed=0)
    german = {word for pair in pairs for word in words(pair.target)}
    return german - {word for pair in pairs for word in words(pair.source)}


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return WORD.findall(text.lower())


class German(SphinxRole):
    """An italic German phrase, marked as German, with its gloss behind it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        words, bar, gloss = (part.strip() for part in self.text.partition("|"))
        if not (words and bar and gloss):
            logger.warning(
                "%s has no gloss: write {de}`words | meaning`, or "
                "{de}`words | above` where the page has given it before",
                self.rawtext,
                location=(self.env.docname, self.lineno),
            )
        phrase = nodes.emphasis(words, words, classes=["german"])
        if gloss == "above":
            return [phrase], []
        return [phrase, nodes.Text(say(" ({})").format(gloss))], []


def look_over(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of German that nothing before it on its page has explained."""
    if app.config.edition or app.env.docname.startswith("book/api"):
        return
    known: set[str] = set()
    for paragraph in doctree.findall(nodes.paragraph):
        if paragraph.line is None:  # an extension wrote it
            continue
        if isinstance(paragraph.parent, nodes.block_quote):
            known.update(words(paragraph.astext()))  # below its original
            continue
        found = list(new_words(paragraph, known))
        if found:
            logger.warning(
                "German that is not yet explained: %s; write "
                "{de}`German | English`",
                ", ".join(dict.fromkeys(found)),
                location=paragraph,
            )


def new_words(
    node: nodes.Node, known: set[str], italic: bool = False
) -> Iterator[str]:
    """German words that are not yet known; glosses make them so."""
    if isinstance(node, nodes.Text):
        found = UMLAUT.findall(node)
        if italic and set(words(node)) <= vocabulary() | known:
            found += WORD.findall(node)  # all of it, so no English phrase
        for word in found:
            if word.lower() not in known and word not in ENGLISH_TOO:
                yield word
        return
    silent = (nodes.literal, nodes.math, nodes.raw, nodes.reference)
    if isinstance(node, silent):
        return
    if "german" in node.get("classes", []):
        known.update(words(node.astext()))
        return
    italic = italic or isinstance(node, nodes.emphasis)
    for child in node.children:
        yield from new_words(child, known, italic)


def mark_language(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Tell browsers and screen readers that these phrases are German."""
    if app.builder.format != "html":
        return
    for phrase in list(doctree.findall(nodes.emphasis)):
        if "german" in phrase["classes"]:
            html = f'<em lang="de">{phrase.astext()}</em>'
            raw = nodes.raw("", html, format="html")
            phrase.parent.replace(phrase, raw)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.add_role("de", German())
    app.connect("doctree-read", look_over)
    app.connect("doctree-resolved", mark_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
