"""Exercise of the lab on a decoder alone: who sees whom in a row."""

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise

__all__ = ["EXERCISES"]


def prefix_mask(source: int, length: int) -> Tensor:
    """True where key j of a row may be seen by query i."""
    return torch.tensor(
        [[j <= i or j < source for j in range(length)] for i in range(length)]
    )


def causal(source: int, length: int) -> Tensor:
    """A lower triangle: a source that sees only what is before."""
    return torch.ones(length, length, dtype=torch.bool).tril()


EXERCISES = [
    Exercise(
        "prefix-mask",
        "decoder_only",
        "write f(source, length), the prefix mask of a row of so many tokens "
        "of which the first are the source; boolean, [length, length].",
        "rows of one to nine tokens, with sources of none to all of them",
        lambda: [(2, 5), (1, 1), (4, 9), (0, 3), (3, 3)],
        prefix_mask,
        {
            "This is the causal mask: no token of the source sees a later "
            "one.": causal,
            "Every token sees everything, the target its own future as "
            "well.": lambda source, length: torch.ones(
                length, length, dtype=torch.bool
            ),
            "The mark belongs to the target: one key too many is open.": (
                lambda source, length: prefix_mask(source + 1, length)
            ),
            "Queries and keys are exchanged.": lambda source, length: (
                prefix_mask(source, length).T
            ),
            "The target no longer sees itself.": lambda source, length: (
                torch.arange(length) < source
            ).expand(length, length),
        },
    ),
]
