"""Builders: known by their sizes, and outlined without memory."""

import copy
import io
import pickle

import pytest
import torch
from modern_choices import modern
from tiny_models import TINY

from annotated_transformer.model import POSITIONS, ModelConfig
from annotated_transformer.storage.builders import (
    build,
    outline,
    read_sizes,
)

KINDS = [
    *TINY.values(),
    ModelConfig(16, 2, 8, 8, 2, d_k=3, d_v=5),
    ModelConfig(16, 2, 8, 8, 2, positions="learned", max_length=7),
    *(
        modern(positions=positions, kv_heads=2, qk_norm=True)
        for positions in POSITIONS
    ),
    *(
        modern(norm=norm, feed_forward=feed_forward)
        for norm in ("layer", "rms")
        for feed_forward in ("relu", "gelu", "relu2", "swiglu")
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


def pickled(model):
    return pickle.loads(pickle.dumps(model))


def saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("config", KINDS, ids=repr)
@torch.no_grad()
def test_a_model_is_pickled_saved_and_copied_whole(config):
    """Before its tables are made, and after; copies make longer ones."""
    model = build(config).eval()
    ids = torch.randint(4, 16, (2, 5))
    for made in (False, True):
        copies = [way(model) for way in (pickled, saved, copy.deepcopy)]
        for length in (3, 5):
            wanted = model(ids[:, :length], ids[:, :length])
            for other in copies:
                assert other.config == config
                found = other(ids[:, :length], ids[:, :length])
                assert torch.equal(found, wanted), made


@pytest.mark.parametrize(
    ("builder", "plain", "told"),
    [
        (None, {}, "`builder=None`: must be a word"),
        ("__import__", {}, "choose transformer, LanguageModel"),
        ("transformer", None, "`model=None`: must be an object"),
        ("recurrent_translator", {"width": 3}, "`width=3`: must be even"),
        (
            "recurrent_translator",
            {"dropout": 1.0},
            "`dropout=1.0`: must be from 0",
        ),
        (
            "convolutional_translator",
            {"kernel_size": 0},
            "`kernel_size=0`: must be from 1",
        ),
    ],
)
def test_sizes_of_a_stranger(builder, plain, told):
    with pytest.raises(ValueError, match=told):
        read_sizes(builder, plain)
