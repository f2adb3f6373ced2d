"""Sequence layers against torch's own, against loops, and by what they see."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.attention import causal_mask, padding_mask
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import AddNorm, EncoderLayer, FeedForward
from annotated_transformer.sequences import (
    LSTM,
    Convolution,
    Recurrence,
    RestrictedAttention,
    band,
    windows,
)

lengths, sizes = st.integers(1, 9), st.integers(1, 6)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def close(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def sees(layer, length, d_model=6):
    """Which inputs (columns) each output (row) depends on, by gradient."""
    x, probe = randn(1, length, d_model).requires_grad_(), randn(d_model)
    y, rows = layer(x)[0] @ probe, []
    for output in y:
        (gradient,) = torch.autograd.grad(output, x, retain_graph=True)
        rows.append((gradient[0] != 0).any(-1).tolist())
    return rows


def places(length, rule):
    return [[rule(i, j) for j in range(length)] for i in range(length)]


# Recurrences


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


def test_recurrence_by_its_formula():
    layer, x = Recurrence(3).double(), randn(4, 3)
    W, U, b = layer.input.weight, layer.state.weight, layer.input.bias
    state = torch.zeros(3, dtype=torch.float64)
    for t in range(4):
        state = (W @ x[t] + U @ state + b).tanh()
        close(layer(x[None])[0, t], state)


def test_lstm_by_its_formula():
    """One number wide: each gate is a row of the two matrices."""
    layer, x = LSTM(1).double(), randn(5)
    w, u = layer.input.weight[:, 0], layer.state.weight[:, 0]
    h = c = torch.zeros((), dtype=torch.float64)
    for t in range(5):
        i, f, g, o = w * x[t] + u * h + layer.input.bias
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        close(layer(x[None, :, None])[0, t, 0], h)


def test_a_gate_that_keeps_holds_the_cell():
    """Forget gate open, nothing written: the first word's trace stays."""
    layer = LSTM(2).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.input.weight[4:6] = torch.eye(2)  # new content is the word
        layer.input.weight[0:2] = 100 * torch.eye(2)  # written if positive
        layer.input.bias[0:2] = -50.0
        layer.input.bias[2:4] = 50.0
    x = torch.zeros(1, 40, 2, dtype=torch.float64)
    x[0, 0] = 1.0
    y = layer(x)[0]
    close(y[-1], y[0])
    assert y[0].min() > 0.1


@pytest.mark.parametrize("layer", [Recurrence, LSTM])
def test_a_state_knows_the_past_alone(layer):
    rows = sees(layer(6).double(), 7)
    assert rows == places(7, lambda i, j: j <= i)


@pytest.mark.parametrize("layer", [Recurrence, LSTM])
@given(length=st.integers(2, 9))
def test_a_beginning_does_not_depend_on_how_the_sentence_goes_on(
    layer, length
):
    layer, x = layer(4).double(), randn(2, length, 4)
    close(layer(x)[:, :-1], layer(x[:, :-1]))


# Windows and convolutions


@given(
    length=lengths,
    count=sizes,
    ahead=st.integers(0, 5),
    dilation=st.integers(1, 12),
)
def test_windows_by_loop(length, count, ahead, dilation):
    ahead = min(ahead, count - 1)
    x = randn(2, length, 3)
    found = windows(x, count, ahead, dilation)
    assert found.shape == (2, length, count, 3)
    for t in range(length):
        for place in range(count):
            source = t + (place - (count - 1 - ahead)) * dilation
            inside = 0 <= source < length
            expected = x[:, source] if inside else torch.zeros_like(x[:, 0])
            assert torch.equal(found[:, t, place], expected)


@given(length=lengths, count=sizes, dilation=st.integers(1, 4))
def test_convolution_equals_torch(length, count, dilation):
    ours, x = Convolution(5, count, dilation).double(), randn(2, length, 5)
    weight = ours.output.weight.unflatten(1, (count, 5)).transpose(1, 2)
    padded = F.pad(x.mT, ((count - 1) * dilation, 0))
    y = F.conv1d(padded, weight, ours.output.bias, dilation=dilation)
    close(ours(x), y.mT)


@pytest.mark.parametrize(("count", "dilation"), [(1, 1), (3, 1), (3, 2)])
def test_convolution_sees_its_window(count, dilation):
    seen = range(0, count * dilation, dilation)
    rows = sees(Convolution(6, count, dilation).double(), 8)
    assert rows == places(8, lambda i, j: i - j in seen)


def test_stacks_see_as_far_as_the_paper_says():
    """L (k - 1) + 1 words in a row; k^L with gaps of 1, k, k^2 (section 4)."""
    for dilations, reach in (((1, 1, 1), 7), ((1, 3, 9), 27)):
        stack = [Convolution(6, 3, gap).double() for gap in dilations]
        row = sees(nn.Sequential(*stack), 30)[-1]
        assert row == [False] * (30 - reach) + [True] * reach


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


def test_a_window_as_wide_as_the_sentence_restricts_nothing():
    (ours, whole), x = pair(13), randn(2, 7, 6)
    close(ours(x, x), whole(x, x))


def test_a_query_without_visible_keys_gives_no_nan():
    layer, x = RestrictedAttention(3, 6, 2), torch.randn(1, 5, 6)
    x.requires_grad_()
    y = layer(x, x, padding_mask(torch.tensor([[1, 0, 0, 0, 0]])))
    y.sum().backward()
    close(y[0, 4], layer.output.bias)
    assert x.grad.isfinite().all()


def test_band_cuts_a_mask_along_its_diagonal():
    mask = causal_mask(4)
    assert band(mask, 4, 3)[:, 0].tolist() == [
        [False, True, False],
        [True, True, False],
        [True, True, False],
        [True, True, False],
    ]
    open_mask = torch.ones(1, 1, dtype=torch.bool)
    assert band(open_mask, 3, 3)[:, 0].tolist() == [
        [False, True, True],
        [True, True, True],
        [True, True, False],
    ]


def test_dropout_of_weights_is_training_s_alone():
    layer, x = RestrictedAttention(3, 6, 2, None, None, 0.5), randn(1, 9, 6)
    layer = layer.double()
    assert not torch.equal(layer(x, x), layer(x, x))
    layer.eval()
    assert torch.equal(layer(x, x), layer(x, x))


def test_an_encoder_layer_takes_it():
    attention, box = RestrictedAttention(3, 6, 2), partial(AddNorm, 6, 0.0)
    layer = EncoderLayer(attention, FeedForward(6, 8), box).double()
    rows = sees(lambda x: layer(x), 7)
    assert rows == places(7, lambda i, j: abs(i - j) <= 1)


# What they cost (Table 1)


@pytest.mark.parametrize(("n", "d"), [(4, 8), (12, 8), (9, 16)])
def test_operations_are_those_of_table_1(n, d):
    near = RestrictedAttention(5, d, 2)
    for layer, expected in (
        (Recurrence(d), 4 * n * d**2),
        (LSTM(d), 16 * n * d**2),
        (Convolution(d, 3), 2 * 3 * n * d**2),
        (lambda x: near(x, x), 4 * 5 * n * d + 8 * n * d**2),
    ):
        with FlopCounterMode(display=False) as counter:
            layer(torch.zeros(1, n, d))
        assert counter.get_total_flops() == expected
