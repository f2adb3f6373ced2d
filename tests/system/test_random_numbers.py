"""PyTorch's random numbers are kept, and weights drawn from their seed."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer.model import PRESETS, ModelConfig, transformer
from annotated_transformer.runs.prepare import build_model
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.system.random_numbers import random_numbers_kept
from annotated_transformer.training import TrainConfig


def test_random_numbers_are_kept():
    torch.manual_seed(7)
    torch.rand(3)
    state, expected = torch.get_rng_state(), torch.rand(3)
    torch.set_rng_state(state)
    with pytest.raises(KeyError), random_numbers_kept():
        torch.manual_seed(8)
        raise KeyError
    assert torch.initial_seed() == 7
    assert torch.equal(torch.rand(3), expected)


SIZES = ModelConfig(vocab_size=50, layers=1, d_model=8, d_ff=8, heads=2)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "sizes",
    [
        SIZES,
        replace(SIZES, positions="learned"),
        replace(PRESETS["tiny"], vocab_size=50),
    ],
)
def test_a_model_is_drawn_from_its_own_seed_alone(sizes, fast):
    """And from the numbers that PyTorch would draw after that seed."""
    found, recipe = [], Recipe(sizes, TrainConfig(seed=4))
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        found.append(build_model(recipe, "cpu", fast=fast).state_dict())
        assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    found.append(transformer(sizes).state_dict())
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=0, atol=0)
