"""The builder of the pages, without an index of words."""

from sphinx.builders.html import StandaloneHTMLBuilder


class WithoutIndex(StandaloneHTMLBuilder):
    """Sphinx's builder, spared the index of words that no page loads."""

    def index_page(self, *_: object) -> None:
        pass

    def dump_search_index(self) -> None:
        pass
