"""What a run reads: the ids of a text in batches, ready before they are used.

The batches follow from the recipe and its seed alone. A run that resumes
passes over those that it has had.
"""

import random
from collections.abc import Callable, Generator, Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..corpora.corpus import Extra
from ..data import (
    Batch,
    BPEDropout,
    Example,
    Examples,
    Pair,
    Tokenizer,
    bucket,
    training_batches,
)
from ..errors import UserError
from ..system.console import console
from ..text.casing import Words
from ..text.noise import SourceNoise
from ..text.reading import Reader
from .encoding import let_go
from .recipes import Recipe
from .windows import Amount, TextWindows

SOME = 20  # batches, after which a process lets go of the pages it has read
Change = Callable[[list[Example], str], list[Example]]  # as a seed decides


def longest_side(recipe: Recipe) -> int:
    """The most tokens that a side of a pair may have."""
    return min(recipe.train.max_length, recipe.train.batch_tokens)


def short_enough(
    name: str, text: Examples, recipe: Recipe, start: int, end: int
) -> np.ndarray:
    """The places of a part's pairs that are not too long.

    It says how many others there are, and where the first one is. UserError
    if no pair is left.
    """
    limit, size = longest_side(recipe), end - start
    fits = text.lengths[start:end].max(1) <= limit
    places = np.flatnonzero(fits).astype(np.uint32)
    if len(places) < size:
        console.out(
            f"{name}: {size - len(places)} of {size} pairs have more than "
            f"{limit} tokens on a side and are left out, the first is pair "
            f"{fits.argmin() + 1}; `max_length`, `batch_tokens` and the "
            "model's positions set the limit"
        )
    if not len(places):
        raise UserError(
            f"{name}: none of its {size} sentence pairs can be used; it "
            f"needs one of at most {limit} tokens a side"
        )
    return places + start


def batch_change(
    tokenizer: Tokenizer,
    recipe: Recipe,
    words: Words = MappingProxyType({}),
) -> Change | None:
    """What changes a batch each time it is read: noise, other subwords.

    Noise reads capitals by words, as the translator will. UserError for
    BPE-dropout of subwords that are not made by merges: sentencepiece draws
    those, too, but its number means something else there.
    """
    labs, limit = recipe.labs, longest_side(recipe)
    changes: list[Change] = []
    if labs.noise:
        reader = Reader(tokenizer, words=words)
        changes.append(SourceNoise(reader, labs.noise, limit))
    if labs.bpe_dropout:
        if recipe.tokenizer != "bpe":
            raise UserError(
                f"`bpe_dropout` leaves out merges, and of {recipe.tokenizer} "
                "subwords none are known; use `tokenizer='bpe'`"
            )
        pieces = tokenizer.vocabulary
        changes.append(BPEDropout(pieces, labs.bpe_dropout, limit))

    def change(examples: list[Example], seed: str) -> list[Example]:
        for one in changes:
            examples = one(examples, seed)
        return examples

    return change if changes else None


class TrainingText:
    """The pairs that a run learns from, and its batches for ever.

    An epoch has each pair once. Of extra pairs with a share it has as many as
    make up that share of its pairs, at least one: an epoch takes those that
    come next in an endless shuffled order.
    """

    def __init__(
        self,
        text: Examples,
        extras: Sequence[Extra],
        recipe: Recipe,
        change: Change | None = None,
    ):
        self.text, self.change = text, change
        self.limit, self.seed = recipe.train.batch_tokens, recipe.train.seed
        self.order = recipe.labs.order
        own = Extra("training text", len(text) - sum(x.pairs for x in extras))
        whole: list[np.ndarray] = []
        shares: list[tuple[str, np.ndarray, float]] = []
        start = kept = 0
        for part in (own, *extras):
            end = start + part.pairs
            places = short_enough(part.name, self.text, recipe, start, end)
            if part.share is None:
                whole.append(places)
            else:
                shares.append((f"{self.seed} {kept}", places, part.share))
            start, kept = end, kept + len(places)
        self.whole = np.concatenate(whole)
        size = len(self.whole) / (1 - sum(share for *_, share in shares))
        self.shared = [
            (seed, places, max(1, round(share * size)))
            for seed, places, share in shares
        ]

    def epoch(self, number: int) -> np.ndarray:
        """The places of the examples that an epoch reads, in no order."""
        if not self.shared:
            return self.whole
        dealt_out = (dealt(*shared, number) for shared in self.shared)
        return np.concatenate([self.whole, *dealt_out])

    def batches_an_epoch(self) -> int:
        """How many batches the first epoch has."""
        lengths, limit = self.text.lengths[self.epoch(0)], self.limit
        return len(bucket(lengths, limit, f"{self.seed} 0", self.order))

    def amount(self, recipe: Recipe) -> Amount:
        """What an update and an epoch have, by the first epoch's batches."""
        updates = self.batches_an_epoch() / recipe.batches_of_update
        read = self.epoch(0)
        tokens = self.text.lengths[read].sum(0) / updates
        source, target = (round(side) for side in tokens.tolist())
        return (source, target), {
            "pairs an epoch": f"{len(read):,}",
            "tokens an update": f"about {source:,} source, {target:,} target",
            "updates an epoch": f"about {updates:,.1f}",
            "epochs": f"about {recipe.train.steps / updates:,.1f}",
        }

    def batches(
        self, skip: int = 0, every: int = 1
    ) -> Generator[Batch, None, None]:
        """All batches after the first `skip`, or one in `every` of them."""
        made = training_batches(
            self.text,
            self.limit,
            self.seed,
            skip,
            every,
            self.change,
            self.order,
            self.epoch,
        )
        for number, batch in enumerate(made, 1):
            yield batch
            if number % SOME == 0:
                let_go(self.text.rows)


def dealt(seed: str, places: np.ndarray, count: int, turn: int) -> np.ndarray:
    """So many places, as cards are dealt: each turn takes the next ones.

    When all have been dealt they are shuffled again.
    """
    first = turn * count
    rounds = range(
        first // len(places), (first + count - 1) // len(places) + 1
    )
    cards: list[int] = []
    for number in rounds:
        shuffled = random.Random(f"{seed} {number}")
        cards += shuffled.sample(range(len(places)), len(places))
    start = first - rounds.start * len(places)
    return places[cards[start : start + count]]


def fixed_batches(
    examples: list[Example] | Examples, max_tokens: int
) -> list[Batch]:
    """Examples as batches in one order: what validation runs over."""
    text = Examples.of(examples)
    return [text.batch(some) for some in bucket(text.lengths, max_tokens)]


class Texts(NamedTuple):
    """What a run reads, as ids in batches."""

    learned: TrainingText | TextWindows
    valid: Iterable[Batch]
    pairs: list[Pair]  # of the validation text, if it has such
    into: str  # the language of the targets; "" for running text
