"""Results in rows and columns: plain text, which a page shows as a table."""

from collections.abc import Iterable, Sequence

from tabulate import tabulate


class Table:
    """Rows of text under headings, for the last line of a cell.

    Columns with words are aligned left, columns of numbers right. ValueError
    if a row and the headings differ in length.
    """

    def __init__(self, heads: Sequence[str], rows: Iterable[Sequence[object]]):
        self.heads = list(heads)
        self.rows = [[str(cell) for cell in row] for row in rows]
        columns = zip(self.heads, *self.rows, strict=True)
        self.sides = [
            "left" if any(cell[:1].isalpha() for cell in cells) else "right"
            for _, *cells in columns
        ]

    def __repr__(self) -> str:
        text: str = tabulate(
            self.rows,
            self.heads,
            "simple",
            colalign=self.sides,
            disable_numparse=True,  # numbers stay as the chapter writes them
        )
        return text
