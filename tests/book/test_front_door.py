"""The first page, the ways that begin there, and the menu."""

import re

import pages
import pytest
from browser import opened
from menu import fold_parts
from ways import WAYS


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


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_next_and_previous_lead_along_a_way(intro, way):
    page = intro
    card = page.locator(f".way-card:has([data-takes={way.name}])")
    times = [
        int(re.search(r"(\d+) minutes", x)[1])
        for x in card.locator("li").all_text_contents()
    ]
    said = re.findall(r"in (\d+) minutes", card.inner_text())
    assert said in ([], [str(sum(times))])
    card.locator("a.begin").click()
    before = "intro.html"
    for place, stem in enumerate(way.pages):
        page.wait_for_url(f"**/{way.address(stem)}")
        bar = page.locator(".way:visible").first
        assert f"page {place + 1} of {len(way.pages)}" in bar.inner_text()
        assert f"about {times[place]} minutes" in bar.inner_text()
        back = page.locator(".left-prev:visible")
        assert back.get_attribute("href") == before
        before = way.address(stem)
        page.locator(".right-next:visible").click()
    assert page.url.endswith(f"/{way.end}")
    anchor = way.end.partition("#")[2] or "main-content"
    page.locator(f"#{anchor}").wait_for(state="attached")


READ = """() => {
  const main = document.querySelector("article h1").parentElement;
  const read = [], left = [];
  let on = true; // of what the lines of a way do not lead over
  for (const e of main.children) {
    if (e.matches("p.way") && e.checkVisibility()) {
      on = false;
      left.push([e.textContent, e.querySelector("a").getAttribute("href")]);
    }
    if (!e.matches("section")) continue;
    on ||= left.at(-1)[1] === `#${e.id}`;
    if (on) read.push(e.id);
  }
  return [read, left];
}"""


def test_lines_lead_over_what_a_way_leaves_out(intro):
    page = intro
    page.locator("a.begin[data-takes=idea]").click()
    (way,) = (way for way in WAYS if way.name == "idea")
    base = page.url.rpartition("/")[0]
    for stem, following in zip(
        way.pages,
        [*[way.address(x) for x in way.pages][1:], way.end],
        strict=True,
    ):
        page.goto(f"{base}/{way.address(stem)}")
        read, left = page.evaluate(READ)
        chosen = way.pages[stem]
        assert not chosen or [*chosen] == read
        assert bool(chosen) == bool(left)
        if left:
            assert left[-1][1] == following
            assert re.match(
                r"This way leaves out \d+\.\d+( to \d+\.\d+)?: continue at",
                left[-1][0],
            )


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
    assert page.locator(".way:visible").first.is_visible()


def test_a_page_from_the_browser_s_memory_knows_the_way(window, book):
    """What was chosen elsewhere while it lay there; no news reaches it."""
    page = window.open(book / "book" / "01_attention.html")
    assert page.locator(".way:visible").count() == 0
    page.evaluate("""localStorage.setItem("way", "idea");
      dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))""")
    assert page.locator(".way:visible").count() > 0


BLOCKED = """Object.defineProperty(window, "localStorage", {
  configurable: true, get() { throw new DOMException("blocked"); }})"""


def test_a_way_is_followed_where_nothing_can_be_kept(intro):
    page = intro
    page.add_init_script(BLOCKED)
    page.reload()
    page.locator("a.begin[data-takes=model]").click()
    for place in (1, 2, 3):
        bar = page.locator(".way:visible").first
        assert f"page {place} of" in bar.inner_text()
        page.locator(".right-next:visible").click()


def test_a_choice_holds_where_nothing_can_be_kept(browser, book):
    with opened(browser) as window:
        window.context.add_init_script(BLOCKED)
        page = window.open(book / "book" / "01_attention.html")
        page.get_by_role("button", name="Code", exact=True).click()
        folds = page.locator("article details.hide")
        assert folds.count() == page.locator("details.hide[open]").count() > 0
        assert not window.complaints


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


def test_figures_of_a_lab_are_counted_on_its_page(window, book):
    for lab in ("ladder", "risk", "decoder_only"):
        page = window.open(book / "book" / f"{lab}.html")
        first = page.locator("figcaption .caption-number").first
        assert first.inner_text().strip() == "Fig. 1"
