"""Short rows of attention, and bfloat16: the same by another kernel."""

from copy import deepcopy

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.speed.attention_kernels import (
    attention,
    attention_kernel,
)


def test_attention_by_products_has_the_fused_kernels_gradients():
    cpu, grads = torch.device("cpu"), []
    q, k, v = torch.randn(3, 2, 4, 7, 8, dtype=torch.bfloat16)
    for kernel in (attention_kernel(cpu, True), attention_kernel(cpu, False)):
        inputs = [x.clone().requires_grad_() for x in (q, k, v)]
        with kernel:
            F.scaled_dot_product_attention(*inputs).square().sum().backward()
        grads.append(torch.stack([x.grad for x in inputs]).float())
    torch.testing.assert_close(*grads, rtol=0.05, atol=0.05)


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


def test_where_short_rows_go(fast, many):
    """To the formula for translating in float32, else to PyTorch."""
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
