"""Models in the page: shipped models as scripts, in 8-bit numbers.

Each kind of model has a directive of its own. Its content is what the reader
sees before asking for the model, in print and without scripts. The weights are
written beside the program, as _static/in_page/KIND_weights.js: a number is a
byte, and four characters make three bytes.
"""

import json
from base64 import b64encode
from pathlib import Path

import torch
from docutils import nodes
from each_page import Page, each_page
from sentencepiece import SentencePieceNormalizer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from torch import Tensor
from widgets import Data, load_figures
from written_tables import paragraph

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.storage.history import History
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.storage.weight_files import weights
from annotated_transformer.text.sentences import ABBREVIATIONS

LARGEST = 127  # integers from -127 to 127
# What the page's program can be built of; see model.js.
PARTS = {
    "norm": ("layer", "rms"),
    "feed_forward": ("relu", "swiglu"),
    "positions": ("sinusoidal", "rotary"),
}


def shipped(name: str) -> tuple[EncoderDecoder, Tokenizer, History]:
    """A shipped model, its tokenizer, and how it was trained."""
    model, tokenizer, history = load_model(name)
    assert history is not None  # of each that comes with the package
    return model, tokenizer, history


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as 8-bit integers and the scale of each of its rows.

    A scale takes the largest number of its row to 127, so that rounding
    moves no number by more than half a scale.
    """
    scales = matrix.abs().amax(1).clamp(min=1e-12) / LARGEST
    return (matrix / scales[:, None]).round().to(torch.int8), scales


@torch.no_grad()
def rounded(model: EncoderDecoder) -> EncoderDecoder:
    """The model with the page's weights; in float64, which the page has."""
    for parameter in model.double().parameters():
        if parameter.dim() == 2:
            integers, scales = quantised(parameter.float())
            parameter.copy_(integers.double() * scales.double()[:, None])
    return model


def packed(model: EncoderDecoder, tokenizer: Tokenizer) -> Data:
    """What the page's program reads: sizes, parts, vocabulary and weights.

    The integers of all matrices follow each other in one text, and the
    scales of their rows and all vectors in another. UserError for a model
    that the program cannot run.
    """
    config = model.config
    parts = {name: getattr(config, name) for name in PARTS}
    alike = config.decoder_layers in (None, config.layers)
    plain = config.kv_heads is None and not config.qk_norm
    own = config.tied and alike and config.pre_norm and plain
    if not own or any(x not in PARTS[name] for name, x in parts.items()):
        known = (f"{name} {' or '.join(x)}" for name, x in PARTS.items())
        raise UserError(
            "the page's program has norms before the sub-layers, one "
            "embedding matrix, stacks of one depth, keys and values for each "
            f"head, and {', '.join(known)}; this model differs: name another"
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
        "config": {
            **parts,
            "heads": config.heads,
            "d_k": config.d_k or config.d_model // config.heads,
            "context": model.max_positions,
        },
        "vocabulary": {
            "pieces": [pieces.id_to_piece(i) for i in ids],
            "scores": [pieces.get_score(i) for i in ids],
            "rules": rules_of(tokenizer),
            "prefix": tokenizer.split("a")[0].startswith("▁"),
        },
        "tensors": tensors,
        "bytes": as_text(integers),
        "floats": as_text(reals),
    }


def reading(history: History) -> Data:
    """How a translator reads a line, for reading.js; see PackedReading.

    UserError for a language whose sentences the page cannot find.
    """
    split, lines = history.data.split, history.data.lines
    if split and split not in ABBREVIATIONS:
        raise UserError(
            f"the page finds sentences in {', '.join(ABBREVIATIONS)}; this "
            f"model reads {split}: name another"
        )
    return {
        "abbreviations": ABBREVIATIONS[split] if split else None,
        "words": lines.words if lines else "",
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


def script(kind: str, models: object) -> str:
    """Packed models as a classic script, which any page may load."""
    place = "((globalThis.inPage ??= {}).models ??= {})"
    return f"{place}.{kind} = {json.dumps(models)};\n"


class ModelHere(SphinxDirective):
    """The place of live models, and what stands there before it is wanted."""

    kind: str  # of the program that start.js loads
    figures: tuple[str, ...] = ()  # live figures whose parts it uses
    styles: tuple[str, ...] = ("in_page",)
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def place(
        self, script: str, example: list[nodes.Node], note: str
    ) -> list[nodes.Node]:
        """The place, with the directive's content, an example and a note."""
        place = nodes.container(classes=["at-place", f"at-{self.kind}"])
        place["kind"], place["figures"] = self.kind, self.figures
        place["script"], place["styles"] = script, self.styles
        still = nodes.container(classes=["at-still"])
        self.set_source_info(still)
        self.state.nested_parse(self.content, self.content_offset, still)
        still += example
        place += [still, paragraph(note, style="at-note")]
        return [place]


def load_where_needed(page: Page) -> None:
    """Give such a page its button and its style, and the site the weights."""
    for place in page.find(nodes.container):
        if "script" not in place:
            continue
        load_figures(page.app, place["figures"])
        for style in place["styles"]:
            page.app.add_css_file(f"in_page/{style}.css")
        page.app.add_js_file("in_page/start.js", loading_method="defer")
        folder = Path(page.app.outdir, "_static/in_page")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{place['kind']}_weights.js"
        path.write_text(place["script"], "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    each_page(app, load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
