"""Chinese on English pages says so, to browsers, fonts and voices."""

import re

from each_page import Page, each_page
from sphinx.application import Sphinx

SIGNS = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
# Tags, and scripts with what stands in them, are passed over.
RUN = re.compile(rf"<script\b.*?</script>|<[^>]*>|([{SIGNS}]+)", re.DOTALL)


def marked(html: str) -> str:
    """A page's text, in which each run of Chinese signs has its language."""
    return RUN.sub(
        lambda found: (
            f'<span lang="zh">{found[1]}</span>' if found[1] else found[0]
        ),
        html,
    )


def mark_language(page: Page) -> None:
    """Mark a page that is not Chinese itself."""
    if not page.app.config.edition:
        page.change(marked)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    each_page(app, mark_language, priority=970)  # last
    return {"parallel_read_safe": True, "parallel_write_safe": True}
