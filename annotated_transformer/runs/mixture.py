"""Mixture: which pairs an epoch reads, where some are told their share."""

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from annotated_transformer.corpora.corpus import Extra
from annotated_transformer.errors import UserError

__all__ = ["Mixture"]


@dataclass(frozen=True)
class Mixture:
    """The places that every epoch reads, and parts of which it reads some."""

    whole: list[int]
    shared: list[tuple[range, int]]  # a part's places, how many an epoch has

    @classmethod
    def of(
        cls, pairs: int, extras: Sequence[Extra], left_out: Sequence[int] = ()
    ) -> "Mixture":
        """The mixture of pairs whose last ones are extra.

        What is left out, in rising order, has no place among the others. An
        epoch has its share of a part to within half a pair, and one at least.
        UserError if nothing is left of a part that has a share, or of all
        else.
        """
        own = pairs - sum(extra.pairs for extra in extras)
        sums = accumulate((extra.pairs for extra in extras), initial=own)
        ends = [end - bisect_left(left_out, end) for end in sums]
        whole, parts = [*range(ends[0])], []
        for extra, (start, end) in zip(extras, pairwise(ends), strict=True):
            if extra.share is None:
                whole += range(start, end)
            elif start == end:
                raise UserError(
                    f"{extra.name}: all its pairs are too long, and an epoch "
                    f"wants {extra.share:.4g} of it; `max_length` raises the "
                    "limit"
                )
            else:
                parts.append((range(start, end), extra.share))
        if parts and not whole:
            raise UserError(
                "all pairs without a share are too long, and a share is one "
                "beside them; `max_length` raises the limit"
            )
        epoch = len(whole) / (1 - sum(share for _, share in parts))
        return cls(
            whole,
            [(part, max(1, round(share * epoch))) for part, share in parts],
        )

    def places(self, seed: int, epoch: int) -> list[int]:
        """The places that an epoch reads, counted from 0."""
        found = [*self.whole]
        for part, number in self.shared:
            found += dealt(part, number, f"{seed} {part.start}", epoch)
        return found


def dealt(part: range, number: int, seed: str, turn: int) -> list[int]:
    """So many places of a part, like cards: a turn takes the next ones.

    When all have been taken, they are shuffled anew.
    """
    first = turn * number
    rounds = range(first // len(part), (first + number - 1) // len(part) + 1)
    cards: list[int] = []
    for each in rounds:
        cards += random.Random(f"{seed} {each}").sample(part, len(part))
    start = first - rounds.start * len(part)
    return cards[start : start + number]
