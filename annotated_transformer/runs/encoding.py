"""A corpus as ids."""

from collections.abc import Iterable

from ..data import Examples, Pair, Tokenizer


def encoded(pairs: Iterable[Pair], tokenizer: Tokenizer) -> Examples:
    """The pairs as ids, in memory."""
    return Examples.of(
        (tokenizer.encode(source), tokenizer.encode(target))
        for source, target in pairs
    )
