"""Exercises of chapter 15: enough seeds, and attention without projections."""

import math
from fractions import Fraction

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise


def enough(difference: float, spread: float) -> int:
    """Add seeds until three deviations of a difference are small enough."""
    seeds, bound = 1, Fraction(difference) ** 2
    while 2 * (3 * Fraction(spread)) ** 2 > seeds * bound:
        seeds += 1
    return seeds


def ratio(difference: float, spread: float) -> float:
    """Spreads of a mean of one that the difference must exceed."""
    return 3 * spread / difference


def vectors() -> list[tuple[Tensor, int]]:
    """One sentence, and two, with two, four and one heads."""
    draw = torch.Generator().manual_seed(12)
    sizes = ((1, 5, 8, 2), (2, 7, 16, 4), (1, 3, 6, 1))
    return [
        (torch.randn(b, n, d, generator=draw), heads)
        for b, n, d, heads in sizes
    ]


def weighted(x: Tensor, width: int) -> Tensor:
    """Answers of one head to its own slice."""
    return (x @ x.mT / math.sqrt(width)).softmax(-1) @ x


def heads_apart(x: Tensor, heads: int) -> Tensor:
    """Head after head."""
    width = x.size(-1) // heads
    answers = [weighted(part, width) for part in x.chunk(heads, -1)]
    return torch.cat(answers, -1)


def every_other(x: Tensor, heads: int) -> Tensor:
    """Heads of components that are not neighbours."""
    slices = [x[..., i::heads] for i in range(heads)]
    return torch.stack(
        [weighted(part, part.size(-1)) for part in slices], -1
    ).flatten(-2)


def across(x: Tensor, heads: int) -> Tensor:
    """Cut without moving the heads: each has parts of several places."""
    parts = x.reshape(len(x), heads, x.size(1), -1)
    return weighted(parts, parts.size(-1)).reshape(x.shape)


EXERCISES = [
    Exercise(
        "enough-seeds",
        "15_variations",
        "write f(difference, spread), the fewest seeds of each of two "
        "variations until their difference is three times the standard "
        "deviation of a difference of means; spread is that of one run.",
        "differences of a quarter, a half, one and five spreads",
        lambda: [(0.25, 1.0), (0.5, 1.0), (0.125, 0.125), (5.0, 1.0)],
        enough,
        {
            "A number of seeds is whole, and at least what is needed: round "
            "up.": lambda d, s: 2 * ratio(d, s) ** 2,
            "This rounds down, and is not enough.": (
                lambda d, s: int(2 * ratio(d, s) ** 2)
            ),
            "A difference of two means has twice the variance of one.": (
                lambda d, s: math.ceil(ratio(d, s) ** 2)
            ),
            "The deviation of a mean shrinks with the root of the number of "
            "seeds.": lambda d, s: math.ceil(math.sqrt(2) * ratio(d, s)),
            "Three times the deviation is asked for.": (
                lambda d, s: math.ceil(2 * (s / d) ** 2)
            ),
            "These are the runs of both variations together.": (
                lambda d, s: 2 * enough(d, s)
            ),
        },
    ),
    Exercise(
        "no-projections",
        "15_variations",
        "write f(x, heads), self-attention without projections: each head "
        "has its own slice of the vectors, and the answers stand side by "
        "side.",
        "one, two and four heads",
        vectors,
        heads_apart,
        {
            "The scale is that of the whole vector. The scores of a head are "
            "sums over its slice.": (
                lambda x, heads: torch.cat(
                    [
                        weighted(part, x.size(-1))
                        for part in x.chunk(heads, -1)
                    ],
                    -1,
                )
            ),
            "The scores are not scaled.": (
                lambda x, heads: torch.cat(
                    [weighted(part, 1) for part in x.chunk(heads, -1)], -1
                )
            ),
            "There is one head, of the whole width.": (
                lambda x, heads: weighted(x, x.size(-1))
            ),
            "The components of a head are not neighbours. Head i has those "
            "from i d_k on.": every_other,
            "A head got components of several positions: the heads must be "
            "moved, not only counted.": across,
            "The heads' answers are not side by side: those of a position "
            "belong together.": (
                lambda x, heads: torch.stack(
                    heads_apart(x, heads).chunk(heads, -1), 1
                ).reshape(x.shape)
            ),
        },
    ),
]
