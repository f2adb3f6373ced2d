"""Exercises of chapter 10: a cache, and a search."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise

PAD, BOS, EOS = range(3)


def search_inputs() -> list[tuple[Tensor, int, float, int]]:
    """Languages of three words; one has no end within the limit."""
    draw = torch.Generator().manual_seed(6)
    cases = []
    for width, alpha, limit in (
        *((2, 0.6, 6), (2, 5.0, 8), (3, 1.0, 6), (4, 3.0, 6)),
    ) * 6:
        logits = torch.randn(6, 6, generator=draw)
        logits[:, :EOS] = -40  # neither padding nor a second beginning
        cases.append((logits.log_softmax(-1), width, alpha, limit))
    endless = cases[0][0].clone()
    endless[:, EOS] = -50
    return [*cases, (endless, 2, 0.6, 3)]


def penalty(length: int, alpha: float) -> float:
    """By which a log-probability is divided."""
    return math.pow((5 + length) / 6, alpha)


def beam_search(
    log_p: Tensor,
    width: int,
    alpha: float,
    limit: int,
    *,
    score: Callable[[Tensor, list[int], float], Tensor] = (
        lambda total, tokens, alpha: total / penalty(len(tokens), alpha)
    ),
    add: Callable[[Tensor, Tensor], Tensor] = torch.add,
    keeps_place: bool = True,
    waits: bool = True,
    keeps_unfinished: bool = True,
) -> list[int]:
    """One sentence, with lists; the switches are the mistakes."""
    live: list[tuple[list[int], Tensor]] = [([], torch.zeros(()))]
    finished: list[tuple[list[int], Tensor]] = []
    for _ in range(limit):
        options = [
            ([*tokens, new], add(total, log_p[(tokens or [BOS])[-1], new]))
            for tokens, total in live
            for new in range(len(log_p))
        ]
        options.sort(key=lambda option: float(option[1]), reverse=True)
        places = width - len(finished) if keeps_place else width
        options = options[:places]
        finished += [o for o in options if o[0][-1] == EOS]
        live = [o for o in options if o[0][-1] != EOS]
        if not live or (finished and not waits):
            break
    if keeps_unfinished:
        finished += live
    if not finished:
        return []
    best, _ = max(finished, key=lambda o: float(score(o[1], o[0], alpha)))
    return [token for token in best if token != EOS]


def wrong_search(**switches: Any) -> Callable[..., list[int]]:
    """The search with a mistake."""
    return lambda *inputs: beam_search(*inputs, **switches)


def cache_size(n: int, m: int, beam: int, d: int) -> int:
    """Counted in tensors: keys and values of outputs, and of the source."""
    outputs = torch.empty(2, beam, n, d)
    source = torch.empty(2, 1, m, d)
    return outputs.numel() + source.numel()


EXERCISES = [
    Exercise(
        "cache-size",
        "10_decoding",
        "write f(n, m, beam, d), how many numbers one layer keeps for a beam "
        "of outputs of n tokens over a source of m tokens, of width d.",
        "beams of 4, 1 and 5",
        lambda: [(60, 9, 4, 32), (1, 9, 1, 8), (20, 30, 5, 64)],
        cache_size,
        {
            "Keys and values are kept, so there is twice as much.": (
                lambda n, m, k, d: cache_size(n, m, k, d) // 2
            ),
            "Each hypothesis has a copy of the source here. They can share "
            "one.": lambda n, m, k, d: 2 * (n + m) * k * d,
            "Every hypothesis has outputs of its own.": (
                lambda n, m, k, d: 2 * (n + m) * d
            ),
            "The source's keys and values are missing.": (
                lambda n, m, k, d: 2 * n * k * d
            ),
            "The outputs' keys and values are missing.": (
                lambda n, m, k, d: 2 * m * d
            ),
            "The beam multiplies the wrong part: the source is shared.": (
                lambda n, m, k, d: 2 * n * d + 2 * m * k * d
            ),
        },
    ),
    Exercise(
        "beam-search",
        "10_decoding",
        "write f(log_p, width, alpha, limit), the tokens of the best output "
        "without EOS, where log_p[i, j] is the log-probability that token j "
        "follows i. What has ended keeps its place; what has not ended at "
        "the limit counts as it is.",
        "25 languages of three words, beams of 2 to 4",
        search_inputs,
        lambda log_p, width, alpha, limit: beam_search(
            log_p, width, alpha, limit
        ),
        {
            "The log-probability is multiplied by the length penalty. It is "
            "divided.": wrong_search(
                score=lambda total, tokens, alpha: (
                    total * penalty(len(tokens), alpha)
                )
            ),
            "The outputs are compared without a length penalty.": (
                wrong_search(score=lambda total, tokens, alpha: total)
            ),
            "The log-probability is divided by the length itself.": (
                wrong_search(
                    score=lambda total, tokens, a: total / len(tokens)
                )
            ),
            "EOS is not counted as a token by the length penalty.": (
                wrong_search(
                    score=lambda total, tokens, alpha: (
                        total
                        / penalty(len(tokens) - (tokens[-1] == EOS), alpha)
                    )
                )
            ),
            "The search stops as soon as one output has ended. Others may "
            "still score better.": wrong_search(waits=False),
            "Outputs that have not ended at the limit are dropped.": (
                wrong_search(keeps_unfinished=False)
            ),
            "What has ended gives its place to others. In this book it "
            "keeps it.": wrong_search(keeps_place=False),
            "Only the last token's log-probability counts. Those of all "
            "tokens add up.": wrong_search(add=lambda total, new: new),
            "This is greedy decoding: the width has no effect.": (
                lambda log_p, width, alpha, limit: beam_search(
                    log_p, 1, alpha, limit
                )
            ),
        },
        {
            "The output contains EOS. What has ended must not be continued, "
            "and EOS is no part of it.": lambda found, *inputs: EOS in found,
            "The output begins with BOS, which is not part of it.": (
                lambda found, *inputs: BOS in found
            ),
        },
    ),
]
