"""Parts that replaced those of 2017, and the models built of them.

Written in book/17_modern.ipynb: edit the chapter, then `make package`.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import Mask
from annotated_transformer.heads import MultiHeadAttention, head_width
from annotated_transformer.layers import FeedForward
from annotated_transformer.model import ModelConfig

__all__ = [
    "RMSNorm",
    "SwiGLU",
    "swiglu",
    "GELUFeedForward",
    "SquaredReLUFeedForward",
    "rotations",
    "apply_rotary",
    "rotate",
    "linear_bias",
    "GroupedProjections",
    "grouped_attention",
    "with_bias",
    "GroupedQueryAttention",
    "PositionCache",
    "RotaryPositions",
    "ALiBi",
    "tiled_attention",
    "attentions",
    "PARTS",
    "MODERN",
]


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) times a gain: no mean, no shift."""

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Bring the root of the mean square to one, then apply the gain."""
        y = x.to(torch.promote_types(x.dtype, torch.float32))
        y = y * (y.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        return y.to(x.dtype) * self.weight


class SwiGLU(nn.Module):
    """(SiLU(x W) * x V) W_2: one half of the inner layer gates the other."""

    def __init__(self, d_model: int, width: int):
        super().__init__()
        self.inner = nn.Linear(d_model, 2 * width, bias=False)  # W and V
        self.outer = nn.Linear(width, d_model, bias=False)
        for weight in (*self.inner.weight.chunk(2), self.outer.weight):
            nn.init.xavier_uniform_(weight)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Widen twice, multiply, narrow again."""
        gate, passes = self.inner(x).chunk(2, dim=-1)
        return self.outer(F.silu(gate) * passes)


def swiglu(d_model: int, d_ff: int) -> SwiGLU:
    """A SwiGLU with about the weights of a FeedForward of width d_ff."""
    return SwiGLU(d_model, 2 * d_ff // 3)


class GELUFeedForward(FeedForward):
    """max(0, z) made smooth: z times the normal distribution's share below."""

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Widen to d_ff, gate smoothly, narrow again."""
        return self.outer(F.gelu(self.inner(x)))


class SquaredReLUFeedForward(FeedForward):
    """max(0, z), squared."""

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Widen to d_ff, clip at zero, square, narrow again."""
        return self.outer(F.relu(self.inner(x)).square())


def rotations(length: int, d_k: int) -> Float64[Tensor, "2 length pairs"]:
    """The cosines and the sines of all angles, position by position.

    Pair i turns by 10000^(-2i/d_k) per position.
    """
    even = torch.arange(0, d_k, 2, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64)
    angle = torch.outer(position, 10_000 ** (-even / d_k))
    return torch.stack([angle.cos(), angle.sin()])


def apply_rotary(
    x: Float[Tensor, "*batch length d_k"],
    angles: Float[Tensor, "2 length pairs"],
) -> Float[Tensor, "*batch length d_k"]:
    """Turn each pair of components by the angle of its position."""
    wide = torch.promote_types(x.dtype, torch.float32)  # for half precision
    pairs = x.to(wide).contiguous().unflatten(-1, (-1, 2))
    turned = torch.view_as_complex(pairs) * torch.complex(*angles.to(wide))
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


def rotate(
    x: Float[Tensor, "*batch length d_k"], start: int = 0
) -> Float[Tensor, "*batch length d_k"]:
    """Turn pairs of components; positions count from start."""
    length, d_k = x.shape[-2:]
    return apply_rotary(x, rotations(start + length, d_k)[:, start:].to(x))


def linear_bias(
    heads: int, queries: int, keys: int
) -> Float[Tensor, "heads queries keys"]:
    """ALiBi: minus the distance, times a slope 2^(-8i/heads) for head i.

    The queries are the last of the positions that have keys.
    """
    slopes = 2.0 ** (-8 / heads * torch.arange(1, heads + 1))
    places = torch.arange(keys)
    distance = (places[keys - queries :, None] - places).abs()
    return slopes[:, None, None] * -distance


class GroupedProjections(MultiHeadAttention):
    """Projections with keys and values for groups of heads."""

    def __init__(self, d_model: int, heads: int, kv_heads: int, *sizes):
        super().__init__(d_model, heads, *sizes)
        if heads % kv_heads:
            raise ValueError(
                f"`kv_heads={kv_heads}`: must divide `heads={heads}`"
            )
        self.kv_heads = kv_heads
        self.widths = [kv_heads * self.d_k, kv_heads * self.d_v]
        self.key_value = nn.Linear(d_model, sum(self.widths))
        for weight in self.key_value.weight.split(self.widths):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.key_value.bias)

    def keys_values(
        self, memory: Float[Tensor, "batch keys d_model"]
    ) -> tuple[Tensor, Tensor]:
        """Keys [batch kv_heads keys d_k], values [batch kv_heads keys d_v]."""
        keys, values = (
            x.unflatten(-1, (self.kv_heads, -1)).transpose(1, 2)
            for x in self.key_value(memory).split(self.widths, dim=-1)
        )
        return keys, values


def grouped_attention(
    query: Float[Tensor, "batch heads queries d_k"],
    keys: Float[Tensor, "batch kv_heads keys d_k"],
    values: Float[Tensor, "batch kv_heads keys d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
) -> Float[Tensor, "batch heads queries d_v"]:
    """Equation 1; all heads of a group share its keys and values.

    attn_mask is a mask, or a bias on the scores.
    """
    size = query.size(1) // keys.size(1)
    keys, values = (x.repeat_interleave(size, 1) for x in (keys, values))
    return F.scaled_dot_product_attention(
        query, keys, values, attn_mask=attn_mask, dropout_p=dropout_p
    )


def with_bias(mask: Mask | None, bias: Tensor | None) -> Tensor | None:
    """What a kernel adds to scores: the bias, -inf where keys are hidden."""
    if mask is None or bias is None:
        return mask if bias is None else bias
    return torch.where(mask, bias, -math.inf)


class GroupedQueryAttention(GroupedProjections):
    """kv_heads = heads is multi-head attention, kv_heads = 1 multi-query.

    positions encodes positions in queries and keys: see RotaryPositions.
    With qk_norm both are normalised, head by head.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        kv_heads: int,
        *sizes,
        positions: Callable[..., tuple[Tensor, Tensor, Any]] | None = None,
        qk_norm: bool = False,
    ):
        super().__init__(d_model, heads, kv_heads, *sizes)
        self.positions = positions
        norm = partial(RMSNorm, self.d_k) if qk_norm else nn.Identity
        self.query_norm, self.key_norm = norm(), norm()

    def keys_values(
        self, memory: Float[Tensor, "batch keys d_model"]
    ) -> tuple[Tensor, Tensor]:
        """Keys [batch kv_heads keys d_k], values [batch kv_heads keys d_v]."""
        keys, values = super().keys_values(memory)
        return self.key_norm(keys), values

    def attention_fn(
        self,
        query: Float[Tensor, "batch heads queries d_k"],
        keys: Float[Tensor, "batch kv_heads keys d_k"],
        values: Float[Tensor, "batch kv_heads keys d_v"],
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
    ) -> Float[Tensor, "batch heads queries d_v"]:
        """Equation 1 for groups of heads, after norms and positions."""
        query, mask = self.query_norm(query), attn_mask
        if self.positions is not None:
            query, keys, bias = self.positions(query, keys)
            mask = with_bias(mask, bias)
        return grouped_attention(query, keys, values, mask, dropout_p)


class PositionCache:
    """A table that depends on positions alone, as long as needed so far.

    make(length) computes it, with the positions along the second last axis.
    It is kept with the dtype and device that were last asked for.
    """

    def __init__(self, make: Callable[[int], Tensor]):
        self.make = make
        self.kept: Tensor | None = None

    def __call__(self, length: int, like: Tensor) -> Tensor:
        """The table for that many positions, or for more."""
        kept, longest = self.kept, 0
        if kept is not None:
            longest = kept.size(-2)
            if (kept.dtype, kept.device) == (like.dtype, like.device):
                if length <= longest:
                    return kept
                longest *= 2  # so that it rarely grows
        with torch.inference_mode(False):  # training may use it too
            kept = self.kept = self.make(max(length, longest)).to(like)
        return kept


class RotaryPositions:
    """Turns queries and keys by their positions.

    The queries are the last of the positions that have keys. Keys are kept
    unturned in a cache, so all of them turn here.
    """

    def __init__(self, d_k: int):
        if d_k % 2:
            raise ValueError(f"`d_k={d_k}`: rotations need pairs of numbers")
        self.table = PositionCache(partial(rotations, d_k=d_k))

    def __call__(
        self, query: Tensor, keys: Tensor
    ) -> tuple[Tensor, Tensor, None]:
        """Both, turned; there is no bias on the scores."""
        start, end = keys.size(2) - query.size(2), keys.size(2)
        angles = self.table(end, query)[:, :end]
        turned = apply_rotary(query, angles[:, start:])
        return turned, apply_rotary(keys, angles), None


class ALiBi:
    """Lowers scores with distance."""

    def __init__(self, heads: int):
        self.heads, self.table = heads, PositionCache(self.bias)

    def bias(self, length: int) -> Tensor:
        """The bias of that many queries on as many keys."""
        return linear_bias(self.heads, length, length)

    def __call__(
        self, query: Tensor, keys: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Both unchanged, and the bias on their scores."""
        start, end = keys.size(2) - query.size(2), keys.size(2)
        return query, keys, self.table(end, query)[:, start:end, :end]


def tiled_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    tile: int = 64,
) -> tuple[Float[Tensor, "*batch queries d_v"], Tensor]:
    """Equation 1, one tile of keys at a time: no full row of scores exists.

    Returns the outputs, and the logarithm of each query's sum of
    exponentials, [..., queries, 1].
    """
    dtype = torch.promote_types(query.dtype, torch.float32)  # of its sums
    query = query.to(dtype) / math.sqrt(query.size(-1))
    largest = torch.full_like(query[..., :1], -math.inf)
    total, answer = torch.zeros_like(largest), 0.0
    tiles = key.split(tile, -2), value.split(tile, -2)
    for part in zip(*tiles, strict=True):
        keys, values = (x.to(dtype) for x in part)
        scores = query @ keys.transpose(-2, -1)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        shrink, weights = (largest - new).exp(), (scores - new).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        answer = answer * shrink + weights @ values
        largest = new
    return (answer / total).to(key.dtype), largest + total.log()


def attentions(
    config: ModelConfig,
) -> tuple[Callable[[], nn.Module], Callable[[], nn.Module]]:
    """Functions that build a self-attention and a cross-attention."""
    d, heads = config.d_model, config.heads
    make = partial(
        GroupedQueryAttention,
        d,
        heads,
        config.kv_heads or heads,
        config.d_k,
        config.d_v,
        config.attention_dropout,
        qk_norm=config.qk_norm,
    )
    positions: Any = None
    if config.positions == "rotary":
        positions = RotaryPositions(config.d_k or head_width(d, heads))
    elif config.positions == "alibi":
        positions = ALiBi(heads)
    return partial(make, positions=positions), make


PARTS: dict[str, Any] = {  # that a configuration names, by what makes them
    "rms": RMSNorm,
    "gelu": GELUFeedForward,
    "relu2": SquaredReLUFeedForward,
    "swiglu": swiglu,
    "attentions": attentions,
}
MODERN: dict[str, Any] = {
    "pre_norm": True,
    "norm": "rms",
    "feed_forward": "swiglu",
    "positions": "rotary",
}
