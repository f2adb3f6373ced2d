"""The translator in the page: shipped models as a script, in 8-bit numbers.

```{translator} multi30k-en-de pronouns``` stands for the widget. Its content
is what the reader sees before asking for it, in print and without scripts; a
table under it shows an example of the first model, computed when the book is
built. The weights are written beside the program, as _static/translator/
weights.js: a number is a byte, and four characters make three bytes.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

import torch
from docutils import nodes
from ledger_page import paragraph, row, table
from sentencepiece import SentencePieceNormalizer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from torch import Tensor
from widgets import DECIDES

from annotated_transformer.corpora.builtin import words
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.errors import UserError
from annotated_transformer.model import Transformer, parameter_count
from annotated_transformer.storage.model_card import TEXT_LICENCES
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.storage.weight_files import weights
from annotated_transformer.teaching.records import read_run
from annotated_transformer.translation import Translator

logger = logging.getLogger(__name__)
LARGEST = 127  # integers from -127 to 127
WIDTHS = 1, 5  # of the beams that the page offers
EXAMPLE = "Two children in red jackets are playing in the snow."
OPENINGS = {  # how the page introduces a model: head and pieces to look at
    "multi30k-en-de": {
        "label": "captions",
        "kind": "captions",
        "offer": "The model for captions knows more words.",
        "examples": {
            "snow": EXAMPLE,
            "IN CAPITALS": "AN OLD MAN IS REPAIRING HIS BICYCLE.",
            "in a hurry": "a barber  is cutting a man’s hair",
            "hungry": "The dog ate the soup because it was hungry.",
            "no caption": "The minister resigned because of the budget.",
        },
        "glosses": {  # of what is written for the examples
            "Zwei Kinder in roten Jacken spielen im Schnee.": (
                "two children in red jackets play in the snow"
            ),
            "EIN ALTER MANN REPARIERT SEIN FAHRRAD.": (
                "an old man repairs his bicycle"
            ),
            "Ein Friseur schneidet einem Mann die Haare.": (
                "a barber cuts a man's hair"
            ),
            "Der Hund wäscht sich am Seife.": (
                "the dog washes itself at the soap"
            ),
            "Der Hund wäscht sich.": "the dog washes itself",
            "Der Minigister ist soeben, weil es zu sehen ist.": (
                "the minigister is just now, because it is to be seen"
            ),
            "Der Minigister ist soeben, weil es sot.": (
                "the minigister is just now, because it sots (no word)"
            ),
        },
        "cross": (3, 1),  # layer and head that align
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
# The log-probability per subword that 19 of 20 sentences of its kind reach.
USUAL = {
    "multi30k-en-de": read_run("probability_as_a_warning")["results"][
        "threshold seed=0"
    ]["threshold"],
    "pronouns": -0.07,  # a test measures it
}


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as 8-bit integers and the scale of each of its rows.

    A scale takes the largest number of its row to 127, so that rounding
    moves no number by more than half a scale.
    """
    scales = matrix.abs().amax(1).clamp(min=1e-12) / LARGEST
    return (matrix / scales[:, None]).round().to(torch.int8), scales


@torch.no_grad()
def rounded(model: Transformer) -> Transformer:
    """The model with the page's weights; in float64, which the page has."""
    for parameter in model.double().parameters():
        if parameter.dim() == 2:
            integers, scales = quantised(parameter.float())
            parameter.copy_(integers.double() * scales.double()[:, None])
    return model


def packed(
    model: Transformer, tokenizer: Tokenizer, search: dict | None = None
) -> dict:
    """What the page's program reads: sizes, vocabulary, weights and search.

    The integers of all matrices follow each other in one text, and the
    scales of their rows and all vectors in another.
    """
    config = model.config
    alike = config.decoder_layers in (None, config.layers)
    own = config.tied and alike and config.pre_norm
    if config.positions != "sinusoidal" or not own:
        raise UserError(
            "the page's program has sinusoidal positions, norms before the "
            "sub-layers, one embedding matrix and stacks of one depth, this "
            "model others; name another"
        )
    integers, reals, tensors = [], [], []
    for name, weight in weights(model).items():
        tensors.append([name, *weight.shape])
        if weight.dim() == 2:
            matrix, weight = quantised(weight)
            integers.append(matrix)
        reals.append(weight)
    ids, pieces = range(len(tokenizer)), tokenizer.pieces
    return {
        "search": {"alpha": 0.6, "no_repeat": 0} | (search or {}),
        "config": {
            "heads": config.heads,
            "d_k": config.d_k or config.d_model // config.heads,
        },
        "vocabulary": {
            "pieces": [pieces.id_to_piece(i) for i in ids],
            "scores": [pieces.get_score(i) for i in ids],
            "rules": rules_of(tokenizer),
        },
        "tensors": tensors,
        "bytes": as_text(integers),
        "floats": as_text(reals),
    }


def rules_of(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """What the tokenizer makes of what, before it cuts a text."""
    try:
        made = SentencePieceNormalizer(model_proto=tokenizer.model)
        return made.decompile()
    except RuntimeError:  # it has none
        return []


def as_text(tensors: list[Tensor]) -> str:
    """The bytes of some tensors, one after the other, in base64."""
    data = b"".join(tensor.numpy().tobytes() for tensor in tensors)
    return b64encode(data).decode()


@cache
def known_words(name: str) -> list[str] | None:
    """The words that a model has seen, if a grammar made all it learned."""
    if name != "pronouns":
        return None
    sources = [source.lower() for source, _ in builtin_corpus().train]
    return sorted({word for source in sources for word in words(source)})


def gloss_problems(name: str) -> Iterator[str]:
    """Outputs for a model's examples without a gloss, and the opposite."""
    opening, (model, tokenizer, history) = OPENINGS[name], load_model(name)
    search = asdict(history.search) if history.search else {}
    translator = Translator(rounded(model), tokenizer, **search)
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


def script(names: list[str]) -> str:
    """Shipped models as a classic script, which any page may load."""
    models = []
    for name in names:
        model, tokenizer, history = load_model(name)
        search = asdict(history.search) if history.search else {}
        shown = OPENINGS[name] | {"usual": USUAL[name]}
        shown["words"] = known_words(name)
        models.append(shown | packed(model, tokenizer, search))
    text = json.dumps(models)
    return f"(globalThis.translatorInPage ??= {{}}).models = {text};\n"


def what_they_are(names: list[str], size: int) -> str:
    """How large models are, and what they learned from; size is in bytes."""
    said = []
    for name in names:
        model, _, history = load_model(name)
        millions = parameter_count(model.config) / 1e6
        said.append(
            f"{OPENINGS[name]['label'].capitalize()}: {millions:.1f} million "
            f"parameters, trained on {history.data.pairs:,} pairs of "
            f"sentences. {TEXT_LICENCES[history.data.name]}"
        )
    return f"{' '.join(said)} Together they take {size / 1e6:.1f} MB."


@torch.inference_mode()
def example(model: Transformer, tokenizer: Tokenizer) -> nodes.table:
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
        next_in_line = "; ".join(near) or "none near"
        cells = piece_of(tokenizer, taken), f"{p[taken]:.3f}", next_in_line
        rows.append(row(*map(paragraph, cells)))
    head = ["written", "probability", "next in line"]
    return table(head, rows, style="at-example")


def piece_of(tokenizer: Tokenizer, token: int) -> str:
    """A piece as it is shown: the end of a sentence as </s>."""
    return "</s>" if token == EOS else tokenizer.pieces.id_to_piece(token)


class TranslatorHere(SphinxDirective):
    """The place of the widget, and what stands there before it is wanted."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        names = self.arguments[0].split()
        model, tokenizer, _ = load_model(names[0])
        place = nodes.container(classes=["at-translator"])
        for problem in (x for name in names for x in gloss_problems(name)):
            logger.warning(problem, location=self.get_location())
        place["script"] = script(names)
        still = nodes.container(classes=["at-still"])
        self.set_source_info(still)
        self.state.nested_parse(self.content, self.content_offset, still)
        still += example(model, tokenizer)
        note = what_they_are(names, len(place["script"]))
        place += [still, paragraph(note, style="at-note")]
        return [place]


def load_where_needed(app: Sphinx, page, template, context, doctree) -> None:
    """Give such a page its button and its style, and the site the weights."""
    for place in doctree.findall(nodes.container) if doctree else ():
        if "script" in place:
            app.add_css_file("translator/translator.css")
            app.add_js_file("translator/start.js", loading_method="defer")
            path = Path(app.outdir, "_static/translator/weights.js")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(place["script"], "utf-8")


def setup(app: Sphinx) -> None:
    app.add_directive("translator", TranslatorHere)
    app.connect("html-page-context", load_where_needed)
