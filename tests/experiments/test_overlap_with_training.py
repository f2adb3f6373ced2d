"""Overlap of texts, against plain loops over drawn sentences."""

import random
from collections import Counter

import pytest

from experiments.overlap_with_training import (
    SHARED,
    alike,
    n_grams,
    near_duplicates,
    seen,
    words,
)


def drawn(seed, lines):
    """Sentences of few words, some of which come twice in one."""
    rng = random.Random(seed)
    letters = ["a", "b", "c", "d", "e", "f", "g", "h"]
    return [
        " ".join(rng.choices(letters, k=rng.randint(1, 9)))
        for _ in range(lines)
    ]


def test_words_have_no_case_and_no_punctuation():
    assert words("Ein Hund, groß & rot.") == ["ein", "hund", "groß", "rot"]
    assert [*n_grams("A b, c!", 2)] == [("a", "b"), ("b", "c")]
    assert [*n_grams("A b", 3)] == []


@pytest.mark.parametrize("n", [1, 3])
def test_seen_n_grams_against_a_search_in_strings(n):
    tests, lines = drawn(0, 50), drawn(1, 20)
    text = [f" {line} " for line in lines]
    found = []
    for test in tests:
        each = test.split()
        for i in range(len(each) - n + 1):
            phrase = f" {' '.join(each[i : i + n])} "
            found.append(any(phrase in line for line in text))
    assert seen(tests, lines, n) == pytest.approx(sum(found) / len(found))
    assert n == 1 or 0.05 < seen(tests, lines, n) < 0.95


def test_near_duplicates_against_counts_of_words():
    tests, lines = drawn(2, 130), drawn(3, 40)  # in several parts

    def near(ours, theirs):
        a, b = Counter(ours.split()), Counter(theirs.split())
        longer = max(a.total(), b.total())
        return (a & b).total() >= SHARED * longer

    expected = [any(near(ours, line) for line in lines) for ours in tests]
    assert near_duplicates(tests, lines) == expected
    assert 10 < sum(expected) < 120


def test_near_duplicates_share_four_fifths_of_the_longer_one():
    line = "A man in a red hat rides his bike."  # nine words, "a" twice
    for test, near in {
        line.upper(): True,
        "His bike rides a man in a red hat": True,  # in any order
        "A man in a red hat rides his": True,
        "A man in a red hat rides his big old bike": True,  # 9 of 11
        "A man in a red hat rides": False,  # 7 of 9
        "A man in red hat rides his horse": False,
    }.items():
        assert near_duplicates([test], ["Two dogs.", line]) == [near]


def test_each_chosen_one_gets_the_nearest_other():
    lengths = [[x] for x in (5, 5, 9, 9, 20, 6)]
    chosen = [True, False, True, False, False, False]
    assert alike(lengths, chosen, seed=0) == {1, 3}
    twice = [[x] for x in (5, 5, 5, 6, 30)]
    for seed in range(5):  # no other is taken twice
        assert alike(twice, [True, True, False, False, False], seed) == {2, 3}
