"""A decoder-only model: it reads left to right, and draws as it should."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from modern_choices import OLD, each_choice, each_position, modern
from torch_twins import lively

from annotated_transformer.writing import (
    LanguageModel,
    next_token_probs,
    sample,
)

double = torch.double

# ---- the model ----


def test_a_language_model_starts_small():
    """What each box adds, as in an encoder of so many boxes."""
    for choices in (OLD, {}):
        config = modern(d_model=64, d_ff=192, **choices)
        small = LanguageModel(config).decoder.layers
        plain = LanguageModel(replace(config, pre_norm=False)).decoder.layers
        for ours, theirs in zip(small, plain, strict=True):
            for a, b in (
                (ours.self_attention.output, theirs.self_attention.output),
                (ours.feed_forward.outer, theirs.feed_forward.outer),
            ):
                ratio = (a.weight.std() / b.weight.std()).item()
                assert ratio == pytest.approx(0.5, rel=0.05)  # of 4 boxes


@each_choice
def test_every_parameter_learns(choices):
    model = LanguageModel(modern(**choices)).train()
    model.next_logits(torch.randint(4, 30, (3, 6))).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("positions", ["rotary", "alibi"])
def test_layers_share_a_table(positions):
    layers = LanguageModel(modern(positions=positions)).decoder.layers
    assert len({layer.self_attention.positions for layer in layers}) == 1


# ---- next_token_probs ----


@given(
    st.integers(2, 7),
    st.floats(0.2, 5),
    st.integers(0, 8),
    st.floats(0.05, 1),
)
def test_next_token_probs_are_a_loop(vocab, temperature, top_k, top_p):
    logits = torch.randn(3, vocab, dtype=double)
    found = next_token_probs(logits, temperature, top_k, top_p)
    for row, z in zip(found.tolist(), logits.tolist(), strict=True):
        e = [math.exp(x / temperature) for x in z]
        p = [x / sum(e) for x in e]
        kept, total = [], 0.0
        for i in sorted(range(vocab), key=lambda i: -p[i]):
            if total < top_p and (not top_k or len(kept) < top_k):
                kept.append(i)
            total += p[i]
        whole = sum(p[i] for i in kept)
        expected = [p[i] / whole if i in kept else 0 for i in range(vocab)]
        assert row == pytest.approx(expected)


def test_nothing_is_cut_unless_asked():
    logits = 40 * torch.randn(100, 50)
    assert torch.equal(next_token_probs(logits) > 0, logits.softmax(-1) > 0)
    torch.testing.assert_close(next_token_probs(logits), logits.softmax(-1))


@pytest.mark.parametrize(
    "options",
    [{"temperature": -0.1}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.1}],
)
def test_options_out_of_range(options):
    with pytest.raises(ValueError, match="the first two"):
        next_token_probs(torch.zeros(3), **options)


@pytest.mark.parametrize("temperature", [0.0, 1e-40, 1e-300])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, double])
def test_the_coldest_is_greedy(temperature, dtype):
    logits = torch.tensor([[-9.0, 5.0, 4.0], [0.0, -torch.inf, 0.5]]).to(dtype)
    p = next_token_probs(logits, temperature)
    assert p.tolist() == [[0, 1, 0], [0, 0, 1]]


@given(
    logits=arrays(
        np.float32,
        st.integers(1, 40),
        elements=st.floats(-30, 30, width=32),
    ),
    dtype=st.sampled_from(
        [torch.bfloat16, torch.float16, torch.float32, double]
    ),
    top_p=st.floats(0, 1, exclude_min=True) | st.sampled_from([1e-300, 1e-8]),
    temperature=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_a_nucleus_has_the_likeliest_and_no_more_than_it_needs(
    logits, dtype, top_p, temperature
):
    """In every precision, by probabilities that are added up in float64."""
    given = torch.from_numpy(logits).to(dtype)
    found = next_token_probs(given, temperature, top_p=top_p)
    assert found[given == given.max()].any()
    assert found.sum().item() == pytest.approx(1, abs=1e-5)
    p = next_token_probs(given.double(), temperature)
    kept = p[found > 0]
    assert kept.sum() >= top_p - 1e-5
    assert len(kept) == 1 or kept.sum() - kept.min() < top_p + 1e-5


def test_a_nucleus_in_bfloat16_has_its_share():
    """Of many tokens, whose sum bfloat16 would round away."""
    logits = torch.randn(4, 5000).bfloat16()
    p = logits.double().softmax(-1)
    kept = (p * (next_token_probs(logits, top_p=0.99) > 0)).sum(-1)
    torch.testing.assert_close(
        kept, torch.full_like(kept, 0.99), rtol=0, atol=5e-4
    )


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_logits_that_are_not_numbers(bad):
    with pytest.raises(ValueError, match="not numbers"):
        next_token_probs(torch.full((2, 3), bad))


@each_position
@torch.inference_mode()
def test_a_cache_changes_no_draw_and_a_full_one_begins_anew(positions):
    """Beside a plain loop that reads everything each time."""
    model = lively(LanguageModel(modern(positions=positions, max_length=8)))
    begun = torch.randint(4, 30, (3, 2))
    found, text, first = sample(model, begun, 17, top_k=1), begun, 0
    while text.size(1) < 19:
        if text.size(1) - first > 8:
            first = text.size(1) - 4
        best = model.next_logits(text[:, first:])[:, -1].argmax(-1)
        text = torch.cat([text, best[:, None]], 1)
    assert torch.equal(found, text)


@torch.inference_mode()
def test_drawing_ends_with_the_last_row():
    model = lively(LanguageModel(modern()))
    begun = torch.randint(4, 30, (5, 2))
    text = sample(model, begun, 200, stop=7)[:, 2:]
    first = (text == 7).int().argmax(1)
    assert (text == 7).any(1).all() and first.max() == text.size(1) - 1


@torch.inference_mode()
def test_draws_obey_a_rule_and_follow_the_rest_of_the_model():
    """The prompt is among the tokens that a rule sees."""
    model = lively(LanguageModel(modern()))
    begun, n = torch.randint(4, 30, (1, 3)), 20_000

    def rule(tokens, scores):
        assert tokens.shape[:2] == scores.shape[:2] == (n, 1)
        ids = torch.arange(30)
        last = tokens[:, :, -1:]
        return (ids > last) | (ids == 29)  # rising, and the last one stays

    text = sample(model, begun.expand(n, -1), 2, rule=rule)
    assert (text[:, 2:].diff() >= 0).all()
    logits = model.next_logits(begun)[0, -1].clone()
    logits[: begun[0, -1] + 1] = -torch.inf
    p = logits.softmax(-1)
    error = (text[:, 3].bincount(minlength=30) / n - p).abs()
    assert (error <= 5 * (p * (1 - p) / n).sqrt()).all()


def test_a_rule_that_allows_nothing_draws_nothing():
    model = lively(LanguageModel(modern()))
    nothing = torch.zeros(30, dtype=torch.bool)
    with pytest.raises(ValueError, match="none of them is finite"):
        sample(model, torch.tensor([[5]]), 1, rule=lambda *_: nothing)
