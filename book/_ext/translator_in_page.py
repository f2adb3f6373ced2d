"""The translator in the page: shipped models that translate there.

```{translator} multi30k-en-de pronouns``` stands for the widget. A table
under its content shows an example of the first model, computed when the book
is built.
"""

from collections.abc import Iterator
from dataclasses import asdict
from functools import cache, reduce
from pathlib import Path
from typing import TypedDict

import torch
from docutils import nodes
from edition import say
from models_in_page import (
    ModelHere,
    packed,
    reading,
    rounded,
    script,
    shipped,
)
from sphinx.application import Sphinx
from sphinx.util import logging
from widgets import DECIDES, Data
from written_tables import paragraph, row, table

from annotated_transformer.corpora.builtin import words
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.model import EncoderDecoder, parameter_count
from annotated_transformer.storage.history import History, Search
from annotated_transformer.storage.model_card import TEXT_LICENCES
from annotated_transformer.text.checks import Known
from annotated_transformer.translation import Translator

logger = logging.getLogger(__name__)
WIDTHS = 1, 5  # of the beams that the page offers
EXAMPLE = "Two children in red jackets are playing in the snow."


class Opening(TypedDict):
    """How the page introduces a model."""

    label: str
    kind: str
    offer: str
    examples: dict[str, str]
    glosses: dict[str, str]  # of what is written for the examples
    cross: tuple[int, int]  # layer and head that align
    pieces: list[str]  # to look at


OPENINGS: dict[str, Opening] = {
    "multi30k-en-de": {
        "label": "captions",
        "kind": "captions",
        "offer": "The model for captions knows more words.",
        "examples": {
            "snow": EXAMPLE,
            "IN CAPITALS": "AN OLD MAN IS REPAIRING HIS BICYCLE.",
            "in a hurry": "a barber  is cutting a man’s hair",
            "the other’s": "The dog ate the soup because it was hungry.",
            "no caption": "The minister resigned because of the budget.",
        },
        "glosses": {
            "Zwei Kinder in roten Jacken spielen im Schnee.": (
                "two children in red jackets play in the snow"
            ),
            "EIN ALTER MANN REPARIERT SEIN FAHRRAD.": (
                "an old man repairs his bicycle"
            ),
            "Ein Friseur schneidet einem Mann die Haare.": (
                "a barber cuts a man's hair"
            ),
            "Der Hund am Strand wäscht sich.": (
                "the dog on the beach washes itself"
            ),
            "Der Minigister ist soeben, weil es zu sehen.": (
                "the minigister is just now because it to see"
            ),
            "Der Minigister ist weilll das Buber bevorstehenden.": (
                "the minigister is becausss the buber (no word) upcoming"
            ),
        },
        "cross": (3, 1),
        "pieces": [],
    },
    "pronouns": {
        "label": "pronouns",
        "kind": "sentences of its grammar",
        "offer": "The model for pronouns knows every word of this sentence.",
        "examples": {
            "hungry": "The dog ate the soup because it was hungry.",
            "sweet": "The dog ate the soup because it was sweet.",
            "bread": "The cat ate the bread because it was sweet.",
        },
        "glosses": {
            "Der Hund fraß die Suppe, weil er hungrig war.": (
                "the dog ate the soup because he, the dog, was hungry"
            ),
            "Der Hund fraß die Suppe, weil sie süß war.": (
                "the dog ate the soup because she, the soup, was sweet"
            ),
            "Die Katze fraß das Brot, weil es süß war.": (
                "the cat ate the bread because it, the bread, was sweet"
            ),
        },
        "cross": DECIDES,
        "pieces": ["▁er", "▁sie", "▁es"],
    },
}
# The log-probability per subword that 19 of 20 sentences of the grammar reach;
# a test measures it.
GRAMMAR = -0.07


@cache
def known_words(name: str) -> list[str] | None:
    """The words that a model has seen, if a grammar made all it learned."""
    if name != "pronouns":
        return None
    sources = [source.lower() for source, _ in builtin_corpus().train]
    return sorted({word for source in sources for word in words(source)})


def gloss_problems(name: str) -> Iterator[str]:
    """Outputs for a model's examples without a gloss, and the opposite."""
    opening, translator = OPENINGS[name], Translator.load(name)
    rounded(translator.model)
    examples, glosses = [*opening["examples"].values()], opening["glosses"]
    written = {
        output: text
        for width in WIDTHS
        for text, output in zip(
            examples, translator(examples, beam=width), strict=True
        )
    }
    for output in (output for output in written if output not in glosses):
        yield (
            f"{name} translates “{written[output]}” as “{output}”: add to its "
            f"glosses in {Path(__file__).name} what that means in English"
        )
    for output in (output for output in glosses if output not in written):
        yield (
            f"{name} writes “{output}” for none of its examples any more: "
            f"remove it from its glosses in {Path(__file__).name}"
        )


def usual(history: History) -> float:
    """The log-probability per subword that 19 of 20 usual outputs reach."""
    found = history.result.usual_confidence
    return GRAMMAR if found is None else found


def shown(name: str) -> Data:
    """A shipped model as the page reads it, and how it is introduced."""
    model, tokenizer, history = shipped(name)
    search = asdict(history.search or Search())
    return {
        **OPENINGS[name],
        "usual": usual(history),
        "words": known_words(name),
        "search": search | {"stretch": Known.of(history).stretch},
        "reading": reading(history),
        **packed(model, tokenizer),
    }


def what_they_are(names: list[str], size: int) -> str:
    """How large models are, and what they learned from; size is in bytes."""
    said = []
    for name in names:
        model, _, history = shipped(name)
        count = parameter_count(model.config)
        label = say(OPENINGS[name]["label"].capitalize())
        about = say(
            "{0}: {1:.2f} million parameters, trained on {2:,} pairs of "
            "sentences"
        ).format(label, count / 1e6, history.data.pairs, count / 1e4)
        if history.data.extra:  # in its last training; earlier ones had more
            about += say(", and on many more of which models wrote one side")
        licence = say(TEXT_LICENCES[history.data.name])
        said.append(say("{}. {}").format(about, licence))
    said.append(say("Together they take {:.1f} MB.").format(size / 1e6))
    return reduce(say("{} {}").format, said)


@torch.inference_mode()
def example(model: EncoderDecoder, tokenizer: Tokenizer) -> nodes.table:
    """Each piece of a translation, and what else might have come there."""
    translator = Translator(rounded(model), tokenizer)
    target = tokenizer.encode(translator(EXAMPLE, beam=1))
    logits = model(
        torch.tensor([tokenizer.encode(EXAMPLE)]),
        torch.tensor([[BOS, *target[:-1]]]),
    )
    chances = logits[0].softmax(-1)
    rows = []
    for taken, p in zip(target, chances, strict=True):
        others = [i for i in p.topk(3).indices.tolist() if i != taken][:2]
        named = [f"{piece_of(tokenizer, i)} {p[i]:.3f}" for i in others]
        near = [name for name in named if not name.endswith("0.000")]
        next_in_line = "; ".join(near) or say("no close rival")
        cells = piece_of(tokenizer, taken), f"{p[taken]:.3f}", next_in_line
        rows.append(row(*map(paragraph, cells)))
    head = [say("written"), say("probability"), say("next in line")]
    return table(head, rows, style="at-example")


def piece_of(tokenizer: Tokenizer, token: int) -> str:
    """A piece as it is shown: the end of a sentence as </s>."""
    return "</s>" if token == EOS else tokenizer.pieces.id_to_piece(token)


class TranslatorHere(ModelHere):
    """The place of the translator, with an example in a table."""

    kind = "translator"

    def run(self) -> list[nodes.Node]:
        names = self.arguments[0].split()
        model, tokenizer, _ = shipped(names[0])
        for problem in (x for name in names for x in gloss_problems(name)):
            logger.warning(problem, location=self.get_location())
        text = script(self.kind, [shown(name) for name in names])
        note = what_they_are(names, len(text))
        return self.place(text, [example(model, tokenizer)], note)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("models_in_page")
    app.add_directive("translator", TranslatorHere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
