"""Multi-head attention: several looks at once (3.2.2, 3.2.3).

Written in book/02_heads.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import Mask, check_mask
from annotated_transformer.errors import UserError

__all__ = ["head_width", "Projections", "MultiHeadAttention"]


def head_width(d_model: int, heads: int) -> int:
    """The default width of a head: d_model / heads (3.2.2)."""
    if d_model % heads:
        raise UserError(
            f"`heads={heads}`: must divide `d_model={d_model}`, unless d_k "
            "and d_v are given"
        )
    return d_model // heads


class Projections(nn.Module):
    """W^Q, W^K, W^V and W^O of all heads, cut into heads on demand."""

    #: Equation 1, fused; a subclass, or an instance, may have another.
    attention_fn: Callable[..., Tensor] = staticmethod(
        F.scaled_dot_product_attention
    )

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
        self.query = nn.Linear(d_model, heads * self.d_k)
        self.key_value = nn.Linear(d_model, heads * (self.d_k + self.d_v))
        self.output = nn.Linear(heads * self.d_v, d_model)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot initialisation with each projection's own fan-in and -out."""
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
        x: Float[Tensor, "batch queries d_model"],
        keys: Float[Tensor, "batch heads keys d_k"],
        values: Float[Tensor, "batch heads keys d_v"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Attend from every position of x to projected keys and values."""
        check_mask(mask)
        heads = self.attention_fn(
            self.split(self.query(x)),
            keys,
            values,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return self.output(heads.transpose(1, 2).flatten(2))

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
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch heads queries keys"]:
        """The attention weights that forward uses, without dropout.

        If value j is the unit vector e_j, the outputs are the weights.
        """
        check_mask(mask)
        keys, _ = self.keys_values(memory)
        unit = torch.eye(keys.size(2)).to(keys).expand(*keys.shape[:3], -1)
        query = self.split(self.query(x))
        return self.attention_fn(
            query, keys, unit, attn_mask=mask, dropout_p=0.0
        )
