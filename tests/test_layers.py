"""What layers drop and hide; tests/test_model has torch's own layers."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_twins import close, randn, shake

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import AddNorm, EncoderLayer, FeedForward

both_orders = pytest.mark.parametrize("pre_norm", [False, True])


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


@both_orders
@given(st.lists(st.booleans(), min_size=2, max_size=6), st.integers(0, 999))
def test_hidden_positions_change_no_visible_one(pre_norm, seen, seed):
    """To the last bit: a weight of zero times anything adds nothing."""
    torch.manual_seed(seed)
    box = partial(AddNorm, 12, 0.0, pre_norm)
    layer = EncoderLayer(MultiHeadAttention(12, 3), FeedForward(12, 20), box)
    shake(layer)
    x = randn(1, len(seen), 12)
    visible = torch.tensor(seen)
    noisy = torch.where(visible[:, None], x, 1e3 * randn(*x.shape))
    before, after = layer(x, visible[None]), layer(noisy, visible[None])
    assert torch.equal(before[:, visible], after[:, visible])
    if not all(seen):  # the control: without the mask they are looked at
        assert not torch.equal(layer(x), layer(noisy))
