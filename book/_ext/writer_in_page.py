"""The writer in the page: a shipped language model that writes there.

```{writer} plays``` stands for the widget. An example under its content has
the likeliest character at every place, so that it is the same wherever the
book is built.
"""

from docutils import nodes
from models_in_page import ModelHere, packed, rounded, script, shipped
from sphinx.application import Sphinx
from written_tables import paragraph

from annotated_transformer.storage.model_card import TEXT_LICENCES
from annotated_transformer.writing import Writer

EXAMPLE = "ROMEO:\nThe dog ate the soup"
LENGTH = 207  # characters that the example has after it: up to a word's end
BEGINNINGS = {
    "Romeo": "ROMEO:\n",
    "Juliet": "JULIET:\nO, ",
    "a king": "KING RICHARD III:\nMy ",
    "the dog": EXAMPLE,
}
# Bits per character of the held-out tenth, and with 8-bit weights; a test
# measures both.
BITS = {"plays": (2.0858, 2.0858)}


def what_it_is(name: str, size: int) -> str:
    """How large a model is, and what 8 bits cost it; size is in bytes."""
    model, _, history = shipped(name)
    millions = sum(x.numel() for x in model.parameters()) / 1e6
    exact, in_page = BITS[name]
    return (
        f"{millions:.2f} million parameters, {size / 1e6:.1f} MB. "
        f"{TEXT_LICENCES[history.data.name]} With its weights rounded to 8 "
        f"bits, the model needs {in_page} bits per character on the tenth of "
        f"the text that it has not read; without rounding, {exact}."
    )


def example(writer: Writer) -> list[nodes.Node]:
    """A text of the likeliest characters, by the page's weights."""
    rounded(writer.model)
    text = writer(EXAMPLE, max_new_tokens=LENGTH, temperature=0.0)
    said = "If it always takes the likeliest character, it writes:"
    return [paragraph(said), nodes.literal_block(text, text, language="none")]


class WriterHere(ModelHere):
    """The place of the writer, with an example."""

    kind = "writer"
    figures = ("sampling",)  # its options and its formulas

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        writer = Writer.load(name)
        model = packed(writer.model, writer.tokenizer)
        model |= {"beginnings": BEGINNINGS, "mark": writer.mark}
        text = script(self.kind, model)
        return self.place(text, example(writer), what_it_is(name, len(text)))


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("models_in_page")
    app.add_directive("writer", WriterHere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
