"""Heads that are removed from a model, while something is measured."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from annotated_transformer.heads import MultiHeadAttention


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
