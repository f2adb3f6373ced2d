"""The model against torch's layers, its formulas and its choices."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import SMALL
from torch import nn
from torch_twins import sentences, shake

from annotated_transformer.convert.torch_layers import to_torch
from annotated_transformer.embedding import BOS, EOS, PAD
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import FeedForward
from annotated_transformer.model import (
    PRESETS,
    ModelConfig,
    Transformer,
    greedy_decode,
    length_limit,
    parameter_count,
    transformer,
)

both_orders = pytest.mark.parametrize("pre_norm", [False, True])


def shaken(config: ModelConfig) -> Transformer:
    return shake(transformer(config)).eval()


def tokens(*size):
    return torch.randint(4, 11, size)


@given(
    st.fixed_dictionaries(
        {
            "heads": st.sampled_from([1, 2, 4]),
            "pre_norm": st.booleans(),
            "tied": st.booleans(),
            "positions": st.sampled_from(["sinusoidal", "learned"]),
            "decoder_layers": st.none() | st.integers(1, 3),
        }
    ),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.integers(0, 999),
)
def test_equals_stacks_of_torchs_own_layers(sizes, lengths, seed):
    """All norms and biases are random; paddings are masked on both sides.

    So are the gradients of what comes before all the rest.
    """
    torch.manual_seed(seed)
    model = shaken(replace(SMALL, **sizes))
    source, target = sentences(*lengths), sentences(*lengths[::-1])
    results = []
    for one in (model, to_torch(model)):
        logits = one(source, target)
        logits.square().sum().backward()
        grads = [box.tokens.weight.grad for box in (one.source, one.target)]
        results.append([logits, *grads])
    torch.testing.assert_close(*results)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab_size": 0}, "`vocab_size=0`: must be from 1"),
        ({"decoder_layers": 0}, "`decoder_layers=0`: must be from 1"),
    ],
)
def test_bad_configurations_say_what_to_do(change, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**change)


# Counts

widths = st.integers(1, 6)
every_size = st.fixed_dictionaries(
    {
        "vocab_size": st.integers(5, 20),
        "layers": st.integers(1, 3),
        "d_model": st.sampled_from([4, 8, 12]),
        "d_ff": widths,
        "heads": st.sampled_from([1, 2, 4]),
        "d_k": st.none() | widths,
        "d_v": st.none() | widths,
        "pre_norm": st.booleans(),
        "positions": st.sampled_from(["sinusoidal", "learned"]),
        "max_length": widths,
        "tied": st.booleans(),
        "decoder_layers": st.none() | st.integers(1, 4),
    }
)


@given(every_size)
def test_the_formula_counts_what_is_there(sizes):
    config = ModelConfig(**sizes)
    with torch.device("meta"):
        model = transformer(config)
    counted = sum(p.numel() for p in model.parameters())
    assert counted == parameter_count(config)


# Initialisation


@pytest.mark.parametrize("pre_norm", [True, False])
def test_weights_start_by_glorot_block_by_block(pre_norm):
    config = replace(PRESETS["small"], vocab_size=50, layers=3)
    config, sizes = replace(config, d_k=16, d_v=128), (4 * 16, 4 * 128)
    model = transformer(replace(config, pre_norm=pre_norm))
    blocks, last = [], []
    for stack, sublayers in ((model.encoder, 6), (model.decoder, 9)):
        scale = sublayers**-0.5 if pre_norm else 1.0
        for module in stack.modules():
            if isinstance(module, MultiHeadAttention):
                blocks += [module.query.weight]
                blocks += module.key_value.weight.split(sizes)
                last.append((module.output.weight, scale))
        for layer in stack.layers:
            blocks.append(layer.feed_forward.inner.weight)
            last.append((layer.feed_forward.outer.weight, scale))
    assert len(blocks) == 3 * 9 + 6
    assert len(last) == 6 + 9
    for block, scale in [*((block, 1.0) for block in blocks), *last]:
        std = scale * (2 / sum(block.shape)) ** 0.5
        assert block.std().item() == pytest.approx(std, rel=0.02)
        assert abs(block.mean()) < 0.02 * std
    for name, weight in model.named_parameters():
        assert "bias" not in name or not weight.any()


def test_dropout_is_off_in_evaluation_and_everywhere_in_training():
    model = transformer(replace(SMALL, dropout=0.5))
    places = [m for m in model.modules() if isinstance(m, nn.Dropout)]
    # two sub-layers in each encoder layer, three in each decoder layer, and
    # both embedding sums
    assert len(places) == 2 * 2 + 3 * 2 + 2
    calls = []
    for place in places:
        place.register_forward_hook(lambda *_: calls.append(1))
    source, target = tokens(2, 5), tokens(2, 6)
    assert not torch.equal(model(source, target), model(source, target))
    assert len(calls) == 2 * (2 * 2 + 3 * 2 + 2)
    model.eval()
    assert torch.equal(model(source, target), model(source, target))


class Recorder(MultiHeadAttention):
    pass


class SquaredReLU(FeedForward):
    def forward(self, x):
        return self.outer(self.inner(x).relu().square())


@both_orders
@pytest.mark.parametrize(
    ("part", "published", "kind", "in_each"),
    [
        ("attention", MultiHeadAttention, Recorder, 1 + 2),
        ("norm", nn.LayerNorm, nn.RMSNorm, 2 + 3),
        ("feed_forward", FeedForward, SquaredReLU, 1 + 1),
    ],
)
def test_one_argument_replaces_one_part(
    part, published, kind, in_each, pre_norm
):
    """All of them; the sizes stay those that were asked for."""
    config = replace(SMALL, pre_norm=pre_norm)
    model = transformer(config, **{part: kind})
    found = [m for m in model.modules() if isinstance(m, kind)]
    last = 2 if part == "norm" and pre_norm else 0
    assert len(found) == config.layers * in_each + last
    assert not [m for m in model.modules() if type(m) is published]
    assert model.config is config


# Greedy decoding (6.1)


def test_greedy_follows_the_likeliest_token():
    torch.manual_seed(3)
    model = shaken(SMALL)
    source = tokens(1, 3)
    output = greedy_decode(model, source)[0].tolist()
    target = [BOS]
    while len(target) <= 3 + 50 and target[-1] != EOS:
        logits = model(source, torch.tensor([target]))[0, -1].tolist()
        target.append(logits.index(max(logits)))
    assert output == target[1:]


def biased(token: int) -> Transformer:
    """A model that always says the same token.

    Post-norm outputs have length sqrt(d), so a long row along the last
    norm's shift wins against all others.
    """
    model = transformer(replace(SMALL, tied=False)).eval()
    with torch.no_grad():
        norm = model.decoder.layers[-1].around_feed_forward.norm
        norm.weight.zero_()
        norm.bias.fill_(1.0)
        model.output.weight.zero_()
        model.output.weight[token] = 1.0
    return model


def test_greedy_stops_at_the_input_length_plus_fifty_or_at_the_end():
    source = torch.tensor([[5, 6, 7], [5, PAD, PAD]])
    assert length_limit(source).tolist() == [53, 51]
    assert length_limit(source, stretch=2.5).tolist() == [57, 52]
    assert length_limit(source, 55, 2.5).tolist() == [55, 52]
    output = greedy_decode(biased(9), source)
    assert output.shape == (2, 53)
    assert (output[0] == 9).all() and (output[1, :51] == 9).all()
    assert (output[1, 51:] == PAD).all()
    assert greedy_decode(biased(EOS), source).tolist() == [[EOS], [EOS]]
