"""The Chinese edition says what English pages say, and leads to and fro."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import drawings
import pages
import pytest
import translate
from browser import Window, opened
from edition import CATALOGUE, NAME, PAGES, names, terms
from lxml import etree, html
from playwright.sync_api import Browser, Locator, Page
from test_search import found

ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
CODE = re.compile(r"(?<![`}])`([^`]+)`(?!`)")
MATH = re.compile(r"\$([^$]+)\$")
DECIMAL = re.compile(r"(?<![\w.])\d+[.,]\d+")
BLANK = re.compile(r"\{[^}]*\}")  # where extensions fill something in
NUMBERED = re.compile(r"\{\d")  # where in another order
SIGN = re.compile("[\u4e00-\u9fff]")
GLOSSED = ("de", "en")  # roles with English in them


def targets(text: str) -> Counter[tuple[str, str]]:
    """What a text's roles lead to; of German the German."""
    found = Counter[tuple[str, str]]()
    for role, inside in ROLE.findall(text):
        inside = " ".join(inside.split())
        if role in GLOSSED:
            inside = inside.partition(" | ")[0].lower()
        elif to := re.search(r"<([^>]+)>$", inside):
            inside = to[1]
        found[role, inside] += 1
    return found


@pytest.mark.parametrize("page", PAGES)
def test_hardly_a_message_is_stale(book, page):
    texts = translate.messages(translate.read(page, book.parent))
    known = translate.update(page, texts)
    missing = translate.open_messages(known)
    assert len(missing) <= max(1, 0.02 * len(known)), missing


def test_what_extensions_scripts_and_drawings_say_is_translated(book):
    pages = [translate.read(page, book.parent) for page in PAGES]
    known = translate.update(CATALOGUE, translate.inserted(pages))
    assert len(known) > 300 and translate.open_messages(known) == []


@pytest.mark.parametrize("page", [*PAGES, CATALOGUE])
def test_a_translation_keeps_what_is_no_prose(page):
    """Roles with their targets, code, formulas and decimals."""
    for message in translate.catalogue_of(page):
        if not message.id or not message.string or message.fuzzy:
            continue
        before, after = str(message.id), str(message.string)
        if page == CATALOGUE and not NUMBERED.search(after):
            assert BLANK.findall(before) == BLANK.findall(after)
        assert targets(after) == targets(before), before
        for kind in (CODE, MATH, DECIMAL) if page in PAGES else (DECIMAL,):
            plain = [ROLE.sub("", text) for text in (before, after)]
            one, other = ({*kind.findall(x)} for x in plain)
            assert one == other, (before, after)


def test_the_switch_leads_to_the_same_place_and_is_remembered(
    window: Window, book
):
    page = window.open(book / "book" / "02_heads.html")
    page.goto(f"{page.url}#five-questions")
    page.get_by_role("link", name="中文").click()
    assert urlsplit(page.url).path.endswith(f"/{NAME}/book/02_heads.html")
    assert page.url.endswith("#five-questions")
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    page.locator("#five-questions").wait_for(state="attached")
    page.goto((book / "book" / "06_data.html").as_uri())
    page.locator(".bd-sidebar a", has_text="Attention").first.click()
    assert f"/{NAME}/book/01_attention.html" in page.url
    page.get_by_role("link", name="English").click()
    assert f"/{NAME}/" not in page.url
    page.locator(".bd-sidebar a[href='02_heads.html']").first.click()
    assert f"/{NAME}/" not in page.url


def test_terms_are_those_of_the_translations():
    """Where a message has one in English, some translation has it, too."""
    messages = [
        (str(message.id).lower(), str(message.string))
        for page in (*PAGES, CATALOGUE)
        for message in translate.catalogue_of(page)
    ]
    used = 0
    for english, chinese in terms().items():
        word, term = (re.match(r"[\w -]+", x) for x in (english, chinese))
        there = [y for x, y in messages if word[0] in x]
        assert not there or any(term[0] in y for y in there), english
        used += bool(there)
    assert used > 45


def test_a_page_has_its_title_and_says_in_chinese_what_it_is(book):
    for page in PAGES:
        text = (book / f"{NAME}/{page}.html").read_text("utf-8")
        tree = html.document_fromstring(text)
        title, summary = tree.xpath(
            "//title/text() | //meta[@name='description']/@content"
        )
        for said in (title, summary):
            assert SIGN.search(said) and not said.startswith("<"), page
        assert len(summary) > 30 and "<" not in summary, summary


def test_what_stands_around_a_page_is_chinese(book):
    """All that is shown or read aloud, but for links to what is English."""
    for page in PAGES:
        tree = html.parse(book / f"{NAME}/{page}.html")
        kinds = "title", "aria-label", "placeholder", "data-bs-title"
        around = "//body//*[not(ancestor-or-self::article)]"
        said = [x for kind in kinds for x in tree.xpath(f"{around}/@{kind}")]
        said += tree.xpath("//header//button//text()")
        said += tree.xpath("//a[contains(@class, 'headerlink')]/@title")
        words = [x for x in said if re.search("[A-Za-z]{3}", x)]
        assert len(said) > 20
        assert not [x for x in words if not SIGN.search(x)]


def test_chinese_says_so_on_every_english_page(book):
    """Whatever the page, the sign's nearest language is Chinese."""
    found = 0
    for file in pages.pages_of(book / "book"):
        tree = html.document_fromstring(file.read_text("utf-8"))
        for text in tree.xpath("//article//text()[not(parent::script)]"):
            if SIGN.search(text):
                outside = text.getparent()
                if text.is_tail:
                    outside = outside.getparent()
                (*_, language) = outside.xpath("ancestor-or-self::*/@lang")
                assert language == "zh", (file.name, text)
                found += 1
    assert found > 100


DRAWING = """<svg xmlns="http://www.w3.org/2000/svg"
  xmlns:xlink="http://www.w3.org/1999/xlink"><text x="1">key</text>
  <g id="axes_1"><g id="patch_2"><path d="M 10 90 L 90 90"/></g>
  <g id="ytick_1"><g id="text_1"><!-- key --><g
    transform="translate(4 20) scale(0.1 -0.1)"><defs><path id="k"/></defs>
    <use xlink:href="#k"/><use xlink:href="#e" transform="translate(60 0)"/>
  </g></g></g>
  <g id="text_2"><!-- dog --><g transform="translate(10 5) scale(0.1 -0.1)">
    <use xlink:href="#d"/></g></g></g></svg>"""


def test_a_drawing_gets_other_words(tmp_path):
    """Text is replaced, and outlines are, whose shapes others may use."""
    path = tmp_path / "drawing.svg"
    path.write_text(DRAWING)
    assert drawings.words(path) == ["key", "key", "dog"]
    known = {"key": "键"}
    said = drawings.translated(path, lambda x: known.get(x, x), "zh-CN")
    root = etree.fromstring(said)
    first, tick = root.iter(f"{drawings.SVG}text")
    assert (first.text, tick.text) == ("键", "键")
    assert tick.get("text-anchor") == "end"  # beside its axis
    left = [x.attrib.values()[0] for x in root.iter(f"{drawings.SVG}use")]
    assert left == ["#d"]  # that word is none to translate
    assert root.find(f".//{drawings.SVG}path[@id='k']") is not None


def test_a_page_shows_its_drawings_in_chinese(book):
    for page, words in (
        ("05_model", "自注意力"),
        ("03_embedding", "正弦位置编码"),
    ):
        text = (book / f"{NAME}/book/{page}.html").read_text("utf-8")
        shown = re.findall(rf"_images/{NAME}-[^\"]+\.svg", text)
        texts = [(book / image).read_text("utf-8") for image in shown]
        assert any(words in text for text in texts), page


def test_claims_and_live_figures_speak_chinese(window: Window, book):
    page = window.open(book / NAME / "book" / "02_heads.html")
    claim = page.locator(".claim-sentence").first.text_content()
    assert claim.strip().startswith("成立：") and "5 个随机种子" in claim
    for name in ("01_attention", "03_embedding", "intro"):
        page = window.open(book / NAME / "book" / f"{name}.html")
        figures = page.locator(".widget")
        assert figures.count() > 0
        for part in (".widget-words", ".widget-title"):
            for said in figures.locator(part).all_inner_texts():
                assert SIGN.search(said), said
        assert figures.get_by_role("button", name="Close").count() == 0


# What a model reads or writes, and code; all else is said to the reader.
DATA = (
    "[lang=en], [lang=de], em, pre, textarea, .at-numbers, .op-next, .op-word,"
    " .op-rider, .op-answer, .op-head .op-small, .op-formula, .at-map th"
)
SAME = {"Add & Norm", "Logits", "Softmax"}  # as the book's drawings have them
EXAMPLES = {"hungry", "sweet", "bread", "tired"}  # words of the sentences
SAID = """(place, data) => {
  const texts = [];
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const around = walker.currentNode.parentElement;
    if (around.checkVisibility() && !around.closest(data))
      texts.push((around.closest("p") ?? around).textContent.trim());
  }
  for (const part of place.querySelectorAll("[aria-label], [title]"))
    if (part.checkVisibility())
      texts.push(part.ariaLabel ?? part.title);
  return texts;
}"""


def english(place: Locator) -> list[str]:
    """What a live model says to the reader in words, but not in Chinese."""
    texts = {*place.evaluate(SAID, DATA)} - SAME - EXAMPLES
    return [
        x for x in texts if re.search("[a-z]{2}", x) and not SIGN.search(x)
    ]


def test_the_opened_model_speaks_chinese(window: Window, book):
    page = window.open(book / NAME / "book" / "05_model.html")
    place = page.locator(".at-opened").first
    place.scroll_into_view_if_needed()
    place.locator(".op-box").first.wait_for(timeout=60_000)
    steps = 0
    on = place.locator(".at-main")
    while place.locator(".op-say").is_visible():
        assert english(place) == []
        assert SIGN.search(place.locator(".op-say").inner_text())
        on.click()
        steps += 1
    assert steps > 10 and english(place) == []  # what can be changed
    for label in ("位置编码", "掩码"):
        place.get_by_label(label, exact=True).click()
    page.wait_for_timeout(100)
    assert place.locator(".op-list li").count() == 2 and english(place) == []
    place.get_by_role("tab", name="所有头").click()
    assert english(place) == []
    for box in place.locator(".op-box").all():
        box.click()
        assert english(place) == []
    place.locator(".op-large.op-is-attention").first.click()
    place.locator(".op-four button").first.click()
    place.locator(".at-map tbody td").first.click()
    assert "除以" in place.locator(".at-origin").inner_text()
    assert english(place) == []


def test_the_translator_speaks_chinese(window: Window, book):
    page = window.open(book / NAME / "book" / "intro.html")
    place = page.locator(".at-translator")
    place.get_by_role("button", name="在这里试试").click()
    place.locator(".at-map").wait_for(timeout=60_000)
    for example in place.locator(".at-examples button").all():
        example.click()
        place.locator(".at-map").wait_for()
        assert english(place) == []
        assert SIGN.search(place.locator(".at-gloss").inner_text())
    place.get_by_label("束宽 5").check()
    place.get_by_label("代词", exact=True).check()
    place.locator(".at-beam").wait_for()
    for kind in ("编码器", "解码器", "交叉"):
        place.locator("#at-attention").select_option(label=kind)
        place.locator(".at-map tbody td").first.click()
        assert english(place) == []
    place.locator("#at-text").fill("The minister 你 slept. The dog slept.")
    place.get_by_role("button", name="翻译", exact=True).click()
    place.locator(".at-beam").wait_for()
    assert english(place) == []
    assert "模型从没见过" in place.locator(".at-warning").inner_text()


# What readers ask in Chinese, decided by reading the pages; the names by
# which they look for such a book lead to the page that has them.
ASKED = {
    "为什么要除以根号 d_k": [
        "01_attention#why-divide-by-the-square-root-of-d-k",
        "questions#why-divide-by-the-square-root-of-d-k",
    ],
    "为什么需要多个头": ["02_heads"],
    "没有位置编码会怎样": [
        "questions#without-positions-is-the-order-of-the-words-lost",
        "03_embedding",
    ],
    "前置归一化和后置归一化": [
        "04_layers#before-or-after-the-sum",
        "04_layers#what-the-order-of-the-norm-does-to-a-deep-stack",
    ],
    "怎样遮住后面的词": ["01_attention#masks"],
    "面试题": ["questions"],
    "注意力机制": ["01_attention"],
    "位置编码": ["03_embedding#sines-and-cosines-are-clocks"],
    "多头注意力": ["02_heads"],
    "自注意力": ["02_heads#one-module-three-uses"],
}


@pytest.fixture(scope="module")
def search(browser: Browser, book: Path) -> Iterator[Page]:
    """The page to which the field of a Chinese page leads."""
    with opened(browser) as window:
        page = window.open(book / NAME / "book" / "01_attention.html")
        page.locator("form.bd-search input").first.evaluate(
            "field => { field.value = '头'; field.form.requestSubmit(); }"
        )
        page.wait_for_url(f"**/{NAME}/search.html?q=*")
        page.locator("#search-results li > a").first.wait_for()
        yield page


@pytest.mark.parametrize("words", ASKED)
def test_chinese_finds_a_section_among_the_first_three(search, words):
    first, pages = found(search, words)[:3], f"../{NAME}/book/"
    assert all(x.startswith(pages) for x in first), first
    asked = tuple(pages + x for x in ASKED[words])
    assert any(x.startswith(asked) for x in first), first
    assert "节" in search.get_by_role("status").inner_text()


def test_all_pages_are_there_and_no_other(book):
    written = {x.stem for x in (book / NAME / "book").glob("*.html")}
    assert written == {*names()}
