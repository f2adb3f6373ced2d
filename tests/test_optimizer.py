"""The optimizer, against the formulas and the paper's numbers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from annotated_transformer.optimizer import (
    adam,
    inverse_sqrt_rate,
    linear_rate,
)


def test_the_papers_rates():
    """Base and big at update 1, at the end of warm-up, and beyond (5.3)."""
    assert inverse_sqrt_rate(1, 512) == pytest.approx(1.7469e-7, rel=1e-4)
    assert inverse_sqrt_rate(4000, 512) == pytest.approx(6.9877e-4, rel=1e-4)
    assert inverse_sqrt_rate(100_000, 512) == pytest.approx(
        1.3975e-4, rel=1e-4
    )
    assert inverse_sqrt_rate(4000, 1024) == pytest.approx(4.9411e-4, rel=1e-4)


@given(st.integers(1, 10_000), st.integers(1, 5000), st.integers(16, 1024))
def test_linear_before_and_inverse_root_after(step, warmup, d_model):
    rate = inverse_sqrt_rate(step, d_model, warmup)
    peak = (d_model * warmup) ** -0.5
    if step <= warmup:
        assert rate == pytest.approx(peak * step / warmup)
    else:
        assert rate == pytest.approx(peak * (warmup / step) ** 0.5)


@given(st.integers(1, 500), st.integers(501, 4000), st.floats(1e-5, 1e-1))
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
