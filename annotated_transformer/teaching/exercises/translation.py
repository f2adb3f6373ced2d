"""Exercises of chapter 11: what scores mean."""

import math

import torch

from annotated_transformer.teaching.exercises.judge import Exercise


def brevity_penalty(output: int, reference: int) -> float:
    """By cases, as in the paper on BLEU."""
    if output >= reference:
        return 1.0
    return math.exp((output - reference) / output)


def score_inputs() -> list[tuple[list[float], list[float]]]:
    """Scores of the same 60 sentences by two systems, near each other."""
    draw = torch.Generator().manual_seed(7)
    cases = []
    for gain in (0.7, 0.1, -0.6):
        first = 30 + 15 * torch.randn(60, generator=draw)
        noise = 6 * torch.randn(60, generator=draw)
        second = first + gain + noise - noise.mean()
        cases.append((first.tolist(), second.tolist()))
    return cases


def paired(first: list[float], second: list[float]) -> float:
    """The share of ten thousand resamples that the second system wins."""
    draw = torch.Generator().manual_seed(8)
    gain = torch.tensor(second) - torch.tensor(first)
    places = torch.randint(len(gain), (10_000, len(gain)), generator=draw)
    return (gain[places].mean(1) > 0).float().mean().item()


def unpaired(first: list[float], second: list[float]) -> float:
    """The same with other sentences for each system."""
    draw = torch.Generator().manual_seed(9)
    means = [
        torch.tensor(scores)[
            torch.randint(len(scores), (10_000, len(scores)), generator=draw)
        ].mean(1)
        for scores in (first, second)
    ]
    return (means[1] > means[0]).float().mean().item()


def wins(first: list[float], second: list[float]) -> float:
    """The share of sentences that the second system wins."""
    return sum(b > a for a, b in zip(first, second, strict=True)) / len(first)


EXERCISES = [
    Exercise(
        "brevity-penalty",
        "11_translation",
        "write f(output, reference), the brevity penalty of BLEU for outputs "
        "of so many words in all and references of so many.",
        "shorter, longer and equal outputs",
        lambda: [(8, 10), (12, 10), (10, 10), (100, 350)],
        brevity_penalty,
        {
            "The fraction is upside down.": (
                lambda c, r: min(1.0, math.exp(1 - c / r))
            ),
            "Long outputs are rewarded: the penalty is at most 1.": (
                lambda c, r: math.exp(1 - r / c)
            ),
            "This is the ratio of the lengths, without the exponential.": (
                lambda c, r: min(1.0, c / r)
            ),
            "This is the ratio of the lengths, which can exceed 1.": (
                lambda c, r: c / r
            ),
            "The larger of two numbers is taken, where the smaller is the "
            "penalty.": lambda c, r: max(1.0, math.exp(1 - r / c)),
            "The exponent needs 1 minus the ratio, or a perfect length is "
            "punished.": lambda c, r: min(1.0, math.exp(-r / c)),
        },
    ),
    Exercise(
        "paired-resampling",
        "11_translation",
        "write f(first, second), lists of scores that two systems have for "
        "the same sentences: the share of at least 2,000 resamples of the "
        "sentences in which the second system's mean is higher.",
        "three pairs of systems",
        score_inputs,
        paired,
        {
            "The systems are resampled apart. Draw sentences, and take both "
            "scores of each.": unpaired,
            "This is the share of the first system.": (
                lambda first, second: 1 - paired(first, second)
            ),
            "A resample draws with replacement. Without, every one has the "
            "same mean.": lambda first, second: float(
                sum(second) > sum(first)
            ),
            "This is the share of sentences that the second system wins; "
            "compare the means of resamples.": wins,
        },
        slack=0.06,
    ),
]
