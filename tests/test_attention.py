"""Attention and its masks against plain loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from unchecked import unchecked

from annotated_transformer.attention import (
    attention_weights,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.sequences import RestrictedAttention

SIZES = st.integers(1, 6)


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


def test_signatures_are_checked():
    with pytest.raises(TypeCheckError, match="batch length"):
        padding_mask(torch.ones(2, 3, 4, dtype=torch.long))


@given(SIZES, SIZES, SIZES, SIZES)
def test_the_formula_is_the_loop(queries, keys, d_k, d_v):
    """Which sees no hidden key; and a query may see none at all."""
    q, k = torch.randn(queries, d_k), torch.randn(keys, d_k)
    v, mask = torch.randn(keys, d_v), torch.randn(queries, keys) > 0
    q, k, v = q.double(), k.double(), v.double()
    result = scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(result, by_loop(q, k, v, mask))
    answers = attention_weights(q, k, mask) @ v
    torch.testing.assert_close(answers, result)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_mask_of_ones_and_zeros_is_refused(dtype):
    """A kernel would add it to the scores, and hide nothing."""
    x, layer = torch.randn(1, 3, 8), MultiHeadAttention(8, 2)
    mask, told = causal_mask(3).to(dtype), f"is {dtype}; mask.bool()"
    for reads in (layer, layer.weights, RestrictedAttention(3, 8, 2)):
        with unchecked(), pytest.raises(TypeError, match=told):
            reads(x, x, mask)
