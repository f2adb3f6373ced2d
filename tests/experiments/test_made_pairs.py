"""Pairs that models make: chosen by BLEU, from what a search had found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from annotated_transformer import Translator
from annotated_transformer.translation import Translation
from experiments.shared.made_pairs import (
    extra_pairs,
    nearest,
    other_targets,
    swapped,
)

PAIRS = [
    ("A dog runs on the beach.", "Ein Hund rennt am Strand."),
    ("Two children are playing.", "Zwei Kinder spielen."),
]
WORDS = st.lists(st.sampled_from(["a", "A", "dog", "runs"]), max_size=5)


def near(text, reference):
    """BLEU of one sentence, as sacrebleu alone has it."""
    bleu = BLEU(effective_order=True, lowercase=True)
    return bleu.sentence_score(text, [reference]).score


@pytest.fixture(scope="module")
def translators():
    """One that is forward and one that is backward."""
    found = [Translator.load(f"multi30k-{x}") for x in ("en-de", "de-en")]
    for translator in found:
        translator.beam = 4
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


def test_pairs_are_what_the_searches_found(translators):
    forward, backward = translators
    targets = other_targets(forward, PAIRS, 2)
    for source, target in PAIRS:
        found = [one.text.strip() for one in forward.n_best([source], 4)[0]]
        texts = [text for from_, text in targets if from_ == source]
        assert set(texts) <= set(found) - {target} and len(texts) == 2
    sources = swapped(other_targets(backward, swapped(PAIRS), 2))
    made = extra_pairs(forward, backward, PAIRS, 2)
    assert made == sources + targets
    assert {target for _, target in sources} == {b for _, b in PAIRS}
    assert not set(PAIRS) & set(made)
