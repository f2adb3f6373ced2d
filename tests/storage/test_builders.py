"""Builders: known by their sizes, and outlined without memory."""

import pytest
import torch
from modern_choices import modern
from tiny_models import TINY

from annotated_transformer.model import (
    FEED_FORWARDS,
    NORMS,
    POSITIONS,
    ModelConfig,
)
from annotated_transformer.storage.builders import (
    build,
    outline,
    parameters_of,
    read_sizes,
)

KINDS = [
    *TINY.values(),
    ModelConfig(16, 2, 8, 8, 2, d_k=3, d_v=5),
    ModelConfig(16, 2, 8, 8, 2, positions="learned", max_length=7),
    *(
        modern(positions=positions, norm=norm, feed_forward=feed_forward)
        for positions in POSITIONS
        for norm in NORMS
        for feed_forward in FEED_FORWARDS
    ),
]


@pytest.mark.parametrize("config", KINDS, ids=repr)
def test_an_outline_is_the_model_without_memory(config):
    drawn = torch.get_rng_state()
    found = dict(outline(config).named_parameters())
    assert torch.equal(torch.get_rng_state(), drawn)
    model = build(config)
    own = dict(model.named_parameters())
    assert {x: found[x].shape for x in found} == {x: own[x].shape for x in own}
    assert all(x.is_meta for x in found.values())
    assert parameters_of(config) == sum(x.numel() for x in own.values())


@pytest.mark.parametrize(
    ("builder", "plain", "told"),
    [
        (None, {}, "`builder=None`: must be a word"),
        ("__import__", {}, "choose transformer, LanguageModel"),
        ("transformer", None, "`model=None`: must be an object"),
        ("recurrent_translator", {"heads": 2}, "no field 'model.heads'"),
        ("recurrent_translator", {"width": 3}, "width = 3"),
    ],
)
def test_sizes_of_a_stranger(builder, plain, told):
    with pytest.raises(ValueError, match=told):
        read_sizes(builder, plain)
