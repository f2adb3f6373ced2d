"""PyTorch's own layers, given the weights of ours: the tests' references."""

import torch
from torch import Tensor, nn

from annotated_transformer.layers import AddNorm, DecoderLayer, EncoderLayer
from annotated_transformer.model import Transformer


def copy_linear(theirs: nn.Linear, ours: nn.Linear) -> None:
    theirs.load_state_dict(ours.state_dict())


def copy_attention(theirs: nn.MultiheadAttention, ours: nn.Module) -> None:
    """Torch keeps queries, keys and values in one matrix, in this order."""
    query, joined = ours.query, ours.key_value
    theirs.in_proj_weight.copy_(torch.cat([query.weight, joined.weight]))
    theirs.in_proj_bias.copy_(torch.cat([query.bias, joined.bias]))
    copy_linear(theirs.out_proj, ours.output)


def copy_rest(theirs: nn.Module, ours: nn.Module, boxes: list) -> None:
    copy_linear(theirs.linear1, ours.feed_forward.inner)
    copy_linear(theirs.linear2, ours.feed_forward.outer)
    for i, box in enumerate(boxes, start=1):
        norm = getattr(theirs, f"norm{i}")
        norm.load_state_dict(box.norm.state_dict())


def sizes_of(ours: nn.Module) -> dict:
    attention, feed_forward = ours.self_attention, ours.feed_forward
    return {
        "d_model": feed_forward.inner.in_features,
        "nhead": attention.heads,
        "dim_feedforward": feed_forward.inner.out_features,
        "dropout": 0.0,
        "batch_first": True,
        "dtype": feed_forward.inner.weight.dtype,
    }


@torch.no_grad()
def torch_encoder_layer(ours: EncoderLayer) -> nn.TransformerEncoderLayer:
    box: AddNorm = ours.around_attention
    theirs = nn.TransformerEncoderLayer(
        **sizes_of(ours), norm_first=box.pre_norm
    )
    copy_attention(theirs.self_attn, ours.self_attention)
    copy_rest(theirs, ours, [box, ours.around_feed_forward])
    return theirs


@torch.no_grad()
def torch_decoder_layer(ours: DecoderLayer) -> nn.TransformerDecoderLayer:
    boxes = [ours.around_self, ours.around_cross, ours.around_feed_forward]
    theirs = nn.TransformerDecoderLayer(
        **sizes_of(ours), norm_first=boxes[0].pre_norm
    )
    copy_attention(theirs.self_attn, ours.self_attention)
    copy_attention(theirs.multihead_attn, ours.cross_attention)
    copy_rest(theirs, ours, boxes)
    return theirs


def torch_logits(ours: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """The logits of torch's layers stacked around our embeddings.

    PAD is 0, and torch's masks are True where attention is forbidden.
    """
    x = ours.source_positions(ours.source_embedding(source))
    for layer in ours.encoder:
        hidden = {"src_key_padding_mask": source == 0}
        x = torch_encoder_layer(layer)(x, **hidden)
    memory = ours.encoder_norm(x)
    y = ours.target_positions(ours.target_embedding(target))
    length = target.size(1)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    for layer in ours.decoder:
        y = torch_decoder_layer(layer)(
            y, memory, tgt_mask=future, memory_key_padding_mask=source == 0
        )
    return ours.decoder_norm(y) @ ours.output_embedding.weight.T
