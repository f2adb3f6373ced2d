"""Layers: feed-forward, Add & Norm, encoder and decoder layers (3.1, 3.3).

Written in book/04_layers.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import Mask
from annotated_transformer.heads import MultiHeadAttention

__all__ = [
    "Vectors",
    "KeysValues",
    "FeedForward",
    "AddNorm",
    "EncoderLayer",
    "append_kv",
    "DecoderLayer",
]


Vectors = Float[Tensor, "batch length d_model"]
KeysValues = tuple[Tensor, Tensor]


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at each position (eq. 2)."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Widen to d_ff, clip at zero, narrow again."""
        return self.outer(F.relu(self.inner(x)))


class AddNorm(nn.Module):
    """The box Add & Norm around a sub-layer (3.1).

    Post-norm, as published: LayerNorm(x + Dropout(Sublayer(x))).
    Pre-norm, as usual now:  x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(
        self,
        d_model: int,
        dropout: float,
        pre_norm: bool = False,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
    ):
        super().__init__()
        self.norm = norm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = pre_norm

    def before(self, x: Vectors) -> Vectors:
        """The input of the sub-layer."""
        return self.norm(x) if self.pre_norm else x

    def after(self, x: Vectors, y: Vectors) -> Vectors:
        """Add the sub-layer's output y to x, the input of the box."""
        x = x + self.dropout(y)
        return x if self.pre_norm else self.norm(x)

    def forward(
        self, x: Vectors, sublayer: Callable[[Tensor], Tensor]
    ) -> Vectors:
        """Run the sub-layer inside the box."""
        return self.after(x, sublayer(self.before(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each in Add & Norm (3.1)."""

    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        add_norm: Callable[[], AddNorm],
    ):
        super().__init__()
        self.self_attention = attention
        self.feed_forward = feed_forward
        self.around_attention = add_norm()
        self.around_feed_forward = add_norm()

    def forward(self, x: Vectors, mask: Mask | None = None) -> Vectors:
        """Each position attends to all visible ones, then is transformed."""
        x = self.around_attention(x, lambda y: self.self_attention(y, y, mask))
        return self.around_feed_forward(x, self.feed_forward)


def append_kv(past: KeysValues | None, new: KeysValues) -> KeysValues:
    """Append new keys and values to the past ones along the length."""
    if past is None:
        return new
    keys, values = (
        torch.cat(both, dim=2) for both in zip(past, new, strict=True)
    )
    return keys, values


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward (3.1)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        add_norm: Callable[[], AddNorm],
    ):
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.around_self = add_norm()
        self.around_cross = add_norm()
        self.around_feed_forward = add_norm()

    def forward(
        self,
        x: Vectors,
        source: KeysValues,
        source_mask: Mask | None = None,
        target_mask: Mask | None = None,
        past: KeysValues | None = None,
    ) -> tuple[Vectors, KeysValues]:
        """The new x, and this layer's keys and values, including those of x.

        source is cross_attention.keys_values(memory), computed once; past
        is what an earlier call returned for the positions before x.
        """
        y = self.around_self.before(x)
        keys_values = append_kv(past, self.self_attention.keys_values(y))
        y = self.self_attention.attend(y, *keys_values, target_mask)
        x = self.around_self.after(x, y)
        # rows with the same source sentence become one row of queries
        queries = x.reshape(source[0].size(0), -1, x.size(-1))
        queries = self.around_cross(
            queries,
            lambda y: self.cross_attention.attend(y, *source, source_mask),
        )
        x = self.around_feed_forward(queries.view_as(x), self.feed_forward)
        return x, keys_values
