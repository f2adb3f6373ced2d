"""Builders: known by their sizes, and outlined without memory."""

import subprocess
import sys
from dataclasses import asdict

import pytest
import torch
from tiny_models import TINY
from torch import nn

from annotated_transformer.data import copy_task, make_batch, train_tokenizer
from annotated_transformer.embedding import TokenEmbedding
from annotated_transformer.errors import UserError
from annotated_transformer.layers import AddNorm, EncoderLayer, FeedForward
from annotated_transformer.model import (
    PRESETS,
    Decoder,
    Encoder,
    InputEmbedding,
    ModelConfig,
    Transformer,
    parameter_count,
    transformer,
)
from annotated_transformer.modern import ModernConfig
from annotated_transformer.optimizer import adam
from annotated_transformer.storage.builders import (
    build,
    builder_of,
    outline,
    parameters_of,
    read_sizes,
)
from annotated_transformer.storage.model_folder import save_model
from annotated_transformer.training import TrainConfig, updates
from annotated_transformer.translation import Translator

KINDS = [
    *TINY.values(),
    ModelConfig(16, 2, 8, 8, 2, d_k=3, d_v=5),
    ModelConfig(16, 2, 8, 8, 2, positions="learned", max_length=7),
    *(
        ModernConfig(16, 2, 8, 8, 2, positions=kind, rms_norm=new, swiglu=new)
        for kind in ModernConfig.POSITIONS
        for new in (False, True)
    ),
]


@pytest.mark.parametrize("name", TINY)
def test_a_builder_is_known_by_the_class_of_its_sizes(name):
    assert builder_of(TINY[name]) == name
    assert read_sizes(name, asdict(TINY[name])) == TINY[name]
    assert build(TINY[name]).config == TINY[name]


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


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_parameters_are_as_many_as_the_formula_says(config):
    assert parameters_of(config) == parameter_count(config)


@pytest.mark.parametrize(
    ("builder", "plain", "told"),
    [
        (None, {}, "`builder=None`: must be a word"),
        ("__import__", {}, "choose transformer, modern_transformer"),
        ("transformer", None, "`model=None`: must be an object"),
        ("recurrent_translator", {"heads": 2}, "no field 'model.heads'"),
        ("recurrent_translator", {"width": 3}, "width = 3"),
    ],
)
def test_sizes_of_a_stranger(builder, plain, told):
    with pytest.raises(ValueError, match=told):
        read_sizes(builder, plain)


def test_loading_imports_no_chapter_that_is_not_needed():
    """Nor the compiler that PyTorch would need to draw without memory."""
    code = """
import sys
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.storage.pretrained import find_model
load_model(find_model("multi30k-en-de"))
others = ("modern", "recurrence", "writing")
unused = {f"annotated_transformer.{name}" for name in others}
found = {*unused, "torch._dynamo", "sympy"}.intersection(sys.modules)
assert not found, found
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def composed(vocab_size):
    """A Transformer of boxes, put together by hand."""
    sizes = ModelConfig(vocab_size, 1, 8, 8, 2)
    tokens = TokenEmbedding(vocab_size, 8)
    source, target = (InputEmbedding(tokens, None, 0.0) for _ in range(2))
    plain = transformer(sizes)
    attention = plain.encoder.layers[0].self_attention
    layer = EncoderLayer(attention, FeedForward(8, 8), lambda: AddNorm(8, 0.0))
    encoder = Encoder([layer], nn.Identity())
    decoder = Decoder(plain.decoder.layers, nn.Identity())
    return Transformer(source, encoder, target, decoder, tokens)


def test_a_model_composed_by_hand_trains_and_translates(tmp_path):
    """But no folder could say what it is made of."""
    pairs = copy_task(20)
    tokenizer = train_tokenizer([source for source, _ in pairs], 32, "char")
    model = composed(len(tokenizer))
    encode = tokenizer.encode
    batch = make_batch([(encode(x), encode(y)) for x, y in pairs])
    config = TrainConfig(steps=30, warmup=5)
    done = updates(
        model, iter([batch] * 30), adam(model.parameters()), config, 8
    )
    losses = [float(update.loss) for update in done]
    assert losses[-1] < losses[0] - 0.5
    assert isinstance(Translator(model, tokenizer)("abc"), str)
    with pytest.raises(UserError, match=r"composed by hand, .*state_dict"):
        save_model(tmp_path / "model", model, tokenizer)
    assert not list(tmp_path.iterdir())
