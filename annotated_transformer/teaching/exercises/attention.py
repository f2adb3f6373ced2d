"""Exercises of chapter 1: a mask, and attention."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.teaching.exercises.judge import Exercise


def causal_mask(length: int) -> Tensor:
    """One cell at a time."""
    places = range(length)
    rows = [[key <= query for key in places] for query in places]
    return torch.tensor(rows, dtype=torch.bool)


def attention_inputs() -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Query, key, value and a mask that hides something in each row."""
    draw = torch.Generator().manual_seed(1)
    cases = []
    for batch, size in (([2], 1.0), ([], 1.0), ([2, 3], 1.0), ([1], 80.0)):
        query = size * torch.randn(*batch, 4, 8, generator=draw)
        key = torch.randn(*batch, 6, 8, generator=draw)
        value = torch.randn(*batch, 6, 5, generator=draw)
        mask = torch.rand(4, 6, generator=draw) < 0.6
        mask[:, 1], mask[:, 4] = True, False
        cases.append((query, key, value, mask))
    return cases


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor
) -> Tensor:
    """PyTorch's own."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    scale: float = 0.5,
    axis: int = -1,
) -> Tensor:
    """Attention by hand: divided by d_k^scale, softmax along an axis."""
    scores = query @ key.mT / math.pow(query.size(-1), scale)
    return scores.masked_fill(~mask, -1e9).softmax(axis) @ value


def weights(query: Tensor, key: Tensor) -> Tensor:
    """The weights without a mask."""
    return (query @ key.mT / math.sqrt(query.size(-1))).softmax(-1)


EXERCISES = [
    Exercise(
        "causal-mask",
        "01_attention",
        "write f(length), the boolean mask [length, length] that is True "
        "where a key is not later than a query.",
        "lengths 5, 1, 2 and 9",
        lambda: [(5,), (1,), (2,), (9,)],
        causal_mask,
        {
            "The polarity is inverted. In this book True means that a key "
            "may be looked at.": lambda n: ~causal_mask(n),
            "No query sees itself, and the first sees nothing. A token may "
            "look at its own place: the input there is the token before the "
            "one to be predicted.": lambda n: causal_mask(n).tril(-1),
            "Queries and keys are exchanged: rows are queries, columns are "
            "keys.": lambda n: causal_mask(n).T,
            "Every query sees one key that is later than itself.": (
                lambda n: causal_mask(n) | causal_mask(n).roll(1, 1).tril(1)
            ),
            "Nothing is hidden.": lambda n: causal_mask(n).fill_(True),
        },
        {
            "This mask is made to be added to the scores. Ours is boolean, "
            "and True where a key may be looked at.": (
                lambda mask, n: (mask < -1e3).any().item()
            ),
            "The mask holds numbers. Ours is boolean; attention would add "
            "numbers to the scores instead of hiding keys.": (
                lambda mask, n: mask.dtype != torch.bool
            ),
            "The mask has two axes, queries and keys. Those for sentences "
            "and heads come by broadcasting.": lambda mask, n: mask.dim() != 2,
        },
    ),
    Exercise(
        "scaled-attention",
        "01_attention",
        "write f(query, key, value, mask), attention as in equation 1, with "
        "a boolean mask that is True where a key may be looked at.",
        "batches, heads and large scores",
        attention_inputs,
        attention,
        {
            "The scores are not scaled.": (
                lambda q, k, v, m: attend(q, k, v, m, 0.0)
            ),
            "The scores are divided by the width itself. Their standard "
            "deviation grows more slowly than that.": (
                lambda q, k, v, m: attend(q, k, v, m, 1.0)
            ),
            "The scores are multiplied where they should be divided.": (
                lambda q, k, v, m: attend(q, k, v, m, -0.5)
            ),
            "The softmax runs over the queries: the weights of a query do "
            "not sum to one.": lambda q, k, v, m: attend(q, k, v, m, axis=-2),
            "The mask comes after the softmax: what remains of a row no "
            "longer sums to one.": (
                lambda q, k, v, m: (weights(q, k) * m) @ v
            ),
            "The polarity of the mask is inverted: what may be looked at is "
            "hidden.": lambda q, k, v, m: attend(q, k, v, ~m),
            "The mask has no effect.": lambda q, k, v, m: weights(q, k) @ v,
            "These are the weights. What is asked for is the mean of the "
            "values with these weights.": (
                lambda q, k, v, m: attend(q, k, torch.eye(k.size(-2)), m)
            ),
            "Hidden scores become 0, which is a score like any other: "
            "exp(0) = 1.": (
                lambda q, k, v, m: (
                    (q @ k.mT / q.size(-1) ** 0.5).where(m, 0.0).softmax(-1)
                    @ v
                )
            ),
            "Scores are multiplied by the mask, so a hidden one becomes 0, "
            "and the scale is missing.": (
                lambda q, k, v, m: (q @ k.mT * m).softmax(-1) @ v
            ),
        },
    ),
]
