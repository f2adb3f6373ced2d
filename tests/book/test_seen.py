"""How much code a page opens with, and that nothing on it moves by itself."""

from collections.abc import Iterator

import pytest
import seen
from browser import book_folder
from playwright.sync_api import Browser

PAGES = sorted((book_folder() / "book").glob("*.html"))
CHAPTERS = [page.stem for page in PAGES if page.stem[0].isdigit()]
# boxes that scrolled sideways at 390 pixels while all definitions were open
SCROLLED = 498


@pytest.fixture(scope="module")
def measured(browser: Browser) -> Iterator[dict[str, seen.Seen]]:
    """What is seen of each page, measured once."""
    yield {page.stem: seen.look(browser, page.as_uri()) for page in PAGES}


def test_prose_takes_most_of_every_page(measured):
    shares = {name: x.share for name, x in measured.items()}
    assert {n: share for n, share in shares.items() if share > 0.25} == {}
    assert sum(shares[n] for n in CHAPTERS) / len(CHAPTERS) <= 0.18


def test_no_long_run_of_code_without_a_word(measured):
    runs = {name: x.longest for name, x in measured.items()}
    assert {name: run for name, run in runs.items() if run > 400} == {}


def test_code_seldom_scrolls_on_a_phone(measured):
    assert sum(x.sideways for x in measured.values()) <= SCROLLED / 2


def test_what_comes_late_moves_nothing(measured):
    shifts = {name: max(x.shift) for name, x in measured.items()}
    assert {n: shift for n, shift in shifts.items() if shift >= 0.1} == {}


BOX = "<div class=cell_input style='height: 300px'></div>"
BEGIN = "<!doctype html><html><body style='margin: 0'><article>"


@pytest.mark.parametrize(
    ("between", "share", "longest"),
    [
        ("", 1.0, 600),
        ("<p style='height: 600px; margin: 0'>Words.</p>", 0.5, 300),
        ("<p class=export style='height: 600px; margin: 0'>f</p>", 0.5, 1200),
    ],
)
def test_boxes_are_measured(window, tmp_path, between, share, longest):
    page = tmp_path / "page.html"
    page.write_text(f"{BEGIN}{BOX}{between}{BOX}</article>")
    shown = window.open(page)
    assert seen.share(shown) == pytest.approx(share)
    assert seen.longest_run(shown) == pytest.approx(longest)


def test_a_fold_that_hides_is_no_box(window, tmp_path):
    page = tmp_path / "page.html"
    hidden = f"<div style='visibility: hidden'>{BOX}</div>"
    page.write_text(f"{BEGIN}{hidden}</article>")
    assert seen.share(window.open(page)) == 0


def test_what_moves_is_noticed(browser, tmp_path):
    page = tmp_path / "page.html"
    late = "setTimeout(() => document.body.style.paddingTop = '400px', 300)"
    page.write_text(f"{BEGIN}{BOX}</article><script>{late}</script>")
    assert min(seen.look(browser, page.as_uri()).shift) > 0.1
