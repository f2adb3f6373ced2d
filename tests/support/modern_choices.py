"""Small models of modern parts: which of them, chosen in several ways."""

from typing import Any

import pytest

from annotated_transformer.model import POSITIONS, ModelConfig
from annotated_transformer.modern import MODERN

SIZES = {
    "vocab_size": 30,
    "layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "heads": 4,
    "dropout": 0.0,
    "pre_norm": True,
}
OLD = {"norm": "layer", "feed_forward": "relu", "positions": "sinusoidal"}
CHOICES = [
    OLD | {"kv_heads": 4},
    {},
    {"kv_heads": 2, "qk_norm": True},
    {"positions": "alibi", "kv_heads": 1, "feed_forward": "gelu"},
    {"norm": "layer", "kv_heads": 2, "feed_forward": "relu2"},
    {"positions": "none", "qk_norm": True},
]
each_choice = pytest.mark.parametrize("choices", CHOICES, ids=str)
each_position = pytest.mark.parametrize("positions", POSITIONS)


def modern(**changes: Any) -> ModelConfig:
    """The sizes of a small model; changes are parts or other sizes."""
    return ModelConfig(**{**SIZES, **MODERN, **changes})
