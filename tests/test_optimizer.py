"""The optimizer, against the formulas, PyTorch's and the paper's numbers."""

import copy
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import TINY
from torch import nn

from annotated_transformer import optimizer as module
from annotated_transformer.errors import UserError
from annotated_transformer.optimizer import (
    adam,
    inverse_sqrt_rate,
    layer_matrices,
    linear_rate,
    make_optimizer,
    orthogonal,
    set_rate,
    stable_rate,
)
from annotated_transformer.storage.builders import build


@given(st.integers(1, 10_000), st.integers(1, 5000), st.integers(16, 1024))
def test_linear_before_and_inverse_root_after(step, warmup, d_model):
    rate = inverse_sqrt_rate(step, d_model, warmup)
    peak = (d_model * warmup) ** -0.5
    if step <= warmup:
        assert rate == pytest.approx(peak * step / warmup)
    else:
        assert rate == pytest.approx(peak * (warmup / step) ** 0.5)


@given(st.integers(1, 50), st.integers(51, 400), st.floats(1e-5, 1e-1))
def test_linear_schedule_is_two_straight_lines(warmup, steps, peak):
    rates = [linear_rate(s, peak, warmup, steps) for s in range(1, steps + 1)]
    assert rates[0] == pytest.approx(peak / warmup)
    assert max(rates) == rates[warmup - 1] == pytest.approx(peak)
    assert rates[-1] == 0
    falls = torch.tensor(rates[warmup - 1 :], dtype=torch.float64).diff()
    assert falls == pytest.approx(falls[0].item(), abs=1e-12)


def test_adam_has_the_papers_constants():
    optimizer = adam([nn.Parameter(torch.zeros(2))])
    group = optimizer.param_groups[0]
    assert group["betas"] == (0.9, 0.98)
    assert group["eps"] == 1e-9
    assert not group["weight_decay"]


@given(st.integers(1, 400), st.integers(1, 400), st.floats(1e-5, 1e-1))
def test_stable_schedule_is_three_straight_lines(warmup, decay, peak):
    steps = 1000
    rates = [
        stable_rate(step, peak, warmup, steps, decay / steps)
        for step in (1, warmup, warmup + 1, steps - decay, steps - 1, steps)
    ]
    expected = [peak / warmup, peak, peak, peak, peak / decay, 0]
    assert rates == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (6, 6), (1, 5)])
def test_singular_values_become_about_one(shape):
    """And the directions are kept: the sign of each value as well."""
    torch.manual_seed(0)
    matrix = torch.randn(shape)
    found = orthogonal(matrix)
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.65 and values.max() < 1.25
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    inner = u.T @ found @ v.T
    torch.testing.assert_close(inner, inner.diag().diag(), rtol=0, atol=0.05)
    assert (inner.diag() > 0.6).all()
    assert not orthogonal(torch.zeros(shape)).any()


def moved(model, optimizers, updates=6):
    """A model after updates with random gradients and growing rates."""
    rng = torch.Generator().manual_seed(1)
    for step in range(updates):
        for p in model.parameters():
            p.grad = torch.randn(p.shape, generator=rng) / (1 + step)
        for optimizer in optimizers:
            set_rate(optimizer, 0.01 * step)
            optimizer.step()
    return model


def fresh():
    torch.manual_seed(0)
    return build(TINY["transformer"])


@pytest.mark.parametrize(
    ("name", "dtype"), [("adamw", None), ("muon", torch.bfloat16)]
)
def test_updates_are_those_of_pytorch(name, dtype, monkeypatch):
    """Bit for bit, where the products are in bfloat16, as theirs always are.

    In float32 they are the same but for its rounding.
    """
    ours, theirs, plain = fresh(), fresh(), fresh()
    moved(plain, [make_optimizer(plain, name, 0.1)])
    in_dtype = partial(orthogonal, dtype=dtype)
    monkeypatch.setattr(module, "orthogonal", in_dtype)
    inner = layer_matrices(theirs) if name == "muon" else []
    rest = [p for p in theirs.parameters() if p not in {*inner}]
    decay = 0.1
    groups = [
        {"params": [p for p in rest if p.dim() > 1], "weight_decay": decay},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
    ]
    reference = [torch.optim.AdamW(groups, 0.0, (0.9, 0.95), fused=True)]
    if name == "muon":
        if not hasattr(torch.optim, "Muon"):
            pytest.skip("PyTorch has a Muon from 2.9 on")
        how = {"adjust_lr_fn": "match_rms_adamw", "weight_decay": decay}
        reference.append(torch.optim.Muon(inner, 0.0, **how))
    moved(ours, [make_optimizer(ours, name, decay)])
    moved(theirs, reference)
    same = zip(ours.parameters(), theirs.parameters(), strict=True)
    assert all(torch.equal(*pair) for pair in same)
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=3e-3)
    start = fresh().state_dict()
    assert not any(map(torch.equal, start.values(), ours.parameters()))


def test_what_is_frozen_stays():
    model = fresh()
    frozen = layer_matrices(model)[0].requires_grad_(False)
    before = frozen.clone()
    optimizer = make_optimizer(model, "muon", 0.1)
    set_rate(optimizer, 0.1)
    sum(p.square().sum() for p in model.parameters()).backward()
    optimizer.step()
    assert torch.equal(frozen, before) and frozen not in optimizer.state


def test_a_state_is_copied_and_loaded():
    """What goes on with a copy of the state ends alike."""
    model = fresh()
    optimizer = make_optimizer(model, "muon", 0.1)
    moved(model, [optimizer], 3)
    other = copy.deepcopy(model)
    loaded = make_optimizer(other, "muon", 0.1)
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for one, by in ((model, optimizer), (other, loaded)):
        moved(one, [by])
    same = zip(model.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(*pair) for pair in same)


def test_a_closure_is_called_with_gradients():
    model = fresh()
    optimizer = make_optimizer(model, "muon")
    set_rate(optimizer, 0.01)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = sum(p.square().sum() for p in model.parameters())
        loss.backward()
        losses.append(loss.item())
        return loss

    found = [optimizer.step(closure).item() for _ in range(3)]
    assert found == losses and found[2] < found[1] < found[0]


def test_what_muon_moves():
    """In the layers, the matrices: neither embeddings nor the output."""
    model = build(TINY["convolutional_translator"])
    assert layer_matrices(model) == [
        part.linear.weight
        for side in (model.encoder, model.decoder)
        for part in side.layers
    ]
    recurrent = build(TINY["recurrent_translator"])
    with pytest.raises(UserError, match="this one has none: choose `opt"):
        make_optimizer(recurrent, "muon")
    make_optimizer(recurrent, "adamw")
    with pytest.raises(UserError, match="must be adam or adamw or muon"):
        make_optimizer(recurrent, "sgd")
