"""Exercises of chapter 5: a count, and the masks of the whole model."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from annotated_transformer.teaching.exercises.judge import Exercise

Change = Callable[[Tensor, Tensor, Tensor], Tensor]  # of mask, queries, keys
Masks = Callable[[Tensor, Tensor], tuple[Tensor, ...]]


def row_b(d_k: int) -> int:
    """Layers of the one width minus layers of the other."""
    wide, narrow = nn.Linear(512, 512), nn.Linear(512, 8 * d_k)
    sizes = [
        sum(parameter.numel() for parameter in layer.parameters())
        for layer in (wide, narrow)
    ]
    return 18 * 2 * (sizes[0] - sizes[1])


def mask_inputs() -> list[tuple[Tensor, Tensor]]:
    """Sources and targets with padding at the end, equally long or not."""
    source = torch.tensor([[5, 6, 7, 8, 2], [9, 4, 2, 0, 0]])
    target = torch.tensor([[1, 6, 0, 0], [1, 7, 8, 9]])
    return [(source, target), (source[:, :4], target), (target, source)]


def three_masks(source: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Encoder, decoder and cross-attention, one cell at a time."""

    def mask(queries: Tensor, keys: Tensor, causal: bool = False) -> Tensor:
        cells = [
            [
                [key != 0 and not (causal and j > i) for j, key in row]
                for i in range(queries.size(1))
            ]
            for row in (list(enumerate(ids)) for ids in keys.tolist())
        ]
        return torch.tensor(cells, dtype=torch.bool)[:, None]

    return (
        mask(source, source),
        mask(target, target, causal=True),
        mask(target, source),
    )


def tokens(ids: Tensor) -> Tensor:
    """True where there is no padding, [batch, 1, 1, length]."""
    return (ids != 0)[:, None, None]


def exchange(place: int, mask: Callable[[Tensor, Tensor], Tensor]) -> Masks:
    """The three masks with one of them replaced by mask(source, target)."""

    def masks(source: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        three = list(three_masks(source, target))
        three[place] = mask(source, target)
        return tuple(three)

    return masks


def all_three(change: Change) -> Masks:
    """The three masks, each changed in the same way."""
    return lambda source, target: tuple(
        change(mask, queries, keys)
        for mask, queries, keys in zip(
            three_masks(source, target),
            (source, target, target),
            (source, target, source),
            strict=True,
        )
    )


EXERCISES = [
    Exercise(
        "row-b",
        "05_model",
        "write f(d_k), the number of parameters that the base model saves "
        "when its queries and keys have d_k components a head, not 64.",
        "d_k = 16, 32 and 1",
        lambda: [(16,), (32,), (1,)],
        row_b,
        {
            "The biases are missing: each lost column takes one along.": (
                lambda d: 18 * 2 * 512 * 8 * (64 - d)
            ),
            "The decoder's layers have two attentions each, the encoder's "
            "one.": lambda d: 12 * 2 * 513 * 8 * (64 - d),
            "Only the encoder is counted.": (
                lambda d: 6 * 2 * 513 * 8 * (64 - d)
            ),
            "Only one of the two matrices is counted: queries and keys must "
            "be equally wide.": lambda d: 18 * 513 * 8 * (64 - d),
            "The values are counted too. Their width is d_v, which stays.": (
                lambda d: 18 * 3 * 513 * 8 * (64 - d)
            ),
            "All four matrices are counted. Values and output have the width "
            "d_v, which stays.": (
                lambda d: 18 * (3 * 513 + 512) * 8 * (64 - d)
            ),
            "There are eight heads, and each of them shrinks.": (
                lambda d: 18 * 2 * 513 * (64 - d)
            ),
            "This is what remains, not what is saved.": (
                lambda d: 18 * 2 * 513 * 8 * d
            ),
            "The sign is wrong: the model becomes smaller.": (
                lambda d: -row_b(d)
            ),
        },
    ),
    Exercise(
        "three-masks",
        "05_model",
        "write f(source, target), the boolean masks of the encoder, the "
        "decoder's self-attention and its cross-attention, each of shape "
        "[batch, 1, queries, keys]. Padding, id 0, is hidden as a key.",
        "padded sources and targets of 4 and 5",
        mask_inputs,
        three_masks,
        {
            "Cross-attention has the target's mask. Its keys are the "
            "source's.": exchange(
                2, lambda s, t: tokens(t).repeat(1, 1, t.size(1), 1)
            ),
            "Cross-attention has the causal mask of the target. The whole "
            "source may be looked at.": exchange(
                2, lambda s, t: three_masks(s, t)[1]
            ),
            "Cross-attention has the encoder's mask, with the wrong number "
            "of queries.": exchange(2, lambda s, t: three_masks(s, t)[0]),
            "Cross-attention has causal rows. The whole source is known "
            "before the first word is written.": exchange(
                2, lambda s, t: three_masks(s, t)[2].tril()
            ),
            "The decoder's self-attention sees the future.": exchange(
                1, lambda s, t: three_masks(t, t)[0]
            ),
            "The decoder's self-attention sees padding.": exchange(
                1, lambda s, t: three_masks(t.clamp(min=1), t.clamp(min=1))[1]
            ),
            "The encoder has a causal mask. It may read the whole source.": (
                exchange(0, lambda s, t: three_masks(s, s)[1])
            ),
            "The polarity is inverted: True means that a key may be looked "
            "at.": all_three(lambda mask, queries, keys: ~mask),
            "Padding is hidden as a query as well. Such a row sees nothing; "
            "leave it, nobody reads its answer.": all_three(
                lambda mask, queries, keys: mask & tokens(queries).mT
            ),
            "Padding is hidden as a query, where it should be hidden as a "
            "key: keys are the last axis.": lambda s, t: (
                tokens(s).mT.repeat(1, 1, 1, s.size(1)),
                tokens(t).mT & three_masks(t.clamp(min=1), t.clamp(min=1))[1],
                tokens(t).mT.repeat(1, 1, 1, s.size(1)),
            ),
        },
    ),
]
