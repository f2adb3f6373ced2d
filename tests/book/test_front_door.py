"""The first page, the ways that begin there, and the menu."""

import re
from pathlib import Path

import pages
import pytest
from browser import opened
from lxml import html
from lxml.html import HtmlElement
from menu import fold_parts
from ways import WAYS, Way


@pytest.fixture
def intro(window, book):
    page = window.open(book / "book" / "intro.html")
    pages.await_scripts(page)
    return page


def test_it_begins_with_name_figure_and_one_button(intro):
    assert (
        intro.get_by_role("heading", level=1)
        .inner_text()
        .startswith("The Annotated Transformer, rebuilt")
    )
    button = intro.get_by_role("link", name="Begin: Attention")
    figure = intro.locator(".widget").first.bounding_box()
    begin = button.bounding_box()
    assert figure["y"] < begin["y"] < 720  # on the first screen
    button.click()
    assert intro.url.endswith("/01_attention.html")


LEFT_OUT = r"This way leaves out \d+\.\d+( to \d+\.\d+)?: continue at"
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


def written(book: Path, page: str) -> HtmlElement:
    """A page as it is stored, in which all ways stand side by side."""
    return html.parse(book / "book" / f"{page}.html").getroot()


def of_way(page: HtmlElement, element: str, way: Way) -> list[HtmlElement]:
    """The elements of one of its ways."""
    return page.xpath(f"//{element}[@data-way='{way.name}']")


@each_way
def test_pages_of_a_way_lead_to_each_other(book, way):
    """Next, previous and its minutes; the next test follows them."""
    (card,) = written(book, "intro").xpath(
        f"//div[@class='way-card'][.//*[@data-takes='{way.name}']]"
    )
    times = [
        int(re.search(r"(\d+) minutes", x.text_content())[1])
        for x in card.iter("li")
    ]
    said = re.findall(r"in (\d+) minutes", card.text_content())
    assert said in ([], [str(sum(times))])
    stops = ["intro.html", *map(way.address, way.pages), way.end]
    for place, (stem, time) in enumerate(zip(way.pages, times, strict=True)):
        page = written(book, stem)
        (bar,) = of_way(page, "div[@class='way']", way)
        told = f"page {place + 1} of {len(times)}, about {time} minutes"
        assert told in bar.text_content()
        (around,) = of_way(page, "div[@class='prev-next-area']", way)
        assert around.xpath("a/@href") == [stops[place], stops[place + 2]]
    end, _, anchor = way.end.partition(".html#")
    assert not anchor or written(book, end).xpath(f"//*[@id='{anchor}']")


@each_way
def test_of_all_ways_the_one_that_was_taken_is_shown(intro, way):
    page = intro
    page.locator(f"a.begin[data-takes={way.name}]").click()
    before = "intro.html"
    for place, stem in enumerate([*way.pages][:2]):
        page.wait_for_url(f"**/{way.address(stem)}")
        bar = page.locator("div.way:visible").inner_text()
        assert f"page {place + 1} of {len(way.pages)}" in bar
        back = page.locator(".left-prev:visible")
        assert back.get_attribute("href") == before
        before = way.address(stem)
        page.locator(".right-next:visible").click()


@each_way
def test_lines_lead_over_what_a_way_leaves_out(book, way):
    stops = [*map(way.address, way.pages), way.end]
    for (stem, chosen), following in zip(
        way.pages.items(), stops[1:], strict=True
    ):
        page = written(book, stem)
        lines = of_way(page, "p[@class='way']", way)
        read, left, on = [], [], True
        for part in page.xpath("//article//h1/following-sibling::*"):
            if part in lines:
                on = False
                left += part.xpath("a/@href")
                assert re.match(LEFT_OUT, part.text_content())
            elif part.tag == "section":
                on = on or left[-1] == f"#{part.get('id')}"
                read += [part.get("id")] * on
        assert not chosen or [*chosen] == read
        assert left[-1:] == [following] * bool(chosen)


def test_the_end_of_the_first_way_is_in_sight(window, book):
    """Though the model above it comes when the page is there, and grows."""
    page = window.open(book / "book" / "12_inside_heads.html")
    page.goto(page.url.replace("12_inside_heads.html", WAYS[0].end))
    page.locator(".at-opened .op-form").wait_for()
    page.wait_for_timeout(500)
    top = "document.getElementById('sec-way-end').getBoundingClientRect().top"
    assert 0 <= page.evaluate(top) < page.viewport_size["height"]


def test_a_way_is_left(intro):
    page = intro
    page.locator("a.begin[data-takes=idea]").click()
    page.get_by_role("button", name="Leave this way").click()
    assert page.locator(".way:visible").count() == 0
    page.reload()
    assert page.locator(".way:visible").count() == 0
    page.goto(page.url.replace("01_attention", "02_heads"))
    page.locator(".prev-next-area .right-next:visible").click()
    assert page.url.endswith("/03_embedding.html")


LATE = """
  const get = Storage.prototype.getItem;
  let late = true;
  Storage.prototype.getItem = function (key) {
    return key !== "way" ? get.call(this, key) : late ? null : "idea";
  };
  document.addEventListener("readystatechange", () => {
    late = false;
    dispatchEvent(new StorageEvent("storage", { key: "way" }));
  }, { once: true });
"""


def test_a_way_that_is_known_late_is_shown(window, book):
    """News of the choice may come before this page's scripts have run."""
    window.page.add_init_script(LATE)
    page = window.open(book / "book" / "01_attention.html")
    for part in ("div.way", "p.way"):
        assert page.locator(f"{part}:visible").count() > 0


def test_a_page_from_the_browser_s_memory_knows_the_way(window, book):
    """What was chosen elsewhere while it lay there; no news reaches it."""
    page = window.open(book / "book" / "01_attention.html")
    assert page.locator(".way:visible").count() == 0
    page.evaluate("""localStorage.setItem("way", "idea");
      dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))""")
    assert page.locator(".way:visible").count() > 0


BLOCKED = """Object.defineProperty(window, "localStorage", {
  configurable: true, get() { throw new DOMException("blocked"); }})"""


def test_a_way_is_followed_where_nothing_can_be_kept(window, book):
    window.page.add_init_script(BLOCKED)
    page = window.open(book / "book" / "intro.html")
    page.locator("a.begin[data-takes=model]").click()
    for place in (1, 2):
        bar = page.locator("div.way:visible")
        assert f"page {place} of" in bar.inner_text()
        page.locator(".right-next:visible").click()


def test_a_choice_holds_where_nothing_can_be_kept(browser, book):
    with opened(browser) as window:
        window.context.add_init_script(BLOCKED)
        page = window.open(book / "book" / "01_attention.html")
        page.get_by_role("button", name="Code", exact=True).click()
        folds = page.locator("article details.hide")
        assert folds.count() == page.locator("details.hide[open]").count() > 0


def test_labs_and_reference_are_folded(window, book):
    page = window.open(book / "book" / "01_attention.html")
    links = page.locator("nav.bd-links a")
    assert sum(link.is_visible() for link in links.all()) < 30 < links.count()
    page.get_by_text("Labs", exact=True).click()
    assert page.get_by_role("link", name="Parsing").first.is_visible()
    page = window.open(book / "book" / "ladder.html")
    fold = page.locator("details.folded-part[open]")
    assert fold.locator("summary").inner_text() == "Labs"  # where one is


def test_other_parts_of_the_menu_stay_as_they_are():
    menu = '<p role="heading">I. The model</p><ul><li>1</li></ul>'
    assert fold_parts(menu) == menu


@pytest.mark.parametrize("lab", ["ladder", "risk", "decoder_only"])
def test_figures_of_a_lab_are_counted_on_its_page(book, lab):
    numbers = written(book, lab).xpath("//*[@class='caption-number']/text()")
    assert numbers[0].strip() == "Fig. 1"
