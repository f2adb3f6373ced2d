"""What search.html searches: the text of every section, as one script.

A page that is opened as a file may not fetch anything, but it may load a
script. So the sections come as one, read from the pages as they were written,
and _static/search/search.js makes the index of them. This stands in for
Sphinx's own search, which knows a word's page, and not its section.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edition import WithoutIndex, terms
from lxml import html
from sphinx.application import Sphinx

SCRIPT = "_static/search_sections.js"
SCRIPT_OF = "_static/search_sections_{}.js"  # of an edition
REPLACED = "_static/searchtools.js"


def has(*names: str) -> str:
    """The XPath condition of one of these classes."""
    given = 'concat(" ", normalize-space(@class), " ")'
    return " or ".join(f'contains({given}, " {name} ")' for name in names)


# What can be found: sections, claims of the ledger, entries of the API.
ENTRIES = (
    f".//section[@id] | .//details[{has('claim')}]"
    f" | .//dl[{has('py')}][not(ancestor::dl[{has('py')}])]"
)
# Pictures, what was printed, and what the page says twice, such as the parts
# of a listing that notes explain.
SILENT = (
    f".//script | .//style | .//svg | .//details[{has('hide')}]/summary"
    f" | .//ol[{has('notes')}]//code | .//*["
    + has(
        "cell_output",
        "headerlink",
        "export",
        "origin",
        "toctree-wrapper",
        "way",
    )
    + "]"
)
BLOCKS = "|".join(
    f".//{tag}" for tag in ["p", "li", "dt", "dd", "td", "th", "pre", "div"]
)


class Entry(NamedTuple):
    """A part of a page that has an address; `names` are those of its code."""

    page: int
    anchor: str
    title: str
    text: str
    names: str


def words(node: html.HtmlElement) -> str:
    return " ".join(node.text_content().split())


def title_of(entry: html.HtmlElement) -> str:
    """A section's heading, a claim's name, what the API describes."""
    if entry.tag == "dl":
        return entry.find("dt").get("id").rpartition(".")[2]
    (title,) = entry.xpath(f"(h1|h2|h3|h4|.//*[{has('id')}])[1]")
    title.drop_tree()
    return words(title) if entry.tag == "section" else f"Claim {words(title)}"


def names_in(entry: html.HtmlElement) -> str:
    """The names of Python in an entry's cells, which are taken out.

    What is imported is told of elsewhere, and an exception that is raised is
    not what a section is about.
    """
    names: set[str] = set()
    for cell in entry.xpath(f".//*[{has('cell_input')}]"):
        code = cell.text_content()
        if not IMPORTS.search(code):
            names.update(NAME.findall(code))
        cell.drop_tree()
    return " ".join(sorted(names))


IMPORTS = re.compile(r"^\s*(import|from) ", re.MULTILINE)
NAME = re.compile(r"\b(?:[a-z]\w*_\w+|[A-Z]\w*[a-z][A-Z]\w*)\b(?<!Error)")


def entries(text: str, page: int) -> Iterator[Entry]:
    """The entries of a page, the last and the innermost first."""
    (body,) = html.document_fromstring(text).xpath("//article")
    for silent in body.xpath(SILENT):
        silent.drop_tree()
    for math in body.xpath(f".//*[{has('math')}]"):
        math[:], math.text = [], " … "
    for block in body.xpath(BLOCKS):
        block.tail = f" {block.tail or ''}"
    for part in reversed(body.xpath(ENTRIES)):
        anchor = (part.find("dt") if part.tag == "dl" else part).get("id")
        title, names = title_of(part), names_in(part)
        yield Entry(page, anchor, title, words(part), names)
        part.drop_tree()


def reading_order(app: Sphinx, page: str) -> Iterator[str]:
    yield page
    for child in app.env.toctree_includes.get(page, ()):
        yield from reading_order(app, child)


def in_english() -> dict[str, str]:
    """Of a Chinese term what pages that are not Chinese call it."""
    names = {chinese: english for english, chinese in terms().items()}
    return {x.partition("（")[0]: names[x] for x in names if len(x) > 1}


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the script with all sections, in place of Sphinx's index.

    That of an edition has its own pages alone.
    """
    if error or app.builder.name != "html":
        return
    folder, edition = Path(app.outdir), app.config.edition
    pages, found = [], []
    for page in dict.fromkeys(reading_order(app, app.config.root_doc)):
        address = app.builder.get_target_uri(page)
        if not address.startswith(edition):
            continue
        number = app.env.toc_secnumbers.get(page, {}).get("", ())
        title = app.env.titles[page].astext()
        pages.append([address, ". ".join([*map(str, number), title])])
        text = (folder / address).read_text(encoding="utf-8")
        found += [*entries(text, len(pages) - 1)][::-1]
    known = {"terms": in_english()} if edition else {}
    text = json.dumps(
        {"pages": pages, "sections": found, **known},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    script = f"window.{'EDITION' if edition else 'BOOK'} = {text};\n"
    path = folder / (SCRIPT_OF.format(edition) if edition else SCRIPT)
    path.write_text(script, encoding="utf-8")
    (folder / REPLACED).unlink(missing_ok=True)  # never loaded now


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.add_builder(WithoutIndex, override=True)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
