"""One model as it is, the same one made fast, and work for both."""

from copy import deepcopy

import pytest
import torch
from torch_twins import lively

from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.speed.fast_kernels import use_fast_kernels


@pytest.fixture
def model():
    sizes = ModelConfig(
        vocab_size=4100, layers=1, d_model=64, d_ff=96, heads=2, pre_norm=True
    )
    torch.manual_seed(0)
    return lively(transformer(sizes)).float()


@pytest.fixture
def fast(model):
    copy = deepcopy(model)
    use_fast_kernels(copy)
    return copy


@pytest.fixture
def many():
    """More rows than the least that oneDNN is asked for."""
    return torch.randint(4, 4100, (80, 3))
