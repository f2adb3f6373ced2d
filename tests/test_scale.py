"""What a model costs, and a draft that does not change what it writes."""

import itertools
from collections import Counter

import pytest
import torch
from chi_square import chisquare
from hypothesis import given
from hypothesis import strategies as st
from modern_choices import each_choice, modern
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from torch_twins import lively
from unchecked import unchecked

from annotated_transformer.model import EncoderDecoder
from annotated_transformer.scale import (
    cache_bytes,
    speculative_sample,
    token_operations,
)
from annotated_transformer.writing import (
    LanguageModel,
    next_token_probs,
    sample,
)

# ---- what it costs ----


@each_choice
@pytest.mark.parametrize("tied", [True, False])
@torch.inference_mode()
def test_operations_and_bytes_are_those_of_the_model(choices, tied):
    model = LanguageModel(modern(**choices, tied=tied)).eval()
    tokens = torch.randint(4, 30, (1, 7))
    with (
        FlopCounterMode(display=False) as counter,
        sdpa_kernel(SDPBackend.MATH),
    ):
        x, (_, pasts) = model.decode(tokens, model.read())
        model.logits(x)
    assert token_operations(model, 7) * 7 == counter.get_total_flops()
    kept = sum(x.numel() for pair in pasts for x in pair)
    assert cache_bytes(model.config, 7, size=1) == kept


# ---- a draft ----


class Table(EncoderDecoder):
    """A language model whose next token depends on the last two alone."""

    max_positions = 64

    def __init__(self, logits):
        nn.Module.__init__(self)
        self.table = logits

    def read(self, source):
        return None

    def decode(self, target, memory, state=None):
        begin, past = state or (0, [(torch.zeros(1, 1, 0, 1),) * 2])
        text = torch.cat([past[0][0], target[:, None, :, None]], 2)
        row = text.flatten()
        pairs = torch.stack([row.roll(1), row], 1)[begin:]
        return pairs[None].float(), (len(row), [(text, text)])

    def logits(self, x):
        before, last = x.long().unbind(-1)
        return self.table[before, last]


def tables(seed):
    torch.manual_seed(seed)
    return [Table(1.5 * torch.randn(3, 3, 3)) for _ in range(2)]


def probabilities(table, length, **options):
    """Of every text of some length after two tokens 0."""
    p, found = next_token_probs(table.table, **options), {}
    for text in itertools.product(range(3), repeat=length):
        row, found[text] = [0, 0, *text], 1.0
        for i, token in enumerate(text):
            found[text] *= p[row[i], row[i + 1], token].item()
    return found


def fits(texts, expected):
    """The p-value of texts; 0 where one of them is impossible."""
    counts = Counter(texts)
    if any(expected[text] == 0 for text in counts):
        return 0.0
    possible = [text for text in expected if expected[text]]
    wanted = [len(texts) * expected[text] for text in possible]
    found = [counts[text] for text in possible]
    return chisquare(found, wanted)


@pytest.mark.parametrize(
    ("guesses", "options"),
    [
        (1, {}),
        (2, {"temperature": 0.7}),
        (4, {"top_k": 2}),
        (3, {"top_p": 0.8, "temperature": 1.5}),
    ],
)
def test_texts_come_as_often_as_from_the_model_alone(guesses, options):
    model, draft = tables(seed=5)
    begun, texts = torch.tensor([[0, 0]]), []
    with unchecked():
        for _ in range(1000):
            text, _ = speculative_sample(
                model, draft, begun, 3, guesses, **options
            )
            texts.append(tuple(text[0, 2:].tolist()))
    assert fits(texts, probabilities(model, 3, **options)) > 1e-3
    assert fits(texts, probabilities(draft, 3, **options)) < 1e-9


@given(st.integers(0, 10_000), st.integers(0, 6), st.integers(0, 12))
def test_a_call_gives_a_token_for_each_guess_at_most_and_one_more(
    seed, guesses, length
):
    model, draft = tables(seed)
    begun = torch.tensor([[1, 2, 0]])
    text, calls = speculative_sample(model, draft, begun, length, guesses)
    assert text.shape == (1, 3 + length) and torch.equal(text[:, :3], begun)
    assert length / (guesses + 1) <= calls <= length
    cold = {"temperature": 0.0}
    text, _ = speculative_sample(model, draft, begun, length, guesses, **cold)
    assert torch.equal(text, sample(model, begun, length, **cold))


@pytest.mark.parametrize("guesses", [0, 1, 4, 20])
@torch.inference_mode()
def test_greedily_it_is_what_the_model_writes(guesses):
    """With caches of several layers, cut back after every refusal."""
    torch.manual_seed(3)
    model, draft = (
        lively(LanguageModel(modern(layers=n, kv_heads=2))) for n in (3, 1)
    )
    begun = torch.randint(4, 30, (1, 5))
    alone = sample(model, begun, 20, temperature=0.0)
    text, calls = speculative_sample(
        model, draft, begun, 20, guesses, temperature=0.0
    )
    assert torch.equal(text, alone)
    itself, fewest = speculative_sample(
        model, model, begun, 20, guesses, temperature=0.0
    )
    assert torch.equal(itself, alone)
    assert fewest == -(-20 // (guesses + 1)) <= calls <= 20


def test_a_text_stays_within_the_context():
    model, draft = tables(seed=0)
    with pytest.raises(ValueError, match="65 tokens, and a context of 64"):
        speculative_sample(model, draft, torch.zeros(1, 60).long(), 5)
