"""Chinese on English pages says so, to browsers, fonts and voices."""

import re
from typing import Any

from docutils import nodes
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


def mark_language(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Mark a page that is not Chinese itself."""
    if "body" in context and not app.config.edition:
        context["body"] = marked(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.connect("html-page-context", mark_language, priority=970)  # last
    return {"parallel_read_safe": True, "parallel_write_safe": True}
