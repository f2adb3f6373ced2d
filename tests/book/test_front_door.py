"""The first page, the ways that begin there, and the menu."""

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
def test_next_leads_along_a_way(intro, way):
    page = intro
    page.locator(f"a.begin[data-takes={way.name}]").click()
    for place, stem in enumerate(way.pages):
        assert page.url.endswith(f"/{stem}.html")
        bar = page.locator(".way:visible")
        assert f"page {place + 1} of {len(way.pages)}" in bar.inner_text()
        assert bar.locator("a").count() == len(way.pages[stem])
        page.locator(".prev-next-area .right-next:visible").click()
    assert page.url.endswith("/intro.html")


def test_a_way_is_left(intro):
    page = intro
    page.locator("a.begin[data-takes=idea]").click()
    page.get_by_role("button", name="Leave this way").click()
    assert page.locator(".way:visible").count() == 0
    page.goto(page.url.replace("01_attention", "02_heads"))
    page.locator(".prev-next-area .right-next:visible").click()
    assert page.url.endswith("/03_embedding.html")


def test_a_choice_holds_where_nothing_can_be_kept(browser, book):
    blocked = """Object.defineProperty(window, "localStorage", {
      configurable: true, get() { throw new DOMException("blocked"); }})"""
    with opened(browser) as window:
        window.context.add_init_script(blocked)
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
