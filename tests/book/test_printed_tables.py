"""Tables that cells end with: the page has their cells, and no others."""

from pathlib import Path

from bs4 import BeautifulSoup
from small_book import build_pages

from annotated_transformer.teaching.tables import Table

HEADS = ["", "loss", "change", "BLEU"]
ROWS = [["no mask", "0.10", "", "20.8"], ["a  b", "-12.00", "x -1", "7"]]


def block(text: str, kind: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f".. rst-class:: output {kind}\n\n::\n\n{lines}\n"


def test_page_has_the_cells_of_a_table(tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    drawn = block(repr(Table(HEADS, ROWS)), "value")
    others = {"a  b\n-  -\n1  2": "stream", "a  b\n1  2": "value"}
    text = drawn + "".join(block(*other) for other in others.items())
    (source / "index.rst").write_text(f"Page\n====\n\n{text}")
    out, said = build_pages(source, "printed_tables", smartquotes=False)
    assert said == ""
    page = BeautifulSoup((out / "index.html").read_text(), "html.parser")
    (table,) = page.find_all("table")
    head, *rows = table.find_all("tr")
    found = [[x.text.strip() for x in row(["td", "th"])] for row in rows]
    assert [x.text.strip() for x in head(["td", "th"])] == HEADS
    assert found == [ROWS[0], ["a  b", "−12.00", "x −1", "7"]]
    sides = ["text-right" in x.get("class", []) for x in rows[1]("td")]
    assert sides == [False, True, False, True]
    assert [x.text.strip() for x in page.find_all("pre")] == [*others]
