"""Positions as vectors, by a plain loop."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.embedding import (
    LearnedPositions,
    SinusoidalPositions,
    sinusoids,
)


def sinusoids_by_loop(length, d_model):
    """The two formulas of section 3.5, one number at a time."""
    table = torch.empty(length, d_model, dtype=torch.float64)
    for pos in range(length):
        for column in range(d_model):
            i = column // 2
            angle = pos / 10_000 ** (2 * i / d_model)
            wave = math.cos if column % 2 else math.sin
            table[pos, column] = wave(angle)
    return table


@given(
    st.integers(1, 33),
    st.integers(1, 12),
    st.integers(0, 40),
    st.integers(1, 8),
)
def test_positions_are_added_from_any_start(d_model, length, start, table):
    """By the formula, for odd widths too."""
    ours = SinusoidalPositions(d_model, table)
    assert ours.table.dtype == torch.float32
    x = torch.randn(2, length, d_model)
    added = ours(x, start) - x
    expected = sinusoids_by_loop(start + length, d_model)[start:].float()
    torch.testing.assert_close(
        added, expected.expand(2, -1, -1), rtol=0, atol=1e-6
    )


def test_table_grows_on_demand_and_keeps_type_and_place():
    ours = SinusoidalPositions(8, length=4).double()
    assert ours(torch.zeros(1, 9, 8).double()).dtype == torch.float64
    assert len(ours.table) == 9  # twice the old table would not have done
    ours(torch.zeros(1, 1, 8).double(), start=9)
    assert len(ours.table) == 18  # one by one, it grows by doubling
    torch.testing.assert_close(
        ours.table.float(), sinusoids(18, 8), rtol=0, atol=1e-7
    )


def test_learned_positions_end_with_a_clear_error():
    ours = LearnedPositions(8, 20)
    ours(torch.zeros(1, 20, 8))
    with pytest.raises(ValueError, match="position 21, but only 20 positions"):
        ours(torch.zeros(1, 21, 8))
    with pytest.raises(ValueError, match="position 21.*max_length"):
        ours(torch.zeros(1, 1, 8), start=20)
