"""The heads of a model, and some removed while something is measured."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.model import EncoderDecoder

Head = tuple[str, int, int]  # stack, layer, head


def attentions(model: EncoderDecoder) -> dict[str, list[MultiHeadAttention]]:
    """The attention of each layer, by the stack that it belongs to."""
    reads, writes = model.encoder.layers, model.decoder.layers
    return {
        "encoder": [layer.self_attention for layer in reads],
        "decoder": [layer.self_attention for layer in writes],
        "cross": [layer.cross_attention for layer in writes],
    }


def every_head(model: EncoderDecoder) -> list[Head]:
    """All heads of a model."""
    return [
        (stack, layer, head)
        for stack, layers in attentions(model).items()
        for layer, attention in enumerate(layers)
        for head in range(attention.heads)
    ]


@contextmanager
def without(
    heads: Iterable[tuple[MultiHeadAttention, int]],
) -> Iterator[None]:
    """Where W^O does not hear these heads: its columns for them are zero."""
    removed = [*heads]
    outputs = {attention.output for attention, _ in removed}
    before = {output: output.weight.detach().clone() for output in outputs}
    try:
        with torch.no_grad():
            for attention, head in removed:
                start = head * attention.d_v
                columns = slice(start, start + attention.d_v)
                attention.output.weight[:, columns] = 0
        yield
    finally:
        with torch.no_grad():
            for output, weight in before.items():
                output.weight.copy_(weight)
