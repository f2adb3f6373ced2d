"""What a sentence is made of, in both languages at once, and how it is drawn.

A word is a pair (text, link). Words of the two languages that carry the same
link translate each other; link 0 is a word without counterpart. A rule only
has to put the words of each language in order: the alignment follows.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from .lexicon import Choice, GermanVerb

T = TypeVar("T")
Word = tuple[str, int]
Words = tuple[Word, ...]


class Phrase(NamedTuple):
    """The words of one phrase in both languages."""

    source: Words = ()
    target: Words = ()


class Nominal(NamedTuple):
    """A noun phrase, with what other words agree with."""

    source: Words
    target: Words
    kind: str
    column: int  # 0 masculine, 1 feminine, 2 neuter, 3 plural
    link: int
    noun: str = ""  # in English, in the singular
    negated: bool = False  # "kein" has taken the "not"

    @property
    def plural(self) -> bool:
        """Whether verbs take their plural form."""
        return self.column == 3


class Predicate(NamedTuple):
    """A verb, and what follows it in each language."""

    english: tuple[str, str, str, str]
    german: GermanVerb
    link: int
    after: Words = ()
    middle: Words = ()
    negation: int = 0  # the link of "not"


Part = Phrase | Nominal
NOTHING = Phrase()
NOBODY = Nominal((), (), "", 0, 0)


def arrange(
    source: Sequence[Part], target: Sequence[Part] | None = None
) -> Phrase:
    """One phrase of many: the parts in the order of each language."""
    target = source if target is None else target
    return Phrase(
        tuple([word for part in source for word in part.source]),
        tuple([word for part in target for word in part.target]),
    )


class Draw:
    """One random sentence in the making.

    Only `random()` is asked of the generator: its stream is the same in
    every version of Python, that of `choice` is not.
    """

    def __init__(self, rng: random.Random):
        self.uniform = rng.random
        self.links = 0
        self.probability = 1.0  # of the target given the source
        self.entropy = 0.0
        self.phenomena: set[str] = set()
        self.cues: list[tuple[int, int]] = []  # (decided, deciding) links
        self.used: set[str] = set()
        self.clauses = 1  # relative clauses that may still come

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.uniform() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, each as likely; part of the source."""
        return items[int(self.uniform() * len(items))]

    def vary(self, choice: Choice[T]) -> T:
        """One of the free variants of the target, and note its chance."""
        if len(choice.values) == 1:
            return choice.values[0]
        draw, index = self.uniform(), 0
        while draw >= choice.probabilities[index] and (
            index < len(choice.values) - 1
        ):
            draw -= choice.probabilities[index]
            index += 1
        self.probability *= choice.probabilities[index]
        self.entropy += choice.entropy
        return choice.values[index]

    def link(self) -> int:
        """A new link."""
        self.links += 1
        return self.links

    def unit(self, source: str, target: str, link: int = 0) -> Phrase:
        """Words that translate each other as a whole."""
        link = link or self.link()
        return Phrase(
            tuple([(word, link) for word in source.split()]),
            tuple([(word, link) for word in target.split()]),
        )
