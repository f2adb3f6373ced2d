"""Small models of modern parts: which of them, chosen in several ways."""

import pytest

from annotated_transformer.modern import SELF_ATTENTION, ModernConfig

SIZES = {
    "vocab_size": 30,
    "layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "heads": 4,
    "dropout": 0.0,
    "pre_norm": True,
}
OLD = {"rms_norm": False, "swiglu": False, "positions": "added"}
CHOICES = [
    OLD,
    {},
    {"groups": 2},
    {"positions": "biased", "groups": 1},
    {"rms_norm": False, "groups": 2},
    {"swiglu": False, "positions": "none"},
]
each_choice = pytest.mark.parametrize("choices", CHOICES, ids=str)
each_position = pytest.mark.parametrize("positions", SELF_ATTENTION)


def modern(**changes):
    """The sizes of a small model; changes are parts or other sizes."""
    return ModernConfig(**{**SIZES, **changes})
