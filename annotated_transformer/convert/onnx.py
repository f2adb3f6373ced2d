"""A translator as two ONNX graphs: the encoder, and a step of the decoder.

A graph has no loop, so the search stays outside: translate_onnx.py is one in
numpy, and goes into the folder with them.
"""

import copy
import json
import logging
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..data import Tokenizer
from ..embedding import EOS
from ..errors import UserError
from ..model import EncoderDecoder, Transformer
from ..storage.history import History, Search
from ..system.machine import needed
from ..text.checks import Known

POSITIONS = 1024  # of a model that has no limit of its own

Read = Float[Tensor, "layers batch heads source_length _"]
Past = Float[Tensor, "layers batch places heads length _"]
Visible = Bool[Tensor, "batch 1 1 source_length"]

# What of each input varies, by its place in the shape.
AT_SOURCE = {1: "batch", 3: "source_length"}
AT_PAST = {1: "batch", 2: "places", 4: "length"}
ENCODER = {"source": {0: "batch", 1: "source_length"}}
STEP = {
    "token": {0: "batch", 1: "places"},
    "source_keys": AT_SOURCE,
    "source_values": AT_SOURCE,
    "source_mask": {0: "batch", 3: "source_length"},
    "past_keys": AT_PAST,
    "past_values": AT_PAST,
}


class EncoderGraph(nn.Module):
    """What the layers of the decoder need of the source sentences."""

    def __init__(self, model: EncoderDecoder):
        super().__init__()
        self.model = model

    def forward(
        self, source: Int[Tensor, "batch source_length"]
    ) -> tuple[Read, Read, Visible]:
        """Keys and values for every layer; False where there is padding."""
        pairs, mask = self.model.read(source)
        keys, values = map(torch.stack, zip(*pairs, strict=True))
        return keys, values, mask


class DecoderStep(EncoderGraph):
    """The step of a search, for all hypotheses of all sentences at once.

    A sentence has a place for each hypothesis: a greedy search has one, and a
    beam search as many as its beam is wide.
    """

    def forward(  # type: ignore[override]
        self,
        token: Int[Tensor, "batch places"],
        source_keys: Read,
        source_values: Read,
        source_mask: Visible,
        past_keys: Past,
        past_values: Past,
    ) -> tuple[Float[Tensor, "batch places vocab_size"], Past, Past]:
        """Log-probabilities of what follows, and the past with the token."""
        memory = [*zip(source_keys, source_values, strict=True)], source_mask
        rows = past_keys.flatten(1, 2), past_values.flatten(1, 2)
        state = past_keys.size(4), [*zip(*rows, strict=True)]
        x, (_, pairs) = self.model.decode(
            token.flatten()[:, None], memory, state
        )
        log_p = self.model.logits(x[:, 0]).log_softmax(-1)
        keys, values = (
            torch.stack(layers).unflatten(1, token.shape)
            for layers in zip(*pairs, strict=True)
        )
        return log_p.unflatten(0, token.shape), keys, values


def write_onnx(
    folder: Path,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None,
) -> dict[str, Any]:
    """Write the graphs, translate_onnx.py and how it searches.

    The graphs are in float32. They take any number of sentences and places,
    and at most 1024 tokens, or as many as the model has learned positions
    for. UserError for a model that is no Transformer.
    """
    needed("onnxscript", "onnx")
    if not isinstance(model, Transformer):
        raise UserError(
            f"{type(model).__name__}: only a Transformer, which translates, "
            "can be written as ONNX"
        )
    ours = copy.deepcopy(model).cpu().float().eval()
    longest = ours.max_positions or POSITIONS
    start, source = torch.full((1, longest), EOS), torch.full((2, 3), EOS)
    with torch.no_grad():
        ours.decode(start, ours.read(start))  # makes its tables that long
        read = EncoderGraph(ours)(source)
    past = (x[:, :, None].repeat(1, 1, 2, 1, 1, 1) for x in read[:2])
    step = torch.full((2, 2), EOS), *read, *past
    after = ["log_probabilities", "keys", "values"]
    usual = logging.root.manager.disable
    logging.disable(logging.WARNING)  # on packages that are not installed
    try:
        for name, graph, inputs, shapes, outputs in (
            ("encoder", EncoderGraph(ours), (source,), ENCODER, [*STEP][1:4]),
            ("decoder", DecoderStep(ours), step, STEP, after),
        ):
            torch.onnx.export(
                graph,
                inputs,
                folder / f"{name}.onnx",
                input_names=[*shapes],
                output_names=outputs,
                dynamic_shapes=[*shapes.values()],
                external_data=False,
                dynamo=True,
                verbose=False,
            )
    finally:
        logging.disable(usual)
    name = "translate_onnx.py"
    (folder / name).write_bytes(Path(__file__).with_name(name).read_bytes())
    search = (history and history.search) or Search()
    options = {
        "width": search.beam,
        "alpha": search.alpha,
        "no_repeat": search.no_repeat,
        "longest": longest,
        "stretch": Known.of(history).stretch,
    }
    (folder / "search.json").write_text(json.dumps(options, indent=1))
    return {}
