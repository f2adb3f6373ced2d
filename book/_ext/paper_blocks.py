"""Two blocks: what the paper says, and where this book differs from it."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Block(SphinxDirective):
    """An admonition whose title is made from the directive's argument."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    style: str

    def run(self) -> list[nodes.Node]:
        block = nodes.admonition(classes=["admonition", self.style])
        self.set_source_info(block)
        title = self.title(self.arguments[0] if self.arguments else "")
        parsed, _ = self.state.inline_text(title, self.lineno)
        block += nodes.title(title, "", *parsed)
        self.state.nested_parse(self.content, self.content_offset, block)
        return [block]


class Paper(Block):
    """What the paper says, in our words: ```{paper} 3.2.1```."""

    style = "paper"

    def title(self, argument: str) -> str:
        if not argument:
            return "The paper"
        if not argument[0].isdigit():
            return f"The paper, {argument}"
        word = "sections" if " " in argument else "section"
        return f"The paper, {word} {argument}"


class Departure(Block):
    """Where the book's code does otherwise than the paper."""

    style = "departure"

    def title(self, argument: str) -> str:
        return (
            f"Where we differ: {argument}" if argument else "Where we differ"
        )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("paper", Paper)
    app.add_directive("departure", Departure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
