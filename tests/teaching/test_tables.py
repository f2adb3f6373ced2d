"""Tables: read as text and as HTML, with the cells that were given."""

import pytest
from lxml import html

from annotated_transformer.teaching.tables import Table

HEADS = ["bug", "loss", "change"]
ROWS = [["no mask", "0.10", "[-1, +2]"], ["x < y", "12.00", "none"]]


def test_text_has_columns():
    assert repr(Table(HEADS, ROWS)).splitlines() == [
        "bug        loss  change",
        "no mask    0.10  [-1, +2]",
        "x < y     12.00  none",
    ]


def test_html_has_the_same_cells():
    page = html.fromstring(Table(HEADS, ROWS)._repr_html_())
    found = [[x.text_content().strip() for x in y] for y in page.iter("tr")]
    assert found == [HEADS, *ROWS]


def test_a_row_that_is_too_short_is_an_error():
    with pytest.raises(ValueError, match="shorter"):
        Table(HEADS, [*ROWS, ["alone"]])
