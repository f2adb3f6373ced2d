"""The parts since 2017, against torch, complex numbers and plain loops."""

import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from modern_choices import OLD, each_choice, modern
from torch import nn
from torch.nn import functional as F
from torch_twins import lively

from annotated_transformer.attention import causal_mask
from annotated_transformer.attention import (
    scaled_dot_product_attention as textbook,
)
from annotated_transformer.embedding import SinusoidalPositions
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import FeedForward
from annotated_transformer.model import (
    ModelConfig,
    parameter_count,
    transformer,
)
from annotated_transformer.modern import (
    ALiBi,
    GELUFeedForward,
    GroupedQueryAttention,
    PositionCache,
    RMSNorm,
    RotaryPositions,
    SquaredReLUFeedForward,
    SwiGLU,
    linear_bias,
    rotate,
    tiled_attention,
)

sizes = st.integers(1, 9)
double = torch.double


def model_of(choices, **changes):
    return lively(transformer(modern(**choices, **changes)))


# ---- norm and feed-forward ----


@given(sizes, sizes, st.sampled_from([1e-8, 1e-5, 1e-2]), st.floats(-3, 3))
def test_rms_norm_is_torchs(length, d_model, eps, shift):
    ours, theirs = RMSNorm(d_model, eps), nn.RMSNorm(d_model, eps)
    gain = torch.randn(d_model)
    for norm in (ours, theirs):
        norm.weight.data = gain
    x = torch.randn(2, length, d_model) + shift
    torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_half_precision_are_made_in_float32(dtype):
    """Squares of 300 are no numbers in float16; torch's errors are ours."""
    x = (300 * torch.randn(100, 128)).to(dtype)
    ours, theirs = (
        norm(128, eps=1e-5).to(dtype)(x) for norm in (RMSNorm, nn.RMSNorm)
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    q, k, v = torch.randn(3, 2, 300, 32)
    q, k, v = (4 * q).to(dtype), (4 * k).to(dtype), v.to(dtype)
    exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double())
    in_tiles, _ = tiled_attention(q, k, v)
    answers = in_tiles, F.scaled_dot_product_attention(q, k, v)
    ours, theirs = ((x.double() - exact).abs().max() for x in answers)
    assert ours <= 1.5 * theirs


@given(sizes, sizes, sizes)
def test_swiglu_is_a_loop(length, d_model, width):
    layer, x = SwiGLU(d_model, width).double(), torch.randn(length, d_model)
    x = x.double()
    W, V = layer.inner.weight.view(2, width, d_model)
    expected = torch.zeros_like(x)
    for n in range(length):
        for j in range(width):
            gate, passes = (W[j] * x[n]).sum(), (V[j] * x[n]).sum()
            inner = gate / (1 + (-gate).exp()) * passes
            expected[n] += layer.outer.weight[:, j] * inner
    torch.testing.assert_close(layer(x), expected)


# ---- positions ----


@given(sizes, sizes, st.integers(0, 5000))
def test_rotation_is_a_complex_product(length, pairs, start):
    x = torch.randn(2, length, 2 * pairs, dtype=double)
    expected = torch.empty_like(x)
    for m in range(length):
        for i in range(pairs):
            z = torch.complex(x[:, m, 2 * i], x[:, m, 2 * i + 1])
            angle = (start + m) * 10_000 ** (-2 * i / (2 * pairs))
            z = z * complex(math.cos(angle), math.sin(angle))
            expected[:, m, 2 * i], expected[:, m, 2 * i + 1] = z.real, z.imag
    torch.testing.assert_close(rotate(x, start), expected)


def test_rotations_of_any_layout():
    """Of columns, and of keys beside values of an odd width."""
    x = torch.randn(6, 5)
    assert torch.equal(rotate(x.T), rotate(x.T.contiguous()))
    beside = torch.randn(2, 5, 7)[..., :4]
    assert torch.equal(rotate(beside), rotate(beside.contiguous()))
    assert rotate(x.T.bfloat16()).dtype == torch.bfloat16
    layer = GroupedQueryAttention(8, 1, 1, 4, 3, positions=RotaryPositions(4))
    assert layer(torch.randn(2, 5, 8), torch.randn(2, 5, 8)).isfinite().all()


@given(st.integers(1, 8), sizes, sizes)
def test_linear_bias_is_a_loop(heads, queries, before):
    keys = queries + before
    bias = linear_bias(heads, queries, keys)
    for h in range(heads):
        for i in range(queries):
            for j in range(keys):
                distance = abs(i + before - j)
                expected = -distance * 2 ** (-8 * (h + 1) / heads)
                assert bias[h, i, j].item() == pytest.approx(expected)


# ---- heads ----


@given(sizes, sizes, st.sampled_from([1, 2, 4]), st.booleans())
def test_groups_are_torchs(queries, keys, groups, masked):
    layer = lively(GroupedQueryAttention(8, 4, groups))
    x = torch.randn(2, queries, 8, dtype=double)
    memory = torch.randn(2, keys, 8, dtype=double)
    mask = torch.rand(2, 1, queries, keys) < 0.6 if masked else None
    if masked:
        mask[..., 0] = True
    q = layer.query(x).view(2, queries, 4, 2).transpose(1, 2)
    k, v = layer.key_value(memory).chunk(2, -1)
    k, v = (y.view(2, keys, groups, 2).transpose(1, 2) for y in (k, v))
    heads = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
    expected = layer.output(heads.transpose(1, 2).reshape(2, queries, 8))
    torch.testing.assert_close(layer(x, memory, mask), expected)
    weights = layer.weights(x, memory, mask)
    torch.testing.assert_close(
        weights.sum(-1), torch.ones_like(weights[..., 0])
    )
    answers = weights @ v.repeat_interleave(4 // groups, 1)
    torch.testing.assert_close(answers, heads)


@given(
    sizes,
    st.sampled_from([1, 2, 4]),
    st.sampled_from([None, "rotary", "alibi"]),
    st.booleans(),
)
def test_placed_attention_is_the_formula(length, groups, placed, normed):
    positions = {"rotary": RotaryPositions(4), "alibi": ALiBi(4)}.get(placed)
    layer = lively(
        GroupedQueryAttention(
            16, 4, groups, positions=positions, qk_norm=normed
        )
    )
    x = torch.randn(2, length, 16, dtype=double)
    q, (k, v) = layer.query(x), layer.key_value(x).chunk(2, -1)
    q, k, v = (y.unflatten(-1, (-1, 4)).transpose(1, 2) for y in (q, k, v))
    if normed:
        q = F.rms_norm(q, (4,), layer.query_norm.weight, 1e-5)
        k = F.rms_norm(k, (4,), layer.key_norm.weight, 1e-5)
    k, v = (y.repeat_interleave(4 // groups, 1) for y in (k, v))
    scores = torch.empty(2, 4, length, length, dtype=double)
    for m in range(length):
        for n in range(length):
            query, key = q[:, :, m], k[:, :, n]
            if placed == "rotary":
                query = rotate(query[:, :, None], m)[:, :, 0]
                key = rotate(key[:, :, None], n)[:, :, 0]
            scores[:, :, m, n] = (query * key).sum(-1) / 2
    if placed == "alibi":
        scores += linear_bias(4, length, length)
    scores = scores.masked_fill(~causal_mask(length), -math.inf)
    expected = scores.softmax(-1)
    found = layer.weights(x, x, causal_mask(length))
    torch.testing.assert_close(found, expected)
    answer = layer.output((expected @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, x, causal_mask(length)), answer)


# ---- tiles ----


@given(sizes, st.integers(1, 40), sizes, st.integers(1, 50), st.floats(0, 30))
def test_tiles_are_exact(queries, keys, d_v, tile, size):
    q = size * torch.randn(2, queries, 4, dtype=double)
    k = torch.randn(2, keys, 4, dtype=double)
    v = torch.randn(2, keys, d_v, dtype=double)
    expected = textbook(q, k, v)
    answer, log_sum = tiled_attention(q, k, v, tile)
    torch.testing.assert_close(answer, expected)
    scores = q @ k.mT / 2
    torch.testing.assert_close(log_sum[..., 0], scores.logsumexp(-1))


# ---- models ----


def test_nothing_exchanged_is_the_model_of_2017():
    """One set of keys a head, named, is what comes without a name."""
    dropped = {"dropout": 0.2, "attention_dropout": 0.4}
    old = lively(transformer(modern(**OLD, **dropped)))
    new = model_of(OLD, kv_heads=4, **dropped)
    new.load_state_dict(old.state_dict())
    source, target = torch.randint(4, 30, (2, 3, 6))
    source[1, 3:] = 0
    for learns in (False, True):
        outputs = []
        for model in (old.train(learns), new.train(learns)):
            torch.manual_seed(5)  # the same numbers are dropped
            outputs.append(model(source, target))
        torch.testing.assert_close(*outputs)


def test_start_has_the_variance_of_2017():
    """Weights of each kind, whichever attention drew them."""
    config = ModelConfig(200, 1, 256, 512, 8, pre_norm=True)
    old, new = transformer(config), transformer(replace(config, kv_heads=8))
    theirs = dict(old.named_parameters())
    assert [*theirs] == [name for name, _ in new.named_parameters()]
    for name, ours in new.named_parameters():
        if ours.dim() > 1:
            ratio = (ours.std() / theirs[name].std()).item()
            assert ratio == pytest.approx(1, abs=0.02), name
        else:  # biases and gains are not drawn
            assert torch.equal(ours, theirs[name]), name


FEED_FORWARD = {
    "relu": FeedForward,
    "gelu": GELUFeedForward,
    "relu2": SquaredReLUFeedForward,
    "swiglu": SwiGLU,
}


@each_choice
def test_parts_are_those_chosen(choices):
    config, model = modern(**choices), model_of(choices)
    assert model.config == config
    kinds = {type(part) for part in model.modules()}
    norm = {"rms": RMSNorm, "layer": nn.LayerNorm}[config.norm]
    other = kinds & {RMSNorm, nn.LayerNorm} - {norm}
    assert (
        norm in kinds and other <= {RMSNorm} and bool(other) <= config.qk_norm
    )
    chosen = FEED_FORWARD[config.feed_forward]
    assert kinds & {*FEED_FORWARD.values()} == {chosen}
    for layer in (*model.encoder.layers, *model.decoder.layers):
        attention = layer.self_attention
        kind = {"rotary": RotaryPositions, "alibi": ALiBi}.get(
            config.positions, type(None)
        )
        assert type(attention.positions) is kind
        assert attention.kv_heads == (config.kv_heads or 4)
        assert isinstance(attention.query_norm, RMSNorm) == config.qk_norm
    for layer in model.decoder.layers:
        assert layer.cross_attention.positions is None
    for part in (model.source, model.target):
        added = isinstance(part.positions, SinusoidalPositions)
        assert added == (config.positions == "sinusoidal")


@pytest.mark.parametrize("activation", ["gelu", "relu2"])
def test_feed_forward_is_torchs_with_another_function(activation):
    """gelu is nn.GELU's, relu2 the square of what relu gives."""
    layer, x = lively(FEED_FORWARD[activation](4, 9)), torch.randn(3, 4)
    inner = nn.functional.linear(
        x.double(), layer.inner.weight, layer.inner.bias
    )
    acted = nn.GELU()(inner) if activation == "gelu" else nn.ReLU()(inner) ** 2
    torch.testing.assert_close(layer(x.double()), layer.outer(acted))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="only the paper's parts"):
        parameter_count(modern())
    with pytest.raises(ValueError, match="must be layer or rms"):
        modern(norm="batch")
    with pytest.raises(ValueError, match="`kv_heads=3`: must divide"):
        modern(kv_heads=3)
    with pytest.raises(ValueError, match="pairs of numbers, and d_k is 3"):
        transformer(modern(d_k=3))
    with pytest.raises(ValueError, match="an attention of your own takes no"):
        transformer(modern(), MultiHeadAttention)


def test_a_table_is_made_once_for_all_layers():
    """Longer if that is needed, and again for another type of number."""
    made = []

    def make(n):
        made.append(n)
        return torch.arange(n).double()[:, None]

    table, single = PositionCache(make), torch.zeros(1)
    with torch.inference_mode():
        assert table(5, single).flatten().tolist() == [0, 1, 2, 3, 4]
    table(3, single), table(6, single), table(9, single)
    assert made == [5, 10]
    assert table(4, single.double()).dtype == torch.float64
    assert made == [5, 10, 10]
    assert not table(4, single).is_inference()


def test_a_copy_has_its_own_kernel():
    positions = RotaryPositions(4)
    layer = lively(GroupedQueryAttention(8, 2, 1, positions=positions))
    other, x = deepcopy(layer), torch.randn(1, 3, 8).to(layer.query.weight)
    assert torch.equal(other(x, x), layer(x, x))
    assert other.attention_fn.__self__ is other
