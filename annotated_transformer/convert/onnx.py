"""A translator as two ONNX graphs: the encoder, and a step of the decoder.

A graph has no loop, so the search stays outside: book/translate_onnx.py is
one in numpy.
"""

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.export import Dim

from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import EOS
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder, Transformer
from annotated_transformer.storage.history import History
from annotated_transformer.system.atomic_files import replacing

__all__ = ["DecoderStep", "EncoderGraph", "save_onnx"]

POSITIONS = 1024  # of a model that has no limit of its own

Read = Float[Tensor, "layers batch heads source_length width"]
Past = Float[Tensor, "layers batch places heads length width"]
Visible = Bool[Tensor, "batch 1 1 source_length"]


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


class DecoderStep(nn.Module):
    """The step of a search, for all hypotheses of all sentences at once.

    A sentence has a place for each hypothesis: a greedy search has one, and a
    beam search as many as its beam is wide.
    """

    def __init__(self, model: EncoderDecoder):
        super().__init__()
        self.model = model

    def forward(
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


@contextmanager
def quiet() -> Iterator[None]:
    """Keep back what PyTorch's exporter says about itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(level)


def save_onnx(
    folder: Path | str,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None = None,
) -> None:
    """Write encoder.onnx, decoder.onnx and tokenizer.model into a folder.

    The graphs are in float32. They take any number of sentences and places,
    and up to 1024 tokens, or as many as the model has learned positions for.
    UserError for a model that is no Transformer, or if the files cannot be
    written.
    """
    if not isinstance(model, Transformer):
        raise UserError(
            f"{type(model).__name__}: only a Transformer, which translates, "
            "can be written as ONNX"
        )
    model = copy.deepcopy(model).cpu().float().eval()
    longest = model.max_positions or POSITIONS
    batch, places = Dim("batch"), Dim("places")
    length = Dim("source_length", max=longest)
    before = Dim("length", min=0, max=longest - 1)
    with torch.no_grad():
        source = torch.full((1, longest), EOS)
        model.decode(source, model.read(source))  # tables get this long
        source = source[:, :3].repeat(2, 1)
        encoder, step = EncoderGraph(model), DecoderStep(model)
        memory = encoder(source)
    past = [x[:, :, None].repeat(1, 1, 2, 1, 1, 1) for x in memory[:2]]
    of_source = {1: batch, 3: length}
    of_past = {1: batch, 2: places, 4: before}
    graphs: list[tuple[Any, ...]] = [
        (
            "encoder.onnx",
            encoder,
            {"source": (source, {0: batch, 1: length})},
            ["source_keys", "source_values", "source_mask"],
        ),
        (
            "decoder.onnx",
            step,
            {
                "token": (source[:, :2], {0: batch, 1: places}),
                "source_keys": (memory[0], of_source),
                "source_values": (memory[1], of_source),
                "source_mask": (memory[2], {0: batch, 3: length}),
                "past_keys": (past[0], of_past),
                "past_values": (past[1], of_past),
            },
            ["log_probabilities", "keys", "values"],
        ),
    ]
    names = ["tokenizer.model", *(name for name, *_ in graphs)]
    with replacing(Path(folder), *names) as new, quiet():
        (new / "tokenizer.model").write_bytes(tokenizer.model)
        for name, graph, inputs, outputs in graphs:
            examples, shapes = zip(*inputs.values(), strict=True)
            torch.onnx.export(
                graph,
                examples,
                new / name,
                input_names=[*inputs],
                output_names=outputs,
                dynamic_shapes=shapes,
                external_data=False,
                verbose=False,
            )
