"""```{terms}``` is the table of the field's terms, in English and Chinese.

They are those of the Chinese edition, from book/locale.
"""

from docutils import nodes
from edition import say, terms
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from written_tables import paragraph, row, table


class Terms(SphinxDirective):
    """The table, with one line a term."""

    def run(self) -> list[nodes.Node]:
        rows = [row(*map(paragraph, pair)) for pair in terms().items()]
        return [table((say("English"), say("Chinese")), rows, style="terms")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.add_directive("terms", Terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
