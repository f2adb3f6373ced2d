"""Attention: masks, scaled dot products and multi-head attention (3.2).

Written in book/01_attention.ipynb: edit the chapter, then `make package`.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = [
    "padding_mask",
    "causal_mask",
    "masked_softmax",
    "attention_weights",
    "scaled_dot_product_attention",
    "Mask",
    "additive",
    "visible",
    "head_width",
    "Projections",
    "MultiHeadAttention",
]


def padding_mask(
    tokens: Int[Tensor, "batch length"], pad: int = 0
) -> Bool[Tensor, "batch 1 1 length"]:
    """True where a key is a token, False where it is padding."""
    return (tokens != pad)[:, None, None, :]


def causal_mask(length: int, device=None) -> Bool[Tensor, "length length"]:
    """True where key j is not later than query i: a lower triangle."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"],
    mask: Bool[Tensor, "..."],
) -> Float[Tensor, "*batch queries keys"]:
    """Softmax over the visible keys; a query that sees none gets zeros."""
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


Mask = Bool[Tensor, "..."] | Float[Tensor, "..."]


def additive(mask: Mask, x: Tensor) -> Float[Tensor, "..."]:
    """log(mask), which is added to scores: 0 if visible, -inf if hidden.

    It has the type of products of x, in mixed precision too; a mask that is
    additive already stays as it is.
    """
    if mask.is_floating_point():
        return mask
    kind, mixed = x.device.type, False
    if torch.amp.is_autocast_available(kind):
        mixed = torch.is_autocast_enabled(kind)
    dtype = torch.get_autocast_dtype(kind) if mixed else x.dtype
    return mask.to(dtype).log()


def visible(mask: Mask) -> Bool[Tensor, "..."]:
    """True where a key may be seen, whichever form the mask has."""
    return mask > -math.inf if mask.is_floating_point() else mask


def head_width(d_model: int, heads: int) -> int:
    """d_model / heads, the width of a head where none is given (3.2.2)."""
    if d_model % heads:
        raise ValueError(
            f"d_model = {d_model} is not a multiple of {heads} heads: "
            "change one of them, or give d_k and d_v"
        )
    return d_model // heads


class Projections(nn.Module):
    """W^Q, W^K, W^V and W^O of all heads, cut into heads on demand."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.heads = heads
        self.d_k = d_k or head_width(d_model, heads)
        self.d_v = d_v or head_width(d_model, heads)
        self.dropout = dropout
        # equation 1, fused
        self.kernel: Callable[..., Tensor] = F.scaled_dot_product_attention
        self.query = nn.Linear(d_model, heads * self.d_k)
        self.key_value = nn.Linear(d_model, heads * (self.d_k + self.d_v))
        self.output = nn.Linear(heads * self.d_v, d_model)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot initialisation, each projection at its own fan."""
        widths = [self.heads * self.d_k, self.heads * self.d_v]
        keys, values = self.key_value.weight.split(widths)
        for weight in (self.query.weight, keys, values, self.output.weight):
            nn.init.xavier_uniform_(weight)
        for layer in (self.query, self.key_value, self.output):
            nn.init.zeros_(layer.bias)

    def split(
        self, x: Float[Tensor, "batch length width"]
    ) -> Float[Tensor, "batch heads length d_head"]:
        """Cut the last axis into heads: head i is its i-th block."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(
        self, memory: Float[Tensor, "batch keys d_model"]
    ) -> tuple[Tensor, Tensor]:
        """Keys [batch heads keys d_k] and values [batch heads keys d_v]."""
        widths = [self.heads * self.d_k, self.heads * self.d_v]
        keys, values = self.key_value(memory).split(widths, dim=-1)
        return self.split(keys), self.split(values)


class MultiHeadAttention(Projections):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O (3.2.2).

    Queries come from x, keys and values from memory; memory = x makes it
    self-attention.
    """

    def attend(
        self,
        x: Float[Tensor, "rows queries d_model"],
        keys: Float[Tensor, "batch heads keys d_k"],
        values: Float[Tensor, "batch heads keys d_v"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "rows queries d_model"]:
        """Attend from x; rows that share keys become further queries."""
        query = self.split(self.query(x.reshape(len(keys), -1, x.size(-1))))
        heads = self.kernel(
            query,
            keys,
            values,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return self.output(heads.transpose(1, 2).flatten(2)).view_as(x)

    def forward(
        self,
        x: Float[Tensor, "batch queries d_model"],
        memory: Float[Tensor, "batch keys d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Attend from every position of x to every position of memory."""
        return self.attend(x, *self.keys_values(memory), mask)

    def weights(
        self,
        x: Float[Tensor, "batch queries d_model"],
        memory: Float[Tensor, "batch keys d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch heads queries keys"]:
        """The weights that forward uses, without dropout, for pictures."""
        keys, _ = self.keys_values(memory)
        return attention_weights(self.split(self.query(x)), keys, mask)
