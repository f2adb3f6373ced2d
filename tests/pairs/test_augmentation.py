"""Pairs that models make: chosen by BLEU, from what a search had found."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from annotated_transformer import Translator
from annotated_transformer.data import train_tokenizer
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.pairs.augmentation import (
    extra_pairs,
    nearest,
    other_targets,
    swapped,
)
from annotated_transformer.translation import Translation

PAIRS = [("a dog runs", "ein Hund rennt"), ("two dogs", "zwei Hunde")]
WORDS = st.lists(st.sampled_from(["a", "A", "dog", "runs"]), max_size=5)
SIZES = ModelConfig(vocab_size=30, layers=1, d_model=16, d_ff=16, heads=2)


def near(text, reference):
    """BLEU of one sentence, as sacrebleu alone has it."""
    bleu = BLEU(effective_order=True, lowercase=True)
    return bleu.sentence_score(text, [reference]).score


@pytest.fixture(scope="module")
def translators():
    """One that is forward and one that is backward, both of no use."""
    pieces = train_tokenizer([side for pair in PAIRS for side in pair], 30)
    found = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        model = transformer(replace(SIZES, vocab_size=len(pieces)))
        found.append(Translator(model, pieces))
        found[-1].beam = 6
    return found


@given(st.lists(WORDS, max_size=6), WORDS.filter(len), st.integers(1, 4))
def test_the_nearest_are_as_near_as_any_other(found, reference, number):
    texts = [" ".join(words) for words in found]
    reference = " ".join(reference)
    chosen = nearest(
        [Translation(t, 0.0, 0.0, 1) for t in texts], reference, number
    )
    assert set(chosen) <= set(texts)
    lower = [text.lower() for text in chosen]
    assert len(set(lower)) == len(lower)
    assert reference.lower() not in lower and "" not in lower
    could = {t.lower() for t in texts} - {reference.lower(), ""}
    assert len(chosen) == min(number, len(could))
    left = [near(t, reference) for t in could - set(lower)]
    scores = [near(text, reference) for text in chosen]
    assert scores == sorted(scores, reverse=True)
    if left and scores:
        assert scores[-1] >= max(left)


def test_equally_near_ones_keep_the_order_of_the_search():
    texts = ["d c", "c d", "b", "a b c"]
    found = [Translation(text, 0.0, 0.0, 1) for text in texts]
    assert nearest(found, "e f g h", 4) == texts


def test_targets_are_what_the_search_found(translators):
    forward, _ = translators
    made = other_targets(forward, PAIRS, 4)
    for source, target in PAIRS:
        found = [one.text.strip() for one in forward.n_best([source], 6)[0]]
        texts = [text for from_, text in made if from_ == source]
        assert set(texts) <= set(found) - {target}
        assert len(texts) == min(4, len({t.lower() for t in found} - {""}))


def test_both_directions(translators):
    forward, backward = translators
    made = extra_pairs(forward, backward, PAIRS, 2)
    sources = swapped(other_targets(backward, swapped(PAIRS), 2))
    assert made == sources + other_targets(forward, PAIRS, 2)
    people = {target for _, target in PAIRS}
    assert {target for _, target in sources} <= people
    assert not set(PAIRS) & set(made)


def test_batches_change_no_pair(translators):
    made = extra_pairs(*translators, PAIRS, 2)
    for batch_tokens in (1, 100):
        assert extra_pairs(*translators, PAIRS, 2, batch_tokens) == made
    with pytest.raises(ValueError, match="batch_tokens=0"):
        extra_pairs(*translators, PAIRS, 2, 0)
