"""Layers against their formulas; tests/test_model has torch's own."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F
from torch_twins import close, randn, shake

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import (
    AddNorm,
    EncoderLayer,
    FeedForward,
)

both_orders = pytest.mark.parametrize("pre_norm", [False, True])
quickly = settings(deadline=None, max_examples=20)


def encoder(pre_norm, d_model=12, heads=3, d_ff=20):
    return shake(
        EncoderLayer(
            MultiHeadAttention(d_model, heads),
            FeedForward(d_model, d_ff),
            partial(AddNorm, d_model, 0.0, pre_norm),
        )
    )


# Feed-forward (3.3)


@quickly
@given(st.integers(1, 9), st.integers(1, 30), st.integers(1, 7))
def test_feed_forward_is_two_convolutions_of_width_one(d_model, d_ff, length):
    ours, x = shake(FeedForward(d_model, d_ff)), randn(2, length, d_model)
    inner = ours.inner.weight[:, :, None], ours.inner.bias
    outer = ours.outer.weight[:, :, None], ours.outer.bias
    y = F.conv1d(F.conv1d(x.transpose(1, 2), *inner).relu(), *outer)
    close(ours(x), y.transpose(1, 2))


# Add & Norm (3.1)


def norm_by_hand(x, norm):
    """Biased variance, and eps under the root."""
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    return (x - mean) / (variance + 1e-5).sqrt() * norm.weight + norm.bias


@both_orders
def test_norm_is_of_the_sum_or_of_what_the_sublayer_reads(pre_norm):
    box, x, W = shake(AddNorm(7, 0.0, pre_norm)), randn(2, 3, 7), randn(7, 7)
    before = norm_by_hand(x, box.norm) if pre_norm else x
    added = x + before @ W
    expected = added if pre_norm else norm_by_hand(added, box.norm)
    close(box(x, lambda y: y @ W), expected)


@both_orders
def test_dropout_touches_what_the_sublayer_wrote_and_nothing_else(pre_norm):
    box, x = AddNorm(64, 0.5, pre_norm), torch.randn(2, 3, 64)
    close(box(x, torch.zeros_like), box.eval()(x, torch.zeros_like))
    box.train()
    added = box.after(x, torch.ones_like(x)) - x
    if pre_norm:
        assert set(added.detach().round(decimals=4).unique().tolist()) == {
            0.0,
            2.0,
        }
    assert not torch.equal(box(x, torch.ones_like), box(x, torch.ones_like))


# Layers (3.1)


@both_orders
@quickly
@given(st.lists(st.booleans(), min_size=2, max_size=6), st.integers(0, 999))
def test_hidden_positions_change_no_visible_one(pre_norm, seen, seed):
    """To the last bit: a weight of zero times anything adds nothing."""
    torch.manual_seed(seed)
    layer, x = encoder(pre_norm), randn(1, len(seen), 12)
    visible = torch.tensor(seen)
    noisy = torch.where(visible[:, None], x, 1e3 * randn(*x.shape))
    before, after = layer(x, visible[None]), layer(noisy, visible[None])
    assert torch.equal(before[:, visible], after[:, visible])
    if not all(seen):  # the control: without the mask they are looked at
        assert not torch.equal(layer(x), layer(noisy))
