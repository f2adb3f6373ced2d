"""What a reader sees of a page: code beside prose, and what moves by itself.

Run as a script, it prints a table of all pages of the built book.
"""

from contextlib import ExitStack
from typing import NamedTuple

from browser import book_folder, opened
from chromium import launch
from pages import await_scripts, pages_of
from playwright.sync_api import Browser, Page, sync_playwright

WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
# Nothing that a reader does makes a page move: no scrolling, no clicks.
WATCH = """window.shifts = [];
new PerformanceObserver(list => {
  for (const e of list.getEntries())
    if (!e.hadRecentInput) window.shifts.push(e.value);
}).observe({type: "layout-shift", buffered: true});"""
SETTLED = 1_000  # milliseconds, in which what comes late has come
# Boxes of code that are seen, top to bottom, with whether a reader meets
# something else between a box and the one before it. The line that says that
# a cell is exported and that of a fold are no prose.
BOXES = """() => {
  const SEEN = {visibilityProperty: true}; // a fold may hide and not remove
  const boxes = [], apart = ".cell_input, p.export, details.hide > summary";
  const text = "p, li, dt, dd, h1, h2, h3, h4, pre, img, svg, canvas, th, td,"
    + " .math, .widget, .at-place";
  let between = true;
  const all = `article :is(.cell_input, ${text})`;
  for (const e of document.querySelectorAll(all)) {
    if (!e.checkVisibility(SEEN)) continue;
    if (!e.matches(".cell_input")) {
      between ||= !e.closest(apart);
      continue;
    }
    const {top, bottom} = e.getBoundingClientRect();
    const explained = Boolean(e.closest(".tag_explained"));
    boxes.push({top, bottom, between, explained});
    between = false;
  }
  return boxes;
}"""


class Seen(NamedTuple):
    """What is seen of the code of a page as it opens."""

    share: float  # of the article's height
    longest: float  # run of boxes with nothing between them, in pixels
    sideways: int  # boxes that scroll sideways on a phone
    shift: tuple[float, float]  # cumulative layout shift, wide and on a phone


def share(page: Page) -> float:
    """Height of the boxes of code that are seen, over the article's."""
    boxes = page.evaluate(BOXES)
    height = page.locator("article").first.evaluate("e => e.offsetHeight")
    return sum(box["bottom"] - box["top"] for box in boxes) / height


def longest_run(page: Page) -> float:
    """The longest run of boxes with neither prose nor output between them.

    A listing that is explained line by line is none: its notes stand by it.
    """
    longest = begin = 0.0
    for box in page.evaluate(BOXES):
        if box["explained"]:
            begin = box["bottom"]
            continue
        if box["between"]:
            begin = box["top"]
        longest = max(longest, box["bottom"] - begin)
    return longest


def sideways(page: Page) -> int:
    """How many boxes of code are wider than what is seen of them."""
    return page.locator("article .cell_input pre").evaluate_all(
        """all => all.filter(e => e.checkVisibility({visibilityProperty: true})
          && e.scrollWidth > e.clientWidth).length"""
    )


def look(browser: Browser, address: str) -> Seen:
    """Open a page anew, wide and on a phone, and measure it."""
    with ExitStack() as stack:
        shown = []
        for size in (WIDE, PHONE):
            window = stack.enter_context(opened(browser, viewport=size))
            window.context.add_init_script(WATCH)
            shown.append(window.open(address))
        for page in shown:
            await_scripts(page)
            page.evaluate("document.fonts.ready")
        page.wait_for_timeout(SETTLED)  # once for both
        wide, phone = shown
        moved = "window.shifts.reduce((a, b) => a + b, 0)"
        return Seen(
            share(wide),
            longest_run(wide),
            sideways(phone),
            (wide.evaluate(moved), phone.evaluate(moved)),
        )


if __name__ == "__main__":
    print(f"{'page':24} share   run  wide   shift 1280, 390")
    with sync_playwright() as playwright:
        chromium = launch(playwright.chromium)
        for path in pages_of(book_folder() / "book"):
            s = look(chromium, path.as_uri())
            print(
                f"{path.stem:24} {s.share:5.1%} {s.longest:5.0f} "
                f"{s.sideways:5} {s.shift[0]:8.3f} {s.shift[1]:8.3f}",
                flush=True,
            )
        chromium.close()
