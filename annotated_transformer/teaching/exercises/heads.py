"""Exercises of chapter 2: heads cut apart, and heads put together."""

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise


def vectors() -> list[tuple[Tensor, int]]:
    """Vectors [batch, length, width], and how many heads share the width."""
    draw = torch.Generator().manual_seed(2)
    sizes = (((2, 3, 8), 2), ((1, 4, 8), 4), ((3, 2, 6), 3))
    return [(torch.randn(*size, generator=draw), h) for size, h in sizes]


def cut(x: Tensor, heads: int) -> Tensor:
    """Head by head: the i-th block of columns."""
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


def answers() -> list[tuple[Tensor, Tensor]]:
    """What heads bring [heads, length, d_v], and W^O [heads d_v, d_model]."""
    draw = torch.Generator().manual_seed(3)
    return [
        (
            torch.randn(h, 4, d, generator=draw),
            torch.randn(h * d, 6, generator=draw),
        )
        for h, d in ((2, 3), (4, 2), (3, 3))
    ]


def joined(heads: Tensor, w_o: Tensor) -> Tensor:
    """As the paper has it: concatenated, then one product."""
    return torch.cat([*heads], dim=-1) @ w_o


def summed(heads: Tensor, blocks: Tensor) -> Tensor:
    """The sum of what each head writes by its own block of rows."""
    return (heads @ blocks).sum(0)


EXERCISES = [
    Exercise(
        "split-heads",
        "02_heads",
        "write f(x, heads), which cuts vectors [batch, length, width] into "
        "heads [batch, heads, length, width / heads].",
        "two, four and three heads",
        vectors,
        cut,
        {
            "The axis of the length is cut, not that of the width: a head "
            "then has some of the tokens, and not some of each.": (
                lambda x, h: x.reshape(x.size(0), h, x.size(1), -1)
            ),
            "The heads stand behind the length. They belong next to the "
            "batch: transpose.": lambda x, h: x.unflatten(-1, (h, -1)),
            "Heads take every h-th column. Head i is the i-th block of "
            "columns.": lambda x, h: x.unflatten(-1, (-1, h)).movedim(3, 1),
        },
    ),
    Exercise(
        "sum-of-heads",
        "02_heads",
        "write f(heads, W_O), multi-head attention's output [length, "
        "d_model] as a sum over heads [heads, length, d_v], without joining "
        "them; W_O is [heads * d_v, d_model].",
        "two, four and three heads",
        answers,
        joined,
        {
            "This is the mean of what the heads write. They add up.": (
                lambda x, w: summed(x, w.unflatten(0, (len(x), -1))) / len(x)
            ),
            "The blocks are the wrong rows: head i has the i-th block of "
            "rows, one after the other, not every h-th row.": (
                lambda x, w: summed(
                    x, w.unflatten(0, (-1, len(x))).transpose(0, 1)
                )
            ),
            "Every head is multiplied by the first block.": (
                lambda x, w: summed(x, w[: x.size(-1)][None])
            ),
        },
    ),
]
