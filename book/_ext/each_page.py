"""What changes pages once their HTML is there, before it is written."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from docutils import nodes
from sphinx.application import Sphinx

Kind = TypeVar("Kind", bound=nodes.Node)


class Page(NamedTuple):
    """A page, and what its template is given; that of search has no text."""

    app: Sphinx
    name: str
    context: dict[str, Any]
    doctree: nodes.document | None

    def find(self, kind: type[Kind]) -> Iterable[Kind]:
        """The nodes of a kind in its text."""
        return self.doctree.findall(kind) if self.doctree else ()

    def change(self, edit: Callable[[str], str]) -> None:
        """Edit the HTML of its text."""
        if "body" in self.context:
            self.context["body"] = edit(self.context["body"])


def each_page(
    app: Sphinx, act: Callable[[Page], None], priority: int = 500
) -> None:
    """Let a function look at each page; those of higher priority come last."""

    def handle(
        app: Sphinx,
        name: str,
        template: str,
        context: dict[str, Any],
        doctree: nodes.document | None,
    ) -> None:
        act(Page(app, name, context, doctree))

    app.connect("html-page-context", handle, priority=priority)
