"""Translators of before: against torch's layers, plain loops, and padding."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch_twins import close, randn, sentences

from annotated_transformer.decoding import beam_decode
from annotated_transformer.recurrence import (
    AdditiveAttention,
    ConvolutionalConfig,
    DotProductAttention,
    GatedConvolution,
    RecurrentConfig,
    convolutional_translator,
    forget_bias,
    recurrent_translator,
)
from annotated_transformer.sequences import LSTM
from annotated_transformer.translation import attention_maps

VOCAB = 15
RECURRENT = RecurrentConfig(VOCAB, 6, 8)
CONVOLUTIONAL = ConvolutionalConfig(VOCAB, 6, 2)
BUILD = {
    "additive": lambda: recurrent_translator(RECURRENT),
    "dot": lambda: recurrent_translator(
        RECURRENT, lambda _: DotProductAttention()
    ),
    "three layers": lambda: recurrent_translator(
        replace(RECURRENT, layers=2, decoder_layers=3)
    ),
    "gru": lambda: recurrent_translator(
        replace(RECURRENT, decoder_layers=2, cell="gru")
    ),
}


def build(name):
    return BUILD[name]().double().eval()


# Attention alone


@pytest.mark.parametrize("attention", [DotProductAttention, AdditiveAttention])
def test_identical_keys_give_the_mean_of_what_may_be_seen(attention):
    """The numbers that attention is often taught with."""
    layer = attention(2) if attention is AdditiveAttention else attention()
    values = torch.arange(40.0).view(1, 10, 4).repeat(2, 1, 1)
    mask = torch.arange(10) < torch.tensor([2, 6])[:, None, None]
    found = layer(torch.randn(2, 1, 2), torch.ones(2, 10, 2), values, mask)
    expected = torch.tensor([[[2.0, 3, 4, 5]], [[10, 11, 12, 13]]])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_additive_score_by_loop_and_by_concatenation():
    layer = AdditiveAttention(5).double()
    W_q, W_k = randn(5, 3), randn(5, 4)
    q, k = randn(1, 2, 3), randn(1, 6, 4)
    found = layer.scores(q @ W_q.T, k @ W_k.T)
    for i in range(2):
        for j in range(6):
            one = torch.cat([q[0, i], k[0, j]])
            hidden = (torch.cat([W_q, W_k], 1) @ one).tanh()
            close(found[0, i, j], layer.v.weight[0] @ hidden)


# The recurrent translator


@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_encoder_is_two_lstms_of_our_own(lengths):
    model = recurrent_translator(RecurrentConfig(VOCAB, 4, 8)).double()
    source = sentences(*lengths)
    first, _, values, _ = model.read(source)
    theirs = model.encoder.recurrence.state_dict()
    for row, n in enumerate(lengths):
        x, lasts = model.source(source[row : row + 1, :n]), []
        for back, end in enumerate(("_l0", "_l0_reverse")):
            ours = LSTM(4).double()
            ours.input.weight.data = theirs["weight_ih" + end]
            ours.state.weight.data = theirs["weight_hh" + end]
            bias = theirs["bias_ih" + end] + theirs["bias_hh" + end]
            ours.input.bias.data = bias
            states = ours(x.flip(1) if back else x)
            lasts.append(states[0, -1])
            states = states.flip(1) if back else states
            close(values[row, :n, 4 * back : 4 * back + 4], states[0])
        close(first[row], model.decoder.first(torch.cat(lasts)).tanh())


@pytest.mark.parametrize("name", BUILD)
def test_decoder_by_loop(name):
    """Query from the last output, context beside the embedding."""
    model, source = build(name), sentences(5, 3)
    target, decoder = sentences(4, 4), model.decoder
    first, keys, values, mask = memory = model.read(source)
    found, (written, last) = model.decode(target, memory)
    (looked,) = attention_maps(model, source, target).cross
    layers = [*first.chunk(len(decoder.cells), -1)]
    if name != "gru":  # an LSTM begins with an empty cell
        layers = [(h, torch.zeros_like(h)) for h in layers]
    for t in range(4):
        h = layers[-1] if name == "gru" else layers[-1][0]
        query = decoder.query(h)
        for row in range(2):
            close(keys[row], values[row] @ decoder.key.weight.T)
        weights = decoder.attention.weights(query[:, None], keys, mask)[:, 0]
        close(looked[:, 0, t], weights)
        context = (weights[:, :, None] * values).sum(1)
        word = model.target(target[:, t : t + 1])[:, 0]
        y = torch.cat([word, context], 1)
        for i, cell in enumerate(decoder.cells):
            layers[i] = cell(y, layers[i])
            y = layers[i] if name == "gru" else layers[i][0]
        close(found[:, t], y)
    torch.testing.assert_close(last, layers)
    assert written == 4


def test_gates_that_keep_start_open():
    lstm = nn.LSTM(3, 5, bidirectional=True)
    before = lstm.bias_ih_l0.clone()
    forget_bias(lstm)
    for bias in (lstm.bias_ih_l0, lstm.bias_ih_l0_reverse):
        assert (bias[5:10] == 1).all()
    assert torch.equal(lstm.bias_ih_l0[:5], before[:5])
    assert torch.equal(lstm.bias_ih_l0[10:], before[10:])


# The convolutional translator


@given(
    length=st.integers(1, 8),
    kernel_size=st.integers(1, 5),
    ahead=st.integers(0, 4),
)
def test_gated_convolution_equals_torch(length, kernel_size, ahead):
    ahead = min(ahead, kernel_size - 1)
    layer = GatedConvolution(3, kernel_size).double()
    nn.init.normal_(layer.linear.bias)
    theirs = nn.Conv1d(3, 6, kernel_size).double()
    weight = layer.linear.weight.unflatten(1, (kernel_size, 3))
    theirs.weight.data, theirs.bias.data = weight.mT, layer.linear.bias
    x = randn(2, length, 3)
    padded = F.pad(x.mT, (kernel_size - 1 - ahead, ahead))
    close(layer(x, ahead), F.glu(theirs(padded), dim=1).mT)


def test_convolutional_decoder_by_loop():
    config = replace(CONVOLUTIONAL, layers=3, kernel_size=5)
    model = convolutional_translator(config).double().eval()
    source, target = sentences(5), sentences(4)
    z, values, mask = memory = model.read(source)
    half, decoder = math.sqrt(0.5), model.decoder
    close(values, (z + model.source(source)) * half * math.sqrt(5))
    x = g = model.target(target)[0]
    for layer, query, answer in zip(
        decoder.layers, decoder.query, decoder.answer, strict=True
    ):
        new = []
        for t in range(4):
            window = [
                x[t - back] if t >= back else torch.zeros_like(x[0])
                for back in reversed(range(5))
            ]
            a, b = layer.linear(torch.cat(window)).chunk(2)
            y = a * b.sigmoid()
            q = (query(y) + g[t]) * half
            weights = (z[0] @ q / math.sqrt(6)).softmax(0)
            c = answer(weights @ values[0])
            new.append((x[t] + (y + c) * half) * half)
        x = torch.stack(new)
    assert mask.all()
    close(model.decode(target, memory)[0][0], x)


def test_convolutions_end_where_positions_do():
    short = replace(CONVOLUTIONAL, layers=1, max_length=9)
    model = convolutional_translator(short).eval()
    assert model.max_positions == 9
    outputs = beam_decode(model, sentences(9, 2), width=2)
    assert all(len(best[0].tokens) <= 9 for best in outputs)
    with pytest.raises(ValueError, match="only 9 positions"):
        model.encode(sentences(10))
