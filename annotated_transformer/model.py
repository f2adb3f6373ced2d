"""Model: the whole Transformer, its sizes and its parameters (3.1, 6.2).

Written in book/04_model.ipynb: edit the chapter, then `make package`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.attention import (
    Mask,
    MultiHeadAttention,
    additive,
    causal_mask,
    head_width,
    padding_mask,
)
from annotated_transformer.embedding import (
    BOS,
    EOS,
    PAD,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from annotated_transformer.layers import (
    AddNorm,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    KeysValues,
    Vectors,
)

__all__ = [
    "ModelConfig",
    "PRESETS",
    "encoder_layer",
    "decoder_layer",
    "positions",
    "final_norm",
    "start_small",
    "Parts",
    "Stacks",
    "Where",
    "chosen",
    "Transformer",
    "parameter_count",
    "length_limit",
    "greedy_decode",
]


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a Transformer; the defaults are the paper's base model."""

    vocab_size: int = 37_000  # tokens shared by source and target (5.1)
    layers: int = 6  # N, in the encoder and again in the decoder
    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8  # h
    d_k: int | None = None  # width of a head's keys; d_model / heads if None
    d_v: int | None = None  # width of a head's values, likewise
    dropout: float = 0.1  # P_drop: sub-layer outputs, embedding sums (5.4)
    attention_dropout: float = 0.0  # on the attention weights (6.3)
    pre_norm: bool = False  # False: the norm after the sum, as published
    positions: str = "sinusoidal"  # or "learned", Table 3 row E
    max_length: int = 512  # how many positions are learned
    tied: bool = True  # one matrix: source, target and logits (3.4)

    @property
    def most_positions(self) -> int | None:
        """Learned positions end somewhere; sinusoidal ones do not."""
        return self.max_length if self.positions == "learned" else None

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "layers", "d_model", "d_ff", "heads")
        for name in (*sizes, "d_k", "d_v", "max_length"):
            size = getattr(self, name)
            if size is not None and size < 1:
                raise ValueError(f"{name} = {size}: must be at least 1")
        if self.d_k is None or self.d_v is None:
            head_width(self.d_model, self.heads)
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1)")
        if self.positions not in ("sinusoidal", "learned"):
            raise ValueError(
                f"positions = {self.positions!r}: choose "
                "'sinusoidal' or 'learned'"
            )


PRESETS = {
    "tiny": ModelConfig(
        layers=4, d_model=128, d_ff=256, heads=4, dropout=0.3, pre_norm=True
    ),
    "small": ModelConfig(
        layers=6, d_model=256, d_ff=1024, heads=4, dropout=0.2, pre_norm=True
    ),
    "base": ModelConfig(),
    "big": ModelConfig(d_model=1024, d_ff=4096, heads=16, dropout=0.3),
}


def encoder_layer(
    config: ModelConfig, attention: Callable = MultiHeadAttention
) -> EncoderLayer:
    """One encoder layer of the given sizes."""
    sizes = (config.d_model, config.heads, config.d_k, config.d_v)
    return EncoderLayer(
        attention(*sizes, config.attention_dropout),
        FeedForward(config.d_model, config.d_ff),
        partial(AddNorm, config.d_model, config.dropout, config.pre_norm),
    )


def decoder_layer(
    config: ModelConfig, attention: Callable = MultiHeadAttention
) -> DecoderLayer:
    """One decoder layer of the given sizes."""
    sizes = (config.d_model, config.heads, config.d_k, config.d_v)
    return DecoderLayer(
        attention(*sizes, config.attention_dropout),
        attention(*sizes, config.attention_dropout),
        FeedForward(config.d_model, config.d_ff),
        partial(AddNorm, config.d_model, config.dropout, config.pre_norm),
    )


def positions(config: ModelConfig) -> nn.Module:
    """Sinusoidal or learned positions, as the configuration says."""
    if config.positions == "learned":
        return LearnedPositions(config.d_model, config.max_length)
    return SinusoidalPositions(config.d_model)


def final_norm(config: ModelConfig) -> nn.Module:
    """Pre-norm leaves its sums unnormalised, so a last norm follows them."""
    if config.pre_norm:
        return nn.LayerNorm(config.d_model)
    return nn.Identity()


def start_small(stack: nn.ModuleList) -> None:
    """Divide what each sub-layer writes by the root of how many write."""
    last = ("output.weight", "outer.weight")
    writers = [
        w for name, w in stack.named_parameters() if name.endswith(last)
    ]
    for weight in writers:
        weight.data /= math.sqrt(len(writers))


class Parts(nn.Module):
    """The boxes of Figure 1: embedding, positions, both stacks of layers."""

    def __init__(
        self, config: ModelConfig, attention: Callable = MultiHeadAttention
    ):
        super().__init__()
        self.config = config
        sizes = (config.vocab_size, config.d_model)
        self.source_embedding = TokenEmbedding(*sizes)
        self.target_embedding = self.output_embedding = self.source_embedding
        if not config.tied:
            self.target_embedding = TokenEmbedding(*sizes)
            self.output_embedding = TokenEmbedding(*sizes)
        self.source_positions = positions(config)
        self.target_positions = positions(config)
        self.dropout = nn.Dropout(config.dropout)
        n = range(config.layers)
        self.encoder = nn.ModuleList(
            encoder_layer(config, attention) for _ in n
        )
        self.decoder = nn.ModuleList(
            decoder_layer(config, attention) for _ in n
        )
        self.encoder_norm = final_norm(config)
        self.decoder_norm = final_norm(config)
        if config.pre_norm:
            start_small(self.encoder)
            start_small(self.decoder)


class Stacks(Parts):
    """The encoder and the decoder, from tokens to vectors."""

    def encode(self, source: Int[Tensor, "batch source_length"]) -> Vectors:
        """The memory: one vector a source token, seen in its context."""
        x = self.source_positions(self.source_embedding(source))
        x = self.dropout(x)
        mask = additive(padding_mask(source, PAD), x)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def keys_values(self, memory: Vectors) -> list[KeysValues]:
        """The memory as each decoder layer's keys and values."""
        return [
            layer.cross_attention.keys_values(memory) for layer in self.decoder
        ]

    def decode(
        self,
        target: Int[Tensor, "batch target_length"],
        sources: list[KeysValues],
        source_mask: Mask,
        pasts: list[KeysValues] | None = None,
    ) -> tuple[Vectors, list[KeysValues]]:
        """Decoder outputs for the target tokens, and their keys and values.

        Without pasts all positions are computed at once under the causal
        mask; with them, target is the one token that comes next. Several
        rows may share a sentence: batch is then a multiple of sentences.
        """
        start = pasts[0][0].size(2) if pasts else 0
        x = self.target_positions(self.target_embedding(target), start)
        x = self.dropout(x)
        source_mask, mask = additive(source_mask, x), None
        if not pasts:
            mask = additive(causal_mask(target.size(1), x.device), x)
        presents = []
        for i, layer in enumerate(self.decoder):
            past = pasts[i] if pasts else None
            x, present = layer(x, sources[i], source_mask, mask, past)
            presents.append(present)
        return self.decoder_norm(x), presents


Where = Bool[Tensor, "rows length"] | Int[Tensor, "places"]


def chosen(
    x: Float[Tensor, "rows length d_model"], where: Where
) -> Float[Tensor, "positions d_model"]:
    """The vectors where a mask is True, or at places in the flat text."""
    if where.dtype == torch.bool:
        where = where.flatten().nonzero().squeeze(1)
    return x.flatten(0, 1).index_select(0, where)


class Transformer(Stacks):
    """Figure 1: from source and target tokens to logits of the next token."""

    def logits(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocab_size"]:
        """Scores of the next token; their softmax is the prediction."""
        return self.output_embedding.logits(x)

    def forward(
        self,
        source: Int[Tensor, "batch source_length"],
        target: Int[Tensor, "rows target_length"],
        where: Where | None = None,
    ) -> Float[Tensor, "*positions vocab_size"]:
        """Logits at every target position, or only where asked for.

        There may be several rows of targets for each sentence of the source.
        """
        memory = self.encode(source)
        x, _ = self.decode(
            target, self.keys_values(memory), padding_mask(source, PAD)
        )
        return self.logits(x if where is None else chosen(x, where))


def parameter_count(config: ModelConfig) -> int:
    """Trained numbers in the model, counted by formula without building it.

    With d_k = d_v = d_model / heads an attention block has 4 d^2 + 4 d.
    """
    d, h = config.d_model, config.heads
    d_k = config.d_k or head_width(d, h)
    d_v = config.d_v or head_width(d, h)
    attention = 2 * h * d_k * (d + 1) + h * d_v * (d + 1) + (h * d_v + 1) * d
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    norm = 2 * d
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    embeddings = (1 if config.tied else 3) * config.vocab_size * d
    learned = config.positions == "learned"
    return (
        embeddings
        + config.layers * (encoder + decoder)
        + 2 * norm * config.pre_norm
        + 2 * config.max_length * d * learned
    )


def length_limit(
    source: Int[Tensor, "batch length"], most: int | None = None
) -> Int[Tensor, "batch"]:
    """The longest output allowed: the input's length plus 50 (6.1).

    Nor more than `most`, where a model has no more positions than that.
    """
    return ((source != PAD).sum(1) + 50).clamp(0, most)


@torch.no_grad()
def greedy_decode(
    model: Transformer, source: Int[Tensor, "batch source_length"]
) -> Int[Tensor, "batch target_length"]:
    """Take the likeliest token again and again, until EOS or the limit."""
    limit = length_limit(source, model.config.most_positions)
    target = source.new_full((len(source), 1), BOS)
    finished = limit < 1
    while not finished.all():
        token = model(source, target)[:, -1].argmax(-1)
        target = torch.cat(
            [target, token.where(~finished, PAD)[:, None]], dim=1
        )
        finished = finished | (token == EOS) | (target.size(1) > limit)
    return target[:, 1:]
