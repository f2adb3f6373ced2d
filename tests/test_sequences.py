"""Sequence layers against torch's own, and against banded masks."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch_twins import close, randn

from annotated_transformer.attention import causal_mask, padding_mask
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.sequences import (
    LSTM,
    Convolution,
    Recurrence,
    RestrictedAttention,
)

lengths, sizes = st.integers(1, 9), st.integers(1, 6)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(Recurrence, nn.RNN), (LSTM, nn.LSTM)]
)
@given(length=lengths, d_model=sizes)
def test_recurrences_equal_torch(ours, theirs, length, d_model):
    ours, x = ours(d_model).double(), randn(2, length, d_model)
    theirs = theirs(d_model, d_model, batch_first=True).double()
    theirs.load_state_dict(
        {
            "weight_ih_l0": ours.input.weight,
            "weight_hh_l0": ours.state.weight,
            "bias_ih_l0": ours.input.bias,
            "bias_hh_l0": torch.zeros_like(ours.input.bias),
        }
    )
    close(ours(x), theirs(x)[0])


# Windows and convolutions


@given(length=lengths, count=sizes, dilation=st.integers(1, 4))
def test_convolution_equals_torch(length, count, dilation):
    ours, x = Convolution(5, count, dilation).double(), randn(2, length, 5)
    weight = ours.output.weight.unflatten(1, (count, 5)).transpose(1, 2)
    padded = F.pad(x.mT, ((count - 1) * dilation, 0))
    y = F.conv1d(padded, weight, ours.output.bias, dilation=dilation)
    close(ours(x), y.mT)


def test_stacks_see_as_far_as_the_paper_says():
    """L (k - 1) + 1 words in a row; k^L with gaps of 1, k, k^2 (section 4)."""
    for dilations, reach in (((1, 1, 1), 7), ((1, 3, 9), 27)):
        stack = [Convolution(6, 3, gap).double() for gap in dilations]
        x = randn(1, 30, 6).requires_grad_()
        last = nn.Sequential(*stack)(x)[0, -1]
        (gradient,) = torch.autograd.grad(last @ randn(6), x)
        seen = gradient[0].any(-1).tolist()
        assert seen == [False] * (30 - reach) + [True] * reach


# Restricted attention


def diagonals(length, r):
    behind, ahead = (r - 1) // 2, r // 2
    mask = torch.ones(length, length, dtype=torch.bool)
    return mask.triu(-behind).tril(ahead)


def pair(r, heads=2):
    ours = RestrictedAttention(r, 6, heads).double()
    whole = MultiHeadAttention(6, heads).double()
    whole.load_state_dict(ours.state_dict())
    return ours, whole


@given(length=lengths, r=st.integers(1, 12), seed=st.integers(0, 99))
def test_restricted_attention_equals_a_banded_mask(length, r, seed):
    torch.manual_seed(seed)
    (ours, whole), x = pair(r), randn(2, length, 6)
    inside = diagonals(length, r)
    close(ours(x, x), whole(x, x, inside))
    tokens = torch.randint(0, 2, (2, length))
    for mask in (
        padding_mask(tokens),
        causal_mask(length),
        padding_mask(tokens) & causal_mask(length),
    ):
        close(ours(x, x, mask), whole(x, x, mask & inside))


def test_a_query_without_visible_keys_gives_no_nan():
    layer, x = RestrictedAttention(3, 6, 2), torch.randn(1, 5, 6)
    x.requires_grad_()
    y = layer(x, x, padding_mask(torch.tensor([[1, 0, 0, 0, 0]])))
    y.sum().backward()
    close(y[0, 4], layer.output.bias)
    assert x.grad.isfinite().all()
