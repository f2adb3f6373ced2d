"""Ways through the book, each a trail along which Next and Previous lead.

```{ways}``` stands for their cards, with the time that each page takes. Who
has begun one sees on each of its pages where it goes on (the choice is kept
by book.js, and shown by the style sheet before the page is painted), and
reads only the sections that the way names: where it leaves some out, a line
leads over them. A link along a way has it in its address, too: a browser may
lose what is kept, or keep nothing, and two windows may follow two ways.
"""

import re
from html import escape
from typing import Any, NamedTuple

from docutils import nodes
from each_page import Page, each_page
from edition import say
from page_rules import words
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

PACE = 100  # words a minute: half of prose alone, for figures and tables
ROUND = 5  # minutes
CHAPTERS = (
    *("01_attention", "02_heads", "03_embedding", "04_layers", "05_model"),
    *("06_data", "07_loss", "08_optimizer", "09_training", "10_decoding"),
    *("11_translation", "12_inside_heads", "13_sequences", "14_recurrence"),
    *("15_variations", "16_bugs", "17_modern", "18_writing", "19_scale"),
)
CHINESE = re.compile("[\u4e00-\u9fff]")
logger = logging.getLogger(__name__)


class Way(NamedTuple):
    """A choice of pages; of some, the opening and these sections alone."""

    name: str
    title: str  # {} are the minutes of all pages
    afterwards: str
    pages: dict[str, tuple[str, ...]]
    end: str  # the address that the last page leads to

    def address(self, page: str) -> str:
        """The address of one of its pages, for who follows it."""
        return f"{page}.html?way={self.name}"


WAYS = (
    Way(
        "idea",
        "The idea, in {} minutes",
        "Afterwards you can explain, with numbers, how a Transformer finds "
        "what a word refers to.",
        {
            "01_attention": (
                "one-vector-for-a-whole-sentence",
                "three-numbers-for-each-word",
                "queries-keys-and-values",
                "all-words-at-once",
                "why-divide-by-the-square-root-of-d-k",
                "into-a-trained-network",
            ),
            "02_heads": (),
            "05_model": (
                "a-transformer-that-you-can-open",
                "one-sentence-through-every-box",
                "what-must-not-leak-and-what-must-not-matter",
                "the-first-words",
            ),
            "12_inside_heads": (
                "exchange-what-one-head-brings",
                "cause-of-what",
            ),
        },
        "intro.html#sec-way-end",
    ),
    Way(
        "model",
        "The model, over a weekend",
        "Afterwards you can write, train and use one yourself.",
        dict.fromkeys(CHAPTERS[:11], ()),
        "conclusion.html",
    ),
    Way(
        "course",
        "The course, over a few weeks",
        "Afterwards you can judge what others say about it, and find the bug "
        "in somebody else’s model.",
        dict.fromkeys((*CHAPTERS, "conclusion"), ()),
        "intro.html",
    ),
)


class Stop(NamedTuple):
    """A page of a way."""

    page: str
    title: str
    minutes: int
    sections: dict[str, tuple[str, bool]]
    """By anchor the title of each section, and whether the way leads there."""


class ways_here(nodes.General, nodes.Element):
    """Where the cards come."""


class Ways(SphinxDirective):
    """```{ways}``` stands for the cards."""

    def run(self) -> list[nodes.Node]:
        return [ways_here()]


class Begin(SphinxDirective):
    """```{begin}``` is the button that leads to chapter 1, on no way."""

    def run(self) -> list[nodes.Node]:
        words = say("Begin: Attention")
        html = (
            '<p><a class="begin" data-takes="" href="01_attention.html">'
            f"{words}</a></p>"
        )
        return [nodes.raw("", html, format="html")]


def read(part: nodes.Node) -> int:
    """The words of a part; three Chinese signs are read as fast as two."""
    return words(part) + 2 * len(CHINESE.findall(part.astext())) // 3


def note_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the titles and words of a page's opening and sections."""
    page = next(iter(doctree.findall(nodes.section)), None)
    if page is None:
        return
    parts = {"": ("", 0)}
    for part in page.children:
        if isinstance(part, nodes.section):
            parts[part["ids"][0]] = part[0].astext(), read(part)
        else:
            parts[""] = "", parts[""][1] + read(part)
    app.env.metadata[app.env.docname]["sections"] = parts


def stops(env: BuildEnvironment, way: Way) -> list[Stop]:
    """The pages of a way, with the time that each takes."""
    found = []
    for page, chosen in way.pages.items():
        name = f"book/{page}"
        parts: Any = env.metadata[name]["sections"]
        for anchor in {*chosen} - {*parts}:
            logger.warning("ways.py: no section %s on %s", anchor, page)
        count = sum(
            counted
            for anchor, (_, counted) in parts.items()
            if not (chosen and anchor) or anchor in chosen
        )
        minutes = max(ROUND, ROUND * round(count / PACE / ROUND))
        numbers: Any = env.toc_secnumbers.get(name, {})
        sections = {
            x: (numbered(title, numbers, f"#{x}"), not chosen or x in chosen)
            for x, (title, _) in parts.items()
            if x
        }
        title = numbered(env.titles[name].astext(), numbers, "")
        found.append(Stop(page, title, minutes, sections))
    return found


def numbered(title: str, numbers: dict[str, Any], anchor: str) -> str:
    """The title of a page or section, behind its number if it has one."""
    number = ".".join(map(str, numbers.get(anchor, ())))
    return ". ".join(filter(None, [number, title]))


def titled(way: Way, trail: list[Stop]) -> str:
    """The name of a way, with the time that its pages take."""
    return say(way.title).format(sum(stop.minutes for stop in trail))


def card(env: BuildEnvironment, way: Way) -> str:
    """A way as a card; of many pages only how many there are."""
    trail, minutes = stops(env, way), say("{} minutes")
    first, hours = trail[0], sum(x.minutes for x in trail) / 60
    listed = "".join(
        f'<li><a href="{x.page}.html">{escape(x.title)}</a> '
        f"<span>{minutes.format(x.minutes)}</span></li>"
        for x in trail
    )
    if len(trail) > len(CHAPTERS):
        long = say("{} pages, {:.0f} hours of reading, and the exercises")
        listed = (
            f"<details><summary>{long.format(len(trail), hours)}</summary>"
            f"<ul>{listed}</ul></details>"
        )
    else:
        listed = f"<ul>{listed}</ul>"
    take = say("Take this way")
    return (
        f'<div class="way-card"><p><strong>{titled(way, trail)}</strong></p>'
        f"<p>{say(way.afterwards)}</p>"
        f'{listed}<a class="begin" data-takes="{way.name}" '
        f'href="{way.address(first.page)}">{take}</a></div>'
    )


def show_cards(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write the cards in their place."""
    for place in list(doctree.findall(ways_here)):
        cards = "".join(card(app.env, way) for way in WAYS)
        html = f'<div class="ways">{cards}</div>'
        place.replace_self(nodes.raw("", html, format="html"))


def lead_on(page: Page) -> None:
    """Tell a page's ways where it lies on them, and where each goes on."""
    env, here = page.app.env, page.name.removeprefix("book/")
    page.context["ways"] = []
    for way in WAYS if "body" in page.context else ():
        if here not in way.pages:
            continue
        trail = stops(env, way)
        name = titled(way, trail)
        place = [stop.page for stop in trail].index(here)
        stop = trail[place]
        intro = ("intro.html", env.titles["book/intro"].astext())
        before, after = intro, (way.end, say("The end, and what next"))
        if place:
            last = trail[place - 1]
            before = way.address(last.page), last.title
        if stop is not trail[-1]:
            on = trail[place + 1]
            long = say("{} minutes").format(on.minutes)
            after = way.address(on.page), f"{on.title} ({long})"
        page.context["ways"].append((way.name, name, before, after))
        bar = (
            f'<div class="way" data-way="{way.name}">'
            + say("{}: page {} of {}, about {} minutes.").format(
                name, place + 1, len(trail), stop.minutes
            )
            + ' <button type="button" data-takes="">'
            + say("Leave this way")
            + "</button></div>"
        )
        body = page.context["body"].replace("</h1>", f"</h1>{bar}", 1)
        for out, (link, title) in leaps(stop, after):
            numbers = [stop.sections[x][0].split(". ")[0] for x in out]
            over = say("This way leaves out {}: continue at {}.").format(
                say(" to ").join(dict.fromkeys((numbers[0], numbers[-1]))),
                f'<a href="{link}">{escape(title)}</a>',
            )
            line = f'<p class="way" data-way="{way.name}">{over}</p>'
            begin = f'<section id="{out[0]}">'
            body = body.replace(begin, line + begin, 1)
        page.context["body"] = body


def leaps(
    stop: Stop, after: tuple[str, str]
) -> list[tuple[list[str], tuple[str, str]]]:
    """The runs of sections that a way leaves out, and what follows each.

    That is an address and its title: of the next section or, after the last
    one that is read, of the next page.
    """
    found = []
    out: list[str] = []
    for anchor, (title, read) in stop.sections.items():
        if read and out:
            found.append((out, (f"#{anchor}", title)))
        out = [] if read else [*out, anchor]
    return [*found, (out, after)] if out else found


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(ways_here)
    app.add_directive("ways", Ways)
    app.add_directive("begin", Begin)
    app.connect("doctree-read", note_sections)
    app.connect("doctree-resolved", show_cards)
    each_page(app, lead_on, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
