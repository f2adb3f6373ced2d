"""The writer in the page: a shipped language model that writes there.

```{writer} plays``` stands for the widget. An example under its content has
the likeliest character at every place, so that it is the same wherever the
book is built.
"""

from docutils import nodes
from ledger_page import paragraph
from models_in_page import ModelHere, packed, rounded, script
from sphinx.application import Sphinx

from annotated_transformer.storage.model_card import TEXT_LICENCES
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.writing import Writer

EXAMPLE = "ROMEO:\nThe dog ate the soup"
BEGINNINGS = ["ROMEO:\n", "JULIET:\nO, ", "KING RICHARD III:\nMy ", EXAMPLE]
# Bits per character of the held-out tenth, and with 8-bit weights; a test
# measures both.
BITS = {"plays": (2.2386, 2.2387)}


def what_it_is(name: str, size: int) -> str:
    """How large a model is, and what 8 bits cost it; size is in bytes."""
    model, _, history = load_model(name)
    millions = sum(x.numel() for x in model.parameters()) / 1e6
    exact, in_page = BITS[name]
    return (
        f"{millions:.2f} million parameters, {size / 1e6:.1f} MB. "
        f"{TEXT_LICENCES[history.data.name]} With weights of 8 bits the model "
        f"needs {in_page} bits per character on the tenth of the text that it "
        f"has not read, and with those of the package {exact}."
    )


def example(name: str) -> list[nodes.Node]:
    """A text of the likeliest characters."""
    writer = Writer.load(name)
    rounded(writer.model)
    text = writer(EXAMPLE, max_new_tokens=180, temperature=0.0)
    said = "If it always takes the likeliest character, it writes:"
    return [paragraph(said), nodes.literal_block(text, text, language="none")]


class WriterHere(ModelHere):
    """The place of the writer, with an example."""

    kind = "writer"
    figures = ("sampling",)  # its options and its formulas

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        model, tokenizer, history = load_model(name)
        models = packed(model, tokenizer)
        models |= {"beginnings": BEGINNINGS, "mark": history.data.mark}
        text = script(self.kind, models)
        return self.place(text, example(name), what_it_is(name, len(text)))


def setup(app: Sphinx) -> None:
    app.setup_extension("models_in_page")
    app.add_directive("writer", WriterHere)
