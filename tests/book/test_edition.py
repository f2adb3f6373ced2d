"""The Chinese edition says what English pages say, and leads to and fro."""

import re
from collections import Counter
from urllib.parse import urlsplit

import pytest
import translate
from browser import Window
from edition import CATALOGUE, NAME, PAGES, names

ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
CODE = re.compile(r"(?<![`}])`([^`]+)`(?!`)")
MATH = re.compile(r"\$([^$]+)\$")
DECIMAL = re.compile(r"(?<![\w.])\d+[.,]\d+")
BLANK = re.compile(r"\{[^}]*\}")  # where extensions fill something in
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


def test_what_extensions_say_is_translated():
    known = translate.update(CATALOGUE, translate.inserted())
    assert len(known) > 30 and translate.open_messages(known) == []


@pytest.mark.parametrize("page", [*PAGES, CATALOGUE])
def test_a_translation_keeps_what_is_no_prose(page):
    """Roles with their targets, code, formulas and decimals."""
    for message in translate.catalogue_of(page):
        if not message.id or not message.string or message.fuzzy:
            continue
        before, after = str(message.id), str(message.string)
        assert BLANK.findall(before) == BLANK.findall(after) or page in PAGES
        assert targets(after) == targets(before), before
        for kind in (CODE, MATH, DECIMAL):
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
    assert page.locator("#five-questions").count() == 1
    page.goto((book / "book" / "06_data.html").as_uri())
    page.locator(".bd-sidebar a", has_text="Attention").first.click()
    assert f"/{NAME}/book/01_attention.html" in page.url
    page.get_by_role("link", name="English").click()
    assert f"/{NAME}/" not in page.url
    page.locator(".bd-sidebar a[href='02_heads.html']").first.click()
    assert f"/{NAME}/" not in page.url


def test_all_pages_are_there_and_no_other(book):
    written = {x.stem for x in (book / NAME / "book").glob("*.html")}
    assert written == {*names()}
