"""Text typed in other ways: how often, how far, and the same every day."""

import random
from collections import Counter
from itertools import islice

import pytest
import torch
from builtin_text import BPE, LINES, PAIRS
from hypothesis import given
from hypothesis import strategies as st
from small_runs import learning

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import (
    BPEDropout,
    encode_pairs,
    train_tokenizer,
)
from annotated_transformer.embedding import EOS, UNK
from annotated_transformer.runs.batches import TrainingText
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.runs.train import encode_corpus
from annotated_transformer.text.casing import (
    as_sentence,
    by_small_letters,
    in_title_case,
    usual_words,
)
from annotated_transformer.text.noise import (
    WAYS,
    SourceNoise,
    as_typed,
    typing_errors,
)
from annotated_transformer.text.normalization import normalized
from annotated_transformer.text.reading import Reader

TEXT = "A small dog sleeps on the warm street."


def kind(text: str) -> str:
    """How the sentence was typed, as far as case tells."""
    known = {TEXT.upper(): "capitals", in_title_case(TEXT): "title"}
    known |= {TEXT.lower(): "small", TEXT: "plain"}
    return {key.rstrip("."): way for key, way in known.items()}.get(
        text.rstrip("."), "errors"
    )


@pytest.mark.parametrize("times", [0.0, 1.0, 2.0])
def test_shares_are_those_of_the_recipe(times):
    rng = random.Random(0)
    texts = [as_typed(TEXT, rng, times) for _ in range(20_000)]
    shares = Counter(map(kind, texts))
    without_errors = 1 - 0.05 * times
    expected = {
        "capitals": 0.07 * times * without_errors,
        "title": 0.05 * times * without_errors,
        "small": 0.05 * times * without_errors,
        "errors": 0.05 * times,
    }
    for way, share in expected.items():
        assert shares[way] / 20_000 == pytest.approx(share, abs=0.006), way
    stops = sum(not text.endswith(".") for text in texts) / 20_000
    assert stops == pytest.approx(0.2 * times, abs=0.01)


@pytest.mark.parametrize("text", ["Bench.", "A red bench."])
def test_a_phrase_keeps_its_full_stop(text):
    rng = random.Random(0)
    typed = {as_typed(text, rng, 5.0) for _ in range(1000)}
    assert len(typed) > 3 and all(x.endswith(".") for x in typed)


def edits(word: str) -> set[str]:
    """All words at one error's distance, and the word itself."""
    letters = "abcdefghijklmnopqrstuvwxyzäöüß"
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    found = {a + b[1:] for a, b in cuts}
    found |= {a + b[1::-1] + b[2:] for a, b in cuts if len(b) > 1}
    for x in [*letters, *letters.upper(), *word]:
        found |= {a + x + b[1:] for a, b in cuts if b}
        found |= {a + x + b for a, b in cuts}
    return found


@given(st.sampled_from(LINES), st.integers(0, 99), st.integers(0, 1))
def test_an_error_is_one_step_from_the_word(text, seed, least):
    typed = typing_errors(text, random.Random(seed), 0.3, least)
    words, others = text.split(" "), typed.split(" ")
    assert len(words) == len(others)
    for word, other in zip(words, others, strict=True):
        assert other in edits(word)
        assert other == word or len(word.strip(".,")) >= 4


def test_a_tenth_of_the_longer_words_have_errors():
    rng, wrong, longer = random.Random(0), 0, 0
    for line in LINES * 5:
        typed = typing_errors(line, rng)
        longer += sum(len(x.strip(".,")) >= 4 for x in line.split())
        wrong += sum(map(str.__ne__, line.split(), typed.split()))
    assert wrong / longer == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("name", WAYS)
def test_each_way_is_drawn_again_alike(name):
    way, _ = WAYS[name]

    def drawn(seed):
        rng = random.Random(seed)
        return [way(text, rng) for text in [*LINES[:50], 'It\'s "so".', ""]]

    assert drawn(1) == drawn(1) != [*LINES[:50], 'It\'s "so".', ""]
    if name in ("odd blanks", "curly quotes", "decomposed accents"):
        assert normalized(drawn(1)) == [*LINES[:50], 'It\'s "so".', ""]
    if name == "a zero-width blank":
        assert normalized(drawn(1))[:50] == LINES[:50]


EXAMPLES, _ = encode_pairs([*PAIRS[:60], ("a Ж", "ein")], BPE, max_length=99)


@pytest.mark.parametrize(("seed", "limit"), [(0, 99), (1, 99), (2, 20)])
def test_sources_are_read_as_a_translator_reads_them(seed, limit):
    """Targets stay, and so does what is unknown or would be too long."""
    found = SourceNoise(Reader(BPE), 3.0, limit)(EXAMPLES, str(seed))
    assert found == SourceNoise(Reader(BPE), 3.0, limit)(EXAMPLES, str(seed))
    assert found != SourceNoise(Reader(BPE), 3.0, limit)(EXAMPLES, "other")
    rng = random.Random(f"{seed} noise")
    for (usual, label), (source, target) in zip(EXAMPLES, found, strict=True):
        assert target == label
        typed = as_typed(BPE.decode(usual), rng, 3.0)
        ids = BPE.encode(as_sentence(typed, BPE)[0])
        if UNK in usual or len(ids) > limit or BPE.decode(usual) == typed:
            ids = usual
        assert source == ids and source[-1] == EOS


def test_what_goes_through_stays_in_sources_as_in_targets():
    """Else a model would learn to write marks that are put around again."""
    pieces = train_tokenizer(['"A dog runs."', "a god"], 30, "char")
    noise = SourceNoise(Reader(pieces), 5.0, 99)
    for line, stays in (('"A dog runs."', True), ("A dog runs.", False)):
        given, _ = encode_pairs([(line, "dog")], pieces, 99)
        found = [noise(given, str(seed)) == given for seed in range(20)]
        assert UNK not in given[0][0] and all(found) == stays


WORDS = by_small_letters(usual_words([source for source, _ in PAIRS]))


def text_with(**options) -> TrainingText:
    recipe = learning(RECIPES["builtin"], batch_tokens=256, **options)
    corpus = Corpus(PAIRS, PAIRS, {}, "x", "en", "de", {})
    return encode_corpus(corpus, BPE, recipe, words=WORDS).learned


def test_a_run_reads_sources_with_noise_and_targets_without():
    noisy, plain = text_with(noise=2.0), text_with()
    changed = 0
    both = zip(noisy.batches(), plain.batches(), strict=True)
    for one, other in islice(both, 30):
        changed += not torch.equal(one.source, other.source)
        assert torch.equal(one.labels, other.labels)
    assert changed > 20


def test_other_subwords_are_those_of_what_was_typed():
    change = text_with(noise=3.0, bpe_dropout=0.3).change
    reader = Reader(BPE, words=WORDS)
    typed = SourceNoise(reader, 3.0, 256)(EXAMPLES, "1")
    expected = BPEDropout(BPE.vocabulary, 0.3, 256)(typed, "1")
    assert change(EXAMPLES, "1") == expected != typed
