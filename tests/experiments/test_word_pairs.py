"""Words and noun phrases of pairs, against links by hand."""

from itertools import product

import pytest

from annotated_transformer.translation import Translator
from experiments.shared.word_pairs import (
    Forms,
    dictionary,
    forms,
    is_held_out,
    noun_phrases,
    nouns,
    short_pairs,
)
from experiments.shipped_words import MODELS
from ledger.records import read_run

PAIRS = [
    ("A red bench stands here.", "Eine rote Bank steht hier."),
    ("The bench is red.", "Die Bank ist rot."),
    ("A man on a bench.", "Ein Mann auf einer Bank."),
    ("A bench and a red bench.", "Eine Bank und eine rote Sitzbank."),
]
LINKS = [
    [(i, i) for i in range(5)],
    [(i, i) for i in range(4)],
    [(i, i) for i in range(5)],
    [(0, 0), (1, 1), (2, 2), (3, 3), (5, 4), (5, 5)],  # two words of one
]


def test_words_that_are_linked_three_times_are_translations():
    found = dictionary(PAIRS, LINKS)
    assert found == {"bench": {"Bank": 4}}
    twice = dictionary([*PAIRS, *PAIRS], [*LINKS, *LINKS])
    assert twice["bench"] == {"Bank": 8} and "on" not in twice


# "man" follows an article five times, and has a small word behind it
MORE = 5 * PAIRS, 5 * LINKS


def test_nouns_are_what_small_words_follow():
    lines = 5 * [
        "A red bench stands in the park.",
        "The man in a hat runs.",
        "A man sits on a bench in the sun.",
        "The old man sleeps on the grass.",
    ]
    assert nouns(lines) == {"park", "man", "hat", "bench", "sun", "grass"}
    assert not nouns(lines[:4])  # each less than five times


def test_subjects_are_the_shortest_beginnings_that_stand_alone():
    assert noun_phrases(*MORE) == {
        ("A red bench", "Eine rote Bank"): 5,
        ("The bench", "Die Bank"): 5,
        ("A man", "Ein Mann"): 5,
        ("A bench", "Eine Bank"): 5,
    }
    crossed = [[(1, 0), (0, 1), (2, 2), (3, 3)]]
    assert noun_phrases(5 * PAIRS[1:2], 5 * crossed) == {
        ("The bench", "Die Bank"): 5
    }
    outside = [[(0, 0), (1, 1), (0, 2), (3, 3)]]
    assert noun_phrases(5 * PAIRS[1:2], 5 * outside) == {
        ("The bench", "Die Bank ist"): 5
    }


def test_short_pairs_are_words_and_phrases_with_and_without_a_full_stop():
    found = short_pairs(*MORE)
    assert {("bench", "Bank"), ("bench.", "Bank.")} <= {*found}
    assert {("A man", "Ein Mann"), ("A man.", "Ein Mann.")} <= {*found}
    assert len(found) == len({*found})


def test_a_tenth_of_the_words_is_never_trained_on_alone():
    words = ["".join(x) for x in product("bcdfghjklm", repeat=3)]
    held = {word for word in words if is_held_out(word)}
    assert 70 < len(held) < 130
    pairs = [(f"A {word} runs.", f"Ein {word} läuft.") for word in words]
    links = [[(i, i) for i in range(3)] for _ in words]
    found = {
        source.removesuffix(".")
        for source, _ in short_pairs(5 * pairs, 5 * links)
    }
    assert found == {"runs", *(w for w in words if w not in held)} | {
        f"A {w}" for w in words if w not in held
    }


def test_a_form_is_right_if_it_is_one_word_that_the_pairs_link():
    words = forms(5 * MORE[0], 5 * MORE[1])
    assert words.phrases["bench"] == "A bench"
    assert words.of(["bench"]) == {
        "bench": [("bench", "bench")],
        "Bench": [("bench", "Bench")],
        "bench.": [("bench", "bench.")],
        "Bench.": [("bench", "Bench.")],
        "BENCH": [("bench", "BENCH")],
        "A bench.": [("bench", "A bench.")],
    }
    for output in ("Bank", "bank.", "EINE BANK", "Die Bank."):
        assert words.right("bench", output)
    for output in ("", "Eine", "Mann", "Eine rote Bank.", "Bank Bank"):
        assert not words.right("bench", output)


@pytest.mark.parametrize("name", MODELS)
def test_a_shipped_model_translates_a_word_alone_however_it_is_typed(name):
    record = read_run("shipped_words")["results"][f"{name} seed=0"]
    words = Forms(record["translations"], record["phrases"])
    assert len(words.translations) > 100
    assert all(map(is_held_out, words.translations))
    shares = words.shares(Translator.load(name), words.translations)
    assert min(shares.values()) >= 0.85
    # A near tie may fall otherwise where sums have another order.
    assert shares == pytest.approx(record["right"], abs=0.02)
