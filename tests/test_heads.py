"""Multi-head attention against torch's own layer, loops and properties."""

import pickle
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch_twins import given_weights, randn, shake

from annotated_transformer.attention import (
    causal_mask,
    masked_softmax,
    scaled_dot_product_attention,
)
from annotated_transformer.heads import MultiHeadAttention


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_query_that_sees_nothing_gets_zeros(dtype):
    mask = causal_mask(4).clone()
    mask[2] = False
    q, k, v = torch.randn(3, 2, 3, 4, 8).to(dtype).requires_grad_().unbind()
    textbook = scaled_dot_product_attention(q, k, v, mask)
    assert (textbook[..., 2, :] == 0).all()
    assert (masked_softmax(q @ k.mT, mask)[..., 2, :] == 0).all()

    layer = shake(MultiHeadAttention(24, 3)).to(dtype)
    x = torch.randn(2, 4, 24).to(dtype).requires_grad_()
    answer = layer(x, x, mask)
    torch.testing.assert_close(
        answer[:, 2], layer.output.bias.expand_as(answer[:, 2])
    )
    answer.float().square().sum().backward()
    gradients = [x.grad, *(p.grad for p in layer.parameters())]
    assert all(gradient.isfinite().all() for gradient in gradients)
    (gradient,) = torch.autograd.grad(textbook.float().square().sum(), v)
    assert gradient.isfinite().all()


def test_a_mask_hides_as_in_torch_own_layer():
    ours = shake(MultiHeadAttention(16, 4))
    theirs = given_weights(
        nn.MultiheadAttention(16, 4, batch_first=True).double(), ours
    )
    x, mask = randn(2, 5, 16), causal_mask(5)
    expected, weights = theirs(
        x, x, x, attn_mask=~mask, average_attn_weights=False
    )
    torch.testing.assert_close(ours(x, x, mask), expected)
    torch.testing.assert_close(ours.weights(x, x, mask), weights)


def test_heads_in_one_product_are_a_loop_over_heads():
    """Of widths that are given, and the model's is no multiple of theirs."""
    d_k, d_v = 4, 7
    layer = shake(MultiHeadAttention(10, 3, d_k, d_v))
    x, memory = randn(2, 4, 10), randn(2, 6, 10)
    projected = layer.key_value(memory)
    keys, values = projected[..., : 3 * d_k], projected[..., 3 * d_k :]
    heads = [
        scaled_dot_product_attention(
            layer.query(x)[..., i * d_k : (i + 1) * d_k],
            keys[..., i * d_k : (i + 1) * d_k],
            values[..., i * d_v : (i + 1) * d_v],
        )
        for i in range(3)
    ]
    torch.testing.assert_close(
        layer(x, memory), layer.output(torch.cat(heads, -1))
    )


def test_heads_must_divide_the_width_or_be_given_theirs():
    for sizes in ((512, 6), (512, 6, 64), (512, 6, None, 64)):
        told = "`heads=6`: must divide `d_model=512`"
        with pytest.raises(ValueError, match=told):
            MultiHeadAttention(*sizes)


def cosine_attention(query, key, value, attn_mask=None, dropout_p=0.0):
    cosines = F.cosine_similarity(
        query[..., None, :], key[..., None, :, :], -1
    )
    return masked_softmax(5 * cosines, attn_mask) @ value


class ByCosines(MultiHeadAttention):
    attention_fn = staticmethod(cosine_attention)


class ByCosinesInAMethod(MultiHeadAttention):
    def attention_fn(self, *inputs, **options):
        assert self.query is not None
        return cosine_attention(*inputs, **options)


@pytest.mark.parametrize("kind", [ByCosines, ByCosinesInAMethod])
def test_a_class_may_have_a_function_of_its_own(kind):
    """As an instance may, and as a copy and a pickle of one do."""
    torch.manual_seed(1)
    theirs = MultiHeadAttention(16, 4)
    usual = theirs(x := torch.randn(2, 5, 16), x, causal_mask(5))
    theirs.attention_fn = cosine_attention
    ours = kind(16, 4)
    ours.load_state_dict(theirs.state_dict())
    for layer in (ours, deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        for compute in ("__call__", "weights"):
            got = getattr(layer, compute)(x, x, causal_mask(5))
            assert torch.equal(
                got, getattr(theirs, compute)(x, x, causal_mask(5))
            )
    assert not torch.allclose(ours(x, x, causal_mask(5)), usual)


@pytest.mark.parametrize("attention_fn", [None, cosine_attention])
def test_weights_are_those_that_compute_whatever_is_dropped(attention_fn):
    layer = shake(MultiHeadAttention(16, 4, dropout=0.5))
    layer.attention_fn = attention_fn or layer.attention_fn
    x, memory, mask = *randn(2, 2, 5, 16), causal_mask(5)
    trained, dropped = layer.weights(x, memory, mask), layer(x, memory, mask)
    layer.eval()
    weights, answer = layer.weights(x, memory, mask), layer(x, memory, mask)
    assert torch.equal(trained, weights)
    assert torch.allclose(dropped, answer) == bool(attention_fn)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 5).double())
    _, values = layer.keys_values(memory)
    heads = (weights @ values).transpose(1, 2).flatten(2)
    torch.testing.assert_close(layer.output(heads), answer)
