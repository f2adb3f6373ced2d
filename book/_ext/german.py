"""German words in prose: {de}`Fledermaus | bat`, and {de}`Hund | above`.

The gloss is required where a word first stands; *above* says that the page
has given it before. A word with an umlaut outside the role is an error.
"""

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx


def german(
    name: str,
    rawtext: str,
    text: str,
    lineno: int,
    inliner: Inliner,
    options: dict | None = None,
    content: list[str] | None = None,
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """An italic German phrase, marked as German, with its gloss behind it."""
    words, bar, gloss = (part.strip() for part in text.partition("|"))
    if not (words and bar and gloss):
        message = inliner.reporter.error(
            f"{rawtext} has no gloss: write {{de}}`words | meaning`, or "
            "{de}`words | above` where the page has given it before",
            line=lineno,
        )
        return [inliner.problematic(rawtext, rawtext, message)], [message]
    phrase = nodes.emphasis(words, words, classes=["german"])
    if gloss == "above":
        return [phrase], []
    return [phrase, nodes.Text(f" ({gloss})")], []


def mark_language(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Tell browsers and screen readers that these phrases are German."""
    if app.builder.format != "html":
        return
    for phrase in list(doctree.findall(nodes.emphasis)):
        if "german" in phrase["classes"]:
            html = f'<em lang="de">{phrase.astext()}</em>'
            phrase.replace_self(nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("de", german)
    app.connect("doctree-resolved", mark_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
