"""PyTorch's own layers, given the weights of ours: the tests' references."""

import torch
from torch import nn

from annotated_transformer.convert import pairs
from annotated_transformer.layers import DecoderLayer, EncoderLayer


@torch.no_grad()
def given_weights(theirs: nn.Module, ours: nn.Module) -> nn.Module:
    """Their layer after ours has been copied into it."""
    for mine, other in pairs(ours, theirs):
        other.copy_(mine)
    return theirs


def torch_layer(ours: EncoderLayer | DecoderLayer) -> nn.Module:
    """Torch's layer of the same kind, sizes and weights."""
    encoder = isinstance(ours, EncoderLayer)
    kind = (
        nn.TransformerEncoderLayer if encoder else nn.TransformerDecoderLayer
    )
    inner = ours.feed_forward.inner
    theirs = kind(
        inner.in_features,
        ours.self_attention.heads,
        inner.out_features,
        dropout=0.0,
        batch_first=True,
        norm_first=ours.around_feed_forward.pre_norm,
        dtype=inner.weight.dtype,
    )
    return given_weights(theirs, ours)
