"""Faster products and attention change no result."""

import os
import subprocess
import sys
import time
from copy import deepcopy
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch_twins import lively

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.optimizer import adam, set_rate
from annotated_transformer.runs import run
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.setup import build_model
from annotated_transformer.speed.kernels import (
    attention,
    bf16_slowdown,
    product,
    use_fast_kernels,
    weights_at_rest,
)
from annotated_transformer.training import TrainConfig

CONFIG = ModelConfig(
    vocab_size=4100, layers=1, d_model=64, d_ff=96, heads=2, pre_norm=True
)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return lively(Transformer(CONFIG)).float()


@pytest.fixture
def many():
    """More rows than the least that oneDNN is asked for."""
    return torch.randint(4, 4100, (80, 3))


def faster(model):
    copy = deepcopy(model)
    use_fast_kernels(copy)
    return copy


@torch.no_grad()
def test_float32_is_the_same_product(model, many):
    fast = faster(model)
    torch.testing.assert_close(fast(many, many), model(many, many))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_computes_without_the_threads_of_its_parent():
    """It would wait for them; a process of its own may hang."""
    program = """
import os, signal, sys, torch
from annotated_transformer.speed.kernels import use_fast_kernels
torch.set_num_threads(2)
layer, x = torch.nn.Linear(512, 512), torch.randn(512, 512)
use_fast_kernels(layer)
with torch.inference_mode():
    expected = layer(x)
    child = os.fork()
    if not child:
        signal.alarm(20)
        torch.testing.assert_close(layer(x), expected)
        os._exit(0)
    assert torch.equal(layer(x), expected) and torch.get_num_threads() == 2
sys.exit(os.waitpid(child, 0)[1])
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_float32_asks_another_library(model, many):
    """Otherwise the test above would compare a thing with itself."""
    fast = faster(model)
    with torch.no_grad(), torch.profiler.profile() as seen:
        fast(many, many)
    names = {event.key for event in seen.key_averages()}
    assert "mkldnn::_linear_pointwise" in names


@given(
    shape=st.lists(st.integers(0, 9), max_size=2),
    rows=st.integers(0, 200),
    sizes=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    bias=st.booleans(),
    turned=st.booleans(),
)
@settings(deadline=None)
def test_gradients_are_those_of_linear(shape, rows, sizes, bias, turned):
    layer = nn.Linear(*sizes, bias=bias)
    x = torch.randn(*shape, rows, sizes[0])
    if turned:  # not in one piece of memory
        x = x.mT.contiguous().mT
    dy = torch.randn(*shape, rows, sizes[1])
    found = []
    for multiply in (partial(product, layer), layer):
        given = x.clone().requires_grad_()
        layer.zero_grad()
        y = multiply(given)
        y.backward(dy)
        found.append([y, given.grad, *(p.grad for p in layer.parameters())])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-3)  # sums of many


def test_a_single_vector_has_gradients():
    linear = nn.Linear(1024, 1024)
    x = torch.randn(1024)
    wanted = torch.autograd.grad(linear(x).sum(), linear.weight)[0]
    use_fast_kernels(linear)
    found = torch.autograd.grad(linear(x).sum(), linear.weight)[0]
    assert torch.equal(found, wanted)


def test_training_asks_it_too(many):
    recipe = Recipe(CONFIG, TrainConfig())
    model = build_model(recipe, "cpu")
    with torch.profiler.profile() as seen:
        model(many, many).sum().backward()
    names = [event.name for event in seen.events()]
    layers = sum(isinstance(layer, nn.Linear) for layer in model.modules())
    # the products of each layer, and of the logits, and two of each gradient
    assert names.count("mkldnn::_linear_pointwise") == 3 * (layers + 1)


@given(
    sizes=st.tuples(
        st.integers(1, 70),
        st.integers(1, 9),
        st.integers(1, 9),
        st.integers(1, 70),
    ),
    masked=st.booleans(),
    seed=st.integers(0, 9),
)
@settings(deadline=None)
def test_short_rows_are_the_same_attention(sizes, masked, seed):
    batch, heads, queries, keys = sizes
    torch.manual_seed(seed)
    q = torch.randn(batch, queries, heads, 16).transpose(1, 2)
    k, v = 5 * torch.randn(2, batch, heads, keys, 16)
    mask = torch.rand(batch, 1, 1, keys) < 0.7 if masked else None
    before = [x.clone() for x in (q, k, v)]
    with torch.no_grad():
        found = attention(q, k, v, mask)
    fused = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(found, fused, rtol=1e-4, atol=1e-5)
    assert all(map(torch.equal, before, (q, k, v)))


def kernels(model, *inputs):
    """The names of the attention kernels that the model asks for."""
    with torch.profiler.profile() as seen:
        model(*inputs)
    names = {event.key for event in seen.key_averages()}
    return {name for name in names if "scaled_dot_product_" in name}


def test_where_short_rows_go(model, many):
    """To the formula for translating in float32, else to PyTorch."""
    fast = faster(model)
    with torch.no_grad():
        assert not kernels(fast, many, many)
        assert kernels(fast, many[:3], many[:3])  # few queries
        assert kernels(fast, many.repeat(1, 6), many)  # long rows
        dropping = deepcopy(fast).train()
        for layer in dropping.modules():
            if isinstance(layer, MultiHeadAttention):
                layer.dropout = 0.1  # on the weights
        assert kernels(dropping, many, many)
        with torch.autocast("cpu", torch.bfloat16):
            assert kernels(fast, many, many)
    assert kernels(fast, many, many)  # gradients


def test_bfloat16_is_left_alone(model, many):
    fast = faster(model)
    found = []
    for one in (fast, model):
        with torch.autocast("cpu", torch.bfloat16):
            found.append(one(many, many))
    assert torch.equal(*found)


def test_weights_and_gradients_stay(model, many):
    fast = faster(model)
    assert fast.state_dict().keys() == model.state_dict().keys()
    for one in (fast, model):
        one(many, many).square().mean().backward()
    for ours, theirs in zip(
        fast.parameters(), model.parameters(), strict=True
    ):
        torch.testing.assert_close(ours.grad, theirs.grad)


@torch.no_grad()
def test_a_copy_multiplies_by_its_own_weights(model, many):
    fast = faster(model)
    copy = deepcopy(fast)
    torch.testing.assert_close(copy(many, many), fast(many, many))
    for weight in fast.parameters():
        weight.zero_()
    assert copy(many, many).abs().max() > 1e-3


def orders(model, *inputs):
    """How many weights were put in oneDNN's order."""
    with torch.profiler.profile() as seen:
        found = model(*inputs)
    names = [event.name for event in seen.events()]
    return names.count("mkldnn::_reorder_linear_weight"), found


@torch.no_grad()
def test_weights_at_rest_are_put_in_order_once(model, many):
    fast = faster(model)
    layers = sum(isinstance(layer, nn.Linear) for layer in model.modules())
    count, expected = orders(fast, many, many)
    assert count == 0
    for _ in range(2):  # and not longer than they are at rest
        with weights_at_rest():
            for number in (layers + 1, 0):  # and the logits
                count, found = orders(fast, many, many)
                assert count == number
                torch.testing.assert_close(found, expected)


def test_an_update_is_seen_by_what_comes_after(model, many):
    """The fused optimizer changes weights without a trace in the tensors."""
    fast = faster(model)
    optimizer = adam(fast.parameters())
    set_rate(optimizer, 0.01)
    seen = []
    for _ in range(3):
        plain = Transformer(CONFIG).eval()
        plain.load_state_dict(fast.state_dict())
        with torch.no_grad():
            seen.append(fast(many, many))
            torch.testing.assert_close(seen[-1], plain(many, many))
        with weights_at_rest():
            found = beam_decode(fast, many, 2)
        for ours, theirs in zip(
            found, beam_decode(plain, many, 2), strict=True
        ):
            close = pytest.approx(theirs[0].log_probability, rel=1e-3)
            assert ours[0].log_probability == close
        fast(many, many).square().mean().backward()
        optimizer.step()
    assert (seen[2] - seen[1]).abs().max() > 0.1


@torch.no_grad()
def test_another_type_of_number_works_as_before(model, many):
    fast = faster(model).double()
    torch.testing.assert_close(fast(many, many), model.double()(many, many))


def test_the_search_finds_the_same(model, many):
    fast = faster(model)
    pairs = zip(
        beam_decode(fast, many[:20]),
        beam_decode(model, many[:20]),
        strict=True,
    )
    same = sum(a[0].tokens == b[0].tokens for a, b in pairs)
    assert same >= 19  # where two are nearly equal, either may win


def test_without_onednn(model, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    layer = faster(model).encoder[0].feed_forward.inner
    assert layer.forward.__func__ is nn.Linear.forward


@pytest.fixture
def told(tmp_path, capsys):
    """Train for two updates, in bfloat16 or not: what the console says."""
    pairs = copy_task(60)
    corpus = Corpus(pairs[10:], pairs[:10], {}, "copy", "xx", "xx", {})

    def train(bf16):
        recipe = Recipe(
            ModelConfig(layers=1, d_model=8, d_ff=8, heads=2),
            TrainConfig(
                steps=2, warmup=1, batch_tokens=200, average=1, bf16=bf16
            ),
            tokenizer="char",
        )
        run.train(tmp_path / "run", corpus, recipe, device="cpu")
        return " ".join(capsys.readouterr().err.split())

    return train


SLOW = "`bf16=True` is slow on this processor"


@pytest.mark.parametrize(
    ("bf16", "factor", "warns"),
    [(True, 7.94, True), (True, 0.5, False), (False, 7.94, False)],
)
def test_slow_bfloat16_is_told(told, monkeypatch, bf16, factor, warns):
    monkeypatch.setattr(run, "bf16_slowdown", lambda: factor)
    said = told(bf16)
    assert (SLOW in said) == warns
    assert ("products took 7.9 times as long" in said) == warns


@pytest.mark.skipif(
    not torch.backends.mkldnn.is_available()
    or torch.ops.mkldnn._is_mkldnn_bf16_supported(),
    reason="only a processor without bfloat16",
)
def test_bfloat16_that_is_not_here_is_told(told):
    """On other processors `make test` runs it with ONEDNN_MAX_CPU_ISA."""
    began = time.process_time()
    assert bf16_slowdown() > 1
    assert time.process_time() - began < 1
    assert SLOW in told(bf16=True)
