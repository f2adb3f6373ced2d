"""Model: the whole Transformer, its sizes and its parameters (3.1, 6.2).

Written in book/05_model.ipynb: edit the chapter, then `make package`.
"""

# Where the model departs from the paper, and why:
# - Attention's projections have biases, as in most programs. The paper's
#   formulas have none.
# - `tiny` and `small` put the norm before each sub-layer, and one more after
#   each stack, which forgives more in short runs. `base` and `big` put it
#   after the sum, as published.
# - With the norm before, the last matrix of each sub-layer starts smaller, so
#   that all together start no louder than one (as in GPT-2).
# - Weights start by Glorot's rule, embeddings with a deviation of
#   d_model^(-1/2). The paper does not say how its own did.
# - Attention weights have no dropout unless asked for, as outside of 6.3.
# - Keys and values share a projection and are kept from word to word, and
#   logits are computed where they are asked for: the same numbers, sooner.
# - An output may be longer than in 6.1, by as much as the targets that a model
#   has learned are longer than their sources.
# - Norm, feed-forward network, positions and attention may be later ones,
#   which are in chapter 17. By default all are the paper's.

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.attention import (
    Mask,
    causal_mask,
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
from annotated_transformer.errors import UserError, check_fields
from annotated_transformer.heads import MultiHeadAttention, head_width
from annotated_transformer.layers import (
    AddNorm,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    KeysValues,
    Vectors,
)

__all__ = [
    "POSITIONS",
    "ModelConfig",
    "PRESETS",
    "InputEmbedding",
    "Encoder",
    "Decoder",
    "Where",
    "chosen",
    "Tokens",
    "Nested",
    "State",
    "EncoderDecoder",
    "Transformer",
    "scale_residual_init",
    "named_part",
    "Makers",
    "parts_of",
    "transformer",
    "check_published",
    "parameter_count",
    "length_limit",
    "greedy_decode",
]


# What a configuration may name as positions; two are the paper's.
POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "none")


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and parts of a Transformer; by default the paper's base model."""

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
    positions: str = "sinusoidal"  # or "learned" (Table 3, row E), or newer
    max_length: int = 512  # the number of learned positions
    tied: bool = True  # one matrix: source, target and logits (3.4)
    decoder_layers: int | None = None  # as many as the encoder's if None
    norm: str = "layer"
    feed_forward: str = "relu"
    kv_heads: int | None = None  # key-value heads; as many as heads if None
    qk_norm: bool = False  # norms on the queries and keys of each head

    def __post_init__(self) -> None:
        check_fields(
            self,
            dropout=(0, 0.99),
            attention_dropout=(0, 0.99),
            positions=POSITIONS,
            norm=("layer", "rms"),
            feed_forward=("relu", "gelu", "relu2", "swiglu"),
        )
        width = self.d_k
        if width is None or self.d_v is None:
            default = head_width(self.d_model, self.heads)
            width = width or default
        if self.positions == "rotary" and width % 2:
            raise UserError(
                f"`positions={self.positions!r}`: turns pairs of numbers, and "
                f"d_k is {width}"
            )
        if self.heads % (self.kv_heads or 1):
            raise UserError(
                f"`kv_heads={self.kv_heads}`: must divide `heads={self.heads}`"
            )

    @property
    def later_attention(self) -> bool:
        """True if the attention itself is not the paper's."""
        placed = self.positions in ("rotary", "alibi")
        return placed or self.kv_heads is not None or self.qk_norm


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


class InputEmbedding(nn.Module):
    """Tokens and their positions as vectors, with dropout (3.4, 3.5, 5.4).

    Without positions nothing is added.
    """

    def __init__(
        self,
        tokens: TokenEmbedding,
        positions: nn.Module | None,
        dropout: float,
    ):
        super().__init__()
        self.tokens, self.positions = tokens, positions
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, ids: Int[Tensor, "rows length"], start: int = 0
    ) -> Vectors:
        """A vector for each token, at positions start, start + 1, ..."""
        x = self.tokens(ids)
        if self.positions is not None:
            x = self.positions(x, start)
        return self.dropout(x)


class Encoder(nn.Module):
    """A stack of encoder layers (3.1); with norms first, one more follows."""

    def __init__(self, layers: Iterable[nn.Module], norm: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(self, x: Vectors, mask: Mask) -> Vectors:
        """A vector for each source token, seen in its context."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers (3.1); with norms first, one more follows."""

    layers: Any  # a list of DecoderLayers

    def __init__(self, layers: Iterable[nn.Module], norm: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def read(
        self, encoded: Vectors, mask: Mask
    ) -> tuple[list[KeysValues], Mask]:
        """The memory's keys and values for each layer, and its mask."""
        sources = [
            layer.cross_attention.keys_values(encoded) for layer in self.layers
        ]
        return sources, mask

    def forward(
        self,
        x: Vectors,
        memory: tuple[list[Any], Mask | None],
        pasts: list[KeysValues] | None = None,
    ) -> tuple[Vectors, list[KeysValues]]:
        """A vector for each target token, and each layer's keys and values.

        pasts are those of an earlier call; they come before those of x.
        """
        (sources, source_mask), mask = memory, None
        before = pasts[0][0].size(2) if pasts else 0
        if not pasts or x.size(1) > 1:  # one new token may see them all
            mask = causal_mask(before + x.size(1), x.device)[before:]
        presents = []
        for i, layer in enumerate(self.layers):
            past = pasts[i] if pasts else None
            x, present = layer(x, sources[i], source_mask, mask, past)
            presents.append(present)
        return self.norm(x), presents


Where = Bool[Tensor, "rows length"] | Int[Tensor, "places"]


def chosen(
    x: Float[Tensor, "rows length d_model"], where: Where
) -> Float[Tensor, "positions d_model"]:
    """The vectors where a mask is True, or at indices into x.flatten(0, 1)."""
    if where.dtype == torch.bool:
        where = where.flatten().nonzero().squeeze(1)
    return x.flatten(0, 1).index_select(0, where)


Tokens = Int[Tensor, "_rows _length"]
Nested = Any  # tensors in tuples and lists
State = tuple[int, Nested]  # number of tokens written, and their cache


class EncoderDecoder(nn.Module):
    """The frame of Figure 1: connects five boxes, whatever they contain."""

    config: Any = None  # the sizes it was built with

    def __init__(self, source, encoder, target, decoder, output):
        super().__init__()
        self.source, self.encoder = source, encoder
        self.target, self.decoder, self.output = target, decoder, output

    @property
    def max_positions(self) -> int | None:
        """The number of learned positions; None if there is no limit."""
        return getattr(self.target.positions, "max_positions", None)

    def encode(self, source: Tokens) -> Nested:
        """The encoder's output for the source tokens: vectors."""
        return self.encoder(self.source(source), padding_mask(source, PAD))

    def read(self, source: Tokens) -> Nested:
        """The arrow from encoder to decoder, such as keys and values."""
        mask = padding_mask(source, PAD)
        return self.decoder.read(self.encode(source), mask)

    def decode(
        self, target: Tokens, memory: Nested, state: State | None = None
    ) -> tuple[Vectors, State]:
        """A vector for each target token, and the state after the last.

        Several rows may share a sentence of the memory.
        """
        start, kept = state or (0, None)
        x, kept = self.decoder(self.target(target, start), memory, kept)
        return x, (start + target.size(1), kept)

    def logits(
        self, x: Float[Tensor, "*batch width"]
    ) -> Float[Tensor, "*batch vocab_size"]:
        """Scores of the next token; their softmax is the prediction."""
        return self.output.logits(x)

    def forward(
        self, source: Tokens, target: Tokens, where: Where | None = None
    ) -> Float[Tensor, "*positions vocab_size"]:
        """Logits at every target position, or only where asked for.

        The target is shifted right: it begins with BOS.
        """
        x, _ = self.decode(target, self.read(source))
        return self.logits(x if where is None else chosen(x, where))


class Transformer(EncoderDecoder):
    """Figure 1: from source and target tokens to logits of the next token.

    source and target are InputEmbeddings, encoder an Encoder, decoder a
    Decoder and output a TokenEmbedding, which the other two may share. A layer
    of the encoder is self-attention and a feed-forward network, one of the
    decoder has attention to the encoder's output between them, and each of
    these parts is within an AddNorm (3.1).
    """


def scale_residual_init(stack: nn.ModuleList) -> None:
    """Divide the last matrix of each sub-layer by sqrt(number of sub-layers).

    It is called output in attention and outer in a feed-forward network.
    """
    last = ("output.weight", "outer.weight")
    matrices = [
        w for name, w in stack.named_parameters() if name.endswith(last)
    ]
    for weight in matrices:
        weight.data /= math.sqrt(len(matrices))


def named_part(name: str) -> Any:
    """What makes a part: the paper's, or one of the table in chapter 17."""
    paper = {"layer": nn.LayerNorm, "relu": FeedForward}
    later = "annotated_transformer.modern:PARTS"
    return paper.get(name) or resolve_name(later)[name]


class Makers(NamedTuple):
    """What makes the parts of Figure 1, each without further sizes."""

    self_attention: Callable[[], Any]
    cross_attention: Callable[[], Any]
    feed_forward: Callable[[], nn.Module]
    add_norm: Callable[[], AddNorm]
    last_norm: Callable[[], nn.Module]  # of a stack with its norms first
    positions: Callable[[], nn.Module | None]


def parts_of(
    config: ModelConfig,
    attention: Callable[..., Any] | None = None,
    norm: Callable[[int], nn.Module] | None = None,
    feed_forward: Callable[[int, int], nn.Module] | None = None,
) -> Makers:
    """What makes the parts that a configuration names, or your own.

    Yours are called as attention(d_model, heads, d_k, d_v, dropout),
    norm(d_model) and feed_forward(d_model, d_ff).
    """
    d, pre_norm = config.d_model, config.pre_norm
    sizes = config.heads, config.d_k, config.d_v, config.attention_dropout
    look = across = partial(attention or MultiHeadAttention, d, *sizes)
    if config.later_attention:
        if attention is not None:
            raise ValueError(
                "an attention of your own takes no kv_heads, qk_norm, rotary "
                "or alibi positions: leave them out"
            )
        look, across = named_part("attentions")(config)
    norm = norm or named_part(config.norm)
    kind = feed_forward or named_part(config.feed_forward)
    added: dict[str, Callable[[], nn.Module]] = {
        "sinusoidal": partial(SinusoidalPositions, d),
        "learned": partial(LearnedPositions, d, config.max_length),
    }
    return Makers(
        self_attention=look,
        cross_attention=across,
        feed_forward=partial(kind, d, config.d_ff),
        add_norm=partial(AddNorm, d, config.dropout, pre_norm, norm),
        last_norm=partial(norm, d) if pre_norm else nn.Identity,
        positions=added.get(config.positions, lambda: None),
    )


def transformer(
    config: ModelConfig,
    attention: Callable[..., Any] | None = None,
    norm: Callable[[int], nn.Module] | None = None,
    feed_forward: Callable[[int, int], nn.Module] | None = None,
) -> Transformer:
    """A Transformer of these sizes, with new random weights.

    It has the parts that config names, or your own, as in parts_of. No file
    can hold your own: to load such a model again, build it in the same way
    and pass it in.
    """
    make = parts_of(config, attention, norm, feed_forward)
    embed = partial(TokenEmbedding, config.vocab_size, config.d_model)
    of_source = of_target = output = embed()  # one matrix for three uses (3.4)
    if not config.tied:
        of_target, output = embed(), embed()
    source = InputEmbedding(of_source, make.positions(), config.dropout)
    target = InputEmbedding(of_target, make.positions(), config.dropout)

    def encoder_layer() -> EncoderLayer:
        return EncoderLayer(
            make.self_attention(), make.feed_forward(), make.add_norm
        )

    def decoder_layer() -> DecoderLayer:
        return DecoderLayer(
            make.self_attention(),
            make.cross_attention(),
            make.feed_forward(),
            make.add_norm,
        )

    n, m = config.layers, config.decoder_layers or config.layers
    encoder = Encoder([encoder_layer() for _ in range(n)], make.last_norm())
    decoder = Decoder([decoder_layer() for _ in range(m)], make.last_norm())
    if config.pre_norm:
        scale_residual_init(encoder.layers)
        scale_residual_init(decoder.layers)
    model = Transformer(source, encoder, target, decoder, output)
    model.config = config
    return model


def check_published(config: ModelConfig) -> None:
    """Raise ValueError if a part is not the paper's."""
    names = ("norm", "feed_forward", "kv_heads", "qk_norm", "positions")
    for name in names:
        value, published = getattr(config, name), getattr(ModelConfig, name)
        if value not in (published, "learned"):
            raise ValueError(
                f"`{name}={value!r}`: only the paper's parts are supported "
                f"here, such as {published!r}"
            )


def parameter_count(config: ModelConfig) -> int:
    """The number of parameters, by formula, without building the model.

    With d_k = d_v = d_model / heads an attention block has 4 d^2 + 4 d.
    """
    check_published(config)
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
        + config.layers * encoder
        + (config.decoder_layers or config.layers) * decoder
        + 2 * norm * config.pre_norm
        + 2 * config.max_length * d * learned
    )


def length_limit(
    source: Int[Tensor, "batch length"],
    max_positions: int | None = None,
    stretch: float = 1.0,
) -> Int[Tensor, "batch"]:
    """The longest output allowed: the input's length plus 50 (6.1).

    The length may be stretched first, for targets that are far longer than
    their sources; hundredths of stretch count. max_positions is the most, if
    the model has such a limit.
    """
    lengths = (source != PAD).sum(1) * round(100 * stretch) // 100
    return (lengths + 50).clamp(0, max_positions)


@torch.no_grad()
def greedy_decode(
    model: EncoderDecoder, source: Int[Tensor, "batch source_length"]
) -> Int[Tensor, "batch target_length"]:
    """Append the most likely token, until EOS or the limit."""
    limit = length_limit(source, model.max_positions)
    target = source.new_full((len(source), 1), BOS)
    finished = limit < 1
    while not finished.all():
        token = model(source, target)[:, -1].argmax(-1)
        target = torch.cat(
            [target, token.where(~finished, PAD)[:, None]], dim=1
        )
        finished = finished | (token == EOS) | (target.size(1) > limit)
    return target[:, 1:]
