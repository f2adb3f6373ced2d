"""What a page does for its readers: figures, folds, fonts, long lines."""

import re
from collections.abc import Iterator
from pathlib import Path

import chapters
import labels
import pages
import pytest
from browser import Window, book_folder, opened
from edition import NAME
from lxml import html
from lxml.html import HtmlElement
from playwright.sync_api import Browser, Page, expect

PHONE = {"width": 390, "height": 844}
FIGURES = sorted((chapters.BOOK / "figures").glob("*.svg"))
FIGURES += sorted((book_folder() / "_images").glob(f"{NAME}-*.svg"))
OPEN = "article details.hide[open]"
SHOWN = """all => all.filter(e => e.checkVisibility(
  {visibilityProperty: true})).map(e => e.textContent.trim())"""
NOTEBOOKS = chapters.find_chapters()
EXPORTING = [
    path for path in NOTEBOOKS if '"export"' in path.read_text("utf-8")
]


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Window]:
    """One phone for all tests; what a page remembers is forgotten."""
    with opened(browser, viewport=PHONE, has_touch=True) as window:
        yield window


def turn(window: Window, book: Path, name: str) -> Page:
    page = window.open(book / "book" / f"{name}.html")
    pages.await_scripts(page)
    page.evaluate("document.fonts.ready")
    return page


def written(book: Path, name: str) -> HtmlElement:
    """A page as it is stored."""
    return html.parse(book / "book" / f"{name}.html").getroot()


def test_a_figure_is_enlarged_until_it_can_be_read(phone, book):
    page = turn(phone, book, "12_inside_heads")
    small = page.locator("#fig-every-head button.enlarge")
    small.tap()
    dialog = page.get_by_role("dialog", name="Figure, enlarged")
    large = dialog.locator("img")
    assert dialog.locator("figcaption").inner_text().startswith("Fig. 12.")
    assert pages.access(page, "dialog.enlarged") == []
    stage = dialog.get_by_role("region")
    wider = "e => e.scrollWidth > e.clientWidth"
    before = large.evaluate("e => e.clientWidth")
    assert before > small.locator("img").evaluate("e => e.clientWidth")
    dialog.get_by_role("button", name="Larger").tap()
    assert large.evaluate("e => e.clientWidth") > before
    assert stage.evaluate(wider)
    stage.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert small.evaluate("e => e === document.activeElement")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Close").tap()
    dialog.wait_for(state="detached")


CODE = """() => {
  const all = [...document.querySelectorAll("article div.highlight pre")];
  const shown = all.filter(e => e.checkVisibility()
    && !e.closest(".tag_columns"));
  const arrows = shown.flatMap(e => [...e.querySelectorAll(".o")]).filter(
    e => e.textContent === "->");
  return [shown.filter(e => e.scrollWidth > e.clientWidth).length,
    arrows.filter(e => e.getClientRects().length > 1).length,
    shown.length, arrows.length];
}"""


def test_code_wraps_but_no_arrow_is_broken(phone, book):
    seen = []
    for name in ("01_attention", "02_heads", "intro", "toolkit_train"):
        scrolling, broken, *found = turn(phone, book, name).evaluate(CODE)
        assert (scrolling, broken) == (0, 0)
        seen.append(found)
    blocks, arrows = map(sum, zip(*seen, strict=True))
    assert blocks > 40 and arrows > 5


def test_the_contents_give_way_to_what_was_chosen(phone, book):
    page = turn(phone, book, "01_attention")
    page.locator("button.secondary-toggle").tap()
    contents = page.locator("dialog[open]")
    contents.locator("a[href^='#']").nth(3).tap()
    contents.wait_for(state="detached")
    assert "#" in page.url
    assert page.locator("#pst-back-to-top").count() == 0


@pytest.mark.parametrize("figure", FIGURES, ids=lambda x: x.stem)
def test_no_word_of_a_drawing_is_cut_off(phone, figure):
    frame = PHONE["width"] - 16  # its labels can be read without scrolling
    assert labels.readable(figure.read_text("utf-8")) <= frame
    page = phone.open(figure)
    outside = page.evaluate("""() => {
      const frame = document.documentElement.getBoundingClientRect();
      return [...document.querySelectorAll("text")].filter(e => {
        const {left, right, bottom} = e.getBoundingClientRect();
        return left < frame.left || right > frame.right
          || bottom > frame.bottom;
      }).map(e => e.textContent);
    }""")
    assert outside == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda x: x.stem)
def test_a_phone_shows_all_of_a_plot_and_its_labels_can_be_read(path):
    frame = PHONE["width"] - 32
    for cell in chapters.read(path).cells:
        for output in cell.get("outputs", []):
            svg = output.get("data", {}).get("image/svg+xml")
            assert svg is None or labels.readable(svg) <= frame, cell.id


def test_story_and_code_are_chosen_once_for_all_pages(phone, book):
    page = turn(phone, book, "13_sequences")
    folds = page.locator("article details.hide").count()
    assert folds > 10 and page.locator(OPEN).count() == 0
    page.get_by_role("button", name="Code", exact=True).tap()
    assert page.locator(OPEN).count() == folds
    page = turn(phone, book, "12_inside_heads")
    code = page.get_by_role("button", name="Code", exact=True)
    story = page.get_by_role("button", name="Story", exact=True)
    expect(code).to_have_attribute("aria-pressed", "true")
    assert page.locator(OPEN).count() > 10
    other = phone.context.new_page()
    other.goto((book / "book" / "13_sequences.html").as_uri())
    expect(other.locator(OPEN)).to_have_count(folds)
    story.press("Enter")
    assert page.locator(OPEN).count() == 0
    expect(other.locator(OPEN)).to_have_count(0)  # open pages follow
    other.close()
    page = turn(phone, book, "13_sequences")
    expect(page.locator(OPEN)).to_have_count(0)
    assert not turn(phone, book, "notation").locator(".story").count()


def test_the_story_keeps_definitions_and_folds_what_measures(phone, book):
    name = "13_sequences"
    page = turn(phone, book, name)
    cells = chapters.read(chapters.BOOK / f"{name}.ipynb").cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    whole = "article div.cell_input:not(.gist) pre"
    shown = page.locator("article div.cell_input pre").evaluate_all(SHOWN)
    on_page = page.locator(whole).all_text_contents()
    assert sorted(x.strip() for x in on_page) == sorted(
        cell.source.strip() for cell in code
    )
    importing = [x.startswith(("import ", "from ")) for x in on_page]
    assert importing == sorted(importing) and any(importing)  # at the end
    assert not [x for x in shown if "claim(" in x or "plt." in x]
    assert sum("import" in x for x in shown) == 0


@pytest.mark.parametrize("chapter", EXPORTING, ids=lambda x: x.stem)
def test_the_first_line_of_every_definition_is_in_no_fold(book, chapter):
    """So that it is seen, as the tests before and after this one show."""
    shown = written(book, chapter.stem).xpath(
        "//article//div[contains(@class, 'cell_input')]"
        "[not(ancestor::details)]//pre"
    )
    seen = "\n".join(pre.text_content() for pre in shown)
    defined = [
        line.partition("(")[0]
        for cell in chapters.read(chapter).cells
        if "export" in cell.metadata.get("tags", ())
        for line in cell.source.splitlines()
        if line.startswith(("def ", "class "))
    ]
    assert [line for line in defined if line not in seen] == []


def test_a_gist_gives_way_to_the_whole(phone, book):
    page = turn(phone, book, "05_model")
    cell = page.locator("div.cell.with-gist", has_text="class Decoder(").first
    gist, fold = cell.locator(".gist"), cell.locator("details.hide")
    assert gist.is_visible() and "layer(x, sources[i]" in gist.inner_text()
    whole = fold.locator("pre")
    assert not whole.is_visible()
    fold.locator("summary").tap()
    assert whole.is_visible() and not gist.is_visible()
    assert "self.layers = nn.ModuleList" in whole.inner_text()


def test_notes_stand_by_the_lines_that_they_explain(book):
    explained = 0
    for name in ("01_attention", "02_heads", "09_training", "10_decoding"):
        page = written(book, name)
        for cell in page.xpath("//div[contains(@class, 'tag_explained')]"):
            lines = cell.xpath(".//span[@class='hll']")
            notes = cell.xpath("following-sibling::*[1]/self::ol/li")
            assert len(lines) == len(notes) > 3
            for note, line in zip(notes, lines, strict=True):
                part = note.xpath("(.//code)[1]")[0].text_content()
                assert part in line.text_content()
            explained += 1
    assert explained == 5


def test_a_comparison_is_one_line_with_its_cell_behind_it(phone, book):
    page = turn(phone, book, "02_heads")
    line = page.get_by_text("MultiHeadAttention equals PyTorch's", exact=False)
    cell = page.locator("div.cell.checked").filter(has=line)
    code = cell.locator("div.cell_input pre")
    assert not code.is_visible()
    assert cell.bounding_box()["height"] < 60
    line.first.tap()
    assert code.is_visible() and "nn.MultiheadAttention" in code.inner_text()
    page = turn(phone, book, "api")
    row = page.locator("table tr", has_text="nn.MultiheadAttention")
    row.get_by_role("link").click()
    assert page.url.endswith("02_heads.html#equal-ca2d2532")


def test_without_scripts_all_folds_open_too(browser, book):
    with opened(browser, java_script_enabled=False) as window:
        page = window.open(book / "book" / "13_sequences.html")
        for kind in ("hide", "answer"):
            fold = page.locator(f"article details.{kind}:has(pre)").first
            assert not fold.locator("pre").first.is_visible()
            fold.locator("summary").click()
            assert fold.locator("pre").first.is_visible()


def test_an_exercise_has_one_fold(phone, book):
    name = "04_layers"
    page = turn(phone, book, name)
    cells = chapters.read(chapters.BOOK / f"{name}.ipynb").cells
    begin = next(i for i, x in enumerate(cells) if "## Exercises" in x.source)
    tags = [x.metadata.get("tags", ()) for x in cells[begin:]]
    checks = sum("hide-cell" in some for some in tags)
    part = page.locator("section#exercises")
    assert part.locator("details.hide").count() == 0
    folds = part.locator(".admonition.dropdown")
    assert folds.count() == checks > 3
    first = folds.first
    assert not first.locator("pre").first.is_visible()
    first.locator(".admonition-title").tap()
    for inside in ("p", "div.cell_input pre", "div.cell_output pre"):
        assert first.locator(inside).last.is_visible()


def test_every_chinese_sign_comes_with_the_pages(phone, book):
    """Whatever fonts a machine has: of signs it may have none."""
    texts = [x.read_text("utf-8") for x in pages.pages_of(book / "book")]
    signs = set(re.findall("[\u2e80-\u9fff\uff00-\uffef]", "".join(texts)))
    assert len(signs) > 100
    page = turn(phone, book, "notation")
    missing = page.evaluate(
        """async signs => {
          const font = '20px "Noto Sans SC"';
          await document.fonts.load(font, signs);
          const canvas = document.createElement("canvas");
          const pen = canvas.getContext("2d");
          const drawn = sign => {
            Object.assign(canvas, {width: 24, height: 24});
            pen.font = font;
            pen.fillText(sign, 2, 20);
            return canvas.toDataURL();
          };
          const unknown = drawn("\u9f98"); // the box in place of a sign
          return [...signs].filter(sign => drawn(sign) === unknown);
        }""",
        "".join(signs),
    )
    assert missing == []


def test_no_short_word_of_code_is_broken(phone, book):
    for name in ("toolkit_options", "toolkit_errors", "paper_tables"):
        page = turn(phone, book, name)
        lines = page.locator("article code .pre").evaluate_all(
            """all => all.filter(e => e.checkVisibility()).map(
              e => [e.textContent, e.getClientRects().length])"""
        )
        options = [word for word, _ in lines if word.startswith("--")]
        assert len(options) > 3, name
        broken = [word for word, n in lines if n > 1 and len(word) < 28]
        assert broken == [], name


def test_a_table_that_does_not_fit_a_phone_is_cards(phone, book):
    page = turn(phone, book, "ladder")
    table = page.locator("table:has-text('busiest expert')")
    row = table.locator("tr:has-text('no balance')")
    parts = [
        (e["x"], e["y"])
        for e in (cell.bounding_box() for cell in row.locator("td").all())
    ]
    assert len({x for x, _ in parts}) == 1  # one below the other
    assert len({y for _, y in parts}) == len(parts) > 5
    before = "e => getComputedStyle(e, '::before').content"
    assert row.locator("td").nth(1).evaluate(before) == '"parameters: "'


def test_every_line_of_a_card_has_its_width(phone, book):
    page = turn(phone, book, "ledger")
    shares = page.locator("table.cards tbody td").evaluate_all(
        "all => all.filter(e => e.offsetParent)"
        ".map(e => e.offsetWidth / e.closest('tr').offsetWidth)"
    )
    assert shares and min(shares) > 0.9


def test_what_goes_on_at_the_right_fades_there(phone, book):
    page = turn(phone, book, "17_modern")
    box = page.locator("article pre[data-more]").first
    assert box.get_attribute("data-more") == "right"
    box.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
    page.wait_for_function(
        "document.querySelector('article pre[data-more=left]')"
    )
    fits = page.locator("article pre:not([data-more])")
    assert fits.evaluate_all(
        "all => all.every(e => e.scrollWidth <= e.clientWidth)"
    )


@pytest.mark.parametrize("centimetres", [1, 1.8])
def test_on_paper_titles_are_numbered_and_no_line_is_cut(
    browser, book, centimetres
):
    """A4 with its margins, laid out as for print."""
    width = round((21 - 2 * centimetres) / 2.54 * 96)
    with opened(browser, viewport={"width": width, "height": 1000}) as window:
        page = turn(window, book, "10_decoding")
        page.evaluate(
            "document.querySelectorAll('details').forEach(e => e.open = true)"
        )
        page.emulate_media(media="print")
        assert (
            page.get_by_text("10. Decoding").locator("visible=true").count()
            == 1
        )
        cut = page.evaluate(
            """width => [...document.querySelectorAll(
              "article :is(pre, p, table, figure)")].filter(e => {
                const {right} = e.getBoundingClientRect();
                return e.checkVisibility() && (right > width + 1
                  || e.matches("pre") && e.scrollWidth > e.clientWidth + 1);
              }).map(e => e.textContent.slice(0, 60))""",
            width,
        )
        assert cut == []
