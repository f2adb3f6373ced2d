"""The parts exchanged after 2017, and the models built of them.

Written in book/17_modern.ipynb: edit the chapter, then `make package`.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import Mask, additive
from annotated_transformer.embedding import SinusoidalPositions, TokenEmbedding
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import (
    AddNorm,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
)
from annotated_transformer.model import (
    Decoder,
    Encoder,
    InputEmbedding,
    ModelConfig,
    Transformer,
    check_sizes,
    scale_residual_init,
)

__all__ = [
    "RMSNorm",
    "AddRMSNorm",
    "SwiGLU",
    "rotations",
    "apply_rotary",
    "rotate",
    "linear_bias",
    "GroupedProjections",
    "GroupedQueryAttention",
    "PositionCache",
    "share_tables",
    "RotaryAttention",
    "BiasedAttention",
    "tiled_attention",
    "SELF_ATTENTION",
    "ModernConfig",
    "modern_norm",
    "modern_positions",
    "modern_attention",
    "modern_feed_forward",
    "modern_add_norm",
    "modern_encoder_layer",
    "modern_decoder_layer",
    "modern_transformer",
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
        mean_square = x.square().mean(-1, keepdim=True)
        return x * (mean_square + self.eps).rsqrt() * self.weight


class AddRMSNorm(AddNorm):
    """The box Add & Norm with the shorter norm."""

    def __init__(self, d_model: int, dropout: float, pre_norm: bool = True):
        super().__init__(d_model, dropout, pre_norm)
        self.norm = RMSNorm(d_model)


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


def rotations(length: int, d_k: int) -> Float64[Tensor, "2 length pairs"]:
    """The cosines and the sines of all angles, position by position.

    Pair i turns by 10000^(-2i/d_k) a position.
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
    cos, sin = angles
    a, b = x[..., 0::2], x[..., 1::2]
    turned = [a * cos - b * sin, a * sin + b * cos]
    return torch.stack(turned, dim=-1).flatten(-2)


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

    def __init__(self, d_model: int, heads: int, groups: int, *sizes):
        super().__init__(d_model, heads, *sizes)
        if heads % groups:
            raise ValueError(f"{heads} heads do not make {groups} groups")
        self.groups = groups
        self.widths = [groups * self.d_k, groups * self.d_v]
        self.key_value = nn.Linear(d_model, sum(self.widths))
        for weight in self.key_value.weight.split(self.widths):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.key_value.bias)

    def keys_values(
        self, memory: Float[Tensor, "batch keys d_model"]
    ) -> tuple[Tensor, Tensor]:
        """Keys [batch groups keys d_k], values [batch groups keys d_v]."""
        keys, values = (
            x.unflatten(-1, (self.groups, -1)).transpose(1, 2)
            for x in self.key_value(memory).split(self.widths, dim=-1)
        )
        return keys, values


class GroupedQueryAttention(GroupedProjections):
    """groups = heads is multi-head attention, groups = 1 is multi-query."""

    def __init__(self, d_model: int, heads: int, groups: int, *sizes):
        super().__init__(d_model, heads, groups, *sizes)
        self.attention_fn = self.grouped

    def place(
        self, query: Tensor, keys: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Where positions come in, if they do: here they do not."""
        return query, keys, mask

    def grouped(
        self,
        query: Float[Tensor, "batch heads queries d_k"],
        keys: Float[Tensor, "batch groups keys d_k"],
        values: Float[Tensor, "batch groups keys d_v"],
        attn_mask: Mask | None = None,
        dropout_p: float = 0.0,
    ) -> Float[Tensor, "batch heads queries d_v"]:
        """Equation 1; all heads of a group have its keys and values."""
        query, keys, mask = self.place(query, keys, attn_mask)
        size = self.heads // self.groups
        keys, values = (x.repeat_interleave(size, 1) for x in (keys, values))
        return F.scaled_dot_product_attention(
            query, keys, values, attn_mask=mask, dropout_p=dropout_p
        )


class PositionCache:
    """What depends on positions alone, for all that have been needed so far.

    make(length) computes it, with the positions along the second last axis.
    It is kept in the type and on the device of what asked for it last.
    """

    def __init__(self, make: Callable[[int], Tensor]):
        self.make = make
        self.kept: Tensor | None = None

    def __call__(self, length: int, like: Tensor) -> Tensor:
        """The table for as many positions, or for more."""
        kept, longest = self.kept, 0
        if kept is not None:
            longest = kept.size(-2)
            if (kept.dtype, kept.device) == (like.dtype, like.device):
                if length <= longest:
                    return kept
                longest *= 2  # so that it seldom grows
        with torch.inference_mode(False):  # what trains may use it too
            kept = self.kept = self.make(max(length, longest)).to(like)
        return kept


def share_tables(layers: Iterable[Any]) -> None:
    """Give all layers the table of the first one, if it has any."""
    attentions = [layer.self_attention for layer in layers]
    for attention in attentions:
        if hasattr(attention, "table"):
            attention.table = attentions[0].table


class RotaryAttention(GroupedQueryAttention):
    """Self-attention that turns queries and keys by their positions.

    The queries are the last of the positions that have keys.
    """

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.table = PositionCache(partial(rotations, d_k=self.d_k))

    def place(
        self, query: Tensor, keys: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Turn both; keys are kept unturned, so all of them turn here."""
        start, end = keys.size(2) - query.size(2), keys.size(2)
        angles = self.table(end, query)[:, :end]
        return (
            apply_rotary(query, angles[:, start:]),
            apply_rotary(keys, angles),
            mask,
        )


class BiasedAttention(GroupedQueryAttention):
    """Self-attention whose scores fall with the distance (ALiBi)."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.table = PositionCache(lambda n: linear_bias(self.heads, n, n))

    def place(
        self, query: Tensor, keys: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The bias, with -inf where the mask hides a key."""
        start, end = keys.size(2) - query.size(2), keys.size(2)
        bias = self.table(end, query)[:, start:end, :end]
        if mask is not None:
            bias = bias + additive(mask, query)
        return query, keys, bias


def tiled_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    tile: int = 64,
) -> Float[Tensor, "*batch queries d_v"]:
    """Equation 1, a tile of keys at a time: no row of scores is ever whole."""
    query = query / math.sqrt(query.size(-1))
    largest = torch.full_like(query[..., :1], -math.inf)
    total, answer = torch.zeros_like(largest), 0.0
    tiles = key.split(tile, -2), value.split(tile, -2)
    for keys, values in zip(*tiles, strict=True):
        scores = query @ keys.transpose(-2, -1)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        shrink, weights = (largest - new).exp(), (scores - new).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        answer = answer * shrink + weights @ values
        largest = new
    return answer / total


SELF_ATTENTION = {
    "rotary": RotaryAttention,
    "biased": BiasedAttention,
    "added": GroupedQueryAttention,
    "none": GroupedQueryAttention,
}


@dataclass(frozen=True)
class ModernConfig(ModelConfig):
    """The sizes of a model, and its parts: those of today by default."""

    positions: str = "rotary"  # "biased", "none", or "added" as in 2017
    rms_norm: bool = True
    swiglu: bool = True  # at two thirds of d_ff
    groups: int | None = None  # sets of keys and values; None: one a head

    POSITIONS = (*SELF_ATTENTION,)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, ["groups"], [])
        if self.heads % (self.groups or 1):
            raise ValueError(
                f"{self.heads} heads do not make {self.groups} groups"
            )


def modern_norm(config: ModernConfig) -> nn.Module:
    """The norm behind a stack of pre-norm layers."""
    if not config.pre_norm:
        return nn.Identity()
    kind = RMSNorm if config.rms_norm else nn.LayerNorm
    return kind(config.d_model)


def modern_positions(config: ModernConfig) -> nn.Module | None:
    """What is added to embeddings, if anything is."""
    added = config.positions == "added"
    return SinusoidalPositions(config.d_model) if added else None


def modern_attention(
    config: ModernConfig, to_itself: bool
) -> GroupedQueryAttention:
    """One attention; only self-attention knows of positions."""
    kind = GroupedQueryAttention
    if to_itself:
        kind = SELF_ATTENTION[config.positions]
    groups = config.groups or config.heads
    widths = config.d_k, config.d_v, config.attention_dropout
    return kind(config.d_model, config.heads, groups, *widths)


def modern_feed_forward(config: ModernConfig) -> nn.Module:
    """One feed-forward layer with about as many parameters as in 2017."""
    if config.swiglu:
        return SwiGLU(config.d_model, 2 * config.d_ff // 3)
    return FeedForward(config.d_model, config.d_ff)


def modern_add_norm(config: ModernConfig) -> Callable[[], AddNorm]:
    """What makes a box Add & Norm."""
    kind = AddRMSNorm if config.rms_norm else AddNorm
    return partial(kind, config.d_model, config.dropout, config.pre_norm)


def modern_encoder_layer(config: ModernConfig) -> EncoderLayer:
    """One encoder layer."""
    return EncoderLayer(
        modern_attention(config, to_itself=True),
        modern_feed_forward(config),
        modern_add_norm(config),
    )


def modern_decoder_layer(config: ModernConfig) -> DecoderLayer:
    """One decoder layer."""
    return DecoderLayer(
        modern_attention(config, to_itself=True),
        modern_attention(config, to_itself=False),
        modern_feed_forward(config),
        modern_add_norm(config),
    )


def modern_transformer(config: ModernConfig) -> Transformer:
    """The boxes of Figure 1 with the parts that config names."""
    embed = partial(TokenEmbedding, config.vocab_size, config.d_model)
    read = write = output = embed()
    if not config.tied:
        write, output = embed(), embed()
    source, target = (
        InputEmbedding(tokens, modern_positions(config), config.dropout)
        for tokens in (read, write)
    )
    n, m = config.layers, config.decoder_layers or config.layers
    reads = [modern_encoder_layer(config) for _ in range(n)]
    encoder = Encoder(reads, modern_norm(config))
    writes = [modern_decoder_layer(config) for _ in range(m)]
    decoder = Decoder(writes, modern_norm(config))
    if config.pre_norm:
        scale_residual_init(encoder.layers)
        scale_residual_init(decoder.layers)
    share_tables([*reads, *writes])
    model = Transformer(source, encoder, target, decoder, output)
    model.config = config
    return model
