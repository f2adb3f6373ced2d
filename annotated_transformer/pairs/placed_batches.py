"""Batches of pairs alike in length, each with its pairs' places."""

from collections.abc import Iterator

from annotated_transformer.data import Batch, Example, bucket, make_batch

__all__ = ["placed_batches"]


def placed_batches(
    examples: list[Example], max_tokens: int
) -> Iterator[tuple[list[int], Batch]]:
    """Batches of examples alike in length, each with their places.

    What is longer than max_tokens still has its batch.
    """
    lengths = [(len(source), len(target)) for source, target in examples]
    for places in bucket(lengths, max([max_tokens, *map(max, lengths)])):
        yield places, make_batch([examples[i] for i in places])
