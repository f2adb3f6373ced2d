"""The grammar's sentences, drawn once for all who ask for the first."""

from collections.abc import Iterator
from itertools import islice, tee
from typing import Protocol

from annotated_transformer.corpora.builtin.examples import (
    GrammarExample,
    drawn_examples,
)


class Draw(Protocol):
    """Draws sentences without end."""

    def __call__(self, seed: int) -> Iterator[GrammarExample]: ...


def drawn_once(ready: int = 0) -> Draw:
    """What stands in for `drawn_examples`; so many of seed 0 are ready."""
    streams: dict[int, Iterator[GrammarExample]] = {}

    def examples(seed: int) -> Iterator[GrammarExample]:
        stream = streams.get(seed) or drawn_examples(seed)
        streams[seed], once_more = tee(stream)
        return once_more

    for _ in islice(examples(0), ready):
        pass
    return examples
