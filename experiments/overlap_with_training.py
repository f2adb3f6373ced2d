"""Did the test leak into the training? Overlap of tests with what was learned.

Each test of Multi30k is compared with the 29,000 captions that the translator
learned from, and with these and the descriptions of the same photographs: how
many n-grams are there, and how many sentences have a near duplicate. A
thousand training captions against the others are the control: no two captions
are of one photograph. Then the test is scored without its near duplicates.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from ledger.intervals import DRAWS

from .shared import shipped_translator
from .shared.grid import Result, grid
from .shared.multi30k_descriptions import multi30k_descriptions
from .shared.shipped_translator import (
    SEARCH,
    bleu,
    corpus,
    redrawn,
    translator,
)

LANGUAGES = ("en", "de")
TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
CONTROL, HELD = "control", 1000  # captions of the training text
SIZES = (1, 4, 8)  # of n-grams
SHARED = 0.8  # of the longer sentence's words, in near duplicates
ROWS = 50  # sentences that are compared with all lines at once
RECIPE = shipped_translator.RECIPE | SEARCH | {"shared": SHARED, "held": HELD}


def words(text: str) -> list[str]:
    """The words of a text, lower-cased, without punctuation."""
    return re.findall(r"\w+", text.lower())


def n_grams(text: str, n: int) -> Iterator[tuple[str, ...]]:
    """All runs of n words in a text."""
    found = words(text)
    return zip(*(found[i:] for i in range(n)), strict=False)


def seen(tests: Iterable[str], lines: Iterable[str], n: int) -> float:
    """The share of the tests' n-grams that any of the lines has."""
    known = {each for line in lines for each in n_grams(line, n)}
    found = [each in known for text in tests for each in n_grams(text, n)]
    return sum(found) / len(found)


def bags(
    texts: Iterable[str], places: dict[tuple[str, int], int]
) -> csr_array:
    """A row for each text, with a 1 for each of its words.

    A word's second occurrence is a word of its own. `places` has the column
    of each, and is added to.
    """
    columns: list[int] = []
    ends = [0]
    for text in texts:
        count: Counter[str] = Counter()
        for word in words(text):
            count[word] += 1
            columns.append(places.setdefault((word, count[word]), len(places)))
        ends.append(len(columns))
    ones = np.ones(len(columns), dtype=np.int32)
    return csr_array((ones, columns, ends), (len(ends) - 1, len(places)))


def near_duplicates(tests: Sequence[str], lines: Iterable[str]) -> list[bool]:
    """Which tests have a near duplicate among the lines.

    Two sentences are near duplicates if four fifths of the longer one's words
    are in the shorter one, each as often as it is there, in any order.
    """
    places: dict[tuple[str, int], int] = {}
    ours, theirs = bags(tests, places), bags(lines, places)
    ours.resize(len(tests), len(places))
    lengths, other_lengths = ours.sum(axis=1), theirs.sum(axis=1)
    found: list[bool] = []
    for start in range(0, len(tests), ROWS):
        part = slice(start, start + ROWS)
        common = (ours[part] @ theirs.T).tocoo()
        longer = np.maximum(
            lengths[part][common.coords[0]], other_lengths[common.coords[1]]
        )
        rows = common.coords[0][common.data >= SHARED * longer]
        near = np.isin(np.arange(len(lengths[part])), rows)
        found += near.tolist()
    return found


@cache
def learned(language: str, held: bool = False) -> dict[str, list[str]]:
    """The lines that the translator learned from, in one language."""
    side = LANGUAGES.index(language)
    captions = [pair[side] for pair in corpus().train]
    captions = captions[HELD:] if held else captions
    described = multi30k_descriptions(language)
    return {"captions": captions, "all": captions + described}


def tested(test: str, language: str) -> list[str]:
    """The sentences of a test, or those of the control."""
    held = corpus().train[:HELD]
    pairs = held if test == CONTROL else corpus().tests[test]
    return [pair[LANGUAGES.index(language)] for pair in pairs]


@cache
def doubled(test: str, language: str) -> dict[str, list[bool]]:
    """Which sentences of a test have near duplicates, by the text."""
    return {
        name: near_duplicates(tested(test, language), lines)
        for name, lines in learned(language, test == CONTROL).items()
    }


def either(test: str, name: str) -> list[bool]:
    """Which sentences have near duplicates in a text, in either language."""
    sides = (doubled(test, language)[name] for language in LANGUAGES)
    return [any(both) for both in zip(*sides, strict=True)]


def overlap(seed: int, test: str) -> Result:
    """Shares of n-grams, identical sentences, and near duplicates."""
    found: Result = {"sentences": len(tested(test, "en"))}
    texts = ("captions",) if test == CONTROL else ("captions", "all")
    for name in texts:  # descriptions are of the control's own photographs
        for language in LANGUAGES:
            tests = tested(test, language)
            lines = learned(language, test == CONTROL)[name]
            known = {tuple(words(line)) for line in lines}
            what = f"{language}, {name}"
            found |= {
                f"{what}, {n}-grams": seen(tests, lines, n) for n in SIZES
            }
            same = sum(tuple(words(text)) in known for text in tests)
            found[f"{what}, identical"] = same
            found[f"{what}, near"] = sum(doubled(test, language)[name])
        found[f"either, {name}, near"] = sum(either(test, name))
    return found


@cache
def outputs(test: str) -> list[str]:
    """What the translator writes for a test."""
    return translator()(tested(test, "en"), **SEARCH)


@cache
def usual(test: str) -> list[float]:
    """The share of each sentence's 4-grams that was learned, on both sides.

    0 for a sentence of fewer than four words.
    """
    shares = []
    for language in LANGUAGES:
        lines = learned(language)["all"]
        known = {each for line in lines for each in n_grams(line, 4)}
        found = (
            [x in known for x in n_grams(t, 4)] for t in tested(test, language)
        )
        shares.append([sum(x) / max(len(x), 1) for x in found])
    return [sum(both) / len(both) for both in zip(*shares, strict=True)]


def alike(
    numbers: Sequence[Sequence[float]], chosen: Sequence[bool], seed: int
) -> set[int]:
    """As many that are not chosen, each the nearest to one that is.

    Each has some numbers, and near is who differs little in their sum. All
    are given by their places.
    """
    order = random.Random(seed).sample(range(len(chosen)), len(chosen))
    others = [i for i in order if not chosen[i]]
    found: set[int] = set()
    for i in order:
        if chosen[i]:
            gaps = [
                sum(
                    abs(a - b)
                    for a, b in zip(numbers[i], numbers[j], strict=True)
                )
                for j in others
            ]
            found.add(others.pop(gaps.index(min(gaps))))
    return found


def scored(seed: int, test: str) -> Result:
    """Lower-cased BLEU on sentences drawn from a test, with replacement.

    Of all of them, without those that have a near duplicate in either
    language, and without as many others: as long, or as long and as usual
    (ten words more weigh as much as no 4-gram that was learned against all).
    """
    near = either(test, "all")
    lengths = [len(words(text)) / 10 for text in tested(test, "en")]
    long = alike([[x] for x in lengths], near, seed)
    both = alike([*zip(lengths, usual(test), strict=True)], near, seed)
    drawn = redrawn(range(len(near)), seed)
    kinds = {
        "all": drawn,
        "without near": [i for i in drawn if not near[i]],
        "without as long": [i for i in drawn if i not in long],
        "without as usual": [i for i in drawn if i not in both],
        "near": [i for i in drawn if near[i]],
        "as usual": [i for i in drawn if i in both],
    }
    rows = [*zip(outputs(test), tested(test, "de"), strict=True)]
    return {
        name: bleu(rows[i] for i in places).score
        for name, places in kinds.items()
    }


RUNS = grid(
    overlap, "overlap {test} seed={seed}", test=(*TESTS, CONTROL), seed=[0]
)
RUNS |= grid(scored, "bleu {test} seed={seed}", test=TESTS, seed=range(DRAWS))
