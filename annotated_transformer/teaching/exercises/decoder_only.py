"""Exercises of the decoder-only lab: who sees whom, what is asked."""

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise


def prefix_mask(source: int, length: int) -> Tensor:
    """True where key j of a row may be seen by query i."""
    return torch.tensor(
        [[j <= i or j < source for j in range(length)] for i in range(length)]
    )


def causal(source: int, length: int) -> Tensor:
    """A lower triangle: a source that sees only what is before."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def labels(source: list[int], target: list[int]) -> list[int]:
    """What is asked at each token of a row: source, mark, target but EOS."""
    return [-100] * len(source) + target


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
    Exercise(
        "row-labels",
        "decoder_only",
        "write f(source, target), the label of each token of the row that is "
        "read: source, mark, target without its last token. -100 is no "
        "label; lists of ids, each ending with EOS.",
        "sources and targets of one to four tokens",
        lambda: [([5, 6, 2], [7, 8, 9, 2]), ([4, 2], [2]), ([2], [5, 2])],
        labels,
        {
            "The source has labels too, and learns to go on with itself.": (
                lambda source, target: [*source[1:], 1, *target]
            ),
            "The labels are the tokens themselves. A token is asked for the "
            "next one.": lambda source, target: (
                [-100] * len(source) + [1, *target[:-1]]
            ),
            "The mark has no label, but the first word is asked for there.": (
                lambda source, target: [-100] * (len(source) + 1) + target[1:]
            ),
            "The last token of the source is asked for the mark, which is "
            "given.": lambda source, target: (
                [-100] * (len(source) - 1) + [1, *target]
            ),
        },
    ),
]
