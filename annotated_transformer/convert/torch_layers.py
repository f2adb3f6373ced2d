"""The same model in layers that others wrote: here, in torch's own.

One table says what corresponds to what, and serves both directions; the
module huggingface adds models of transformers.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..attention import causal_mask
from ..embedding import PAD
from ..errors import UserError
from ..heads import MultiHeadAttention
from ..model import (
    EncoderDecoder,
    ModelConfig,
    Transformer,
    Where,
    chosen,
    transformer,
)
from ..modern import SwiGLU
from ..storage.builders import find_builder, own_code

ENCODER_LAYER = (
    "self_attention around_attention.norm "
    "feed_forward.inner feed_forward.outer around_feed_forward.norm"
)
DECODER_LAYER = (
    "self_attention around_self.norm cross_attention around_cross.norm "
    "feed_forward.inner feed_forward.outer around_feed_forward.norm"
)
ALL = (
    "source target output "
    "encoder.layers encoder.norm decoder.layers decoder.norm"
)
HUGGINGFACE_ENCODER_LAYER = (
    ENCODER_LAYER,
    "self_attn self_attn_layer_norm fc1 fc2 final_layer_norm",
)
HUGGINGFACE_DECODER_LAYER = (
    DECODER_LAYER,
    "self_attn self_attn_layer_norm encoder_attn encoder_attn_layer_norm "
    "fc1 fc2 final_layer_norm",
)
# By the class of theirs: the names of our parts, and their names there.
NAMES = {
    "TransformerEncoderLayer": (
        ENCODER_LAYER,
        "self_attn norm1 linear1 linear2 norm2",
    ),
    "TransformerDecoderLayer": (
        DECODER_LAYER,
        "self_attn norm1 multihead_attn norm2 linear1 linear2 norm3",
    ),
    "TorchTransformer": (ALL, ALL),
    "MarianEncoderLayer": HUGGINGFACE_ENCODER_LAYER,
    "MarianDecoderLayer": HUGGINGFACE_DECODER_LAYER,
    "MarianMTModel": (
        "source.tokens encoder.layers decoder.layers",
        "model.shared model.encoder.layers model.decoder.layers",
    ),
    "PegasusEncoderLayer": HUGGINGFACE_ENCODER_LAYER,
    "PegasusDecoderLayer": HUGGINGFACE_DECODER_LAYER,
    "PegasusForConditionalGeneration": (
        "source.tokens encoder.layers encoder.norm "
        "decoder.layers decoder.norm",
        "model.shared model.encoder.layers model.encoder.layer_norm "
        "model.decoder.layers model.decoder.layer_norm",
    ),
    "LlamaDecoderLayer": (
        "self_attention around_attention.norm "
        "feed_forward around_feed_forward.norm",
        "self_attn input_layernorm mlp post_attention_layernorm",
    ),
    "LlamaForCausalLM": (
        "target.tokens decoder.layers decoder.norm output",
        "model.embed_tokens model.layers model.norm lm_head",
    ),
}

# By the field of a configuration: the parts that everybody knows.
PAPER = {
    "norm": ("layer",),
    "feed_forward": ("relu",),
    "kv_heads": (None,),
    "qk_norm": (False,),
    "positions": ("sinusoidal", "learned"),
}


def projections(attention: nn.Module) -> list[Tensor]:
    """W^Q, W^K, W^V, their biases, W^O and its bias, whoever's they are."""
    if isinstance(attention, MultiHeadAttention):
        query, both = attention.query, attention.key_value
        weights = [query.weight, *both.weight.chunk(2)]
        biases = [query.bias, *both.bias.chunk(2)]
        return [*weights, *biases, *attention.output.parameters()]
    parts: dict[str, Any] = dict(attention.named_children())
    output = parts.get("out_proj") or parts["o_proj"]
    if isinstance(attention, nn.MultiheadAttention):
        weights = [*attention.in_proj_weight.chunk(3)]
        biases = [*attention.in_proj_bias.chunk(3)]
    else:
        three = [parts[f"{x}_proj"] for x in "qkv"]
        weights = [projection.weight for projection in three]
        biases = [bias_of(projection) for projection in three]
    return [*weights, *biases, output.weight, bias_of(output)]


def bias_of(linear: Any) -> Tensor:
    """Its bias, or zeros if it has none, as is usual in a Llama."""
    weight: Tensor = linear.weight
    return (
        weight.new_zeros(len(weight)) if linear.bias is None else linear.bias
    )


def pairs(
    ours: nn.Module, theirs: nn.Module
) -> Iterator[tuple[Tensor, Tensor]]:
    """Each tensor of ours with the one of theirs that means the same.

    They are the parameters themselves or views of them: copying one into the
    other, under torch.no_grad, converts in either direction.
    """
    if isinstance(ours, nn.ModuleList):
        assert isinstance(theirs, nn.ModuleList)
        for layers in zip(ours, theirs, strict=True):
            yield from pairs(*layers)
    elif isinstance(ours, MultiHeadAttention):
        yield from zip(projections(ours), projections(theirs), strict=True)
    elif isinstance(ours, SwiGLU):
        three = [*ours.inner.weight.chunk(2), ours.outer.weight]
        yield from zip(three, theirs.parameters(), strict=True)
    elif names := NAMES.get(type(theirs).__name__):
        for name, other in zip(*map(str.split, names), strict=True):
            part = ours.get_submodule(name), theirs.get_submodule(other)
            yield from pairs(*part)
    else:
        yield from zip(ours.parameters(), theirs.parameters(), strict=True)


def check_field(config: object, field: str, known: Sequence[object]) -> None:
    """UserError unless a field of a configuration has one of these values."""
    if (found := getattr(config, field, None)) not in known:
        raise UserError(
            f"{field} = {found!r}: a model can be converted only with "
            f"{field} = {' or '.join(map(repr, known))}"
        )


def check_convertible(
    model: EncoderDecoder,
    known: Mapping[str, Sequence[object]] = PAPER,
    builder: str = "transformer",
) -> None:
    """UserError unless others know a model's parts, and a builder makes it."""
    config, own = model.config, own_code(model, None)
    if own or find_builder(config) != builder:
        name = own.get("model") or type(config).__name__
        raise UserError(
            f"{name} has no counterpart elsewhere: only a model of the "
            f"standard parts that {builder}() makes can be converted"
        )
    width = config.d_model // config.heads  # of a head, elsewhere
    for field in ("d_k", "d_v"):
        check_field(config, field, (None, width))
    for field, values in known.items():
        check_field(config, field, values)


Layer = TypeVar(
    "Layer", nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
)


def torch_layer(kind: type[Layer], config: ModelConfig) -> Layer:
    """One of torch's layers, with dropout where ours has it."""
    layer = kind(
        config.d_model,
        config.heads,
        config.d_ff,
        config.dropout,
        batch_first=True,
        norm_first=config.pre_norm,
    )
    layer.dropout.p = 0.0  # inside the feed-forward
    for module in layer.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = config.attention_dropout
    return layer


class TorchTransformer(nn.Module):
    """Our Transformer, its stacks built of torch's layers."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config, ours = config, transformer(config)
        self.source, self.target = ours.source, ours.target
        self.output = ours.output
        self.encoder = nn.TransformerEncoder(
            torch_layer(nn.TransformerEncoderLayer, config),
            config.layers,
            ours.encoder.norm,
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            torch_layer(nn.TransformerDecoderLayer, config),
            config.decoder_layers or config.layers,
            ours.decoder.norm,
        )

    def forward(
        self,
        source: Int[Tensor, "batch source_length"],
        target: Int[Tensor, "batch target_length"],
        where: Where | None = None,
    ) -> Float[Tensor, "*positions vocab_size"]:
        """Logits at every target position, or only where asked for.

        Torch's masks are True where attention is forbidden.
        """
        hidden = source == PAD
        memory = self.encoder(self.source(source), src_key_padding_mask=hidden)
        x = self.decoder(
            self.target(target),
            memory,
            tgt_mask=~causal_mask(target.size(1), target.device),
            memory_key_padding_mask=hidden,
        )
        logits: Tensor = self.output.logits(
            x if where is None else chosen(x, where)
        )
        return logits


@torch.no_grad()
def to_torch(model: Transformer) -> TorchTransformer:
    """The model in torch's layers, with the same logits.

    UserError if one of its parts has no counterpart among them.
    """
    check_convertible(model)
    like = model.source.tokens.weight
    theirs = TorchTransformer(model.config).to(like)
    for mine, other in pairs(model, theirs):
        other.copy_(mine)
    return theirs.train(model.training)


@torch.no_grad()
def from_torch(theirs: TorchTransformer) -> Transformer:
    """The model whose layers torch had; the inverse of to_torch."""
    model = transformer(theirs.config).to(theirs.output.weight)
    for mine, other in pairs(model, theirs):
        mine.copy_(other)
    return model.train(theirs.training)
