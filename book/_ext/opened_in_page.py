"""A Transformer that can be opened: a shipped model, looked into in the page.

```{opened} pronouns``` puts the figure there, or with the option small a walk
of five steps; with the option tab it begins with the heads, or with what can
be changed. With the option order there are two sentences of the same words,
and a switch for their positions. Its content, a still with a caption, is
shown on paper and without scripts.
"""

import inspect
from types import ModuleType
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from edition import say
from models_in_page import ModelHere, packed, reading, script, shipped
from sphinx.application import Sphinx
from translator_in_page import OPENINGS, known_words
from widgets import DECIDES, Data

from annotated_transformer import embedding, heads, layers, model
from annotated_transformer.model import parameter_count

EXAMPLES = {
    **OPENINGS["pronouns"]["examples"],
    "tired": "When she is tired, a cook needs a beautiful radio.",
}
ORDER = ["The dog bit the man.", "The man bit the dog."]
DONOR = "The dog ate the soup because it was fresh."
# The definitions that boxes lead to, and the part of each that is shown.
CELLS: dict[str, tuple[ModuleType, str]] = {
    "TokenEmbedding": (embedding, "forward"),
    "SinusoidalPositions": (embedding, "forward"),
    "AddNorm": (layers, "after"),
    "MultiHeadAttention": (heads, "attend"),
    "FeedForward": (layers, "forward"),
    "Encoder": (model, "forward"),
    "EncoderDecoder": (model, "logits"),
    "greedy_decode": (model, ""),
}
CHAPTERS = {
    embedding: "03_embedding",
    heads: "02_heads",
    layers: "04_layers",
    model: "05_model",
}


def cell(name: str) -> dict[str, str]:
    """The address of an exported definition, and some of its code."""
    module, part = CELLS[name]
    defined = getattr(module, name)
    shown = getattr(defined, part) if part else inspect.unwrap(defined)
    return {
        "href": f"{CHAPTERS[module]}.html#export-{name}",
        "code": inspect.cleandoc(f"\n{inspect.getsource(shown)}"),
    }


def shown(name: str) -> Data:
    """A shipped model as the page reads it, and what leads into it."""
    trained, tokenizer, history = shipped(name)
    layer, head = DECIDES
    return {
        **packed(trained, tokenizer),
        "reading": reading(history),
        "examples": EXAMPLES,
        "pieces": OPENINGS[name]["pieces"],
        "words": known_words(name),
        "decides": {"layer": layer, "head": head},
        "donor": DONOR,
        "order": ORDER,
        "cells": {name: cell(name) for name in CELLS},
    }


class OpenedHere(ModelHere):
    """The place of the figure, with a still of it."""

    kind = "opened"
    styles = "in_page", "opened"
    option_spec: ClassVar = {
        "small": directives.flag,  # five steps alone
        "order": directives.flag,  # two sentences alone
        "tab": lambda name: directives.choice(name, ("heads", "changes")),
    }

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        text = script(self.kind, shown(name))
        thousands = parameter_count(shipped(name)[0].config) / 1e3
        note = say(
            "The pronoun model: {0:.0f} thousand parameters, {1:.1f} MB, "
            "computed on this page. Its weights are rounded to 8 bits: a "
            "number may differ from a chapter's in its last digit."
        ).format(thousands, len(text) / 1e6, thousands / 10)
        (place,) = self.place(text, [], note)
        parts = [f"at-{x}" for x in ("small", "order") if x in self.options]
        place["classes"] += parts or ["full-width"]
        if "tab" in self.options:
            place["classes"].append(f"begins-{self.options['tab']}")
        return [place]


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("models_in_page")
    app.add_directive("opened", OpenedHere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
