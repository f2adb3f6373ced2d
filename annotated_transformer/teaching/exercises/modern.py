"""Exercises of chapter 17: positions that turn, and answers that join."""

import math

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise


def vectors() -> list[tuple[Tensor]]:
    """Sentences of several lengths, of an even width."""
    draw = torch.Generator().manual_seed(18)
    return [
        (torch.randn(*shape, generator=draw),)
        for shape in ((3, 4), (7, 8), (5, 6))
    ]


def angles(x: Tensor, first: int = 0, base: float = 1e4) -> Tensor:
    """The angle of each pair at each position."""
    length, d_k = x.shape
    rows = [
        [(m + first) / base ** (2 * i / d_k) for i in range(d_k // 2)]
        for m in range(length)
    ]
    return torch.tensor(rows)


def around(x: Tensor, angle: Tensor) -> Tensor:
    """Each pair of neighbours, turned by its angle."""
    result = torch.empty_like(x)
    for m, row in enumerate(angle.tolist()):
        for i, turn in enumerate(row):
            a, b = x[m, 2 * i], x[m, 2 * i + 1]
            result[m, 2 * i] = a * math.cos(turn) - b * math.sin(turn)
            result[m, 2 * i + 1] = a * math.sin(turn) + b * math.cos(turn)
    return result


def halves(x: Tensor) -> Tensor:
    """Component i turned with component i + d_k / 2."""
    order = torch.arange(x.size(1)).view(2, -1).T.flatten()
    turned = around(x[:, order], angles(x))
    return turned[:, order.argsort()]


def rotary(x: Tensor) -> Tensor:
    """The vectors, turned by their positions."""
    return around(x, angles(x))


def answers() -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Two answers to each query, and how much stands behind each."""
    draw = torch.Generator().manual_seed(19)
    return [
        (
            torch.randn(*shape, generator=draw),
            3 * torch.randn(*shape[:-1], generator=draw),
            torch.randn(*shape, generator=draw),
            3 * torch.randn(*shape[:-1], generator=draw),
        )
        for shape in ((4, 3), (2, 5, 2))
    ]


def shared(
    a1: Tensor,
    first: Tensor,
    a2: Tensor,
    second: Tensor,
    total: Tensor | None = None,
) -> Tensor:
    """The two answers, each weighted, over the sum of their weights."""
    total = first + second if total is None else total
    return (a1 * first[..., None] + a2 * second[..., None]) / total[..., None]


def join(a1: Tensor, L1: Tensor, a2: Tensor, L2: Tensor) -> Tensor:
    """The answer over both halves of the keys."""
    return shared(a1, L1.exp(), a2, L2.exp())


EXERCISES = [
    Exercise(
        "rotary-positions",
        "17_modern",
        "write f(x), which turns the vectors [length, d_k] by their "
        "positions: neighbouring components are a pair, and pair i at "
        "position m turns by m / 10000^(2i / d_k).",
        "three, seven and five positions",
        vectors,
        rotary,
        {
            "The pairs turn backwards: check the sign of the sines.": (
                lambda x: around(x, -angles(x))
            ),
            "The first position is 0 and turns nothing.": (
                lambda x: around(x, angles(x, 1))
            ),
            "All pairs turn at the same speed.": (
                lambda x: around(
                    x, angles(x)[:, :1].expand(-1, x.size(1) // 2)
                )
            ),
            "The slowest pair comes first. It should come last.": (
                lambda x: around(x, angles(x).flip(1))
            ),
            "Component i is turned with component i + d_k / 2. A pair here "
            "are two neighbours.": halves,
            "The pairs turn too fast: the exponent is 2i / d_k, where i "
            "counts pairs.": lambda x: around(x, angles(x, base=1e2)),
            "The sinusoids are added. Nothing is added here: pairs are "
            "turned.": (
                lambda x: (
                    x
                    + torch.stack(
                        [angles(x).sin(), angles(x).cos()], -1
                    ).flatten(1)
                )
            ),
            "Nothing is turned.": lambda x: x,
        },
    ),
    Exercise(
        "join-answers",
        "17_modern",
        "write f(a1, L1, a2, L2), the answer of attention over all keys, from "
        "the answers a1 and a2 [..., d_v] over either half of them and the "
        "logarithms L1 and L2 [...] of their sums of exponentials.",
        "four queries, and two sentences of five",
        answers,
        join,
        {
            "This is the mean of both answers, however much stands behind "
            "each.": (lambda a1, L1, a2, L2: (a1 + a2) / 2),
            "The two answers are weighted by the logarithms. It is the sums "
            "themselves that weigh.": (
                lambda a1, L1, a2, L2: shared(a1, L1, a2, L2)
            ),
            "The weights are exchanged: each answer has that of the other.": (
                lambda a1, L1, a2, L2: join(a1, L2, a2, L1)
            ),
            "The weights do not sum to one: divide by the sum of both.": (
                lambda a1, L1, a2, L2: shared(
                    a1, L1.exp(), a2, L2.exp(), torch.ones_like(L1)
                )
            ),
            "The answers are added. Each should count as far as its sum of "
            "exponentials goes.": lambda a1, L1, a2, L2: a1 + a2,
            "Only the half with the larger sum counts. The other one has a "
            "share as well.": (
                lambda a1, L1, a2, L2: torch.where(
                    (L1 > L2)[..., None], a1, a2
                )
            ),
        },
    ),
]
