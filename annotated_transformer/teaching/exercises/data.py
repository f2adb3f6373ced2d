"""Exercises of chapter 6: perplexities, and what the decoder reads."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from annotated_transformer.teaching.exercises.judge import Exercise

PAD, BOS, EOS = range(3)


def per_character(perplexity: float, tokens: int, characters: int) -> float:
    """What a sentence costs in nats, spread over its characters."""
    return math.exp(tokens * math.log(perplexity) / characters)


def filled(rows: list[list[int]], side: str = "right") -> Tensor:
    """Rows of ids as a matrix, padded."""
    tensors = [torch.tensor(row) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_side=side)


def shift(
    begin: tuple[int, ...] = (BOS,),
    end: tuple[int, ...] = (EOS,),
    side: str = "right",
) -> Callable[[list[list[int]]], tuple[Tensor, Tensor]]:
    """Inputs and labels that differ by what stands at either end."""
    return lambda targets: (
        filled([[*begin, *row] for row in targets], side),
        filled([[*row, *end] for row in targets], side),
    )


EXERCISES = [
    Exercise(
        "per-character",
        "06_data",
        "write f(perplexity, tokens, characters), the perplexity per "
        "character of a model whose perplexity per token is known, for a "
        "text of so many tokens and characters.",
        "tokens of one, of some and of many characters",
        lambda: [(3.0, 18, 64), (1.5, 64, 64), (40.0, 5, 60)],
        per_character,
        {
            "This is the perplexity per token.": lambda p, t, c: p,
            "A perplexity is not spread evenly: its logarithm is.": (
                lambda p, t, c: p * t / c
            ),
            "The exponent is upside down: a text has fewer tokens than "
            "characters.": lambda p, t, c: p ** (c / t),
            "These are nats per character. The perplexity is their "
            "exponential.": lambda p, t, c: t * math.log(p) / c,
            "These are bits per character. The perplexity is a power of 2, "
            "or of e if the logarithm is natural.": (
                lambda p, t, c: t * math.log2(p) / c
            ),
            "Two bases are mixed: logarithm and exponential must belong "
            "together.": lambda p, t, c: math.exp(t * math.log2(p) / c),
            "This is the perplexity of the whole text.": (
                lambda p, t, c: p**t
            ),
        },
    ),
    Exercise(
        "shifted-targets",
        "06_data",
        "write f(targets), the decoder's inputs and its labels, two matrices "
        "of ids [batch, length], from lists of ids without special tokens.",
        "one, two and three sentences",
        lambda: [
            ([[7, 8, 9], [5]],),
            ([[4, 5]],),
            ([[6], [7, 8], [9, 9, 9]],),
        ],
        shift(),
        {
            "The inputs are the labels: each position reads what it should "
            "predict.": shift(begin=(), end=()),
            "The inputs are the labels, end included: each position reads "
            "what it should predict.": lambda targets: (
                shift()(targets)[1],
                shift()(targets)[1],
            ),
            "Both begin with BOS and end with EOS, so each position reads "
            "what it should predict.": lambda targets: (
                *[filled([[BOS, *row, EOS] for row in targets])] * 2,
            ),
            "The decoder starts from padding, which it never learns to "
            "read.": shift(begin=(PAD,)),
            "The decoder starts from EOS. Some programs do; in this book it "
            "starts from BOS.": shift(begin=(EOS,)),
            "The labels do not end with EOS: the decoder never learns to "
            "stop.": shift(end=(PAD,)),
            "Inputs and labels are exchanged.": (
                lambda targets: shift()(targets)[::-1]
            ),
            "The padding stands on the left.": shift(side="left"),
        },
        {
            "The labels contain BOS, which nobody has to predict.": (
                lambda found, targets: (found[1] == BOS).any().item()
            ),
            "EOS is among the inputs. Where a row has ended, its inputs are "
            "padding too.": lambda found, targets: (
                (found[0][:, 1:] == EOS).any().item()
                and (found[0] != found[1]).any(1).all().item()
                and found[0].shape == shift()(targets)[0].shape
            ),
        },
    ),
]
