"""The list of references, in the order of its labels.

A label is what a citation in the text says: Vaswani et al., 2017. Titles keep
the capitals that they have in references.bib.
"""

import unicodedata
from collections.abc import Iterator

from pybtex.backends.plaintext import Backend
from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle
from pybtex.style.template import Node, field, sentence
from sphinx.application import Sphinx


def authors(entry: Entry) -> str:
    """One or two family names, or the first and "et al."."""
    names = [
        " ".join(map(str, x.rich_prelast_names + x.rich_last_names))
        for x in entry.persons["author"]
    ]
    return f"{names[0]} et al." if len(names) > 2 else " and ".join(names)


def label(entry: Entry) -> str:
    """Authors and year."""
    return f"{authors(entry)}, {entry.fields['year']}"


def place(entry: Entry) -> str:
    """Where a label stands in the alphabet, whatever its accents and case."""
    letters = unicodedata.normalize("NFKD", label(entry))
    return "".join(x for x in letters if not unicodedata.combining(x)).lower()


class Labels(BaseLabelStyle):
    def format_labels(self, sorted_entries: list[Entry]) -> Iterator[str]:
        return map(label, sorted_entries)


class ByLabel(BaseSortingStyle):
    def sort(self, entries: list[Entry]) -> list[Entry]:
        return sorted(entries, key=place)


class References(Style):
    default_label_style = Labels
    default_sorting_style = ByLabel

    def format_title(
        self, e: Entry, which_field: str, as_sentence: bool = True
    ) -> Node:
        title = field(which_field)
        return sentence[title] if as_sentence else title


def setup(app: Sphinx) -> dict[str, bool]:
    register_plugin("pybtex.style.formatting", "references", References)
    # or every citation would look for it among all that is installed
    register_plugin("pybtex.backends", "plaintext", Backend, force=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
