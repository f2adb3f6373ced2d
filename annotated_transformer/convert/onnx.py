"""A translator as two ONNX graphs: the encoder, and a step of the decoder.

A graph has no loop, so the search stays outside: book/translate_onnx.py is
one in numpy.
"""

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.export import Dim

from annotated_transformer.convert.exported_folder import exported_folder
from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import EOS
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder, Transformer
from annotated_transformer.storage.history import History, Search
from annotated_transformer.system.extras import needed

__all__ = ["DecoderStep", "EncoderGraph", "save_onnx"]

POSITIONS = 1024  # of a model that has no limit of its own

Read = Float[Tensor, "layers batch heads source_length _"]
Past = Float[Tensor, "layers batch places heads length _"]
Visible = Bool[Tensor, "batch 1 1 source_length"]
Inputs = dict[str, tuple[Tensor, dict[int, Dim]]]  # and what of them varies


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
    """Write a new folder with encoder.onnx, decoder.onnx, tokenizer.model.

    The graphs are in float32. They take any number of sentences and places,
    and at most 1024 tokens, or as many as the model has learned positions
    for. UserError for a model that is no Transformer, and if the folder
    exists or cannot be written.
    """
    needed("onnxscript", "onnx")
    if not isinstance(model, Transformer):
        raise UserError(
            f"{type(model).__name__}: only a Transformer, which translates, "
            "can be written as ONNX"
        )
    ours = copy.deepcopy(model).cpu().float().eval()
    longest = ours.max_positions or POSITIONS
    source = torch.full((1, longest), EOS)
    with torch.no_grad():
        ours.decode(source, ours.read(source))  # makes its tables that long
        source = source[:, :3].repeat(2, 1)
        keys, values, mask = EncoderGraph(ours)(source)
    batch, places = Dim("batch"), Dim("places")
    length = Dim("source_length", max=longest)
    at_source = {1: batch, 3: length}
    at_past = {1: batch, 2: places, 4: Dim("length", max=longest - 1)}
    past_keys, past_values = (
        x[:, :, None].repeat(1, 1, 2, 1, 1, 1) for x in (keys, values)
    )
    read: Inputs = {"source": (source, {0: batch, 1: length})}
    step: Inputs = {
        "token": (source[:, :2], {0: batch, 1: places}),
        "source_keys": (keys, at_source),
        "source_values": (values, at_source),
        "source_mask": (mask, {0: batch, 3: length}),
        "past_keys": (past_keys, at_past),
        "past_values": (past_values, at_past),
    }
    outputs = ["source_keys", "source_values", "source_mask"]
    about = model, tokenizer, history
    how = asdict((history and history.search) or Search()) | {
        "longest": longest
    }
    with exported_folder(folder, "onnxruntime", *about, **how) as new, quiet():
        write(EncoderGraph(ours), read, outputs, new / "encoder.onnx")
        outputs = ["log_probabilities", "keys", "values"]
        write(DecoderStep(ours), step, outputs, new / "decoder.onnx")


def write(
    graph: nn.Module, inputs: Inputs, outputs: list[str], path: Path
) -> None:
    """Trace a graph with examples of its inputs, and write it."""
    examples, shapes = zip(*inputs.values(), strict=True)
    torch.onnx.export(
        graph,
        examples,
        path,
        input_names=[*inputs],
        output_names=outputs,
        dynamic_shapes=shapes,
        dynamo=True,
        external_data=False,
        verbose=False,
    )
