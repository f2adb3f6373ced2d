"""Sentence pairs of the grammar: each written out, with what is known of it.

Here sentences get their full stop, their capital and single commas, links
become an alignment, and texts are drawn until no source comes twice.
"""

import math
import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ...errors import check_kind
from . import context, sentences
from .draw import Draw, Word

# Rules and how often each is drawn, in percent.
RULES = (
    (sentences.plain, 15),
    (sentences.attached, 7),
    (sentences.trying, 5),
    (sentences.subordinate, 14),
    (sentences.saying, 8),
    (context.it_was, 16),
    (context.he_did_it, 10),
    (context.role, 9),
    (context.sense, 16),
)
DRAWN = tuple(rule for rule, percent in RULES for _ in range(percent))
SHORTEST, LONGEST = 4, 25  # words of the source


class GrammarExample(NamedTuple):
    """A sentence pair and what is known of it."""

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]  # of `words`, source to target
    cues: tuple[tuple[int, int], ...]  # source words: (decided, deciding)
    log_probability: float  # of the target given the source, in nats
    entropy: float  # of the targets of this source, in nats
    phenomena: frozenset[str]


def words(text: str) -> list[str]:
    """The words and punctuation marks of a sentence, which links count."""
    return re.findall(r"\w+|[^\w\s]", text)


def _tidy(written: Sequence[Word]) -> list[Word]:
    """A full stop, single commas, a capital; "an" before a vowel."""
    tidy: list[Word] = []
    for text, link in written:
        if tidy and tidy[-1][0] == text == ",":
            link = tidy.pop()[1] or link
        if tidy and tidy[-1][0] == "a" and text[0] in "aeiou":
            tidy[-1] = ("an", tidy[-1][1])
        tidy.append((text, link))
    if tidy[-1][0] == ",":
        tidy.pop()
    first, link = tidy[0]
    return [(first[0].upper() + first[1:], link), *tidy[1:], (".", -2)]


def _text(tidy: Sequence[Word]) -> str:
    text = " ".join([text for text, _ in tidy])
    return text.replace(" ,", ",").replace(" .", ".")


def _example(rng: random.Random) -> GrammarExample:
    """One sentence pair; a source too short or long is drawn again."""
    while True:
        draw = Draw(rng)
        phrase = draw.pick(DRAWN)(draw)
        source = _tidy(phrase.source)
        if SHORTEST <= len(source) <= LONGEST:
            break
    target = _tidy(phrase.target)
    position: dict[int, list[int]] = {}
    for j, (_, link) in enumerate(target):
        position.setdefault(link, []).append(j)
    alignment = [
        (i, j)
        for i, (_, link) in enumerate(source)
        if link
        for j in position.get(link, ())
    ]
    first = {link: i for i, (_, link) in reversed([*enumerate(source)])}
    return GrammarExample(
        _text(source),
        _text(target),
        tuple(alignment),
        tuple([(first[a], first[b]) for a, b in draw.cues]),
        math.log(draw.probability),
        draw.entropy,
        frozenset(draw.phenomena),
    )


def drawn_examples(seed: int) -> Iterator[GrammarExample]:
    """Sentence pairs for ever, each drawn independently."""
    rng = random.Random(seed)
    while True:
        yield _example(rng)


def sentence_pairs(count: int, seed: int) -> list[GrammarExample]:
    """That many sentence pairs, each drawn independently."""
    return [*islice(drawn_examples(seed), count)]


def example_splits(
    train: int = 20000, valid: int = 500, test: int = 500, seed: int = 0
) -> tuple[list[GrammarExample], list[GrammarExample], list[GrammarExample]]:
    """Training, validation and test pairs; no source sentence comes twice.

    A source that was drawn before is left out. What is kept depends on the
    sources alone, so the targets, given them, stay as the grammar has them.
    """
    for name, count in {"train": train, "valid": valid, "test": test}.items():
        check_kind(name, count, int, (0, 10**12))
    kept: dict[str, GrammarExample] = {}
    examples = drawn_examples(seed)
    while len(kept) < train + valid + test:
        example = next(examples)
        kept.setdefault(example.source, example)
    pairs = list(kept.values())
    held_out, training = pairs[: valid + test], pairs[valid + test :]
    return training, held_out[:valid], held_out[valid:]


def entropy_floor(examples: Sequence[GrammarExample]) -> float:
    """Mean -log p(target | source) in nats a sentence: none can do better."""
    return -sum(e.log_probability for e in examples) / len(examples)
