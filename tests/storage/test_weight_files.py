"""Names of parameters: those of format 1 are read as those of today."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.weight_files import from_format_1

SIZES = ModelConfig(
    vocab_size=7, layers=1, d_model=4, d_ff=3, heads=1, max_length=5
)
# Whole models of format 1, layers by one of their names; written down once.
KINDS = {
    "tied": ["source_embedding.weight"],
    "untied": [
        "source_embedding.weight",
        "target_embedding.weight",
        "output_embedding.weight",
    ],
    "learned": [
        "source_embedding.weight",
        "source_positions.weight",
        "target_positions.weight",
    ],
    "pre_norm": [
        "source_embedding.weight",
        "encoder_norm.weight",
        "encoder_norm.bias",
        "decoder_norm.weight",
        "decoder_norm.bias",
    ],
}
CHANGES = {
    "tied": {},
    "untied": {"tied": False},
    "learned": {"positions": "learned"},
    "pre_norm": {"pre_norm": True},
}
ATTENTION = [
    f"{part}.{kind}"
    for part in ("query", "key_value", "output")
    for kind in ("weight", "bias")
]
FEED_FORWARD = [
    f"feed_forward.{part}.{kind}"
    for part in ("inner", "outer")
    for kind in ("weight", "bias")
]


def layer(attentions: list[str], boxes: list[str]) -> list[str]:
    """The names in a layer, which are what they were."""
    norms = [f"around_{b}.norm.{k}" for b in boxes for k in ("weight", "bias")]
    inside = [f"{kind}.{name}" for kind in attentions for name in ATTENTION]
    return [*inside, *FEED_FORWARD, *norms]


def format_1(kind: str) -> list[str]:
    """All names of a model of that kind and one layer."""
    encoder = layer(["self_attention"], ["attention", "feed_forward"])
    decoder = layer(
        ["self_attention", "cross_attention"],
        ["self", "cross", "feed_forward"],
    )
    return [
        *KINDS[kind],
        *(f"encoder.0.{name}" for name in encoder),
        *(f"decoder.0.{name}" for name in decoder),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_format_1_are_those_of_today(kind):
    with torch.device("meta"):
        model = transformer(replace(SIZES, **CHANGES[kind]))
    today = [name for name, _ in model.named_parameters()]
    found = [from_format_1(name) for name in format_1(kind)]
    assert sorted(found) == sorted(today)
    assert [from_format_1(name) for name in today] == today


def test_a_layer_keeps_its_number():
    name = "decoder.11.cross_attention.key_value.weight"
    expected = "decoder.layers.11.cross_attention.key_value.weight"
    assert from_format_1(name) == expected
