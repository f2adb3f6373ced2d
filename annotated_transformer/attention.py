"""Attention: scaled dot products and masks (3.2.1).

Written in book/01_attention.ipynb: edit the chapter, then `make package`.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = [
    "padding_mask",
    "causal_mask",
    "Mask",
    "check_mask",
    "masked_softmax",
    "attention_weights",
    "scaled_dot_product_attention",
]


def padding_mask(
    tokens: Int[Tensor, "batch length"], pad: int = 0
) -> Bool[Tensor, "batch 1 1 length"]:
    """True where a key is a token, False where it is padding."""
    return (tokens != pad)[:, None, None, :]


def causal_mask(length: int, device=None) -> Bool[Tensor, "length length"]:
    """True where key j is not later than query i: a lower triangle."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


Mask = Bool[Tensor, "..."]


def check_mask(mask: Tensor | None) -> None:
    """Raise TypeError for a numeric mask, which a kernel adds to scores."""
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError(
            "a mask must be Boolean, True where a key may be seen, but this "
            f"one is {mask.dtype}; mask.bool() converts ones and zeros"
        )


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"],
    mask: Bool[Tensor, "..."],
) -> Float[Tensor, "*batch queries keys"]:
    """Softmax over the visible keys; a query that sees none gets zeros."""
    check_mask(mask)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(-1)
    return weights.masked_fill(~mask, 0.0)


def attention_weights(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch queries keys"]:
    """softmax(Q K^T / sqrt(d_k)): each query's weights, summing to one."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is None:
        return scores.softmax(-1)
    return masked_softmax(scores, mask)


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V (equation 1)."""
    return attention_weights(query, key, mask) @ value
