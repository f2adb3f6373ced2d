"""The built-in corpus: right German, links, tags, and its entropy floor."""

import hashlib
import math
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from annotated_transformer.corpora.builtin import (
    entropy_floor,
    example_splits,
    sentence_pairs,
    words,
)
from annotated_transformer.corpora.builtin.lexicon import VERBS
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.errors import UserError

DIGEST = "d9da1eba1ecab4e57f52edef921b29897d67ba9772a14b06b3ef71983e8e5913"

# Checked by hand, at least two of each phenomenon, without free variants.
CHECKED = read_parallel([Path(__file__).with_name("checked_sentences.tsv")])
# Each phenomenon and the least share of sentences that show it, in percent.
SHARES = {
    "verb-final": 40,
    "inversion": 30,
    "separable": 25,
    "relative": 25,
    "agreement": 15,
    "pronoun": 15,
    "sense": 12,
    "coordination": 8,
    "attachment": 8,
    "role": 7,
    "perfect": 6,
    "numeral": 5,
    "infinitive": 3,
    "negation": 2,
    "modal": 2,
    "placing": 1,
    "giving": 1,
    "travel": 1,
}


@pytest.fixture(scope="module")
def examples():
    return sentence_pairs(20000, 0)


def test_same_seed_same_text_everywhere(examples):
    text = "".join(f"{e.source}\t{e.target}\n" for e in examples[:1000])
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST
    assert sentence_pairs(50, 0) == examples[:50]
    assert sentence_pairs(50, 1) != examples[:50]


@pytest.mark.parametrize(("source", "target"), CHECKED)
def test_translations_checked_by_hand(examples, source, target):
    targets = {e.target for e in examples if e.source == source}
    assert targets == {target}


def test_text_is_written_as_people_write(examples):
    for e in examples:
        for text in (e.source, e.target):
            assert re.fullmatch(r"[A-ZÄÖÜ][A-Za-zÄÖÜäöüß, ]*\.", text)
            assert not re.search(r"  | ,|,,|,\.|,\w", text)
            assert " ".join(words(text)).replace(" ,", ",")[:-2] == text[:-1]
        assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]", e.source)


def test_lengths_and_vocabulary(examples):
    lengths = [len(words(e.source)) for e in examples]
    assert min(lengths) >= 4 and max(lengths) <= 25
    assert 9 <= sum(lengths) / len(lengths) <= 13
    for side, most in (("source", 650), ("target", 1050)):
        types = {w for e in examples for w in words(getattr(e, side))}
        assert 250 <= len(types) <= most


def test_every_word_is_linked_but_what_has_no_counterpart(examples):
    for e in examples[:5000]:
        source, target = words(e.source), words(e.target)
        assert all(
            0 <= i < len(source) and 0 <= j < len(target)
            for i, j in e.alignment
        )
        lonely = [source[i] for i in _missing(source, e.alignment, 0)]
        assert set(lonely) <= {"to", "a"}  # "gave it to her": the dative
        lonely = [target[j] for j in _missing(target, e.alignment, 1)]
        assert set(lonely) <= {","}
        for decided, deciding in e.cues:
            assert decided != deciding
            assert max(decided, deciding) < len(source)


def _missing(text, alignment, side):
    return set(range(len(text))) - {pair[side] for pair in alignment}


def test_alignment_and_cue_of_a_sentence_by_hand(examples):
    example = next(
        e
        for e in examples
        if e.source == "The cat finds the expensive coin, and it is beautiful."
    )
    links = [(i, i) for i in range(12)]
    assert sorted(example.alignment) == links
    assert example.cues == ((8, 5),)  # "it" is the coin


def test_floor_is_the_entropy_of_the_grammar(examples):
    surprise = [-e.log_probability for e in examples]
    assert entropy_floor(examples) == pytest.approx(
        sum(surprise) / len(examples)
    )
    excess = [s - e.entropy for s, e in zip(surprise, examples, strict=True)]
    mean = sum(excess) / len(excess)
    variance = sum((x - mean) ** 2 for x in excess) / len(excess)
    assert abs(mean) < 3 * math.sqrt(variance / len(excess))
    assert entropy_floor(examples) > 0.3


def test_a_source_decides_its_targets_and_their_probabilities(examples):
    """No source has two structures: its targets never weigh more than one."""
    targets = defaultdict(dict)
    drawn = Counter()
    for e in [*examples, *sentence_pairs(40_000, 2)]:
        drawn[e.source] += 1
        before = targets[e.source].setdefault(e.target, e.log_probability)
        assert before == pytest.approx(e.log_probability), e.source
    assert sum(1 for times in drawn.values() if times > 1) > 200
    for source, seen in targets.items():
        assert sum(map(math.exp, seen.values())) < 1 + 1e-9, source


def test_no_english_verb_hides_its_tense():
    for verb in (verb for verbs in VERBS.values() for verb in verbs):
        assert verb.english[0] != verb.english[1]


def test_an_english_verb_has_one_translation_for_each_object():
    for verbs in VERBS.values():
        seen = {}
        for verb in verbs:
            for noun in verb.objects or (None,):
                key = verb.english, noun and noun.english
                assert seen.setdefault(key, verb.german) == verb.german


def test_each_phenomenon_is_frequent(examples):
    counts = Counter(tag for e in examples for tag in e.phenomena)
    assert set(counts) == set(SHARES)
    for tag, percent in SHARES.items():
        assert counts[tag] >= percent / 100 * len(examples), tag


@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_a_number_of_pairs_below_none_is_refused(name):
    with pytest.raises(UserError, match=f"{name}=-5`: must be from 0"):
        builtin_corpus(**{name: -5})


def test_splits_share_no_source_sentence():
    splits = example_splits(train=3000, valid=200, test=200, seed=5)
    assert [len(split) for split in splits] == [3000, 200, 200]
    sources = [e.source for split in splits for e in split]
    assert len(set(sources)) == len(sources)
    assert splits == example_splits(train=3000, valid=200, test=200, seed=5)
