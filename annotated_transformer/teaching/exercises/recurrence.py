"""Exercises of chapter 14: the additive score, and a gate."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise


def additive_inputs() -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Queries and keys that are projected, the vector v, and a mask."""
    draw = torch.Generator().manual_seed(16)
    cases = []
    for batch, n, m, d in ((1, 3, 4, 5), (2, 2, 6, 3)):
        query = torch.randn(batch, n, d, generator=draw)
        key = torch.randn(batch, m, d, generator=draw)
        mask = torch.rand(batch, 1, m, generator=draw) < 0.6
        mask[..., 0], mask[..., 1] = True, False
        cases.append((query, key, 2 * torch.randn(d, generator=draw), mask))
    return cases


def compared(
    query: Tensor,
    key: Tensor,
    v: Tensor,
    of: Callable[[Tensor], Tensor] = torch.tanh,
) -> Tensor:
    """The scores, pair by pair."""
    columns = [of(query + k[:, None]) @ v for k in key.unbind(1)]
    return torch.stack(columns, -1)


def spread(scores: Tensor, mask: Tensor, axis: int = -1) -> Tensor:
    """Weights over what may be seen."""
    return scores.masked_fill(~mask, -1e9).softmax(axis)


def additive(query: Tensor, key: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """The weights of additive attention."""
    return spread(compared(query, key, v), mask)


def gate_inputs() -> list[tuple[Tensor]]:
    """Vectors of an even width."""
    draw = torch.Generator().manual_seed(17)
    return [
        (torch.randn(*shape, generator=draw),)
        for shape in ((2, 3, 8), (1, 6), (4, 5, 2))
    ]


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """The first half of the components, and the second."""
    half = x.size(-1) // 2
    return x[..., :half], x[..., half:]


def gated(x: Tensor) -> Tensor:
    """How much of the first half the second lets through."""
    passes, gate = halves(x)
    return passes / (1 + torch.exp(-gate))


EXERCISES = [
    Exercise(
        "additive-weights",
        "14_recurrence",
        "write f(query, key, v, mask), the weights [batch, queries, keys] of "
        "additive attention, of queries [batch, queries, d] and keys [batch, "
        "keys, d] that are projected. The mask is True where a key may be "
        "seen.",
        "one sentence and two, with masks",
        additive_inputs,
        additive,
        {
            "Without the tanh, the query adds the same to all its scores and "
            "changes nothing.": (
                lambda q, k, v, m: spread(
                    compared(q, k, v, lambda both: both), m
                )
            ),
            "The tanh comes before the product with v, on each component.": (
                lambda q, k, v, m: spread(
                    compared(q, k, v, lambda both: both).tanh(), m
                )
            ),
            "These are dot products: queries and keys are multiplied where "
            "they should be added.": (
                lambda q, k, v, m: spread((q * v) @ k.mT, m)
            ),
            "Each of the two has a tanh of its own. It is the sum that "
            "passes through one.": (
                lambda q, k, v, m: spread(
                    (q.tanh() @ v)[..., None] + (k.tanh() @ v)[:, None], m
                )
            ),
            "The scores are scaled. That is for dot products, whose size "
            "grows with the width.": (
                lambda q, k, v, m: spread(
                    compared(q, k, v) / k.size(-1) ** 0.5, m
                )
            ),
            "The mask has no effect.": (
                lambda q, k, v, m: compared(q, k, v).softmax(-1)
            ),
            "The polarity of the mask is inverted: what may be seen is "
            "hidden.": lambda q, k, v, m: spread(compared(q, k, v), ~m),
            "The softmax runs over the queries.": (
                lambda q, k, v, m: spread(compared(q, k, v), m, 1)
            ),
            "These are the scores. Their softmax is asked for.": (
                lambda q, k, v, m: compared(q, k, v).masked_fill(~m, -1e9)
            ),
        },
    ),
    Exercise(
        "gated-linear-unit",
        "14_recurrence",
        "write f(x), the gated linear unit: the first half of the components "
        "passes, as far as the sigmoid of the second half lets it.",
        "widths of 8, 6 and 2",
        gate_inputs,
        gated,
        {
            "The halves are exchanged: the second one is the gate.": (
                lambda x: gated(torch.cat(halves(x)[::-1], -1))
            ),
            "The gate is a tanh. It should lie between 0 and 1.": (
                lambda x: halves(x)[0] * halves(x)[1].tanh()
            ),
            "The gate is not squeezed: this is a product of the halves.": (
                lambda x: halves(x)[0] * halves(x)[1]
            ),
            "This is the gate alone.": lambda x: halves(x)[1].sigmoid(),
            "What passes goes through a tanh first, as in an LSTM. Here it "
            "is linear.": (
                lambda x: halves(x)[0].tanh() * halves(x)[1].sigmoid()
            ),
            "The halves are every other component, not the first and the "
            "second half.": lambda x: x[..., ::2] * x[..., 1::2].sigmoid(),
            "The gate is negative: what should pass is held back.": (
                lambda x: halves(x)[0] * (-halves(x)[1]).sigmoid()
            ),
        },
    ),
]
