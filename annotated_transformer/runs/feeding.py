"""Batching: text as ids, cut into batches, and ready before it is needed."""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from annotated_transformer.corpora.corpus import Extra
from annotated_transformer.data import (
    Batch,
    Example,
    Pair,
    Resplit,
    Tokenizer,
    bucket,
    encode_pairs,
    make_batch,
)
from annotated_transformer.errors import UserError
from annotated_transformer.runs.mixture import Mixture
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.storage.builders import outline
from annotated_transformer.system.console import console
from annotated_transformer.training import LARGEST_SEED

__all__ = [
    "Reading",
    "ahead",
    "encode",
    "fixed_batches",
    "resplit_of",
]


def most_tokens(recipe: Recipe) -> tuple[int, str]:
    """The most tokens of a side, and what the limit is.

    It is max_length of the training, or the number of learned positions
    where that is less.
    """
    most = recipe.train.max_length
    learned = outline(recipe.model).max_positions
    if learned is not None and learned < most:
        return learned, "as many positions are learned"
    return most, "`max_length` raises the limit"


def line_of(place: int, pairs: int, extras: Sequence[Extra]) -> str:
    """Where a pair was read from; the extra ones come last."""
    end = pairs
    for extra in reversed(extras):
        start = end - extra.pairs
        if place >= start:
            return f"{place + 1 - start} of {extra.name}"
        end = start
    return f"{place + 1}"


def encode(
    name: str,
    pairs: list[Pair],
    tokenizer: Tokenizer,
    recipe: Recipe,
    extras: Sequence[Extra] = (),
) -> tuple[list[Example], Mixture]:
    """Pairs as ids, and which of them an epoch reads.

    It says which ones are over the limit and left out.
    """
    limit, why = most_tokens(recipe)
    examples, too_long = encode_pairs(pairs, tokenizer, limit)
    if too_long:
        console.out(
            f"{name} text: {len(too_long)} of {len(pairs)} pairs have more "
            f"than {limit} tokens on a side and are left out, the first in "
            f"line {line_of(too_long[0], len(pairs), extras)} ({why})"
        )
    if not examples:
        raise UserError(
            f"{name} text: none of its {len(pairs)} sentence pairs can be "
            f"used; it needs one of at most {limit} tokens a side"
        )
    return examples, Mixture.of(len(pairs), extras, too_long)


def resplit_of(tokenizer: Tokenizer, recipe: Recipe) -> Resplit | None:
    """What cuts the training text anew at each reading, if anything does."""
    if not recipe.train.bpe_dropout:
        return None
    if recipe.tokenizer != "bpe":
        raise UserError(
            f"`bpe_dropout` leaves out merges, and of {recipe.tokenizer} "
            "subwords none are known; use `tokenizer='bpe'`"
        )
    limit = most_tokens(recipe)[0]
    return Resplit(tokenizer.vocabulary, recipe.train.bpe_dropout, limit)


def fixed_batches(examples: list[Example], max_tokens: int) -> list[Batch]:
    """Examples as batches in one order: what validation runs over.

    UserError if one is longer than max_tokens, as in training.
    """
    lengths = [(len(source), len(target)) for source, target in examples]
    places = bucket(lengths, max_tokens)
    return [make_batch([examples[i] for i in some]) for some in places]


@dataclass(frozen=True)
class Reading:
    """How a run reads its text: shuffled by which seed, since which update.

    Batches of another size are cut and shuffled anew, beginning with a new
    epoch, so the batches of before do not count.
    """

    seed: int
    since: int = 0  # updates that were made before

    def changed(self, times: int, since: int) -> "Reading":
        """As it is after so many changes; no run begins with this seed."""
        return Reading(self.seed + times * (LARGEST_SEED + 1), since)

    def read(self, step: int, each: int) -> int:
        """The batches read by a step, at so many for each update."""
        return (step - self.since) * each


def ahead(
    batches: Iterator[Batch], device: torch.device | str, number: int = 2
) -> Generator[Batch, None, None]:
    """The same batches on the device, prepared while others are computed on.

    A thread builds and moves them, as many ahead as the number says; what
    it raises, the reader gets in the place of the batch. To a GPU they are
    copied on a stream of their own, and nobody here waits for it.
    """
    device = torch.device(device)
    stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def prepare() -> Batch | None:
        batch = next(batches, None)
        if batch is None or stream is None:
            return batch and batch.to(device)
        return copied(batch, stream)

    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(prepare) for _ in range(number))
        while (batch := coming.popleft().result()) is not None:
            coming.append(thread.submit(prepare))
            if stream is not None:
                received(batch, stream)
            yield batch


def copied(batch: Batch, stream: torch.cuda.Stream) -> Batch:
    """The batch on the stream's GPU, as soon as the stream has come so far.

    Only from pinned memory is a copy made while the GPU computes.
    """
    with torch.cuda.stream(stream):
        pinned = Batch(*(x.pin_memory() for x in vars(batch).values()))
        return pinned.to(stream.device, non_blocking=True)


def received(batch: Batch, stream: torch.cuda.Stream) -> None:
    """Let the GPU's next work wait for the copies that the stream makes."""
    reader = torch.cuda.current_stream(stream.device)
    reader.wait_stream(stream)
    for tensor in vars(batch).values():
        tensor.record_stream(reader)  # not to be overwritten before it is read
