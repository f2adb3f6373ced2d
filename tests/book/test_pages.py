"""Every page of the built book holds up in a real browser, offline."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pages
import pytest
from browser import Window, book_folder, opened
from edition import NAME
from playwright.sync_api import Browser, Page, expect

NO_SIGNS = (
    "sound, but for the look of its signs, which was left out: this machine "
    "has no Chinese font (in Debian: fonts-noto-cjk)"
)
WIDE, PHONE = ({"width": w, "height": 800} for w in (1280, 360))
SHOWN = pages.pages_of(book_folder())
KINDS = ("intro", "10_decoding", "ledger", "toolkit", "api", "404", "search")
OF_A_KIND = [page for page in SHOWN if page.stem in KINDS]
LIVE = [
    page
    for page in SHOWN
    if re.search(r'class="[^"]*\b(at-place|widget)\b', page.read_text("utf-8"))
]
# Bars, menu and way into the text are the same on all pages of a kind.
FRAMED = [page for page in OF_A_KIND if page.name != "404.html"]


def name(page: Path) -> str:
    """A page's name, in an edition behind the edition's."""
    return f"{NAME}-{page.stem}" if NAME in page.parts else page.stem


@pytest.fixture(scope="module")
def reader(browser: Browser) -> Iterator[Window]:
    """A window in which page after page is opened."""
    with opened(browser, strict=False) as window:
        window.context.add_init_script(pages.WATCH)
        yield window


@pytest.fixture(scope="module")
def looks() -> set[str]:
    """The colours and sizes of text that were found readable, or reported."""
    return set()


@pytest.fixture(scope="module")
def plain(browser: Browser) -> Iterator[Window]:
    """A window in which no script runs."""
    with opened(browser, java_script_enabled=False) as window:
        yield window


def turn(window: Window, where: Path | str, size: dict) -> Page:
    """Open another page and wait until its formulas are set."""
    window.complaints.clear()
    window.escaped.clear()
    window.page.set_viewport_size(size)
    page = window.open(where)
    pages.await_scripts(page)
    return page


@pytest.mark.parametrize("where", SHOWN, ids=name)
def test_page_from_a_file(reader, looks: set[str], signs, where: Path):
    reader.page.emulate_media(color_scheme="dark")
    page = turn(reader, where, PHONE)
    faults = {"moved": pages.moved(page)}
    page.add_style_tag(content=pages.STILL)  # or the side bar glides out
    page.set_viewport_size(WIDE)
    faults["code"] = pages.code(page)
    page.set_viewport_size(PHONE)
    faults |= {
        "formulas": pages.formulas(page),
        "figures": pages.figures(page),
        "phone": pages.sideways(page),
        "headings": pages.headings(page),
        "targets": pages.targets(page),
        "labels": pages.labels(page),
        "tables": pages.tables(page),
        "paper": pages.paper(page),
    }
    if where in FRAMED:
        faults["keyboard"] = pages.keyboard(page)
        faults["menu"] = pages.menu(page)
    faults["dark"] = pages.theme(page, "dark") + pages.contrast(page, looks)
    if where in OF_A_KIND:
        faults["light"] = pages.theme(page, "light")
        faults["light"] += pages.contrast(page, looks)
    alike = [] if where in OF_A_KIND else pages.OF_STYLE
    faults["access"] = pages.access(page, without=alike)
    page.set_viewport_size(WIDE)
    faults["wide"] = pages.sideways(page)
    if where in FRAMED[:1]:
        faults["side bars"] = pages.access(page, ".bd-sidebar")
        faults["side bars"] += pages.contrast(page, looks)
    faults["console"] = reader.complaints
    faults["network"] = reader.escaped
    found = [f"{check}: {one}" for check in faults for one in faults[check]]
    assert not found, "\n".join(found)
    if NAME in where.parts and not signs:
        pytest.skip(NO_SIGNS)


@pytest.mark.parametrize("where", LIVE, ids=name)
def test_live_figures_are_for_fingers_when_they_have_come(reader, where):
    page = turn(reader, where, {"width": 390, "height": 844})
    for begin in page.locator(".at-start button").all():
        begin.click()
        expect(begin).to_have_count(0, timeout=60_000)
    for place in page.locator(".at-opened").all():
        place.scroll_into_view_if_needed()
        place.locator(".op-box, label").first.wait_for(timeout=60_000)
    for place in page.locator(".at-translator").all():
        place.locator(".at-panel").wait_for(timeout=60_000)
    faults = pages.targets(page)
    for tab in page.get_by_role("tab").all():
        if tab.is_visible():
            tab.click()
            faults += pages.targets(page)
    assert faults == []


@pytest.mark.parametrize("where", OF_A_KIND, ids=name)
def test_page_before_scripts_have_run(plain: Window, where: Path):
    plain.page.set_viewport_size(WIDE)
    page = plain.open(where)
    for size in (WIDE, PHONE):  # the other way round, the side bar glides in
        page.set_viewport_size(size)
        assert pages.sideways(page) == []


def test_chapter_has_its_ways_on_and_its_tools(reader: Window, book):
    page = turn(reader, book / "book" / "03_embedding.html", WIDE)
    assert page.locator(".prev-next-area a:visible").count() == 2
    assert page.locator(".bd-sidebar-secondary a[href^='#']").count() > 5
    code = page.locator("div.cell_input div.highlight").count()
    assert page.locator("div.cell_input button.copybtn").count() == code > 5
    links = page.locator("a[href*='03_embedding.ipynb']").evaluate_all(
        "links => links.map(a => a.getAttribute('href'))"
    )
    for part in ("/blob/colab/book/", "/edit/main/book/", "../_sources/book/"):
        assert any(part in link for link in links), part


def test_the_ledger_is_filtered_unfolded_and_linked_to(reader: Window, book):
    path = book / "book" / "ledger.html"
    page = turn(reader, path, PHONE)
    claims = page.locator("details.claim")
    shown = page.locator("table.ledger tbody tr:not([hidden])")
    opened = page.locator("details.claim[open]")
    verdict, source, _ = page.locator("form.ledger-filter select").all()
    verdict.select_option("shown")
    some = shown.count()
    assert some == page.locator("details.claim[data-verdict=shown]").count()
    source.select_option("the paper")
    assert 0 < shown.count() < some < claims.count()
    page.get_by_role("button", name="show all").click()
    page.wait_for_function("() => !document.querySelector('tr[hidden]')")
    page.get_by_role("button", name="unfold", exact=True).click()
    assert opened.count() == claims.count()
    page.get_by_role("button", name="fold", exact=True).click()
    claims.locator("summary").first.press("Enter")
    assert opened.count() == 1
    linked = claims.last.get_attribute("id")
    page.goto(f"{path.as_uri()}#{linked}")
    page.reload()
    pages.await_scripts(page)
    assert opened.count() == 1 and opened.get_attribute("id") == linked


def test_a_link_to_a_claim_that_is_filtered_out_shows_it(reader, book):
    """And the page counts it; so does the same link, taken once more."""
    page = turn(reader, book / "book" / "ledger.html", WIDE)
    verdict = page.locator("form.ledger-filter select").first
    rows = page.locator("table.ledger tbody tr:not([hidden])")
    claim = page.locator("details.claim:not([data-verdict=shown])").first
    page.locator("article p").first.evaluate(
        "(e, to) => e.insertAdjacentHTML('afterbegin',"
        " `<a id=link href='#${to}'>there</a>`)",
        claim.get_attribute("id"),
    )
    for _ in range(2):
        verdict.select_option("shown")
        some = rows.count()
        assert not claim.is_visible()
        page.locator("#link").click()
        expect(claim).to_be_visible()
        expect(rows).to_have_count(some + 1)
        said = page.locator("form.ledger-filter output")
        expect(said).to_contain_text(f"{some + 1} of ")


def test_the_ledger_is_ordered_by_any_column(reader: Window, book):
    """Numbers as numbers, and in both directions."""
    page = turn(reader, book / "book" / "ledger.html", WIDE)

    def column(place: int) -> list[str]:
        cells = page.locator(f"table.ledger tbody td:nth-child({place})")
        return [text.strip() for text in cells.all_inner_texts()]

    p = page.get_by_role("button", name="p", exact=True)
    for ordered in (1, -1):
        p.click()
        each = [float(x.strip("< ")) for x in column(5) if x]
        assert each == sorted(each)[::ordered] and len(set(each)) > 5
    page.get_by_role("button", name="figure", exact=True).click()
    small = [x for x in column(3) if "10⁻" in x]
    assert small[0] == "below 10⁻⁹" and column(3)[-1] != small[0]
    page.get_by_role("button", name="verdict", exact=True).click()
    verdicts = [text.replace("†", "!") for text in column(2)]
    assert verdicts == sorted(verdicts)  # signs before letters


SOUND = """<!doctype html><html lang="en"><head><title>Sound</title>
<meta name="viewport" content="width=device-width"><style>
body {margin: 1rem; background: #fff; color: #222}
:root[data-theme=dark] body {background: #111; color: #eee}
a {color: inherit} button {padding: .25rem}
.cell_input {height: 300px} .long {height: 1800px}</style><script>
const asked = matchMedia("(prefers-color-scheme: dark)"), set = () =>
  document.documentElement.dataset.theme = asked.matches ? "dark" : "light";
asked.onchange = set; set()</script></head>
<body><a href="#text">Skip</a><button class="primary-toggle"
onclick="document.querySelector('dialog').showModal()">Contents</button>
<dialog><nav><a href="#text">Text</a></nav></dialog>
<main id="text"><article><h1>Sound</h1><p>A page.</p><a href="#text">Up</a>
<figure><img alt="Nothing." src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<figcaption>Nothing.</figcaption></figure><div class="cell_input"></div>
<p class="long">A text.</p><div class="cell_input"></div>
<div class="cell_input" style="visibility: hidden"></div>
</article></main></body></html>"""
WIDE_FIGURE = "<div class=wide style='--readable: 320px'>"
WIDE_TABLE = "<table style='width: 500px'><tr><td>1</td></tr></table>"
HAND = "display: inline-block; cursor: pointer; line-height: 20px"
FOLD = "<details class={}><summary>{}</summary><p>Text.</p></details>"
LATE = "setTimeout(() => document.body.style.paddingTop = '400px', 300)"
CHECKS: dict[str, Callable[[Page], list[str]]] = {
    "moved": pages.moved,
    "code": pages.code,
    "formulas": pages.formulas,
    "sideways": pages.sideways,
    "figures": pages.figures,
    "headings": pages.headings,
    "targets": pages.targets,
    "labels": pages.labels,
    "tables": pages.tables,
    "paper": pages.paper,
    "access": pages.access,
    "contrast": pages.contrast,
    "keyboard": pages.keyboard,
    "menu": pages.menu,
    "dark": lambda page: pages.theme(page, "dark"),
    "light": lambda page: pages.theme(page, "light"),
}
FAULTS = [
    ("moved", "<p>", f"<p class=widget>Live.<script>{LATE}</script><p>"),
    ("code", 'class="long"', ""),
    ("code", 'class="long"', 'class="long export"'),
    ("code", "visibility: hidden", ""),
    ("formulas", "A page", '<span class="math">\\(x\\)</span>'),
    ("sideways", "<p>", "<p style='width: 900px'>"),
    ("sideways", "<p>", "<p style='margin-left: -40px'>"),
    ("figures", 'alt="Nothing."', 'alt=" "'),
    ("figures", "<figcaption>Nothing.", "<figcaption>"),
    ("headings", "<p>", "<h3>Of what?</h3><p>"),
    ("headings", "<figcaption>", "<h2>Nothing.</h2><figcaption>"),
    ("targets", "<p>", "<p><button style='height: 20px'>b</button>"),
    ("targets", "<p>A page.", "<p><a href='#text'>A page.</a>"),
    ("targets", "<p>", f"<p class=widget><b style='{HAND}'>b</b> or not"),
    ("labels", "<img", f"{WIDE_FIGURE}<img width=300 height=9"),
    ("tables", "<p>", f"<div style='overflow: auto'>{WIDE_TABLE}</div><p>"),
    ("paper", "<p>", f"{FOLD.format('hide', 'Show the code')}<p>"),
    ("paper", "<p>", f"{FOLD.format('answer', 'Solution to exercise 1')}<p>"),
    ("paper", "<p>", "<button>b</button><p>"),
    ("access", ' lang="en"', ""),
    ("contrast", "<p>", "<p style='color: #aaa'>"),
    ("keyboard", '<a href="#text">Skip</a>', ""),
    ("keyboard", 'id="text"', ""),
    ("menu", "primary-toggle", "other"),
    ("menu", "showModal", "close"),
    ("menu", "showModal", "show"),
    ("dark", "data-theme=dark]", "data-theme=other]"),
    ("light", "data-theme=dark] body", "data-theme] body"),
]


def shown(window: Window, folder: Path, html: str) -> Page:
    file = folder / "page.html"
    file.write_text(html)
    return turn(window, file, PHONE)


def test_sound_page_passes(reader: Window, tmp_path):
    for name, check in CHECKS.items():
        assert check(shown(reader, tmp_path, SOUND)) == [], name
    assert (reader.complaints, reader.escaped) == ([], [])


@pytest.mark.parametrize(("check", "part", "fault"), FAULTS)
def test_planted_fault_is_found(reader, tmp_path, check, part, fault):
    assert part in SOUND
    page = shown(reader, tmp_path, SOUND.replace(part, fault))
    assert CHECKS[check](page) != []


@pytest.mark.parametrize(
    ("noted", "fault"),
    [
        ("complaints", "console.error('broken')"),
        ("complaints", "throw new Error('broken')"),
        ("escaped", "fetch('https://example.org').catch(_ => 0)"),
    ],
)
def test_what_a_script_does_wrong_is_noted(browser, tmp_path, noted, fault):
    script = f"<script>{fault}</script><p>"
    with pytest.raises(AssertionError), opened(browser) as window:
        page = shown(window, tmp_path, SOUND.replace("<p>", script))
        page.wait_for_load_state("networkidle")
    assert len(getattr(window, noted)) == 1
