"""What a run reads: a corpus as ids, in batches, ready before they are used.

The batches follow from the recipe and its seed alone. A run that resumes
passes over those that it has had.
"""

import random
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch

from ..corpora.corpus import Corpus
from ..data import (
    Batch,
    BPEDropout,
    Example,
    Pair,
    Tokenizer,
    bucket,
    encode_pairs,
    make_batch,
    training_batches,
)
from ..errors import UserError
from ..system.console import console
from ..text.casing import by_small_letters, usual_words
from ..text.noise import SourceNoise
from ..text.reading import Reader
from .recipes import Recipe

Change = Callable[[list[Example], str], list[Example]]  # as a seed decides
# The tokens that an update reads of source and target, on average, and a table
# of the text; its first row is the text's size, the last how often it is read.
Reading = tuple[tuple[int, int], dict[str, str]]


def longest_side(recipe: Recipe) -> int:
    """The most tokens that a side of a pair may have."""
    return min(recipe.train.max_length, recipe.train.batch_tokens)


def encode_text(
    name: str, pairs: list[Pair], tokenizer: Tokenizer, recipe: Recipe
) -> tuple[list[Example], list[int]]:
    """Pairs as ids, and the places of those that are too long, left out.

    It says how many these are, and where the first one is. UserError if no
    pair is left.
    """
    limit = longest_side(recipe)
    examples, too_long = encode_pairs(pairs, tokenizer, limit)
    if too_long:
        console.out(
            f"{name}: {len(too_long)} of {len(pairs)} pairs have more than "
            f"{limit} tokens on a side and are left out, the first in line "
            f"{too_long[0] + 1}; `max_length`, `batch_tokens` and the model's "
            "positions set the limit"
        )
    if not examples:
        raise UserError(
            f"{name}: none of its {len(pairs)} sentence pairs can be used; it "
            f"needs one of at most {limit} tokens a side"
        )
    return examples, too_long


def batch_change(reader: Reader, recipe: Recipe) -> Change | None:
    """What changes a batch each time it is read: noise, other subwords.

    UserError for BPE-dropout of subwords that are not made by merges:
    sentencepiece draws those, too, but its number means something else there.
    """
    labs, limit = recipe.labs, longest_side(recipe)
    changes: list[Change] = []
    if labs.noise:
        changes.append(SourceNoise(reader, labs.noise, limit))
    if labs.bpe_dropout:
        if recipe.tokenizer != "bpe":
            raise UserError(
                f"`bpe_dropout` leaves out merges, and of {recipe.tokenizer} "
                "subwords none are known; use `tokenizer='bpe'`"
            )
        pieces = reader.tokenizer.vocabulary
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

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, recipe: Recipe):
        self.config, self.seed = recipe.train, recipe.train.seed
        self.labs = recipe.labs
        reader = Reader(tokenizer)
        if self.labs.noise:  # else nobody asks for the words
            words = usual_words([source for source, _ in corpus.train])
            reader = replace(reader, words=by_small_letters(words))
        self.change = batch_change(reader, recipe)
        start = len(corpus.train) - sum(x.pairs for x in corpus.extras)
        own = corpus.train[:start]
        self.examples, _ = encode_text("training text", own, tokenizer, recipe)
        self.whole = [*range(len(self.examples))]
        shares: list[tuple[range, float]] = []
        for extra in corpus.extras:
            pairs = corpus.train[start : start + extra.pairs]
            more, _ = encode_text(extra.name, pairs, tokenizer, recipe)
            places = range(len(self.examples), len(self.examples) + len(more))
            start, self.examples = start + extra.pairs, self.examples + more
            if extra.share is None:
                self.whole += places
            else:
                shares.append((places, extra.share))
        size = len(self.whole) / (1 - sum(share for _, share in shares))
        self.shared = [
            (places, max(1, round(share * size))) for places, share in shares
        ]

    def epoch(self, number: int) -> list[int]:
        """The places of the examples that an epoch reads, in no order."""
        found = [*self.whole]
        for places, count in self.shared:
            name = f"{self.seed} {places.start}"
            found += dealt(places, count, name, number)
        return found

    def reading(self, recipe: Recipe) -> Reading:
        """What an update and an epoch have, by the first epoch's batches."""
        read = [self.examples[i] for i in self.epoch(0)]
        lengths = [(len(source), len(target)) for source, target in read]
        limit, seed = self.config.batch_tokens, f"{self.seed} 0"
        batches = bucket(lengths, limit, seed, self.labs.order)
        updates = len(batches) / recipe.batches_of_update
        tokens = map(sum, zip(*lengths, strict=True))
        source, target = (round(side / updates) for side in tokens)
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
        yield from training_batches(
            self.examples,
            self.config.batch_tokens,
            self.seed,
            skip,
            every,
            resplit=self.change,
            order=self.labs.order,
            reads=self.epoch,
        )


def dealt(places: range, count: int, seed: str, turn: int) -> list[int]:
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
        cards += shuffled.sample(places, len(places))
    start = first - rounds.start * len(places)
    return cards[start : start + count]


def fixed_batches(examples: list[Example], max_tokens: int) -> list[Batch]:
    """Examples as batches in one order: what validation runs over."""
    lengths = [(len(source), len(target)) for source, target in examples]
    places = bucket(lengths, max_tokens)
    return [make_batch([examples[i] for i in some]) for some in places]


def prefetch(
    batches: Iterator[Batch], device: torch.device | str, number: int = 2
) -> Generator[Batch, None, None]:
    """The same batches on the device, prepared while others are computed on.

    A thread builds and copies them, as many ahead as the number says; what
    it raises, the reader gets in the place of the batch. From pinned memory
    a GPU copies them in its own time, and nobody here waits for it.
    """
    pinned = torch.device(device).type == "cuda"

    def prepare() -> Batch | None:
        batch = next(batches, None)
        if batch is not None and pinned:
            batch = Batch(*(x.pin_memory() for x in vars(batch).values()))
        return batch and batch.to(device, non_blocking=pinned)

    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(prepare) for _ in range(number))
        while (batch := coming.popleft().result()) is not None:
            coming.append(thread.submit(prepare))
            yield batch
