"""The built book: its check finds every fault, its frame is complete."""

import re
import sys
from collections import Counter
from types import ModuleType
from unittest import mock
from urllib.parse import urlsplit
from xml.etree import ElementTree

import chapters
import pages
import pytest
from build_book import prune, write_colab
from check_html import check, weigh
from IPython.core.interactiveshell import InteractiveShell
from lxml import html
from PIL import Image

SOUND = """<!doctype html><html><head>
<link rel="stylesheet" href="style.css"><link rel="next" href="b.html">
<link rel="canonical" href="https://example.org/a.html">
<script src="code.js"></script></head>
<body id="top"><a href="b.html#there">b</a> <a href="#top">up</a>
<a href="https://example.org">out</a> <a href="mailto:a@example.org">a</a>
<img src="a%20b.png" alt="A cat."> <img src="data:," alt="Nothing.">
</body></html>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "a.html").write_text(SOUND)
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    (tmp_path / "style.css").write_text("p {background: url('a b.png')}")
    (tmp_path / "code.js").write_text("")
    (tmp_path / "a b.png").write_text("")
    return tmp_path


def test_sound_pages_pass(site):
    assert check(site) == []


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ('<a href="c.html">c</a>', "broken link: c.html"),
        ('<a href="b.html#here">b</a>', "broken anchor: b.html#here"),
        ('<a href="#nowhere">up</a>', "broken anchor: #nowhere"),
        ('<meta http-equiv="Refresh" content="0; url=c.html">', "broken link"),
        ('<img src="c.png" alt="C.">', "broken link: c.png"),
        ('<img src="a b.png" alt=" ">', "no alt text: a b.png"),
        *(
            (element, "loads from the network: ")
            for element in (
                '<script src="https://example.org/x.js"></script>',
                '<script>load("https://example.org/x.js")</script>',
                '<link rel="stylesheet" href="https://example.org/x.css">',
                '<link rel="preload" href="https://example.org/x.woff2">',
                '<img alt="X." src="data:," srcset="//example.org/x.png 2x">',
                '<iframe src="https://example.org"></iframe>',
                '<style>@import "https://example.org/x.css";</style>',
                '<p style="background: url(//example.org/x.png)">x</p>',
            )
        ),
    ],
)
def test_planted_fault_is_found(site, fault, message):
    (site / "a.html").write_text(SOUND.replace("</body>", fault + "</body>"))
    (found,) = check(site)
    assert found.startswith(f"a.html: {message}")


@pytest.mark.parametrize(
    ("file", "megabytes", "found"),
    [
        ("_static/all.js", 4.1, "_static: too heavy: 4.1 of 4.0 MB"),
        ("_static/in_page/weights.bin", 9.0, ""),  # asked for by a reader
        ("a b.png", 1.1, "a.html: too heavy: 1.1 of 1.0 MB"),
        ("a b.png", 0.9, ""),
    ],
)
def test_what_weighs_too_much_is_found(site, file, megabytes, found):
    (site / file).parent.mkdir(parents=True, exist_ok=True)
    (site / file).write_bytes(bytes(int(megabytes * 1e6)))
    faults = weigh(site)
    assert len(faults) == bool(found)
    assert found in "".join(faults)


def test_only_what_no_page_loads_is_left_out(site):
    static = site / "_static"
    kept = ["scripts/code.js", "styles/theme.css", "fonts/icons.woff2"]
    gone = ["scripts/code.js.map", "fonts/icons.ttf", "locales/de/theme.mo"]
    for name in kept + gone:
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        (static / name).write_text("")
    sources = 'url(../fonts/icons.woff2) format("woff2")'
    old = ',url(../fonts/icons.ttf) format("truetype")'
    style = static / "styles" / "theme.css"
    style.write_text(f"@font-face{{src: {sources}{old}}}")
    prune(static)
    assert style.read_text() == f"@font-face{{src: {sources}}}"
    assert [n for n in kept + gone if (static / n).exists()] == kept


def test_colab_gets_every_chapter_after_one_cell_that_installs(tmp_path):
    write_colab(tmp_path)
    for chapter in chapters.find_chapters():
        first, *others = chapters.read(tmp_path / "book" / chapter.name).cells
        assert others == chapters.read(chapter).cells
        assert first.metadata == {"cellView": "form"}
    shell, ran = InteractiveShell(), []
    shell.system = ran.append
    shell.run_line_magic = lambda *given, **_: ran.append(" ".join(given))
    with mock.patch.dict(sys.modules, {"google.colab": None}):
        del sys.modules["google.colab"]
        shell.run_cell(first.source).raise_error()
        assert ran == []  # elsewhere
        sys.modules["google.colab"] = ModuleType("google.colab")
        shell.run_cell(first.source).raise_error()
    assert [command.split()[0] for command in ran] == ["git", "pip", "cd"]
    # its cells draw, and read records
    assert "/content/book[notebooks]" in ran[1]


def test_every_page_says_what_it_is_when_shared(book):
    descriptions = []
    for page in pages.pages_of(book / "book"):
        text = page.read_text("utf-8")
        tags = re.findall(r'<meta property="og:(\w+)" content="(.*?)"', text)
        said = dict(tags)
        assert said["title"]
        assert said["url"].endswith(f"/book/{page.name}")
        image = said["image"].removeprefix(said["url"].split("book/")[0])
        with Image.open(book / image) as shared:
            assert shared.size == (1200, 630)
        assert 20 < len(said["description"]) < 300
        descriptions.append(said["description"])
    assert len(set(descriptions)) > 0.9 * len(descriptions) > 0


def test_site_map_lists_every_page_once(book):
    root = ElementTree.parse(book / "sitemap.xml").getroot()
    addresses = [place.text for place in root.iter(f"{root.tag[:-6]}loc")]
    written = book.glob("**/book/*.html")
    assert sorted(urlsplit(x).path.split("/", 2)[2] for x in addresses) == (
        sorted(str(page.relative_to(book)) for page in written)
    )


def test_missing_page_is_explained_at_any_depth(book):
    text = (book / "404.html").read_text("utf-8")
    addresses = re.findall(r'(?:href|src|action)="(.*?)"', text)
    assert len(addresses) > 3
    whole = ("https://", "data:")
    assert [a for a in addresses if not a.startswith(whole)] == []


def test_exported_cells_and_their_entries_lead_to_each_other(book):
    chapter = (book / "book" / "01_attention.html").read_text("utf-8")
    api = (book / "book" / "api.html").read_text("utf-8")
    there = re.findall(r'id="export-(\w+)"><a[^>]*href="(.*?)"', chapter)
    assert len(there) >= 4
    for name, link in there:
        assert link == f"api.html#annotated_transformer.attention.{name}"
        assert f'href="01_attention.html#export-{name}"' in api


def test_every_fold_says_what_it_opens_in_other_words(book):
    """By its own text, which is seen or heard as it changes."""
    faults = []
    for file in pages.pages_of(book):
        page = html.document_fromstring(file.read_text("utf-8"))
        names = Counter(
            " ".join(said[0].text_content().split())
            for fold in page.xpath("//article//details/summary")
            for said in [fold.findall("p[@class]") or [fold]]
        )
        faults += [
            f"{file.stem}: {count} times {name!r}"
            for name, count in names.items()
            if count > 1 or not name
        ]
        named = page.xpath("//article//summary[@aria-label]")
        faults += [f"{file.stem}: named {e.attrib}" for e in named]
    assert faults == []


def test_no_script_puts_a_heading_into_a_figure():
    """Those of the page are in its contents; what is drawn later is not."""
    made = re.compile(r"""["'`]<?h[1-6]\b""")
    scripts = [
        path
        for path in (chapters.BOOK / "_static").rglob("*.js")
        if made.search(path.read_text("utf-8"))
    ]
    assert scripts == []
