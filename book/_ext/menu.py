"""The menu: parts that no chapter depends on are folded; and figures' numbers.

Figures of pages without a number are counted page by page. Sphinx would count
them through all such pages, so that a lab began with Fig. 7.
"""

from itertools import count

from each_page import Page, each_page
from edition import say
from lxml import html
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

FOLDED = ("Labs", "Reference")


def fold_parts(menu: str) -> str:
    """The menu with some of its parts folded, unless the reader is there."""
    tree = html.fragment_fromstring(menu, create_parent="div")
    for caption in tree.xpath("p[@role='heading']"):
        name, listed = caption.text_content(), caption.getnext()
        for text in caption.xpath("span"):
            text.text = say(name)
        if name not in FOLDED or listed is None:
            continue
        fold = html.Element("details", {"class": "folded-part"})
        if listed.xpath(".//*[contains(@class, 'current')]"):
            fold.set("open", "")
        summary = html.Element("summary")
        summary.text = say(name)
        caption.addprevious(fold)
        fold.extend([summary, listed])
        caption.drop_tree()
    inside = (html.tostring(x, encoding="unicode") for x in tree)
    return "".join(inside)


def give_menu(page: Page) -> None:
    """Let the template ask for the menu with its folds."""
    page.context["fold_parts"] = lambda menu: fold_parts(str(menu))


def number_figures(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Count figures and the like on each page that has no number itself."""
    changed = []
    for page, kinds in env.toc_fignumbers.items():
        if env.toc_secnumbers.get(page):
            continue
        for numbers in kinds.values():
            fresh = {name: (i,) for name, i in zip(numbers, count(1))}
            if fresh != numbers:
                numbers.update(fresh)
                changed.append(page)
    return changed


def setup(app: Sphinx) -> dict[str, bool]:
    each_page(app, give_menu)
    app.connect("env-get-updated", number_figures, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
