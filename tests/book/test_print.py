"""The print edition: every page in order, with bookmarks and numbers."""

import chapters
import pytest
from print_book import print_book

PAGE = """<!doctype html><html lang="en"><title>{name}</title>
<link rel="canonical" href="https://example.org/book/{name}.html">
<article><h1>Chapter {name}<a href="#top">#</a></h1><p>Words of {name}.</p>
<details><summary>Solution</summary><p>Folded in {name}.</p></details>
<a href="other.html#there">other</a>
<p style="break-before: page">End of {name}.</p></article></html>"""


@pytest.fixture(scope="module")
def pdf(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    for name in ("one", "two"):
        (folder / f"{name}.html").write_text(PAGE.format(name=name))
    return print_book(browser, folder, ["one", "two"])


def test_title_page_comes_first_and_each_page_follows(pdf):
    texts = [" ".join(page.extract_text().split()) for page in pdf.pages]
    assert len(texts) == 5
    assert texts[0].startswith("The Annotated Transformer, rebuilt")
    for text, words in zip(
        texts[1:], ["one", "End of one", "two", "End of two"], strict=True
    ):
        assert words in text
    assert "Folded in two." in texts[3]


def test_a_chapter_fills_its_pages(book, browser):
    pdf = print_book(browser, book, ["book/02_heads"])
    texts = [page.extract_text() for page in pdf.pages[1:]]
    words = [len(text.split()) for text in texts[:-1]]  # the last may be short
    assert min(words) > 60 and sum(words) / len(words) > 180, words
    whole = "\n".join(texts)
    cells = chapters.read(chapters.BOOK / "02_heads.ipynb").cells
    tagged = {
        tag: [
            cell.source.splitlines()[0]
            for cell in cells
            if tag in cell.metadata.get("tags", ())
        ]
        for tag in ("export", "hide-cell")
    }
    for lines in tagged.values():
        assert lines and all(line in whole for line in lines)
    assert "Show the code" not in whole  # the names of folds
    places = [whole.find(f"Solution to exercise {i}") for i in (1, 2, 3)]
    assert whole.find("You can now") < places[0]  # the chapter's end
    assert places == sorted(places)


def test_bookmarks_lead_to_chapters(pdf):
    marks = [
        (m.title, pdf.get_destination_page_number(m)) for m in pdf.outline
    ]
    assert marks == [("Chapter one", 1), ("Chapter two", 3)]


def test_links_to_other_pages_lead_to_the_web(pdf):
    links = [
        note.get_object()["/A"]["/URI"]
        for page in pdf.pages
        for note in page.get("/Annots", [])
        if "/URI" in note.get_object().get("/A", {})
    ]
    assert links == ["https://example.org/book/other.html#there"] * 2
