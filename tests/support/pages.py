"""What must hold of a page in a browser: each check lists its faults."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, TimeoutError

AXE = Axe().axe_script
# These two ask of links what the style sheet gives them on every page alike,
# and take longer than all other rules together.
OF_STYLE = ["link-in-text-block", "target-size"]
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Axe goes by all elements of a page, and for contrast needs only those of
# window.looks and what they lie in: what stands beside them gives way to
# empty copies. The elements themselves stay whole, for scripts that use them.
CLEAR = """() => {
  const kept = new Set([document.body]);
  for (let e of window.looks)
    for (; e !== document.body; e = e.parentElement) kept.add(e);
  window.beside = [...kept].flatMap(e => [...e.children]).filter(
    e => !kept.has(e) && !e.closest("pre, script, style")).map(
    e => [e, e.cloneNode()]);
  window.beside.forEach(([e, empty]) => e.replaceWith(empty));
}"""
RESTORE = "window.beside.forEach(([e, empty]) => empty.replaceWith(e))"
STILL = "*, ::before, ::after {transition: none !important}"
# Nothing that a reader does makes a page move: no scrolling, no clicks.
WATCH = """window.shifts = [];
new PerformanceObserver(list => {
  for (const e of list.getEntries())
    if (!e.hadRecentInput) window.shifts.push(e.value);
}).observe({type: "layout-shift", buffered: true});"""
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
  return [boxes, document.querySelector("article")?.offsetHeight];
}"""


def await_scripts(page: Page) -> None:
    """Wait until the formulas are set, where a page has any."""
    page.wait_for_function(
        "!document.querySelector('script[src*=mathjax]')"
        " || window.MathJax?.startup?.promise"
    )
    page.evaluate("window.MathJax?.startup?.promise?.then(() => {})")


def formulas(page: Page) -> list[str]:
    """Formulas that MathJax could not set or never saw."""
    return page.evaluate("""() => [
      ...[...document.querySelectorAll("mjx-merror, [data-mjx-error]")].map(
        e => `formula with an error: ${e.textContent || e.title}`),
      ...[...document.querySelectorAll(".math")].filter(
        e => !e.querySelector("mjx-container")).map(
        e => `formula not set: ${e.textContent.slice(0, 60)}`)]""")


def sideways(page: Page) -> list[str]:
    """Text that a reader would have to scroll sideways for."""
    return page.evaluate("""() => {
      const wide = document.documentElement.clientWidth, faults = [];
      const page = document.documentElement.scrollWidth;
      if (page > wide) faults.push(`the page is ${page} wide, not ${wide}`);
      const text = "p, li, dd, h1, h2, h3, h4, figcaption, summary";
      for (const e of document.querySelectorAll(`article :is(${text})`)) {
        if (e.closest("table, pre, .math, .onlyprint")) continue;
        if (!e.checkVisibility() || !e.textContent.trim()) continue;
        const {left, right} = e.getBoundingClientRect();
        if (right > wide + 1 || left < -1)
          faults.push(`out of sight: ${e.textContent.slice(0, 60)}`);
      }
      return faults;
    }""")


def tables(page: Page) -> list[str]:
    """Tables that a reader has to scroll sideways for."""
    return page.evaluate("""() => {
      const faults = [];
      for (const e of document.querySelectorAll("article table")) {
        const boxes = [e, e.parentElement].filter(
          x => x.checkVisibility() && x.scrollWidth > x.clientWidth + 1);
        for (const {scrollWidth, clientWidth} of boxes)
          faults.push(`a table ${scrollWidth} wide in ${clientWidth}: `
            + e.innerText.replace(/\\s+/g, " ").slice(0, 60));
      }
      return faults;
    }""")


def figures(page: Page) -> list[str]:
    """Pictures without words: no alternative text or no caption."""
    return page.evaluate("""() => {
      const faults = [], pictures = ["img:not(.toggler)", "svg[role=img]"];
      const words = (e, attribute) => document.getElementById(
        e.getAttribute(attribute))?.textContent;
      for (const e of document.querySelectorAll(
          pictures.map(picture => `article ${picture}`))) {
        const name = (e.getAttribute("src") || e.id || e.tagName).slice(-60);
        const said = e.alt || e.getAttribute("aria-label")
          || words(e, "aria-labelledby");
        if (!said?.trim()) faults.push(`no alternative text: ${name}`);
        const caption = words(e, "aria-describedby")
          || e.closest("figure")?.querySelector("figcaption")?.textContent
          || e.closest(".sd-card")?.querySelector(".sd-card-body")
            ?.textContent;
        if (!caption?.trim()) faults.push(`no caption: ${name}`);
      }
      return faults;
    }""")


def headings(page: Page) -> list[str]:
    """Headings that leave out a level, or stand in a figure."""
    return page.evaluate("""() => {
      const faults = [];
      let last = 0;
      for (const e of document.querySelectorAll(
          "article :is(h1, h2, h3, h4, h5, h6, [role=heading])")) {
        const level = Number(e.ariaLevel ?? e.tagName[1]);
        const said = e.textContent.trim().slice(0, 60);
        if (level > last + 1) faults.push(`${level} after ${last}: ${said}`);
        if (e.closest("figure, .widget, .at-place"))
          faults.push(`heading in a figure: ${said}`);
        last = level;
      }
      return faults;
    }""")


def targets(page: Page) -> list[str]:
    """What is smaller than a finger: 24 pixels, but for links in a text.

    Of a box to tick, its label can be touched; of a card, all of it. In live
    figures whatever has a hand for a pointer is one.
    """
    return page.evaluate("""() => {
      const faults = [], some = "a[href], button, summary, select, textarea,"
        + " input, label:has(input), [role=button], [role=tab]";
      const inText = e => {
        if (getComputedStyle(e).display !== "inline") return false;
        let block = e.parentElement;
        while (getComputedStyle(block).display === "inline")
          block = block.parentElement;
        const words = x => x.textContent.trim().length;
        return words(block) > words(e);
      };
      const hand = e => getComputedStyle(e).cursor === "pointer";
      const live = document.querySelectorAll(":is(.widget, .at-place) *");
      const touched = [...live].filter(e => hand(e) && !hand(e.parentElement));
      const all = [...document.querySelectorAll(some), ...touched];
      for (const e of new Set(all)) {
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        if (inText(e) || e.matches("label input, .sd-stretched-link"))
          continue;
        const {width, height} = e.getBoundingClientRect();
        if (width && Math.min(width, height) < 23.9)
          faults.push(`${width.toFixed()} x ${height.toFixed()} pixels: `
            + e.outerHTML.slice(0, 80));
      }
      return faults;
    }""")


def labels(page: Page) -> list[str]:
    """Figures that are shrunk until their labels cannot be read."""
    return page.evaluate("""() => {
      const faults = [];
      for (const e of document.querySelectorAll("article .wide img")) {
        const wide = e.closest(".wide").style.getPropertyValue("--readable");
        if (e.clientWidth && e.clientWidth + 1 < parseFloat(wide))
          faults.push(`${e.clientWidth} wide, not ${wide}: ${e.src}`);
      }
      return faults;
    }""")


def moved(page: Page) -> list[str]:
    """Whether what came late has moved what was there; WATCH has looked on."""
    if page.locator(".at-place, .widget").count():
        page.wait_for_timeout(1_000)  # until live figures have come
    shift = page.evaluate("window.shifts.reduce((a, b) => a + b, 0)")
    return [f"moved by itself: {shift:.2f}"] if shift >= 0.1 else []


def code(page: Page) -> list[str]:
    """More code than a quarter of the text, or too much without a word.

    A listing that is explained line by line has its notes beside it.
    """
    boxes, height = page.evaluate(BOXES)
    faults = []
    seen = sum(box["bottom"] - box["top"] for box in boxes)
    if boxes and seen > 0.25 * height:
        faults.append(f"code takes {seen / height:.0%} of the text")
    longest = begin = 0.0
    for box in boxes:
        if box["explained"]:
            begin = box["bottom"]
            continue
        if box["between"]:
            begin = box["top"]
        longest = max(longest, box["bottom"] - begin)
    if longest > 400:
        faults.append(f"{longest:.0f} pixels of code without a word")
    return faults


def paper(page: Page) -> list[str]:
    """Names of folds on paper, and answers that are not at the end of it."""
    page.emulate_media(media="print")
    faults = page.evaluate("""() => {
      const all = [...document.querySelectorAll("article *")];
      dispatchEvent(new Event("beforeprint"));
      const seen = e => e.checkVisibility(
        {visibilityProperty: true, opacityProperty: true});
      const faults = all.filter(e => e.matches(
        ".hide > summary, button:not(.enlarge, th *)") && seen(e)
        && !e.closest(".checked")).map(e => `on paper: ${e.outerHTML}`);
      let answers = 0;
      for (const e of all.filter(e => e.matches(".answer"))) {
        answers += 1;
        const whose = e.querySelector("summary").innerText.trim();
        if (!/ to |（/.test(whose)) faults.push(`whose is ${whose}?`);
        if (![...e.children].every(seen)) faults.push(`folded: ${whose}`);
      }
      const last = [...document.querySelector("article")?.children ?? []];
      if (!last.slice(last.length - answers).every(e => e.matches(".answer")))
        faults.push("answers are not at the end");
      dispatchEvent(new Event("afterprint"));
      const after = document.querySelectorAll("article *");
      if (all.some((e, i) => e !== after[i]))
        faults.push("after printing the page is another");
      return faults;
    }""")
    page.emulate_media(media="screen")
    return faults


def access(
    page: Page, part: str = "html", without: Sequence[str] = ()
) -> list[str]:
    """What axe-core finds against WCAG 2.2 A and AA, but for contrast."""
    off = {rule: {"enabled": False} for rule in ("color-contrast", *without)}
    # The colours of code make most of a page's elements; axe goes by all.
    # A page that has changed its size marks what scrolls at the next frame.
    page.evaluate("""async () => {
      for (const _ of "12") await new Promise(requestAnimationFrame);
      document.querySelectorAll("pre, .sig-param, .sig-return").forEach(
        e => e.textContent = e.textContent);
    }""")
    return run_axe(page, f"{{include: [['{part}']]}}", rules=off)


def contrast(page: Page, seen: set[str] | None = None) -> list[str]:
    """What axe-core finds hard to read, one element of each look.

    Contrast depends on colours and sizes alone, and thousands of elements
    share a few dozen looks: axe is shown the first of each, and no look that
    it has `seen` on an earlier page.
    """
    looks = page.evaluate(
        """seen => {
      const looks = new Map(), behind = new Map(), known = new Set(seen);
      const ground = e => {
        if (!e) return "";
        if (!behind.has(e)) {
          const s = getComputedStyle(e);
          const own = [s.backgroundColor, s.backgroundImage, s.opacity];
          const clear = own.join() === "rgba(0, 0, 0, 0),none,1";
          behind.set(e, ground(e.parentElement) + (clear ? "" : own));
        }
        return behind.get(e);
      };
      const texts = document.createTreeWalker(document.body, 4);
      while (texts.nextNode()) {
        const e = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || !e.checkVisibility()) continue;
        const s = getComputedStyle(e);
        const look = [s.color, s.fontSize, s.fontWeight, ground(e)].join();
        if (!looks.has(look) && !known.has(look)) looks.set(look, e);
      }
      window.looks = [...looks.values()];
      return [...looks.keys()];
    }""",
        sorted(seen or ()),
    )
    if not looks:
        return []
    if seen is not None:
        seen.update(looks)
    page.evaluate(CLEAR)
    options = {"runOnly": ["color-contrast"]}
    faults = run_axe(page, "{include: window.looks}", **options)
    page.evaluate(RESTORE)
    return faults


def run_axe(page: Page, context: str, **options: object) -> list[str]:
    """Run axe on a part of a page; each violation with its first element."""
    options = {
        "runOnly": {"type": "tag", "values": LEVELS},
        "resultTypes": ["violations"],
        "preload": False,  # it would fetch the style sheets
        **options,
    }
    if not page.evaluate("!!window.axe"):
        page.evaluate(AXE)
    return page.evaluate(
        f"options => axe.run({context}, options).then(found =>"
        " found.violations.flatMap(rule => rule.nodes.map(node =>"
        " `${rule.id}: ${node.html.slice(0, 120)}: ${node.failureSummary}`)))",
        options,
    )


def keyboard(page: Page) -> list[str]:
    """Where Tab does not lead from the top of a page into its text."""
    faults = []
    page.add_style_tag(content=STILL)
    page.keyboard.press("Tab")
    skip = page.evaluate("""() => {
      const e = document.activeElement;
      const {top, bottom} = e.getBoundingClientRect();
      return e.matches("a[href^='#']") && top >= 0 && bottom > top;}""")
    if not skip:
        faults.append("the first Tab shows no link that skips to the text")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    if not page.evaluate("!!document.activeElement.closest('main')"):
        faults.append("after the skip link, Tab is not in the text")
    return faults


def menu(page: Page) -> list[str]:
    """Whether the contents open, take the focus and close, on a phone."""
    button = page.locator("button.primary-toggle")
    if not button.is_visible():
        return ["no button opens the contents"]
    button.focus()
    page.keyboard.press("Enter")
    try:
        page.locator("dialog[open] nav a").first.wait_for(timeout=2000)
    except TimeoutError:
        return ["the button does not open the contents"]
    faults = []
    if not page.evaluate("!!document.activeElement.closest('dialog[open]')"):
        faults.append("the focus is not in the contents")
    page.keyboard.press("Escape")
    if page.locator("dialog[open]").count():
        faults.append("Escape does not close the contents")
    return faults


def theme(page: Page, scheme: Literal["light", "dark"]) -> list[str]:
    """Whether a page is as light or dark as the reader's machine asks."""
    page.emulate_media(color_scheme=scheme)
    page.add_style_tag(content=STILL)
    try:
        page.wait_for_function(
            """scheme => {
          const colour = getComputedStyle(document.body).backgroundColor;
          const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
          return scheme === "light" ? r + g + b > 600 : r + g + b < 180;
        }""",
            arg=scheme,
            timeout=2000,
        )
    except TimeoutError:
        return [f"{scheme} was asked for, and the page is not"]
    return []


def pages_of(folder: Path) -> list[Path]:
    """The pages on which a reader of a built book can stay."""
    return [
        file
        for file in sorted(folder.rglob("*.html"))
        if "_static" not in file.parts
        and 'http-equiv="refresh"' not in file.read_text("utf-8")
    ]
