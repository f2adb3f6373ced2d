"""Ways through the book, each a trail whose Next leads along it.

```{ways}``` stands for their cards, with the time that each page takes. Who
has begun one sees on each of its pages where it goes on (the choice is kept
by book.js, and shown by the style sheet before the page is painted), and
reads only the sections that the way names.
"""

from html import escape
from typing import Any, NamedTuple

from docutils import nodes
from page_rules import WORKED, words
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
logger = logging.getLogger(__name__)


class Way(NamedTuple):
    """A choice of pages; of some, the opening and these sections alone."""

    name: str
    title: str
    afterwards: str
    pages: dict[str, tuple[str, ...]]


WAYS = (
    Way(
        "idea",
        "The idea, in ninety minutes",
        "explain, with numbers, how a Transformer finds what a word refers to",
        {
            "01_attention": (),
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
    ),
    Way(
        "model",
        "The model, over a weekend",
        "write, train and use one yourself",
        dict.fromkeys(CHAPTERS[:11], ()),
    ),
    Way(
        "course",
        "The course, over a few weeks",
        "judge what others say about it, and find the bug in somebody else’s "
        "model",
        dict.fromkeys((*CHAPTERS, "conclusion"), ()),
    ),
)


class Stop(NamedTuple):
    """A page of a way."""

    page: str
    title: str
    minutes: int
    sections: list[tuple[str, str]]  # anchor and title of those to read


class ways_here(nodes.General, nodes.Element):
    """Where the cards come."""


class Ways(SphinxDirective):
    """```{ways}``` stands for the cards."""

    def run(self) -> list[nodes.Node]:
        return [ways_here()]


def note_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the titles and words of a page's opening and sections."""
    page = next(iter(doctree.findall(nodes.section)), None)
    if page is None:
        return
    parts = {"": ("", 0)}
    for part in page.children:
        if not isinstance(part, nodes.section):
            parts[""] = "", parts[""][1] + words(part)
        elif not part[0].astext().startswith(WORKED):
            parts[part["ids"][0]] = part[0].astext(), words(part)
    app.env.metadata[app.env.docname]["sections"] = parts


def stops(env: BuildEnvironment, way: Way) -> list[Stop]:
    """The pages of a way, with the time that each takes."""
    found = []
    for page, chosen in way.pages.items():
        name = f"book/{page}"
        parts: Any = env.metadata[name]["sections"]
        for anchor in {*chosen} - {*parts}:
            logger.warning("ways.py: no section %s on %s", anchor, page)
        some = ["", *(x for x in parts if x in chosen)] if chosen else parts
        count = sum(parts[x][1] for x in some)
        minutes = max(ROUND, ROUND * round(count / PACE / ROUND))
        sections = [(x, parts[x][0]) for x in some if x] if chosen else []
        number = env.toc_secnumbers.get(name, {}).get("", ())
        title = ". ".join([*map(str, number), env.titles[name].astext()])
        found.append(Stop(page, title, minutes, sections))
    return found


def card(env: BuildEnvironment, way: Way) -> str:
    """A way as a card; of many pages only how many there are."""
    trail = stops(env, way)
    first, hours = trail[0], sum(x.minutes for x in trail) / 60
    listed = "".join(
        f'<li><a href="{x.page}.html">{escape(x.title)}</a> '
        f"<span>{x.minutes} minutes</span></li>"
        for x in trail
    )
    if len(trail) > len(CHAPTERS):
        listed = (
            f"<details><summary>{len(trail)} pages, {hours:.0f} hours of "
            f"reading, and the exercises</summary><ul>{listed}</ul></details>"
        )
    else:
        listed = f"<ul>{listed}</ul>"
    return (
        f'<div class="way-card"><p><strong>{way.title}</strong></p>'
        f"<p>Afterwards you can {way.afterwards}.</p>"
        f'{listed}<a class="begin" data-takes="{way.name}" '
        f'href="{first.page}.html">Take this way</a></div>'
    )


def show_cards(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write the cards in their place."""
    for place in list(doctree.findall(ways_here)):
        cards = "".join(card(app.env, way) for way in WAYS)
        html = f'<div class="ways">{cards}</div>'
        place.replace_self(nodes.raw("", html, format="html"))


def lead_on(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Tell a page's ways where it lies on them, and where each goes on."""
    here = page.removeprefix("book/")
    context["ways"], bars = [], ""
    for way in WAYS:
        if here not in way.pages or "body" not in context:
            continue
        trail = stops(app.env, way)
        place = [x.page for x in trail].index(here)
        after = trail[place + 1] if place + 1 < len(trail) else None
        context["ways"].append((way, after))
        stop = trail[place]
        read = ", ".join(
            f'<a href="#{anchor}">{escape(title)}</a>'
            for anchor, title in stop.sections
        )
        read = f" Read what comes first, and {read}." if read else ""
        bars += (
            f'<div class="way" data-way="{way.name}">{way.title}: page '
            f"{place + 1} of {len(trail)}, about {stop.minutes} minutes.{read}"
            ' <button type="button" data-takes="">Leave this way</button>'
            "</div>"
        )
    if bars:
        context["body"] = context["body"].replace("</h1>", f"</h1>{bars}", 1)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(ways_here)
    app.add_directive("ways", Ways)
    app.connect("doctree-read", note_sections)
    app.connect("doctree-resolved", show_cards)
    app.connect("html-page-context", lead_on, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
