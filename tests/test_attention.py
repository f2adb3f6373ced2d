"""Attention against torch's own layers, plain loops and properties."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from annotated_transformer.attention import (
    additive,
    attention_weights,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)

SIZES = st.integers(1, 6)
SEEDS = st.integers(0, 2**16)


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator)


def by_loop(query, key, value, mask):
    """Equation 1, one query and one visible key at a time."""
    rows = []
    for i, q in enumerate(query):
        seen = [j for j in range(len(key)) if mask[i, j]]
        e = [math.exp(sum(q * key[j]) / math.sqrt(len(q))) for j in seen]
        row = torch.zeros(value.size(-1), dtype=value.dtype)
        for weight, j in zip(e, seen, strict=True):
            row += weight / sum(e) * value[j]
        rows.append(row)
    return torch.stack(rows)


def test_masks_are_true_where_a_key_may_be_seen():
    tokens = torch.tensor([[5, 6, 0], [7, 0, 0]])
    mask = padding_mask(tokens)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [
        [True, True, False],
        [True, False, False],
    ]
    assert padding_mask(tokens, pad=7)[1, 0, 0].tolist() == [False, True, True]
    for i in range(4):
        for j in range(4):
            assert causal_mask(4)[i, j].item() == (j <= i)


@given(SEEDS, SIZES, SIZES, SIZES, SIZES)
@settings(deadline=None, max_examples=40)
def test_the_formula_is_the_loop(seed, queries, keys, d_k, d_v):
    q, k = draw(queries, d_k, seed=seed), draw(keys, d_k, seed=seed + 1)
    v = draw(keys, d_v, seed=seed + 2)
    mask = draw(queries, keys, seed=seed + 3) > 0  # rows may be empty
    q, k, v = q.double(), k.double(), v.double()
    result = scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(result, by_loop(q, k, v, mask))


@given(SEEDS, SIZES, SIZES)
@settings(deadline=None, max_examples=40)
def test_rows_sum_to_one_and_answers_stay_in_the_hull(seed, queries, keys):
    q, k = draw(queries, 4, seed=seed), draw(keys, 4, seed=seed + 1)
    v = draw(keys, 3, seed=seed + 2)
    mask = draw(queries, keys, seed=seed + 3) > 0
    mask[:, 0] = True
    weights = attention_weights(q, k, mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(queries))
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    answer = scaled_dot_product_attention(q, k, v, mask)
    for row, seen in zip(answer, mask, strict=True):
        assert (row >= v[seen].min(0).values - 1e-6).all()
        assert (row <= v[seen].max(0).values + 1e-6).all()


@given(SEEDS, st.integers(2, 6))
@settings(deadline=None, max_examples=40)
def test_a_hidden_key_changes_nothing(seed, keys):
    q, k, v = draw(3, keys, 4, seed=seed).unbind()
    mask = torch.ones(keys, dtype=torch.bool)
    mask[seed % keys] = False
    before = scaled_dot_product_attention(q, k, v, mask)
    k[~mask], v[~mask] = 1e4, -1e4
    torch.testing.assert_close(
        scaled_dot_product_attention(q, k, v, mask), before, rtol=0, atol=0
    )
    torch.testing.assert_close(
        before, scaled_dot_product_attention(q, k[mask], v[mask])
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_an_additive_mask_has_the_type_of_products(dtype):
    x, mask = draw(2, 3, 8), causal_mask(3)
    assert additive(mask, x).dtype == torch.float32
    assert additive(mask, x.double()).dtype == torch.float64
    with torch.autocast("cpu", dtype):
        assert additive(mask, x).dtype == (x @ x.mT).dtype == dtype
    assert additive(mask, x.to("meta")).dtype == torch.float32


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("d_v", [8, 5])
def test_the_fast_kernel_is_the_textbook_formula(masked, d_v):
    mask = causal_mask(6) & (draw(2, 1, 6, 6) > -0.5) if masked else None
    if masked:
        mask[0, 0, 3] = False
    tensors = draw(2, 4, 6, 8), draw(2, 4, 6, 8, seed=1)
    results = []
    for attention in (
        scaled_dot_product_attention,
        F.scaled_dot_product_attention,
    ):
        inputs = [*tensors, draw(2, 4, 6, d_v, seed=2)]
        inputs = [t.clone().requires_grad_() for t in inputs]
        answer = attention(*inputs, mask)
        gradients = torch.autograd.grad(answer.square().sum(), inputs)
        results.append([answer, *gradients])
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-5)
